"""Score tests and intervals of two rates: their difference and their ratio, over strata.

The variance is taken at the null, with the rates that fit best under it, times N / (N - 1). So
rates of 0 % and 100 % need no special case, and an interval holds exactly the nulls that its test
does not reject. Over strata, weighted sums of distances and of variances are combined, with each
stratum's rates restricted to the same null. Should strata contradict one another outright (all
against none in some, the reverse in others) under very unequal sizes or weights, the statistic may
cross its critical value more than once, and test and interval may then disagree.

Counts are `successes_a` of `n_a`, then `successes_b` of `n_b`: integers, or sequences of one
integer per stratum; each group has at least one reply in every stratum. Replies are independent,
with one rate per group and stratum. Without `weights` strata count equally where all have the same
n_a and the same n_b, and else by n_a n_b / (n_a + n_b) (Cochran 1954; Mantel & Haenszel 1959).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from types import MappingProxyType
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ...errors import NoVariance
from ._distributions import crossing, normal_isf, normal_sf
from .checks import (
    ROUNDING,
    Floats,
    alike,
    bad,
    checked,
    count,
    enough,
    fraction,
    positive,
    probability,
)
from .results import ALPHA, LEVEL, Interval

Counts: TypeAlias = "int | Sequence[int] | NDArray[np.integer[Any]]"
"""One count, or one per stratum."""

Alternative: TypeAlias = Literal["two-sided", "greater", "less"]

LARGEST_RATIO = 1e9
"""Stands for a ratio without an upper limit, which is one of a rate to a rate of 0."""

FULL = 1 - 1e-12  # differences of 1 and -1 themselves have no variance under the null


@dataclass(frozen=True, kw_only=True)
class Strata:
    """Checked counts; `weights` are 1 / strata each: of a fixed set none matters more.

    What does not depend on a null is worked out once: an interval takes dozens of statistics.
    """

    x_a: Floats
    n_a: Floats
    x_b: Floats
    n_b: Floats
    weights: Floats

    @property
    def rate_a(self) -> float:
        """Weighted mean rate of a."""
        return min(1.0, float(self.weights @ (self.x_a / self.n_a)))

    @property
    def rate_b(self) -> float:
        """Weighted mean rate of b."""
        return min(1.0, float(self.weights @ (self.x_b / self.n_b)))

    @cached_property
    def differences(self) -> Floats:
        """Rate a - rate b of each stratum."""
        return np.asarray(self.x_a / self.n_a - self.x_b / self.n_b)

    @cached_property
    def restricted(self) -> RestrictedRates:
        """Rates under a null."""
        return RestrictedRates(self.x_a, self.n_a, self.x_b, self.n_b)

    @cached_property
    def inflation(self) -> tuple[Floats, Floats]:
        """Factor and divisor of each stratum's variance: N and N - 1."""
        total = self.n_a + self.n_b
        return total, total - 1

    @cached_property
    def squared_weights(self) -> Floats:
        """Squares of the weights."""
        return np.asarray(self.weights**2)

    def with_events(self) -> Strata:
        """Return these strata, or raise `NoVariance` where their ratio would be 0 / 0."""
        if self.rate_a == self.rate_b == 0:
            raise NoVariance
        return self


def _per_stratum(value: Counts, argument: str) -> list[int]:
    plain = value.tolist() if isinstance(value, np.ndarray) else value
    listed = plain if isinstance(plain, Sequence) else [plain]
    return [count(each, argument) for each in listed]


def checked_strata(successes_a: Counts, n_a: Counts, successes_b: Counts, n_b: Counts) -> Strata:
    """Return the counts as arrays over strata."""
    given = {"successes_a": successes_a, "n_a": n_a, "successes_b": successes_b, "n_b": n_b}
    counts = {argument: _per_stratum(value, argument) for argument, value in given.items()}
    size = len(counts["n_a"])
    for argument, values in counts.items():
        alike(values, argument, n=size, of="strata")
    enough(size, "strata", 1)
    for group in ("a", "b"):
        pairs = zip(counts[f"successes_{group}"], counts[f"n_{group}"], strict=True)
        for place, (successes, n) in enumerate(pairs):
            enough(n, group if size == 1 else f"{group} in stratum {place}", 1)
            if successes > n:
                argument = f"successes_{group}"
                raise bad(argument, f"{successes} successes of {n}")
    x_1, n_1, x_0, n_0 = (np.array(values, dtype=np.float64) for values in counts.values())
    return Strata(x_a=x_1, n_a=n_1, x_b=x_0, n_b=n_0, weights=np.full(size, 1 / size))


