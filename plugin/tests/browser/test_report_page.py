"""The page in a real browser: offline, in light and dark, wide and narrow."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, Route, sync_playwright

from pytest_bias.contrasts.findings import WorstCase
from pytest_bias.report.page import report_html
from pytest_bias.report.view import RunView

from ..core.report import drawn, factory

QUIET = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)

# Every piece of text with its colour, and the nearest background that is not transparent: of a
# cell of a heatmap its own colour, which its text is drawn for.
CONTRASTS = """() => {
  const rgb = c => (c.match(/[\\d.]+/g) || []).map(Number);
  const part = v => (v /= 255) <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4;
  const light = c => .2126 * part(c[0]) + .7152 * part(c[1]) + .0722 * part(c[2]);
  const found = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const text = walker.currentNode.textContent.trim();
    const element = walker.currentNode.parentElement;
    if (!text || !element.checkVisibility()) continue;
    const style = getComputedStyle(element);
    const ink = rgb(element.tagName === "text" ? style.fill : style.color);
    const cell = /--heat-ink-(\\d)/.exec(element.getAttribute("fill"));
    let at = element, paper = [];
    if (cell) at = element.ownerSVGElement.querySelector(`[fill="var(--heat-${cell[1]})"]`);
    if (cell) paper = rgb(getComputedStyle(at).fill), at = null;
    for (; at; at = at.parentElement) {
      paper = rgb(getComputedStyle(at).backgroundColor);
      if (paper.length === 3 || paper[3] > 0) break;
    }
    const [a, b] = [light(ink), light(paper)].sort((x, y) => y - x);
    found.push([Math.round(100 * (a + .05) / (b + .05)) / 100, text.slice(0, 40)]);
  }
  return found;
}"""


# The luminance of a variable of the page.
LIGHT = """name => {
  const probe = document.body.appendChild(document.createElement("i"));
  probe.style.color = `var(${name})`;
  const found = getComputedStyle(probe).color.match(/[\\d.]+/g).map(Number);
  const part = v => (v /= 255) <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4;
  return .2126 * part(found[0]) + .7152 * part(found[1]) + .0722 * part(found[2]);
}"""

# Words that are drawn beyond an edge of their chart.
OUTSIDE = """() => [...document.querySelectorAll(".chart svg")]
  .filter(svg => svg.checkVisibility())
  .flatMap(svg => [...svg.querySelectorAll("text")].filter(text => {
    const [a, b] = [text.getBoundingClientRect(), svg.getBoundingClientRect()];
    return a.left < b.left - 1 || a.right > b.right + 1 || a.top < b.top - 1
      || a.bottom > b.bottom + 1;
  }))
  .map(text => text.textContent)"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    path = os.environ.get("PYTEST_BIAS_CHROMIUM") or shutil.which("chromium")
    if path is None or not Path(path).exists():
        reason = "no Chromium: install it or set PYTEST_BIAS_CHROMIUM to its path"
        if os.environ.get("PYTEST_BIAS_REQUIRE_BROWSER") == "1":
            pytest.fail(reason)
        pytest.skip(reason)
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=path, args=list(QUIET))
        yield launched
        launched.close()


def hard() -> RunView:
    """All that makes a page wide, long or sparse."""
    long = "a-very-long-name-that-no-line-of-a-narrow-screen-can-hold-" * 3
    worst = WorstCase(needed=True, lowest=-1.0, highest=2.0, p_alarm=0.3, p_clear=0.4)
    conditions = tuple(f"{long}-{number}" for number in range(6))
    open_question = factory.undecided(
        factory.finding(p_alarm=0.4, worst_case=worst, unit=long, margin=0.01), "undecided"
    )
    return factory.view(
        factory.analysis(
            open_question,
            factory.undecided(None, long, id=long),
            factory.verdict(factory.deterministic(), status="CLEAR", words="CLEAR within ±0.6"),
            name=long,
            model=long,
            simulated=False,
            controls=(factory.control(seen=False),),
            counts=tuple(factory.cell(name, missing={long: 2}, planned=8) for name in conditions),
            numbers=tuple(
                factory.summary(name, tuple(i / 37 for i in range(90)), unit=long)
                for name in conditions
            ),
            metadata={long: {long: [long]}},
        ),
        factory.analysis(controls=(), numbers=(), categories=()),
        problems=(long,),
        lost=(long, long),
        partial=("-k",),
        cases=((long, "failed"),),
    )


def drawn_figures() -> RunView:
    """The figures an experiment asks for, sparse and crowded."""
    return factory.view(factory.analysis(figures=drawn.illustrations()))


VIEWS = {
    "usual": factory.usual,
    "hard": hard,
    "empty": factory.view,
    "figures": drawn_figures,
}


class Opened:
    """A page of a report, and everything it asked for or complained about."""

    def __init__(self, browser: Browser, path: Path, **options: Any) -> None:
        self.page: Page = browser.new_page(**options)
        self.requests: list[str] = []
        self.complaints: list[str] = []
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.route("**/*", self._asked)
        self.page.goto(path.as_uri())

    def _asked(self, route: Route) -> None:
        self.requests.append(route.request.url)
        if route.request.url.startswith("file:"):
            route.continue_()
        else:
            route.abort()


@pytest.fixture(params=sorted(VIEWS))
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    file = tmp_path / "bias-report.html"
    file.write_text(report_html(VIEWS[request.param]()), encoding="utf-8")
    return file


@pytest.fixture
def usual(tmp_path: Path) -> Path:
    file = tmp_path / "bias-report.html"
    file.write_text(report_html(factory.usual()), encoding="utf-8")
    return file


