"""What the tests of the page share: runs of the suite, recorded once for all, and a browser."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock
from playwright.sync_api import Browser, sync_playwright

from benchmarks.common import chromium
from pytest_bias.report.run import RunResult

from .pages import NEW, OLD, QUIET, VIEWS, Opened, Run, Show, suite, written


def shared(tmp_path_factory: pytest.TempPathFactory, name: str, *arguments: str) -> Run:
    """A run of the suite that the first worker to ask for makes, and the others read."""
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent
    with FileLock(folder / f"{name}.lock"):
        if not (folder / name).is_dir():
            begun = tmp_path_factory.mktemp(name)
            suite(begun, *arguments)
            begun.rename(folder / name)
    return Run.of(folder / name)


@pytest.fixture(scope="session")
def up(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """An upgrade from the biased subject to the drifted one."""
    return shared(tmp_path_factory, "report-up", f"--bias-model={NEW}", f"--bias-baseline={OLD}")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    path = chromium()
    if path is None or not Path(path).exists():
        reason = "no Chromium: install it or set PYTEST_BIAS_CHROMIUM to its path"
        if os.environ.get("PYTEST_BIAS_REQUIRE_BROWSER") == "1":
            pytest.fail(reason)
        pytest.skip(reason)
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=path, args=list(QUIET))
        yield launched
        launched.close()


@pytest.fixture
def show(browser: Browser, tmp_path: Path) -> Iterator[Show]:
    """Opens a page, or that of a view with some trials; all are closed at the end."""
    pages: list[Opened] = []

    def opened(of: Path | RunResult, *replies: Any, **options: Any) -> Opened:
        path = of if isinstance(of, Path) else written(tmp_path, of, *replies)
        pages.append(Opened(browser, path, **options))
        return pages[-1]

    yield opened
    for each in pages:
        each.page.close()


@pytest.fixture
def opened_up(show: Show, up: Run) -> Opened:
    return show(up.page, viewport={"width": 1440, "height": 1000})


@pytest.fixture(params=sorted(VIEWS))
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return written(tmp_path, VIEWS[request.param]())
