"""Power, before a single reply is paid for: of a design at a margin, and of the upgrade gate.

Of the gate it is the chance to pass a model that has not changed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import cast

from ..experiments.design import Design
from ..experiments.experiment import Experiment
from .declared import Claim, Declared, Hypothesis, claim_under
from .findings import ALPHA, Finding, Null
from .groups import GroupContrast
from .interactions import Interaction
from .pairs import RateDifference, RateRatio
from .reach import is_event
from .units import Layout, Units

EFFECTS = (0.0, 2.0)
"""Effects, in margins, at which chances are told.

Without any, and with one that was accepted and is so large that its own size no longer matters.
"""

_SIZES = (0.0, 1.0, 2.0)
_LARGE = (1.0, 2.0, 3.0)
"""True effects, in margins, at which chances are given; of a screen those that it might find."""

BASE_RATES = (0.0, 0.1, 0.5)


@dataclass(frozen=True, slots=True, kw_only=True)
class Passing:
    """The chance that the upgrade gate passes a model whose ``effect``, in margins, is unchanged.

    That is, that the two-sign rule finds it no worse. ``rate`` is the base rate it is computed at,
    None for what rests on a recorded spread.
    """

    effect: float
    passes: float
    rate: float | None = None


def _passing(margin: float, passes: Callable[[float], float]) -> tuple[Passing, ...]:
    return tuple(Passing(effect=each, passes=passes(each * margin)) for each in EFFECTS)


def _of_units(layout: Layout, margin: float, sd: float, effect: float) -> float:
    """Of means whose units, or replies within their cells, spread by ``sd``."""
    from ..statistics.noninferiority_power import power_to_pass  # noqa: PLC0415  (scipy)

    pair = layout.unit_name.pair
    return power_to_pass(
        layout.per_group, sd=sd, margin=margin, effect=effect, design=layout.shape, paired=pair
    )


def of_ratios(margin: float, found: Finding | None) -> tuple[Passing, ...]:
    """Of ratios, as logarithms, at the precision that was recorded; nothing without that."""
    if found is None or not found.se or found.df is None or found.scale != "ratio":
        return ()
    from ..statistics.noninferiority_power import power_to_pass_independent  # noqa: PLC0415

    se, df, limit = found.se, found.df, math.log(margin)
    return _passing(limit, lambda effect: power_to_pass_independent(limit / se, effect / se, df))


def of_rates(layout: Layout, margin: float, rates: Sequence[float]) -> Iterator[Passing]:
    """Of rates of an event in a fixed set, at base rates."""
    from ..statistics.noninferiority_power import power_to_pass_rates  # noqa: PLC0415  (scipy)

    for rate in rates:
        for effect in EFFECTS:
            difference = min(1.0, effect * margin)
            base = max(0.0, min(rate, 1 - difference))
            passes = min(
                power_to_pass_rates(*sizes, rate=base, margin=margin, effect=difference)
                for sizes in _either_higher(layout, effect)
            )
            yield Passing(effect=effect, passes=passes, rate=rate)


def _either_higher(layout: Layout, effect: float) -> set[tuple[int, int]]:
    """The sizes of the higher side and of the other: which is which, nobody knows before."""
    return {layout.sizes, layout.sizes[::-1]} if effect else {layout.sizes}


@dataclass(frozen=True, slots=True, kw_only=True)
class Outlook:
    """The chances of CLEAR and of BIASED under a true ``effect``, counted in margins.

    That of BIASED is for the first alarm of its experiment: beside others it is larger. ``rate``
    is the base rate they are computed at, None for means.
    """

    effect: float
    clear: float
    biased: float
    rate: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Prospect:
    """The power of a design for one hypothesis.

    ``largest_sd`` is the standard deviation (of a reply within its cell, or of one value per unit)
    up to which it clears at no effect with probability .90; ``sd`` the one that was recorded, None
    where nothing is, or where it is ``doubted``, as what was recorded is skewed or nearly all
    alike; ``outlooks`` are at that spread, or at base rates. ``problem`` says why no
    verdict is possible at all. ``per_group`` is that of two equal groups; where the sides are not
    two of that size (``equal``), what they are worth. ``clears`` is whether the units suffice for
    anything to be cleared, and its measure has a positive control (``controlled``).

    ``passing`` are the upgrade gate's chances, at the recorded spread or at base rates;
    ``gate_sd`` is the spread up to which each is .90 or more. ``pairs`` is whether units of two
    models are compared with each other: then these are chances for models that have nothing in
    common, which no pair of versions falls below unless what one does more the other does less.
    ``why`` says why the margin is that, empty where nobody said it.
    """

    hypothesis: str
    claim: Claim
    target: str
    margin: float | None
    unit: str
    per_group: int | None
    unit_name: Units
    paired: bool
    largest_sd: float | None = None
    sd: float | None = None
    doubted: bool = False
    outlooks: tuple[Outlook, ...] = ()
    problem: str = ""
    equal: bool = True
    clears: bool = True
    controlled: bool = True
    screens: bool = False
    passing: tuple[Passing, ...] = ()
    gate_sd: float | None = None
    pairs: bool = False
    why: str = ""


def prospect_of(
    hypothesis: Hypothesis,
    experiment: Experiment,
    design: Design,
    found: Finding | None,
    *,
    controlled: bool = True,
    alarm: float = ALPHA,
) -> Prospect:
    """Return ``design``'s power for a hypothesis; ``found`` is what the same design recorded.

    ``controlled`` is whether its measure has a positive control, without which it clears nothing;
    ``alarm`` the p-value from which on it alarms, alone of its experiment.
    """
    declared = cast("Declared", hypothesis)
    screens = design.screens
    effects = _LARGE if screens else _SIZES
    measure = getattr(hypothesis, "measure", "")
    units = {each.name: each.unit for each in experiment.measures}
    layout = hypothesis.layout(experiment, design)
    given = Prospect(
        hypothesis=hypothesis.id,
        claim=claim_under(hypothesis, design),
        target=declared.target,
        margin=declared.margin,
        unit=units.get(measure, ""),
        per_group=None if layout is None else layout.per_group,
        unit_name=Units("units") if layout is None else layout.unit_name,
        paired=layout is not None and layout.shape == "paired",
        problem="" if layout is None else layout.problem,
        equal=layout is None or layout.equal,
        clears=controlled and not screens and (layout is None or layout.clears),
        controlled=controlled,
        screens=screens,
        why=getattr(hypothesis, "why", ""),
    )
    margin = declared.margin
    if margin is None:
        return given
    # Of what may only be found worse must be shown: an unchanged model passes that anyway.
    gated = given.claim == "clear" and not screens
    if layout is None or isinstance(hypothesis, RateRatio):
        # Chances of ratios depend on all rates, which nobody knows before.
        return replace(given, passing=of_ratios(margin, found) if gated else ())
    if layout.problem or layout.per_group < 2:  # noqa: PLR2004
        return given
    rates_of = isinstance(hypothesis, GroupContrast) and is_event(hypothesis, experiment)
    if (rates_of or isinstance(hypothesis, RateDifference)) and declared.target == "fixed":
        null = _null(hypothesis, experiment, screens=screens)
        outlooks = tuple(_rate_outlooks(layout, margin, null, found, effects, alarm))
        if not controlled:
            outlooks = tuple(replace(each, clear=0.0) for each in outlooks)
        rates = sorted({each.rate for each in outlooks if each.rate is not None})
        passing = of_rates(layout, margin, rates) if gated else ()
        return replace(given, outlooks=outlooks, passing=tuple(passing))
    given = _of_spread(given, hypothesis, experiment, layout, margin, found, effects, alarm)
    if not gated:
        return given
    from ..statistics.noninferiority_power import largest_sd_to_pass  # noqa: PLC0415  (scipy)

    sd = given.sd
    return replace(
        given,
        passing=_passing(margin, partial(_of_units, layout, margin, sd)) if sd else (),
        gate_sd=largest_sd_to_pass(
            layout.per_group,
            margin=margin,
            design=layout.shape,
            paired=layout.unit_name.pair,
        ),
        pairs=layout.unit_name.pair,
    )


def compared_by(hypothesis: Hypothesis) -> list[str]:
    """The factors a hypothesis compares levels of."""
    if isinstance(hypothesis, Interaction):
        return list(hypothesis.factors)
    factor = getattr(hypothesis, "factor", None)
    return [factor] if factor else []


def _null(hypothesis: Hypothesis, experiment: Experiment, *, screens: bool) -> Null:
    """Return the null that BIASED is shown against; of a screen always the margin."""
    if screens:
        return "margin"
    return cast("Declared", hypothesis).null_of(experiment, compared_by(hypothesis))


def _of_spread(
    given: Prospect,
    hypothesis: Hypothesis,
    experiment: Experiment,
    layout: Layout,
    margin: float,
    found: Finding | None,
    effects: Sequence[float],
    alarm: float,
) -> Prospect:
    from ..statistics.power import (  # noqa: PLC0415  (numpy)
        largest_sd_to_clear,
        units_to_clear,
        verdict_chances,
    )

    n, shape = layout.per_group, layout.shape
    if _misses(hypothesis, experiment, layout, margin, found):
        given = replace(given, clears=False)
    largest = sd = None
    if given.clears:
        largest = largest_sd_to_clear(n, margin=margin, design=shape)
    doubted = False
    if found is not None and found.se is not None:
        sd = found.se * math.sqrt(n if shape == "paired" else n / 2)
        # Where it may be trusted, some number of units settles the question, if any does.
        settled = found.settle is not None or found.deterministic
        doubted = not settled and units_to_clear(sd=sd, margin=margin, design=shape) is not None
        sd = None if doubted else sd
    outlooks: tuple[Outlook, ...] = ()
    if sd:
        null = _null(hypothesis, experiment, screens=given.screens)
        at = partial(
            verdict_chances,
            n,
            sd=sd,
            margin=margin,
            alarm_alpha=alarm,
            design=shape,
            null=null,
        )
        chances = [(effect, at(difference=effect * margin)) for effect in effects]
        outlooks = tuple(
            Outlook(effect=effect, clear=clear if given.clears else 0.0, biased=biased)
            for effect, (clear, biased) in chances
        )
    return replace(given, largest_sd=largest, sd=sd, doubted=doubted, outlooks=outlooks)


def _misses(
    hypothesis: Hypothesis,
    experiment: Experiment,
    layout: Layout,
    margin: float,
    found: Finding | None,
) -> bool:
    """Return whether the replies clear nothing, as they may all miss some that make the margin.

    Where nothing is recorded the means are taken to lie in the middle of the scale, and events not
    to happen. Of the four of a difference of differences two make a side: the first with the last.
    """
    from .estimation.bounded import units_to_see  # noqa: PLC0415  (numpy)

    scales = {each.name: each.bounds for each in experiment.measures}
    event = is_event(hypothesis, experiment)
    bounds = (0.0, 1.0) if event else scales.get(getattr(hypothesis, "measure", ""))
    if bounds is None or not layout.fewest:
        return False
    means = [0.0 if event else sum(bounds) / 2]
    if found is not None:
        means = [
            math.fsum(arm.mean * arm.units for arm in side) / sum(arm.units for arm in side)
            for side in (found.arms[::3], found.arms[1:3])
        ]
    margin /= 1 + isinstance(hypothesis, Interaction)
    return layout.fewest < units_to_see(means, bounds=bounds, margin=margin)


def _rate_outlooks(
    layout: Layout,
    margin: float,
    null: Null,
    found: Finding | None,
    effects: Sequence[float],
    alarm: float,
) -> Iterator[Outlook]:
    from ..statistics.rate_power import power_to_alarm_rate, power_to_clear_rate  # noqa: PLC0415

    rates: tuple[float, ...] = BASE_RATES
    if found is not None:
        rates = (math.fsum(arm.mean for arm in found.arms) / len(found.arms),)
    for rate in rates:
        for effect in effects:
            difference = effect * margin
            if difference > 1:  # no two rates are so far apart
                continue
            base = min(rate, 1 - difference)
            sides = _either_higher(layout, effect)
            yield Outlook(
                effect=effect,
                clear=min(
                    power_to_clear_rate(*each, rate=base, margin=margin, difference=difference)
                    for each in sides
                ),
                biased=_alarm_of_rates(
                    layout.per_group, base, difference, margin=margin, alarm=alarm
                )
                if null == "margin"
                else min(
                    power_to_alarm_rate(*each, rate=base, difference=difference, alpha=alarm)
                    for each in sides
                ),
                rate=rate,
            )


def _alarm_of_rates(
    n: int, rate: float, difference: float, *, margin: float, alarm: float
) -> float:
    """The chance that rates are shown to differ by more than the margin; by their variance."""
    from ..statistics.power import verdict_chances  # noqa: PLC0415  (numpy)

    variances = [p * (1 - p) for p in (rate, rate + difference)]
    sd = math.sqrt(max(math.fsum(variances), 0.0) / 2)
    if not sd:  # nothing ever happens, or always: no replies differ
        return 0.0
    _, biased = verdict_chances(
        n, sd=sd, margin=margin, difference=difference, alarm_alpha=alarm, null="margin"
    )
    return biased
