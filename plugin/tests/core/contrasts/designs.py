"""Designs of several factors with replies made by hand, and plain ways to look at them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pytest_bias.contrasts.cells import Cell, Grid
from pytest_bias.contrasts.differences import MeanDifference
from pytest_bias.experiments.design import Design, Factor, Items, Trial
from pytest_bias.experiments.experiment import Experiment, plan
from pytest_bias.experiments.measures import Measure, MeasureValue
from pytest_bias.experiments.records import Record, Records

Floats = NDArray[np.float64]
Draw = Callable[[Trial], float | bool | str | None]

TONE = Factor("tone", {"low": 3, "high": 9})
STYLE = Factor("style", {"plain": "p", "formal": "f"})
SCALE = Measure("score", unit="points", bounds=(-10, 10))
YES = Measure("yes", kind="flag")


async def unused(trial: Trial, subject: object) -> None:
    """A protocol nobody runs: the replies are made by hand."""


def study(**changes: Any) -> Experiment:
    """An experiment of tone × style, five replies in each cell."""
    given: dict[str, Any] = {
        "id": "study",
        "name": "Study",
        "factors": [TONE, STYLE],
        "measures": [SCALE, YES],
        "replicates": 5,
    }
    return Experiment(protocol=unused, **(given | changes))


def asked(**changes: Any) -> MeanDifference:
    """Whether the high tone scores as the low one does, but for what is given by name."""
    given: dict[str, Any] = {"factor": "tone", "high": "high", "low": "low"}
    return MeanDifference("score", **(given | {"margin": 0.5, "claim": "clear"} | changes))


def groups(sizes: Mapping[str, int], name: str = "group") -> Factor:
    """A factor of groups with that many exemplars each."""
    members = {level: [f"{level} {i}" for i in range(n)] for level, n in sizes.items()}
    return Factor(name, {level: level for level in sizes}, exemplars=members)


def items(n: int, name: str = "seed") -> Items:
    """So many items, from ``s0`` on."""
    return Items(name, {f"s{i}": i for i in range(n)})


def recorded(
    of: Experiment, draw: Draw, measure: str = "score", reason: str = "refusal"
) -> Records:
    """The records of every planned trial; a trial for which ``draw`` gives None is missing."""
    rows = []
    for trial in plan(of, Design(of.replicates)):
        drawn = draw(trial)
        values: dict[str, MeasureValue] = {} if drawn is None else {measure: drawn}
        rows.append(Record(trial, values, reason if drawn is None else None))
    return Records(tuple(rows))


def cell(values: ArrayLike, member: str = "", **labels: str) -> Cell:
    """A cell of these replies, none of which is missing, shown ``member`` of its group."""
    return Cell(
        labels=labels,
        members={"group": member} if member else {},
        values=np.asarray(values, dtype=np.float64),
        reasons={},
    )


def grid(
    cells: Iterable[Cell], bounds: tuple[float, float] | None = (0.0, 12.0), *, flags: bool = False
) -> Grid:
    """Cells on a scale; of events it is that of rates."""
    return Grid(cells=tuple(cells), bounds=(0.0, 1.0) if flags else bounds, flags=flags)


def level(trial: Trial, name: str) -> str:
    """A trial's level of a factor."""
    return trial.condition.levels[name]


def at(records: Records, measure: str = "score", **wanted: str | Sequence[str]) -> Floats:
    """Give the valid values at these levels; ``seed`` is the item, ``who`` the names shown."""
    found = []
    for row in records.rows:
        trial = row.trial
        labels = {
            **trial.condition.levels,
            "seed": trial.item or "",
            "who": "/".join(trial.exemplars.values()),
        }
        if row.missing is None and all(
            labels[name] in ([given] if isinstance(given, str) else given)
            for name, given in wanted.items()
        ):
            value = row.values[measure]
            assert isinstance(value, float | bool)
            found.append(float(value))
    return np.array(found)
