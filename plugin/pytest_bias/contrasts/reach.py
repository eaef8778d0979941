"""The number of independent observations a contrast has under a design, before any reply."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from ..errors import BadDesign
from ..experiments.design import Design, Factor
from ..experiments.experiment import Experiment
from .declared import (
    FEWEST_UNITS,
    Declared,
    check_at,
    check_units,
    gates,
    has_exemplars,
    levels_of,
    units_of,
)
from .units import REPLIES, Layout, Units

FEWEST_TO_CLEAR = 10
"""Exemplars in each of two groups below which nothing is cleared."""

Sides = Mapping[str, Sequence[str]]
"""One side of a contrast: factor → its levels."""


def layout_of(
    declared: Declared,
    experiment: Experiment,
    design: Design,
    sides: Sequence[Sides],
    *,
    within: bool = True,
    pooled: bool = False,
) -> Layout:
    """The layout of a contrast whose ``sides`` are given as factor → levels.

    ``within`` is whether a fixed set is judged by the variance within its cells, ``pooled``
    whether groups that are not compared lend theirs.
    """
    compared = list(sides[0])
    problem = out_of_reach(declared, experiment, design, sides, pooled=pooled)
    sizes = [_trials(declared, experiment, design, side) for side in sides]
    replies = sum(sizes)
    if declared.target == "fixed":
        cells = min(sizes) // design.replicates
        if within and cells > 1 and design.replicates == 1:
            problem = f"{design.name} design: one replicate has no variance within its cell"
        return Layout(
            shape="independent",
            per_group=_as_if_equal(sizes),
            unit_name=REPLIES,
            replies=replies,
            problem=problem,
            equal=_are_equal(sizes),
            # Within-cell t tests; rates (of which ``within`` is not asked) have score tests.
            clears=not within or _smaller(sides, sizes) >= FEWEST_TO_CLEAR,
        )
    units = units_of(declared, experiment, compared)
    if any(name in compared for name in units):
        factor = experiment.factor(units[0])
        # Of an interaction each group stands on two sides, with its exemplars once.
        groups = dict.fromkeys(tuple(side[units[0]]) for side in sides)
        exemplars = [_members(design, factor, levels) for levels in groups]
        return Layout(
            shape="independent",
            per_group=_as_if_equal(exemplars),
            unit_name=Units("groups", (units[0],)),
            replies=replies,
            problem=problem,
            equal=_are_equal(exemplars),
            clears=pooled or min(exemplars) >= FEWEST_TO_CLEAR,
        )
    return Layout(
        shape="paired",
        per_group=math.prod(_count(declared, experiment, design, name) for name in units),
        unit_name=Units.within(units, exemplars=has_exemplars(experiment, units[0])),
        replies=replies,
        problem=problem,
    )


def _as_if_equal(sizes: Sequence[int]) -> int:
    """Units of two equal groups whose difference is as precise as the contrast of ``sizes``."""
    return max(1, round(2 / sum(1 / size for size in sizes if size)))


def _are_equal(sizes: Sequence[int]) -> bool:
    return len(sizes) == 2 and sizes[0] == sizes[1]  # noqa: PLR2004  (a pair)


def _smaller(sides: Sequence[object], sizes: Sequence[int]) -> int:
    """Units of the smaller side; of a difference of differences two sides make one."""
    if len(sides) == 2:  # noqa: PLR2004
        return min(sizes)
    high_high, high_low, low_high, low_low = sizes
    return min(high_high + low_low, high_low + low_high)


def _trials(declared: Declared, experiment: Experiment, design: Design, side: Sides) -> int:
    names = [factor.name for factor in experiment.factors]
    names += [] if experiment.items is None else [experiment.items.name]
    counts = (_count(declared, experiment, design, name, side.get(name, ())) for name in names)
    return design.replicates * math.prod(counts)


def _members(design: Design, factor: Factor, levels: Sequence[str]) -> int:
    """Number of exemplars that a design meets at some levels."""
    return sum(len(design.members(factor, level)) for level in levels)


def _count(
    declared: Declared,
    experiment: Experiment,
    design: Design,
    name: str,
    compared: Sequence[str] = (),
) -> int:
    """Exemplars, or else levels, of a factor (or items) that a contrast meets."""
    levels = compared or levels_of(declared.at.get(name, ())) or experiment.levels(name)
    if has_exemplars(experiment, name):
        return _members(design, experiment.factor(name), levels)
    return len(levels)


def check_compared(
    declared: Declared,
    experiment: Experiment,
    sides: Sequence[Sides],
    *,
    pooled: bool = False,
    flips: bool = True,
) -> None:
    """Refuse levels and units there are not, and what the gate design can never answer."""
    compared = list(sides[0])
    check_at(declared, experiment, compared)
    check_units(declared, experiment, compared)
    design = experiment.design()
    if gates(declared) and (
        problem := out_of_reach(declared, experiment, design, sides, pooled=pooled, flips=flips)
    ):
        raise BadDesign(what=declared.id, problem=problem)


def out_of_reach(
    declared: Declared,
    experiment: Experiment,
    design: Design,
    sides: Sequence[Sides],
    *,
    pooled: bool = False,
    flips: bool = True,
) -> str:
    """Say why no reply could give this hypothesis a verdict under ``design``; '' if one can.

    A claim to be clear needs 10 units (on each side, where they are exemplars of what is
    compared; 5 with a ``pooled`` variance), any other 5; where units are compared with themselves
    by sign ``flips``, 6.
    """
    if declared.target == "fixed":
        return ""
    compared = list(sides[0])
    units = units_of(declared, experiment, compared)
    clear = declared.claim == "clear"
    if any(name in compared for name in units):
        factor = experiment.factor(units[0])
        smallest = min(_members(design, factor, side[units[0]]) for side in sides)
        fewest = FEWEST_TO_CLEAR if clear and not pooled else FEWEST_UNITS
        if smallest >= fewest:
            return ""
        return (
            f"{design.name} design: {smallest} exemplars of {units[0]} on a side, {fewest} are "
            f"needed {'to clear it' if clear else 'for any verdict'}"
        )
    count = math.prod(_count(declared, experiment, design, name) for name in units)
    fewest = FEWEST_TO_CLEAR if clear else FEWEST_UNITS + flips
    if count >= fewest:
        return ""
    few = f"{design.name} design: {count} units ({' × '.join(units)})"
    if clear:
        return f"{few} can clear nothing, {fewest} are needed"
    why = f": the smallest p of {FEWEST_UNITS} sign flips is .0625" if flips else ""
    return f"{few} can give no verdict, {fewest} are needed{why}"
