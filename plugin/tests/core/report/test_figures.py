from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pytest_bias.report.figures import (
    Band,
    Row,
    bins,
    counted,
    histogram_chart,
    human_interval,
    interval_chart,
)
from pytest_bias.report.numbers import exact_number, plain_number
from pytest_bias.report.svg import Plane, Plot, round_step, ticks
from pytest_bias.statistics.results import Interval

from .drawing import box, filled, marks, number, texts
from .factory import human, summary

ROW = Row(name="Model", numbers="+1.00", low=0.5, high=1.5, point=1.0)

values = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=60)
whole = st.lists(st.integers(-50, 50).map(float), min_size=1, max_size=60)


@given(values | whole)
@example([25.0, -5e-324])
def test_every_value_lies_in_one_bar(given_values: list[float]) -> None:
    edges, _ = bins(given_values)
    assert edges == sorted(set(edges))
    assert edges[0] <= min(given_values)
    assert max(given_values) <= edges[-1]
    assert sum(counted(given_values, edges)) == len(given_values)
    assert len(edges) <= 42


def test_whole_numbers_get_a_bar_each_and_gaps_stay_visible() -> None:
    edges, alone = bins([2.0, 2.0, 5.0])
    assert alone
    assert edges == [1.5, 2.5, 3.5, 4.5, 5.5]
    assert counted([2.0, 2.0, 5.0], edges) == [2, 0, 0, 1]


def test_other_numbers_are_binned_at_round_edges() -> None:
    edges, alone = bins([0.0, 0.3, 0.31, 1.0])
    assert not alone
    assert edges[:3] == [0.0, 0.05, 0.1]
    assert counted([0.3], edges)[6] == 1


@given(st.floats(-1e6, 1e6), st.floats(1e-6, 1e6), st.integers(2, 12))
def test_ticks_lie_inside_and_are_few(low: float, span: float, about: int) -> None:
    found = ticks(low, low + span, about=about)
    slack = 1e-6 * max(1.0, abs(low), span)
    assert all(low - slack <= tick <= low + span + slack for tick in found)
    assert len(found) <= about + 1


@given(st.floats(1e-9, 1e9))
def test_steps_are_round(least: float) -> None:
    step = round_step(least)
    assert step >= least * (1 - 1e-6)
    assert round(step / 10 ** math.floor(math.log10(step * 1.000001)), 6) in {1, 2, 5}


def test_people_get_the_interval_of_their_own_study() -> None:
    # Englich, Mussweiler & Strack (2006), Study 2: 2.05 at t(37) = 2.10; t(.975, 37) = 2.0262
    low, high = human_interval(human(difference=2.05, se=2.05 / 2.10, n=39))
    assert (low, high) == pytest.approx(
        (2.05 - 2.0262 * 0.97619, 2.05 + 2.0262 * 0.97619), abs=1e-4
    )


def band(margin: float | None) -> Band | None:
    return None if margin is None else Band(low=-margin, high=margin, words=f"±{margin:g}")


def intervals(*rows: Row, margin: float | None = 0.6, title: str = "months") -> tuple[str, str]:
    """The chart of some rows, wide and narrow."""
    chart = interval_chart(rows, band=band(margin), title=title, label="numbers")
    return chart.wide, chart.narrow


@pytest.mark.parametrize("margin", [0.6, 1e-3, 500.0])
def test_the_margin_is_always_in_view(margin: float) -> None:
    for svg in intervals(ROW, margin=margin):
        left, _, right, _ = box(svg)
        (inside,) = filled(svg, "var(--band)")
        assert left < float(inside["x"])
        assert float(inside["x"]) + float(inside["width"]) < right
        assert float(inside["width"]) >= 0.1
        assert f"margin ±{margin:g}" in texts(svg)


def test_without_a_margin_there_is_no_band() -> None:
    for svg in intervals(ROW, margin=None):
        assert not filled(svg, "var(--band)")


@given(st.floats(-1e6, 1e6), st.floats(1e-6, 1e6), st.floats(0, 1))
def test_a_value_lies_as_far_along_the_plot_as_along_its_axis(
    low: float, span: float, share: float
) -> None:
    plot = Plot((low, low + span), 500, title="t")
    assert plot.at(low + share * span) == pytest.approx(500 * share, abs=0.1)


