"""Relabellings of units, counted or drawn; what the permutation tests share.

Each test counts every relabelling where there are at most max(resamples, 20,000) of them;
otherwise it draws seeded random ones and counts the observed one among them, so that p is valid
and never 0 (Phipson & Smyth 2010). Values that fall within rounding of the observed one count as
reaching it. Where many units are drawn and a block of them holds few distinct values, such as
ratings, counts of values per label are drawn instead of orders of units: how many of each value a
label takes is multivariate hypergeometric, given what the labels before it took (Fisher 1935). The
labels' sums, all that a contrast of means needs, are distributed as if every unit were shuffled.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .checks import Floats, alike, bad, constant, enough, number, probability
from .results import Permutation

Whole = NDArray[np.intp]
_Kept = np.uint16  # of orders that are kept

SAME = 1e-11  # distance within which two values are one, where their range is 1
CHUNK = 2**18  # counts held at once, 2 MiB
SHUFFLED = 5  # units that are shuffled in the time of one hypergeometric draw

ALWAYS_EXACT = 20_000  # so many relabellings take no longer than drawing would
TIE = 1e-9  # relative distance within which two statistics are the same
KEPT = 2**25  # bytes of orders that are kept for the next test of the same blocks, 32 MiB
MANY = 2_000  # fewer units than that are soon shuffled, whatever their values


def orders(sizes: Sequence[int]) -> int:
    """Return how many distinct orders there are of labels with so many units each."""
    return math.factorial(sum(sizes)) // math.prod(map(math.factorial, sizes))


def log_orders(sizes: Sequence[int]) -> float:
    """Return the logarithm of `orders`, which for many units takes no long numbers."""
    return math.lgamma(sum(sizes) + 1) - math.fsum(math.lgamma(size + 1) for size in sizes)


def tally_of(values: Floats) -> tuple[Floats, Whole]:
    """Return the distinct values, rarest first, and how many there are of each.

    Values centred within their blocks differ in their last bits: within `SAME` of each other they
    are one. Where such neighbours run on beyond that, every value counts as distinct.
    """
    ordered = np.sort(values)
    starts = np.flatnonzero(np.diff(ordered, prepend=-np.inf) > SAME)
    counts = np.diff(starts, append=values.size)
    if (ordered[starts + counts - 1] - ordered[starts]).max() > SAME:
        return ordered, np.ones(values.size, dtype=np.intp)
    rarest = np.argsort(counts, kind="stable")
    return (np.add.reduceat(ordered, starts) / counts)[rarest], counts[rarest]


def cheaper(*, labels: int, distinct: int, units: int) -> bool:
    """Tell whether counts of a block's distinct values are drawn faster than orders of units."""
    return SHUFFLED * (labels - 1) * (distinct - 1) < units


