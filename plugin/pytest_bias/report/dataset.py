"""A publishable data set: one row per trial, measures and labels only, with its dictionary.

It is written as Parquet, the same bytes for the same data, with a README beside it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from ..cassettes.measured import reason_label, versions_of
from ..errors import BadDesign, BadJSON
from ..experiments.canonical import dumps, parsed_as
from ..experiments.design import Design, Factor, frozen_mapping
from ..experiments.experiment import Experiment
from ..experiments.measures import Measure, MeasureValue
from ..experiments.records import Outcome, Recording, known_sum, record_of
from ..tables.reader import arrow
from .escapes import plain_markdown, rendered
from .wording import published_facts, simulated_note

FORMAT = 1
ABOUT = b"pytest_bias.dataset"
"""Key of the file's metadata under which the data dictionary and the provenance stand as JSON."""

ColumnKind = Literal["category", "integer", "number", "boolean", "unknown"]
DataValue = bool | int | float | str | None

_KINDS: Mapping[type, ColumnKind] = {float: "number", bool: "boolean", str: "category"}
_STORED = {"category": "string, dictionary-encoded", "integer": "int64", "number": "double"}
_STORED |= {"boolean": "boolean", "unknown": "null: no trial has a value"}
_CC = "https://creativecommons.org"
_LICENCES = {
    "CC-BY-4.0": f"[Creative Commons Attribution 4.0]({_CC}/licenses/by/4.0/) ",
    "CC0-1.0": f"[CC0 1.0 Universal]({_CC}/publicdomain/zero/1.0/) ",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class DataColumn:
    """An entry of the data dictionary.

    ``levels`` are the labels of a category: those that are declared (factors, exemplars, items),
    or those that were found (measures, reasons), sorted. ``unknown`` is the kind of a measure of
    which no trial has a value.
    """

    name: str
    kind: ColumnKind
    meaning: str
    unit: str = ""
    bounds: tuple[float, float] | None = None
    levels: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """The description of a data set beside its rows; no clock and no path.

    ``missing`` and ``invalid`` count trials without a valid reply, and replies that were not
    valid, by reason; ``interactions`` counts calls (None where nobody knows).
    ``version`` is that of pytest-bias.
    """

    format: int = FORMAT
    version: str
    experiment: str
    name: str
    source: str
    model: str
    design: str
    replicates: int
    licence: str
    recording: Recording
    columns: tuple[DataColumn, ...]
    measures: Mapping[str, int]
    trials: int
    missing: Mapping[str, int]
    invalid: Mapping[str, int]
    interactions: int | None

    def __post_init__(self) -> None:
        for name in ("measures", "missing", "invalid"):
            ordered = dict(sorted(getattr(self, name).items()))
            object.__setattr__(self, name, frozen_mapping(ordered))


@dataclass(frozen=True, slots=True)
class DataSet:
    """The rows of one experiment with one model, in the plan's order; cells as in ``columns``."""

    about: About
    rows: tuple[tuple[DataValue, ...], ...] = field(repr=False)


def dataset_of(
    experiment: Experiment,
    design: Design,
    model: str,
    outcomes: Iterable[Outcome],
    *,
    recording: Recording,
    version: str,
    licence: str,
) -> DataSet:
    """Return the data set of ``outcomes``, one per planned trial, in the plan's order.

    Nothing that was asked or replied is in it: labels of levels and items, exemplars, measures,
    and reasons that are labels (others become ``unspecified``).

    Raises BadDesign when two columns would have one name, a measure's values are of several types,
    or text that it does not declare.
    """
    outcomes = tuple(outcomes)
    experiment = experiment.as_read(outcomes)
    rows = [record_of(outcome, experiment.measures) for outcome in outcomes]
    columns: dict[DataColumn, list[Any]] = {}
    for name, meaning, label in (
        ("experiment", "id of the experiment", experiment.id),
        ("model", "model that was asked, as provider/model", model),
        ("design", "size in which the experiment was run", design.name),
    ):
        columns[_category(name, meaning, [label])] = [label] * len(rows)
    for factor in experiment.factors:
        columns[_levels(factor)] = [row.trial.condition.levels[factor.name] for row in rows]
    for factor in (each for each in experiment.factors if each.exemplars):
        columns[_exemplars(factor, design)] = [row.trial.exemplars[factor.name] for row in rows]
    columns[_items(experiment)] = [row.trial.item for row in rows]
    meaning = "repetition of the trial, from 1"
    columns[_integer("replicate", meaning)] = [row.trial.replicate for row in rows]
    for measure in experiment.measures:
        values = [row.values.get(measure.name) for row in rows]
        columns[_measured(measure, [value for value in values if value is not None])] = values
    reasons = [None if row.missing is None else reason_label(row.missing) for row in rows]
    missing = Counter(reason for reason in reasons if reason is not None)
    meaning = "why there are no measures; empty where the reply is valid"
    columns[_category("missing", meaning, sorted(missing))] = reasons
    invalid = [None if row.interactions is None else len(row.invalid) for row in rows]
    columns[_integer("invalid_replies", "replies of the trial that were not valid")] = invalid
    columns[_integer("interactions", "calls the trial took")] = [row.interactions for row in rows]
    for name, times in Counter(column.name for column in columns).items():
        if times > 1:
            problem = f"two columns of its data set would be called {name!r}"
            raise BadDesign(what=f"Experiment({experiment.id!r})", problem=problem)
    about = About(
        version=version,
        experiment=experiment.id,
        name=experiment.name,
        source=experiment.source,
        model=model,
        design=design.name,
        replicates=design.replicates,
        licence=licence,
        recording=recording,
        columns=tuple(columns),
        measures=versions_of(experiment.measures),
        trials=len(rows),
        missing=missing,
        invalid=Counter(reason_label(each) for row in rows for each in row.invalid),
        interactions=known_sum(row.interactions for row in rows),
    )
    return DataSet(about, tuple(zip(*map(_cells, columns, columns.values()), strict=True)))


def _cells(column: DataColumn, values: list[Any]) -> list[DataValue]:
    whole = column.kind == "integer"
    return [int(each) if whole and each is not None else each for each in values]


def _category(name: str, meaning: str, levels: Iterable[str], unit: str = "") -> DataColumn:
    levels = tuple(dict.fromkeys(levels))
    return DataColumn(name=name, kind="category", meaning=meaning, unit=unit, levels=levels)


def _integer(name: str, meaning: str) -> DataColumn:
    return DataColumn(name=name, kind="integer", meaning=meaning)


def _levels(factor: Factor) -> DataColumn:
    """A factor's levels; their values only where they are numbers: others are stimuli."""
    meaning = "level of the factor that was manipulated"
    numbers = {level: v for level, v in factor.levels.items() if type(v) in (int, float)}
    if len(numbers) == len(factor.levels):
        meaning += ": " + ", ".join(f"{level} = {v}" for level, v in numbers.items())
    meaning += _for_controls(factor.controls)
    return _category(factor.name, meaning, [*factor.levels, *factor.controls], factor.unit)


def _for_controls(labels: Iterable[str]) -> str:
    """Say which labels are of positive controls, outside every comparison; '' where none is."""
    said = ", ".join(labels)
    return f"; for positive controls alone: {said}" if said else ""


def _exemplars(factor: Factor, design: Design) -> DataColumn:
    members = [m for level in factor.levels for m in design.members(factor, level)]
    meaning = f"exemplar by which the level of `{factor.name}` stood before the subject"
    if not all(map(str.isprintable, members)):
        problem = "an exemplar holds what cannot be printed on one line; it is not published"
        raise BadDesign(what=f"Factor({factor.name!r})", problem=problem)
    return _category(f"{factor.name}_exemplar", meaning, members)


def _items(experiment: Experiment) -> DataColumn:
    items = experiment.items
    if items is None:
        return _category("item", "always empty: the experiment has no items", ())
    meaning = f"item (`{items.name}`); every condition is crossed with all of them"
    meaning += _for_controls(items.controls)
    return _category("item", meaning, (*items.items, *items.controls))


def _measured(measure: Measure, values: list[MeasureValue]) -> DataColumn:
    kinds = {type(value) for value in values}
    if len(kinds) > 1:
        problem = "gives values of several types"
        raise BadDesign(what=f"Measure({measure.name!r})", problem=problem)
    kind = _KINDS[kinds.pop()] if kinds else "unknown"
    levels = sorted({str(value) for value in values}) if kind == "category" else []
    if not all(map(measure.declares, levels)):
        raise measure.undeclared
    low, high = measure.bounds or (0, 0)
    return DataColumn(
        name=measure.name,
        kind="integer" if kind == "number" and measure.integer else kind,
        meaning=f"{measure.meaning.strip() or 'measure of the reply'} (version {measure.version})",
        unit=measure.unit,
        # As they come back from JSON: whole numbers are declared as integers.
        bounds=None if measure.bounds is None else (float(low), float(high)),
        levels=tuple(levels),
    )


# --- files ------------------------------------------------------------------------------------


def parquet_bytes(data: DataSet) -> bytes:
    """Return the file of a data set, uncompressed, so that its bytes can be searched for text.

    Raises MissingPackage when pyarrow is not installed.
    """
    pa, pq = arrow()
    about, cells = data.about, [*zip(*data.rows, strict=True)]
    types = {"integer": pa.int64(), "number": pa.float64(), "boolean": pa.bool_()}
    arrays = []
    for column, values in zip(about.columns, cells, strict=True):
        if column.kind == "category":  # with all its levels, also those that no row has
            places = {level: place for place, level in enumerate(column.levels)}
            indices = pa.array([places.get(each) for each in values], pa.int32())
            levels = pa.array(column.levels, pa.string())
            arrays.append(pa.DictionaryArray.from_arrays(indices, levels))
        else:
            arrays.append(pa.array(values, types.get(column.kind, pa.null())))
    simulated = about.recording.simulated
    metadata = {ABOUT: dumps(about, f"data set of {about.experiment}"), "licence": about.licence}
    metadata["simulated"] = "true" if simulated else "false"
    if about.recording.judge is not None:
        metadata["judge"] = about.recording.judge
    if simulated:
        metadata["notice"] = simulated_note([about.model])
    names = [column.name for column in about.columns]
    table = pa.Table.from_arrays(arrays, names=names, metadata=metadata)
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="none", row_group_size=1 << 20)
    written: bytes = sink.getvalue().to_pybytes()
    return written


