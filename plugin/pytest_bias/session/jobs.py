"""Recordings of a session: from its selected cases to jobs, and the terms they are called on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ..cassettes.store import cassette_path
from ..contrasts.cases import wanted_of
from ..errors import BadSetting, NoControl
from ..providers.base import ProviderContext
from ..recording.collector import CollectionReport, Progress, Terms, collect
from ..recording.job import Job, JobReport
from ..recording.process import HeldSignals
from ..settings.environment import read_environment

if TYPE_CHECKING:
    from ..contrasts.cases import Case
    from ..settings.settings import Limits
    from .run import Run


def record(
    run: Run,
    cases: Iterable[Case],
    progress: Progress,
    say: Callable[[str], None],
    held: HeldSignals | None = None,
) -> CollectionReport:
    """Record what the selected cases lack; see :func:`.collect`."""
    settings = run.settings
    assert settings.record != "none"  # noqa: S101  (the caller's condition)
    selected = list(cases)
    limits, words = capped(settings.limits, [case for case, _ in wanted_of(selected)])
    if words:
        say(words)
    terms = Terms(
        mode=settings.record,
        folder=settings.cassettes,
        context=context_of(run),
        roster=run.roster,
        limits=limits,
        order_seed=settings.order_seed,
        gates=settings.gate != "off",
    )
    jobs, refused = jobs_of(run, selected)
    report = collect(jobs, terms, progress, say, held)
    report.jobs += refused
    run.forget()
    return report


def capped(limits: Limits, cases: Sequence[Case]) -> tuple[Limits, str]:
    """``limits`` with the cap on calls that the designs themselves have, and words for it.

    ``cases`` are one for each experiment and model.
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
    total = sum(own)
    if limits.max_calls is not None and limits.max_calls <= total:
        return limits, ""
    return replace(limits, max_calls=total), f"at most {total:,} calls, as the design says"


def jobs_of(run: Run, cases: Iterable[Case]) -> tuple[list[Job], list[JobReport]]:
    """One job for each experiment and model, with the trials its selected cases need.

    And a report of each that is refused, as where nobody is named who grades, or where what is
    claimed could not be shown whatever is paid: the others go on.
    """
    jobs, refused = [], []
    for case, trials in wanted_of(cases):
        try:
            run.registry[case.experiment.id].check_control(case.design)
            players = run.players(case.experiment, case.model)
        except (BadSetting, NoControl) as error:
            path = cassette_path(run.settings.cassettes, case.experiment.id, case.model)
            report = JobReport(case.experiment.id, case.model, path, problems=[str(error)])
            refused.append(report)
        else:
            jobs.append(Job(case.experiment, players, trials))
    return jobs, refused


def context_of(run: Run) -> ProviderContext:
    """Return what providers are opened with."""
    experiments = [registered.experiment for registered in run.registry]
    settings = run.settings
    return ProviderContext(
        environ=read_environment(settings.environ, settings.env_file),
        answers=[each.simulated for each in experiments if each.simulated is not None],
        simulated_url=settings.simulated_url,
        simulated_wire=settings.simulated_wire,
        endpoints=run.roster.endpoints,
        local=run.roster.local,
        providers=settings.providers,
        wires={
            name: entry.wire for name, entry in run.roster.models.items() if entry.wire is not None
        },
    )
