"""Differences of rates that are read with error: Rogan & Gladen (1978), by hand and simulated."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from pytest_bias.contrasts.estimation import misclassified, tested
from pytest_bias.contrasts.estimation.cells import pairwise
from pytest_bias.contrasts.estimation.fixed import rate_difference
from pytest_bias.errors import BadStatisticInput, TooFewUnits
from pytest_bias.stats.misclassification import (
    corrected_difference,
    labelled_errors,
    retest_errors,
)
from pytest_bias.stats.results import Misclassified

from ...helpers import there
from ..contrasts.designs import cell, grid

BY_ARM = pairwise("arm", ["a"], ["b"])
N, PAIRS, RUNS, MARGIN = 800, 700, 700, 0.10


def read(events_a: int, events_b: int) -> tested.Tested:
    cells = (
        cell(np.repeat([1.0, 0.0], [events, N - events]), arm=arm)
        for arm, events in (("a", events_a), ("b", events_b))
    )
    of = replace(grid(cells, flags=True), imagined=True)  # nobody asks for the 90 % interval
    return rate_difference(of, BY_ARM, margin=MARGIN, null="margin")


def corrected(plain: tested.Tested, error: Misclassified) -> tested.Tested:
    return misclassified.corrected(plain, error, margin=MARGIN, null="margin")


def test_the_difference_is_that_of_the_two_true_prevalences() -> None:
    """(apparent + specificity - 1) / (sensitivity + specificity - 1), as in epiR's epi.prev."""
    error = labelled_errors(found=85, events=100, passed=180, others=200, source="by hand")
    true = [(apparent + 0.9 - 1) / (0.85 + 0.9 - 1) for apparent in (0.31, 0.22)]
    estimate, se = corrected_difference(0.31 - 0.22, 0.02, error)
    assert estimate == pytest.approx(true[0] - true[1], rel=1e-12)
    # Delta method: the derivative by J = .75 is -.09 / .75²; Beta(86, 16) and Beta(181, 21).
    variance_j = 86 * 16 / (102**2 * 103) + 181 * 21 / (202**2 * 203)
    by_hand = 0.02**2 / 0.75**2 + (0.09 / 0.75**2) ** 2 * variance_j
    assert se == pytest.approx(math.sqrt(by_hand), rel=1e-12)


def test_two_readings_that_err_alike_differ_as_often_as_one_of_them_errs() -> None:
    wrong = 0.03
    differ = 2 * wrong * (1 - wrong)
    error = retest_errors(differ=round(differ * 1_000_000), pairs=1_000_000, source="twice")
    assert error.sensitivity == error.specificity == pytest.approx(1 - wrong, abs=1e-6)
    # J = √(1 - 2 differ), of which the derivative is -1 / J.
    expected = math.sqrt(differ * (1 - differ) / 1_000_000) / (1 - 2 * wrong)
    assert error.se == pytest.approx(expected, rel=1e-4)


def test_errors_nothing_can_be_read_from_are_refused() -> None:
    with pytest.raises(BadStatisticInput, match="half of the pairs or more"):
        retest_errors(differ=10, pairs=20, source="")
    with pytest.raises(BadStatisticInput, match="add up to 1 or less"):
        labelled_errors(found=1, events=2, passed=1, others=2, source="")
    with pytest.raises(BadStatisticInput, match="is no rate"):
        Misclassified(sensitivity=1.2, specificity=0.9, se=0.1, source="")
    with pytest.raises(TooFewUnits, match="labelled events"):
        labelled_errors(found=0, events=0, passed=1, others=2, source="")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            {"se": (0.1, 0.1)},
            r"Misclassified\(se=…\): is no rate, a number from 0 to 1: \(0\.1, 0\.1",
        ),
        ({"se": None}, "se=….*is no rate"),
        ({"se": math.nan}, "se=….*is no rate"),
        ({"se": -0.1}, "se=….*is no rate"),
        ({"sensitivity": "0.9"}, "sensitivity=….*is no rate"),
        ({"specificity": True}, "specificity=….*is no rate"),
        ({"source": 30}, "source=….*must be text: 30"),
        ({"sampled": "no"}, "sampled=….*must be True or False: 'no'"),
        ({"worst": 0.7}, r"worst=….*must be Misclassified\(…\), or None: 0.7"),
        ({"also": [0.7]}, r"also=….*must be a tuple of Misclassified\(…\): \[0.7\]"),
        ({"also": (0.7,)}, r"also=….*must be a tuple of Misclassified\(…\): \(0.7,\)"),
        ({"labels": None}, "labels=….*must be a whole number: None"),
    ],
)
def test_what_is_of_another_kind_is_refused_where_it_is_declared(
    given: dict[str, Any], said: str
) -> None:
    usual: dict[str, Any] = {"sensitivity": 0.9, "specificity": 0.95, "se": 0.02, "source": ""}
    with pytest.raises(BadStatisticInput, match=said):
        Misclassified(**usual | given)