def about_file(content: bytes) -> About | None:
    """Return the description in a file's metadata; None where it is not one of ours.

    Raises MissingPackage when pyarrow is not installed.
    """
    pa, pq = arrow()
    try:
        metadata = pq.read_schema(pa.BufferReader(content)).metadata or {}
        about = parsed_as(About, metadata.get(ABOUT, b""))
    except (pa.ArrowException, OSError, BadJSON):
        return None
    return about if about.format == FORMAT else None


def readme_text(files: Mapping[str, About]) -> str:
    """Return the text of ``README.md`` for ``files``, each by its name, of one experiment.

    It depends on what is said of them alone, and not on the order in which they were written.
    """
    named = dict(sorted(files.items()))
    # Files of other versions may define a column otherwise: then it has a row for each.
    levels: dict[DataColumn, dict[str, None]] = {}
    for column in (each for about in named.values() for each in about.columns):
        levels.setdefault(replace(column, levels=()), {}).update(dict.fromkeys(column.levels))
    return rendered(
        "dataset.md.j2",
        files=named,
        first=next(iter(named.values())),
        simulated=sorted({each.model for each in named.values() if each.recording.simulated}),
        columns=[replace(column, levels=(*found,)) for column, found in levels.items()],
        stored=_STORED,
        published_facts=published_facts,
        sources=sorted({plain_markdown(about.source) for about in named.values()}),
        licences=map(licence_notice, sorted({about.licence for about in named.values()})),
    )


def licence_notice(licence: str) -> str:
    """Return the notice of a licence, with its name and link where they are known."""
    return f"This data set is licensed under {_LICENCES.get(licence, '')}`{licence}`."
