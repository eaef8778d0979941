"""Published column: the method a hypothesis' own source names, computed as documented.

It treats every reply as independent where its source does, and never gates.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Protocol

from ..errors import BadStatisticInput, NoFinding, TooFewUnits
from .estimate import PublishedColumn

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from .cells import Cell

NOT_DEFINED = "not defined"

FEWEST = 2
"""Values of a side below which it has no variance."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pooled:
    """Replies a published method sees: all cells, and those of each side by its words."""

    cells: Sequence[Cell]
    sides: Mapping[str, Sequence[Cell]]

    def numbers(self, needed: int = 0) -> list[NDArray[np.float64]]:
        """Return the values of each side, events as 0 and 1, whatever cell they come from.

        TooFewUnits, which names the side, of fewer than ``needed``.
        """
        found = [_values(side) for side in self.sides.values()]
        for words, values in zip(self.sides, found, strict=True):
            if values.size < needed:
                raise TooFewUnits(group=words, found=values.size, needed=needed)
        return found

    def labels(self, factor: str) -> list[str]:
        """Return the level of ``factor`` under which each value of all cells was given."""
        return [cell.labels[factor] for cell in self.cells for _ in range(cell.values.size)]


class PublishedMethod(Protocol):
    """A documented method: from pooled replies to its statistics."""

    @property
    def words(self) -> str:
        """Return the method in print."""

    def statistics(self, pooled: Pooled) -> Mapping[str, float | str]:
        """Its statistics by name; NoFinding where it is not defined."""


def published_column(method: PublishedMethod | None, pooled: Pooled) -> PublishedColumn | None:
    """Return the column of a method."""
    return None if method is None else column_of(method.words, partial(method.statistics, pooled))


def column_of(words: str, statistics: Callable[[], Mapping[str, float | str]]) -> PublishedColumn:
    """Return the column of what a method in these words gives; where that is not defined, why."""
    try:
        found = statistics()
    except (NoFinding, BadStatisticInput) as error:
        found = {NOT_DEFINED: str(error)}
    return PublishedColumn(method=words, statistics=found)


@contextmanager
def keep_published(column: PublishedColumn | None) -> Iterator[None]:
    """Let a contrast that cannot be computed report what its published method gives."""
    try:
        yield
    except NoFinding as none:
        if column is not None:
            none.published = (column.method, column.statistics)
        raise


@dataclass(frozen=True, slots=True)
class WelchTest:
    """Welch's t test on all replies of two sides, and Cohen's d."""

    words: str = "Welch's t test on all replies, Cohen's d"

    def statistics(self, pooled: Pooled) -> Mapping[str, float | str]:
        """``t``, ``df``, ``p`` and ``d``."""
        from ..stats.means import cohen_d, welch  # noqa: PLC0415  (numpy)

        a, b = pooled.numbers(FEWEST)
        found = welch(a, b)
        return {"t": found.t, "df": found.df, "p": found.p, "d": cohen_d(a, b)}


@dataclass(frozen=True, slots=True)
class MannWhitneyTest:
    """Two-sided Mann–Whitney test on all replies of two sides, and the difference of means."""

    words: str = "Mann–Whitney U test on all replies"

    def statistics(self, pooled: Pooled) -> Mapping[str, float | str]:
        """``U``, ``p``, the difference of ``mean``s and Vargha and Delaney's ``A``."""
        from ..stats.classical import mann_whitney  # noqa: PLC0415

        a, b = pooled.numbers(FEWEST)
        found = mann_whitney(a, b)
        mean = float(a.mean() - b.mean())
        return {"U": found.u, "p": found.p, "mean": mean, "A": found.above}


@dataclass(frozen=True, slots=True)
class ChiSquareTest:
    """Pearson's chi-square of sides × values on all replies, with Cramér's V (φ if 2 × 2)."""

    words: str = "chi-square test on all replies, Cramér's V"

    def statistics(self, pooled: Pooled) -> Mapping[str, float | str]:
        """``chi2``, ``df``, ``p``, ``V`` and the smallest expected count."""
        from ..stats.classical import chi_square  # noqa: PLC0415

        counts = [Counter(values.tolist()) for values in pooled.numbers()]
        empty = [words for words, count in zip(pooled.sides, counts, strict=True) if not count]
        if empty and len(empty) >= len(counts) - 1:  # nothing is left to hold one side against
            raise TooFewUnits(group=empty[0], found=0, needed=1)
        categories = sorted({category for count in counts for category in count})
        found = chi_square([[count[category] for category in categories] for count in counts])
        return {
            "chi2": found.chi2,
            "df": float(found.df),
            "p": found.p,
            "V": found.cramers_v,
            "smallest expected count": found.smallest_expected,
        }


