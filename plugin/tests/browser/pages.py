"""Runs of the suite on its own recordings, and their pages as a browser opens them."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

from playwright.sync_api import Browser, Page, Route

from pytest_bias.report.page import report_html
from pytest_bias.report.run import RunResult

from .. import forked
from ..core.report import drawn, factory

ROOT = Path(__file__).parents[3]
QUIET = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)
OLD, NEW = "simulated/biased", "simulated/drifted"
NARRATIVE = "narrative-personas"
TRIAL = "noir-hispanic_male-neutral-wallet/Juan#1"
ROUTES = (
    "#/",
    "#/hypotheses",
    f"#/h/{NARRATIVE}/{quote(NEW, safe='')}/pro_social-hispanic_male-rest",
    f"#/replies/{NARRATIVE}",
    f"#/t/{NARRATIVE}/{quote(NEW, safe='')}/{quote(TRIAL, safe='')}",
    f"#/e/{NARRATIVE}/{quote(NEW, safe='')}",
    f"#/label/{NARRATIVE}",
    "#/label",
)


class Run(NamedTuple):
    """A run of the suite: its page, and its results."""

    page: Path
    results: Mapping[str, Any]

    @classmethod
    def of(cls, folder: Path) -> Run:
        """The run that stands in a folder, of all of the suite or of a part."""
        (page,), (results,) = folder.glob("bias-report*.html"), folder.glob("bias-results*.json")
        return cls(page, json.loads(results.read_text("utf-8")))


def suite(folder: Path, *arguments: str) -> None:
    """Run the suite on the recordings of this repository, with its reports into a folder."""
    page, results = folder / "bias-report.html", folder / "bias-results.json"
    command = [forked.python(), "-m", "pytest", "bias_tests", "-q", "-ppytest-bias"]
    command += ["-pno:cacheprovider", f"--bias-report={page}", f"--bias-results={results}"]
    environ = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(  # noqa: S603  (our own suite)
        [*command, *arguments], cwd=ROOT, env=environ, capture_output=True, text=True, check=False
    )
    assert [*folder.iterdir()], done.stdout + done.stderr


class Opened:
    """A page of a report, and everything it asked for or complained about."""

    def __init__(self, browser: Browser, path: Path, **options: Any) -> None:
        self.page: Page = browser.new_page(**options)
        self.requests: list[str] = []
        self.complaints: list[str] = []
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("dialog", lambda dialog: self.complaints.append(dialog.message))
        self.page.route("**/*", self._asked)
        self.page.goto(path.as_uri())

    def _asked(self, route: Route) -> None:
        self.requests.append(route.request.url)
        if route.request.url.startswith("file:"):
            route.continue_()
        else:
            route.abort()

    def at(self, route: str) -> Page:
        """Go to a route, and wait for it to be drawn."""
        # What is drawn already is not what is waited for.
        self.page.evaluate(
            """route => {
              if (location.hash === route) return;
              document.querySelector("#view h1")?.setAttribute("data-before", "");
              location.hash = route;
            }""",
            route,
        )
        self.page.wait_for_selector("html:not(.static) h1", state="attached")
        drawn = "#summary h1" if route == "#/" else "#view h1:not([data-before])"
        self.page.wait_for_selector(drawn)
        if "#/h/" in route:
            drawn_ends = ".more", ".remark:has-text('not in this copy')", "h1:has-text('no such')"
            self.page.wait_for_selector(", ".join(f"#view {end}" for end in drawn_ends))
        # Of long tables the rows out of sight come after the frame with those in sight.
        self.page.evaluate(
            "() => new Promise(done => requestAnimationFrame(() => setTimeout(done)))"
        )
        return self.page


Show = Callable[..., Opened]
"""Opens a page or a view, as the fixture ``show`` does."""


def written(tmp_path: Path, view: RunResult, *replies: Any) -> Path:
    file = tmp_path / "bias-report.html"
    file.write_text(report_html(view, replies), encoding="utf-8")
    return file


def hard() -> RunResult:
    """All that makes a page wide, long or sparse."""
    long = "a-very-long-name-that-no-line-of-a-narrow-screen-can-hold-" * 3
    conditions = tuple(f"{long}-{number}" for number in range(6))
    open_question = factory.undecided(
        factory.finding(p_alarm=0.4, unit=long, margin=0.01), "undecided"
    )
    return factory.view(
        factory.analysis(
            open_question,
            factory.undecided(None, long, id=long),
            factory.verdict(factory.deterministic(), status="CLEAR", words="CLEAR within ±0.6"),
            name=long,
            model=long.replace("-", "_"),
            simulated=False,
            controls=(factory.control(seen=False),),
            counts=tuple(factory.cell(name, missing={long: 2}, planned=8) for name in conditions),
            figures=drawn.illustrations(),
            metadata={long: {long: [long]}},
        ),
        factory.analysis(controls=(), numbers=(), categories=()),
        problems=(long,),
        lost=(long, long),
        partial=("-k",),
        cases=((long, "failed"),),
    )


VIEWS = {"usual": factory.usual, "hard": hard, "empty": factory.view}
