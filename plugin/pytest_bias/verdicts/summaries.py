"""Descriptions of an experiment's replies: summaries of measures, and numbers of its figures.

Replies are the units, so an interval is about this very set of stimuli; nothing here is tested.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import product
from typing import cast

import numpy as np

from ..contrasts.cells import Cell, grid_of
from ..contrasts.estimate import CategorySummary, MeasureSummary
from ..errors import BadDesign
from ..experiments.experiment import Experiment
from ..experiments.figures import Axis, Heatmap, Illustration, Means, Spot
from ..experiments.measures import MISSING
from ..experiments.records import Records
from ..stats.classical import wilson
from ..stats.equivalence import contrast_of, sides_of
from ..stats.means import describe, t_interval
from ..stats.results import LEVEL, Interval
from .judge_agreement import type_of

_SAME = "the replies of each cell are the same"
_FEW = "too few replies within cells"


def illustrated(figure: Heatmap | Means, experiment: Experiment, records: Records) -> Illustration:
    """Work out what ``figure`` shows of ``records``.

    Every level counts, also where no trial of it gave a valid reply. Raises BadDesign when the
    measure is a word, or of several types.
    """
    try:
        grid = grid_of(experiment, records, figure.measure)
    except BadDesign as error:
        what = f"{type(figure).__name__}({figure.measure!r}) of {experiment.id}"
        raise BadDesign(what=what, problem=f"its measure {error.problem}") from error
    across = (figure.x, figure.y) if isinstance(figure, Heatmap) else (figure.over, None)
    shown = {"by": figure.by, "y": across[1], "x": across[0]}
    axes = {at: Axis(name, experiment.levels(name)) for at, name in shown.items() if name}
    cells: dict[tuple[str, ...], list[Cell]] = {}
    for cell in grid.cells:
        cells.setdefault(tuple(cell.labels[axis.name] for axis in axes.values()), []).append(cell)
    spots: list[Spot] = []
    for place in product(*(axis.levels for axis in axes.values())):
        at = dict(zip(axes, place, strict=True))
        spots.append(_spot(cells.get(place, ()), at, flags=grid.flags))
    return Illustration(
        kind="heatmap" if "y" in axes else "means",
        title=figure.heading,
        measure=figure.measure,
        unit="" if figure.measure == MISSING else experiment.measure(figure.measure).unit,
        flag=grid.flags,
        bounds=None if grid.bounds is None else (float(grid.bounds[0]), float(grid.bounds[1])),
        x=axes["x"],
        y=axes.get("y"),
        by=axes.get("by"),
        spots=tuple(spots),
    )


def _spot(cells: Sequence[Cell], at: Mapping[str, str], *, flags: bool) -> Spot:
    """Describe the cells ``at`` some levels; an interval only in figures without rows."""
    lost: Counter[str] = Counter()
    for cell in cells:
        lost.update(cell.reasons)
    used = [cell for cell in cells if cell.values.size]
    replies = sum(cell.values.size for cell in used)
    value, interval, why = None, None, ""
    if used:
        # Every valid reply counts the same, as in the rate of a flag.
        shares = np.array([cell.values.size / replies for cell in used])
        means = np.array([cell.mean for cell in used])
        value = float(np.clip(shares @ means, means.min(), means.max()))
        if "y" not in at and flags:
            yes = round(sum(float(cell.values.sum()) for cell in used))
            value, interval = yes / replies, wilson(yes, replies)
        elif "y" not in at:
            interval, why = _interval(used, shares)
    return Spot(**at, value=value, replies=replies, missing=lost, interval=interval, why=why)


def _interval(used: Sequence[Cell], shares: np.ndarray) -> tuple[Interval | None, str]:
    """Student's interval of the mean of replies from within their cells, or why there is none."""
    if not any(cell.values.size > 1 for cell in used):
        return None, _FEW
    sides, df = sides_of(
        [cell.values for cell in used], shares.tolist(), low=-math.inf, high=math.inf
    )
    value, se = contrast_of(sides)
    return (t_interval(value, se, df, level=LEVEL), "") if se else (None, _SAME)


def summaries(
    experiment: Experiment, by_condition: Mapping[str, Records]
) -> tuple[list[MeasureSummary], list[CategorySummary]]:
    """Describe every measure in every condition: its numbers, or how often each value came."""
    numbers: list[MeasureSummary] = []
    categories: list[CategorySummary] = []
    for measure in experiment.measures:
        for condition in experiment.conditions:
            rows = by_condition.get(condition.id, Records(())).about(measure)
            values, kind = rows.column(measure.name), type_of(measure.name, rows)
            if kind is float:
                floats = cast("tuple[float, ...]", tuple(values))
                numbers.append(
                    MeasureSummary(
                        measure=measure.name,
                        unit=measure.unit,
                        condition=condition.id,
                        description=describe(floats),
                        values=floats,
                    )
                )
            elif kind is not None:
                counts = {_category(each): n for each, n in Counter(values).items()}
                categories.append(
                    CategorySummary(measure=measure.name, condition=condition.id, counts=counts)
                )
    return numbers, categories


def _category(value: object) -> str:
    return ("yes" if value else "no") if isinstance(value, bool) else str(value)
