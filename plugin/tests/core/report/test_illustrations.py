from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pydantic import TypeAdapter
from scipy import stats  # type: ignore[import-untyped, unused-ignore]  # scipy ships no types

from pytest_bias.contrasts.estimation.figures import illustrated
from pytest_bias.errors import BadDesign, UnknownName
from pytest_bias.experiments.canonical import dumps
from pytest_bias.experiments.design import Factor, Items
from pytest_bias.experiments.figures import Axis, Heatmap, Illustration, Means, Spot
from pytest_bias.experiments.measures import MISSING, Measure
from pytest_bias.report.illustrations import (
    STEPS,
    figure_page,
    heatmap_chart,
    means_chart,
    step_of,
)
from pytest_bias.report.numbers import value_words
from pytest_bias.report.page import report_html
from pytest_bias.report.results import results_text
from pytest_bias.verdicts.analysis import analyse

from ..contrasts.designs import at, recorded, study
from ..factories import experiment, rows
from ..test_analysis import RECORDING, outcomes
from . import drawn, factory
from .drawing import box, filled, marks, number, texts
from .reading import Reader

STORIES = drawn.stories()
HELPED = drawn.helped(STORIES)
HESITATION = drawn.hesitation(STORIES)


def spot(shown: Illustration, *place: str) -> Spot:
    """The spot at ``by``, ``y``, ``x``, as many of them as there are."""
    (found,) = [
        each
        for each in shown.spots
        if tuple(level for level in (each.by, each.y, each.x) if level is not None) == place
    ]
    return found


BAD: dict[str, tuple[object, type[Exception], str]] = {
    "no such measure": (Heatmap("love", "group", "persona"), UnknownName, "measure 'love'"),
    "no such factor": (Heatmap("helped", "tone", "persona"), UnknownName, "factor 'tone'"),
    "no such panel": (Means("helped", "group", by="item"), UnknownName, "factor 'item'"),
    "x is y": (Heatmap("helped", "group", "group"), BadDesign, r"Heatmap\('helped'\): shows one"),
    "over is by": (Means("helped", "group", by="group"), BadDesign, r"Means\('helped'\): shows"),
    "a word": (
        "helped",
        BadDesign,
        r"figures must be a list of Heatmap\(…\) or Means\(…\); 'helped' is none",
    ),
}


@pytest.mark.parametrize(("figure", "error", "said"), BAD.values(), ids=BAD)
def test_what_cannot_be_shown_is_refused_with_the_experiment(
    figure: object, error: type[Exception], said: str
) -> None:
    with pytest.raises(error, match=said):
        drawn.stories(figures=[figure])


def test_titles_say_what_is_shown_unless_one_is_given() -> None:
    assert Heatmap("helped", "group", "persona").heading == "helped: persona by group"
    assert Means("helped", "group", by="scenario").heading == "helped by group, per scenario"
    assert Means("helped", "group", title="Help").heading == "Help"


def test_every_cell_has_the_rate_of_its_valid_replies_and_its_missing_trials() -> None:
    shown = illustrated(Heatmap("helped", "group", "persona", by="scenario"), STORIES, HELPED)
    assert (shown.kind, shown.flag, shown.bounds) == ("heatmap", True, (0.0, 1.0))
    assert len(shown.spots) == 8 * 3 * 3
    for scenario in ("wallet", "team", "car_accident"):
        for persona in drawn.HELPED:
            for group in drawn.GROUPS:
                found = spot(shown, scenario, persona, group)
                values = at(HELPED, "helped", group=group, persona=persona, seed=scenario)
                assert found.replies == len(values)
                assert found.replies + found.lacking == 6
                if len(values):
                    assert found.value == pytest.approx(values.mean())
                assert found.interval is None


def test_a_cell_without_valid_replies_has_no_value_and_says_what_is_missing() -> None:
    shown = illustrated(Heatmap("helped", "group", "persona", by="scenario"), STORIES, HELPED)
    found = spot(shown, "team", "noir", "asian_male")
    assert (found.value, found.replies, dict(found.missing)) == (None, 0, {"ambiguous": 6})


def test_rates_get_wilsons_interval_of_their_replies() -> None:
    shown = illustrated(Means("helped", "persona"), STORIES, HELPED)
    for persona in drawn.HELPED:
        values = at(HELPED, "helped", persona=persona)
        expected = stats.binomtest(int(values.sum()), len(values)).proportion_ci(method="wilson")
        found = spot(shown, persona)
        assert found.value == pytest.approx(values.mean())
        assert found.interval is not None
        assert (found.interval.low, found.interval.high) == pytest.approx(
            (expected.low, expected.high)
        )
    whole = spot(shown, "utopian")
    assert whole.value == 1
    assert whole.interval is not None
    assert whole.interval.low < 1


