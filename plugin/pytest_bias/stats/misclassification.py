"""What is left of a difference of rates where events are read wrongly."""

from __future__ import annotations

import math

from scipy.special import betaincinv  # type: ignore[import-untyped, unused-ignore]

from .results import ALPHA


def _lower(x: int, n: int) -> float:
    """Return the one-sided lower limit of x of n at .95 (Clopper & Pearson 1934)."""
    return float(betaincinv(x, n - x + 1, ALPHA)) if x else 0.0


def labelled_youden(*, found: int, events: int, passed: int, others: int) -> float:
    """Return Youden's index at the lower limits of `found` of `events`, `passed` of `others`.

    It is 0 where both limits add up to 1 or less.
    Source: Youden (1950); Clopper & Pearson (1934) for the limits.
    """
    return max(_lower(found, events) + _lower(passed, others) - 1, 0.0)


def retest_youden(*, differ: int, pairs: int) -> float:
    """Return Youden's index at the upper limit of `differ` of `pairs` that were read twice.

    Both readings err independently and alike with probability e, so that 2e(1 - e) differ, and
    Youden's index is the root of 1 - 2 times that share; it is 0 where half or more may differ.
    What a reader gets wrong both times is not seen: an upper bound of the index.
    """
    return math.sqrt(max(2 * _lower(pairs - differ, pairs) - 1, 0.0))
