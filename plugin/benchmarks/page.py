"""What the report weighs and how fast it is, beside its limits and beside the page before it.

    python plugin/benchmarks/page.py [--rounds 5] [--runs 3] [--only one upgrade three]

Reports of the shipped recordings: one model, an upgrade, three models. Each is opened from disk in
Chromium without a window (PYTEST_BIAS_CHROMIUM, or the one on the path), in a page of its own for
every round. Ready is from the start of the navigation to the frame after the script has drawn the
summary; a route is from its click to the frame after it; the first opening of an experiment
inflates its trials, too. Medians of rounds. What making the page adds to a run is the difference
of runs with and without it, in one process, interleaved, as medians of seconds of the processor
and of the wall. Times count on an otherwise idle machine only: the load is printed. Exits 1 where
a limit is not kept.
"""

from __future__ import annotations

import argparse
import os
import re
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from benchmarks.common import PYTEST, chromium, note, run, say
from pytest_bias.report.page import asset

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

ROOT = Path(__file__).parents[2]
EVEN, OLD, NEW = "simulated/even", "simulated/biased", "simulated/drifted"
RUNS: Mapping[str, tuple[str, ...]] = {
    "one": (f"--bias-model={EVEN}",),
    "upgrade": (f"--bias-model={NEW}", f"--bias-baseline={OLD}"),
    "three": tuple(f"--bias-model={model}" for model in (EVEN, OLD, NEW)),
}
MODELS = {"one": 1, "upgrade": 2, "three": 3}
BEFORE = {
    "one": "4.14 MB without a reply",
    "upgrade": "4.18 MB, 77,567 elements, ready in 2.9 s",
    "three": "12.4 MB, 227,712 elements, ready in 7.3 s",
}
"""The page that this one replaced, as it was measured."""

SIZE, FURTHER = 2.0, 0.7
READY, ROUTE, FIRST = 1_000.0, 100.0, 600.0
ELEMENTS, ELEMENTS_FIRST = 2_500, 1_400
LABEL, LANDMARKS, PRINTED, SCRIPT, ADDED = 300, 12, 12, 40_000, 1.5

