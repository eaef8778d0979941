"""Suites to run: recorded once for all workers, copied for each test."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from filelock import FileLock

from . import upgrade_games
from .suites import INI, Suite, experiment_source, record, set_apart

Once = Callable[[str, Callable[[Path], None]], Path]


@pytest.fixture(scope="session")
def once(tmp_path_factory: pytest.TempPathFactory, pytestconfig: pytest.Config) -> Once:
    """Have a folder of a name filled by the first process that asks, for all of xdist's workers.

    It is only read: who changes what is in it has a copy.
    """
    top = tmp_path_factory.getbasetemp()
    if hasattr(pytestconfig, "workerinput"):
        top = top.parent

    def filled(name: str, fill: Callable[[Path], None]) -> Path:
        folder = top / name
        with FileLock(f"{folder}.lock"):
            if not folder.exists():
                scratch = tmp_path_factory.mktemp(name)
                fill(scratch)
                scratch.rename(folder)
        return folder

    return filled


@pytest.fixture(scope="session")
def recordings(once: Once) -> Path:
    """A folder with the cassettes of the games ``coin`` and ``card``."""
    return once("games", lambda folder: record(folder, map(experiment_source, ("coin", "card"))))


@pytest.fixture
def empty(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, recordings: Path) -> Suite:
    """A suite of which nothing is written yet, away from this run's environment."""
    set_apart(monkeypatch)
    return Suite(pytester, monkeypatch, recordings)


@pytest.fixture
def suite(empty: Suite) -> Suite:
    """The suite of the game ``coin``, whole and recorded."""
    return empty.write()


@pytest.fixture
def many(empty: Suite, once: Once) -> Suite:
    """The suite of the game ``many``, recorded with the old, the new and the even subject."""
    source, models = upgrade_games.source("many"), upgrade_games.MODELS
    empty.recordings = once("many", lambda folder: record(folder, [source], models=models))
    ini = INI.replace("simulated/even", upgrade_games.NEW)
    return empty.write(name="many", tests=upgrade_games.TESTS, ini=ini, source=source)