def add_counted(
    sums: Floats,
    support: Floats,
    counts: Whole,
    sizes: Sequence[int],
    rng: np.random.Generator,
) -> None:
    """Add to each row of `sums` the labels' sums of a block under a random relabelling.

    `support` and `counts` are those of `tally_of`, with a column of `support` for each power that
    is summed; `sizes` are the units of each label, a column of `sums` each. Labels take in turn;
    the largest takes what is left. Rows are done some at a time.
    """
    rows = max(1, CHUNK // len(support))
    order = [label for label in np.argsort(sizes, kind="stable").tolist() if sizes[label]]
    for start in range(0, len(sums), rows):
        part = sums[start : start + rows]
        left = np.tile(counts[:, None], len(part))  # a row per value
        for label in order[:-1]:
            needed = np.full(len(part), sizes[label])
            others = left.sum(axis=0)
            for value, of_value in zip(support[:-1], left[:-1], strict=True):
                others -= of_value
                taken = rng.hypergeometric(of_value, others, needed)
                part[:, label] += taken[:, None] * value
                np.subtract(of_value, taken, out=of_value)
                needed -= taken
            part[:, label] += needed[:, None] * support[-1]
            left[-1] -= needed
        part[:, order[-1]] += left.T @ support


class Relabelling:
    """The relabellings of units: values rearranged so that the units of a group stand together."""

    def __init__(
        self,
        labels: Sequence[Hashable],
        blocks: Sequence[Hashable] | None,
        *,
        n: int,
        fewest: int = 2,
        resamples: int,
        seed: int,
    ) -> None:
        self.resamples = resamples
        self.seed = seed
        for argument, found in (("labels", labels), ("blocks", blocks)):
            if found is not None:
                alike(found, argument, n=n)
        self.names = tuple(dict.fromkeys(labels))
        enough(len(self.names), "labels")
        codes = codes_of(labels)
        self.sizes = np.bincount(codes)
        for name, size in zip(self.names, self.sizes.tolist(), strict=True):
            enough(size, str(name), fewest)
        self.order = np.argsort(codes, kind="stable")
        self.starts = np.concatenate([[0], np.cumsum(self.sizes)[:-1]])
        self.codes = codes[self.order]
        ids = np.zeros(n, dtype=np.intp) if blocks is None else codes_of(blocks)[self.order]
        #: the places of each block that holds more than one group; only there labels move
        by_block = np.split(np.argsort(ids, kind="stable"), np.cumsum(np.bincount(ids))[:-1])
        self.blocks = [places for places in by_block if np.unique(self.codes[places]).size > 1]
        sizes = [self._sizes(places) for places in self.blocks]
        most = max(resamples, ALWAYS_EXACT)
        # whole numbers of so many digits that they take a second are told by their logarithms
        may_count = sum(map(log_orders, sizes)) < math.log(most) + 1
        relabellings = math.prod(map(orders, sizes)) if may_count else most + 1
        self.exact = relabellings <= most
        self.total = relabellings if self.exact else resamples

    def _sizes(self, places: Whole) -> list[int]:
        sizes: list[int] = np.bincount(self.codes[places], minlength=len(self.names)).tolist()
        return sizes

    def rearranged(self, values: NDArray[np.generic], *, width: int = 1) -> Iterator[Any]:
        """Give `values` under every relabelling, some rows at a time, `width` columns each."""
        values = values[self.order]
        rows = max(1, CHUNK // (values.size * width))
        if not self.exact:
            yield from self._random(values, self.blocks, rows)
            return
        draw = self._every(values)
        for start in range(0, self.total, rows):
            yield draw(start, min(start + rows, self.total))

    def _random(
        self, values: NDArray[np.generic], blocks: Sequence[Whole], rows: int
    ) -> Iterator[NDArray[np.generic]]:
        by_size: dict[int, list[Whole]] = {}
        for places in blocks:
            by_size.setdefault(places.size, []).append(places)
        alike = [np.stack(of_size) for of_size in by_size.values()]
        shapes = tuple((len(places), places.shape[1]) for places in alike)
        kept = 2 * self.total * sum(places.size for places in alike) <= KEPT
        kept &= max(places.size for places in alike) <= np.iinfo(_Kept).max
        drawn = _kept_shuffles if kept else _shuffles
        for shuffles in drawn(self.seed, shapes, rows, self.total):
            found = np.broadcast_to(values, (len(shuffles[0]), values.size)).copy()
            for places, shuffle in zip(alike, shuffles, strict=True):
                found[:, places] = values[places].ravel()[shuffle]
            yield found

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

    def null_of_means(
        self, values: Floats, statistic: Callable[[Any], Floats], *, powers: int = 1
    ) -> tuple[Floats, Floats]:
        """Return as `null` does a statistic of the groups' means, of values within a range of 1.

        `statistic` takes rows of means, one per group; with `powers` above 1 of an array whose
        last axis has the means of the values' first, second, … powers.
        """
        exponents = range(1, powers + 1)  # one at a time: by an array it takes ten times as long

        def given(means: Any) -> Floats:
            return statistic(means if powers > 1 else means[..., 0])

        def of_rows(rows: Any) -> Floats:
            return given(np.stack([self.means(rows**power) for power in exponents], axis=-1))

        tallies = [] if self.exact else self._tallies(values[self.order])
        if not any(tallies):
            return self.null(values, of_rows, width=powers)
        values = values[self.order]
        observed = of_rows(values[None])[0]
        sums = np.zeros((self.total, len(self.names), powers))
        rng = np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=(1,)))
        for places, tally in zip(self.blocks, tallies, strict=True):
            if tally:
                support, counts = tally
                columns = np.column_stack([support**power for power in exponents])
                add_counted(sums, columns, counts, self._sizes(places), rng)
        shuffled = [places for places, t in zip(self.blocks, tallies, strict=True) if not t]
        self._add_shuffled(sums, values, shuffled)
        still = np.ones(values.size, dtype=np.bool_)
        still[np.concatenate(self.blocks)] = False
        for power in exponents:
            sums[..., power - 1] += np.bincount(
                self.codes[still], values[still] ** power, minlength=len(self.names)
            )
        return observed, given(sums / self.sizes[:, None])

    def _tallies(self, values: Floats) -> list[tuple[Floats, Whole] | None]:
        """Return each block's distinct values and their counts, or None where it is shuffled."""
        if sum(places.size for places in self.blocks) < MANY:
            return []
        found: list[tuple[Floats, Whole] | None] = []
        for places in self.blocks:
            support, counts = tally_of(values[places])
            labels = np.unique(self.codes[places]).size
            few = cheaper(labels=labels, distinct=support.size, units=places.size)
            found.append((support, counts) if few else None)
        return found

    def _add_shuffled(self, sums: Floats, values: Floats, blocks: Sequence[Whole]) -> None:
        """Add to each row of `sums` the groups' sums of these blocks, shuffled."""
        if not blocks:
            return
        kept = np.sort(np.concatenate(blocks))
        present, starts = np.unique(self.codes[kept], return_index=True)
        rows = max(1, CHUNK // kept.size)
        within = [np.searchsorted(kept, places) for places in blocks]
        start = 0
        for found in self._random(values[kept], within, rows):
            for power, of_power in enumerate(np.moveaxis(sums, -1, 0), start=1):
                rows_of = of_power[start : start + len(found)]
                rows_of[:, present] += np.add.reduceat(found**power, starts, axis=1)
            start += len(found)

    def means(self, rows: Any) -> Any:
        """Return the group means along axis 1 of rearranged values."""
        sums = np.add.reduceat(rows, self.starts, axis=1)
        return sums / self.sizes.reshape(-1, *[1] * (rows.ndim - 2))

    def share(self, reached: NDArray[np.bool_]) -> float:
        """Return the p-value of a statistic that some of these relabellings reached."""
        further = 0 if self.exact else 1
        return (int(np.count_nonzero(reached)) + further) / (reached.size + further)

    def permutation(self, tail: float, *, sides: int = 1) -> Permutation:
        """Return `sides` times a tail's p-value with its Monte Carlo error."""
        error = sides * math.sqrt(tail * (1 - tail) / (self.resamples + 1))
        return Permutation(
            p=probability(sides * tail),
            exact=self.exact,
            resamples=self.resamples,
            seed=self.seed,
            error=0.0 if self.exact else error,
        )


def _shuffles(
    seed: int, shapes: Sequence[tuple[int, int]], rows: int, total: int
) -> Iterator[tuple[NDArray[Any], ...]]:
    """Give random orders of the places in blocks, so many of each size; some rows at a time."""
    rng = np.random.default_rng(seed)
    places = [np.arange(n * size).reshape(n, size) for n, size in shapes]
    for start in range(0, total, rows):
        several = min(rows, total - start)
        yield tuple(
            rng.permuted(np.broadcast_to(each, (several, *each.shape)), axis=2) for each in places
        )


@lru_cache(maxsize=4)  # hypotheses are about the same blocks
def _kept_shuffles(
    seed: int, shapes: Sequence[tuple[int, int]], rows: int, total: int
) -> Sequence[tuple[NDArray[Any], ...]]:
    return [
        tuple(shuffle.astype(_Kept) for shuffle in shuffles)
        for shuffles in _shuffles(seed, shapes, rows, total)
    ]


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


def contrast_weights(weights: Mapping[str, float], names: Sequence[Hashable]) -> Floats:
    """Return the weight of each name; they have to sum to 0 and to name known labels."""
    for label in weights:
        if label not in names:
            raise bad("weights", f"no unit is labelled {label!r}")
    found = np.array([number(weights.get(str(name), 0.0), "weights") for name in names])
    if abs(found.sum()) > TIE * np.abs(found).sum() or not found.any():
        raise bad("weights", "not all 0, and summing to 0, is what a contrast needs")
    return found
