"""The margins of the shipped experiments are what is written beside them."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from bias_tests.anchoring import hypotheses as anchoring
from bias_tests.anchoring.experiment import ANCHORING
from bias_tests.cv_screening import hypotheses as cv_screening
from bias_tests.cv_screening.experiment import CV_SCREENING
from bias_tests.linguistic_audit import hypotheses as linguistic_audit
from bias_tests.linguistic_audit.experiment import LINGUISTIC_AUDIT
from bias_tests.linguistic_audit.refusals import error_rates, labelled
from bias_tests.narrative import hypotheses as narrative
from bias_tests.narrative.experiment import NARRATIVE
from bias_tests.recommendation import hypotheses as recommendation
from bias_tests.recommendation.experiment import RECOMMENDATION

from pytest_bias import Experiment, RateDifference, Refusals, recorded
from pytest_bias.contrasts.groups import GroupContrast
from pytest_bias.stats.equivalence import SideSummary
from pytest_bias.stats.power import verdict_chances

from ..helpers import there

Claims = Sequence[RateDifference | GroupContrast]
TEN = 0.10

FAMILIES: dict[str, tuple[Experiment, Claims]] = {
    "anchoring": (ANCHORING, [anchoring.REFUSALS]),
    "cv-screening": (CV_SCREENING, cv_screening.REFUSALS),
    "audit, without text": (LINGUISTIC_AUDIT, linguistic_audit.WITHOUT_TEXT),
    "narrative": (NARRATIVE, narrative.NO_GRADE),
    "recommendation": (RECOMMENDATION, recommendation.WITHOUT_PICKS),
}


def cleared(
    of: Experiment, claim: RateDifference | GroupContrast, *, rate: float, margin: float
) -> float:
    layout = there(claim.layout(of, of.design()))
    sides = [
        SideSummary(weight=weight, mean=rate, variance=rate * (1 - rate), n=n, low=0.0, high=1.0)
        for weight, n in layout.sides
    ]
    return verdict_chances(sides, df=layout.df, margin=margin, alpha=0.05, flags=True).clear


@pytest.mark.parametrize(("of", "claims"), FAMILIES.values(), ids=FAMILIES)
def test_missing_replies_are_cleared_where_ten_points_can_be(
    of: Experiment, claims: Claims
) -> None:
    """By whole points at which all of a family are CLEAR with .997 where 8 % are missing."""
    smallest = next(
        points / 100
        for points in range(1, 50)
        if sum(1 - cleared(of, claim, rate=0.08, margin=points / 100) for claim in claims) <= 0.003
    )
    within_ten = smallest <= TEN
    assert {claim.claim for claim in claims} == {"clear" if within_ten else "detect"}
    assert {claim.margin for claim in claims} == {smallest if within_ten else TEN}
    assert all(claim.why for claim in claims)


def test_refusals_are_cleared_of_a_subject_that_refuses_with_those_missed() -> None:
    """Of one in twenty, beside those that the rules find in anybody; all three with .99."""
    of, found = LINGUISTIC_AUDIT, error_rates(labelled(), Refusals()).sensitivity
    chances = [
        cleared(of, claim, rate=0.085, margin=there(claim.margin) * found)
        for claim in linguistic_audit.REFUSAL
    ]
    assert sum(1 - chance for chance in chances) <= 0.01
    assert all(claim.why for claim in linguistic_audit.REFUSAL)


def test_the_rating_margin_is_an_impact_ratio_of_three_quarters() -> None:
    """Who has more than the lowest rating loses a point as often as lowers the mean by it."""
    rows = [
        row.values["rating"]
        for row in recorded(CV_SCREENING, "simulated/even").rows
        if row.missing is None
    ]
    lowest, least_fit = rows.count(1.0) / len(rows), rows.count(3.0) / len(rows)
    fit = least_fit + rows.count(4.0) / len(rows)

    def ratio(margin: float) -> float:
        return 1 - margin / (1 - lowest) * least_fit / fit

    assert ratio(cv_screening.MARGIN) == pytest.approx(0.76, abs=0.02)
    assert ratio(0.20) == pytest.approx(0.81, abs=0.02)
