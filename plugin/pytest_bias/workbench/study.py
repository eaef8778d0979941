"""An experiment with the replies of one model, without pytest: frames and verdicts."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict, Unpack

from ..baselines.gate import is_stopped
from ..cassettes.misses import all_capped
from ..cassettes.places import PACKED_SUFFIX, SUFFIX, cassette_path, place_of
from ..cassettes.store import Cassette
from ..contrasts.cases import Case, Registry
from ..errors import BadSetting, NoCassette, NotRecorded, UnknownName
from ..errors.said import Said
from ..experiments.checks.manipulation import faults
from ..experiments.experiment import Experiment
from ..experiments.records import Outcome, carried_out, record_of
from ..recording.job import Teller, untold
from ..recording.process import apart
from ..report.progress import Display, StreamTerminal, recording_progress
from ..report.results import results_text
from ..report.view import RunView
from ..settings.settings import RecordMode
from ..tables.subjects import read_table
from ..verdicts.verdict import Control, Verdict
from .analyses import Workbench
from .configuration import configured
from .plans import check_ci, told
from .plans import record as record_cases
from .suite import SUITE, declared_for

if TYPE_CHECKING:
    import pandas as pd  # type: ignore[import-untyped, unused-ignore]  # ships no types

    from ..experiments.design import Design
    from ..experiments.measures import MeasureValue
    from ..recording.collector import CollectionReport
    from ..recording.process import HeldSignals
    from ..verdicts.analysis import Analysis

ExperimentName = Experiment | str | os.PathLike[str]
"""An experiment, its id, or a folder that declares it."""


class StudyOptions(TypedDict, total=False):
    """What may be asked for, as by the option of pytest that has ``--bias-`` before its name.

    What is not is as the project's ini file has it.
    """

    design: str
    replicates: int
    judge: str
    cassettes: str | os.PathLike[str]
    env_file: str | os.PathLike[str]
    qpm: int
    concurrency: int
    max_calls: int
    budget: float
    order_seed: int
    record_in_ci: bool


@dataclass(frozen=True, kw_only=True)
class Results:
    """What the replies of one model to an experiment show.

    Attributes
    ----------
    experiment
        The experiment.
    analysis
        All that was found, the same as in the reports of a run under pytest.
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
        """A row per trial of the design: levels, measures, or why there are none (``missing``)."""
        import pandas as pd  # noqa: PLC0415  (half a second, for who wants frames)

        return pd.DataFrame([trial_row(self.experiment, each) for each in self.outcomes])

    @cached_property
    def findings(self) -> pd.DataFrame:
        """A row per positive control and hypothesis, by its id.

        ``estimate`` has its 95 % interval (``low``, ``high``) in the measure's ``unit``; ``p`` is
        that of the alarm, ``p_adjusted`` over the experiment, ``p_clear`` that of equivalence
        within ``margin``. What has no finding has none of these, and a ``reason``.
        """
        import pandas as pd  # noqa: PLC0415

        rows = [*map(_row, self.analysis.controls), *map(_row, self.verdicts)]
        return pd.DataFrame(rows).set_index("id") if rows else pd.DataFrame()

    @cached_property
    def view(self) -> RunView:
        """The view that reports are made from: of this experiment and model alone."""
        return view_of_all([self])

    def to_json(self) -> str:
        """All that was found as JSON, as ``bias-results.json`` has it; the same for the same."""
        return results_text(self.view)