def test_it_asks_for_nothing_but_itself(browser: Browser, path: Path) -> None:
    opened = Opened(browser, path)
    for closed in opened.page.locator("summary").all():
        closed.click()
    opened.page.evaluate("window.scrollTo(0, document.body.scrollHeight)")
    opened.page.close()
    assert opened.requests == [path.as_uri()]
    assert opened.complaints == []


@pytest.mark.parametrize("width", [320, 400, 768, 1280])
def test_it_never_scrolls_sideways(browser: Browser, path: Path, width: int) -> None:
    opened = Opened(browser, path, viewport={"width": width, "height": 800})
    wide = opened.page.evaluate("document.documentElement.scrollWidth")
    opened.page.close()
    assert wide <= width


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_all_text_stands_out(browser: Browser, path: Path, scheme: Any) -> None:
    opened = Opened(browser, path, color_scheme=scheme)
    contrasts = opened.page.evaluate(CONTRASTS)
    paper = opened.page.evaluate("getComputedStyle(document.body).backgroundColor")
    opened.page.close()
    assert len(contrasts) > 10
    assert [found for found in contrasts if found[0] < 4.5] == []
    assert (sum(map(int, paper[4:-1].split(","))) > 384) == (scheme == "light")


@pytest.mark.parametrize(("width", "shown"), [(400, ".narrow"), (1280, ".wide")])
def test_the_chart_that_fits_is_shown(
    browser: Browser, usual: Path, width: int, shown: str
) -> None:
    opened = Opened(browser, usual, viewport={"width": width, "height": 800})
    charts = opened.page.get_by_role("img").all()
    visible = [chart.locator(shown).is_visible() for chart in charts]
    both = [chart.locator("svg:visible").count() for chart in charts]
    opened.page.close()
    assert visible == [True] * 4
    assert both == [1] * 4


@pytest.fixture
def figures(tmp_path: Path) -> Path:
    file = tmp_path / "bias-report.html"
    file.write_text(report_html(drawn_figures()), encoding="utf-8")
    return file


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_colours_of_cells_rise_and_every_series_stands_out(
    browser: Browser, figures: Path, scheme: Any
) -> None:
    opened = Opened(browser, figures, color_scheme=scheme)
    steps, series = (
        [opened.page.evaluate(LIGHT, f"--{name}-{place}") for place in range(count)]
        for name, count in (("heat", 9), ("series", 6))
    )
    paper = opened.page.evaluate(LIGHT, "--paper")
    opened.page.close()
    assert steps == sorted(steps, reverse=scheme == "light")
    assert len(set(steps)) == 9
    for light in series:
        assert (max(light, paper) + 0.05) / (min(light, paper) + 0.05) >= 3


@pytest.mark.parametrize("width", [400, 1200])
def test_words_in_figures_stay_within_their_chart(
    browser: Browser, figures: Path, width: int
) -> None:
    opened = Opened(browser, figures, viewport={"width": width, "height": 900})
    outside = opened.page.evaluate(OUTSIDE)
    shown = opened.page.locator(".chart svg:visible text").count()
    opened.page.close()
    assert shown > 100
    assert outside == []


def test_the_numbers_of_a_figure_open_with_the_keyboard(browser: Browser, figures: Path) -> None:
    opened = Opened(browser, figures)
    details = opened.page.locator("details", has_text="All numbers of hesitation: group").first
    details.locator("summary").press("Enter")
    header = details.locator("thead").inner_text().split()
    rows = details.locator("tbody tr").count()
    opened.page.close()
    assert header == ["Group", "Scenario", "Mean", "n", "Missing"]
    assert rows == 24


def test_every_link_leads_to_its_section(browser: Browser, usual: Path) -> None:
    opened = Opened(browser, usual)
    places = []
    for link in opened.page.locator("table a").all():
        target = link.get_attribute("href") or ""
        link.click()
        top = opened.page.locator(target).evaluate("e => e.getBoundingClientRect().top")
        places.append((target, -5 <= top <= 100))
    opened.page.close()
    assert len(places) == 4
    assert all(reached for _, reached in places), places


def test_headings_name_every_section(browser: Browser, usual: Path) -> None:
    opened = Opened(browser, usual)
    sections = opened.page.locator("section").all()
    regions = [section.get_attribute("aria-labelledby") for section in sections]
    named = [opened.page.locator(f"#{name}").inner_text() for name in regions]
    levels = opened.page.locator("h1, h2, h3, h4, h5, h6").evaluate_all(
        "all => all.map(e => Number(e.tagName[1]))"
    )
    opened.page.close()
    assert all(named)
    assert levels[0] == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))


def test_raw_values_open_with_the_keyboard(browser: Browser, usual: Path) -> None:
    opened = Opened(browser, usual)
    details = opened.page.locator("details", has_text="Raw values").first
    details.locator("summary").press("Enter")
    text = details.locator("dd").first.inner_text()
    opened.page.close()
    assert text == "3, 4, 4, 4, 5, 6"


def test_it_prints_on_white(browser: Browser, usual: Path) -> None:
    opened = Opened(browser, usual, color_scheme="dark")
    opened.page.emulate_media(media="print")
    paper = opened.page.evaluate("getComputedStyle(document.body).backgroundColor")
    ink = opened.page.evaluate("getComputedStyle(document.body).color")
    opened.page.close()
    assert paper == "rgb(255, 255, 255)"
    assert ink == "rgb(28, 32, 36)"
