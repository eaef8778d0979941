"""An experiment and the replies of one model, analysed or recorded without pytest."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict, Unpack, cast

from ..baselines.entries import is_stopped
from ..contrasts.cases import Case, Registry
from ..errors import BadSetting, Diagnostics, NotRecorded, UnknownName
from ..experiments.checks.manipulation import faults
from ..experiments.experiment import GATE, Experiment
from ..experiments.fields import need_text
from ..experiments.records import Outcome, record_of
from ..recording.caller import OnTrial, ignore_trial
from ..recording.signals import apart
from ..report.recording_text import Display, StreamTerminal, recording_progress
from ..report.run import RunResult, results_text
from ..settings.given import is_file
from ..settings.roster import is_tabled, table_entry
from ..settings.settings import RecordMode
from ..tables.reader import ENDINGS
from ..tables.subjects import read_table, source_text
from ..verdicts.verdict import Control, Verdict
from . import SUITE
from .plans import check_ci, record, recording_diagnostics
from .project import Project
from .suite import configured, declared_for

if TYPE_CHECKING:
    import pandas as pd  # type: ignore[import-untyped, unused-ignore]  # ships no types

    from ..experiments.measures import MeasureValue
    from ..recording.collector import CollectionReport
    from ..tables.reader import Source
    from ..verdicts.analysis import Analysis

ExperimentName = Experiment | str | os.PathLike[str]
"""An experiment, its id, or a folder that declares it."""

_COMMAND = re.compile(r"pytest <the same arguments> .*--bias-record=(\w+)")


class StudyOptions(TypedDict, total=False):
    """Settings by the names of pytest's options, without ``--bias-``; else as in the ini file."""

    design: str
    replicates: int
    judge: str
    cassettes: str | os.PathLike[str]
    env_file: str | os.PathLike[str]
    qpm: int
    concurrency: int
    max_calls: int
    budget: float
    record_in_ci: bool


@dataclass(frozen=True, kw_only=True)
class Results:
    """Results of the replies of one model to an experiment.

    Attributes
    ----------
    experiment
        The experiment.
    analysis
        The verdicts with their estimates, the same as in the reports of a run under pytest.
    outcomes
        The trials of the design, in the plan's order.
    """

    experiment: Experiment
    analysis: Analysis
    outcomes: tuple[Outcome, ...] = field(repr=False)

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """The verdicts of all hypotheses."""
        return self.analysis.verdicts

    @cached_property
    def trials(self) -> pd.DataFrame:
        """A row per trial of the design: levels, measures, or why there are none (``missing``).

        ``model`` is who answered, without ``table/`` or ``published/``, and
        ``attrs["simulated"]`` whether a program gave the replies.
        """
        import pandas as pd  # noqa: PLC0415  (half a second, for who wants frames)

        of = self.experiment.as_read(self.outcomes)
        rows = pd.DataFrame([trial_row(of, each) for each in self.outcomes])
        model = self.analysis.model
        # A file made of the frame keeps no attrs: who answered must stand in it.
        rows.insert(0, "model", model.partition("/")[2] if is_tabled(model) else model)
        rows.attrs["simulated"] = self.analysis.recording.simulated
        return rows

    @cached_property
    def findings(self) -> pd.DataFrame:
        """A row per positive control and hypothesis, by its id.

        ``estimate`` has its 95 % interval (``low``, ``high``) in the measure's ``unit``; ``p`` is
        that of the alarm, ``p_adjusted`` over the experiment, ``p_clear`` that of equivalence
        within ``margin``; ``people`` is the difference published for people, ``beside_people`` if
        it is distinguishable. What has no finding has none of these, and a ``reason``.
        """
        import pandas as pd  # noqa: PLC0415

        rows = [*map(_row, self.analysis.controls), *map(_row, self.verdicts)]
        return pd.DataFrame(rows).set_index("id") if rows else pd.DataFrame()

    @cached_property
    def view(self) -> RunResult:
        """The run of this experiment and model alone, from which reports are made."""
        return view_of_all([self])

    def to_json(self) -> str:
        """The analysis as JSON, as in ``bias-results.json``."""
        return results_text(self.view)


def view_of_all(results: Sequence[Results]) -> RunResult:
    """Several results as one run."""
    verdicts = [verdict for each in results for verdict in each.verdicts]
    names = dict.fromkeys(each.experiment.id for each in results)
    view = RunResult(
        analyses=tuple(each.analysis for each in results),
        cases=(),
        lost=(),
        partial=(f"only {', '.join(names)} was asked for",),
        problems=(),
        version=version("pytest-bias"),
        failing=tuple(sorted(v.named for v in verdicts if is_stopped(v.status, v.claim))),
    )
    return replace(view, exit_status=int(not view.passes))


