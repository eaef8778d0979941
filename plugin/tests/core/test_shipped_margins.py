"""The margins of the shipped experiments are what is written beside them."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from bias_tests.anchoring import hypotheses as anchoring
from bias_tests.anchoring.experiment import ANCHORING
from bias_tests.cv_screening import hypotheses as cv_screening
from bias_tests.cv_screening.experiment import CV_SCREENING
from bias_tests.linguistic_audit import hypotheses as linguistic_audit
from bias_tests.linguistic_audit.audit import RULES
from bias_tests.linguistic_audit.experiment import LINGUISTIC_AUDIT
from bias_tests.linguistic_audit.refusals import labelled
from bias_tests.narrative import hypotheses as narrative
from bias_tests.narrative.experiment import NARRATIVE
from bias_tests.recommendation import hypotheses as recommendation
from bias_tests.recommendation.experiment import RECOMMENDATION

from pytest_bias import Experiment, RateDifference, error_rates, recorded
from pytest_bias.contrasts.groups import GroupContrast
from pytest_bias.stats.equivalence import SideSummary
from pytest_bias.stats.power import verdict_chances

from ..helpers import there

Claims = Sequence[RateDifference | GroupContrast]

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
def test_missing_replies_have_the_smallest_margin_that_can_be_cleared(
    of: Experiment, claims: Claims
) -> None:
    """The chances that one is not CLEAR where 2 % are missing add up to .02 at most."""
    smallest = next(
        points / 100
        for points in range(1, 50)
        if sum(1 - cleared(of, claim, rate=0.02, margin=points / 100) for claim in claims) <= 0.02
    )
    assert {claim.margin for claim in claims} == {smallest}
    assert all(claim.why for claim in claims)


def test_refusals_have_the_smallest_margin_that_is_cleared_with_those_missed() -> None:
    rates = error_rates(labelled())
    assert (RULES.sensitivity, RULES.sampled) == (rates.sensitivity, False)
    assert RULES.worst is not None
    assert RULES.worst.specificity == rates.specificity
    of = LINGUISTIC_AUDIT
    for claim in linguistic_audit.REFUSAL:
        smallest = next(
            points / 100
            for points in range(1, 50)
            if cleared(of, claim, rate=0.15, margin=points / 100 * rates.sensitivity) >= 0.98
        )
        assert claim.margin == smallest
        assert claim.why


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

    assert ratio(cv_screening.MARGIN) == pytest.approx(0.76, abs=0.02)  # of 1,008 ratings
    assert ratio(0.20) == pytest.approx(0.81, abs=0.02)
