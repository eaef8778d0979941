"""What a calibration draws: cells in the order in which they matter, for the gate and in full."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..contrasts.cases import Registered, Registry
from ..contrasts.declared import Declared, Hypothesis
from ..contrasts.interactions import Interaction
from ..contrasts.power import compared_by
from ..experiments.measures import MISSING
from .lines import GridCell

EVEN, BIASED = "even", "biased"
_FEW = 300
"""Trials of an experiment that takes little."""


def full(registry: Registry, recorded: Sequence[tuple[str, str]]) -> Iterator[GridCell]:
    """Every cell of the results that are committed, most important first.

    Of claims that only exchange the groups they compare, the first stands for all. ``recorded``
    are experiments and models whose recordings are permuted.
    """
    every = [each for each in registry if each.experiment.simulated is not None]
    for each in every:
        yield from _even(each)
    for experiment, model in recorded:
        yield GridCell(experiment, model, 50)
    for part in (_biased, _two_margins, _one_cell, _worse, _creep, _noise):
        for each in every:
            yield from part(each)
    for draws in (100, 200):
        for each in every:
            yield from _at_the_margin(each, draws)
    for each in every:
        yield from _mishaps(each)


def _even(each: Registered) -> Iterator[GridCell]:
    """Without bias, each draw an unchanged upgrade of another."""
    yield GridCell(each.experiment.id, EVEN, 400, EVEN)


def _biased(each: Registered) -> Iterator[GridCell]:
    """With known biases that were accepted."""
    yield GridCell(each.experiment.id, BIASED, 100, BIASED)


def _two_margins(each: Registered) -> Iterator[GridCell]:
    for name in _representatives(each):
        yield GridCell(each.experiment.id, f"{EVEN}+{name}=2", 40)


def _one_cell(each: Registered) -> Iterator[GridCell]:
    """Two margins at one level of another factor alone."""
    for name, level in _cells(each):
        yield GridCell(each.experiment.id, f"{EVEN}+{name}@{level}=2", 40)


def _worse(each: Registered) -> Iterator[GridCell]:
    """One margin worse than was accepted."""
    for name in _representatives(each):
        if each.hypotheses[name].claim == "clear":
            yield GridCell(each.experiment.id, f"{EVEN}+{name}=1", 40, EVEN)


def _creep(each: Registered) -> Iterator[GridCell]:
    """A known bias that grows by .4 margins a step."""
    for name in _representatives(each, population=True)[:1]:
        creeping = f"{BIASED}+step:{name}=0.4"
        yield GridCell(each.experiment.id, creeping, 100, creeping)


def _noise(each: Registered) -> Iterator[GridCell]:
    for measure in _measures(each):
        yield GridCell(each.experiment.id, f"{EVEN}+noise:{measure}=1", 40)


def _at_the_margin(each: Registered, draws: int) -> Iterator[GridCell]:
    """Where CLEAR is false: alike in all units, in a few alone, and varying between them."""
    for name in _representatives(each):
        yield GridCell(each.experiment.id, f"{EVEN}+{name}=1", draws)
    for name in _representatives(each, population=True):
        yield GridCell(each.experiment.id, f"{EVEN}+rare0.04:{name}=1", draws)
        yield GridCell(each.experiment.id, f"{EVEN}+vary:{name}=1", draws)


def _mishaps(each: Registered) -> Iterator[GridCell]:
    """Missing replies, a judge's error, and half a margin."""
    for share in (0.03, 0.08):
        yield GridCell(each.experiment.id, f"{EVEN}+missing={share}", 40)
    if each.experiment.judge is not None:
        yield GridCell(each.experiment.id, f"{EVEN}+judge=0.05", 40)
    for name in _representatives(each):
        yield GridCell(each.experiment.id, f"{EVEN}+{name}=0.5", 40)


def gate(registry: Registry) -> Iterator[GridCell]:
    """A few draws of every experiment, more of those that take least: about a minute of a core."""
    for each in registry:
        if each.experiment.simulated is None:
            continue
        name = each.experiment.id
        experiment = each.experiment
        trials = len(experiment.conditions) * experiment.replicates  # of each exemplar and item
        alone = experiment.items is None and not any(f.exemplars for f in experiment.factors)
        quick = alone and trials <= _FEW
        yield GridCell(name, EVEN, 30 if quick else 2, EVEN)
        if quick:
            for claim in _representatives(each):
                yield GridCell(name, f"{EVEN}+{claim}=1", 30)
                yield GridCell(name, f"{EVEN}+{claim}=2", 15)


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


def _cells(registered: Registered) -> Iterator[tuple[str, str]]:
    """A claim to be clear of every kind, at each level of each other factor (or item of a few)."""
    experiment = registered.experiment
    others: dict[str, Sequence[str]] = {f.name: tuple(f.levels) for f in experiment.factors}
    if experiment.items is not None and len(experiment.items.items) < 6:  # noqa: PLR2004
        others[experiment.items.name] = tuple(experiment.items.items)
    for name in _representatives(registered):
        hypothesis = registered.hypotheses[name]
        measure = getattr(hypothesis, "measure", "")
        if hypothesis.claim != "clear" or measure == MISSING:
            continue
        confined = hypothesis.at if isinstance(hypothesis, Declared) else {}
        if not measure:  # a selection is of one style already
            continue
        for factor, levels in others.items():
            if factor not in compared_by(hypothesis) and factor not in confined:
                yield from ((name, level) for level in levels)


def _measures(registered: Registered) -> list[str]:
    """The measures on which a claim gates."""
    named = [
        getattr(hypothesis, "measure", "") or getattr(hypothesis, "selected", "")
        for _, hypothesis in _gating(registered)
    ]
    return list(dict.fromkeys(name for name in named if name and name != MISSING))
