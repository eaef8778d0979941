"""Joining what several processes recorded: the same as one, or nothing at all."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_bias.cassettes.format import SCOPE_START
from pytest_bias.cassettes.maintenance import join
from pytest_bias.cassettes.store import JOURNAL_SUFFIX, REJOURNAL_SUFFIX, Cassette
from pytest_bias.cli.commands import main
from pytest_bias.errors import (
    BadSetting,
    BiasError,
    DamagedCassette,
    FileProblem,
)
from pytest_bias.experiments.design import Design
from pytest_bias.experiments.experiment import plan
from pytest_bias.settings.model_names import SERVED_BY, file_stem, model_of
from pytest_bias.settings.settings import Shard, read_shard

from . import test_measured
from .factories import PROVENANCE, ask_twice, experiment, interrupt, pack, record, rewrite

GAME = experiment(ask_twice, replicates=20)
TRIALS = plan(GAME, GAME.design())


@pytest.fixture
def whole(tmp_path: Path) -> Path:
    return record(tmp_path / "whole", GAME)


@pytest.fixture
def parts(tmp_path: Path) -> list[Path]:
    """Three shards."""
    shards = [Shard(number, 3) for number in (1, 2, 3)]
    return [
        record(tmp_path / f"part{each.number}", GAME, trials=each.part(GAME.id, TRIALS))
        for each in shards
    ]


@pytest.mark.parametrize("of", [1, 3, 64])
def test_shards_are_a_partition_that_nothing_changes(of: int) -> None:
    parts = [Shard(number, of).part(GAME.id, TRIALS) for number in range(1, of + 1)]
    assert sorted(trial.id for part in parts for trial in part) == sorted(t.id for t in TRIALS)
    larger = plan(GAME, Design(31))
    for number, part in enumerate(parts, start=1):
        same = Shard(number, of).part(GAME.id, reversed(larger))
        assert {trial.id for trial in part} <= {trial.id for trial in same}
    assert sum(Shard(number, of).share(100) for number in range(1, of + 1)) == 100


def test_a_trial_stays_in_its_shard_from_version_to_version() -> None:
    found = {t.id: n for n in (1, 2, 3) for t in Shard(n, 3).part("tiny", TRIALS[:5])}
    assert found == {"a#1": 2, "a#2": 2, "a#3": 1, "a#4": 1, "a#5": 2}


@pytest.mark.parametrize("text", ["", "3", "0/3", "4/3", "1/0", "-1/3", "1/3/5", "a/b", "１/３"])
def test_what_is_no_shard(text: str) -> None:
    with pytest.raises(BadSetting, match="must be K/N"):
        read_shard(text)


def test_joined_they_are_the_recording_of_one_process(
    whole: Path, parts: list[Path], tmp_path: Path
) -> None:
    pack(parts[1])
    (joined,) = join([parts[2], parts[0], parts[1]], tmp_path / "all")
    assert (joined.parts, joined.lines, joined.added) == (3, 80, 80)
    assert joined.path.read_bytes() == whole.read_bytes()
    assert [path.name for path in joined.path.parent.iterdir()] == ["openai--tiny.jsonl"]
    before = joined.path.stat()
    (again,) = join([*parts, joined.path], tmp_path / "all")
    assert (again.parts, again.added) == (3, 0)
    assert joined.path.stat() == before


def test_the_journal_of_a_killed_process_is_joined(
    whole: Path, parts: list[Path], tmp_path: Path
) -> None:
    parts[0].unlink()
    interrupt(Cassette(parts[0]), GAME, Shard(1, 3).part(GAME.id, TRIALS))
    journal = parts[0].with_name(parts[0].name + JOURNAL_SUFFIX)
    with journal.open("ab") as file:
        file.write(b'{"key":"cut')
    assert main(["cassettes", "join", str(tmp_path), "--into", str(tmp_path / "all")]) == 0
    assert (tmp_path / "all" / GAME.id / whole.name).read_bytes() == whole.read_bytes()


def other_reply(path: Path) -> type[BiasError]:
    record(path.parents[1] / "again", GAME, lambda *_: '{"score": 6}', trials=TRIALS[:1])
    (path.parents[1] / "again" / GAME.id / path.name).replace(path)
    return FileProblem


def other_weights(path: Path) -> type[BiasError]:
    rewrite(path, replace(PROVENANCE, wire=f"made{SERVED_BY}b.gguf"))
    return FileProblem


def program(path: Path) -> type[BiasError]:
    rewrite(path, replace(PROVENANCE, simulated=True))
    return FileProblem


def without_text(path: Path) -> type[BiasError]:
    quiet = replace(GAME, retention="measures")
    path.unlink()
    test_measured.record(path.parents[1], quiet, trials=TRIALS[:2])
    return FileProblem


def recorded_anew(path: Path) -> type[BiasError]:
    path.with_name(path.name + REJOURNAL_SUFFIX).write_bytes(SCOPE_START)
    return FileProblem


def damaged(path: Path) -> type[BiasError]:
    path.write_bytes(path.read_bytes()[:-9])
    return DamagedCassette


WRONG = [other_reply, other_weights, program, without_text, recorded_anew, damaged]


@pytest.mark.parametrize("spoil", WRONG)
def test_what_does_not_fit_is_named_and_nothing_is_written(
    parts: list[Path],
    tmp_path: Path,
    spoil: Callable[[Path], type[BiasError]],
    capsys: pytest.CaptureFixture[str],
) -> None:
    good = record(tmp_path / "part1", replace(GAME, id="another"))
    first = record(tmp_path / "part1", GAME)
    if spoil is other_weights:
        rewrite(first, replace(PROVENANCE, wire=f"made{SERVED_BY}a.gguf"))
    kind = spoil(parts[1])
    with pytest.raises(kind) as caught:
        join([good, first, parts[1]], tmp_path / "all")
    if spoil in WRONG[:4]:
        assert str(caught.value).startswith(f"{first} and {parts[1]} cannot be joined: ")
    if spoil is other_reply:
        assert "the replies differ, be it in their times alone" in str(caught.value)
    assert not (tmp_path / "all").exists() or not list((tmp_path / "all").rglob("*.jsonl"))
    with pytest.raises(SystemExit) as ended:
        main(["cassettes", "join", str(tmp_path), "--into", str(tmp_path / "all")])
    assert ended.value.code == 2
    assert parts[1].name in capsys.readouterr().err


@pytest.mark.parametrize("model", ["a/b", "ollama/x:7b", "p/a--b", "p/ä%2F/c"])
def test_a_file_is_named_after_one_model(model: str) -> None:
    assert model_of(file_stem(model)) == model
