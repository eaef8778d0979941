"""Selection and scoring rates by category and their ratios, as New York City's rule has them.

The rule is 6 RCNY § 5-300 to 5-303 (Department of Consumer and Worker Protection 2023, on Local
Law 144 of 2021): a selection rate is the share of a category that is selected, a scoring rate the
share with a score above the sample's median, an impact ratio either of them divided by that of
the category where it is highest; for sex, for race and ethnicity, and for their intersection.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from statistics import median

from ..errors import NoFinding
from ..experiments.experiment import Experiment
from ..experiments.impact import Impact
from ..experiments.records import Record, Records
from ..statistics.results import Interval
from ..statistics.threads import one_thread
from .pairs import RateRatio

LINE = 0.8
"""Four fifths: below it the Uniform Guidelines (29 CFR § 1607.4 D) see adverse impact."""

FEWEST = 0.02
"""Share of the data below which a category may be left out of impact ratios (§ 5-301 (d))."""

UNEQUAL = "categories were assessed under unequal conditions (see the hypotheses)"
_ULP = 1e-9  # a ratio and a bound that are the same may differ by rounding
_SELECTED = "impact selected"
Category = tuple[str, ...]
People = list[tuple[str, bool]]
"""Level or id, and whether it was selected."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImpactRow:
    """One category: how many were assessed and selected, and its rate beside the highest.

    ``ratio`` is None of a category that is ``left_out`` as too small, and where nobody was
    selected; ``interval`` (95 %) is that of the same contrast as a hypothesis would have it, None
    of the category all others are divided by, and where ``no_interval`` says why. ``below`` is
    "estimated" of a ratio under four fifths, "shown" where its interval is too.
    """

    category: Category
    assessed: int
    selected: int
    rate: float | None
    ratio: float | None
    left_out: bool = False
    interval: Interval | None = None
    no_interval: str = ""
    below: str = field(default="", init=False)

    def __post_init__(self) -> None:
        shown = self.interval is not None and self.interval.high < LINE
        if self.ratio is not None and self.ratio < LINE:
            object.__setattr__(self, "below", "shown" if shown else "estimated")


@dataclass(frozen=True, slots=True, kw_only=True)
class ImpactTable:
    """The categories of one axis, or of the intersection of all; ``unknown`` fall into none."""

    axes: tuple[str, ...]
    rows: tuple[ImpactRow, ...]
    unknown: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ImpactFound:
    """The tables of one declared impact; ``median`` is the score that must be exceeded, if any.

    ``missing`` counts trials without a valid reply: nobody knows if they would have been selected.
    """

    measure: str
    outcome: str
    median: float | None
    at: Mapping[str, Sequence[str]]
    missing: int
    tables: tuple[ImpactTable, ...]


def impact_rows(
    counts: Mapping[Category, tuple[int, int]], fewest: float = FEWEST
) -> tuple[ImpactRow, ...]:
    """Rates and ratios of categories, each with how many were assessed and selected.

    A category below the share ``fewest`` of all has a rate and no ratio, and is not the one that
    others are divided by.
    """
    total = sum(assessed for assessed, _ in counts.values())
    large = {
        name for name, (assessed, _) in counts.items() if assessed and assessed >= fewest * total
    }
    rates = {name: selected / n if n else None for name, (n, selected) in counts.items()}
    highest = max((rates[name] or 0.0 for name in large), default=0.0)
    return tuple(
        ImpactRow(
            category=name,
            assessed=assessed,
            selected=selected,
            rate=rates[name],
            ratio=(rates[name] or 0.0) / highest if name in large and highest else None,
            left_out=name not in large,
        )
        for name, (assessed, selected) in counts.items()
    )


@one_thread()
def impacts_of(experiment: Experiment, records: Records) -> tuple[ImpactFound, ...]:
    """The tables that an experiment asks for, of ``records`` without those of its controls."""
    return tuple(_found(impact, experiment, records) for impact in experiment.impacts)


