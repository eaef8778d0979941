"""The cells that a calibration draws, in the order in which they matter: a few, or in full."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, cast

from ..contrasts.cases import Registered, Registry
from ..contrasts.declared import Hypothesis
from ..contrasts.interactions import Interaction
from ..contrasts.pairs import RateDifference
from ..contrasts.power import compared_by
from ..experiments.experiment import plan
from ..experiments.measures import MISSING
from .lines import GridCell
from .planting import touches

EVEN, BIASED = "even", "biased"
_FEW, _MANY = 500, 1500
"""Trials of an experiment that takes little, and of one of which draws are saved."""

_PERMUTED = 400
"""Draws of an experiment's recordings, of all models together."""
_RARE = (0.04, 0.2)
"""Shares of units that have all of an effect where few have any."""
_ROOM = 0.25
"""Share of a measure's scale that such units may be moved by, so that none meets its end."""


def full(registry: Registry, recorded: Sequence[tuple[str, str]]) -> Iterator[GridCell]:
    """Every cell of the results that are committed, most important first.

    Of claims that only exchange the groups they compare, the first stands for all. ``recorded``
    are experiments and models whose recordings are permuted.
    """
    every = [each for each in registry if each.experiment.simulated is not None]
    for draws in (10, 100, 400):  # each an unchanged upgrade of another
        for each in every:
            yield GridCell(each.experiment.id, EVEN, draws, EVEN)
    for experiment, model in recorded:
        models = sum(name == experiment for name, _ in recorded)
        yield GridCell(experiment, model, -(-_PERMUTED // models))
    for each in every:  # known biases that were accepted
        yield GridCell(each.experiment.id, BIASED, 100, BIASED)
    for part in (_two_margins, _at_the_margin, _one_cell, _worse, _creep, _noise, _mishaps):
        for each in every:
            yield from part(each)


def _two_margins(each: Registered) -> Iterator[GridCell]:
    for names in _at_once(each, _representatives(each)):
        yield _planted(each, [f"{name}=2" for name in names], 30)


def _at_the_margin(each: Registered) -> Iterator[GridCell]:
    """Effects of which CLEAR is false: alike in all units, varying, and in a few alone."""
    for names in _at_once(each, _representatives(each)):
        yield _planted(each, [f"{name}=1" for name in names], _fewer(each, 100))
    population = _clear(each, _representatives(each, population=True))
    for names in _at_once(each, population):
        varied = [f"vary:{name}=1" for name in names]
        yield _planted(each, [*(f"{name}=1" for name in names), *varied], _fewer(each, 100))
    for name in population[:1]:
        if _has_room(each, name):
            for share in _RARE:
                yield _planted(each, [f"rare{share}:{name}=1"], _fewer(each, 100))


def _one_cell(each: Registered) -> Iterator[GridCell]:
    """Two margins at one level of another factor, or one item of a few, alone."""
    experiment = each.experiment
    others: dict[str, Sequence[str]] = {f.name: tuple(f.levels) for f in experiment.factors}
    if experiment.items is not None and len(experiment.items.items) < 6:  # noqa: PLR2004
        others[experiment.items.name] = tuple(experiment.items.items)
    for factor, levels in others.items():
        across = [
            name
            for name in _clear(each, _representatives(each))
            if _measure(each, name)  # a selection is of one style
            and (hypothesis := cast("Any", each.hypotheses[name]))
            and factor not in {*compared_by(hypothesis), *hypothesis.at}
        ]
        for names in _at_once(each, across):
            yield _planted(each, [f"{name}@{levels[0]}=2" for name in names], 30)


def _worse(each: Registered) -> Iterator[GridCell]:
    """One margin worse than was accepted."""
    for name in _clear(each, _representatives(each))[:1]:
        yield _planted(each, [f"{name}=1"], 40, EVEN)


def _creep(each: Registered) -> Iterator[GridCell]:
    """A known bias that grows by .4 margins a step, where the claim names its direction."""
    names = _clear(each, _representatives(each))
    for name in [n for n in names if getattr(each.hypotheses[n], "direction", None)][:1]:
        creeping = f"{BIASED}+step:{name}=0.4"
        yield GridCell(each.experiment.id, creeping, 100, creeping)


def _noise(each: Registered) -> Iterator[GridCell]:
    yield _planted(each, [f"noise:{measure}=1" for measure in _measures(each)], 30)


def _mishaps(each: Registered) -> Iterator[GridCell]:
    """Missing replies, also of the highest values, a judge's error, and half a margin."""
    few = _fewer(each, 30)
    for share in (0.03, 0.08):
        yield _planted(each, [f"missing={share}"], few)
    measured = [n for n in _clear(each, _representatives(each)) if _measure(each, n)]
    for name in measured[:1]:
        yield _planted(each, [f"informative:{name}=0.05"], few)
    if each.experiment.judge is not None:
        yield _planted(each, ["judge=0.05"], few)
    for names in _at_once(each, _representatives(each)):
        yield _planted(each, [f"{name}=0.5" for name in names], few)


def gate(registry: Registry) -> Iterator[GridCell]:
    """A few draws of every experiment, more of those that take least: about a minute of a core."""
    for each in registry:
        if each.experiment.simulated is None:
            continue
        experiment = each.experiment
        alone = experiment.items is None and not any(f.exemplars for f in experiment.factors)
        quick = alone and len(experiment.conditions) * experiment.replicates <= _FEW
        yield GridCell(experiment.id, EVEN, 30 if quick else 2, EVEN)
        if quick:
            for claim in _representatives(each):
                yield _planted(each, [f"{claim}=1"], 30)
                yield _planted(each, [f"{claim}=2"], 15)


def _planted(each: Registered, plants: Iterable[str], draws: int, accepted: str = "") -> GridCell:
    return GridCell(each.experiment.id, "+".join([EVEN, *plants]), draws, accepted)


def _trials(each: Registered) -> int:
    return len(plan(each.experiment, each.experiment.design()))


def _fewer(each: Registered, draws: int) -> int:
    """Three fifths of the ``draws`` where each takes seconds."""
    return draws if _trials(each) <= _MANY else draws * 3 // 5


def _at_once(each: Registered, names: Sequence[str]) -> list[list[str]]:
    """The ``names`` in groups in which each may have its effect planted beside the others'.

    Where draws are cheap, one by one.
    """
    cheap = _trials(each) <= _MANY
    groups: list[list[str]] = []
    for name in names:
        free = (
            group
            for group in groups
            if not any(touches(each.hypotheses[name], each.hypotheses[other]) for other in group)
        )
        group = None if cheap else next(free, None)
        if group is None:
            groups.append([name])
        else:
            group.append(name)
    return groups


def _clear(each: Registered, names: Sequence[str]) -> list[str]:
    return [name for name in names if each.hypotheses[name].claim == "clear"]


def _measure(each: Registered, name: str) -> str:
    """The measure of which a claim compares values; empty where there is none such."""
    found = str(getattr(each.hypotheses[name], "measure", ""))
    return "" if found == MISSING else found


def _has_room(each: Registered, name: str) -> bool:
    """Return whether the scale has room for a few units to have the effect of all."""
    hypothesis = cast("Any", each.hypotheses[name])
    if isinstance(hypothesis, RateDifference):
        return False
    bounds = next(m.bounds for m in each.experiment.measures if m.name == hypothesis.measure)
    return bounds is None or hypothesis.margin / min(_RARE) <= _ROOM * (bounds[1] - bounds[0])


def _gating(registered: Registered) -> list[tuple[str, Hypothesis]]:
    return [
        (name, hypothesis)
        for name, hypothesis in registered.hypotheses.items()
        if hypothesis.claim in ("clear", "detect")
        and getattr(hypothesis, "margin", None) is not None
    ]


def _representatives(registered: Registered, *, population: bool = False) -> list[str]:
    """The first gating claim with a margin of every family, kind and measure."""
    found: dict[tuple[str, ...], str] = {}
    for name, hypothesis in _gating(registered):
        measure = getattr(hypothesis, "measure", "")
        if population and (
            getattr(hypothesis, "target", "") != "population"
            or measure == MISSING
            or isinstance(hypothesis, Interaction)
        ):
            continue
        kind = (hypothesis.family, type(hypothesis).__name__, measure, str(hypothesis.claim))
        found.setdefault(kind, name)
    return list(found.values())


def _measures(registered: Registered) -> list[str]:
    """The measures on which a claim gates."""
    named = [
        getattr(hypothesis, "measure", "") or getattr(hypothesis, "selected", "")
        for _, hypothesis in _gating(registered)
    ]
    return list(dict.fromkeys(name for name in named if name and name != MISSING))