def test_numbers_get_an_interval_from_the_variance_within_cells() -> None:
    of = study(replicates=4)
    told = recorded(of, lambda t: 2.0 * t.replicate + 5 * (t.condition.levels["style"] == "plain"))
    found = spot(illustrated(Means("score", "tone"), of, told), "low")
    # Two cells of 4 replies, each of variance 20/3: se² = 2 · (1/2)² · (20/3) / 4, 6 degrees
    se = np.sqrt(2 * 0.25 * (20 / 3) / 4)
    half = se * stats.t.isf(0.025, 6)
    assert found.value == 7.5
    assert found.interval is not None
    assert (found.interval.low, found.interval.high) == pytest.approx((7.5 - half, 7.5 + half))


def test_one_cell_per_level_gets_students_interval() -> None:
    of = experiment()
    shown = illustrated(Means("score", "group"), of, rows(of, {"a": [1.0, 2.0, 6.0], "b": [4.0]}))
    found, single = spot(shown, "a"), spot(shown, "b")
    expected = stats.ttest_1samp([1, 2, 6], 0).confidence_interval()
    assert found.interval is not None
    assert (found.interval.low, found.interval.high) == pytest.approx(tuple(expected))
    assert (single.value, single.interval, single.why) == (4, None, "too few replies within cells")


def test_replies_that_do_not_vary_have_no_interval_and_never_one_of_no_width() -> None:
    shown = illustrated(Means("hesitation", "group", by="persona"), STORIES, HESITATION)
    same = spot(shown, "noir", "white_male")
    assert (same.value, same.interval) == (2, None)
    assert same.why == "the replies of each cell are the same"
    of = experiment()
    alone = illustrated(Means("score", "group"), of, rows(of, {"a": [3.0, 3.0], "b": []}))
    assert spot(alone, "a").why == "the replies of each cell are the same"
    assert (spot(alone, "b").value, spot(alone, "b").why) == (None, "")


def test_the_mean_of_unequal_cells_is_that_of_their_replies() -> None:
    of = study(replicates=3)
    told = recorded(
        of,
        lambda t: (
            None
            if t.condition.levels["style"] == "plain" and t.replicate > 1
            else 6.0 * (t.condition.levels["style"] == "plain")
        ),
    )
    heat = illustrated(Heatmap("score", "tone", "style"), of, told)
    assert spot(heat, "plain", "low").value == 6
    found = spot(illustrated(Means("score", "tone"), of, told), "low")
    assert (found.value, found.replies, dict(found.missing)) == (1.5, 4, {"refusal": 2})


def test_missing_trials_can_be_shown_as_a_rate() -> None:
    shown = illustrated(Means(MISSING, "persona"), STORIES, HESITATION)
    assert spot(shown, "default").value == 0
    assert spot(shown, "noir").value == pytest.approx(1 / 8)
    assert shown.flag


def test_words_cannot_be_shown() -> None:
    of = experiment(measures=[Measure("score")])
    with pytest.raises(BadDesign, match=r"^Means\('score'\) of .* holds words or several types"):
        illustrated(Means("score", "group"), of, rows(of, {"a": ["x"], "b": ["y"]}))


def test_an_analysis_carries_its_figures_through_json() -> None:
    of = experiment(
        factors=[Factor("demand", {"low": 3, "high": 9})],
        measures=[Measure("score", bounds=(0, 12)), Measure("much", lambda s: s.score > 5)],
        figures=[Means("score", "demand"), Means("much", "demand", title="Much")],
    )
    given: dict[str, Sequence[int | None]] = {"low": [4, 5, None], "high": [8, 9, 7]}
    found = analyse(of, of.design(), "openai/tiny", outcomes(of, given), hypotheses=(),
                    controls=(), recording=RECORDING)  # fmt: skip
    assert [figure.title for figure in found.figures] == ["score by demand", "Much"]
    assert found.figures[0].spots[0].value == 4.5
    assert dict(found.figures[0].spots[0].missing) == {"refusal": 1}
    again = TypeAdapter(type(found)).validate_json(dumps(found))
    assert again == found
    assert dumps(again) == dumps(found)
    told = json.loads(results_text(factory.view(found)))
    assert told["analyses"][0]["figures"][0]["spots"][1]["value"] == 8


def numbers(*values: float | None, bounds: tuple[float, float] | None = (0, 10)) -> Illustration:
    """One row of cells with these values."""
    levels = tuple(f"c{place}" for place in range(len(values)))
    return Illustration(
        kind="heatmap", title="t", measure="m", unit="points", flag=False, bounds=bounds,
        x=Axis("x", levels), y=Axis("y", ("only",)), by=None,
        spots=tuple(
            Spot(x=level, y="only", value=value, replies=3 * (value is not None), missing={})
            for level, value in zip(levels, values, strict=True)
        ),
    )  # fmt: skip