def trial_row(experiment: Experiment, outcome: Outcome) -> dict[str, MeasureValue | int | None]:
    """A trial as the row of a table: its labels, its measures, and why it has none."""
    row, trial = record_of(outcome, experiment.measures), outcome.trial
    values = dict(row.values)
    return {
        "trial": trial.id,
        "condition": trial.condition.id,
        **trial.condition.levels,
        **{f"{name}_exemplar": member for name, member in trial.exemplars.items()},
        "item": trial.item,
        "replicate": trial.replicate,
        **{each.name: values.get(each.name) for each in experiment.measures},
        "missing": row.missing,
        "invalid_replies": None if row.interactions is None else len(row.invalid),
        "interactions": row.interactions,
    }


def _row(each: Control | Verdict) -> dict[str, object]:
    row: dict[str, object] = {"id": each.id, "kind": "hypothesis"}
    if isinstance(each, Verdict):
        row |= {"status": each.status, "claim": each.claim, "p_adjusted": each.p_adjusted}
    else:
        seen = "seen" if each.seen else "not seen" if each.recorded else "not asked"
        row |= {"kind": "control", "status": seen, "claim": None, "p_adjusted": None}
    result = each.finding
    human, interval = getattr(result, "human", None), getattr(result, "interval", None)
    row |= {
        name: getattr(result, name, None)
        for name in (
            *("measure", "contrast", "estimate", "margin", "unit", "p_clear", "units", "replies"),
            *("missing", "method"),
        )
    }
    return row | {
        "people": getattr(human, "difference", None),
        "beside_people": getattr(human, "primary", None),
        "low": getattr(interval, "low", None),
        "high": getattr(interval, "high", None),
        "p": getattr(result, "p_alarm", None),
        "reason": each.reason,
    }


def open_project(
    experiments: Sequence[ExperimentName],
    suite: str | os.PathLike[str] = SUITE,
    *,
    registry: Registry | None = None,
    **options: object,
) -> Project:
    """Open a suite with experiments and models chosen: ``cases`` has one for each pair.

    No ``experiments`` means all of the suite that have the design; with a ``registry`` they are
    ids in it. ``options`` are those of pytest by their names without ``--bias-``.

    Raises BadSetting or UnknownName for what is chosen and is not there, or makes no sense.
    """
    settings = configured(**options)
    names: Sequence[str] = tuple(map(str, experiments))
    if registry is None:
        registry, names = declared_for(experiments, suite)
    if not settings.models and options.get("model") != []:
        problem = "no model is named; give PROVIDER/MODEL, or set bias_models in the ini file"
        raise BadSetting(option="--bias-model", value=None, problem=problem)
    project = Project(settings, registry)
    chosen = [registry[name].experiment for name in names]
    if not experiments:  # of a whole suite those without the design are left out
        chosen = [each for each in chosen if settings.design in {GATE, *each.designs}] or chosen
    project.cases = [
        project.recordings.sized(Case("hypothesis", of, model, design))
        for of in chosen
        for design in [of.design(settings.design, settings.replicates)]
        for model in settings.models
    ]
    return project


def record_project(
    project: Project, display: Display, on_trial: OnTrial = ignore_trial
) -> CollectionReport:
    """Record what is missing of the cases of ``project``, or everything, by the settings.

    ``on_trial`` is called with every trial when it has been recorded.

    Raises BiasError where ``CI`` is set, unless it is allowed, and when the
    prompts of an experiment are at fault or parts of bias_alpha do not fit; nothing is called
    then.
    """
    check_ci(project.settings)
    project.shares  # noqa: B018  (refused where they do not fit)
    for experiment in {case.experiment.id: case.experiment for case in project.cases}.values():
        for fault in faults(experiment):
            raise fault
    return record(project, project.cases, display, display.say, on_trial=on_trial)


def results_of(project: Project, case: Case) -> Results:
    """Analyse a case's experiment with its model; nothing is called.

    Raises NotRecorded, with the command that records it, when a trial is missing. Raises
    StaleRecordings or BadDesign when the recordings are not to be judged.
    """
    outcomes, analysis = project.outcomes(case), project.analysed(case)
    if (outdated := project.recordings.stale(case, analysis.recording)) is not None:
        raise outdated
    return Results(experiment=case.experiment, analysis=analysis, outcomes=outcomes)


def analyze_table(
    experiment: ExperimentName,
    table: Source | str,
    suite: str | os.PathLike[str] = SUITE,
    keys: Mapping[str, object] | None = None,
    **options: object,
) -> list[Results]:
    """Analyse the replies in a table to ``experiment``, of each subject it has (``table/NAME``).

    ``table`` may be a text: its name in the roster, or else its path. ``keys`` are the entry of a
    table that the roster does not name.

    Raises BadData with all that is wrong, when the table is not one of the experiment's, and
    BadSetting for a design, a number of replicates or recordings: a table has its own.
    """
    for name in ("design", "replicates", "cassettes"):
        if options.get(name) is not None:
            problem = "a table has its own design and replies: leave this out"
            raise BadSetting(option=f"--bias-{name}", value=options[name], problem=problem)
    registry, names = declared_for([experiment], suite)
    of = registry[_only(experiment, names)].experiment
    project = open_project([of.id], suite, registry=registry, **{**options, "model": []})
    tables = project.recordings.tables
    replies = tables.named(table, of) if isinstance(table, str) else None
    if replies is None:
        source = Path(table) if isinstance(table, str) else table
        judge = {"judge": options["judge"]} if "judge" in options else {}
        entry = table_entry(source_text(source), of.id, {**judge, **(keys or {})})
        replies = read_table(source, of, entry, project.recordings.roster)
    for each in replies.values():
        tables.add(each)
    cases = [Case("hypothesis", of, model, each.design) for model, each in replies.items()]
    return [results_of(project, case) for case in cases]


