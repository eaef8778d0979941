"""The recorded and the outstanding trials of a job."""

from __future__ import annotations

from pathlib import Path

from ..cassettes.files import is_there, refuse_links, remove_leftovers
from ..cassettes.places import journals_of, packed_path, standing
from ..cassettes.recorded_trials import is_recorded
from ..cassettes.store import Cassette
from ..errors import Unfinished
from ..experiments.design import Design, Trial
from ..experiments.experiment import plan
from ..settings.settings import RecordMode
from .job import Job


def missing(job: Job, path: Path, *, anew: bool) -> tuple[Cassette, list[Trial]]:
    """The cassette of a job, and the trials that have no recording, or only a part of one.

    Raises Unfinished when what is missing cannot be told from what is being recorded anew. Raises
    LinkedFile when nothing can be written, because a file of it is a link.
    """
    refuse_links(path, packed_path(path), *journals_of(path))
    remove_leftovers(path)
    cassette = Cassette(path, anew=anew)
    if not anew and cassette.unfinished:
        raise Unfinished(journal=cassette.rerecording_path)
    return cassette, [trial for trial in job.trials if not _recorded(job, trial, cassette, anew)]


def is_whole(job: Job, path: Path, mode: RecordMode) -> bool:
    """Return whether there is nothing to do at all, not even to merge: then nothing is locked."""
    if mode == "all" or standing(path) is None or any(map(is_there, journals_of(path))):
        return False
    cassette = Cassette(path)
    if cassette.lost & {trial.id for trial in job.trials}:
        return False
    return all(_recorded(job, trial, cassette, anew=False) for trial in job.trials)


def is_finished(job: Job, cassette: Cassette) -> bool:
    """Return whether all to be recorded anew is, in this run and in those it goes on with."""
    scope = cassette.scope | {trial.id for trial in job.trials}
    highest = max(int(name.rpartition("#")[2]) for name in scope)
    trials = plan(job.experiment, Design(highest))
    return all(_recorded(job, each, cassette, anew=True) for each in trials if each.id in scope)


def _recorded(job: Job, trial: Trial, cassette: Cassette, anew: bool) -> bool:  # noqa: FBT001
    return is_recorded(job.experiment, job.players, trial, cassette, anew=anew)
