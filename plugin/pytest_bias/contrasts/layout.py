"""Units of a contrast under a design: what they are, how many there are, and how many clear."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any, Literal

from ..experiments.canonical import TextValue
from ..experiments.design import Design
from ..experiments.experiment import Experiment
from ..stats.results import Matters

if TYPE_CHECKING:
    from pydantic_core import CoreSchema


Null = Literal["zero", "margin"]
"""What a test rejects: no effect, or one within the margin."""

UnitKind = Literal["units", "replies", "pools", "groups", "exemplar", "block"]

_NAMELESS: tuple[UnitKind, ...] = ("units", "replies", "pools")
_GROUPS, _EXEMPLAR, _CROSSED = "exemplars of ", "exemplar of ", " × "


@dataclass(frozen=True, slots=True)
class Units(TextValue):
    """Independent observations by their kind, and by what they are named after.

    ``groups`` are exemplars of one factor that stand on different sides, ``exemplar`` is one that
    is compared with itself; ``block`` is an item, or a combination of several ``names``.
    ``units`` are those of which no more is known. As text, which is what JSON keeps, they are
    ``replies``, ``exemplars of group``, ``exemplar of group``, ``seed`` or ``cv × style``.
    """

    kind: UnitKind
    names: tuple[str, ...] = ()

    def __str__(self) -> str:
        start = {"groups": _GROUPS, "exemplar": _EXEMPLAR}.get(self.kind, "")
        return f"{start}{_CROSSED.join(self.names)}" if self.names else self.kind

    @classmethod
    def within(cls, names: Sequence[str], *, exemplars: bool) -> Units:
        """Units that are compared with themselves; ``exemplars``: a single name has some."""
        return cls("exemplar" if exemplars and len(names) == 1 else "block", tuple(names))

    @classmethod
    def of_text(cls, text: str) -> Units:
        """Return the units that a text of :meth:`__str__` names."""
        for kind in _NAMELESS:
            if text == kind:
                return cls(kind)
        if text.startswith(_GROUPS):
            return cls("groups", (text.removeprefix(_GROUPS),))
        if text.startswith(_EXEMPLAR):
            return cls("exemplar", (text.removeprefix(_EXEMPLAR),))
        return cls("block", tuple(text.split(_CROSSED)))

    @property
    def in_groups(self) -> bool:
        """True where different units stand on the sides, so that their number is one per group."""
        return self.kind in ("replies", "groups")

    @property
    def several(self) -> str:
        """Their name in print, of several: ``seeds``, ``cv × style blocks``."""
        if self.kind == "exemplar":
            return f"{_GROUPS}{self.names[0]}"
        if len(self.names) > 1:
            return f"{self} blocks"
        return str(self) if self.kind != "block" or str(self).endswith("s") else f"{self}s"

    @classmethod
    def __get_pydantic_core_schema__(cls, _source: Any, _handler: Any) -> CoreSchema:
        """Read from text; :func:`~pytest_bias.experiments.canonical.plain` writes it."""
        from pydantic_core import core_schema  # noqa: PLC0415  (only to read results)

        return core_schema.no_info_after_validator_function(cls.of_text, core_schema.str_schema())


REPLIES = Units("replies")
"""Every reply a unit of its own, within its cell."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Units of one level, or combination of levels, that is compared.

    Their mean has this ``weight`` in the contrast; they stand in ``cells`` of one ``size``.
    """

    weight: float
    cells: int
    size: int

    @property
    def variance(self) -> float:
        """Variance of its part of the contrast, in variances of a unit."""
        return self.weight**2 / (self.cells * self.size)


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """Units a design gives a contrast before any reply, their scale, and how many it needs.

    ``low`` and ``high`` are the ends of a unit's scale, infinite where it has none. ``event`` is
    whether units are events, ``ratio`` whether the contrast is a logarithm, ``largest`` whether it
    is the largest of several like it. ``number`` is what a mean is compared with, 0 for a
    difference, and ``matters`` on which side of it. Fewer than ``needed`` units on a side clear
    nothing at any spread; ``problem`` says why no verdict is possible.
    """

    groups: tuple[Group, ...]
    unit_name: Units
    low: float = -math.inf
    high: float = math.inf
    event: bool = False
    ratio: bool = False
    largest: bool = False
    number: float = 0.0
    matters: Matters = "either"
    needed: int = 0
    problem: str = ""

    @property
    def sides(self) -> tuple[tuple[float, float], ...]:
        """Weight and units of each side, the higher first; one where units are paired.

        The units are so many of one group that their mean is as precise as the side's.
        """
        found = []
        for sign in (1, -1):
            groups = [group for group in self.groups if sign * group.weight > 0]
            if groups:
                weight = math.fsum(group.weight for group in groups)
                variance = math.fsum(group.variance for group in groups)
                found.append((weight, weight**2 / variance))
        return tuple(found)

    @property
    def fewest(self) -> int:
        """Units of the smaller side."""
        return int(min(units for _, units in self.sides) + 1e-9)

    @property
    def df(self) -> float:
        """Degrees of freedom of the contrast's standard error where all units vary alike."""
        import numpy as np  # noqa: PLC0415

        from ..stats.equivalence import df_of  # noqa: PLC0415

        cells = [group.cells for group in self.groups]
        variances = [group.variance / group.cells for group in self.groups]
        freedom = [max(group.size - 1, 1) for group in self.groups]
        return df_of(np.repeat(variances, cells), np.repeat(freedom, cells), cells=sum(cells))


Parts = Mapping[str, Mapping[str, float]]
"""A contrast as a product: factor → level → weight."""

WeightedGap = tuple[Mapping[str, float], float]
"""Weight of each level, and what the absolute gap is multiplied by."""

