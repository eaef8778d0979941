"""Suites to run: recorded once in a session, copied for each test."""

from __future__ import annotations

from pathlib import Path

import pytest

from .suites import Suite, record, set_apart


@pytest.fixture(scope="session")
def recordings(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the cassettes of the games ``coin`` and ``card``."""
    folder = tmp_path_factory.mktemp("cassettes")
    record(folder, tmp_path_factory.mktemp("games"), ["coin", "card"])
    return folder


@pytest.fixture
def empty(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, recordings: Path) -> Suite:
    """A suite of which nothing is written yet, away from this run's environment."""
    set_apart(monkeypatch)
    return Suite(pytester, monkeypatch, recordings)


@pytest.fixture
def suite(empty: Suite) -> Suite:
    """The suite of the game ``coin``, whole and recorded."""
    return empty.write()
