"""Replies, condition by condition: distributions and completeness."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from ..contrasts.findings import CategorySummary, MeasureSummary
from ..experiments.records import CellCount, known_sum
from ..verdicts.analysis import Analysis
from .figures import Chart, histogram_chart
from .numbers import exact_number, plain_number, reasons_words, share_words
from .published import NOT_KNOWN

Cells = tuple[str, ...]

_NONE = "–"


@dataclass(frozen=True, slots=True)
class Distribution:
    """One measure over the conditions, as a table; numbers also as a chart and one by one."""

    title: str
    header: Cells
    rows: tuple[Cells, ...]
    chart: Chart | None = None
    raw: tuple[tuple[str, str], ...] = ()


def distributions(analysis: Analysis) -> Iterator[Distribution]:
    """Every measure over the conditions: numbers first, then categories and flags."""
    yield from _numeric(analysis)
    yield from _categorical(analysis)


def _numeric(analysis: Analysis) -> Iterator[Distribution]:
    """Every numeric measure over the conditions: chart, description, raw values."""
    header = (
        *("Condition", "ok", "Errors", "n", "Mean", "SD", "SE"),
        *("Min", "Q1", "Median", "Q3", "Max"),
    )
    for measure in _distinct(summary.measure for summary in analysis.numbers):
        found = {s.condition: s for s in analysis.numbers if s.measure == measure}
        drawn = [summary for summary in found.values() if summary.values]
        unit = next(iter(found.values())).unit
        yield Distribution(
            title=f"{measure} ({unit})" if unit else measure,
            header=header,
            rows=tuple(_described(count, found.get(count.condition)) for count in analysis.counts),
            chart=_histogram(drawn, unit or measure) if drawn else None,
            raw=tuple((s.condition, ", ".join(map(exact_number, s.values))) for s in drawn),
        )


def _described(count: CellCount, summary: MeasureSummary | None) -> Cells:
    start = (count.condition, str(count.ok), str(count.errors))
    values = summary.description if summary else None
    if values is None:
        return (*start, str(len(summary.values) if summary else 0), *[_NONE] * 8)
    spread = (_NONE if value is None else plain_number(value) for value in (values.sd, values.se))
    places = (values.minimum, values.q1, values.median, values.q3, values.maximum)
    found = str(values.n), f"{values.mean:.2f}", *spread
    return (*start, *found, *(f"{place:g}" for place in places))


def _histogram(summaries: Sequence[MeasureSummary], title: str) -> Chart:
    words = []
    for summary in summaries:
        text = f"{summary.condition}: n = {len(summary.values)}"
        if (found := summary.description) is not None:
            text += f", mean {found.mean:.2f}, from {found.minimum:g} to {found.maximum:g}"
        counts = sorted(Counter(summary.values).items())
        if len(counts) <= 15:  # noqa: PLR2004  (longer lists are in the raw values)
            came = ", ".join(f"{exact_number(value)}: {number}" for value, number in counts)
            text += f"; times each value came: {came}"
        words.append(text)
    label = f"Distribution of {summaries[0].measure} per condition. {'. '.join(words)}."
    return histogram_chart(summaries, title=title, label=label)


def _categorical(analysis: Analysis) -> Iterator[Distribution]:
    """Every category or flag over the conditions: how often each value came."""
    for measure in _distinct(summary.measure for summary in analysis.categories):
        found = {s.condition: s for s in analysis.categories if s.measure == measure}
        values = _distinct(value for s in found.values() for value in s.counts)
        yield Distribution(
            title=measure,
            header=("Condition", "ok", "Errors", *sorted(values)),
            rows=tuple(
                _tallied(count, found.get(count.condition), sorted(values))
                for count in analysis.counts
            ),
        )


def _tallied(count: CellCount, summary: CategorySummary | None, values: Iterable[str]) -> Cells:
    counts = summary.counts if summary else {}
    whole = sum(counts.values())
    shares = (share_words(counts.get(value, 0), whole) for value in values)
    return (count.condition, str(count.ok), str(count.errors), *shares)


def completeness(counts: Sequence[CellCount]) -> Iterator[Cells]:
    """Planned, valid and missing trials of each condition, and of all."""
    for count in (*counts, _all(counts)) if len(counts) > 1 else counts:
        start = count.condition, str(count.planned), str(count.ok), reasons_words(count.missing)
        if count.interactions is None:
            yield (*start, NOT_KNOWN, NOT_KNOWN, NOT_KNOWN)
        else:
            yield (*start, reasons_words(count.invalid), str(count.cut), str(count.interactions))


def _all(counts: Sequence[CellCount]) -> CellCount:
    missing: Counter[str] = sum((Counter(count.missing) for count in counts), Counter())
    invalid: Counter[str] = sum((Counter(count.invalid) for count in counts), Counter())
    return CellCount(
        condition="all",
        planned=sum(count.planned for count in counts),
        ok=sum(count.ok for count in counts),
        missing=missing,
        invalid=invalid,
        interactions=known_sum(count.interactions for count in counts),
        cut=sum(count.cut for count in counts),
    )


def _distinct(names: Iterable[str]) -> tuple[str, ...]:
    """Names without repeats, in the order in which they came."""
    return tuple(dict.fromkeys(names))