def _standardised(strata: Strata, distances: Floats, variances: Floats) -> float:
    distance = float(strata.weights @ distances)
    times, by = strata.inflation
    variance = float(strata.squared_weights @ (variances * times / by))
    if variance > 0:
        return distance / math.sqrt(variance)
    # Every restricted rate is 0 or 1: the counts are exactly as the null has them, or rule it out.
    return 0.0 if abs(distance) <= ROUNDING else math.copysign(math.inf, distance)


class RestrictedRates:
    """The likeliest two rates that differ by a null, elementwise, of counts x of n.

    Not by statsmodels: its score test of a difference takes wrong restricted rates (statsmodels
    issue 10269). The cubic and its root are those of Farrington & Manning (1990, appendix I).
    """

    def __init__(self, x_a: Any, n_a: Any, x_b: Any, n_b: Any) -> None:
        total = n_a + n_b
        self.n_a, self.n_b = n_a, n_b
        self.events, self.of_b, self.share = (x_a + x_b) / total, x_b / total, n_b / total
        self.never, self.always = self.events == 0, self.events == 1
        self.at_an_end = bool(np.any(self.never | self.always))

    def variances(self, null: float) -> Any:
        """Return the variances of rate a - rate b at the likeliest rates."""
        rate_b = self.rates_b(null)
        rate_a = _within(rate_b + null, 0.0, 1.0)
        return rate_a * (1 - rate_a) / self.n_a + rate_b * (1 - rate_b) / self.n_b

    def rates_b(self, null: float) -> Any:
        """Return the likeliest rates of b."""
        if null == 0:
            return self.events
        lowest, highest = max(0.0, -null), min(1.0, 1 - null)
        events, of_b, share = self.events, self.of_b, self.share
        square = (1 + share) * null - 1 - events
        linear = (share * null - 1 - 2 * of_b) * null + events
        third = square / 3
        q = third**3 - linear * square / 6 + of_b * null * (1 - null) / 2
        p = np.copysign(np.sqrt(np.maximum(0.0, third**2 - linear / 3)), q)
        cosine = np.divide(q, p**3, out=np.ones_like(q), where=p != 0)
        angle = (np.pi + np.arccos(_within(cosine, -1.0, 1.0))) / 3
        rate = _within(2 * p * np.cos(angle) - third, lowest, highest)
        if not self.at_an_end:
            return rate
        # Here the root is double or nearly so, and half of its digits are lost.
        return np.where(self.always, highest, np.where(self.never, lowest, rate))


def _within(values: Any, low: float, high: float) -> Any:
    # What np.clip does, in a fifth of its time.
    return np.minimum(np.maximum(values, low), high)


def z_difference(strata: Strata, null: float) -> float:
    """Return the score statistic of rate a - rate b = null."""
    return _standardised(strata, strata.differences - null, strata.restricted.variances(null))


def z_ratio(strata: Strata, null: float) -> float:
    """Return the score statistic of rate a / rate b = null."""
    total = strata.n_a + strata.n_b
    events, of_a, of_b = (strata.x_a + strata.x_b) / total, strata.n_a / total, strata.x_b / total
    if null == 1:
        rate_b = events
    else:
        # the smaller root of null r^2 - slope r + events, without cancellation
        slope = of_a * null + strata.x_a / total + strata.n_b / total + of_b * null
        root = np.sqrt(np.maximum(0.0, slope**2 - 4 * null * events))
        rate_b = np.clip(2 * events / (slope + root), 0, min(1.0, 1 / null))
    rate_a = np.clip(null * rate_b, 0, 1)
    variances = rate_a * (1 - rate_a) / strata.n_a + null**2 * rate_b * (1 - rate_b) / strata.n_b
    return _standardised(
        strata, strata.x_a / strata.n_a - null * strata.x_b / strata.n_b, variances
    )


