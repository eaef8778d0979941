"""Fisher's exact test of r × c tables, by enumeration of half tables.

The columns are dealt into two halves. For each half, every filling that keeps within the row
totals is listed with its row sums and its share of the log probability; a filling of one half
goes with those of the other whose row sums add up to the row totals. Two sorted lists then take
the place of all their pairs: the work grows with the square root of the number of tables. And
fillings of equal row sums and probability are kept once, with their number.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import scipy  # type: ignore[import-untyped, unused-ignore]  # scipy ships no types
from scipy import special  # type: ignore[import-untyped, unused-ignore]  # scipy ships no types

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Counts = NDArray[np.int64]
    Logs = NDArray[np.float64]
    _Half = tuple[Counts, Logs, Logs]  # key of the row sums, -sum(log x!), number of fillings

MOST_FILLINGS = 5_000_000  # tried for one column: seconds of work, and some 500 MB at most
MOST_KEYS = 2**62  # row sums are told apart by one integer
EQUAL = 1e-7  # tables whose probabilities differ by less than this share count as equally likely
SAME = 1e-10  # logarithms closer than this are of the same probability, summed in another order
CHUNK = 2**21  # cells held at once


def _fillings_count(total: int, rows: list[int]) -> float:
    """Return in how many ways `total` splits into rows of at most `rows`."""
    ways = np.zeros(total + 1)
    ways[0] = 1
    for row in rows:
        sums = np.cumsum(ways)
        sums[row + 1 :] -= np.cumsum(ways)[: max(0, total - row)]
        ways = sums
    return float(ways[total])


def _fillings(total: int, rows: list[int]) -> Counts:
    """List the ways in which `total` splits into rows of at most `rows`; shape (ways, rows)."""
    found = np.zeros((1, 0), dtype=np.int64)
    left = np.array([total], dtype=np.int64)
    for i, row in enumerate(rows):
        later = sum(rows[i + 1 :])
        low = np.maximum(0, left - later)
        width = np.minimum(row, left) - low + 1
        parent = np.repeat(np.arange(left.size), width)
        value = np.arange(parent.size) - np.repeat(np.cumsum(width) - width, width) + low[parent]
        found = np.column_stack([found[parent], value])
        left = left[parent] - value
    return found


def _halves(columns: list[int], rows: list[int]) -> tuple[list[int], list[int], float]:
    """Deal the columns into two halves of about equal work, and return that work."""
    halves: tuple[list[int], list[int]] = ([], [])
    work = [1.0, 1.0]
    ways = {column: _fillings_count(column, rows) for column in set(columns)}
    for column in sorted(columns, key=lambda column: -ways[column]):
        smaller = int(work[1] < work[0])
        halves[smaller].append(column)
        work[smaller] *= ways[column]
    return *halves, sum(work)


def _merged(keys: Counts, logs: Logs, ways: Logs) -> tuple[Counts, Logs]:
    """Return the places to keep, by key and then log, and how many ways each stands for."""
    order = np.lexsort((logs, keys))
    new = (np.diff(keys[order]) > 0) | (np.diff(logs[order]) > SAME)
    starts = np.concatenate([[0], np.flatnonzero(new) + 1])
    return order[starts], np.add.reduceat(ways[order], starts)


def _half(columns: list[int], rows: list[int], radix: Counts) -> _Half | None:
    """List the fillings of some columns, or nothing where there are too many to try."""
    limits = np.array(rows, dtype=np.int64)
    sums, logs, ways = np.zeros((1, len(rows)), dtype=np.int64), np.zeros(1), np.ones(1)
    for column in columns:
        if len(sums) * _fillings_count(column, rows) > MOST_FILLINGS:
            return None
        added = _fillings(column, rows)
        added_logs = -special.gammaln(added + 1.0).sum(axis=1)
        step = max(1, CHUNK // added.size)
        parts = []
        for start in range(0, len(sums), step):
            both = sums[start : start + step, None, :] + added[None, :, :]
            fits = (both <= limits).all(axis=2)
            both_logs = logs[start : start + step, None] + added_logs[None, :]
            both_ways = np.broadcast_to(ways[start : start + step, None], fits.shape)
            parts.append((both[fits], both_logs[fits], both_ways[fits]))
        sums, logs, ways = (np.concatenate(part) for part in zip(*parts, strict=True))
        places, ways = _merged(sums @ radix, logs, ways)
        sums, logs = sums[places], logs[places]
    return sums @ radix, logs, ways


def _segments(half: _Half) -> dict[int, slice]:
    """Return where each key stands: the fillings of a half are in the order of their keys."""
    distinct, starts = np.unique(half[0], return_index=True)
    ends = [*starts[1:].tolist(), half[0].size]
    return dict(zip(distinct.tolist(), map(slice, starts.tolist(), ends), strict=True))


def _constant_part(rows: list[int], columns: list[int]) -> float:
    margins = sum(math.lgamma(total + 1) for total in (*rows, *columns))
    return margins - math.lgamma(sum(rows) + 1)


def enumerated_p(table: Counts) -> float | None:
    """Return the exact p-value of a table without empty rows or columns, unfloored.

    The probability, given the margins, of all tables at most as likely as this one. None where
    there are too many half tables to list.
    """
    ways = []
    for turned in (table, table.T):
        rows = [int(total) for total in turned.sum(axis=1)]
        columns = [int(total) for total in turned.sum(axis=0)]
        if math.prod(row + 1 for row in rows) <= MOST_KEYS and sum(rows) <= MOST_FILLINGS:
            ways.append((*_halves(columns, rows), rows))
    if not ways:
        return None
    left, right, _, rows = min(ways, key=lambda way: way[2])
    radix = np.cumprod([1, *(row + 1 for row in rows[:-1])], dtype=np.int64)
    one, other = _half(left, rows, radix), _half(right, rows, radix)
    if one is None or other is None:
        return None

    highest = float(-special.gammaln(table + 1.0).sum()) + EQUAL
    constant = _constant_part(rows, [*left, *right])
    whole = int(np.array(rows, dtype=np.int64) @ radix)
    partners = _segments(other)
    p = 0.0
    for key, place in _segments(one).items():
        partner = partners[whole - key]  # what a half leaves, the other can always fill
        logs, theirs = one[1][place], other[1][partner]
        # relative to the likeliest of each, which neither over- nor underflows
        shares = other[2][partner] * np.exp(theirs - theirs[-1])
        tails = np.concatenate([[0.0], np.cumsum(shares)])
        pairs = tails[np.searchsorted(theirs, highest - logs, side="right")]
        scale = math.exp(constant + float(logs[-1] + theirs[-1]))
        p += scale * float((one[2][place] * np.exp(logs - logs[-1])) @ pairs)
    return p


def sampled_p(table: Counts, *, resamples: int, rng: np.random.Generator) -> float:
    """Return the Monte Carlo p-value, with the table itself counted among the `resamples` drawn.

    scipy's `fisher_exact` compares probabilities, which underflow to equal zeros for large tables
    (p = 1 whatever the table); so random tables come from scipy and are compared by logarithms.
    """
    drawn = scipy.stats.random_table(table.sum(axis=1), table.sum(axis=0))
    highest = float(-special.gammaln(table + 1.0).sum()) + EQUAL
    extreme, step = 0, max(1, CHUNK // table.size)
    for start in range(0, resamples, step):
        tables = drawn.rvs(min(step, resamples - start), random_state=rng)
        extreme += int((-special.gammaln(tables + 1.0).sum(axis=(1, 2)) <= highest).sum())
    return (extreme + 1) / (resamples + 1)