@dataclass(frozen=True, slots=True)
class OneWayAnova:
    """One-way analysis of variance of all sides on all replies."""

    words: str = "one-way ANOVA on all replies"

    def statistics(self, pooled: Pooled) -> Mapping[str, float | str]:
        """``F``, both degrees of freedom, ``p`` and eta²."""
        from ..stats.classical import one_way  # noqa: PLC0415

        found = one_way(pooled.numbers(FEWEST))
        return {
            "F": found.f,
            "df": found.df_between,
            "df within": found.df_within,
            "p": found.p,
            "eta²": found.eta2,
        }


@dataclass(frozen=True, slots=True)
class FactorialAnova:
    """Factorial analysis of variance with all interactions, on all replies.

    Sums of squares are of type III with sum-to-zero coding, as unbalanced cells need. ``factors``
    names two factors or more.
    """

    factors: Sequence[str]

    @property
    def words(self) -> str:
        """Return the method in print."""
        return f"ANOVA {' × '.join(self.factors)} on all replies (type III)"

    def statistics(self, pooled: Pooled) -> Mapping[str, float | str]:
        """F, p and partial eta² of every term; ``p`` is that of the highest interaction."""
        from ..stats.classical import factorial_anova  # noqa: PLC0415

        rows = factorial_anova(
            _values(pooled.cells), {name: pooled.labels(name) for name in self.factors}
        )
        statistics: dict[str, float | str] = {}
        for row in rows:
            term = " × ".join(row.term)
            statistics |= {
                f"F {term}": row.f,
                f"p {term}": row.p,
                f"partial eta² {term}": row.partial_eta2,
            }
        return statistics | {"p": rows[-1].p}


@dataclass(frozen=True, slots=True)
class SumOfGaps:
    """Sum of absolute gaps between means of levels, each (high, low, weight), and the gaps."""

    gaps: Sequence[tuple[Sequence[str], Sequence[str], float]]
    words: str = "sum of absolute gaps"

    def statistics(self, pooled: Pooled) -> Mapping[str, float | str]:
        """Return the ``total``, and each gap; every cell of a level counts the same."""
        means: dict[str, float] = {}
        for level, cells in pooled.sides.items():
            valid = [cell.mean for cell in cells if cell.values.size]
            if not valid:
                raise TooFewUnits(group=level, found=0, needed=1)
            means[level] = math.fsum(valid) / len(valid)
        statistics, total = {}, 0.0
        for high, low, weight in self.gaps:
            first, second = (
                math.fsum(map(means.__getitem__, side)) / len(side) for side in (high, low)
            )
            words = " − ".join(bracketed(" + ".join(side)) for side in (high, low))
            statistics[words] = first - second
            total += weight * abs(first - second)
        return {"total": total, **statistics}


def bracketed(words: str) -> str:
    """The words of one side, bracketed where they are a sum: else a minus would end in it."""
    return f"({words})" if " + " in words else words


@dataclass(frozen=True, slots=True)
class Transformed:
    """A published method on another scale than the hypothesis' measure.

    ``values`` takes the values of a cell, as an array, to those the source compares (from
    logarithms of lengths to characters); ``scale`` names them in print.
    """

    method: PublishedMethod
    values: Callable[[NDArray[np.float64]], NDArray[np.float64]]
    scale: str

    @property
    def words(self) -> str:
        """Return the method in print."""
        return f"{self.method.words}, of {self.scale}"

    def statistics(self, pooled: Pooled) -> Mapping[str, float | str]:
        """Return the method's statistics; NoFinding where it is not defined."""
        sides = {words: self._transformed(cells) for words, cells in pooled.sides.items()}
        return self.method.statistics(
            replace(pooled, cells=self._transformed(pooled.cells), sides=sides)
        )

    def _transformed(self, cells: Sequence[Cell]) -> tuple[Cell, ...]:
        return tuple(replace(cell, values=self.values(cell.values)) for cell in cells)


def _values(cells: Sequence[Cell]) -> NDArray[np.float64]:
    import numpy as np  # noqa: PLC0415  (loaded by then: an analysis is running)

    return np.concatenate([np.empty(0), *(cell.values for cell in cells)])
