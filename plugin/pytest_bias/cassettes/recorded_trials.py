"""A trial as its cassette has it: replayed from raw replies, or read from its measures."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from ..errors import (
    BadDesign,
    BadSetting,
    BiasError,
    CallFailed,
    FileProblem,
    JudgeNotBlind,
    NotReplayable,
)
from ..experiments.canonical import digest
from ..experiments.design import Design, Trial
from ..experiments.experiment import GATE, Experiment, ModelRoles, plan
from ..experiments.measures import FORMAT_KEPT, check_storable
from ..experiments.messages import (
    DROPPABLE,
)
from ..experiments.records import Exchange, Outcome, Records, record_of
from ..experiments.replay import PendingRequest, Unrecorded, new_prompt_texts, opening, replay
from .measured import MeasuredTrial, measured_key, versions_of
from .staleness import Copies
from .store import Cassette, cassette_path

SILENT = "this experiment keeps no text, so no more is said"

_OF_WRAPPED = ("not_json", "no_number", "refusal")
"""For what a reply with a fence or prose around it is invalid where it is read strictly."""

_OF_COPIES = ("id", "created", "cached")
_OF_CALLS = ("to", "finish", "served_model", "recorded_at")

_QUOTING_NO_REPLY = (BadDesign, BadSetting, NotReplayable, JudgeNotBlind)
_OURS = f"{__package__.partition('.')[0]}."


def reread(
    experiment: Experiment, roles: ModelRoles | str, trial: Trial, cassette: Cassette
) -> Outcome:
    """The outcome of ``trial`` as ``cassette`` has it.

    Of a cassette that is recorded anew only what stands in the journal of that counts.

    Raises Unrecorded when the trial, or an interaction of it, is not recorded. Raises FileProblem
    when raw text stands in the cassette of an experiment that keeps only measures. Raises
    BadDesign when the protocol of such an experiment fails before it asks anything.
    """
    if experiment.retention == "raw":
        lookup = cassette.lookup_new if cassette.anew else cassette.lookup
        return replay(experiment, roles, trial, lookup)
    pending = _opened(experiment, roles, trial, cassette)
    always = ModelRoles(roles) if isinstance(roles, str) else roles
    measured = _measured(experiment, always, pending, cassette, anew=cassette.anew)
    if measured is None:
        raise Unrecorded(pending)
    return _outcome(pending, measured, always)


def recorded(
    experiment: Experiment,
    model: str,
    design: str = GATE,
    *,
    judge: str | None = None,
    cassettes: Path = Path("cassettes"),
) -> Records:
    """Return the rows of all trials of a design, as the folder ``cassettes`` holds them.

    Raises Unrecorded when a trial is not recorded, or a cap kept it from being recorded.

    Parameters
    ----------
    experiment, model, design
        What is recorded, of whom (``provider/model``), and which of the experiment's designs.
    judge
        The model that graded, where the experiment has a judge.
    cassettes
        The folder of the recordings.
    """
    cassette = Cassette(cassette_path(cassettes, experiment.id, model))
    roles = ModelRoles(model, judge)
    trials = plan(experiment, experiment.design(design))
    outcomes = (reread(experiment, roles, trial, cassette) for trial in trials)
    return Records(tuple(record_of(outcome, experiment.measures) for outcome in outcomes))


def is_recorded(
    experiment: Experiment,
    roles: ModelRoles,
    trial: Trial,
    cassette: Cassette,
    copies: Copies | None = None,
) -> bool:
    """Return whether nothing of ``trial`` has to be called; its replies are shown to ``copies``.

    Of a trial whose judge would be told a name the grade is still wanting; its recording says so.
    """
    try:
        outcome = reread(experiment, roles, trial, cassette)
    except (Unrecorded, JudgeNotBlind):
        return False
    except BiasError:
        raise
    except Exception:  # noqa: BLE001  (the protocol's own error: its case will show it)
        return True
    if copies is not None:
        copies.see(outcome)
    return True


def measured_in(
    experiment: Experiment,
    roles: ModelRoles,
    trial: Trial,
    cassette: Cassette,
    *,
    anew: bool = False,
) -> MeasuredTrial | None:
    """The stored measures of ``trial`` in a cassette that keeps no text; None if not recorded.

    The protocol runs up to its first request, whose key finds them; nothing is called.

    ``anew``: by the recording that goes on. Raises FileProblem or BadDesign as :func:`reread`.
    """
    pending = _opened(experiment, roles, trial, cassette)
    return _measured(experiment, roles, pending, cassette, anew=anew)


def safe_message(error: BaseException) -> str:
    """Return an error in words that may be kept where no text is: our own, nobody else's."""
    if isinstance(error, CallFailed):
        known = error.parameter in DROPPABLE
        what = f"{error.kind}: {error.parameter}" if known else error.kind
        return f"{error.model}: a call failed ({what}); {SILENT}"
    if _is_ours(error):
        return str(error)
    name = type(error).__name__
    if isinstance(error, OSError) and isinstance(error.errno, int):
        return f"{name}: {os.strerror(error.errno)}; {SILENT}"
    return f"{name}; {SILENT}"