Scaled = tuple[Parts, float]
"""Weights of a contrast, and what it is multiplied by."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One side of a contrast: factor → its levels, and the words for it."""

    words: str
    levels: Mapping[str, Sequence[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvedContrast:
    """A contrast as its experiment resolves it: all that its estimate depends on but the records.

    ``parts`` are the weights of levels, ``largest_of`` the contrasts of which it is the largest,
    none for a single one; ``units`` name those of a population, None of a fixed set. ``at`` are
    the levels to which it is confined. The other fields are those of :class:`.Hypothesis`.
    """

    measure: str
    parts: Parts
    largest_of: Mapping[str, Scaled]
    sides: tuple[Side, ...]
    units: tuple[str, ...] | None
    at: Mapping[str, tuple[str, ...]]
    eligible: str | None
    margin: float | None
    null: Null
    shrink: float
    number: float
    matters: Matters
    ratio: bool
    bootstrapped: bool


FEWEST_UNITS = 5
"""Units per group below which no verdict is given."""

FEWEST_TO_CLEAR = 10
"""Units of a side below which nothing is cleared, and the null is tested by permutation."""

POOLS_TO_CLEAR = 30
"""Pools below which nothing is cleared: so many miss a share of .10 of them with .05."""


def items_of(experiment: Experiment) -> tuple[str, ...]:
    """Return the name of the items, where there are some."""
    return () if experiment.items is None else (experiment.items.name,)


def names_of(experiment: Experiment) -> tuple[str, ...]:
    """Return the names of the factors, and of the items."""
    return (*(factor.name for factor in experiment.factors), *items_of(experiment))


def has_exemplars(experiment: Experiment, name: str) -> bool:
    """True if ``name`` is a factor whose levels are sampled by exemplars."""
    return any(factor.name == name and factor.exemplars for factor in experiment.factors)


def stimuli(experiment: Experiment, design: Design, name: str, levels: Sequence[str]) -> int:
    """Exemplars, or else levels, of a factor (or items); of all levels where none is named."""
    among = levels or experiment.levels(name)
    if not has_exemplars(experiment, name):
        return len(among)
    factor = experiment.factor(name)
    return sum(len(design.members(factor, level)) for level in among)


def cells_of(experiment: Experiment, design: Design, at: Mapping[str, Sequence[str]]) -> int:
    """Conditions, with their exemplars and items, at some levels of those that are named."""
    names = names_of(experiment)
    return math.prod(stimuli(experiment, design, name, at.get(name, ())) for name in names)


def why_no_verdict(layout: Layout, design: Design) -> str:
    """Return why no reply could give a verdict; '' if one can."""
    single = len(layout.sides) == 1
    least = FEWEST_UNITS + single  # of 5 sign flips the smallest p is .0625
    if layout.fewest >= least:
        return ""
    several = f"{layout.unit_name.several}{'' if single else ' on a side'}"
    few = f"{layout.fewest} {several} can give no verdict, {least} are needed"
    return f"{design.name} design: {few}"


def why_not_clear(layout: Layout, design: Design) -> str:
    """Return why a design can clear nothing, whatever is replied; '' if it can."""
    if layout.problem or layout.fewest >= layout.needed:
        return layout.problem
    side = "" if len(layout.sides) == 1 else " a side"
    return (
        f"the {design.name} design cannot clear it: it needs {layout.needed} "
        f"{layout.unit_name.several}{side}, and has {layout.fewest}"
    )


def weights_between(factor: str, high: Sequence[str], low: Sequence[str]) -> Parts:
    """Return the mean of the ``high`` levels minus that of the ``low`` ones."""
    return {factor: dict.fromkeys(high, 1 / len(high)) | dict.fromkeys(low, -1 / len(low))}


def departing(levels: Mapping[str, Sequence[str]], place: Sequence[str]) -> Parts:
    """Return the departure of a ``place``, a level of each factor, from what all do on average."""
    return {
        factor: {level: (level == own) - 1 / len(among) for level in among}
        for (factor, among), own in zip(levels.items(), place, strict=True)
    }


def reach_of(parts: Parts) -> float:
    """Width of a contrast in widths of its measure's scale: 1 for means and differences."""
    if not parts:
        return 1.0
    sums = (math.fsum(map(abs, levels.values())) for levels in parts.values())
    return round(math.prod(sums) / 2, 12)


def signed_sums(factor: str, gaps: Sequence[WeightedGap]) -> dict[str, Scaled]:
    """Each way to give the gaps signs: of a sum of absolute values the largest is the sum itself.

    The contrast is scaled to the width of one difference, and returned with what undoes that.
    """
    found: dict[str, Scaled] = {}
    for rest in product((1, -1), repeat=len(gaps) - 1):
        signs = (1, *rest)
        part: dict[str, float] = {}
        for sign, (levels, times) in zip(signs, gaps, strict=True):
            for level, weight in levels.items():
                part[level] = part.get(level, 0.0) + sign * times * weight
        if reach := reach_of({factor: part}):
            scaled = {level: weight / reach for level, weight in part.items() if weight}
            words = "".join("+" if sign > 0 else "−" for sign in signs)
            found[words] = ({factor: scaled}, reach)
    return found


def departures(levels: Mapping[str, Sequence[str]]) -> dict[str, Scaled]:
    """Every combination's departure from what its levels do on their own.

    ``levels`` is factor → its levels. Of one factor it is each level less the mean of all; of two
    an interaction. Of a factor with two levels one mirrors the other: the first stands for both.
    """
    places = product(*(each if len(each) > 2 else each[:1] for each in levels.values()))  # noqa: PLR2004
    return {" × ".join(place): (departing(levels, place), 1.0) for place in places}
