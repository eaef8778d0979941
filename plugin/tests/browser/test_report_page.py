"""The page in a real browser: what a reviewer does with it, what it draws, offline, on paper."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser, expect

from pytest_bias.experiments.experiment import plan
from pytest_bias.experiments.messages import Message, Place
from pytest_bias.experiments.records import Exchange, Outcome
from pytest_bias.report.replies import replies_of
from pytest_bias.report.run import RunResult

from ..core.factories import experiment
from ..core.report import factory
from ..core.report.reading import blocks
from ..helpers import there
from .pages import OLD, ROUTES, TRIAL, Opened, Run, Show
from .test_access import check_layout

# Every drawn estimate: what it says it is, and where its mark lies in the picture.
DRAWN = """() => [...document.querySelectorAll("[data-estimate]")].map(mark => {
  const box = mark.getBBox(), svg = mark.ownerSVGElement.viewBox.baseVal;
  const thick = mark.parentNode.querySelector("[data-low]");
  const [low, high] = thick ? [thick.getBBox().x, thick.getBBox().x + thick.getBBox().width] : [];
  const row = mark.closest("tr");
  return {...mark.dataset, x: box.x + box.width / 2, wide: svg.width, tone: mark.getAttribute(
    "class"), low: thick?.dataset.low, high: thick?.dataset.high, from: low, until: high,
    badge: row?.querySelector(".badge").textContent};
})"""


# --- what a reviewer does ---------------------------------------------------------------------


def test_the_first_screen_says_what_stops_the_upgrade_and_what_moved_undecided(
    opened_up: Opened, up: Run
) -> None:
    page = opened_up.at("#/")
    rows = up.results["upgrade"]["rows"]
    stopped = {
        (row["experiment"], row["hypothesis"])
        for row in rows
        if row["stops"] and not row["tolerated"]
    }
    table = page.locator("table", has_text="The hypotheses that stop it")
    links = [link.get_attribute("href") or "" for link in table.locator("tbody a").all()]
    assert len(links) == len(stopped) == 11
    assert table.locator("td.draw .mark[data-estimate]").count() == 11
    assert {(link.split("/")[2], link.split("/")[4]) for link in links} == stopped
    outcome = page.locator(".verdict").inner_text()
    assert outcome.strip().startswith("DO NOT SHIP")
    assert "11 hypotheses stop this upgrade" in outcome
    moved = page.locator(".card", has_text="look yourself").get_by_text("White / Asian")
    box = there(moved.bounding_box())
    assert box["y"] + box["height"] < 1000
    cards = page.locator(".card .standing").all()
    assert [card.inner_text() for card in cards] == ["BIAS FOUND", "BIAS FOUND"]


def test_a_trial_shows_both_models_and_the_words_that_differ(opened_up: Opened) -> None:
    page = opened_up.at(ROUTES[4])
    page.wait_for_selector("#view .subject")
    assert page.locator(".columns > section").count() == 2
    assert page.locator(".judge").count() >= 2
    assert "[NAME]" in page.locator("details").first.inner_text()
    page.keyboard.press("d")
    assert page.locator("mark").count() > 3
    page.keyboard.press("j")
    expect(page.locator("#view h1")).to_have_text(TRIAL.replace("#1", "#2"))


# --- what is drawn is what was found ----------------------------------------------------------

TONES = {"CLEAR": "clear", "BIASED": "biased", "INCONCLUSIVE": "open", "DESCRIBED": "described",
         "NOTHING FOUND": "none"}  # fmt: skip


def in_margins(value: float, margin: float, scale: str) -> float:
    return math.log(value) / math.log(margin) if scale == "ratio" else value / margin


def check_drawn(found: list[dict[str, Any]], verdicts: Mapping[tuple[str, str], Any]) -> None:
    """Marks, colours, words and positions say of each hypothesis what its verdict says."""
    assert found
    for mark in found:
        of = verdicts[mark["model"], mark["id"]]
        finding = of["finding"]
        assert float(mark["estimate"]) == finding["estimate"]
        assert mark["badge"] == mark["verdict"]
        assert TONES[mark["verdict"]] in mark["tone"]
        assert (mark["verdict"] == of["status"]) or mark["verdict"] in (
            "DESCRIBED",
            "NOTHING FOUND",
        )
        margin, scale = finding["margin"], finding["scale"]

        def x(value: float, margin: float = margin, scale: str = scale) -> float:
            return 4 + 192 * (min(6, max(-6, in_margins(value, margin, scale))) + 6) / 12

        if abs(in_margins(finding["estimate"], margin, scale)) <= 6:
            assert mark["x"] == pytest.approx(x(finding["estimate"]), abs=1)
        if not of["shown"]:
            continue
        decides = of["shown"][0]
        assert (float(mark["low"]), float(mark["high"])) == (decides["low"], decides["high"])
        assert mark["from"] == pytest.approx(x(decides["low"]), abs=1)
        assert mark["until"] == pytest.approx(x(decides["high"]), abs=1)
        edges = (x(1 / margin if scale == "ratio" else -margin), x(margin))
        if of["status"] == "CLEAR":
            assert mark["from"] >= edges[0] - 0.1
            assert mark["until"] <= edges[1] + 0.1
        if of["status"] == "BIASED" and finding["null"] == "margin":
            assert mark["from"] >= edges[1] - 0.1 or mark["until"] <= edges[0] + 0.1


def test_every_number_drawn_is_the_one_that_decides(show: Show, up: Run) -> None:
    verdicts = {
        (verdict["model"], verdict["id"], analysis["experiment"]): verdict
        for analysis in up.results["analyses"]
        for verdict in analysis["verdicts"]
    }
    opened = show(up.page)
    for analysis in up.results["analyses"]:
        e, m = analysis["experiment"], analysis["model"]
        page = opened.at(f"#/hypotheses?e={e}&m={quote(m, safe='')}")
        expect(page.locator("#view tbody tr")).to_have_count(len(analysis["verdicts"]))
        known = {(v[0], v[1]): each for v, each in verdicts.items() if v[2] == e}
        check_drawn(page.evaluate(DRAWN), known)


def test_what_may_have_got_worse_is_never_green_and_never_folded(
    opened_up: Opened, up: Run
) -> None:
    page = opened_up.at("#/upgrade")
    rows = up.results["upgrade"]["rows"]
    open_ = {
        row["hypothesis"] for row in rows
        if row["outcome"] in ("worse", "new", "expired", "undecided")
    }  # fmt: skip
    assert page.locator("details").count() == 0
    shown = page.locator("#view tbody tr:has(a[href*='#/h/'])").all()
    seen = set()
    for row in shown:
        name = (row.locator("a").first.get_attribute("href") or "").rsplit("/", 1)[1]
        if name in open_:
            seen.add(name)
            assert row.locator(".mark.t-clear, .outcome.t-clear").count() == 0, name
    assert seen == open_
    page = opened_up.at("#/upgrade?outcome=improved")
    still = {
        r["hypothesis"]
        for r in rows
        if r["outcome"] == "improved" and r["now"]["status"] != "CLEAR"
    }
    drawn = page.locator("#view .mark").evaluate_all(
        "all => all.map(m => [m.dataset.id, m.classList[1]])"
    )
    assert still
    assert still <= {name for name, tone in drawn if tone != "t-clear"}


# --- addresses --------------------------------------------------------------------------------


# --- text from outside ------------------------------------------------------------------------

HOSTILE = (
    "<script>alert(1)</script></script><!--<img src=x onerror=alert(2)>\0\x1b[2J\u202e\u2066 =1+1 "
    "half \ud83d {{ 7 * 7 }}"
)


def hostile() -> tuple[RunResult, Any]:
    """An experiment whose replies want to be more than text, one of them very long."""
    of = experiment(retention="raw")
    outcomes = []
    for number, trial in enumerate(plan(of, of.design())):
        text = HOSTILE if number else f"{HOSTILE} {'long ' * 200_000}"
        said = Exchange(
            to="subject", place=Place((), 1, 1), prompt=(Message("user", HOSTILE),), reply=text,
            served_model=HOSTILE, recorded_at="2026-01-01T00:00:00+00:00", latency=0.1,
        )  # fmt: skip
        outcomes.append(Outcome(trial, None, HOSTILE, (), 1, (), exchanges=(said,)))
    view = factory.view(factory.analysis(experiment=of.id, name=HOSTILE, model=OLD))
    return view, replies_of(of, OLD, outcomes)


def test_hostile_replies_stay_text(show: Show, tmp_path: Path) -> None:
    view, replies = hostile()
    opened = show(view, replies)
    block = blocks((tmp_path / "bias-report.html").read_text("utf-8"))["d-0"]
    assert len(block["said"]) == len(block["replicate"])
    page = opened.at(f"#/replies/{replies.experiment}")
    page.locator(".virtual-rows a").first.click()
    page.wait_for_selector("#view .subject")
    text = page.locator(".subject .text").first.inner_text()
    assert "<script>alert(1)</script>" in text
    assert "\\u202e" in text
    assert "\u202e" not in text
    assert len(text) > 1_000_000
    with page.expect_download() as download:
        opened.at(f"#/replies/{replies.experiment}").get_by_role("button", name="CSV").click()
    assert not re.search(r'(?m)^"?=', Path(download.value.path()).read_text("utf-8"))
    assert opened.complaints == []
    assert len(opened.requests) == 1


# --- offline, without script, on paper --------------------------------------------------------


def test_whatever_stands_in_it_it_asks_for_nothing_but_itself_and_is_not_broken(
    show: Show, path: Path
) -> None:
    opened = show(path)
    data = blocks(path.read_text("utf-8"))["d-run"]
    for analysis in data["analyses"]:
        opened.at(f"#/e/{quote(analysis['e'], safe='')}/{quote(analysis['m'], safe='')}")
    for route in ("#/replies", "#/nowhere"):
        opened.at(route)
    routes = ("#/", "#/hypotheses")
    check_layout(opened, routes)
    for route in routes:
        bare = opened.at(route).locator(".scroll:not([tabindex='0'][role][aria-label])")
        assert bare.count() == 0, route
    assert opened.requests == [path.as_uri()]
    assert opened.complaints == []


def test_without_script_the_summary_is_whole(browser: Browser, up: Run) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(up.page.as_uri())
    text = page.locator("main").inner_text()
    shown = page.locator("nav, .paper").all()
    visible = [each.is_visible() for each in shown]
    context.close()
    for words in ("11 hypotheses stop this upgrade", "What stops it", "Experiments",
                  "What this does not show", "All hypotheses"):  # fmt: skip
        assert words in text
    assert visible == [False, True]


def test_it_stays_within_its_budget(show: Show, up: Run) -> None:
    assert up.page.stat().st_size <= 2_700_000
    opened = show(up.page)
    counts = {}
    for route in ROUTES:
        counts[route] = opened.at(route).evaluate("document.querySelectorAll('*').length")
    pdf = opened.at("#/").pdf()
    assert counts["#/"] <= 1_400
    assert max(counts.values()) <= 2_500
    assert len(re.findall(rb"/Type\s*/Page\b", pdf)) <= 12
    assert opened.complaints == []
