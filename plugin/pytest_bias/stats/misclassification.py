"""The part of a difference of rates that is left where events are read wrongly."""

from __future__ import annotations

import math

from scipy.special import betaincinv  # type: ignore[import-untyped, unused-ignore]

from .checks import bad, enough
from .results import ALPHA, Misclassified

_HALF = 0.5


def _lower(x: int, n: int) -> float:
    """Return the one-sided lower limit of x of n at .95 (Clopper & Pearson 1934)."""
    return float(betaincinv(x, n - x + 1, ALPHA)) if x else 0.0


def labelled_errors(
    *, found: int, events: int, passed: int, others: int, source: str
) -> Misclassified:
    """Return error rates of a labelled sample: `found` of `events`, `passed` of `others`.

    Raises `TooFewUnits` where either is empty, `BadStatisticInput` where both rates add up to 1 or
    less. Source: Youden (1950); Clopper & Pearson (1934) for the limits.
    """
    for name, n in (("labelled events", events), ("labelled others", others)):
        enough(n, name, 1)
    return Misclassified(
        sensitivity=found / events,
        specificity=passed / others,
        source=source,
        lowest=max(_lower(found, events) + _lower(passed, others) - 1, 0.0),
    )


def retest_errors(*, differ: int, pairs: int, source: str) -> Misclassified:
    """Return the symmetric error rate at which ``differ`` of ``pairs`` read twice would differ.

    Both readings err independently and alike with probability e, so that 2e(1 - e) differ, and
    Youden's index is the root of 1 - 2 times that share. What a reader gets wrong both times is
    not seen: a lower bound of the error. Raises `BadStatisticInput` where half or more differ.
    """
    enough(pairs, "pairs", 1)
    share = differ / pairs
    if share >= _HALF:
        raise bad("differ", "half of the pairs or more: nothing is read from it")
    right = (1 + math.sqrt(1 - 2 * share)) / 2
    most = 1 - _lower(pairs - differ, pairs)
    return Misclassified(
        sensitivity=right,
        specificity=right,
        source=source,
        lowest=math.sqrt(max(1 - 2 * most, 0.0)),
    )
