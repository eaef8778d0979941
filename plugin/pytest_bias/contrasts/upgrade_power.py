"""Power of the upgrade gate to pass a model that has not changed, before it is recorded."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .findings import ALPHA, Finding

if TYPE_CHECKING:
    from .layout import Layout

EFFECTS = (0.0, 2.0)
"""Effects, in margins, at which chances are told.

Without any, and with one that was accepted and is so large that its own size no longer matters.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Passing:
    """The chance that the upgrade gate passes a model whose ``effect``, in margins, is unchanged.

    That is, that the two-sign rule finds it no worse. ``sd`` is the spread it is computed at,
    ``rate`` the base rate; both are None where it rests on a recorded standard error. ``likely``
    is whether this effect is the nearest to the recorded one; where nothing is recorded, whether
    there is none.
    """

    effect: float
    passes: float
    likely: bool
    sd: float | None = None
    rate: float | None = None


def largest_sd(layout: Layout, margin: float, power: float) -> float:
    """The spread up to which an unchanged model passes with ``power``, at each of the effects."""
    from ..statistics.noninferiority_power import largest_sd_to_pass  # noqa: PLC0415  (scipy)

    return largest_sd_to_pass(
        layout.per_group,
        margin=margin,
        power=power,
        alpha=ALPHA,
        design=layout.shape,
        models="paired" if layout.unit_name.pair else "independent",
    )


def of_means(
    layout: Layout, margin: float, found: Finding | None, *, sd: float
) -> tuple[Passing, ...]:
    """Of means whose units, or replies within their cells, spread by ``sd``."""
    return tuple(
        Passing(
            effect=effect,
            passes=_of_units(layout, margin, sd=sd, effect=effect * margin),
            likely=effect == _nearest(found, margin),
            sd=sd,
        )
        for effect in EFFECTS
    )


def _of_units(layout: Layout, margin: float, *, sd: float, effect: float) -> float:
    n = layout.per_group
    if not layout.unit_name.pair:
        return _of_estimates(sd * math.sqrt(2 / n), 2.0 * n - 2, margin, effect)
    from ..statistics.noninferiority_power import power_to_pass_paired  # noqa: PLC0415  (scipy)

    return power_to_pass_paired(
        n, sd=sd, margin=margin, effect=effect, alpha=ALPHA, design=layout.shape
    )


def of_ratios(margin: float, found: Finding | None) -> tuple[Passing, ...]:
    """Of ratios, as logarithms, at the precision that was recorded; nothing without that."""
    if found is None or not found.se or found.df is None or found.scale != "ratio":
        return ()
    limit = math.log(margin)
    return tuple(
        Passing(
            effect=effect,
            passes=_of_estimates(found.se, found.df, limit, effect * limit),
            likely=effect == _nearest(found, limit),
        )
        for effect in EFFECTS
    )


def of_rates(
    layout: Layout, margin: float, found: Finding | None, rates: Sequence[float]
) -> Iterator[Passing]:
    """Of rates of an event in a fixed set, at base rates."""
    from ..statistics.noninferiority_power import power_to_pass_rates  # noqa: PLC0415  (scipy)

    for rate in rates:
        for effect in EFFECTS:
            difference = min(1.0, effect * margin)
            passes = power_to_pass_rates(
                layout.per_group,
                rate=max(0.0, min(rate, 1 - difference)),
                margin=margin,
                effect=difference,
                alpha=ALPHA,
            )
            likely = effect == _nearest(found, margin)
            yield Passing(effect=effect, passes=passes, likely=likely, rate=rate)


def _of_estimates(se: float, df: float, margin: float, effect: float) -> float:
    """Two independent estimates of one precision."""
    from ..statistics.noninferiority_power import (  # noqa: PLC0415  (scipy)
        power_to_pass_independent,
    )

    return power_to_pass_independent(
        se_candidate=se,
        df_candidate=df,
        se_baseline=se,
        df_baseline=df,
        margin=margin,
        effect=effect,
        alpha=ALPHA,
    )


def _nearest(found: Finding | None, margin: float) -> float:
    """The one of the effects that is nearer to what was recorded."""
    size = 0.0
    if found is not None and (found.scale != "ratio" or found.estimate > 0):
        size = abs(math.log(found.estimate) if found.scale == "ratio" else found.estimate)
    return min(EFFECTS, key=lambda effect: abs(effect * margin - size))
