"""Drift from the old model to the new one: refusals, length, time. It never gates.

Replies are paired by cell (condition × exemplar × item), each the mean over its replicates: the
prompts of a cell are the same for both models, while its first replicate with one has nothing to
do with the first with the other.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from statistics import fmean, stdev
from typing import Literal

from ..experiments.canonical import compact, digest
from ..experiments.design import Trial
from ..experiments.records import Outcome, Record, Spoken
from ..statistics.results import LEVEL, Interval

What = Literal["missing", "refused", "words", "tokens", "latency"]

UNITS: dict[What, str] = {
    "missing": "share of trials",
    "refused": "share of trials",
    "words": "words a reply",
    "tokens": "tokens a reply",
    "latency": "seconds a reply",
}
"""What can drift, in the order in which it is shown, and its unit."""

_KEY_LENGTH = 16
_FEWEST = 5
"""Cells from which on an interval is given: of two it spanned 380 points of a share."""

_ROUNDING = 1e-9
"""Spread of differences that counts as none, as a share of the values subtracted."""
_REFUSED = ("refusal", "content_filter")
_REFUSAL_FLAGS = ("is_refusal", "refusal", "refused")
"""Measures that say of a valid reply that it refuses, by their names."""

CellMeans = tuple[float | None, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Readings:
    """The size and time of replies, per cell: place i of every column belongs to ``keys[i]``.

    A key is a digest of condition, exemplars and item, the same for every model. ``missing`` and
    ``refused`` are shares of the cell's trials, ``words``, ``tokens`` (of output) and ``latency``
    (seconds) means over its trials of the mean over the subject's replies; None where unknown,
    as words are where no text is kept.
    """

    keys: tuple[str, ...] = ()
    missing: CellMeans = ()
    refused: CellMeans = ()
    words: CellMeans = ()
    tokens: CellMeans = ()
    latency: CellMeans = ()

    def column(self, what: What) -> dict[str, float]:
        """Return the known values, by cell."""
        values: CellMeans = getattr(self, what)
        return {
            key: value for key, value in zip(self.keys, values, strict=True) if value is not None
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Drifted:
    """One quantity with both models, as means over the ``cells`` that both have.

    ``interval`` is that of the mean difference at 95 %, by Student's t over cells; None below five
    cells, and where the difference is the same in all of them. ``marked`` is whether it excludes
    0: of twenty quantities that did not change, one is marked by chance.
    """

    what: What
    unit: str
    old: float
    new: float
    difference: float
    interval: Interval | None
    cells: int
    marked: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Drift:
    """The change of an experiment's replies from ``old`` to ``new``, described."""

    experiment: str
    old: str
    new: str
    quantities: tuple[Drifted, ...] = field(default=())


def readings_of(outcomes: Sequence[Outcome], rows: Sequence[Record]) -> Readings:
    """Read the replies of an experiment; ``rows`` are the records of the same trials."""
    cells: defaultdict[tuple[str | None, ...], list[tuple[Outcome, Record]]] = defaultdict(list)
    for outcome, row in zip(outcomes, rows, strict=True):
        cells[outcome.trial.cell].append((outcome, row))
    keyed = {_key(cell[0][0].trial): cell for cell in cells.values()}
    found = [cell for _, cell in sorted(keyed.items())]
    flags = [name for name in _REFUSAL_FLAGS if any(name in row.values for row in rows)]

    def is_refused(outcome: Outcome, row: Record) -> bool:
        if row.missing is not None:
            # The reply that ended a trial is its last, and may be the judge's.
            judge = outcome.missing and outcome.origins and outcome.origins[-1].to == "judge"
            return row.missing in _REFUSED and not judge
        return any(row.values.get(name) is True for name in flags) if flags else False

    return Readings(
        keys=tuple(sorted(keyed)),
        missing=tuple(_share(cell, lambda _, row: row.missing is not None) for cell in found),
        refused=tuple(_share(cell, is_refused) for cell in found),
        words=tuple(_mean(cell, lambda spoken: spoken.words) for cell in found),
        tokens=tuple(_mean(cell, lambda spoken: spoken.tokens) for cell in found),
        latency=tuple(_mean(cell, lambda spoken: spoken.latency) for cell in found),
    )


def drift_of(old: Readings, new: Readings) -> tuple[Drifted, ...]:
    """Return the change of each quantity, over the cells for which both models have it."""
    return tuple(
        drifted
        for what in UNITS
        if (drifted := _drifted(what, old.column(what), new.column(what)))
    )


def _key(trial: Trial) -> str:
    """The key of a trial's cell."""
    exemplars = tuple(sorted(trial.exemplars.items()))
    return digest(compact((trial.condition.id, exemplars, trial.item)))[:_KEY_LENGTH]


def _share(cell: Sequence[tuple[Outcome, Record]], of: Callable[[Outcome, Record], bool]) -> float:
    return _rounded(sum(of(*each) for each in cell) / len(cell))


def _mean(
    cell: Iterable[tuple[Outcome, Record]], of: Callable[[Spoken], float | None]
) -> float | None:
    """The mean over trials of the mean over replies: a trial of many turns counts once."""
    trials = []
    for outcome, _ in cell:
        if not outcome.spoken:
            continue
        known = [value for spoken in outcome.spoken if (value := of(spoken)) is not None]
        if known:
            trials.append(fmean(known))
    return _rounded(fmean(trials)) if trials else None


def _rounded(value: float) -> float:
    """Six significant digits: they are kept for every cell."""
    return float(f"{value:.6g}")


def _drifted(what: What, old: dict[str, float], new: dict[str, float]) -> Drifted | None:
    shared = sorted(old.keys() & new.keys())
    if not shared:
        return None
    differences = [new[key] - old[key] for key in shared]
    magnitude = max(max(abs(old[key]), abs(new[key])) for key in shared)
    interval = _interval(differences, magnitude)
    return Drifted(
        what=what,
        unit=UNITS[what],
        old=fmean(old[key] for key in shared),
        new=fmean(new[key] for key in shared),
        difference=fmean(differences),
        interval=interval,
        cells=len(shared),
        marked=interval is not None and interval.excludes(0.0),
    )


def _interval(differences: Sequence[float], magnitude: float) -> Interval | None:
    from ..statistics.means import t_interval  # noqa: PLC0415  (numpy)

    number = len(differences)
    if number < _FEWEST:
        return None
    spread = stdev(differences)
    if spread <= _ROUNDING * magnitude:
        return None
    return t_interval(fmean(differences), spread / math.sqrt(number), number - 1.0, level=LEVEL)