def _found(impact: Impact, experiment: Experiment, records: Records) -> ImpactFound:
    every = records.at(impact.at)
    rows = tuple(row for row in every.rows if row.missing is None)
    pools = any(measure.name == impact.among for measure in experiment.measures)
    middle = None if pools else _median(impact, rows)
    people = [_shown(impact, row) if pools else _assessed(impact, row, middle) for row in rows]
    flagged = () if pools else _flagged(rows, people)
    records = Records(flagged, lean=True)  # one for all ratios: what they share is found once
    counts = Counter(chain.from_iterable(people))
    axes = [(axis,) for axis in impact.categories]
    every_axis = [*axes, tuple(impact.categories)][: len(axes) + (len(axes) > 1)]
    categories = {names: _category_of(impact, names) for names in every_axis}
    ratio = (
        _ratio_of_pools(people, categories.values())
        if pools
        else partial(_of_people, impact, experiment, records)
    )
    tables = []
    for names, of in categories.items():
        counted: Counter[tuple[Category | None, bool]] = Counter()
        for (label, chosen), number in counts.items():
            counted[of.get(label), chosen] += number
        found = impact_rows(
            {
                each: (counted[each, True] + counted[each, False], counted[each, True])
                for each in dict.fromkeys(of.values())
            }
        )
        highest = next((row.category for row in found if row.ratio == 1.0), None)
        beside = [
            row
            if highest in (None, row.category) or row.ratio is None
            else _with_interval(row, partial(ratio, *_sides(of, row.category, highest)))
            for row in found
        ]
        unknown = counted[None, True] + counted[None, False]
        tables.append(ImpactTable(axes=names, rows=tuple(beside), unknown=unknown))
    return ImpactFound(
        measure=impact.measure,
        outcome=impact.outcome or impact.measure,
        median=middle,
        at=impact.at,
        missing=len(every.rows) - len(rows),
        tables=tuple(tables),
    )


def _with_interval(row: ImpactRow, found: Callable[[], Interval | None]) -> ImpactRow:
    """A row with the interval of its ratio, or why there is none.

    The interval is over conditions, and the ratio of all people whatever theirs: where these
    differ between categories, it need not hold the ratio.
    """
    try:
        interval = found()
    except NoFinding as error:
        return replace(row, no_interval=str(error))
    ratio = row.ratio or 0.0
    if interval and not interval.low * (1 - _ULP) <= ratio <= interval.high * (1 + _ULP):
        return replace(row, no_interval=UNEQUAL)
    return replace(row, interval=interval)


def _category_of(impact: Impact, axes: Sequence[str]) -> Mapping[str, Category]:
    """Level or id → its category on ``axes``, of those that have one on each of them."""
    of = [impact.categories[axis] for axis in axes]
    return {label: tuple(o[label] for o in of) for label in of[0] if all(label in o for o in of)}


def _median(impact: Impact, rows: Iterable[Record]) -> float | None:
    """The median score of those who have a category on every axis; None where it is a flag."""
    known = _category_of(impact, tuple(impact.categories))
    values = [row.values[impact.measure] for row in rows if _label(impact, row) in known]
    scores = [value for value in values if isinstance(value, float)]
    return median(scores) if scores else None


def _label(impact: Impact, row: Record) -> str:
    """The level of the factor, or the item, that a trial was about."""
    return row.trial.condition.levels.get(impact.among, row.trial.item or "")


def _assessed(impact: Impact, row: Record, middle: float | None) -> People:
    """The one person of a trial, and whether they are selected."""
    value = row.values[impact.measure]
    above = isinstance(value, float) and middle is not None and value > middle
    return [(_label(impact, row), above or value is impact.selected)]


def _shown(impact: Impact, row: Record) -> People:
    """All that were shown in a trial, and whether they were selected."""
    selected = {*str(row.values[impact.measure]).split()}
    return [(each, each in selected) for each in str(row.values[impact.among]).split()]


def _flagged(rows: Iterable[Record], people: Iterable[People]) -> tuple[Record, ...]:
    """The trials with whether their one person is selected as their only measure."""
    return tuple(
        Record(row.trial, {_SELECTED: chosen}, None)
        for row, ((_, chosen),) in zip(rows, people, strict=True)
    )


def _sides(of: Mapping[str, Category], *sides: Category) -> list[list[str]]:
    """The levels, or ids, of each of some categories."""
    return [[label for label, category in of.items() if category == side] for side in sides]


def _of_people(
    impact: Impact, experiment: Experiment, records: Records, high: list[str], low: list[str]
) -> Interval | None:
    """The interval of the first levels' ratio to the second, as :class:`RateRatio` has it."""
    ratio = RateRatio(_SELECTED, impact.among, high=high, low=low, published=None)
    return ratio.analyse(experiment, records).interval


def _ratio_of_pools(
    people: Sequence[People], categories: Iterable[Mapping[str, Category]]
) -> Callable[[list[str], list[str]], Interval]:
    """Return the same of items selected from pools, as :class:`~pytest_bias.Selection` has it."""
    from .estimation.selection import Pool, ratio_beside  # noqa: PLC0415  (numpy)

    pools = [
        Pool([label for label, _ in each], [label for label, chosen in each if chosen])
        for each in people
    ]
    asked = [side for of in categories for side in _sides(of, *dict.fromkeys(of.values()))]
    memo: dict[object, object] = {}

    return lambda high, low: ratio_beside(pools, high, low, asked=asked, memo=memo)