def test_charts_are_drawn_twice_the_same_without_ids() -> None:
    first, second = (
        interval_chart([ROW], band=band(0.6), title="months", label="numbers") for _ in range(2)
    )
    assert first == second
    for svg in (first.wide, first.narrow):
        assert svg.startswith("<svg viewBox=")
        assert " id=" not in svg
        assert "href" not in svg


def test_one_constant_value_can_be_drawn() -> None:
    chart = histogram_chart([summary("low", (0.25,))], title="share", label="numbers")
    assert "low: n = 1, mean 0.25" in chart.wide


def test_conditions_share_one_scale() -> None:
    summaries = [summary("low", (1.0, 1.0)), summary("high", (9.0, 9.0))]
    svg = histogram_chart(summaries, title="months", label="numbers").wide
    low, high = filled(svg, "var(--bar)")
    assert float(low["x"]) + float(low["width"]) < float(high["x"])
    assert low["width"] == high["width"]
    assert len([text for text in texts(svg) if text == "months"]) == 1


def test_points_lie_over_lines_and_words_over_all() -> None:
    inner = Interval(low=0.5, high=1.0, level=0.90)
    rows = [replace(ROW, point=None), ROW, replace(ROW, inner=inner, point=0.8)]
    svg, _ = intervals(*rows)
    kinds = [mark.tag for mark in marks(svg)]
    first_point = kinds.index("circle")
    assert set(kinds[first_point:]) == {"circle", "text"}
    assert kinds.index("text") > max(i for i, kind in enumerate(kinds) if kind == "circle")
    assert marks(svg)[first_point - 1].attrib["stroke-width"] == "6"
    assert list(Plane) == sorted(Plane)


@pytest.mark.parametrize(("conditions", "numbered"), [(12, True), (13, False)])
def test_bars_of_many_conditions_go_without_numbers(conditions: int, *, numbered: bool) -> None:
    summaries = [summary(f"c{number}", (1.0, 1.0, 2.0)) for number in range(conditions)]
    svg = histogram_chart(summaries, title="months", label="numbers").wide
    sizes = [mark.attrib.get("font-size") for mark in marks(svg, "text")]
    assert sizes.count("11.5") == (2 * conditions if numbered else 0)


def test_bars_are_as_high_as_their_counts() -> None:
    svg = histogram_chart([summary("c", (1.0, 1.0, 2.0))], title="t", label="numbers").wide
    two, one = (float(bar["height"]) for bar in filled(svg, "var(--bar)"))
    assert two == pytest.approx(2 * one, abs=0.02)


@pytest.mark.parametrize("text", ["a", "b", "aa", "NaN", "x & y", "\\1", "1", "<b>'\""])
def test_every_text_comes_out_as_it_went_in(text: str) -> None:
    rows = [Row(name=name, numbers="a", low=0.0, high=1.0) for name in (text, "other", text)]
    svg, _ = intervals(*rows, margin=None, title=f"{text} b")
    axis = [f"{value:.12g}" for value in ticks(-0.04, 1.04, about=8)]
    assert Counter(texts(svg)) == Counter([text, "other", text, "a", "a", "a", f"{text} b", *axis])


def test_words_in_charts_are_data() -> None:
    row = Row(name="</svg><b>", numbers="datum.x", low=0.0, high=1.0)
    svg, _ = intervals(row, title="a' + alert(1) + '")
    assert "<b>" not in svg
    assert "&lt;/svg&gt;" in svg
    assert "a' + alert(1) + '" in svg


def test_numbers_below_zero_have_a_minus_and_not_a_hyphen() -> None:
    svg, _ = intervals(replace(ROW, low=-1.5))
    assert "−1" in texts(svg)
    assert number(marks(svg, "circle")[0], "r") > 0


@pytest.mark.parametrize(
    ("value", "plain", "exact"),
    [
        (4.1833, "4.18", "4.1833"),
        (0.0423, "0.042", "0.0423"),
        (3.0, "3.00", "3"),
        (0.0, "0.00", "0"),
    ],
)
def test_numbers_in_print(value: float, plain: str, exact: str) -> None:
    assert plain_number(value) == plain
    assert exact_number(value) == exact
