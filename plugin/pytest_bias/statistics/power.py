"""How probable a verdict is: exact power of t tests and of the equivalence test.

Nothing here is a normal approximation: few units make the estimated SD, and so the verdict,
uncertain, and that is part of the probability. Rates have their own module, `rate_power`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from pytest_bias.errors import BadStatisticInput

from ._arrays import fraction, number, positive
from ._power import (
    LARGEST_ALPHA,
    MOST_POWER,
    Design,
    Null,
    alarm_power,
    average,
    bends,
    beyond,
    checked_plan,
    clear_power,
    one_sided_power,
    solve,
    start_of_alarm,
    t_quantile,
)

Alternative = Literal["two-sided", "greater", "less"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Chances:
    """Probabilities of the three verdicts, summing to 1; one that is both is CLEAR."""

    clear: float
    biased: float
    inconclusive: float


def t_power(
    n_per_group: int,
    *,
    sd: float,
    difference: float,
    alpha: float = 0.05,
    alternative: Alternative = "two-sided",
) -> float:
    """Return the power of Student's two-sample t test with `n_per_group` units in each group.

    Estimand: P(p <= alpha) where mean(a) - mean(b) is `difference` and both groups are normal
    with SD `sd`, in one unit. Two-sided counts significance in either direction. Raises
    `TooFewUnits` below 2 units a group, `BadStatisticInput` for values outside their domain.
    Source: Owen (1965); Cohen (1988).
    """
    function = "t_power"
    found = checked_plan(n_per_group, design="independent", strata=1, function=function)
    effect = number(difference, function=function, argument="difference") / (
        positive(sd, function=function, argument="sd") * found.se
    )
    alpha = fraction(alpha, function=function, argument="alpha", below=LARGEST_ALPHA)
    if alternative == "two-sided":
        return alarm_power(effect, start=0, alpha=alpha, df=found.df)
    if alternative not in {"greater", "less"}:
        raise BadStatisticInput(
            function=function, argument="alternative", problem=f"{alternative!r} is not known"
        )
    return one_sided_power(-effect if alternative == "less" else effect, alpha=alpha, df=found.df)


def power_to_clear(
    n: int,
    *,
    sd: float,
    margin: float,
    difference: float = 0.0,
    alpha: float = 0.05,
    design: Design = "independent",
    strata: int = 1,
) -> float:
    """Return the probability that the equivalence test clears `difference` within `margin`.

    `n` is units per group (independent) or pairs (paired); `sd` is that of the units of a group
    within a stratum, or of the pair differences; `difference` is the true one; all in one unit.
    Normal units, equal groups and variances. `strata` each cost one degree of freedom per group.

    Raises `TooFewUnits` where n leaves no degree of freedom, `BadStatisticInput` for values
    outside their domain. Source: Phillips (1990); Schuirmann (1987).
    """
    function = "power_to_clear"
    found = checked_plan(n, design=design, strata=strata, function=function)
    unit = positive(sd, function=function, argument="sd") * found.se
    return clear_power(
        number(difference, function=function, argument="difference") / unit,
        margin=positive(margin, function=function, argument="margin") / unit,
        alpha=fraction(alpha, function=function, argument="alpha", below=LARGEST_ALPHA),
        df=found.df,
    )


def power_to_alarm(
    n: int,
    *,
    sd: float,
    difference: float,
    alpha: float = 0.05,
    design: Design = "independent",
    null: Null = "zero",
    margin: float | None = None,
    strata: int = 1,
) -> float:
    """Return the probability that the two-sided t interval at 1 - alpha excludes the null.

    The null is 0, or with `null="margin"` every difference within ±margin (a bias beyond the
    margin). Alarms that are also cleared are counted: see `verdict_chances`. Arguments, errors
    and assumptions are those of `power_to_clear`; a missing margin raises `BadStatisticInput`.
    Source: Owen (1965).
    """
    function = "power_to_alarm"
    found = checked_plan(n, design=design, strata=strata, function=function)
    unit = positive(sd, function=function, argument="sd") * found.se
    return alarm_power(
        number(difference, function=function, argument="difference") / unit,
        start=start_of_alarm(null, margin, unit=unit, function=function),
        alpha=fraction(alpha, function=function, argument="alpha", below=LARGEST_ALPHA),
        df=found.df,
    )


def verdict_chances(
    n: int,
    *,
    sd: float,
    margin: float,
    difference: float,
    alpha: float = 0.05,
    design: Design = "independent",
    null: Null = "zero",
    strata: int = 1,
) -> Chances:
    """Return the probabilities of CLEAR, else BIASED, else INCONCLUSIVE at a true `difference`.

    Arguments, errors, assumptions and source are those of `power_to_clear`.
    """
    function = "verdict_chances"
    found = checked_plan(n, design=design, strata=strata, function=function)
    unit = positive(sd, function=function, argument="sd") * found.se
    effect = number(difference, function=function, argument="difference") / unit
    width = positive(margin, function=function, argument="margin") / unit
    alpha = fraction(alpha, function=function, argument="alpha", below=LARGEST_ALPHA)
    start = start_of_alarm(null, margin, unit=unit, function=function)
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


def largest_sd_to_clear(
    n: int,
    *,
    margin: float,
    power: float = 0.90,
    alpha: float = 0.05,
    design: Design = "independent",
    strata: int = 1,
) -> float:
    """Return the SD up to which no difference is cleared within `margin` with probability `power`.

    In the unit of `margin`; arguments, errors, assumptions and source as for `power_to_clear`.
    """
    function = "largest_sd_to_clear"
    found = checked_plan(n, design=design, strata=strata, function=function)
    margin = positive(margin, function=function, argument="margin")
    power = fraction(power, function=function, argument="power", below=MOST_POWER)
    alpha = fraction(alpha, function=function, argument="alpha", below=LARGEST_ALPHA)
    width = solve(
        lambda width: clear_power(0, margin=width, alpha=alpha, df=found.df), power=power
    )
    return margin / (width * found.se)


def smallest_difference_found(
    n: int,
    *,
    sd: float,
    power: float = 0.95,
    alpha: float = 0.05,
    design: Design = "independent",
    null: Null = "zero",
    margin: float | None = None,
    strata: int = 1,
) -> float:
    """Return the difference above 0 that alarms with probability `power`, in the unit of `sd`.

    Other arguments, errors and source as for `power_to_alarm`. Raises `BadStatisticInput` also
    for a power that is not above alpha, which no difference would be needed for.
    """
    function = "smallest_difference_found"
    found = checked_plan(n, design=design, strata=strata, function=function)
    unit = positive(sd, function=function, argument="sd") * found.se
    power = fraction(power, function=function, argument="power", below=MOST_POWER)
    alpha = fraction(alpha, function=function, argument="alpha", below=LARGEST_ALPHA)
    if power <= alpha:
        raise BadStatisticInput(
            function=function, argument="power", problem=f"{power} is not above alpha = {alpha}"
        )
    start = start_of_alarm(null, margin, unit=unit, function=function)
    effect = solve(
        lambda effect: alarm_power(effect, start=start, alpha=alpha, df=found.df), power=power
    )
    return effect * unit