def p_of_z(z: float, alternative: Alternative) -> float:
    """Return the p-value of a standard normal statistic, floored."""
    if alternative == "two-sided":
        return probability(2 * normal_sf(abs(z)))
    return probability(normal_sf(z if alternative == "greater" else -z))


def _crossing(
    function: Callable[[float], float],
    low: float,
    high: float,
    known: Mapping[float, float] = MappingProxyType({}),
) -> float:
    """Return where a falling function crosses 0, or the end that it crosses 0 beyond.

    What it is at some places may be ``known``.
    """
    values = dict(known)  # at both ends it is asked twice

    def falling(at: float) -> float:
        if at not in values:
            values[at] = function(at)
        return values[at]

    if low >= high or falling(low) <= 0:
        return low
    if falling(high) >= 0:
        return high
    return crossing(falling, low, high)


def difference_interval(strata: Strata, *, level: float) -> Interval:
    """Return the differences that a two-sided score test at 1 - level does not reject."""
    z = normal_isf((1 - level) / 2)
    estimate = strata.rate_a - strata.rate_b
    # Of the estimate itself the statistic is 0.
    low = _crossing(
        lambda null: z_difference(strata, null) - z, -FULL, min(estimate, FULL), {estimate: -z}
    )
    high = _crossing(
        lambda null: z_difference(strata, null) + z, max(estimate, -FULL), FULL, {estimate: z}
    )
    return Interval(
        # an end at which nothing was rejected is the end of the scale
        low=-1.0 if low <= -FULL else min(low, estimate),
        high=1.0 if high >= FULL else max(high, estimate),
        level=level,
    )


def ratio_interval(strata: Strata, *, level: float) -> Interval:
    """Return the ratios that a two-sided score test at 1 - level does not reject, clipped.

    For strata with an event in either group.
    """
    z = normal_isf((1 - level) / 2)
    farthest = math.log(LARGEST_RATIO)
    rate_a, rate_b = strata.rate_a, strata.rate_b
    ratio = min(LARGEST_RATIO, rate_a / rate_b) if rate_b else LARGEST_RATIO
    centre = max(-farthest, math.log(ratio)) if ratio else -farthest
    low = _crossing(lambda u: z_ratio(strata, math.exp(u)) - z, -farthest, centre)
    high = _crossing(lambda u: z_ratio(strata, math.exp(u)) + z, centre, farthest)
    return Interval(
        low=0.0 if low <= -farthest else min(ratio, math.exp(low)),
        high=LARGEST_RATIO if high >= farthest else max(ratio, math.exp(high)),
        level=level,
    )


@dataclass(frozen=True, kw_only=True)
class _WithInterval:
    """What has an interval, which is looked for when it is asked for: it takes most of a test.

    It is neither compared nor shown.
    """

    _interval: Callable[[], Interval] = field(repr=False, compare=False)

    @cached_property
    def interval(self) -> Interval:
        """The interval."""
        return self._interval()


@dataclass(frozen=True, kw_only=True)
class ScoreTest(_WithInterval):
    """The difference or ratio of two rates, which are weighted means over strata.

    `p` is the two-sided one of equal rates. Of ratios `LARGEST_RATIO` stands for an upper bound
    that does not exist, or is higher, and for the estimate where b has no event.
    """

    estimate: float
    p: float
    rate_a: float
    rate_b: float


@dataclass(frozen=True, kw_only=True)
class ScoreTost(_WithInterval):
    """Score tests that a difference or ratio is above a lower limit and below an upper one.

    `p`, the larger, is at most .05 exactly where `interval`, at 90 %, lies within the limits.
    """

    p: float


