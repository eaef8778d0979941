"""Recordings and baselines that Git, links, pipes or other users stand between."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from pytest_bias.baselines.accepted import read_baseline
from pytest_bias.cassettes.files import is_there
from pytest_bias.cassettes.store import Cassette, cassette_path, journals_of, packed_path
from pytest_bias.cli.files import cassettes_of
from pytest_bias.errors import (
    FileProblem,
    NotReadable,
)
from pytest_bias.experiments.experiment import plan
from pytest_bias.recording.job import missing
from pytest_bias.recording.plan import PlanJob, plan_recording
from pytest_bias.session import state
from pytest_bias.settings.roster import Roster
from pytest_bias.settings.settings import Limits

from .factories import MODEL, ask_twice, experiment, record
from .test_packed import job_of

SMALL = experiment(ask_twice, replicates=1)
LFS = b"version https://git-lfs.github.com/spec/v1\noid sha256:%064d\nsize 12\n" % 1


@pytest.fixture
def plain(tmp_path: Path) -> Path:
    """A small cassette."""
    return record(tmp_path, SMALL)


def pointer_of_lfs(path: Path) -> str:
    path.write_bytes(LFS)
    return "Git LFS left a pointer to the file here. git lfs pull fetches it, which costs nothing"


def link(path: Path) -> str:
    path.symlink_to("elsewhere")
    return "it is a link to elsewhere, where nothing is. Fetch what it leads to, or restore it"


def pipe(path: Path) -> str:
    os.mkfifo(path)
    return "it cannot be read (a pipe, socket or device stands there, and no file)"


def folder(path: Path) -> str:
    path.mkdir()
    return "it cannot be read (a folder stands there, and no file). A file belongs there"


IN_ITS_PLACE = [
    pointer_of_lfs,
    link,
    pipe,
    folder,
]
in_its_place = pytest.mark.parametrize("put", IN_ITS_PLACE)
named = pytest.mark.parametrize(
    "name",
    [lambda path: path, packed_path, lambda path: journals_of(path)[0]],
    ids=["plain", "packed", "journal"],
)


def planned(path: Path, replicates: int = 1) -> tuple[str, ...]:
    """The problems that a plan of a recording into ``path`` has."""
    job = job_of(replicates)
    return plan_recording(
        [PlanJob(job.experiment, MODEL, job.experiment.design(), job.trials)],
        folder=path.parents[1],
        roster=Roster(),
        limits=Limits(),
        mode="missing",
        roles_of=lambda *_: job.roles,
    ).problems


@in_its_place
@named
def test_what_is_no_file_is_told_and_never_recorded_over(
    tmp_path: Path, put: Callable[[Path], str], name: Callable[[Path], Path]
) -> None:
    place = cassette_path(tmp_path, SMALL.id, MODEL)
    path = name(place)
    path.parent.mkdir()
    words = put(path)
    with pytest.raises(NotReadable) as caught:
        Cassette(place)
    assert f"{path}: {words}" in str(caught.value)
    with pytest.raises(FileProblem):
        missing(job_of(), place, anew=False)
    (problem,) = planned(place)
    assert words in problem
    assert is_there(path)


@in_its_place
def test_the_journal_of_what_is_recorded_anew_is_read_by_its_recording_only(
    plain: Path, put: Callable[[Path], str]
) -> None:
    put(journals_of(plain)[1])
    assert Cassette(plain).unfinished
    with pytest.raises(NotReadable):
        Cassette(plain, anew=True)


@in_its_place
def test_a_baseline_that_is_no_file_is_not_taken_for_none(
    tmp_path: Path, put: Callable[[Path], str]
) -> None:
    words = put(tmp_path / "openai--tiny.json")
    with pytest.raises(NotReadable) as caught:
        read_baseline(tmp_path, MODEL)
    assert words in str(caught.value)


def test_nothing_is_recorded_through_a_link_or_instead_of_one(plain: Path) -> None:
    store = plain.with_name("store")
    plain.rename(store)
    plain.symlink_to(store)
    assert len(Cassette(plain)) == 4
    assert planned(plain) == ()  # nothing would be written
    (problem,) = planned(plain, replicates=2)
    with pytest.raises(FileProblem) as caught:
        missing(job_of(2), plain, anew=False)
    for said in (problem, str(caught.value)):
        assert (
            f"{plain} is a link to {store}, and nothing is written through or instead of one"
            in said
        )
    assert plain.readlink() == store


@contextmanager
def locked_out(path: Path) -> Iterator[None]:
    """As a user who may not look into ``path``."""
    path.chmod(0)
    if os.geteuid() == 0:
        os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(os.getuid())
        path.chmod(0o700)


def test_a_folder_one_may_not_look_into_is_not_taken_for_an_empty_one(plain: Path) -> None:
    with locked_out(plain.parent):
        with pytest.raises(NotReadable, match=rf"^{plain}: it cannot be read \(Permission denied"):
            Cassette(plain)
        with pytest.raises(NotReadable, match="Permission denied"):
            read_baseline(plain.parent, MODEL)


def test_a_command_looks_into_every_folder_or_says_which_it_cannot(
    plain: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder, own, store = plain.parents[1], plain.parent, tmp_path_factory.mktemp("store")
    shutil.copytree(own, store / own.name)
    (folder / "a").symlink_to(own)  # the same recording, under the name of no experiment
    (folder / "kept").symlink_to(store)
    (store / "again").symlink_to(folder)  # which is below itself then
    (folder / "self").symlink_to("self")
    (folder / "gone").symlink_to("nowhere")
    assert list(cassettes_of(folder)) == [plain, folder / "kept" / own.name / plain.name]
    with locked_out(own):
        for given in (folder, plain):
            with pytest.raises(NotReadable, match="it cannot be read"):
                list(cassettes_of(given))


def git(folder: Path, *arguments: str) -> str:
    """What Git prints; with no settings but its own."""
    environment = {name: value for name, value in os.environ.items() if "GIT" not in name}
    said = subprocess.run(  # noqa: S603  (our own words)
        ["git", "-c", "user.name=A", "-c", "user.email=a@b.c", *arguments],  # noqa: S607
        cwd=folder,
        env=environment | {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"},
        capture_output=True,
        check=True,
    )
    return said.stdout.decode()


needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="needs Git")


@needs_git
def test_line_ends_that_git_converted_are_read_and_recorded_into(tmp_path: Path) -> None:
    repository, clone = tmp_path / "one", tmp_path / "two"
    written = record(repository / "cassettes", SMALL)
    git(repository, "init", "-q")
    git(repository, "add", ".")
    git(repository, "commit", "-qm", "Record")
    git(tmp_path, "-c", "core.autocrlf=true", "clone", "-q", "one", "two")  # as on Windows
    git(clone, "config", "core.autocrlf", "true")
    path = cassette_path(clone / "cassettes", SMALL.id, MODEL)
    assert path.read_bytes() == written.read_bytes().replace(b"\n", b"\r\n")
    cassette = Cassette(path)
    assert (len(cassette), cassette.checksum) == (4, Cassette(written).checksum)
    # What is recorded into it is one changed file for Git, and in it only the changed lines.
    more = experiment(ask_twice, replicates=2)
    record(clone / "cassettes", more, trials=plan(more, more.design())[1:2])
    assert b"\r" not in path.read_bytes()
    assert git(clone, "status", "--short") == " M cassettes/tiny/openai--tiny.jsonl\n"
    assert git(clone, "diff", "--numstat").split()[:2] == ["2", "0"]  # two replies more


def test_what_a_killed_session_left_goes_and_what_a_living_one_has_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    left, lives = (tmp_path / f"pytest-bias-session-{digit * 32}" for digit in "ab")
    others = [tmp_path / name for name in ("pytest-bias-1.0", "pytest-bias-session-mine")]
    for folder in (left, lives, *others):
        folder.mkdir()
    (left / "replies.json").write_text("a reply", "utf-8")
    handle = os.open(lives, os.O_RDONLY)
    fcntl.flock(handle, fcntl.LOCK_EX)
    state._remove_left_folders()
    assert sorted(tmp_path.iterdir()) == sorted([lives, *others])
    os.close(handle)
