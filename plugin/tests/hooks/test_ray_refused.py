"""What keeps an engine from recording is said before anything is called."""

from __future__ import annotations

import os
import re
import shutil
import sys

import pytest

from pytest_bias.cassettes.places import cassette_path
from pytest_bias.cassettes.recorder import recording_lock

from ..runs import command
from .suites import Suite

RECORD = ("record", "game-coin", "--engine", "ray")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--address", "ray://h:1"), "this process on one of its nodes"),
        (("--address", "127.0.0.1:1"), "no Ray cluster is reached there: .*refused"),
        (("--address", "nowhere"), "no Ray cluster is reached there"),
        (("--address", "local"), r"ray is not installed; .* 'pytest-bias\[ray\]'"),
        (("--shards", "0"), "must be 1 or more"),
        (("--record", "all"), "--record=all is for one process"),
    ],
)
def test_no_engine(suite: Suite, options: tuple[str, ...], words: str) -> None:
    shutil.rmtree(suite.cassettes)
    suite.monkeypatch.setattr(os, "environ", {**os.environ})
    suite.monkeypatch.setitem(sys.modules, "ray", None)
    done = command(suite.path, *RECORD, *options)
    assert done.returncode == 2
    assert re.search(words, done.stderr)


@pytest.mark.parametrize("option", [("--address", "auto"), ("--shards", "2")])
def test_of_an_engine_that_is_not_asked_for(suite: Suite, option: tuple[str, str]) -> None:
    done = command(suite.path, *RECORD[:2], *option)
    assert done.returncode == 2
    assert "needs --engine ray" in done.stderr


def test_nothing_is_started_where_nothing_is_missing(suite: Suite) -> None:
    suite.monkeypatch.setitem(sys.modules, "ray", None)
    assert command(suite.path, *RECORD).returncode == 0


def test_shards_of_another_engine_at_work_are_not_touched_and_those_of_one_that_died_are_joined(
    suite: Suite,
) -> None:
    suite.monkeypatch.setitem(sys.modules, "ray", None)
    place = cassette_path(suite.cassettes, "game-coin", "simulated/even")
    whole = place.read_bytes()
    parts = suite.cassettes.with_name(f"{suite.cassettes.name}.shards")
    ours = parts / "0a-1-of-2/game-coin" / place.name
    others = parts / "0b-1-of-2/game-card" / place.name
    for path in (ours, others):
        path.parent.mkdir(parents=True)
        path.write_bytes(whole)
    place.unlink()
    with recording_lock(place):
        done = command(suite.path, *RECORD)
    assert done.returncode == 2
    assert "is being recorded by another process" in done.stderr
    assert not place.exists()
    assert (ours.read_bytes(), others.read_bytes()) == (whole, whole)
    assert command(suite.path, *RECORD).returncode == 0  # nothing is missing any more
    assert place.read_bytes() == whole
    assert [path for path in parts.rglob("*") if path.is_file()] == [others]
