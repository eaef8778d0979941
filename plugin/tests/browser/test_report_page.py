"""The page in a real browser: what a reviewer does with it, what it draws, offline, on paper."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser, expect

from pytest_bias.contrasts.estimate import Arm, Estimate
from pytest_bias.experiments.design import Factor
from pytest_bias.experiments.experiment import plan
from pytest_bias.experiments.measures import Measure
from pytest_bias.experiments.messages import Message, Place
from pytest_bias.experiments.records import Exchange, Outcome
from pytest_bias.report.page import report_files
from pytest_bias.report.replies import replies_of
from pytest_bias.report.upgrade_table import Upgrade
from pytest_bias.report.view import RunView
from pytest_bias.stats.results import Interval
from pytest_bias.verdicts.verdict import Reason, Status, Verdict

from ..core.factories import experiment
from ..core.report import drawn, factory
from ..core.report.reading import blocks
from ..core.test_upgrade_words import ROW, SIDE
from ..helpers import there
from .pages import EVEN, NARRATIVE, NEW, OLD, ROUTES, TRIAL, Opened, Run, Show
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
    assert {(link.split("/")[2], link.split("/")[4]) for link in links} == stopped
    assert "11 hypotheses stop this upgrade" in page.locator(".verdict").inner_text()
    moved = page.locator(".card", has_text="look yourself").get_by_text("White / Asian")
    box = there(moved.bounding_box())
    assert box["y"] + box["height"] < 1000
    assert [card.inner_text() for card in page.locator(".card .standing").all()] == [
        "FAIL",
        "FAIL",
    ]


def test_every_model_has_its_own_verdict_on_the_first_screen(show: Show, three: Run) -> None:
    page = show(three.page, viewport={"width": 1440, "height": 1000}).at("#/")
    cards = {
        card.locator("h2").inner_text(): card.locator(".standing").inner_text()
        for card in page.locator(".card:has(.standing)").all()
    }
    lowest = max(
        (card.bounding_box() or {"y": 9e9})["y"] for card in page.locator(".standing").all()
    )
    assert cards == {EVEN: "PASS", OLD: "FAIL", NEW: "FAIL"}
    assert lowest < 1000


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


def test_missing_replies_are_found_with_their_reasons(opened_up: Opened, up: Run) -> None:
    (of,) = (a for a in up.results["analyses"] if a["experiment"] == NARRATIVE)
    lost = sum(sum(count["missing"].values()) for count in of["counts"])
    page = opened_up.at(f"#/replies/{NARRATIVE}?m={NEW}&show=missing")
    assert page.locator("h1:visible .count").inner_text() == f"{lost} of {of['trials']}"
    rows = page.locator(".virtual-rows .excerpt").all_inner_texts()
    assert all(row.startswith("missing: ") for row in rows)
    assert len(rows) > 10


def test_trials_in_which_the_models_differ_are_found_by_address_and_by_hand(
    opened_up: Opened,
) -> None:
    page = opened_up.at(f"#/replies/{NARRATIVE}?m={NEW}&show=differs")
    count = page.locator("#view h1 .count")
    found = count.inner_text()
    assert 0 < int(found.partition(" of ")[0]) < 5760
    page.locator("select[name=show]").select_option("")
    expect(count).to_have_text("5760")
    page.locator("select[name=show]").select_option("differs")
    expect(count).to_have_text(found)


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


@pytest.mark.parametrize("run", ["up", "three"])
def test_every_number_drawn_is_the_one_that_decides(
    show: Show, request: pytest.FixtureRequest, run: str
) -> None:
    of: Run = request.getfixturevalue(run)
    verdicts = {
        (verdict["model"], verdict["id"], analysis["experiment"]): verdict
        for analysis in of.results["analyses"]
        for verdict in analysis["verdicts"]
    }
    opened = show(of.page)
    for analysis in of.results["analyses"]:
        e, m = analysis["experiment"], analysis["model"]
        page = opened.at(f"#/hypotheses?e={e}&m={quote(m, safe='')}")
        expect(page.locator("#view tbody tr")).to_have_count(len(analysis["verdicts"]))
        known = {(v[0], v[1]): each for v, each in verdicts.items() if v[2] == e}
        check_drawn(page.evaluate(DRAWN), known)


NUMBERS = ("estimate", "margin", "scale", "null")


def made_up(rng: random.Random, number: int) -> Verdict:
    """A hypothesis whose verdict follows from the intervals it shows."""
    ratio = rng.random() < 0.4
    margin = 1.25 if ratio else 0.5
    middle, half = rng.gauss(0, 1.5), rng.random()

    def value(k: float) -> float:
        return margin**k if ratio else k * margin

    decides = Interval(low=value(middle - half), high=value(middle + half), level=0.9)
    status: Status = "BIASED" if abs(middle) - half >= 1 else "INCONCLUSIVE"
    if abs(middle) + half <= 1:
        status = "CLEAR"
    found: Estimate = factory.finding(
        estimate=value(middle), interval=decides, margin=margin, null="margin",
        scale="ratio" if ratio else "difference", unit="", bootstrap=None, index=None,
        effect_size=None, human=None,
    )  # fmt: skip
    words, reason = str(status), Reason.NONE
    if status == "INCONCLUSIVE":
        words, reason = f"{status}: open", Reason.UNDECIDED
    return factory.verdict(
        found, id=f"made-up-{number}", status=status, words=words, reason=reason, shown=(decides,)
    )


def test_no_picture_contradicts_its_verdict(show: Show) -> None:
    rng = random.Random(4)  # noqa: S311  (made-up findings)
    made = [made_up(rng, number) for number in range(90)]
    beyond = factory.between(0.7, 1.4, 0.9996)  # yet open: too much is missing
    missing = factory.undecided(
        factory.finding(estimate=1.0, interval=beyond), "too many are missing",
        id="made-up-missing", shown=(beyond,),
    )  # fmt: skip
    run = factory.view(factory.analysis(*made, missing))
    assert {each.status for each in made} == {"CLEAR", "BIASED", "INCONCLUSIVE"}
    verdicts = {
        (each.model, each.id): {
            "status": each.status,
            "finding": {name: getattr(each.finding, name) for name in NUMBERS},
            "shown": [{"low": i.low, "high": i.high} for i in each.shown],
        }
        for each in (*made, missing)
    }  # fmt: skip
    opened = show(run)
    page = opened.at("#/hypotheses")
    check_drawn(page.evaluate(DRAWN), verdicts)
    page = opened.at("#/h/anchoring/simulated%2Fbiased/made-up-missing")
    assert "Too many are missing." in page.locator("#view").inner_text()
    assert page.locator("#view .chart .mark").get_attribute("class") == "mark t-open"


def test_a_ratio_of_0_is_at_the_edge_and_no_number_of_margins(show: Show) -> None:
    found = factory.finding(scale="ratio", margin=1.25, unit="", estimate=0.0)
    run = factory.view(factory.analysis(factory.verdict(found)))
    opened = show(run)
    for route in ("#/", "#/hypotheses"):
        cell = opened.at(route).locator("tbody td.draw").first
        assert cell.locator(".mark").count() == 1
        assert cell.inner_text().strip() == ""


# Estimate and half of its interval, in margins → what of it lies beyond the picture.
PICTURES = {(8.3, 1.6): "", (30.0, 9.9): "", (30.0, 15.0): "line", (90.0, 1.0): "estimate"}


def test_what_a_verdict_rests_on_lies_inside_its_picture_or_the_caption_says_so(
    show: Show,
) -> None:
    verdicts = [
        factory.verdict(
            factory.finding(
                margin=1.0, estimate=estimate, unit="",
                interval=factory.between(estimate - half, estimate + half),
            ),
            id=f"number-{place}",
        )
        for place, (estimate, half) in enumerate(PICTURES)
    ]  # fmt: skip
    opened = show(factory.view(factory.analysis(*verdicts)))
    for verdict, ((estimate, half), beyond) in zip(verdicts, PICTURES.items(), strict=True):
        page = opened.at(f"#/h/anchoring/simulated%2Fbiased/{verdict.id}")
        chart = page.locator("figure.chart").first
        mark, line = chart.locator(".mark"), chart.locator(".thick")
        assert ("l-9" in (mark.get_attribute("d") or "")) is (beyond == "estimate")
        assert float(line.get_attribute("data-high") or 0) == estimate + half
        drawn = [float(each) for each in re.findall(r"[\d.]+", line.get_attribute("d") or "")]
        low, _, high, *_ = map(
            float, re.findall(r"[\d.]+", chart.locator(".band").get_attribute("d") or "")
        )
        values = estimate - half, estimate + half
        ends = [(low + high + value * (high - low)) / 2 for value in values]
        assert (drawn[::2] == pytest.approx(ends, abs=3)) is not bool(beyond)
        assert ("is an arrow" in chart.locator("figcaption").inner_text()) is bool(beyond)


def test_what_an_upgrade_cannot_draw_is_an_arrow_at_the_edge_or_says_why(show: Show) -> None:
    shapes = {5.0: "a4.5", 7.0: "l-9", -7.0: "l9"}
    lacking = {7347.94: "no margin", None: "no estimate"}
    plain, bare = factory.finding(margin=1.0), factory.finding(margin=None, p_clear=None)
    verdicts = [
        factory.verdict(found, id=f"number-{place}")
        for place, found in enumerate([plain] * 3 + [bare] * 2)
    ]
    experiment, model, _ = verdicts[0].named
    worse = replace(
        ROW, experiment=experiment, model=model, margin="±1", outcome="worse", stops=True,
        now=replace(SIDE, status="BIASED", estimate=1.7),
    )  # fmt: skip
    rows = [replace(worse, before=replace(SIDE, estimate=before)) for before in shapes]
    rows += [replace(worse, margin="", now=replace(SIDE, estimate=now)) for now in lacking]
    rows = [replace(row, hypothesis=of.id) for row, of in zip(rows, verdicts, strict=True)]
    upgrade = Upgrade(old=OLD, new=(model,), rows=tuple(rows))
    opened = show(factory.view(factory.analysis(*verdicts), upgrade=upgrade))
    page = opened.page
    for route in ("#/", "#/upgrade"):
        hollow = opened.at(route).locator(".hollow:visible").all()
        for mark, shape in zip(hollow, shapes.values(), strict=True):
            assert shape in (mark.get_attribute("d") or "")
    assert page.locator("#view td.draw").all_inner_texts()[-2:] == [*lacking.values()]


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


def tried(show: Show, values: Mapping[str, list[float]], **changed: Any) -> Opened:
    """The page of one experiment with a hypothesis on the ``score`` of its two groups."""
    number = len(values["a"])
    of = experiment(measures=[Measure("score", bounds=(0, 500_000))], replicates=number)
    outcomes = [
        Outcome(trial, None, None, (), 1, (), values={"score": float(value)})
        for trial in plan(of, of.design())
        for value in [values[trial.condition.levels["group"]][trial.replicate - 1]]
    ]
    sides = [Arm(level=each, value=each, units=number, missing={}, mean=1.0) for each in values]
    fields = {"measure": "score", "factor": "group", "arms": tuple(sides), "human": None} | changed
    found = factory.finding(**fields)
    verdict = factory.verdict(found, id="score-a-b", experiment=of.id)
    view = factory.view(factory.analysis(verdict, experiment=of.id, name=of.name))
    return show(view, replies_of(of, OLD, outcomes))


@pytest.mark.parametrize(
    ("values", "bars"),
    [
        ({"a": [50, 100], "b": [150, 200]}, (2, 2)),  # whole, and far apart
        ({"a": [1, 2, 2], "b": [3, 3, 3]}, (2, 1)),
        ({"a": [0.5, 0.75], "b": [500, 0.5]}, (1, 2)),
    ],
)
def test_the_distribution_of_either_side_is_drawn_whatever_its_range(
    show: Show, values: dict[str, list[float]], bars: tuple[int, int]
) -> None:
    page = tried(show, values).at("#/h/tiny/simulated%2Fbiased/score-a-b")
    drawn = page.locator("#view .bars").evaluate_all("all => all.map(p => p.getAttribute('d'))")
    assert tuple(path.count("M") for path in drawn) == bars
    assert "NaN" not in "".join(drawn)
    assert "null" not in page.locator("#view").inner_text()


@pytest.mark.parametrize("size", [1e-4, 1.0, 1e5])
def test_numbers_have_the_digits_that_tell_them_apart_and_the_room_they_need(
    show: Show, size: float
) -> None:
    values = {"a": [1.08314 * size, 1.3 * size], "b": [1.1 * size, 1.4 * size]}
    bounds = Interval(low=-0.5 * size, high=0.3 * size, level=0.95)
    route = "#/h/tiny/simulated%2Fbiased/score-a-b"
    opened = tried(show, values, margin=0.03 * size, estimate=-0.1 * size, interval=bounds)
    page = opened.at(route)
    for picture in page.locator("#view .chart svg").all():
        labels = picture.locator(".axis").all_text_contents()
        assert len(labels) > 5
        assert len({*labels}) == len(labels)
    cells = page.locator("#view .levels td a").all_inner_texts()
    assert len({*cells}) == 2
    assert [float(each) for each in cells] == pytest.approx(
        [1.19157 * size, 1.25 * size], rel=1e-2
    )
    rows = opened.at("#/replies/tiny").locator(".virtual-rows > * > :nth-child(2)")
    assert min(map(float, rows.all_inner_texts())) == pytest.approx(1.08314 * size, rel=0.1)
    check_layout(opened, [route])


@pytest.mark.parametrize(
    ("values", "finding", "colours"),
    [
        ({"a": [1.0], "b": [5.0]}, {"margin": 1.0}, ["dm2", "dp2"]),
        ({"a": [4.0], "b": [5.0]}, {"margin": 1.25, "scale": "ratio"}, ["dm1", "dp0"]),
        ({"a": [0.0], "b": [5.0]}, {"margin": 1.25, "scale": "ratio"}, ["dm4", "dp3"]),
        ({"a": [0.0], "b": [0.0]}, {"margin": 1.25, "scale": "ratio"}, ["dp0", "dp0"]),
        ({"a": [4.0], "b": [5.0]}, {"margin": None, "p_clear": None}, ["dm4", "dp4"]),
    ],
)  # fmt: skip
def test_a_colour_of_a_level_is_its_distance_from_the_mean_of_all_in_margins(
    show: Show, values: Any, finding: Any, colours: list[str]
) -> None:
    page = tried(show, values, **finding).at("#/h/tiny/simulated%2Fbiased/score-a-b")
    cells = page.locator("#view .levels td.heat").evaluate_all(
        "all => all.map(td => td.classList[1])"
    )
    assert cells == colours


def test_tables_of_what_is_missing_say_that_it_is_that(show: Show) -> None:
    heatmap = drawn.missing()
    of = factory.analysis(
        factory.verdict(factory.finding()), figures=(heatmap,), experiment="tiny"
    )
    opened = tried(show, {"a": [1.0], "b": [1.0]}, measure="missing")
    text = opened.at("#/h/tiny/simulated%2Fbiased/score-a-b").locator("#view").inner_text()
    assert "Shares without a valid reply, over all trials" in text
    opened = show(factory.view(of))
    text = opened.at("#/e/tiny/simulated%2Fbiased").locator("#view").inner_text()
    assert "Share of the trials without a valid reply; the colours" in text


# --- addresses --------------------------------------------------------------------------------


def test_addresses_hold_across_runs_and_unknown_ones_say_so(
    show: Show, up: Run, three: Run
) -> None:
    opened = {name: show(run.page) for name, run in (("up", up), ("three", three))}
    e, m = "anchoring-prosecutor-sentencing", quote(NEW, safe="")
    hypothesis = f"h/{e}/{m}/sentence_months-high-low"
    of_both = hypothesis, f"replies/{e}", f"t/{e}/{m}/low%231", f"e/{e}/{m}"
    for route in (f"#/{each}" for each in of_both):
        titles = {name: each.at(route).title() for name, each in opened.items()}
        assert titles["up"] == titles["three"]
        assert "Not here" not in titles["up"]
    of_nothing = {"#/h/no-such/simulated%2Fdrifted/hypothesis": "hypothesis"}
    for route in ("#/constructor", "#/__proto__", "#/toString/a"):
        of_nothing[route] = "page"
    for route, what in of_nothing.items():
        heading = opened["up"].at(route).locator("h1:visible")
        assert heading.inner_text() == f"There is no such {what} in this report"
    for each in opened.values():
        assert each.complaints == []


def test_factors_may_be_named_as_the_addresses_own_words_are(show: Show) -> None:
    names = ("m", "show", "q", "o")
    of = experiment(factors=[Factor(name, {"a": "Ada", "b": "Bob"}) for name in names])
    outcomes = [Outcome(trial, None, "", (), 1, ()) for trial in plan(of, of.design())]
    replies = [replies_of(of, model, outcomes) for model in (OLD, NEW)]
    opened = show(factory.view(), *replies)
    page = opened.at(f"#/replies/{of.id}?m={NEW}")
    for left, name in enumerate(names, start=1):
        page.locator(f"select[name='f.{name}']").select_option("b")
        expect(page.locator("#view h1 .count")).to_have_text(f"{48 >> left} of 48")
        assert page.locator("select[name=m]").input_value() == NEW
        assert page.locator("select[name=show]").input_value() == ""
    assert opened.complaints == []


def test_an_open_hypothesis_says_why_in_the_list_and_a_group_has_its_own(
    opened_up: Opened,
) -> None:
    page = opened_up.at("#/hypotheses?verdict=INCONCLUSIVE&group=hispanic_male")
    rows = page.locator("#view tbody tr").all_inner_texts()
    assert rows
    assert all("not enough data to decide" in row for row in rows)
    page.locator("select[name=group]").select_option("white_male")
    assert "group=white_male" in page.url
    assert page.locator("select[name=verdict]").input_value() == "INCONCLUSIVE"
    page = opened_up.at(ROUTES[2])
    assert "after Holm" in page.locator("#view").inner_text()


def test_the_list_is_searched_filtered_sorted_and_saved(opened_up: Opened) -> None:
    page = opened_up.at("#/hypotheses")
    page.locator("#view input[name=q]").fill("hesitation-")
    page.locator("select[name=verdict]").select_option("INCONCLUSIVE")
    names = [link.get_attribute("href") or "" for link in page.locator("#view tbody a").all()]
    assert names
    assert all("/hesitation-" in name for name in names)
    assert "verdict=INCONCLUSIVE" in page.url
    with page.expect_download() as download:
        page.get_by_role("button", name="CSV").click()
    text = Path(download.value.path()).read_text("utf-8")
    assert text.splitlines()[0].startswith("experiment,model,hypothesis,")
    assert len(text.splitlines()) == 1 + len(names)


def test_a_model_is_filtered_by_whatever_signs_its_name_has(show: Show) -> None:
    models = ("me/plain", "me/lrm\u200ex\x1b")
    analyses = [factory.analysis(factory.verdict(model=each), model=each) for each in models]
    page = show(factory.view(*analyses)).at("#/hypotheses")
    page.locator("#view select[name=m]").select_option(r"me/lrm\u200ex\u001b")
    shown = page.locator("#view h1").inner_text()
    assert shown == "Hypotheses 1 of 2"


@pytest.mark.parametrize("query", ["q=zzzqq", "verdict=NOTHING+FOUND"])
def test_a_search_that_finds_nothing_says_so_and_leads_on(
    opened_up: Opened, up: Run, query: str
) -> None:
    page = opened_up.at(f"#/hypotheses?{query}")
    assert "None is like that." in page.locator("#view").inner_text()
    links = page.locator("#view a[href*='q=zzzqq']").count()
    assert links == (len(up.results["analyses"]) if "q=" in query else 0)


def test_what_was_not_selected_is_marked_and_never_open(show: Show) -> None:
    clear = factory.verdict(factory.finding(), status="CLEAR", words="CLEAR within ±0.6")
    other = factory.verdict(factory.finding(), id="other")
    run = factory.view(factory.analysis(clear, other), judged=(clear.named,))
    opened = show(run)
    page = opened.at("#/hypotheses")
    marked = [
        row.count("not selected in this run")
        for row in page.locator("#view tbody tr").all_inner_texts()
    ]
    assert marked == [0, 1]
    with page.expect_download() as download:
        page.get_by_role("button", name="CSV").click()
    lines = Path(download.value.path()).read_text("utf-8").splitlines()
    assert [line.rpartition(",")[2] for line in lines] == ["selected", "yes", "no"]
    assert opened.at("#/hypotheses?verdict=open").locator("#view tbody tr").count() == 0


def test_a_reason_is_found_however_it_is_written(show: Show) -> None:
    of = experiment(retention="raw")
    outcomes = [
        Outcome(trial, None, "Other" if place % 2 else "Said Nothing", (), 1, ())
        for place, trial in enumerate(plan(of, of.design()))
    ]
    page = show(factory.view(), replies_of(of, OLD, outcomes)).at("#/replies/tiny?q=said+Nothing")
    assert page.locator("#view h1 .count").inner_text() == "3 of 6"


def test_the_filter_by_measure_keeps_what_has_no_estimate(show: Show) -> None:
    verdicts = (
        factory.verdict(factory.finding()),
        factory.verdict(factory.finding(measure="other"), id="other"),
        factory.undecided(None, "demand=low: 0 units", id="open"),
    )
    rows = (
        show(factory.view(factory.analysis(*verdicts)))
        .at("#/hypotheses?measure=other")
        .locator("#view tbody tr")
    )
    assert ["demand=low: 0 units" in row for row in rows.all_inner_texts()] == [False, True]


def test_what_an_address_asks_for_and_is_not_there_is_shown_and_a_page_too_far_is_the_last(
    show: Show,
) -> None:
    made = [factory.verdict(factory.finding(), id=f"made-up-{number}") for number in range(101)]
    opened = show(factory.view(factory.analysis(*made)))
    for field in ("e", "m", "measure", "group", "verdict"):
        page = opened.at(f"#/hypotheses?{field}=zzz")
        assert page.locator(f"select[name={field}]").input_value() == "zzz"
        assert page.locator("#view tbody tr").count() == 0
    rows = opened.page.locator("#view tbody tr")
    for place, number in (("9", 1), ("-1", 100), ("x", 100)):
        opened.at(f"#/hypotheses?p={place}")
        expect(rows).to_have_count(number)


def test_without_a_contrast_the_line_below_the_heading_is_the_model(show: Show) -> None:
    verdict = factory.undecided(None, "nothing came")
    page = show(factory.view(factory.analysis(verdict))).at(
        f"#/h/anchoring/simulated%2Fbiased/{verdict.id}"
    )
    assert page.locator("#view .contrast").inner_text() == "simulated/biased"


# --- text from outside ------------------------------------------------------------------------

HOSTILE = (
    "<script>alert(1)</script></script><!--<img src=x onerror=alert(2)>\0\x1b[2J\u202e\u2066 =1+1 "
    "half \ud83d {{ 7 * 7 }}"
)


OBEYED = "\u202e\U000e0041\u2066"


def hostile() -> tuple[RunView, Any]:
    """An experiment whose replies want to be more than text, one of them very long."""
    of = experiment(retention="raw")
    outcomes = []
    for number, trial in enumerate(plan(of, of.design())):
        text = HOSTILE if number else f"{HOSTILE} {'long ' * 200_000}"
        said = Exchange(
            to="subject", place=Place((), 1, 1), told=(Message("user", HOSTILE),), reply=text,
            finish="stop", served=HOSTILE, at="2026-01-01T00:00:00+00:00", latency=0.1,
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


def test_no_mark_of_direction_is_obeyed_in_text_heading_or_title(
    show: Show, tmp_path: Path
) -> None:
    verdict = factory.verdict(factory.finding(), title=f"as {OBEYED} is")
    of = factory.analysis(verdict, name=f"Eggs {OBEYED}", metadata={"limitations": [OBEYED]})
    opened = show(factory.view(of))
    assert not set(OBEYED) & set((tmp_path / "bias-report.html").read_text("utf-8"))
    shown = opened.at("#/").locator("#summary").inner_text()
    page = opened.at(f"#/h/anchoring/simulated%2Fbiased/{verdict.id}")
    for text in (shown, page.locator("#view h1").inner_text(), page.title()):
        assert r"\u202e\U000e0041\u2066" in text


def test_of_replies_too_long_to_mark_the_button_says_so(show: Show) -> None:
    view, replies = hostile()
    page = show(view, replies, replace(replies, model=NEW)).at(f"#/replies/{replies.experiment}")
    page.locator(".virtual-rows a").first.click()
    page.wait_for_selector("#view .columns")
    remarks, button = page.locator("#view .remark").count(), page.locator("button[data-key=d]")
    for _ in range(2):
        page.keyboard.press("d")
        assert button.inner_text() == "too long to mark in full"
        assert button.get_attribute("aria-pressed") == "false"
    assert page.locator("#view .remark").count() == remarks


def test_trials_beside_a_large_page_are_opened_from_disk(show: Show, tmp_path: Path) -> None:
    view, replies = hostile()
    page, files = report_files(view, [replies], [], {}, folder="bias-report-data", largest=50_000)
    file, folder = tmp_path / "bias-report.html", tmp_path / "bias-report-data"
    assert (page, files) == report_files(
        view, [replies], [], {}, folder="bias-report-data", largest=0
    )
    assert report_files(view, [replies], [], {}, folder="bias-report-data")[1] == {}
    assert "d-0" not in blocks(page)
    folder.mkdir()
    file.write_text(page, encoding="utf-8")
    ((name, text),) = files.items()
    route = f"#/replies/{replies.experiment}"
    other = replies_of(experiment(retention="raw"), OLD, [], text=False)
    ((_, of_another_run),) = report_files(
        view, [other], [], {}, folder="bias-report-data", largest=0
    )[1].items()
    for content, said in ((None, False), (of_another_run, False), (text, True)):
        if content is not None:
            (folder / name).write_text(content, encoding="utf-8")
        opened = show(file)
        for at in (route, f"#/label/{replies.experiment}", "#/label"):
            shown = opened.at(at).locator("#view").inner_text()
            assert ("copy the folder of the same run with the page" in shown) is not said
        if said:
            opened.at(route).locator(".virtual-rows a").first.click()
            opened.page.wait_for_selector("#view .subject")
            assert opened.complaints == []
            assert opened.requests == [file.as_uri(), (folder / name).as_uri()]


def test_no_text_is_in_the_page_of_an_experiment_that_keeps_none(up: Run) -> None:
    data = blocks(up.page.read_text("utf-8"))
    kept = {
        analysis["experiment"]: analysis["recording"]["retention"]
        for analysis in up.results["analyses"]
    }
    told = {
        e: data[f"d-{place}"]["texts"] for place, (e, *_) in enumerate(data["d-run"]["replies"])
    }
    assert {e: bool(texts) for e, texts in told.items()} == {
        e: retention == "raw" for e, retention in kept.items()
    }
    assert set(kept.values()) == {"raw", "measures"}


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


def test_every_page_prints_on_white_as_the_summary(show: Show) -> None:
    opened = show(factory.usual(), color_scheme="dark")
    page, summary = opened.page, opened.page.locator("#summary:visible")
    for route in ("#/", "#/hypotheses", "#/replies", "#/nowhere"):
        page.emulate_media(media="screen")
        opened.at(route)
        page.emulate_media(media="print")
        shown = summary.count()
        page.evaluate("dispatchEvent(new Event('beforeprint'))")
        assert summary.count() == 1
        page.evaluate("dispatchEvent(new Event('afterprint'))")
        assert summary.count() == shown
    paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
    ink = page.evaluate("getComputedStyle(document.body).color")
    assert (paper, ink) == ("rgb(255, 255, 255)", "rgb(28, 32, 36)")