def _only(experiment: ExperimentName, names: Sequence[str]) -> str:
    if len(names) > 1:
        problem = f"declares several experiments; name one: {', '.join(sorted(names))}"
        raise BadSetting(option="experiment", value=experiment, problem=problem)
    return names[0]


def analyze(
    experiment: ExperimentName,
    replies: str | os.PathLike[str] | pd.DataFrame,
    *,
    table: Mapping[str, object] | None = None,
    suite: str | os.PathLike[str] = SUITE,
    **options: Unpack[StudyOptions],
) -> Results:
    """Analyse the replies of one model to ``experiment``; nothing is called.

    Raises NotRecorded when a trial of the design is not recorded, and BiasError with the reason
    when nothing can be judged.

    Parameters
    ----------
    experiment
        An Experiment whose hypotheses are declared in a loaded module, or its id or folder.
    replies
        A model (``provider/model``), whose recording is replayed; or the replies of one subject as
        a table (docs/tables.md): a pandas frame, or the path of a file (CSV, JSON Lines, JSON,
        Parquet).
    table
        The entry that a roster would have for that table: names of columns and labels, collector.
    suite
        The package, or the folder, that declares the experiment.
    options
        As for :func:`run`.
    """
    _check_known(options)
    if not isinstance(cast("object", table), Mapping | None):
        problem = "must be a mapping of the keys a roster would have, such as {'columns': {…}}"
        raise BadSetting(option="table", value=table, problem=problem)
    if isinstance(replies, str) and not is_file(replies):
        if "/" not in replies or Path(replies).suffix in ENDINGS:
            problem = "there is no such file, and a model is written provider/model"
            raise _refused(replies, problem)
        if table is not None:
            raise _refused(replies, "'table' states what a table holds, and this is none")
        return run(experiment, replies, suite=suite, **options)
    source = Path(replies) if isinstance(replies, str | os.PathLike) else replies
    if not isinstance(source, Path) and not hasattr(source, "columns"):
        problem = "is no model (provider/model), no path and no pandas frame"
        raise _refused(type(replies).__name__, problem)
    results = analyze_table(experiment, source, suite, table, **options)
    if len(results) > 1:
        models = ", ".join(each.analysis.model for each in results)
        problem = f"has the replies of several subjects ({models}); give those of one"
        raise _refused(results[0].analysis.recording.cassette, problem)
    return results[0]


def _check_known(options: Mapping[str, object]) -> None:
    if unknown := sorted(options.keys() - StudyOptions.__annotations__.keys()):
        raise UnknownName(kind="option", name=unknown[0], known=StudyOptions.__annotations__)


def _refused(replies: object, problem: str) -> BadSetting:
    return BadSetting(option="replies", value=replies, problem=problem)


def run(
    experiment: ExperimentName,
    model: str,
    *,
    record: RecordMode = "none",
    suite: str | os.PathLike[str] = SUITE,
    **options: Unpack[StudyOptions],
) -> Results:
    """Record what is missing of ``model`` with ``experiment``, if requested, and analyse it.

    Raises NotRecorded when a trial is not recorded, or could not be; every paid reply is kept.
    Raises BiasError with the reason when nothing can be judged, or recording is refused.

    Parameters
    ----------
    experiment, suite
        As for :func:`analyze`.
    model
        ``provider/model``.
    record
        ``"missing"`` calls the model for what is not recorded, ``"all"`` for everything; with
        ``"none"`` nothing is ever called.
    options
        ``design``, ``replicates``, ``judge``, ``cassettes``, ``env_file``, the limits ``qpm``,
        ``concurrency``, ``max_calls`` and ``budget`` (US dollars), and ``record_in_ci``, as
        pytest has them with ``--bias-`` before their names.
    """
    _check_known(options)
    need_text("run()", model=model)
    project = open_project([experiment], suite, model=[model], record=record, **options)
    _only(experiment, [case.experiment.id for case in project.cases])
    recorded = Diagnostics()
    if project.settings.record != "none":
        with recording_progress(StreamTerminal(sys.stderr)) as display:
            recorded = recording_diagnostics(apart(partial(record_project, project, display)))
    try:
        return results_of(project, project.cases[0])
    except NotRecorded as missing:
        missing.add_note(_COMMAND.sub(r'pytest_bias.run(…, record="\1")', missing.explanation))
        for note in (*(f"problem: {each}" for each in recorded.errors), *recorded.notes):
            missing.add_note(note)
        raise