def heatmap(shown: Illustration) -> tuple[str, str]:
    chart = heatmap_chart(shown, label="numbers")
    return chart.wide, chart.narrow


def test_each_cell_prints_its_value_in_the_ink_of_its_colour() -> None:
    for svg in heatmap(numbers(0.0, 5.0, 10.0)):
        cells = [mark.attrib["fill"] for mark in marks(svg, "rect") if "rx" in mark.attrib]
        assert cells == ["var(--heat-0)", "var(--heat-4)", "var(--heat-8)"]
        inks = [each["fill"] for each in filled(svg, "var(--heat-ink")]
        assert inks == [cell.replace("heat", "heat-ink") for cell in cells]
        assert {"0.00", "5.00", "10.00", "0", "10 points"} <= set(texts(svg))


def test_an_empty_cell_is_hatched_named_and_explained_and_never_a_number() -> None:
    for svg in heatmap(numbers(5.0, None)):
        assert len(filled(svg, "var(--heat-ink")) == 1
        assert texts(svg).count("none") == 1
        assert "none: no valid reply" in texts(svg)
        assert "0.00" not in texts(svg)
        diagonals = [re.findall(r"[\d.]+", mark.attrib["d"]) for mark in marks(svg, "path")]
        assert diagonals
        for x, y, x2, y2 in (map(float, found) for found in diagonals):
            assert x2 - x == pytest.approx(y2 - y)
            assert x2 > x
    for svg in heatmap(numbers(5.0, 0.0)):
        assert "none" not in texts(svg)
        assert not marks(svg, "path")


@pytest.mark.parametrize("columns", [1, 7, 25, 60])
def test_all_cells_lie_within_the_page_whatever_their_number(columns: int) -> None:
    for svg in heatmap(numbers(*[5.0] * columns)):
        assert len(filled(svg, "var(--heat-ink")) == columns
        _, _, right, bottom = box(svg)
        for mark in marks(svg, "rect"):
            assert 0 <= number(mark, "x") <= number(mark, "x") + number(mark, "width") <= right
            assert number(mark, "y") + number(mark, "height") <= bottom


def test_colours_run_over_the_bounds_and_without_any_over_the_values() -> None:
    assert [step_of(value, (1, 4)) for value in (0.9, 1, 2.49, 4, 4.1)] == [0, 0, 4, 8, 8]
    assert STEPS == 9
    assert numbers(2.0, 6.0, None, bounds=None).scale == (2, 6)
    assert numbers(2.0, 2.0, bounds=None).scale == (1.5, 2.5)
    assert numbers(None, bounds=None).scale == (-0.5, 0.5)
    page = figure_page(numbers(2.0, 6.0, bounds=None))
    assert "over the values shown, from 2 to 6" in page.caption


@pytest.mark.parametrize(
    ("value", "words"),
    [(0.0, "0 %"), (0.001, "<1 %"), (0.5, "50 %"), (0.999, ">99 %"), (1.0, "100 %")],
)
def test_a_rate_of_almost_none_or_all_is_not_rounded_to_it(value: float, words: str) -> None:
    assert value_words(value, flag=True).replace("\xa0", " ") == words


def test_rounding_hides_neither_a_rare_event_nor_a_small_number() -> None:
    of = study(replicates=2_000, measures=[Measure("score")])
    first = {"style": "plain", "tone": "low"}
    rare = recorded(of, lambda t: t.replicate == 1 and dict(t.condition.levels) == first)
    page = figure_page(illustrated(Means("score", "style"), of, rare))
    assert [row[1:3] for row in page.rows] == [
        ("<0.1 %", "<0.1 % to 0.1 %"),
        ("0.0 %", "0.0 % to 0.1 %"),
    ]
    assert page.chart is not None
    label = page.chart.label.replace("\xa0", " ")
    assert "plain: <1 % [<1, <1]. formal: 0 % [0, <1]." in label
    of = study(replicates=4, measures=[Measure("score")])
    small = recorded(of, lambda t: 1e-4 * t.replicate)
    page = figure_page(illustrated(Means("score", "style"), of, small))
    assert page.rows[0][1:3] == ("0.00025", "0.000138 to 0.000362")
    assert page.chart is not None
    assert "plain: 0.00025 [0.00014, 0.00036]." in page.chart.label