@pytest.mark.parametrize("wrong", [0.02, 0.10])
def test_at_the_margin_a_judge_that_errs_clears_no_more_than_five_in_a_hundred(
    wrong: float,
) -> None:
    """And the interval holds the truth in 95 of 100; as read, ten points would be far fewer."""
    rng = np.random.default_rng(7)
    clear = covered = as_read = 0
    for _ in range(RUNS):
        a, b = (
            int(rng.binomial(N, rate * (1 - wrong) + (1 - rate) * wrong)) for rate in (0.75, 0.65)
        )
        differ = int(rng.binomial(PAIRS, 2 * wrong * (1 - wrong)))
        plain = read(a, b)
        found = corrected(plain, retest_errors(differ=differ, pairs=PAIRS, source="twice"))
        assert found.p_clear is not None
        assert plain.p_clear is not None
        assert found.interval is not None
        assert found.p_clear >= plain.p_clear
        clear += found.p_clear <= 0.05
        as_read += plain.p_clear <= 0.05
        covered += found.interval.low <= MARGIN <= found.interval.high
    error = math.sqrt(0.05 * 0.95 / RUNS)
    assert clear / RUNS <= 0.05 + 2 * error
    assert abs(covered / RUNS - 0.95) <= 2 * error
    if wrong == 0.10:
        assert as_read / RUNS > 0.15


@pytest.mark.parametrize(
    ("events", "others", "rates", "sensitivity", "specificity"),
    [
        (2, 18, (0.2, 0.1), 0.7, 0.98),
        (3, 17, (0.2, 0.1), 0.7, 0.98),
        (15, 85, (0.2, 0.1), 0.7, 0.98),
        (10, 10, (0.75, 0.65), 0.9, 0.9),
    ],
)
def test_at_the_margin_few_labels_clear_no_more_than_five_in_a_hundred(
    events: int, others: int, rates: tuple[float, float], sensitivity: float, specificity: float
) -> None:
    """Though all of two or three events are often found, which says that no event is missed."""
    rng = np.random.default_rng(7)
    clear = 0
    for _ in range(RUNS):
        a, b = (
            int(rng.binomial(N, rate * sensitivity + (1 - rate) * (1 - specificity)))
            for rate in rates
        )
        found, passed = (
            int(rng.binomial(events, sensitivity)),
            int(rng.binomial(others, specificity)),
        )
        if (found + 1) / (events + 2) + (passed + 1) / (others + 2) <= 1 or found == 0:
            continue  # nothing is decided
        error = labelled_errors(
            found=found, events=events, passed=passed, others=others, source=""
        )
        p_clear = corrected(read(a, b), error).p_clear
        clear += p_clear is not None and p_clear <= 0.05
    assert clear / RUNS <= 0.05 + 2 * math.sqrt(0.05 * 0.95 / RUNS)


def test_labels_that_were_all_read_rightly_do_not_make_a_reader_faultless() -> None:
    error = labelled_errors(found=3, events=3, passed=17, others=17, source="labels")
    (few,) = error.also
    assert (error.youden, error.labels) == (1.0, 20)
    assert (few.sensitivity, few.specificity) == (4 / 5, 18 / 19)
    plain = read(160, 120)
    found = corrected(plain, error)
    assert found.p_clear is not None
    assert found.estimate == plain.estimate
    assert found.p_clear > 10 * there(plain.p_clear)
    shown = (
        "at sensitivity 0.800, specificity 0.947 (labels, and one more right and wrong of each)"
    )
    assert found.extras[shown] == f"+0.067, clearing p = {found.p_clear:.4f}"


def test_rates_of_other_replies_correct_no_estimate_but_clearing_must_hold_at_them() -> None:
    worst = Misclassified(sensitivity=0.7, specificity=0.8, se=0.11, source="hard")
    error = Misclassified(
        sensitivity=0.7, specificity=1.0, se=0.08, source="labels", sampled=False, worst=worst
    )
    plain = read(56, 24)
    found = corrected(plain, error)
    assert (found.estimate, found.interval, found.p_alarm) == (
        plain.estimate,
        plain.interval,
        plain.p_alarm,
    )
    assert found.p_clear is not None
    beyond = (MARGIN - 0.04 / 0.7) / corrected_difference(0.04, there(plain.se), error)[1]
    assert found.p_clear == pytest.approx(math.erfc(beyond / math.sqrt(2)) / 2, rel=0.02)
    assert found.p_clear > there(plain.p_clear)
    shown = {name: value for name, value in found.extras.items() if name.startswith("at ")}
    assert [str(value)[:6] for value in shown.values()] == ["+0.057", "+0.080"]


@pytest.mark.parametrize(("labelled", "kept"), [(40, False), (4000, True)])
def test_units_compare_upgrades_only_where_the_error_rates_are_known(
    *, labelled: int, kept: bool
) -> None:
    """Units of two models, each divided by a rate of its own labels, say nothing of its error."""
    half = labelled // 2
    error = labelled_errors(found=half * 9 // 10, events=half, passed=half, others=half, source="")
    part = tested.Part(
        group="arm=a", weight=1.0, values={(("unit", "x", ""),): 0.8, (("unit", "y", ""),): 0.4}
    )
    found = corrected(replace(read(520, 280), by_unit=(part,)), error)
    of_events = {unit: pytest.approx(value / 0.9) for unit, value in part.values.items()}
    assert [dict(each.values) for each in found.by_unit] == [of_events] * kept
