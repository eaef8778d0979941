"""What a session records: from its selected cases to jobs, and the terms they are called on."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from .cases import wanted_of
from .collection import CollectionReport, Progress, Terms, collect
from .environment import read_environment
from .providers.base import ProviderContext
from .recording import Job

if TYPE_CHECKING:
    from .cases import Case
    from .run import Run


def record(
    run: Run, cases: Iterable[Case], progress: Progress, say: Callable[[str], None]
) -> CollectionReport:
    """Record what the selected cases lack; see :func:`.collect`."""
    settings = run.settings
    assert settings.record != "none"  # noqa: S101  (the caller's condition)
    terms = Terms(
        mode=settings.record,
        folder=settings.cassettes,
        context=context_of(run),
        roster=run.roster,
        limits=settings.limits,
        order_seed=settings.order_seed,
    )
    report = collect(jobs_of(run, cases), terms, progress, say)
    run.forget()
    return report


def jobs_of(run: Run, cases: Iterable[Case]) -> list[Job]:
    """One job for each experiment and model, with the trials its selected cases need."""
    return [
        Job(case.experiment, run.players(case.experiment, case.model), trials)
        for case, trials in wanted_of(cases)
    ]


def context_of(run: Run) -> ProviderContext:
    """What providers are opened with."""
    experiments = [registered.experiment for registered in run.registry]
    settings = run.settings
    return ProviderContext(
        environ=read_environment(settings),
        answers=[each.simulated for each in experiments if each.simulated is not None],
        simulated_url=settings.simulated_url,
        simulated_wire=settings.simulated_wire,
        endpoints=run.roster.endpoints,
        wires={
            name: entry.wire for name, entry in run.roster.models.items() if entry.wire is not None
        },
    )
