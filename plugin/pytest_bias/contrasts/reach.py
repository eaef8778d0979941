"""Contrasts as weights of levels, how many units a design gives them, and how many clear."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from ..experiments.design import Design
from ..experiments.experiment import Experiment
from .units import Layout

Parts = Mapping[str, Mapping[str, float]]
"""A contrast as a product: factor → level → weight."""

FEWEST_UNITS = 5
"""Units per group below which no verdict is given."""

FEWEST_TO_CLEAR = 10
"""Units of a side below which nothing is cleared, and an alarm is a permutation's."""

POOLS_TO_CLEAR = 30
"""Pools below which nothing is cleared: so many miss a share of .10 of them with .05."""


def items_of(experiment: Experiment) -> tuple[str, ...]:
    """Return the name of the items, where there are some."""
    return () if experiment.items is None else (experiment.items.name,)


def names_of(experiment: Experiment) -> tuple[str, ...]:
    """Return the names of the factors, and of the items."""
    return (*(factor.name for factor in experiment.factors), *items_of(experiment))


def has_exemplars(experiment: Experiment, name: str) -> bool:
    """Return whether ``name`` is a factor whose levels are sampled by exemplars."""
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
    """Say why no reply could give a verdict; '' if one can."""
    single = len(layout.sides) == 1
    least = FEWEST_UNITS + single  # of 5 sign flips the smallest p is .0625
    if layout.fewest >= least:
        return ""
    several = f"{layout.unit_name.several}{'' if single else ' on a side'}"
    few = f"{layout.fewest} {several} can give no verdict, {least} are needed"
    return f"{design.name} design: {few}"


def why_not_clear(layout: Layout, design: Design) -> str:
    """Say why a design can clear nothing, whatever is replied; '' if it can."""
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
