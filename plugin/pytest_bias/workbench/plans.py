"""Plans of recordings, and their execution."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ..cassettes.store import cassette_path
from ..contrasts.cases import Case, Registered, trials_needed
from ..contrasts.power import Prospect, prospect_of
from ..errors import BadDesign, BadSetting, BiasError, Diagnostics
from ..experiments.experiment import Experiment
from ..providers.base import ProviderContext
from ..providers.destinations import NOT_OF_FILES, destinations
from ..recording.caller import OnTrial, Progress, Terms, ignore_trial
from ..recording.collector import CollectionReport, collect
from ..recording.estimate import called_models
from ..recording.job import Job, JobReport
from ..recording.plan import PlanJob, RecordingPlan, plan_recording
from ..recording.signals import DeferredSignals
from ..settings.given import read_environment
from .project import Project

if TYPE_CHECKING:
    from ..contrasts.estimate import Estimate
    from ..experiments.design import Design, Trial
    from ..settings.settings import Limits, Settings, Shard
    from ..stats.results import Allocation


def check_ci(settings: Settings) -> None:
    """Refuse to record in CI where it is and not allowed."""
    if settings.record != "none" and os.environ.get("CI") and not settings.record_in_ci:
        raise BiasError(
            "recording refused: CI is set, and recording costs money; add --bias-record-in-ci to "
            "allow it"
        )


def recording_diagnostics(report: CollectionReport) -> Diagnostics:
    """Notes and problems of a recording."""
    notes: list[str] = []
    problems: list[str] = []
    for job in report.jobs:
        where = f"recording {job.experiment_id} with {job.model}"
        lost = f"{len(job.lost)} of {job.wanted} trials are missing (cap)"
        problems += [f"{where}: {problem}" for problem in job.problems]
        notes += [f"{where}: {said}" for said in job.salvaged]
        notes += [f"{where}: {note}; {lost}" for note in job.notes]
    return Diagnostics(notes=tuple(notes), errors=tuple(problems))


def shard_diagnostics(report: CollectionReport, shard: Shard) -> Diagnostics:
    """Outcome of a shard; trials that are still missing are a problem, whatever the reason."""
    missing = sum(job.wanted for job in report.jobs)
    recorded = sum(job.recorded for job in report.jobs)
    outcome = f"shard {shard}: {recorded} of {missing} missing trials are recorded"
    note = "NO RESULT: a shard is a part; join all of them with pytest-bias cassettes join"
    if recorded < missing:
        return Diagnostics(notes=(note,), errors=(outcome,))
    return Diagnostics(notes=(outcome, note))


def record(
    project: Project,
    cases: Iterable[Case],
    progress: Progress,
    say: Callable[[str], None],
    held: DeferredSignals | None = None,
    on_trial: OnTrial = ignore_trial,
) -> CollectionReport:
    """Record what the selected cases lack; see :func:`.collect`."""
    settings = project.settings
    assert settings.record != "none"  # noqa: S101  (the caller's condition)
    selected = list(cases)
    limits, words = capped(
        settings.limits, [case for case, _ in trials_needed(selected)], settings.shard
    )
    if words:
        say(words)
    experiments = (registered.experiment for registered in project.registry)
    terms = replace(terms_of(project, experiments, limits), on_trial=on_trial)
    jobs, refused = jobs_of(project, selected)
    called = (m for job in jobs for m, _ in called_models(job.experiment, job.roles))
    for line in destinations(called, project.recordings.roster, settings.environ):
        say(f"recording through {line}")
    report = collect(jobs, terms, progress, say, held)
    report.jobs += refused
    project.forget()
    return report


def capped(
    limits: Limits, cases: Sequence[Case], shard: Shard | None = None
) -> tuple[Limits, str]:
    """``limits`` with the cap on calls that the designs themselves have, and a note on it.

    ``cases`` are one for each experiment and model; a ``shard`` may make its share of the calls.
    """
    caps = [case.design.max_calls for case in cases]
    own = [cap for cap in caps if cap is not None]
    if not own:
        return limits, ""
    if len(own) < len(caps):
        names = sorted({c.experiment.id for c in cases if c.design.max_calls is not None})
        return limits, (
            f"{', '.join(names)}: the design's own cap on calls holds only where nothing else is "
            "recorded in the same run; --bias-max-calls caps the whole run"
        )
    total = sum(own) if shard is None else shard.share(sum(own))
    if limits.max_calls is not None and limits.max_calls <= total:
        return limits, ""
    part = "" if shard is None else "this shard's share of "
    cap = f"{part}the design's max_calls"
    return replace(limits, max_calls=total, cap=cap), f"at most {total:,} calls: {cap}"


def jobs_of(project: Project, cases: Iterable[Case]) -> tuple[list[Job], list[JobReport]]:
    """One job for each experiment and model, with the trials its selected cases need.

    And a report of each that is refused: no judge is named, or the design lacks a control. The
    others go on.
    """
    jobs, refused = [], []
    for case, trials in _in_shard(project, cases):
        try:
            project.registry[case.experiment.id].check_control()
            roles = project.recordings.roles(case.experiment, case.model)
        except (BadSetting, BadDesign) as error:
            path = cassette_path(project.settings.cassettes, case.experiment.id, case.model)
            report = JobReport(case.experiment.id, case.model, path, problems=[str(error)])
            refused.append(report)
        else:
            jobs.append(Job(case.experiment, roles, trials))
    return jobs, refused


def _in_shard(project: Project, cases: Iterable[Case]) -> list[tuple[Case, tuple[Trial, ...]]]:
    """For each experiment and model of ``cases`` one case, and its trials that are asked for."""
    shard, wanted = project.settings.shard, trials_needed(cases)
    if shard is None:
        return wanted
    parts = [(case, shard.part(case.experiment.id, trials)) for case, trials in wanted]
    return [(case, part) for case, part in parts if part]


def terms_of(project: Project, experiments: Iterable[Experiment], limits: Limits) -> Terms:
    """The terms on which models are called; simulated ones answer for ``experiments``."""
    settings = project.settings

    def environ() -> Mapping[str, str]:
        # A file that an ini file names may hold keys; it says not where they go.
        read, own = read_environment(settings.environ, settings.env_file), settings.environ
        return {n: value for n, value in read.items() if n in own or n not in NOT_OF_FILES}

    return Terms(
        mode=settings.record,
        folder=settings.cassettes,
        context=ProviderContext(
            environ=environ(),
            reread=environ if settings.env_file is not None else None,
            answers=[each.simulated for each in experiments if each.simulated is not None],
            endpoints=project.recordings.roster.endpoints,
            providers=settings.providers,
            local=project.recordings.roster.local,
            wires={
                f"{name.partition('/')[0]}/{entry.requested(name)}": entry.wire
                for name, entry in project.recordings.roster.models.items()
                if entry.wire is not None
            },
        ),
        roster=project.recordings.roster,
        limits=limits,
        gates=settings.gate != "off",
    )


def make_plan(project: Project, cases: Iterable[Case]) -> RecordingPlan:
    """The calls that recording the selected ``cases`` takes, and the power of their designs."""
    settings, recordings = project.settings, project.recordings
    return plan_recording(
        [_plan_job(project, case, trials) for case, trials in _in_shard(project, cases)],
        folder=settings.cassettes,
        roster=recordings.roster,
        limits=settings.limits,
        mode="all" if settings.record == "all" else "missing",
        roles_of=recordings.roles,
        environ=settings.environ,
    )


def _plan_job(project: Project, case: Case, trials: tuple[Trial, ...]) -> PlanJob:
    """Prospects of each hypothesis, at the spread that is recorded, and why its trials fail."""
    of, problem = case.experiment, ""
    found: Mapping[str, Estimate | None] = {}
    try:
        found = {each.id: each.finding for each in project.analysed(case).verdicts}
    except Exception as error:  # noqa: BLE001  (the author's code: its cases show the traceback)
        if not isinstance(error, BiasError):
            problem = f"its protocol fails with {type(error).__name__}: {error}"
    prospects = prospects_of(
        project.registry[of.id], case.design, project.allocation(of.id), found
    )
    return PlanJob(of, case.model, case.design, trials, prospects, problem)


def prospects_of(
    registered: Registered,
    design: Design,
    allocation: Allocation,
    found: Mapping[str, Estimate | None],
) -> tuple[Prospect, ...]:
    """Prospects of each hypothesis under ``design``, at the spread that was ``found``, if any."""
    hypotheses = registered.hypotheses
    gating = [each for each in hypotheses.values() if each.gates]
    sizes = Counter(each.family for each in gating)
    families = len(sizes) + any(each.within for each in gating)
    alpha = allocation.alpha / max(families, 1)
    return tuple(
        prospect_of(
            hypothesis,
            registered.experiment,
            design,
            found.get(name),
            controlled=registered.licensed(hypothesis, design),
            alarm=alpha / max(sizes[hypothesis.family], 1),  # the first step of Holm's method
        )
        for name, hypothesis in sorted(hypotheses.items())
    )