def _is_ours(error: BaseException) -> bool:
    """Return whether our own code raised and worded it: a protocol may raise our errors, too."""
    traceback = error.__traceback__
    if type(error) not in _QUOTING_NO_REPLY or traceback is None:
        return False
    while traceback.tb_next is not None:
        traceback = traceback.tb_next
    module = str(traceback.tb_frame.f_globals.get("__name__", ""))
    # Errors of Design quote the label they were given, which may be anything.
    return module.startswith(_OURS) and module != Design.__module__


def _opened(
    experiment: Experiment, roles: ModelRoles | str, trial: Trial, cassette: Cassette
) -> PendingRequest:
    """The trial's first question; what goes wrong before it is told without quoting anything."""
    if cassette.keeps_text:
        problem = (
            "holds requests and replies as text, and its experiment has "
            f'retention="{experiment.retention}"; move the file to where text may stand, then '
            "record again"
        )
        raise FileProblem(path=cassette.path, problem=problem)
    try:
        return opening(experiment, roles, trial)
    except Exception as error:  # noqa: BLE001  (whatever a protocol raises)
        problem = f"fails before it asks anything: {safe_message(error)}"
        failed = BadDesign(what=f"{experiment.id}, trial {trial.id}", problem=problem)
    # Out here it has no context: the protocol's frames hold the prompt.
    raise failed


def _measured(
    experiment: Experiment,
    roles: ModelRoles,
    pending: PendingRequest,
    cassette: Cassette,
    *,
    anew: bool,
) -> MeasuredTrial | None:
    """The line of the trial that opens with ``pending``."""
    versions = versions_of(experiment.measured_with(roles))
    judge = experiment.judged_by(roles)
    key = measured_key(pending.key, versions, judge=judge)
    measured = None if anew and not cassette.journalled(key) else cassette.measured(key)
    if measured is not None:
        # Of a cassette that kept more; what is no category any more is a missing trial.
        undeclared = [measure for measure in experiment.measures if not measure.categories]
        check_storable(undeclared, measured.values)
        return measured
    return _read_strictly(experiment, roles, pending, cassette, anew=anew)


def _read_strictly(
    experiment: Experiment,
    roles: ModelRoles,
    pending: PendingRequest,
    cassette: Cassette,
    *,
    anew: bool,
) -> MeasuredTrial | None:
    """The line of a trial read strictly, where reading it leniently cannot have changed it."""
    lenient = experiment.read_leniently(roles)
    if not lenient:
        return None
    strict = replace(experiment, replies="strict"), replace(roles, lenient=frozenset())
    found = _measured(*strict, pending, cassette, anew=anew)
    if found is None or {*_OF_WRAPPED} & {*found.invalid}:
        return None
    kept = {FORMAT_KEPT: True} if "subject" in lenient and found.missing is None else {}
    return replace(found, values={**found.values, **kept})


def _outcome(pending: PendingRequest, measured: MeasuredTrial, roles: ModelRoles) -> Outcome:
    # Enough to tell conditions apart; digests, so that no assertion can print the text.
    prompts = [digest(text) for text in new_prompt_texts(pending.request, roles)]
    # A place is (branch, turn, attempt): the attempts at one question share the first two.
    if len({str(cast("Any", call["place"])[:2]) for call in measured.calls}) > 1:
        # Of what came after the opening nothing is kept, so no two conditions can be shown to
        # tell the subject the same.
        prompts.append(f"further questions in {pending.trial.condition.id}")
    return Outcome(
        trial=pending.trial,
        result=None,
        missing=measured.missing,
        invalid=measured.invalid,
        interactions=len(measured.calls),
        prompts=tuple(prompts),
        values=measured.values,
        format_kept=cast("bool | None", measured.values.get(FORMAT_KEPT)),
        exchanges=tuple(
            Exchange(
                **{name: cast("Any", call[name]) for name in _OF_CALLS},
                **{name: cast("Any", call[name]) for name in _OF_COPIES if name in call},
            )
            for call in measured.calls
        ),
    )