def view_of_all(results: Sequence[Results]) -> RunView:
    """The view of several results, as one run."""
    verdicts = [verdict for each in results for verdict in each.verdicts]
    names = dict.fromkeys(each.experiment.id for each in results)
    view = RunView(
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
    members = {f"{name}_exemplar": member for name, member in trial.exemplars.items()}
    of, names = row.values, [each.name for each in experiment.measures]  # noqa: PD011  (no frame)
    return {
        "trial": trial.id,
        "condition": trial.condition.id,
        **trial.condition.levels,
        **members,
        "item": trial.item,
        "replicate": trial.replicate,
        **{name: of.get(name) for name in names},
        "missing": row.missing,
        "invalid_replies": None if row.interactions is None else len(row.invalid),
        "interactions": row.interactions,
    }


def _row(each: Control | Verdict) -> dict[str, object]:
    found = each.finding
    row: dict[str, object] = {"id": each.id, "kind": "hypothesis"}
    if isinstance(each, Verdict):
        row |= {"status": each.status, "claim": each.claim, "p_adjusted": each.p_adjusted}
    else:
        seen = "seen" if each.seen else "not seen" if each.asked else "not asked"
        row |= {"kind": "control", "status": seen, "claim": None, "p_adjusted": None}
    names = ("measure", "contrast", "estimate", "margin", "unit", "p_clear", "units", "replies")
    row |= {name: getattr(found, name, None) for name in (*names, "missing", "method")}
    interval = None if found is None else found.interval
    row |= {name: getattr(interval, name, None) for name in ("low", "high")}
    return row | {"p": None if found is None else found.p_alarm, "reason": each.reason}


class Study:
    """Experiments of a suite with models: planned, recorded and analysed.

    Parameters
    ----------
    experiments
        Those meant; none means all of the suite that have the design.
    suite
        The package, or the folder, that declares them.
    registry
        What is declared, where it has been found already; ``experiments`` are then ids.
    asked
        Options of pytest by their names without ``--bias-``.

    Raises
    ------
    BadSetting, UnknownName
        For what is asked for and is not there, or makes no sense.
    """

    def __init__(
        self,
        experiments: Sequence[ExperimentName],
        suite: str | os.PathLike[str] = SUITE,
        *,
        registry: Registry | None = None,
        **asked: object,
    ) -> None:
        settings = configured(**asked)
        if registry is None:
            registry, names = declared_for(experiments, suite)
        else:
            names = tuple(map(str, experiments))
        if not settings.models and asked.get("model") != []:
            problem = "no model is named; give PROVIDER/MODEL, or set bias_models in the ini file"
            raise BadSetting(option="--bias-model", value=None, problem=problem)
        self.bench = Workbench(settings, registry)
        self.cases = [
            self.bench.sized(Case("hypothesis", registry[name].experiment, model, design))
            for name, design in self._designs(names, whole=not experiments)
            for model in settings.models
        ]

    def _designs(self, names: Iterable[str], *, whole: bool) -> list[tuple[str, Design]]:
        """The design of each experiment; of a whole suite those without it are left out."""
        settings, found = self.bench.settings, []
        lacking: list[UnknownName] = []
        for name in names:
            experiment = self.bench.registry[name].experiment
            try:
                found.append((name, experiment.design(settings.design, settings.replicates)))
            except UnknownName as unknown:
                lacking.append(unknown)
        if lacking and not (whole and found):
            raise lacking[0]
        return found

    def record(
        self,
        progress: Display,
        told: Teller = untold,
        held: HeldSignals | None = None,
    ) -> CollectionReport:
        """Record what is missing, or everything, as the settings say; see :func:`.collect`.

        ``told`` is called with every trial when it has been recorded.

        Raises
        ------
        RecordingRefused
            Where ``CI`` is set, unless it is allowed.
        BiasError
            When the prompts of an experiment are at fault; nothing is called then.
        """
        check_ci(self.bench.settings)
        for experiment in {case.experiment.id: case.experiment for case in self.cases}.values():
            for fault in faults(experiment):
                raise fault
        return record_cases(self.bench, self.cases, progress, progress.say, held, told)

    def results(self, case: Case) -> Results:
        """Analyse a case's experiment with its model; nothing is called.

        Raises
        ------
        NotRecorded
            When a trial of the design is not recorded; it says how to record what is missing.
        StaleRecordings, SamePrompt
            When what is recorded is not to be judged.
        """
        bench, experiment = self.bench, case.experiment
        outcomes = bench.replayed(case)
        for condition in experiment.conditions_of(case.design):
            held = [each for each in outcomes if each.trial.condition is condition]
            if held and not carried_out(held):
                raise all_capped(experiment.id, case.model, condition, len(held))
            bench.check_manipulated(replace(case, kind="condition", condition=condition))
        analysis = bench.analysed(case)
        stale = bench.stale(case, analysis.recording)
        if stale is not None:
            raise stale
        return Results(experiment=experiment, analysis=analysis, outcomes=outcomes)


def analyze_table(
    experiment: ExperimentName,
    path: Path,
    suite: str | os.PathLike[str] = SUITE,
    **asked: object,
) -> list[Results]:
    """Analyse the replies in a table to ``experiment``, of each subject it has (``table/NAME``).

    Raises
    ------
    WrongTable
        With all that is wrong, when the table is not one of the experiment's.
    """
    registry, names = declared_for([experiment], suite)
    of = registry[_only(experiment, names)].experiment
    found = read_table(path, of)
    study = Study([of.id], suite, registry=registry, **{**asked, "model": []})
    for replies in found.values():
        study.bench.tables.hold(replies)
    cases = [Case("hypothesis", of, model, replies.design) for model, replies in found.items()]
    return [study.results(case) for case in cases]


def _only(experiment: ExperimentName, names: Sequence[str]) -> str:
    if len(names) > 1:
        problem = f"declares several experiments; name one: {', '.join(sorted(names))}"
        raise BadSetting(option="experiment", value=experiment, problem=problem)
    return names[0]


def analyze(
    experiment: ExperimentName,
    replies: str | os.PathLike[str],
    *,
    suite: str | os.PathLike[str] = SUITE,
    **options: Unpack[StudyOptions],
) -> Results:
    """Analyse the replies of one model to ``experiment``; nothing is called.

    Parameters
    ----------
    experiment
        An Experiment whose hypotheses are declared in a loaded module, or its id or folder.
    replies
        A model (``provider/model``), whose recording is replayed; the path of a cassette, or of a
        table with the replies of one subject (CSV, JSON Lines, JSON, Parquet).
    suite
        The package, or the folder, that declares the experiment.
    options
        As for :func:`run`.

    Raises
    ------
    NotRecorded
        When a trial of the design is not recorded.
    BiasError
        When there is nothing that can be judged; it says why.
    """
    path = Path(replies)
    if not isinstance(replies, str) or path.is_file():
        if not _is_cassette(path):
            found = analyze_table(experiment, path, suite, **options)
            if len(found) > 1:
                held = ", ".join(each.analysis.model for each in found)
                problem = f"has the replies of several subjects ({held}); split it"
                raise BadSetting(option="replies", value=path, problem=problem)
            return found[0]
        folder, model = _of_cassette(path)
        options = {**options, "cassettes": folder}
    else:
        model = str(replies)
    return run(experiment, model, suite=suite, **options)


def run(
    experiment: ExperimentName,
    model: str,
    *,
    record: RecordMode = "none",
    suite: str | os.PathLike[str] = SUITE,
    **options: Unpack[StudyOptions],
) -> Results:
    """Record what is missing of ``model`` with ``experiment``, where asked to, and analyse it.

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
        ``concurrency``, ``max_calls`` and ``budget`` (US dollars), ``order_seed`` and
        ``record_in_ci``, as pytest has them with ``--bias-`` before their names.

    Raises
    ------
    NotRecorded
        When a trial is not recorded, or could not be; every paid reply is kept.
    BiasError
        When there is nothing that can be judged, or recording is refused; it says why.
    """
    if unknown := sorted(options.keys() - StudyOptions.__annotations__.keys()):
        raise UnknownName(kind="option", name=unknown[0], known=StudyOptions.__annotations__)
    study = Study([experiment], suite, model=[model], record=record, **options)
    _only(experiment, [case.experiment.id for case in study.cases])
    said = Said()
    if record != "none":
        with recording_progress(StreamTerminal(sys.stderr)) as display:
            said = told(apart(partial(study.record, display)))
    try:
        return study.results(study.cases[0])
    except NotRecorded as missing:
        for words in (missing.explanation, *said.problems, *said.notes):
            missing.add_note(words)
        raise


def _is_cassette(path: Path) -> bool:
    """Return whether a path is called as cassettes are, plain or packed."""
    return "--" in path.name and path.name.endswith((SUFFIX, SUFFIX + PACKED_SUFFIX))


def _of_cassette(path: Path) -> tuple[Path, str]:
    """The folder of recordings in which a cassette stands, and its model."""
    place = place_of(path.absolute())
    header = Cassette(place).header
    if header is None:
        raise NoCassette(path=path, problem="there is no such file")
    folder = place.parent.parent
    if cassette_path(folder, header.experiment, header.model) != place:
        problem = f"no run looks for it there: its place is {header.experiment}/…{SUFFIX}"
        raise NoCassette(path=path, problem=problem)
    return folder, header.model
