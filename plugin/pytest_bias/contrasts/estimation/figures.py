"""The numbers of the figures an experiment asks for: means, rates and intervals of what is shown.

Replies are the units, so an interval is about this very set of stimuli; nothing here is tested.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import product

import numpy as np

from ...errors import BadDesign, BadStatisticInput, NoVariance, TooFewUnits
from ...experiments.experiment import Experiment
from ...experiments.figures import Axis, Heatmap, Illustration, Means, Spot
from ...experiments.measures import MISSING
from ...experiments.records import Records
from ...statistics.counts import wilson
from ...statistics.means import describe, stratified_contrast, t_interval
from ...statistics.results import LEVEL, Interval
from .cells import Cell, Grid, grid_of

_SAME = "the replies of each cell are the same"
_FEW = "too few replies within cells"
_LARGE = "a value is too large to reckon with"


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
    down = figure.y if isinstance(figure, Heatmap) else None
    across = figure.x if isinstance(figure, Heatmap) else figure.over
    x, y, by = (
        None if name is None else Axis(name, experiment.levels(name))
        for name in (across, down, figure.by)
    )
    assert x is not None  # noqa: S101  (every figure has one)
    sorted_out = _sorted_out(grid, [axis for axis in (by, y, x) if axis is not None])
    spots: list[Spot] = []
    for panel, row, column in product(_levels(by), _levels(y), x.levels):
        place = tuple(level for level in (panel, row, column) if level is not None)
        cells = sorted_out.get(place, ())
        spots.append(_spot(cells, {"by": panel, "y": row}, column, grid, with_interval=y is None))
    return Illustration(
        kind="means" if y is None else "heatmap",
        title=figure.heading,
        measure=figure.measure,
        unit="" if figure.measure == MISSING else experiment.measure(figure.measure).unit,
        flag=grid.flags,
        bounds=None if grid.bounds is None else (float(grid.bounds[0]), float(grid.bounds[1])),
        x=x,
        y=y,
        by=by,
        spots=tuple(spots),
    )


def _levels(axis: Axis | None) -> Sequence[str | None]:
    return (None,) if axis is None else axis.levels


def _sorted_out(grid: Grid, axes: Sequence[Axis]) -> Mapping[tuple[str, ...], Sequence[Cell]]:
    """The cells at each combination of levels, sorted out in one pass."""
    found: dict[tuple[str, ...], list[Cell]] = {}
    for cell in grid.cells:
        found.setdefault(tuple(cell.labels[axis.name] for axis in axes), []).append(cell)
    return found


def _spot(
    cells: Sequence[Cell],
    place: Mapping[str, str | None],
    x: str,
    grid: Grid,
    *,
    with_interval: bool,
) -> Spot:
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
        if with_interval and grid.flags:
            yes = round(sum(float(cell.values.sum()) for cell in used))
            value = yes / replies
            interval = wilson(yes, replies)
        elif with_interval:
            interval, why = _interval(used, shares)
    return Spot(
        x=x,
        y=place["y"],
        by=place["by"],
        value=value,
        replies=replies,
        missing=lost,
        interval=interval,
        why=why,
    )


def _interval(used: Sequence[Cell], shares: np.ndarray) -> tuple[Interval | None, str]:
    """Student's interval of the mean of replies from within their cells, or why there is none."""
    values = [cell.values for cell in used]
    try:
        if len(values) > 1:
            return stratified_contrast(values, shares).interval, ""
        found = describe(values[0])
    except NoVariance:
        return None, _SAME
    except TooFewUnits:
        return None, _FEW
    except BadStatisticInput:
        return None, _LARGE
    if not found.se:
        return None, _FEW if found.se is None else _SAME
    return t_interval(found.mean, found.se, found.n - 1, level=LEVEL), ""
