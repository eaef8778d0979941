"""The adverse-impact ratio: one group's selection rate beside another's."""

from __future__ import annotations

from dataclasses import dataclass

from .results import Interval
from .score import score_ratio


@dataclass(frozen=True, slots=True, kw_only=True)
class ImpactRatio:
    """Selection rate a over b; `four_fifths`: the lower is at least four fifths of the higher."""

    ratio: float
    interval: Interval
    rate_a: float
    rate_b: float
    four_fifths: bool


def impact_ratio(
    selected_a: int, n_a: int, selected_b: int, n_b: int, *, level: float = 0.95
) -> ImpactRatio:
    """Return the adverse-impact ratio rate a / rate b with its score interval.

    Estimand: the ratio of two selection probabilities. `four_fifths` compares the lower observed
    rate with the higher one, whichever is whose, and describes; it is no test. Counts, limits and
    errors are those of `score_ratio`, with one stratum.
    Source: Uniform Guidelines on Employee Selection Procedures, 29 CFR 1607.4 D (1978).
    """
    found = score_ratio(selected_a, n_a, selected_b, n_b, level=level)
    crossed = sorted((int(selected_a) * int(n_b), int(selected_b) * int(n_a)))
    return ImpactRatio(
        ratio=found.estimate,
        interval=found.interval,
        rate_a=found.rate_a,
        rate_b=found.rate_b,
        four_fifths=5 * crossed[0] >= 4 * crossed[1],
    )
