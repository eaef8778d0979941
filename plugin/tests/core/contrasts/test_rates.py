from __future__ import annotations

from dataclasses import replace
from math import comb, sqrt

import numpy as np
import pytest
from pytest_bias.contrasts.estimation.fixed import rate_difference
from pytest_bias.contrasts.estimation.misclassified import corrected
from pytest_bias.contrasts.estimation.tested import _filled, union
from scipy import stats  # type: ignore[import-untyped, unused-ignore]  # scipy ships no types

from pytest_bias import MISSING
from pytest_bias.contrasts.estimation.cells import Weights, grid_of
from pytest_bias.contrasts.findings import Null
from pytest_bias.contrasts.pairs import RateDifference, RateRatio
from pytest_bias.errors import BadDesign
from pytest_bias.experiments.design import Trial
from pytest_bias.experiments.experiment import Experiment
from pytest_bias.experiments.records import CAP, Record, Records
from pytest_bias.stats.results import Misclassified

from ...helpers import there
from .designs import TONE, at, items, level, recorded, study
from .judging import judged

Counts = dict[str, dict[str, tuple[int, int]]]
"""Item → tone → events, trials."""


def counted(counts: Counts, replicates: int) -> tuple[Experiment, Records]:
    """Records with exactly these events; trials beyond those counted are refusals."""
    of = study(factors=[TONE], items=items(len(counts)), replicates=replicates)

    def draw(trial: Trial) -> bool | None:
        events, trials = counts[str(trial.item)][level(trial, "tone")]
        return None if trial.replicate > trials else trial.replicate <= events

    return of, recorded(of, draw, "yes")


def difference(**changes: object) -> RateDifference:
    given: dict[str, object] = {"high": "high", "low": "low", "margin": 0.1, "claim": "clear"}
    measure = str(changes.pop("measure", "yes"))
    return RateDifference(measure, "tone", **(given | changes))  # type: ignore[arg-type]  # by name


COMMON: Counts = {
    "s0": {"high": (14, 30), "low": (9, 28)},
    "s1": {"high": (22, 29), "low": (20, 30)},
    "s2": {"high": (5, 27), "low": (3, 30)},
}


def test_strata_count_alike_and_are_judged_by_the_score_test() -> None:
    of, records = counted(COMMON, 30)
    found = difference().analyse(of, records)
    d = v = 0.0
    for tones in COMMON.values():
        (x1, n1), (x2, n2) = tones["high"], tones["low"]
        pooled, n = (x1 + x2) / (n1 + n2), n1 + n2
        d += (x1 / n1 - x2 / n2) / 3
        v += pooled * (1 - pooled) * (1 / n1 + 1 / n2) * n / (n - 1) / 9
    assert found.estimate == pytest.approx(d, rel=1e-12)
    assert found.p_alarm == pytest.approx(2 * stats.norm.sf(abs(d) / sqrt(v)), rel=1e-6)
    assert (there(found.interval).low > 0) == (found.p_alarm < 0.05)
    assert (found.units, found.fewest) == (174, 86)
    pooled = at(records, "yes", tone="high").mean() - at(records, "yes", tone="low").mean()
    assert found.estimate != pytest.approx(pooled, abs=1e-3)


@pytest.mark.parametrize("strata", [1, 3])
@pytest.mark.parametrize("margin", [None, 0.1])
@pytest.mark.parametrize("null", ["zero", "margin"])
def test_of_cells_that_were_filled_in_only_the_interval_waits_to_be_asked_for(
    strata: int, margin: float | None, null: Null
) -> None:
    of, records = counted(dict([*COMMON.items()][:strata]), 30)
    grid = grid_of(of, records, "yes")
    weights = Weights({"tone": {"high": 1.0, "low": -1.0}})
    seen, imagined = (
        rate_difference(each, weights, margin=margin, null=null)
        for each in (grid, replace(grid, imagined=True))
    )
    if strata > 1:
        assert imagined.interval is None
        assert seen.interval is not None
    assert imagined.at_level is not None
    assert seen.at_level is not None
    for width in (0.9, 0.95, 0.99):
        assert imagined.at_level(width) == seen.at_level(width)
    for same in ("estimate", "p_alarm", "p_clear", "units", "sides", "method"):
        assert getattr(imagined, same) == getattr(seen, same)


