"""Exact power of t tests and of the equivalence test: how probable a verdict is.

Nothing here is a normal approximation: few units make the estimated SD, and so the verdict,
uncertain, and that is part of the probability. Rates have their own module, `rate_power`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ._power import (
    LARGEST_ALPHA,
    MOST_POWER,
    PowerDesign,
    PowerNull,
    alarm_power,
    average,
    bends,
    beyond,
    checked_plan,
    clear_power,
    solve,
    start_of_alarm,
    t_quantile,
)
from .checks import checked, fraction, number, positive


@dataclass(frozen=True, slots=True, kw_only=True)
class Chances:
    """Probabilities of the three verdicts, summing to 1; one that is both is CLEAR."""

    clear: float
    biased: float
    inconclusive: float


@checked
def power_to_alarm(
    n: int,
    *,
    sd: float,
    difference: float,
    alpha: float = 0.05,
    design: PowerDesign = "independent",
    null: PowerNull = "zero",
    margin: float | None = None,
    strata: int = 1,
) -> float:
    """Return the probability that the two-sided t interval at 1 - alpha excludes the null.

    The null is 0, or with `null="margin"` every difference within ±margin (a bias beyond the
    margin). Alarms that are also cleared are counted: see `verdict_chances`.

    `n` is units per group (independent) or pairs (paired); `sd` is that of the units of a group
    within a stratum, or of the pair differences; `difference` is the true one; all in one unit.
    Normal units, equal groups and variances. `strata` each cost one degree of freedom per group.

    Raises `TooFewUnits` where n leaves no degree of freedom, `BadStatisticInput` for values
    outside their domain and a missing margin. Source: Owen (1965).
    """
    found = checked_plan(n, design=design, strata=strata)
    unit = positive(sd, "sd") * found.se
    return alarm_power(
        number(difference, "difference") / unit,
        start=start_of_alarm(null, margin, unit=unit),
        alpha=fraction(alpha, "alpha", below=LARGEST_ALPHA),
        df=found.df,
    )


@checked
def verdict_chances(
    n: int,
    *,
    sd: float,
    margin: float,
    difference: float,
    alpha: float = 0.05,
    design: PowerDesign = "independent",
    null: PowerNull = "zero",
    strata: int = 1,
) -> Chances:
    """Return the probabilities of CLEAR, else BIASED, else INCONCLUSIVE at a true `difference`.

    CLEAR is that the equivalence test at `alpha` clears `difference` within `margin`. Arguments,
    errors and assumptions are those of `power_to_alarm`.
    Source: Phillips (1990); Schuirmann (1987); Owen (1965).
    """
    found = checked_plan(n, design=design, strata=strata)
    unit = positive(sd, "sd") * found.se
    effect = number(difference, "difference") / unit
    width = positive(margin, "margin") / unit
    alpha = fraction(alpha, "alpha", below=LARGEST_ALPHA)
    start = start_of_alarm(null, margin, unit=unit)
    one, two = t_quantile(alpha, found.df), t_quantile(alpha / 2, found.df)
    clear = clear_power(effect, margin=width, alpha=alpha, df=found.df)
    biased = average(
        lambda s: beyond(np.maximum(start + two * s, width - one * s), effect),
        found.df,
        [
            (width - start) / (one + two),
            *bends(effect, start, two),
            *bends(effect, width, -one),
        ],
    )
    biased = min(biased, 1 - clear)
    return Chances(clear=clear, biased=biased, inconclusive=max(0.0, 1 - clear - biased))


@checked
def largest_sd_to_clear(
    n: int,
    *,
    margin: float,
    power: float = 0.90,
    alpha: float = 0.05,
    design: PowerDesign = "independent",
    strata: int = 1,
) -> float:
    """Return the SD up to which no difference is cleared within `margin` with probability `power`.

    In the unit of `margin`; arguments, errors, assumptions and source as for `verdict_chances`.
    """
    found = checked_plan(n, design=design, strata=strata)
    margin = positive(margin, "margin")
    power = fraction(power, "power", below=MOST_POWER)
    alpha = fraction(alpha, "alpha", below=LARGEST_ALPHA)
    width = solve(
        lambda width: clear_power(0, margin=width, alpha=alpha, df=found.df), power=power
    )
    return margin / (width * found.se)
