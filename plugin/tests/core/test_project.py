"""``pytest-bias init``: what is put into a project, what is kept there, and what is refused."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from pytest_bias.cli import project
from pytest_bias.workbench.suite import find_experiments

from ..runs import command

AUDIT = "linguistic-audit"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def told(*arguments: str) -> list[str]:
    done = command(Path(), "init", *arguments)
    assert done.returncode == 0
    return done.stdout.splitlines()


def test_ids_are_those_the_experiments_have() -> None:
    found = {id_ for ids in project.shipped_experiments().values() for id_ in ids}
    assert found == {experiment.id for experiment in find_experiments("bias_tests")}


def test_an_id_brings_its_package_and_nothing_of_others(here: Path) -> None:
    assert told(AUDIT, "linguistic_audit") == [
        "written: bias_tests/linguistic_audit",
        f"written: cassettes/{AUDIT}/simulated--even.jsonl",
        "written: bias_tests/__init__.py",
        "written: bias_tests/charts.py",
        "written: bias_models.toml",
        "written: pytest.toml",
        "next: pytest -n 2",
    ]
    assert not (here / "bias_tests/linguistic_audit/tests").exists()
    assert [path.name for path in here.glob(".*")] == []


def test_without_recordings_the_next_step_is_a_plan_in_the_folder_named(here: Path) -> None:
    *_, last = told(AUDIT, "--no-recordings", "--into", "a project")
    assert last == (
        "next: cd 'a project' && pytest bias_tests --bias-model PROVIDER/MODEL --bias-plan"
    )
    assert not (here / "a project/cassettes").exists()


def test_what_is_there_is_kept_and_said(here: Path) -> None:
    told(AUDIT)
    own = here / "bias_tests/linguistic_audit/README.md"
    own.write_text("mine", encoding="utf-8")
    cassette = here / f"cassettes/{AUDIT}/simulated--even.jsonl"
    packed = cassette.with_name(f"{cassette.name}.gz")
    packed.write_bytes(gzip.compress(cassette.read_bytes()))
    cassette.unlink()
    again = told(AUDIT)
    mend = "; to have the one shipped, move it away and run this again"
    assert again[:3] == [
        f"kept: bias_tests/linguistic_audit{mend}",
        f"kept: cassettes/{AUDIT}/simulated--even.jsonl.gz{mend}",
        f"kept: bias_tests/__init__.py{mend}",
    ]
    assert own.read_text("utf-8") == "mine"
    assert not cassette.exists()


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("pytest.ini", "[pytest]\n"),
        ("pyproject.toml", '[tool.pytest.ini_options]\ntestpaths = ["tests"]\n'),
    ],
)
def test_a_configuration_that_is_there_is_kept_and_the_suite_is_named(
    here: Path, name: str, text: str
) -> None:
    (here / name).write_text(text, encoding="utf-8")
    *_, kept, last = told(AUDIT)
    assert kept == f"kept: {name}, which configures pytest"
    assert last == "next: pytest bias_tests -n 2 --bias-model simulated/even"
    assert not (here / "pytest.toml").exists()
    assert (here / name).read_text("utf-8") == text


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["anchorin"], "unknown experiment 'anchorin'; known: anchoring, "),
        (["--into", "taken"], "taken was not written: File exists"),
        (["anchoring", "--into", "file"], "bias_tests was not written: File exists"),
        (["--into", "broken"], "rootdir=broken: pytest's configuration cannot be read: "),
        (["--recordings=yes"], "ignored explicit argument 'yes'"),
    ],
)
def test_what_cannot_be_done_says_why(here: Path, arguments: list[str], said: str) -> None:
    (here / "taken").touch()
    for folder, name in (
        ("file", "bias_tests"),
        ("broken", "pyproject.toml"),
    ):
        (here / folder).mkdir()
        (here / folder / name).write_text("?", encoding="utf-8")
    done = command(here, "init", *arguments)
    assert done.returncode == 2
    assert said in done.stderr


def test_an_installation_without_experiments_says_how_to_have_one_with_them(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(project, "__file__", str(here / "a/b/cli/project.py"))
    done = command(here, "init")
    assert done.returncode == 2
    assert "suite has no experiments. Install pytest-bias from" in done.stderr