def test_a_worst_case_is_corrected_for_reading_as_what_was_seen_is() -> None:
    error = Misclassified(sensitivity=0.9, specificity=0.95, se=0.02, source="labels")
    of, records = counted(COMMON, 30)
    read = replace(of, measures=[replace(of.measure("yes"), error=error)])
    found = there(difference().analyse(read, records).worst_case)
    assert found.interval is not None
    grid = grid_of(of, records, "yes")
    weights = Weights({"tone": {"high": 1.0, "low": -1.0}})
    moved = [
        corrected(
            rate_difference(replace(each, imagined=False), weights, margin=0.1, null="zero"),
            error,
            margin=0.1,
            null="zero",
        )
        for each in (_filled(grid, weights, sign) for sign in (-1, 1))
    ]
    assert found.p_clear == max(each.p_clear or 0 for each in moved)
    assert found.interval() == union([each.clearing_interval for each in moved])


def test_rare_events_are_judged_by_a_permutation_within_strata() -> None:
    rare: Counts = {
        "s0": {"high": (5, 40), "low": (0, 40)},
        "s1": {"high": (2, 40), "low": (1, 40)},
    }
    of, records = counted(rare, 40)
    found = difference().analyse(of, records)
    assert "label permutation" in found.method

    def pmf(k: int, events: int) -> float:
        return comb(events, k) * comb(80 - events, 40 - k) / comb(80, 40)

    # Both strata are of one size, so the difference is large where the events on one side are.
    exact = sum(
        pmf(i, 5) * pmf(j, 3)
        for i in range(6)
        for j in range(4)
        if abs(2 * (i + j) - 8) >= abs(2 * 7 - 8)
    )
    assert abs(found.p_alarm - exact) < 4 * sqrt(exact * (1 - exact) / 10_000)


def test_one_stratum_has_newcombes_interval() -> None:
    of, records = counted({"s0": {"high": (14, 30), "low": (9, 28)}}, 30)
    found = difference().analyse(of, records)
    (l1, u1), (l2, u2) = (
        stats.binomtest(x, n).proportion_ci(method="wilson") for x, n in ((14, 30), (9, 28))
    )
    p1, p2 = 14 / 30, 9 / 28
    assert found.interval is not None
    assert found.interval.low == pytest.approx(p1 - p2 - sqrt((p1 - l1) ** 2 + (u2 - p2) ** 2))
    assert found.interval.high == pytest.approx(p1 - p2 + sqrt((u1 - p1) ** 2 + (p2 - l2) ** 2))
    table = [[14, 16], [9, 19]]
    assert found.p_alarm == pytest.approx(stats.chi2_contingency(table, correction=False).pvalue)
    assert "Pearson" in found.method


@pytest.mark.parametrize(("n", "clears"), [(25, False), (28, False), (29, True)])
@pytest.mark.parametrize("strata", [1, 5])
def test_never_an_event_clears_from_29_trials_a_side_on(
    n: int, *, clears: bool, strata: int
) -> None:
    """A score test would clear from 25 on, where .9^25 = .07 of all samples show no event."""
    each = {"high": (0, n), "low": (0, n)}
    of, records = counted({f"s{i}": each for i in range(strata)}, n)
    found = difference(margin=0.1).analyse(of, records)
    assert found.p_clear is not None
    if strata == 1:
        assert found.p_clear == pytest.approx(0.9**n)
        assert (found.p_clear <= 0.05) is clears
        verdict = judged(found)
        assert (verdict.settle or n) == 29
        (shown,) = verdict.shown  # it says what the p-value does
        assert (shown.high < 0.1) is clears
    else:
        assert found.p_clear < 0.01
    assert found.estimate == 0
    assert found.p_alarm == 1.0
    assert found.interval is not None
    assert found.interval.low < 0 < found.interval.high