_LARGEST = "narrative-personas"
_TRIAL = "noir-hispanic_male-neutral-wallet/Juan#1"
_ARGUMENTS = (
    *("--no-sandbox", "--disable-gpu", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync", "--no-first-run"),
)

# The script marks the link of where one is at the end of its first drawing.
_READY = """
new MutationObserver((_, me) => {
  if (!document.querySelector("nav a[aria-current]")) return;
  me.disconnect();
  requestAnimationFrame(() => setTimeout(() => {
    document.documentElement.dataset.readyAfter = performance.now();
  }));
}).observe(document, {subtree: true, attributes: true, attributeFilter: ["aria-current"]});
"""

_OPEN = """async ([route, wanted]) => {
  const start = performance.now();
  await new Promise(done => {
    const look = () => { if (document.querySelector(wanted)) { me.disconnect(); done(); } };
    const me = new MutationObserver(look);
    me.observe(document, {subtree: true, childList: true, attributes: true});
    location.hash = route;
  });
  await new Promise(done => requestAnimationFrame(() => setTimeout(done)));
  return performance.now() - start;
}"""

_COUNTED = """() => {
  const seen = [...document.querySelectorAll("*")].filter(e => e.checkVisibility());
  return [
    document.querySelectorAll("*").length,
    Math.max(0, ...seen.map(e => (e.getAttribute("aria-label") || "").length)),
    seen.filter(e => e.matches(
      "main, nav, header, footer, section[aria-label], [role=region], [role=search]")).length,
  ];
}"""


@dataclass(frozen=True, slots=True)
class Limit:
    """A figure beside the most that it may be."""

    name: str
    value: float
    most: float
    unit: str
    shown: str = ",.0f"

    @property
    def kept(self) -> bool:
        """Whether it is no larger."""
        return self.value <= self.most

    def __str__(self) -> str:
        value, most = (format(each, self.shown) for each in (self.value, self.most))
        return (
            f"  {self.name:44}{value:>10} of {most:>7} {self.unit}{'' if self.kept else '  OVER'}"
        )


def routes(model: str) -> Mapping[str, tuple[str, str]]:
    """Name of each route → its address, and what is there when it is drawn."""
    at = quote(model, safe="")
    return {
        "hypotheses": ("#/hypotheses", "#view tbody tr"),
        "hypothesis": (f"#/h/{_LARGEST}/{at}/pro_social-hispanic_male-rest", "#view .more"),
        "upgrade": ("#/upgrade", "#view h1"),
        "replies": (f"#/replies/{_LARGEST}", "#view h1"),
        "trial": (f"#/t/{_LARGEST}/{at}/{quote(_TRIAL, safe='')}", "#view h1"),
        "experiment": (f"#/e/{_LARGEST}/{at}", "#view h1"),
    }


def made(folder: Path, name: str, *options: str) -> Path:
    """Make the report of a run of the suite, whatever that finds."""
    page, results = folder / f"{name}.html", folder / f"{name}.json"
    command = [*PYTEST, "-p", "pytest_bias.pytest_plugin", "-p", "xdist", "-n", "2", "bias_tests"]
    command += [f"--bias-report={page}", f"--bias-results={results}", *options]
    done = subprocess.run(  # noqa: S603  (our own suite)
        command,
        cwd=ROOT,
        env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    if not page.exists():
        sys.exit(f"no report was written:\n{done.stdout[-4000:]}{done.stderr[-4000:]}")
    return page


@contextmanager
def launched() -> Iterator[Browser]:
    """A browser without a window."""
    from playwright.sync_api import sync_playwright  # noqa: PLC0415  (tests read the limits)

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=list(_ARGUMENTS))
        yield browser
        browser.close()


def opened(browser: Browser, path: Path) -> tuple[Page, float]:
    """Open a report in a page of its own; milliseconds until it is ready."""
    page = browser.new_page(viewport={"width": 1440, "height": 1000})
    page.add_init_script(_READY)
    page.goto(path.as_uri())
    # A selector, for the page's policy refuses functions made of text.
    ready = page.wait_for_selector("[data-ready-after]", state="attached")
    assert ready is not None  # noqa: S101  (it is waited for)
    return page, float(ready.get_attribute("data-ready-after") or "nan")


def measured(browser: Browser, name: str, path: Path, rounds: int) -> list[Limit]:
    """Open a report again and again: its times and numbers, beside their limits."""
    found = routes(EVEN if name == "one" else NEW)
    found = {key: each for key, each in found.items() if key != "upgrade" or name == "upgrade"}
    ready: list[float] = []
    first: dict[str, list[float]] = {key: [] for key in found}
    again: dict[str, list[float]] = {key: [] for key in found}
    counts: dict[str, tuple[int, int, int]] = {}
    printed = 0
    for number in range(rounds):
        note(f"{name}: round {number + 1} of {rounds} …")
        page, seconds = opened(browser, path)
        ready.append(seconds)
        counts["summary"] = page.evaluate(_COUNTED)
        printed = printed or len(re.findall(rb"/Type\s*/Page\b", page.pdf()))
        # The first that needs the trials of the largest experiment pays for inflating them.
        for times in (first, again):
            for key in ("replies", *(each for each in found if each != "replies")):
                times[key].append(page.evaluate(_OPEN, list(found[key])))
                counts[key] = page.evaluate(_COUNTED)
                page.evaluate(_OPEN, ["#/", "#summary:not([hidden]) h1"])
        page.close()
    limits = [
        Limit("ready", statistics.median(ready), READY, "ms"),
        Limit("first opening of the largest experiment", _median(first["replies"]), FIRST, "ms"),
        *(Limit(f"route {key}", _median(again[key]), ROUTE, "ms") for key in found),
        Limit("elements: summary", counts["summary"][0], ELEMENTS_FIRST, ""),
        *(Limit(f"elements: {key}", counts[key][0], ELEMENTS, "") for key in found),
        Limit("longest aria-label", max(each[1] for each in counts.values()), LABEL, "characters"),
        Limit("landmarks", max(each[2] for each in counts.values()), LANDMARKS, ""),
    ]
    return [*limits, Limit("printed summary", printed, PRINTED, "pages")]


def _median(values: Sequence[float]) -> float:
    return statistics.median(values)


def weighed(name: str, path: Path) -> Iterator[Limit]:
    """Size of a report with replies, in MB of 10⁶ bytes."""
    further = FURTHER * (MODELS[name] - 1)
    yield Limit("size with replies", path.stat().st_size / 1e6, SIZE + further, "MB", ".2f")


def added(folder: Path, runs: int) -> Iterator[Limit]:
    """Measure what making the page adds to a run of one model, in seconds."""
    spent: dict[str, list[tuple[float, float]]] = {"on": [], "off": []}
    for number in range(runs):
        note(f"run {number + 1} of {runs}, with the page and without …")
        for way, page in (("on", str(folder / "added.html")), ("off", "off")):
            command = [*PYTEST, "-p", "pytest_bias.pytest_plugin", "bias_tests", *RUNS["one"]]
            command += [f"--bias-report={page}", f"--bias-results={folder / 'added.json'}"]
            took = run(f"report {way}", command, ROOT)
            spent[way].append((took.cpu, took.wall))
    for place, kind in enumerate(("processor", "wall")):
        on, off = (_median([each[place] for each in spent[way]]) for way in ("on", "off"))
        yield Limit(f"making it, {kind} ({on:.1f} beside {off:.1f})", on - off, ADDED, "s", ".2f")


def main() -> int:
    """Make the reports, measure them, print every figure beside its limit."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=5, help="openings of each report")
    parser.add_argument("--runs", type=int, default=3, help="runs with and without the page")
    parser.add_argument("--only", nargs="*", choices=RUNS, default=[*RUNS])
    given = parser.parse_args()
    limits = [Limit("script", len(asset("app.min.js").encode()), SCRIPT, "bytes")]
    say(f"{limits[0]}")
    with tempfile.TemporaryDirectory(prefix="pytest-bias-page-") as folder, launched() as browser:
        for name in given.only:
            note(f"{name}: making the report …")
            path = made(Path(folder), name, *RUNS[name])
            say(f"\n{name} (before: {BEFORE[name]}); load {os.getloadavg()[0]:.1f}")
            of = [*weighed(name, path), *measured(browser, name, path, given.rounds)]
            say("\n".join(map(str, of)))
            limits += of
        if given.runs:
            cost = [*added(Path(folder), given.runs)]
            say(f"\nwhat it adds to a run of one model; load {os.getloadavg()[0]:.1f}")
            say("\n".join(map(str, cost)))
            limits += cost
    over = [each.name for each in limits if not each.kept]
    say(f"\n{len(over)} of {len(limits)} over their limits{': ' if over else ''}{', '.join(over)}")
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main())
