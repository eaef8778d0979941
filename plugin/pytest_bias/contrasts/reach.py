"""The units a contrast has under a design, before any reply, and how many clear anything."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product

from ..experiments.design import Design
from ..experiments.experiment import Experiment
from ..experiments.measures import MISSING
from ..stats.results import units_needed
from .declared import FEWEST_UNITS, Declared, has_exemplars
from .linear import shrinkage
from .units import REPLIES, Group, Layout, Units

FEWEST_TO_CLEAR = 10
"""Units of a side below which nothing is cleared."""

Parts = Mapping[str, Mapping[str, float]]
"""A contrast as a product: factor → level → weight."""


def weights_between(factor: str, high: Sequence[str], low: Sequence[str]) -> Parts:
    """The mean of the ``high`` levels minus that of the ``low`` ones."""
    return {factor: dict.fromkeys(high, 1 / len(high)) | dict.fromkeys(low, -1 / len(low))}


def departing(levels: Mapping[str, Sequence[str]]) -> Parts:
    """The first level's departure from what all do on average, in each factor."""
    return {
        factor: {level: (level == among[0]) - 1 / len(among) for level in among}
        for factor, among in levels.items()
    }


def layout_of(
    declared: Declared,
    experiment: Experiment,
    design: Design,
    parts: Parts,
    *,
    largest: bool = False,
) -> Layout:
    """The units of a contrast, and why they are too few for any verdict where they are."""
    event = getattr(declared, "flags", False) or is_event(declared, experiment)
    ratio = getattr(declared, "ratio", False)
    at = declared.where(experiment, parts)
    low, high = _scale(declared, experiment, event=event)
    reach = high - low
    if parts:
        reach *= math.prod(sum(map(abs, each.values())) for each in parts.values()) / 2
    if declared.target == "fixed":
        groups, unit_name = _replies(experiment, design, parts, at), REPLIES
    else:
        event = False
        names = declared.units_of(experiment, list(parts))
        nested = [name for name in names if name in parts]
        if nested:
            groups = tuple(
                Group(weight=weight, cells=1, size=_count(experiment, design, nested[0], [level]))
                for level, weight in parts[nested[0]].items()
                if weight
            )
            unit_name = Units("groups", (nested[0],))
            low, high = (low, high) if len(parts) == 1 else (-reach / 2, reach / 2)
        else:
            size = math.prod(_count(experiment, design, name, at.get(name, ())) for name in names)
            groups = (Group(weight=1.0, cells=1, size=size),)
            exemplars = has_exemplars(experiment, names[0])
            unit_name = Units.within(names, exemplars=exemplars)
            low, high = (-reach, reach) if parts else (low, high)
    needed = FEWEST_TO_CLEAR
    margin = None if ratio else declared.margin
    if margin is not None and math.isfinite(reach):
        needed = max(needed, units_needed(margin * _left(declared, experiment), reach))
    found = Layout(
        groups=groups,
        unit_name=unit_name,
        low=low,
        high=high,
        event=event,
        ratio=ratio,
        largest=largest,
        needed=needed,
    )
    return replace(found, problem=_problem(found, design))


def _problem(layout: Layout, design: Design) -> str:
    """Say why no reply could give a verdict; '' if one can."""
    single = len(layout.sides) == 1
    least = FEWEST_UNITS + single  # of 5 sign flips the smallest p is .0625
    several = f"{layout.unit_name.several}{'' if single else ' on a side'}"
    if layout.fewest < least:
        few = f"{layout.fewest} {several} can give no verdict, {least} are needed"
        return f"{design.name} design: {few}"
    return ""


def why_not_clear(layout: Layout, design: Design) -> str:
    """Say why a design can clear nothing, whatever is replied; '' if it can."""
    if layout.problem or layout.fewest >= layout.needed:
        return layout.problem
    side = "" if len(layout.sides) == 1 else " a side"
    return (
        f"the {design.name} design cannot clear it: it needs {layout.needed} "
        f"{layout.unit_name.several}{side}, and has {layout.fewest}"
    )


def _scale(declared: Declared, experiment: Experiment, *, event: bool) -> tuple[float, float]:
    bounds = {each.name: each.bounds for each in experiment.measures}
    name = getattr(declared, "measure", "")
    return (0.0, 1.0) if event else bounds.get(name) or (-math.inf, math.inf)


def _left(declared: Declared, experiment: Experiment) -> float:
    """Share of a difference that a declared error of its reading leaves."""
    name = getattr(declared, "measure", MISSING)
    return 1.0 if name == MISSING else shrinkage(experiment, name)


def _replies(
    experiment: Experiment, design: Design, parts: Parts, at: Mapping[str, Sequence[str]]
) -> tuple[Group, ...]:
    groups = []
    for levels in product(*parts.values()):
        own = dict(zip(parts, levels, strict=True))
        weight = math.prod(parts[name][level] for name, level in own.items())
        if weight:
            here = {**at, **{name: (level,) for name, level in own.items()}}
            cells = cells_of(experiment, design, here)
            size = design.replicates
            if size == 1:  # cells of a single trial are joined
                cells, size = 1, cells
            groups.append(Group(weight=weight, cells=cells, size=size))
    return tuple(groups)


def cells_of(experiment: Experiment, design: Design, at: Mapping[str, Sequence[str]]) -> int:
    """Conditions, with their exemplars and items, at some levels of those that are named."""
    items = [] if experiment.items is None else [experiment.items.name]
    names = [*(factor.name for factor in experiment.factors), *items]
    return math.prod(_count(experiment, design, name, at.get(name, ())) for name in names)


def _count(experiment: Experiment, design: Design, name: str, levels: Sequence[str]) -> int:
    """Exemplars, or else levels, of a factor (or items); of all levels where none is named."""
    among = levels or experiment.levels(name)
    if not has_exemplars(experiment, name):
        return len(among)
    factor = experiment.factor(name)
    return sum(len(design.members(factor, level)) for level in among)


def is_event(declared: object, experiment: Experiment) -> bool:
    """Return whether its measure is an event that happens or not."""
    name = getattr(declared, "measure", "")
    of = [each.kind for each in experiment.measures if each.name == name]
    return name == MISSING or of == ["flag"]


def check_compared(
    declared: Declared, experiment: Experiment, parts: Parts, *, largest: bool = False
) -> None:
    """Refuse levels and units there are not, and what the gate design can never answer."""
    declared.check_at(experiment, parts)
    declared.where(experiment, parts)
    declared.check_eligible(experiment, {name: [*levels] for name, levels in parts.items()})
    declared.check_units(experiment, list(parts))
    if declared.gates:
        gate = experiment.design()
        check_answered(
            declared, layout_of(declared, experiment, gate, parts, largest=largest), gate
        )


def check_answered(declared: Declared, layout: Layout, gate: Design) -> None:
    """Refuse what the ``gate`` design can never answer: a claim to be clear, or any."""
    problem = why_not_clear(layout, gate) if declared.claim == "clear" else layout.problem
    if problem:
        where = "".join(f" at {name}={'+'.join(at)}" for name, at in declared.at.items())
        raise declared.refused(problem=f"{problem}{where}")