def test_whether_a_reply_is_missing_is_an_event() -> None:
    counts: Counts = {f"s{i}": {"high": (0, 30 - 3 * i), "low": (0, 30)} for i in range(3)}
    of, records = counted(counts, 30)
    found = difference(measure=MISSING).analyse(of, records)
    assert found.estimate == pytest.approx((0 + 3 + 6) / 90)
    assert (found.units, found.missing, found.worst_case) == (180, 0, None)
    assert [arm.mean for arm in found.arms] == pytest.approx([0.1, 0.0])
    assert found.unit == ""


def test_what_a_cap_kept_from_being_asked_is_unknown() -> None:
    of, records = counted({"s0": {"high": (0, 26), "low": (0, 30)}}, 30)
    capped = tuple(
        Record(row.trial, {}, CAP)
        if row.trial.replicate <= 4 and level(row.trial, "tone") == "low"
        else row
        for row in records.rows
    )
    found = difference(measure=MISSING).analyse(of, Records(capped))
    assert found.estimate == pytest.approx(4 / 30)
    assert found.units == 56
    assert dict(found.arms[1].missing) == {"cap": 4}
    assert found.worst_case is not None
    assert found.worst_case.needed  # 4 of 30
    assert found.worst_case.lowest == pytest.approx(4 / 30 - 4 / 30)
    assert found.worst_case.highest == pytest.approx(4 / 30)


def ratio(**changes: object) -> RateRatio:
    given: dict[str, object] = {"high": "high", "low": "low", "margin": 1.25, "claim": "clear"}
    return RateRatio("yes", "tone", **(given | changes))  # type: ignore[arg-type]  # by name


def test_a_ratio_of_rates_is_judged_by_the_score_test() -> None:
    of, records = counted({"s0": {"high": (30, 60), "low": (42, 58)}}, 60)
    found = ratio().analyse(of, records)
    assert found.estimate == pytest.approx((30 / 60) / (42 / 58))
    z2 = stats.chi2_contingency([[30, 30], [42, 16]], correction=False).statistic * 117 / 118
    assert found.p_alarm == pytest.approx(stats.chi2.sf(z2, 1), rel=1e-5)
    assert found.interval is not None
    assert found.interval.low < found.estimate < found.interval.high < 1
    assert (found.scale, found.no_effect, found.contrast) == ("ratio", 1.0, "high / low")
    assert found.within == (0.8, 1.25)


def test_the_missing_of_a_ratio_are_at_their_worst_too() -> None:
    of, records = counted({"s0": {"high": (40, 55), "low": (40, 60)}}, 60)
    worst = there(ratio().analyse(of, records).worst_case)
    assert worst.needed
    assert worst.lowest == pytest.approx(1.0)  # 40 of 60 against 40 of 60
    assert worst.highest == pytest.approx(45 / 40)
    assert worst.p_alarm == 1.0  # one filling shows no effect at all


@pytest.mark.parametrize("of_kind", [difference, ratio])
def test_a_number_is_no_event(of_kind: type) -> None:
    of = study()
    records = recorded(of, lambda _: float(np.pi), "yes")
    with pytest.raises(BadDesign, match="True or False"):
        of_kind().analyse(of, records)


def test_a_ratio_of_rare_rates_is_judged_as_their_difference_is() -> None:
    """A permutation of the labels of one stratum is Fisher's exact test."""
    of, records = counted({"s0": {"high": (6, 60), "low": (0, 60)}}, 60)
    found = ratio(margin=None, claim="detect").analyse(of, records)
    exact = stats.fisher_exact([[6, 54], [0, 60]]).pvalue
    assert found.p_alarm == pytest.approx(exact, abs=0.006)  # 10,000 relabellings
    assert "label permutation" in found.method