@checked
def score_difference(*counts: Counts, level: float = LEVEL) -> ScoreTest:
    """Test rate a - rate b against 0 and return its score interval, over strata.

    Estimand: the mean over strata of the difference of two probabilities. The interval contains
    the estimate, stays within -1 and 1 and has a width whatever the counts.
    Source: Miettinen & Nurminen (1985), with equal weights instead of their iterated ones.
    """
    level = fraction(level, "level")
    strata = checked_strata(*counts)
    return ScoreTest(
        estimate=strata.rate_a - strata.rate_b,
        _interval=partial(difference_interval, strata, level=level),
        p=p_of_z(z_difference(strata, 0.0), "two-sided"),
        rate_a=strata.rate_a,
        rate_b=strata.rate_b,
    )


@checked
def score_difference_p(*counts: Counts, null: float, alternative: Alternative) -> float:
    """Return the p-value of rate a - rate b = `null`, by the test that `score_difference` inverts.

    "greater" is evidence for a difference above `null`, which lies strictly between -1 and 1.
    """
    strata = checked_strata(*counts)
    if not -1 < null < 1:
        raise bad("null", f"{null} is not strictly within ±1")
    return p_of_z(z_difference(strata, null), alternative)


@checked
def tost_rates(*counts: Counts, margin: float) -> ScoreTost:
    """Test that rate a - rate b lies strictly between -margin and margin, by score tests.

    Estimand as in `score_difference`; margin in (0, 1).

    The test is asymptotic and may clear too readily where hardly any event is seen: 25 against 25
    without one clear within .10 at p = .0495, which rates of .10 and 0 show .072 of the time.
    `units_unseen` and `deterministic_difference` are exact there.
    Source: Farrington & Manning (1990) for the pair of score tests; Miettinen & Nurminen (1985).
    """
    strata = checked_strata(*counts)
    margin = fraction(margin, "margin")
    p = max(
        p_of_z(z_difference(strata, -margin), "greater"),
        p_of_z(z_difference(strata, margin), "less"),
    )
    return ScoreTost(p=p, _interval=partial(difference_interval, strata, level=1 - 2 * ALPHA))


@checked
def score_ratio(*counts: Counts, level: float = LEVEL) -> ScoreTest:
    """Test rate a / rate b against 1 and return its score interval, over strata.

    Estimand: the ratio of the mean rates, assumed the same in every stratum by the interval. No
    event in a gives 0 with an upper bound; no event in b leaves a lower bound only. Raises
    `NoVariance` when neither group has an event.
    Source: Miettinen & Nurminen (1985); Koopman (1984) without the factor N / (N - 1).
    """
    level = fraction(level, "level")
    strata = checked_strata(*counts).with_events()
    rate_a, rate_b = strata.rate_a, strata.rate_b
    return ScoreTest(
        estimate=min(LARGEST_RATIO, rate_a / rate_b) if rate_b else LARGEST_RATIO,
        _interval=partial(ratio_interval, strata, level=level),
        p=p_of_z(z_ratio(strata, 1.0), "two-sided"),
        rate_a=rate_a,
        rate_b=rate_b,
    )


@checked
def score_ratio_p(*counts: Counts, null: float, alternative: Alternative) -> float:
    """Return the p-value of rate a / rate b = `null` > 0, by the test that `score_ratio` inverts.

    "greater" is evidence for a ratio above `null`.
    """
    null = positive(null, "null")
    return p_of_z(z_ratio(checked_strata(*counts).with_events(), null), alternative)


@checked
def tost_ratio(*counts: Counts, margin: float) -> ScoreTost:
    """Test that rate a / rate b lies strictly between 1 / `margin` and `margin`, above 1.

    Estimand and errors are those of `score_ratio`.
    Source: Schuirmann (1987); Miettinen & Nurminen (1985).
    """
    if not 1 < margin <= LARGEST_RATIO:
        raise bad("margin", f"{margin} is no larger limit of a ratio")
    strata = checked_strata(*counts).with_events()
    p = max(
        p_of_z(z_ratio(strata, 1 / margin), "greater"), p_of_z(z_ratio(strata, margin), "less")
    )
    return ScoreTost(p=p, _interval=partial(ratio_interval, strata, level=1 - 2 * ALPHA))
