"""The number of independent observations a contrast has under a design, before any reply."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain, product
from typing import TYPE_CHECKING

from ..experiments.design import Design
from ..experiments.experiment import Experiment
from ..experiments.measures import MISSING
from .declared import FEWEST_UNITS, Declared, has_exemplars
from .units import REPLIES, Layout, Units

if TYPE_CHECKING:
    from .estimation.cells import Weights

FEWEST_TO_CLEAR = 10
"""Exemplars in each of two groups below which nothing is cleared."""

_MOST_LABELLED = 50
"""Units in a stratum above which labels of five in all can be given in too many ways to matter."""

_ALWAYS_EXACT, _DRAWN = 20_000, 5e-4
"""Relabellings that are all gone through, and p below which drawn ones may reach none so far."""

Sides = Mapping[str, Sequence[str]]
"""One side of a contrast: factor → its levels."""


@dataclass(frozen=True, slots=True)
class Reach:
    """A contrast under a design; each of its ``sides`` is given as factor → levels."""

    declared: Declared
    experiment: Experiment
    design: Design
    sides: Sequence[Sides]

    @property
    def at(self) -> Mapping[str, Sequence[str]]:
        """The levels to which it is confined, by factor."""
        return self.declared.where(self.experiment, _together(self.sides))

    @property
    def units(self) -> tuple[str, ...]:
        """The names whose combinations are the units of a population."""
        return self.declared.units_of(self.experiment, list(self.sides[0]))

    @property
    def nested(self) -> bool:
        """Whether the units are exemplars of what is compared."""
        return any(name in self.sides[0] for name in self.units)

    def layout(self, *, within: bool, pooled: bool = False) -> Layout:
        """The observations; ``within``: a fixed set is judged by the variance within its cells.

        ``pooled``: by the events among all replies of a side, whatever the levels they are of.
        """
        problem = self.problem()
        if self.declared.target == "fixed":
            sizes = [self.trials(side) for side in self.sides]
            worths = [Fraction(n) for n in sizes] if pooled else [*map(self._worth, self.sides)]
            problem = self._no_variance(min(sizes)) if within else ""
            # Means of levels weigh alike, and so do as many replies as the smallest level has.
            two = _two(sizes if pooled else [*map(self._alike, self.sides)])
            clears = not within or min(two) >= FEWEST_TO_CLEAR
            each = [[n // self.strata for n in self._of_levels(side)] for side in self.sides]
            return Layout(
                shape="independent",
                per_group=_as_if_equal(worths),
                unit_name=REPLIES,
                problem=problem,
                equal=_are_equal(sizes, worths),
                # Within-cell t tests; rates (of which ``within`` is not asked) have score tests.
                clears=clears,
                sizes=two,
                strata=self.strata,
                least_p=0.0 if clears else _least_p(each, self.strata),
            )
        units = self.units
        if self.nested:
            # Of an interaction each group stands on two sides, with its exemplars once.
            groups = dict.fromkeys(tuple(side[units[0]]) for side in self.sides)
            exemplars = [self.count(units[0], levels) for levels in groups]
            each = [[self.count(units[0], (level,)) for level in levels] for levels in groups]
            worths = [_worth(counts) for counts in each]
            clears = min(map(min, each)) >= FEWEST_TO_CLEAR
            return Layout(
                shape="independent",
                per_group=_as_if_equal(worths),
                unit_name=Units("groups", (units[0],)),
                problem=problem,
                equal=_are_equal(exemplars, worths),
                clears=clears,
                least_p=0.0 if clears else _least_p(each),
            )
        count = math.prod(map(self.count, units))
        clears = count >= FEWEST_TO_CLEAR
        return Layout(
            shape="paired",
            per_group=count,
            unit_name=Units.within(units, exemplars=has_exemplars(self.experiment, units[0])),
            problem=problem,
            clears=clears,
            least_p=0.0 if clears else 2.0 ** (1 - count),
        )

    def of_many(
        self, weights: Iterable[Weights] = (), *, within: bool = False, flips: bool = False
    ) -> Layout | None:
        """Many sides where no verdict is possible, by the smallest; else None: no power is known.

        Of a fixed set it is that of a level alone, or that of one of the contrasts whose
        ``weights`` are given; ``flips`` as in :meth:`problem`.
        """
        fewest = 0
        problem = self.problem(flips=flips)
        if self.declared.target == "fixed":
            sizes = [*map(self._smaller_side, weights)] or chain(*map(self._of_levels, self.sides))
            fewest = min(sizes)
            problem = self._no_variance(fewest) if within else ""
        if not problem and not 0 < fewest < FEWEST_UNITS:
            return None
        two = fewest, fewest
        return Layout(
            shape="independent", per_group=0, unit_name=REPLIES, problem=problem, sizes=two
        )

    def _smaller_side(self, weights: Weights) -> int:
        levels = [*product(*weights.parts.values())]
        each = [[*zip(weights.parts, level, strict=True)] for level in levels]
        sides: dict[bool, tuple[float, float]] = {}
        for at in each:
            weight = math.prod(weights.parts[name][level] for name, level in at)
            trials = self.trials({name: (level,) for name, level in at})
            if weight:
                total, squares = sides.get(weight > 0, (0.0, 0.0))
                sides[weight > 0] = total + abs(weight), squares + weight**2 / trials
        return int(min(total**2 / squares for total, squares in sides.values()))

    def _no_variance(self, fewest: int) -> str:
        if fewest == 1 or self.design.replicates > 1:
            return ""
        return f"{self.design.name} design: one replicate has no variance within its cell"

    @property
    def names(self) -> list[str]:
        """Names of the factors and of the items."""
        items = self.experiment.items
        of_items = [] if items is None else [items.name]
        return [*(factor.name for factor in self.experiment.factors), *of_items]

    @property
    def strata(self) -> int:
        """Combinations of all that is not compared."""
        return math.prod(self.count(name) for name in self.names if name not in self.sides[0])

    def trials(self, side: Sides) -> int:
        """Trials of a side."""
        counts = (self.count(name, side.get(name, ())) for name in self.names)
        return self.design.replicates * math.prod(counts)

    def _of_levels(self, side: Sides) -> list[int]:
        """Trials of each combination of levels of a side."""
        each = [zip(side, levels, strict=True) for levels in product(*side.values())]
        return [self.trials({name: (level,) for name, level in at}) for at in each]

    def _worth(self, side: Sides) -> Fraction:
        return _worth(self._of_levels(side))

    def _alike(self, side: Sides) -> int:
        return len(sizes := self._of_levels(side)) * min(sizes)

    def count(self, name: str, compared: Sequence[str] = ()) -> int:
        """Exemplars, or else levels, of a factor (or items) that the contrast meets."""
        levels = compared or self.at.get(name) or self.experiment.levels(name)
        if not has_exemplars(self.experiment, name):
            return len(levels)
        factor = self.experiment.factor(name)
        return sum(len(self.design.members(factor, level)) for level in levels)

    def problem(self, *, flips: bool = True) -> str:
        """Say why no reply could give this hypothesis a verdict; '' if one can.

        A claim to be clear needs 10 units (on each side, where they are exemplars of what is
        compared), any other 5; where units are compared with themselves by sign ``flips``, 6.
        """
        if self.declared.target == "fixed":
            return ""
        units, clear = self.units, self.declared.claim == "clear"
        if self.nested:
            levels = {level for side in self.sides for level in side[units[0]]}
            smallest = min(self.count(units[0], (level,)) for level in levels)
            fewest = FEWEST_TO_CLEAR if clear else FEWEST_UNITS
            if smallest >= fewest:
                return ""
            return (
                f"{self.design.name} design: {smallest} exemplars of {units[0]} in a group, "
                f"{fewest} are needed {'to clear it' if clear else 'for any verdict'}"
            )
        count = math.prod(map(self.count, units))
        fewest = FEWEST_TO_CLEAR if clear else FEWEST_UNITS + flips
        if count >= fewest:
            return ""
        few = f"{self.design.name} design: {count} units ({' × '.join(units)})"
        if clear:
            return f"{few} can clear nothing, {fewest} are needed"
        why = f": the smallest p of {FEWEST_UNITS} sign flips is .0625" if flips else ""
        return f"{few} can give no verdict, {fewest} are needed{why}"


def _together(sides: Sequence[Sides]) -> dict[str, list[str]]:
    """All levels that are compared, by factor."""
    return {name: [level for side in sides for level in side[name]] for name in sides[0]}


def is_event(declared: object, experiment: Experiment) -> bool:
    """Return whether its measure is an event that happens or not."""
    name = getattr(declared, "measure", "")
    of = [each.kind for each in experiment.measures if each.name == name]
    return name == MISSING or of == ["flag"]


def _worth(sizes: Sequence[int]) -> Fraction:
    """Units of one group whose mean is as precise as that of the means of groups of ``sizes``."""
    if not all(sizes):
        return Fraction()
    return Fraction(len(sizes) ** 2) / sum((Fraction(1, size) for size in sizes), Fraction())


def _as_if_equal(worths: Sequence[Fraction]) -> int:
    """Units of two equal groups whose difference is as precise as the contrast of ``worths``."""
    return max(1, round(2 / sum(1 / worth for worth in worths if worth)))


def _are_equal(sizes: Sequence[int], worths: Sequence[Fraction]) -> bool:
    alike = len(sizes) == 2 and sizes[0] == sizes[1]  # noqa: PLR2004  (a pair)
    return alike and all(worth == sizes[0] for worth in worths)


def _two(sizes: Sequence[int]) -> tuple[int, int]:
    """Units of two sides; of a difference of differences two of its four, that weigh alike."""
    if len(sizes) == 2:  # noqa: PLR2004
        return sizes[0], sizes[1]
    high_high, high_low, low_high, low_low = sizes
    return 2 * min(high_high, low_low), 2 * min(high_low, low_high)


def _least_p(sides: Sequence[Sequence[int]], strata: int = 1) -> float:
    """The smallest p of labels that are exchanged; 0 where so few of those drawn come near it.

    ``sides`` are, for each side, the units that its levels have in a stratum. Units of one side
    and of levels as large are the same to a contrast. Of two groups the smaller tail is doubled,
    of more labels only what mirrors the observed ones is as far from no effect.
    """
    alike: Counter[Fraction] = Counter()
    for sign, levels in zip((1, -1, -1, 1), sides, strict=False):
        for units in levels:
            if units:
                alike[Fraction(sign, len(levels) * units)] += units
    if sum(alike.values()) > _MOST_LABELLED:
        return 0.0
    sizes = [units for levels in sides for units in levels]
    two = strata == 1 and len(sizes) == 2  # noqa: PLR2004  (groups)
    doubled = two or all(alike[-each] == units for each, units in alike.items())
    least = (1 + doubled) / _labellings(alike.values()) ** strata
    exact = two or _labellings(sizes) ** strata <= _ALWAYS_EXACT
    return least if exact or least > _DRAWN else 0.0


def _labellings(sizes: Iterable[int]) -> int:
    """The ways in which labels can be given to units, ``sizes`` of each."""
    total, count = 0, 1
    for size in sizes:
        total += size
        count *= math.comb(total, size)
    return count


def check_compared(
    declared: Declared,
    experiment: Experiment,
    sides: Sequence[Sides],
    *,
    flips: bool = True,
) -> None:
    """Refuse levels and units there are not, and what the gate design can never answer."""
    declared.check_at(experiment, sides[0])
    compared = _together(sides)
    declared.where(experiment, compared)
    declared.check_eligible(experiment, compared)
    declared.check_units(experiment, list(sides[0]))
    reach = Reach(declared, experiment, experiment.design(), sides)
    if declared.gates and (problem := reach.problem(flips=flips)):
        raise declared.refused(problem=problem)
