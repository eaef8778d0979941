"""The trials of one experiment with one model, as the page carries them: columns, each text once.

A block is deflated JSON as text. The processes that read the cassettes make them, since they alone
hold what was said. Where an experiment keeps no text, there is none in it: measures, labels, and
reasons that are labels.
"""

from __future__ import annotations

import json
import zlib
from base64 import b64encode
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from ..cassettes.measured import reason_label
from ..experiments.canonical import plain
from ..experiments.experiment import Experiment
from ..experiments.measures import FORMAT_KEPT, Measure, MeasureValue
from ..experiments.records import Exchange, Outcome, Record, records_of
from .escapes import writable

_LEVEL = 5
_FIRST = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialBlock:
    """The trials of an experiment with a model; ``block`` is what the page carries of them.

    ``dates`` is when they were recorded: ``2026-11-20 to 2026-11-21``, empty where nobody says.
    """

    experiment: str
    model: str
    dates: str
    block: str = field(repr=False)


class _Once:
    """Values by number, in the order in which they came."""

    def __init__(self) -> None:
        self._places: dict[Hashable, int] = {}

    def __call__(self, value: Hashable) -> int:
        return self._places.setdefault(value, len(self._places))

    def each(self, values: Iterable[Hashable]) -> list[int]:
        """The numbers of several."""
        places = self._places
        return [places.setdefault(value, len(places)) for value in values]

    @property
    def values(self) -> list[Hashable]:
        return list(self._places)


def packed(value: object) -> str:
    """Return JSON deflated and in base64: what the page's script inflates."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return b64encode(zlib.compress(writable(text).encode(), _LEVEL)).decode("ascii")


def replies_of(
    experiment: Experiment,
    model: str,
    outcomes: Sequence[Outcome],
    *,
    rows: Sequence[Record] = (),
) -> TrialBlock:
    """The block of ``outcomes``, one per planned trial, in the plan's order.

    ``rows`` are theirs, where they are known already. Of an experiment that keeps no text there is
    none in it.
    """
    experiment = experiment.as_read(outcomes)
    records = rows or records_of(outcomes, tuple(experiment.measures)).rows
    kept = experiment.retention == "raw"
    value = {
        "factors": [_factor(experiment, each, records) for each in _names(experiment)],
        "replicate": [row.trial.replicate for row in records],
        "measures": [_measure(each, records) for each in experiment.measures],
        "asked": _labelled_measures(experiment),
        "keys": [each.reply_key for each in outcomes] if kept else [],
        **_reasons(records, str if kept else reason_label),
        **(_conversations(outcomes) if kept else {"texts": [], "lines": [], "said": []}),
    }
    times = (said.recorded_at for each in outcomes for said in each.exchanges)
    days = sorted({time[:10] for time in times if time})
    dates = " to ".join(dict.fromkeys((days[0], days[-1]))) if days else ""
    return TrialBlock(experiment=experiment.id, model=model, dates=dates, block=packed(value))


def _labelled_measures(experiment: Experiment) -> Mapping[str, Sequence[str]]:
    """The measures that people may label: those that a judge rates ``first``, and the others."""
    again = {each.again for each in experiment.agreements} | {FORMAT_KEPT}
    names = [each.name for each in experiment.measures if each.name not in again]
    rated = [each.measure for each in experiment.agreements] or names[:_FIRST]
    return {"first": rated, "others": [name for name in names if name not in rated]}


def _names(experiment: Experiment) -> list[str]:
    items = [] if experiment.items is None else [experiment.items.name]
    return [factor.name for factor in experiment.factors] + items


def _factor(experiment: Experiment, name: str, records: Sequence[Record]) -> Mapping[str, object]:
    """A factor, or the items: its levels, which of them are for controls, and each trial's."""
    controls = experiment.control_levels(name)
    levels = [*experiment.levels(name), *controls]
    places = {level: place for place, level in enumerate(levels)}
    is_factor = any(factor.name == name for factor in experiment.factors)
    at = [row.trial.condition.levels[name] if is_factor else row.trial.item for row in records]
    found: dict[str, object] = {
        "name": name,
        "levels": levels,
        "controls": len(controls),
        "item": not is_factor,
        "at": [places.get(level or "", -1) for level in at],
    }
    if is_factor and experiment.factor(name).exemplars:
        factor, members = experiment.factor(name), _Once()
        for member in (each for level in factor.levels for each in factor.exemplars[level]):
            members(member)
        found["by"] = [
            members(row.trial.exemplars[name]) if name in row.trial.exemplars else -1
            for row in records
        ]
        found["exemplars"] = members.values
    return found


def _measure(measure: Measure, records: Sequence[Record]) -> Mapping[str, object]:
    values = [row.values.get(measure.name) for row in records]
    kinds: dict[type, str] = {bool: "flag", float: "number", str: "category"}
    kind = next((kinds[type(value)] for value in values if value is not None), "number")
    return {
        "name": measure.name,
        "kind": kind,
        "unit": measure.unit,
        "meaning": measure.meaning,
        "bounds": plain(measure.bounds, "bounds"),
        "categories": measure.listed,
        **_values(values),
    }


def _values(values: Sequence[MeasureValue | None]) -> Mapping[str, object]:
    """Numbers and flags as they are, categories by number."""
    if any(isinstance(value, str) for value in values):
        once = _Once()
        at = [-1 if value is None else once(str(value)) for value in values]
        return {"labels": once.values, "values": at}
    return {
        "values": [
            int(value) if isinstance(value, bool) or (value and value.is_integer()) else value
            for value in values
            if not isinstance(value, str)
        ]
    }


def _reasons(records: Sequence[Record], worded: Callable[[str], str]) -> Mapping[str, object]:
    once = _Once()
    return {
        "missing": [-1 if row.missing is None else once(worded(row.missing)) for row in records],
        "reasons": once.values,
        "invalid": [len(row.invalid) for row in records],
    }


def _conversations(outcomes: Iterable[Outcome]) -> Mapping[str, object]:
    """The talk of each trial: a row per exchange, its texts by number, and these by lines.

    Prompts differ in a line or two.
    """
    texts = _Once()
    said = [[_exchange(e, texts) for e in outcome.exchanges if e.place] for outcome in outcomes]
    lines = _Once()
    of_lines = [lines.each(str(text).split("\n")) for text in texts.values]
    return {
        "said": said,
        "texts": [each if len(each) > 1 else each[0] for each in of_lines],
        "lines": lines.values,
    }


def _exchange(said: Exchange, texts: _Once) -> Sequence[object]:
    prompt = [part for message in said.prompt for part in (message.role[0], texts(message.text))]
    place = said.place if said.place and said.place.of > 1 else None
    return [
        *(said.to[0], prompt, texts(said.reply), texts(said.served_model), said.recorded_at),
        *(said.latency and round(said.latency, 2), said.finish == "stop" or said.finish),
        *([place.attempt, place.of, texts(said.invalid)] if place and said.invalid else []),
    ]
