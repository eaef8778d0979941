"""Suites to run: recorded once in a session, copied for each test."""

from __future__ import annotations

from pathlib import Path

import pytest

from .suites import Suite, record


@pytest.fixture(scope="session")
def recordings(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the cassettes of the games ``coin`` and ``card``."""
    folder = tmp_path_factory.mktemp("cassettes")
    record(folder, tmp_path_factory.mktemp("games"), ["coin", "card"])
    return folder


@pytest.fixture
def empty(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, recordings: Path) -> Suite:
    """A suite of which nothing is written yet, away from this run's environment."""
    service = ("CI", "BUILD_NUMBER", "GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY")
    for name in (*service, "PYTEST_ADDOPTS", "PYTEST_XDIST_AUTO_NUM_WORKERS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("COLUMNS", "200")
    return Suite(pytester, monkeypatch, recordings)


@pytest.fixture
def suite(empty: Suite) -> Suite:
    """The suite of the game ``coin``, whole and recorded."""
    return empty.write()
