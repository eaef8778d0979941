"""A trial as its cassette has it: replayed from raw replies, or read where only measures are kept."""

from __future__ import annotations

from dataclasses import replace

from .canonical import digest
from .cassettes.measured import MeasuredTrial, versions_of
from .cassettes.store import Cassette
from .design import Trial
from .errors import BiasError, KeepsText
from .experiment import Experiment, Players
from .messages import Completion
from .records import Outcome
from .replay import Lookup, Unrecorded, Wanted, newly_told, opening, replay


def reread(
    experiment: Experiment,
    players: Players | str,
    trial: Trial,
    cassette: Cassette,
    *,
    anew: bool = False,
) -> Outcome:
    """The outcome of ``trial`` as ``cassette`` has it.

    With ``anew`` only what stands in the journal of a recording made anew counts as recorded.

    Raises
    ------
    Unrecorded
        When the trial, or an interaction of it, is not recorded.
    KeepsText
        When raw text stands in the cassette of an experiment that keeps only measures.
    """
    if experiment.retention == "raw":
        return replay(experiment, players, trial, lookup_in(cassette, anew=anew))
    if cassette.keeps_text:
        raise KeepsText(path=cassette.path, retention=experiment.retention)
    wanted = opening(experiment, players, trial)
    measured = cassette.measured(wanted.key)
    old = measured is None or dict(measured.versions) != versions_of(experiment.measures)
    if measured is None or old or (anew and not cassette.journalled(wanted.key)):
        raise Unrecorded(wanted)
    return _outcome(wanted, measured)


def lookup_in(cassette: Cassette, *, anew: bool = False) -> Lookup:
    """How replies are looked up; with ``anew`` only those of a recording made anew count."""

    def lookup(key: str) -> Completion | None:
        return None if anew and not cassette.journalled(key) else cassette.lookup(key)

    return lookup


def is_recorded(
    experiment: Experiment, players: Players, trial: Trial, cassette: Cassette, *, anew: bool
) -> bool:
    """Whether nothing of ``trial`` has to be called."""
    try:
        reread(experiment, players, trial, cassette, anew=anew)
    except Unrecorded:
        return False
    except BiasError:
        raise
    except Exception:  # noqa: BLE001  (the protocol's own error: its case will show it)
        return True
    return True


def _outcome(wanted: Wanted, measured: MeasuredTrial) -> Outcome:
    return Outcome(
        trial=wanted.trial,
        result=None,
        missing=measured.missing,
        invalid=measured.invalid,
        interactions=len(measured.calls),
        # Enough to tell conditions apart; a digest, so that no assertion can print the text.
        prompts=tuple(digest(text) for text in newly_told(wanted.request)),
        values=measured.values,
    )


def without_text(outcome: Outcome) -> Outcome:
    """``outcome`` with digests for what the subject was told."""
    return replace(outcome, prompts=tuple(digest(text) for text in outcome.prompts))