@pytest.mark.parametrize("value", [-1e17, 1e17, 1e300])
def test_one_very_large_value_is_drawn(value: float) -> None:
    of = study(replicates=4, measures=[Measure("score")])
    told = recorded(of, lambda _: value)
    for figure in (Heatmap("score", "tone", "style"), Means("score", "tone")):
        page = figure_page(illustrated(figure, of, told))
        assert page.chart is not None
        assert page.rows[0][page.header.index("Mean")] == f"{value:.3g}"
        if isinstance(figure, Means):
            assert page.rows[0][page.header.index("95 % interval")].startswith("none: ")


@pytest.mark.parametrize("shown", drawn.illustrations(), ids=lambda shown: shown.title)
def test_charts_are_drawn_twice_the_same_without_ids(shown: Illustration) -> None:
    draw = heatmap_chart if shown.kind == "heatmap" else means_chart
    first, second = draw(shown, label="numbers"), draw(shown, label="numbers")
    assert first is not None
    assert first == second
    for svg in (first.wide, first.narrow):
        assert svg.startswith("<svg viewBox=")
        assert " id=" not in svg
        assert "NaN" not in svg


def test_series_differ_in_shape_and_colour() -> None:
    shown = drawn.illustrations()[4]
    chart = means_chart(shown, label="numbers")
    assert chart is not None
    points = marks(chart.wide, "circle", "polygon")
    looks = Counter(
        (mark.tag, len(mark.get("points", "").split()), mark.get("fill")) for mark in points
    )
    assert len(looks) == 8
    assert set(looks.values()) == {1 + 3}


def test_means_without_any_valid_reply_have_no_chart_but_a_table() -> None:
    of = experiment()
    shown = illustrated(Means("score", "group"), of, rows(of, {"a": [None], "b": [None]}))
    page = figure_page(shown)
    assert page.chart is None
    assert page.rows == tuple((g, "none", "none", "0", "1 refusal") for g in "ab")
    text = Reader(report_html(factory.view(factory.analysis(figures=(shown,))))).text
    assert "No valid reply: there is nothing to draw." in text


def test_the_page_has_chart_caption_and_all_numbers_in_a_table() -> None:
    heat, *_, means = drawn.illustrations()[:4]
    page = Reader(report_html(factory.view(factory.analysis(figures=(heat, means)))))
    assert "helped: persona by group, per scenario" in page.text
    assert "n = 0 to 6 replies in each cell, for this very set of stimuli." in page.text
    assert "The colours run over the whole scale, from 0 % to 100 %." in page.text
    assert "Scenario Persona Group Rate n Missing" in page.text
    assert "team noir asian male none 0 6 ambiguous" in page.text
    assert "95 % intervals (t, from the variance within cells); replies are the units" in page.text
    assert "noir white male 2.000 none: the replies of each cell are the same 18 none" in page.text
    labels = [label for label in page.charts if label.startswith("he")]
    assert len(labels) == 2
    assert "at 72 combinations, from 0 % (" in labels[0].replace("\xa0", " ")
    assert "; 2 without any. All numbers stand in the table." in labels[0]
    assert "noir, asian male: none" in labels[1]


def test_names_are_data_in_charts_and_pages() -> None:
    title = '<script>"x"</script>'
    shown = illustrated(Means("helped", "persona", title=title), STORIES, HELPED)
    html = report_html(factory.view(factory.analysis(figures=(shown,))))
    assert "<script>" not in html
    assert len(re.findall("&lt;script&gt;", html)) >= 3


def test_what_the_documentation_shows_can_be_declared_and_called() -> None:
    text = Path(__file__).parents[4].joinpath("docs/figures.md").read_text("utf-8")
    names: dict[str, Any] = {}
    for code in re.findall(r"^```python\n(.*?)^```$", text, re.DOTALL | re.MULTILINE):
        exec(code, names)  # noqa: S102  (our own page)
    of = study(
        factors=[Factor(name, {"a": 0, "b": 1}) for name in ("group", "persona", "ses")],
        items=Items("scenario", {"wallet": 1, "team": 2}),
        measures=[Measure("prosocial"), Measure("hesitation"), Measure("rating")],
        figures=names["FIGURES"],
        exports=names["tables"],
    )
    assert [figure.heading for figure in of.figures] == [
        "Pro-social rate",
        "hesitation by group",
        "hesitation by persona, per ses",
    ]
    assert of.exports is not None
    told = {"simulated/even": recorded(of, lambda trial: float(trial.replicate), "rating")}
    assert of.exports(told) == {"ratings.csv": "model,replies,mean\r\nsimulated/even,80,3.0\r\n"}
    told = {"simulated/even": recorded(of, lambda _: 1.0, "rating")}
    (chart,) = names["charts"](told).values()
    (tile,) = chart.body["concat"][0]["data"]["values"]
    assert (tile["said"], tile["bold"]) == ("1.00", True)
