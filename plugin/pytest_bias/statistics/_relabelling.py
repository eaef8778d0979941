"""Relabellings of units, counted or drawn; what the permutation tests share.

Each test counts every relabelling where there are at most max(resamples, 20,000) of them;
otherwise it draws seeded random ones and counts the observed one among them, so that p is valid
and never 0 (Phipson & Smyth 2010). Values that fall within rounding of the observed one count as
reaching it. All raise `BadStatisticInput` for values that are not finite, labels or blocks of
another length than the values, fewer than 100 resamples or a negative seed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pytest_bias.errors import BadStatisticInput, TooFewUnits
from pytest_bias.estimates import Permutation

from ._arrays import constant, count, number, probability, sample

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]
    Whole = NDArray[np.intp]

FEWEST_RESAMPLES = 100
ALWAYS_EXACT = 20_000  # so many relabellings take no longer than drawing would
CHUNK = 2**18  # relabelled values held at once, 2 MiB: fits into a processor's cache
TIE = 1e-9  # relative distance within which two statistics are the same
SMALLEST_GROUP = 2


def bad_input(function: str, argument: str, problem: str) -> BadStatisticInput:
    return BadStatisticInput(function=function, argument=argument, problem=problem)


class Relabelling:
    """The relabellings of units: values rearranged so that the units of a group stand together."""

    def __init__(
        self,
        labels: Sequence[Hashable],
        blocks: Sequence[Hashable] | None,
        *,
        n: int,
        fewest: int,
        resamples: int,
        seed: int,
        function: str,
    ) -> None:
        if count(resamples, function=function, argument="resamples") < FEWEST_RESAMPLES:
            raise bad_input(function, "resamples", f"must be {FEWEST_RESAMPLES} or more")
        self.resamples = resamples
        self.seed = count(seed, function=function, argument="seed")
        for argument, found in (("labels", labels), ("blocks", blocks)):
            if found is not None and len(found) != n:
                raise bad_input(function, argument, f"{len(found)} for {n} units")
        self.names = tuple(dict.fromkeys(labels))
        if len(self.names) < SMALLEST_GROUP:
            raise TooFewUnits(group="labels", found=len(self.names), needed=SMALLEST_GROUP)
        codes = codes_of(labels)
        self.sizes = np.bincount(codes)
        for name, size in zip(self.names, self.sizes.tolist(), strict=True):
            if size < fewest:
                raise TooFewUnits(group=str(name), found=size, needed=fewest)
        self.order = np.argsort(codes, kind="stable")
        self.starts = np.concatenate([[0], np.cumsum(self.sizes)[:-1]])
        self.codes = codes[self.order]
        ids = np.zeros(n, dtype=np.intp) if blocks is None else codes_of(blocks)[self.order]
        #: the places of each block that holds more than one group; only there labels move
        by_block = np.split(np.argsort(ids, kind="stable"), np.cumsum(np.bincount(ids))[:-1])
        self.blocks = [places for places in by_block if np.unique(self.codes[places]).size > 1]
        relabellings = math.prod(self._arrangements(places) for places in self.blocks)
        self.exact = relabellings <= max(resamples, ALWAYS_EXACT)
        self.total = relabellings if self.exact else resamples

    def _arrangements(self, places: Whole) -> int:
        sizes = np.bincount(self.codes[places]).tolist()
        orders = math.factorial(len(places))
        return orders // math.prod(math.factorial(size) for size in sizes)

    def rearranged(self, values: NDArray[np.generic], *, width: int = 1) -> Iterator[Any]:
        """Give `values` under every relabelling, some rows at a time, `width` columns each."""
        values = values[self.order]
        rows = max(1, CHUNK // (values.size * width))
        draw = self._every(values) if self.exact else self._random(values)
        for start in range(0, self.total, rows):
            yield draw(start, min(start + rows, self.total))

    def _random(self, values: NDArray[np.generic]) -> Callable[[int, int], Any]:
        rng = np.random.default_rng(self.seed)
        by_size: dict[int, list[Whole]] = {}
        for places in self.blocks:
            by_size.setdefault(places.size, []).append(places)
        alike = [np.stack(blocks) for blocks in by_size.values()]

        def draw(start: int, stop: int) -> NDArray[np.generic]:
            rows = stop - start
            if alike and alike[0].shape == (1, values.size):  # one block: nothing to put back
                return rng.permuted(np.broadcast_to(values, (rows, values.size)), axis=1)
            found = np.broadcast_to(values, (rows, values.size)).copy()
            for places in alike:
                moved = np.broadcast_to(values[places], (rows, *places.shape))
                found[:, places] = rng.permuted(moved, axis=2)
            return found

        return draw

    def _every(self, values: NDArray[np.generic]) -> Callable[[int, int], Any]:
        orders = [
            places[np.argsort(distinct_orders(self.codes[places]), axis=1, kind="stable")]
            for places in self.blocks
        ]
        shape = [len(order) for order in orders]

        def draw(start: int, stop: int) -> NDArray[np.generic]:
            found = np.broadcast_to(values, (stop - start, values.size)).copy()
            if shape:
                which = np.unravel_index(np.arange(start, stop), shape)
                for places, order, row in zip(self.blocks, orders, which, strict=True):
                    found[:, places] = values[order[row]]
            return found

        return draw

    def null(
        self,
        values: NDArray[np.generic],
        statistic: Callable[[Any], Floats],
        *,
        width: int = 1,
    ) -> tuple[Floats, Floats]:
        """Return the observed statistics and those of every relabelling, one row each."""
        observed = statistic(values[self.order][None])[0]
        chunks = [statistic(rows) for rows in self.rearranged(values, width=width)]
        return observed, np.concatenate(chunks)

    def means(self, rows: Any) -> Any:
        """Return the group means along axis 1 of rearranged values."""
        sums = np.add.reduceat(rows, self.starts, axis=1)
        return sums / self.sizes.reshape(-1, *[1] * (rows.ndim - 2))

    def share(self, reached: NDArray[np.bool_]) -> float:
        """Return the p-value of a statistic that these relabellings reached."""
        further = 0 if self.exact else 1
        return (int(np.count_nonzero(reached)) + further) / (self.total + further)

    def permutation(self, tail: float, *, sides: int = 1) -> Permutation:
        """Return `sides` times a tail's p-value with its Monte Carlo error."""
        return Permutation(
            p=probability(sides * tail),
            exact=self.exact,
            resamples=self.resamples,
            seed=self.seed,
            error=0.0 if self.exact else sides * math.sqrt(tail * (1 - tail) / (self.total + 1)),
        )


