"""Power, before a single reply is paid for: of a design at a margin, and of the upgrade gate.

Of the gate it is the chance to pass a model that has not changed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal, cast

from ..experiments.design import Design
from ..experiments.experiment import Experiment
from ..experiments.measures import MISSING
from ..stats.results import Misclassified
from .declared import FEWEST_UNITS, Claim, Declared, Hypothesis, claim_under
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
    from ..stats.noninferiority_power import power_to_pass  # noqa: PLC0415  (scipy)

    pair = layout.unit_name.pair
    return power_to_pass(
        layout.per_group, sd=sd, margin=margin, effect=effect, design=layout.shape, paired=pair
    )


def of_ratios(margin: float, found: Finding | None) -> tuple[Passing, ...]:
    """Of ratios, as logarithms, at the precision that was recorded; nothing without that."""
    if found is None or not found.se or found.df is None or found.scale != "ratio":
        return ()
    from ..stats.noninferiority_power import power_to_pass_independent  # noqa: PLC0415

    se, df, limit = found.se, found.df, math.log(margin)
    return _passing(limit, lambda effect: power_to_pass_independent(limit / se, effect / se, df))


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


Doubt = Literal["", "spread", "missing", "reading"]
"""Reason for which no chances are given.

Replies recorded are skewed or nearly all alike; so many are missing that a verdict must hold in
their worst case; or labels of people say how an event is read.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prospect:
    """The power of a design for one hypothesis.

    ``largest_sd`` is the standard deviation (of a reply within its cell, or of one value per unit)
    up to which it clears at no effect with probability .90; ``sd`` the one that was recorded, None
    where nothing is, or where it is in ``doubt``; ``outlooks`` are at that spread, or at base
    rates. ``problem`` says why no verdict is possible at all. ``per_group`` is that of two equal
    groups; where the sides are not two of that size (``equal``), what they are worth. ``clears``
    is whether the units suffice for anything to be cleared, and its measure has a positive control
    (``controlled``). ``cells`` are those it must hold in too: a fixed set's are counted in what
    clears, a population's are not; ``small_cells`` are why nothing does. ``least_p`` is the
    smallest p that so few units can give, where its part of the budget is less.

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
    doubt: Doubt = ""
    outlooks: tuple[Outlook, ...] = ()
    problem: str = ""
    equal: bool = True
    clears: bool = True
    controlled: bool = True
    screens: bool = False
    cells: int = 0
    small_cells: bool = False
    least_p: float | None = None
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
        problem="" if layout is None else layout.problem or _too_few(layout, design),
        equal=layout is None or layout.equal,
        clears=controlled and not screens and (layout is None or layout.clears),
        controlled=controlled,
        screens=screens,
        why=getattr(hypothesis, "why", ""),
    )
    if declared.margin is None:
        return given
    # Of what may only be found worse must be shown: an unchanged model passes that anyway.
    gated = given.claim == "clear" and not screens
    if layout is None or isinstance(hypothesis, RateRatio):
        # Chances of ratios depend on all rates, which nobody knows before.
        return replace(given, passing=of_ratios(declared.margin, found) if gated else ())
    if given.problem or layout.per_group < 2:  # noqa: PLR2004
        return given
    chances = _Chances(
        declared=declared,
        experiment=experiment,
        layout=layout,
        margin=declared.margin,
        null=_null(hypothesis, experiment, screens=screens),
        found=found,
        effects=_LARGE if screens else _SIZES,
        alarm=alarm,
        cells=_cells_of(declared, experiment, design),
    )
    given = replace(given, cells=sum(map(len, chances.cells.values())))
    rates_of = isinstance(hypothesis, GroupContrast) and is_event(hypothesis, experiment)
    if (rates_of or isinstance(hypothesis, RateDifference)) and declared.target == "fixed":
        return chances.of_rates(given, gated=gated)
    return chances.of_spread(given, gated=gated)


def _too_few(layout: Layout, design: Design) -> str:
    if not 0 < layout.fewest < FEWEST_UNITS:
        return ""
    few = f"{layout.fewest} replies on a side, at least {FEWEST_UNITS} are needed"
    return f"{design.name} design: {few}"


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


Cells = Mapping[str, Sequence[tuple[Layout, float]]]
"""Cells in which a claim must hold, by the factor whose levels they are, with their margins."""


def _cells_of(declared: Declared, experiment: Experiment, design: Design) -> Cells:
    found: dict[str, list[tuple[Layout, float]]] = {}
    for name, margin, confined in declared.confined(experiment):
        layout = cast("Hypothesis", confined).layout(experiment, design)
        if layout is not None:
            found.setdefault(name.partition("=")[0], []).append((layout, margin))
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class _Chances:
    """What the chances of one hypothesis depend on."""

    declared: Declared
    experiment: Experiment
    layout: Layout
    margin: float
    null: Null
    found: Finding | None
    effects: Sequence[float]
    alarm: float
    cells: Cells

    @property
    def error(self) -> Misclassified | None:
        """Rates at which its event is read, those that leave least of a difference."""
        name = getattr(self.declared, "measure", MISSING)
        error = None if name == MISSING else self.experiment.measure(name).error
        return error if isinstance(error, Misclassified) else None

    @property
    def labelled(self) -> bool:
        """Return whether the recording knows of an error of reading that nobody declared."""
        extras = () if self.found is None else self.found.extras
        return self.error is None and any(name.startswith("at sensitivity") for name in extras)

    def in_all(self, chance: Callable[[Layout, float], float]) -> float:
        """The chance to be clear on average and in every cell, by the same of one of them.

        Cells of one factor are of different replies, those of two are of the same.
        """
        beside = (math.prod(chance(*each) for each in of) for of in self.cells.values())
        return chance(self.layout, self.margin) * min(beside, default=1.0)

    # --- rates of an event in a fixed set -----------------------------------------------------

    def of_rates(self, given: Prospect, *, gated: bool) -> Prospect:
        """Return chances at the rates recorded, or else at base rates."""
        if self.labelled:
            return replace(given, doubt="reading")
        outlooks = tuple(self._rate_outlooks())
        if not given.controlled:
            outlooks = tuple(replace(each, clear=0.0) for each in outlooks)
        rates = sorted({each.rate for each in outlooks if each.rate is not None})
        passing = tuple(self._rates_passing(rates)) if gated else ()
        return replace(given, outlooks=outlooks, passing=passing)

    def _read(self, rate: float) -> float:
        """The rate at which events are read that happen at ``rate``; recorded ones are read."""
        error = self.error
        if error is None or self.found is not None:
            return rate
        return rate * error.youden + 1 - error.specificity

    @property
    def _left(self) -> float:
        """Share of a difference that is left when it is read."""
        return 1.0 if self.error is None else self.error.youden

    def _rate_outlooks(self) -> Iterator[Outlook]:
        from ..stats.rate_power import power_to_alarm_rate  # noqa: PLC0415  (numpy)

        rates: Sequence[float] = BASE_RATES
        if self.found is not None:
            rates = (math.fsum(arm.mean for arm in self.found.arms) / len(self.found.arms),)
        # Rates of error of other replies correct nothing: an alarm is held against the margin.
        corrected = self.error is None
        scaled = self.margin * (self._left if corrected else 1.0)
        alarm_margin = 0.0 if self.null == "zero" else scaled
        for rate in rates:
            for effect in self.effects:
                difference = effect * self.margin
                if difference > 1:  # no two rates are so far apart
                    continue
                difference *= self._left
                base = min(self._read(rate), 1 - difference)
                clear = partial(self._rates_clear, rate=base, difference=difference)
                alarms = min(
                    power_to_alarm_rate(
                        *sizes,
                        rate=base,
                        difference=difference,
                        alpha=self.alarm,
                        margin=alarm_margin,
                    )
                    for sizes in _either_higher(self.layout, effect)
                )
                # What is clear is not called biased, whether there is no effect or one this side
                # of the margin.
                biased = min(alarms, 1 - clear(self.layout, self.margin))
                yield Outlook(effect=effect, clear=self.in_all(clear), biased=biased, rate=rate)

    def _rates_clear(
        self, layout: Layout, margin: float, *, rate: float, difference: float
    ) -> float:
        """The chance to clear a margin where rates are read so, whichever side is the higher."""
        from ..stats.rate_power import power_to_clear_rate  # noqa: PLC0415  (numpy)

        at = partial(power_to_clear_rate, rate=rate, difference=difference, strata=layout.strata)
        sides = _either_higher(layout, difference)
        return min(at(*sizes, margin=margin * self._left) for sizes in sides)

    def _rates_passing(self, rates: Sequence[float]) -> Iterator[Passing]:
        from ..stats.noninferiority_power import power_to_pass_rates  # noqa: PLC0415  (scipy)

        for rate in rates:
            for effect in EFFECTS:
                difference = min(1.0, effect * self.margin) * self._left
                base = max(0.0, min(self._read(rate), 1 - difference))
                margin = self.margin * self._left
                passes = min(
                    power_to_pass_rates(*sizes, rate=base, margin=margin, effect=difference)
                    for sizes in _either_higher(self.layout, effect)
                )
                yield Passing(effect=effect, passes=passes, rate=rate)

    # --- means, and all of a population -------------------------------------------------------

    def of_spread(self, given: Prospect, *, gated: bool) -> Prospect:
        """Return chances at the spread recorded, and the spreads up to which they are .90."""
        from ..stats.noninferiority_power import largest_sd_to_pass  # noqa: PLC0415  (scipy)

        layout = self.layout
        cells = [each for of in self.cells.values() for each in of]
        small = any(not each.clears or self._misses(each, margin) for each, margin in cells)
        whole = not self._misses(layout, self.margin)
        if given.clears and (small or not whole):
            given = replace(given, clears=False, small_cells=whole)
        if given.clears:
            given = replace(given, largest_sd=self._largest_sd())
        given = self._at_recorded(given)
        if not gated:
            return given
        sd, pair = given.sd, layout.unit_name.pair
        return replace(
            given,
            passing=_passing(self.margin, partial(_of_units, layout, self.margin, sd))
            if sd
            else (),
            gate_sd=largest_sd_to_pass(
                layout.per_group, margin=self.margin, design=layout.shape, paired=pair
            ),
            pairs=pair,
        )

    def _clears(self, sd: float, difference: float = 0.0) -> float:
        """The chance of CLEAR at a spread; of a population's cells nobody knows theirs."""
        from ..stats.power import verdict_chances  # noqa: PLC0415  (numpy)

        def clear(layout: Layout, margin: float) -> float:
            n, shape = layout.per_group, layout.shape
            return verdict_chances(n, sd=sd, margin=margin, difference=difference, design=shape)[0]

        if self.declared.target == "population":
            return clear(self.layout, self.margin)
        return self.in_all(clear)

    def _largest_sd(self) -> float:
        from ..stats._distributions import crossing  # noqa: PLC0415  (numpy)
        from ..stats.power import largest_sd_to_clear  # noqa: PLC0415
        from ..stats.results import POWER  # noqa: PLC0415

        layout = self.layout
        alone = largest_sd_to_clear(layout.per_group, margin=self.margin, design=layout.shape)
        if not self.cells or self._clears(alone) >= POWER:
            return alone
        return crossing(lambda sd: self._clears(sd) - POWER, alone / 1e3, alone)

    def _at_recorded(self, given: Prospect) -> Prospect:
        from ..stats.power import units_to_clear, verdict_chances  # noqa: PLC0415  (numpy)

        found, layout = self.found, self.layout
        n, shape = layout.per_group, layout.shape
        never = self.null == "zero" and layout.least_p > self.alarm
        given = replace(given, least_p=layout.least_p if never else None)
        if found is None or found.se is None:
            return given
        sd = found.se * math.sqrt(n if shape == "paired" else n / 2)
        # Where it may be trusted, some number of units settles the question, if any does.
        if (
            found.se is None
            and units_to_clear(sd=sd, margin=self.margin, design=shape) is not None
        ):
            return replace(given, doubt="spread")
        if self.error is not None:
            sd /= self._left  # what is read is not corrected, and less of a difference is left
        # What clears nothing alarms whatever the margin is.
        alone = not given.clears and self.null == "zero"
        at = partial(
            verdict_chances,
            n,
            sd=sd,
            margin=self.margin * (1e-6 if alone else 1.0),
            alarm_alpha=self.alarm,
            design=shape,
            null=self.null,
        )
        few = self.null == "zero" and not layout.clears

        def biased(difference: float) -> float:
            if never:
                return 0.0
            return self._few_alarm(sd, difference) if few else at(difference=difference)[1]

        outlooks = [
            Outlook(
                effect=effect,
                clear=self._clears(sd, effect * self.margin) if given.clears else 0.0,
                biased=biased(effect * self.margin),
            )
            for effect in (self.effects if sd else ())
        ]
        return replace(given, sd=sd, outlooks=tuple(outlooks))

    def _few_alarm(self, sd: float, difference: float) -> float:
        """The chance of an alarm of units so few that it must hold by a permutation, too."""
        from ..stats.few_power import few_alarm_power, few_flips_power  # noqa: PLC0415

        layout, n = self.layout, self.layout.per_group
        if layout.shape == "paired":
            effect = difference * math.sqrt(n) / sd
            return few_flips_power(n, effect=effect, alpha=self.alarm)
        effect = difference * math.sqrt(n / 2) / sd
        sizes = layout.sizes if layout.fewest else (n, n)
        strata = layout.strata
        return few_alarm_power(sizes, effect=effect, alpha=self.alarm, strata=strata)

    def _misses(self, layout: Layout, margin: float) -> bool:
        """Return whether the replies clear nothing, as all may miss some that make the margin.

        Where nothing is recorded the means are taken to lie in the middle of the scale, and events
        not to happen. Of the four of a difference of differences two make a side: the first with
        the last.
        """
        from ..stats.equivalence import units_needed  # noqa: PLC0415  (numpy)

        scales = {each.name: each.bounds for each in self.experiment.measures}
        event = is_event(self.declared, self.experiment)
        name = getattr(self.declared, "measure", "")
        bounds = (0.0, 1.0) if event else scales.get(name)
        if bounds is None or not layout.fewest:
            return False
        margin /= 1 + isinstance(self.declared, Interaction)
        return layout.fewest < units_needed(margin, bounds[1] - bounds[0])
