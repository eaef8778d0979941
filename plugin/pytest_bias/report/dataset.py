"""A publishable data set: one row per trial, measures and labels only, with its dictionary."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from ..cassettes.measured import reason_label, versions_of
from ..errors import BadDesign, NotAsWritten
from ..experiments.canonical import dumps, parsed_as
from ..experiments.design import Design, Factor, frozen_mapping
from ..experiments.experiment import Experiment
from ..experiments.measures import Measure, MeasureValue
from ..experiments.records import Outcome, Recording, known_sum, record_of

FORMAT = 1

ColumnKind = Literal["category", "integer", "number", "boolean", "unknown"]
DataValue = bool | int | float | str | None


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

    format: int
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
            object.__setattr__(self, name, frozen_mapping(getattr(self, name)))


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
    """The data set of ``outcomes``, one per planned trial, in the plan's order.

    Nothing that was asked or replied is in it: labels of levels and items, exemplars, measures,
    and reasons that are labels (others become ``unspecified``).

    Raises BadDesign when two columns would have one name, a measure's values are of several types,
    or text that it does not declare.
    """
    outcomes = tuple(outcomes)
    experiment = experiment.as_read(outcomes)
    records = [record_of(outcome, experiment.measures) for outcome in outcomes]
    columns: list[DataColumn] = []
    cells: list[list[DataValue]] = []

    def add(column: DataColumn, values: Iterable[DataValue]) -> None:
        columns.append(column)
        cells.append(list(values))

    for name, meaning, label in (
        ("experiment", "id of the experiment", experiment.id),
        ("model", "model that was asked, as provider/model", model),
        ("design", "size in which the experiment was run", design.name),
    ):
        add(_category(name, meaning, [label]), [label] * len(records))
    for factor in experiment.factors:
        add(_levels(factor), [row.trial.condition.levels[factor.name] for row in records])
    for factor in experiment.factors:
        if factor.exemplars:
            column = _exemplars(factor, design)
            add(column, [row.trial.exemplars[factor.name] for row in records])
    add(_items(experiment), [row.trial.item for row in records])
    add(
        DataColumn(name="replicate", kind="integer", meaning="repetition of the trial, from 1"),
        [row.trial.replicate for row in records],
    )
    for measure in experiment.measures:
        values = [row.values.get(measure.name) for row in records]
        given = [value for value in values if value is not None]
        column = _measured(measure, given)
        if column.kind == "integer":
            values = [None if value is None else int(value) for value in values]
        add(column, values)
    reasons = [None if row.missing is None else reason_label(row.missing) for row in records]
    missing = Counter(reason for reason in reasons if reason is not None)
    add(
        _category(
            "missing", "why there are no measures; empty where the reply is valid", sorted(missing)
        ),
        reasons,
    )
    invalid = (None if row.interactions is None else len(row.invalid) for row in records)
    for name, meaning, numbers in (
        ("invalid_replies", "replies of the trial that were not valid", invalid),
        ("interactions", "calls the trial took", (row.interactions for row in records)),
    ):
        add(DataColumn(name=name, kind="integer", meaning=meaning), numbers)
    _check_names(experiment, columns)
    reasons_of_invalid = Counter(reason_label(each) for row in records for each in row.invalid)
    about = About(
        format=FORMAT,
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
        measures=dict(sorted(versions_of(experiment.measures).items())),
        trials=len(records),
        missing=dict(sorted(missing.items())),
        invalid=dict(sorted(reasons_of_invalid.items())),
        interactions=known_sum(row.interactions for row in records),
    )
    return DataSet(about, tuple(zip(*cells, strict=True)))


def about_text(about: About) -> str:
    """Return the description of a data set as canonical JSON."""
    return dumps(about, f"data set of {about.experiment}")


def about_from(text: str | bytes) -> About | None:
    """Read what :func:`about_text` wrote; None for what another program or format wrote."""
    try:
        about = parsed_as(About, text)
    except NotAsWritten:
        return None
    return about if about.format == FORMAT else None


# --- columns ----------------------------------------------------------------------------------


def _category(name: str, meaning: str, levels: Sequence[str], unit: str = "") -> DataColumn:
    return DataColumn(name=name, kind="category", meaning=meaning, unit=unit, levels=tuple(levels))


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
    return _category(f"{factor.name}_exemplar", meaning, tuple(dict.fromkeys(members)))


def _items(experiment: Experiment) -> DataColumn:
    items = experiment.items
    if items is None:
        return _category("item", "always empty: the experiment has no items", ())
    meaning = f"item (`{items.name}`); every condition is crossed with all of them"
    meaning += _for_controls(items.controls)
    return _category("item", meaning, (*items.items, *items.controls))


def _measured(measure: Measure, values: Sequence[MeasureValue]) -> DataColumn:
    what = f"Measure({measure.name!r})"
    kinds = {type(value) for value in values}
    if len(kinds) > 1:
        raise BadDesign(what=what, problem="gives values of several types")
    kind = _KINDS[kinds.pop()] if kinds else "unknown"
    if kind == "number" and measure.integer:
        kind = "integer"
    levels = sorted({str(value) for value in values}) if kind == "category" else []
    if not all(map(measure.declares, levels)):
        raise measure.undeclared
    low, high = measure.bounds or (0, 0)
    return DataColumn(
        name=measure.name,
        kind=kind,
        meaning=f"{measure.meaning.strip() or 'measure of the reply'} (version {measure.version})",
        unit=measure.unit,
        # As they come back from JSON: whole numbers are declared as integers.
        bounds=None if measure.bounds is None else (float(low), float(high)),
        levels=tuple(levels),
    )


_KINDS: Mapping[type, ColumnKind] = {float: "number", bool: "boolean", str: "category"}


def _check_names(experiment: Experiment, columns: Sequence[DataColumn]) -> None:
    twice = [name for name, n in Counter(column.name for column in columns).items() if n > 1]
    if twice:
        what = f"Experiment({experiment.id!r})"
        problem = f"two columns of its data set would be called {twice[0]!r}"
        raise BadDesign(what=what, problem=problem)
