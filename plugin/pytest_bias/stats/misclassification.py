"""Rates and their differences where what is counted is read wrongly at known rates."""

from __future__ import annotations

import math

from .checks import bad, checked, count, number
from .results import Misclassified

_HALF = 0.5


@checked
def labelled_errors(
    *, found: int, events: int, passed: int, others: int, source: str
) -> Misclassified:
    """Return error rates of a labelled sample: `found` of `events`, `passed` of `others`.

    Three found of three are no proof that all are: standard error, and rates at which clearing
    must hold also, are those of Beta(x + 1, n - x + 1), its mean (x + 1) / (n + 2). Raises
    `TooFewUnits` where either is empty, `BadStatisticInput` where either pair of rates adds up to
    1 or less. Source: Rogan & Gladen (1978).
    """
    for name, n in (("labelled events", events), ("labelled others", others)):
        count(n, name, 1)
    likely, passing = (found + 1) / (events + 2), (passed + 1) / (others + 2)
    variance = likely * (1 - likely) / (events + 3) + passing * (1 - passing) / (others + 3)
    se = math.sqrt(variance)
    few = Misclassified(
        sensitivity=likely,
        specificity=passing,
        se=se,
        source=f"{source}, and one more right and wrong of each",
    )
    return Misclassified(
        sensitivity=found / events,
        specificity=passed / others,
        se=se,
        source=source,
        also=(few,),
        labels=events + others,
    )


@checked
def retest_errors(*, differ: int, pairs: int, source: str) -> Misclassified:
    """Return the symmetric error rate at which ``differ`` of ``pairs`` read twice would differ.

    Both readings err independently and alike with probability e, so that 2e(1 - e) differ. What a
    reader gets wrong both times is not seen: a lower bound of the error. Raises
    `BadStatisticInput` where half or more differ.
    """
    share = differ / count(pairs, "pairs", 1)
    if share >= _HALF:
        raise bad("differ", "half of the pairs or more: nothing is read from it")
    youden = math.sqrt(1 - 2 * share)
    right = (1 + youden) / 2
    se = math.sqrt(share * (1 - share) / pairs) / youden
    return Misclassified(sensitivity=right, specificity=right, se=se, source=source)


@checked
def corrected_difference(
    difference: float, se: float, error: Misclassified
) -> tuple[float, float]:
    """Return a difference of two rates without the error of reading, and its standard error.

    Estimand: the difference of the rates of events themselves. Each rate is (observed +
    specificity - 1) / (sensitivity + specificity - 1), so that their difference is the observed
    one by the denominator J; delta method: se² / J² + difference² var(J) / J⁴. Assumes that both
    groups are read alike. Source: Rogan & Gladen (1978).
    """
    youden = error.youden
    of_error = number(difference, "difference") * error.se / youden
    return difference / youden, math.hypot(number(se, "se"), of_error) / youden