def codes_of(labels: Sequence[Hashable]) -> Whole:
    """Return the number of each label in order of first appearance."""
    numbers = {label: number for number, label in enumerate(dict.fromkeys(labels))}
    return np.array([numbers[label] for label in labels], dtype=np.intp)


def distinct_orders(codes: Whole) -> Whole:
    """Return every distinct order of `codes`, one per row."""
    left = np.bincount(codes)[None]
    rows = np.empty((1, 0), dtype=np.intp)
    for _ in codes:
        row, code = np.nonzero(left)
        rows = np.column_stack([rows[row], code])
        left = left[row]
        left[np.arange(row.size), code] -= 1
    return rows


def centred_columns(values: Floats) -> tuple[Floats, float]:
    """Return the columns of `values` about their means, in units of the largest range.

    Columns that are constant up to rounding become exactly 0; the range is then 0 if all are.
    """
    flat = np.array([constant(column) for column in values.T])
    centred: Floats = np.where(flat, 0.0, values - values.mean(axis=0))
    scale = float(np.ptp(centred, axis=0).max())
    return (centred / scale if scale else centred), scale


def any_array(values: ArrayLike, *, function: str, argument: str) -> NDArray[Any]:
    try:
        return np.asarray(values)
    except ValueError:  # ragged nesting
        raise bad_input(function, argument, "rows of different lengths") from None


def matrix_of(values: ArrayLike, *, function: str, argument: str) -> Floats:
    """Return `values` as a checked 2-D float array."""
    array = any_array(values, function=function, argument=argument)
    if array.ndim != 2:  # noqa: PLR2004  (rows and columns)
        raise bad_input(function, argument, f"{array.ndim} dimensions instead of 2")
    return sample(array.ravel(), function=function, argument=argument).reshape(array.shape)


def contrast_weights(
    weights: Mapping[str, float], names: Sequence[Hashable], *, function: str
) -> Floats:
    """Return the weight of each name; they have to sum to 0 and to name known labels."""
    for label in weights:
        if label not in names:
            raise bad_input(function, "weights", f"no unit is labelled {label!r}")
    found = np.array(
        [
            number(weights.get(str(name), 0.0), function=function, argument="weights")
            for name in names
        ]
    )
    if abs(found.sum()) > TIE * np.abs(found).sum() or not found.any():
        raise bad_input(
            function, "weights", "not all 0, and summing to 0, is what a contrast needs"
        )
    return found
