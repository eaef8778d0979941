"""Jobs of a recording, and what of a job is missing. Calls nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ..cassettes.files import is_there, refuse_links, remove_leftovers
from ..cassettes.recorded_trials import is_recorded
from ..cassettes.staleness import Copies
from ..cassettes.store import Cassette, cassette_path, journals_of, packed_path, standing
from ..errors import DamagedCassette
from ..experiments.design import Design, Trial
from ..experiments.experiment import Experiment, ModelRoles, plan
from ..settings.settings import RecordMode


@dataclass(frozen=True, slots=True)
class Job:
    """Trials of one experiment to be recorded with one model, and its judge if it has one."""

    experiment: Experiment
    roles: ModelRoles
    trials: Sequence[Trial]

    @property
    def model(self) -> str:
        """``provider/model`` of the model under test."""
        return self.roles.subject

    def has(self, trial: Trial, cassette: Cassette, copies: Copies | None = None) -> bool:
        """True if nothing of ``trial`` is to be called; ``copies`` gets its replies."""
        return is_recorded(self.experiment, self.roles, trial, cassette, copies)


@dataclass(slots=True)
class JobReport:
    """The outcome of a job: ids of trials recorded now, of those lost to a cap, what went wrong.

    ``calls`` counts the replies that were paid and stored, ``unkept`` those that could not be
    written. ``problems`` leave the recording without what it should have; ``notes`` are of what
    the user set and got; ``salvaged`` of what in an earlier recording is damaged or will not
    count.
    """

    experiment_id: str
    model: str
    cassette: Path
    wanted: int = 0
    calls: int = 0
    done: set[str] = field(default_factory=set)
    lost: set[str] = field(default_factory=set)
    unkept: int = 0
    problems: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    salvaged: list[str] = field(default_factory=list)

    @property
    def recorded(self) -> int:
        """Number of trials recorded now."""
        return len(self.done)

    def problem(self, text: str) -> None:
        """Note a problem, once."""
        if text not in self.problems:
            self.problems.append(text)


def report_of(job: Job, folder: Path) -> JobReport:
    """The report of a job that has not begun."""
    path = cassette_path(folder, job.experiment.id, job.model)
    return JobReport(job.experiment.id, job.model, path)


def replicates_first(trials: Sequence[Trial]) -> list[Trial]:
    """``trials`` with two replicates of one cell in front, then one of another cell."""
    first: dict[object, Trial] = {}
    for trial in trials:
        replicate = first.setdefault(trial.cell, trial)
        if replicate is not trial:
            other = [each for each in trials if each.cell != trial.cell][:1]
            front = [replicate, trial, *other]
            ids = {each.id for each in front}
            return [*front, *(each for each in trials if each.id not in ids)]
    return list(trials)


def missing(job: Job, path: Path, *, anew: bool) -> tuple[Cassette, list[Trial], Copies]:
    """The cassette of a job, the trials that have no recording, or only a part of one; its copies.

    Raises FileProblem where another recording is to be finished first, or where nothing can be
    written because a file of it is a link.
    """
    refuse_links(path, packed_path(path), *journals_of(path))
    remove_leftovers(path)
    cassette = Cassette(path, anew=anew)
    if not anew and cassette.unfinished:
        raise cassette.unfinished_error()
    copies = Copies()
    wanted = [t for t in job.trials if not job.has(t, cassette, copies)]
    return cassette, wanted, copies


def is_complete(job: Job, path: Path, mode: RecordMode) -> bool:
    """True if there is nothing to do at all, not even to merge: then nothing is locked."""
    if mode == "all" or standing(path) is None or any(map(is_there, journals_of(path))):
        return False
    try:
        cassette = Cassette(path)
    except DamagedCassette:  # what it misses is recorded again
        return False
    copies = Copies()
    has_all = not cassette.lost & {trial.id for trial in job.trials} and all(
        job.has(trial, cassette, copies) for trial in job.trials
    )
    return has_all and not copies.found


def is_finished(job: Job, cassette: Cassette) -> bool:
    """True if all to be recorded anew is, in this run and in those it goes on with."""
    scope = cassette.scope | {trial.id for trial in job.trials}
    highest = max(int(name.rpartition("#")[2]) for name in scope)
    trials = plan(job.experiment, Design(highest, controls=highest))
    return all(job.has(each, cassette) for each in trials if each.id in scope)
