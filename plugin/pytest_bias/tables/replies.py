"""Texts of replies in a table, read by the experiment's own protocol and measures."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ..experiments.fields import author_line, one_line
from ..experiments.messages import Completion
from ..experiments.records import record_of
from ..experiments.replay import Walk

if TYPE_CHECKING:
    from ..experiments.experiment import Experiment, ModelRoles
    from ..experiments.records import Outcome
    from ..experiments.replay import PendingRequest


def read_reply(experiment: Experiment, roles: ModelRoles, unread: Outcome, text: str) -> Outcome:
    """The outcome of an ``unread`` trial with a reply, as on replay; nobody is asked again.

    It has the measures and no prompt, as the source's is not known; nor the text, where the
    experiment keeps none. Raises ValueError with what keeps it from an outcome.
    """
    (said,) = unread.exchanges
    completion = Completion(text, said.finish, said.served_model)
    asked: list[PendingRequest] = []

    def answer(pending: PendingRequest) -> Completion | None:
        asked.append(pending)
        again = pending.place.attempt > 1  # after an invalid reply, which stays so
        return completion if again or len(asked) == 1 else None

    walk = Walk(experiment, roles, unread.trial, answer)
    if walk.missing is not None:
        problem = (
            f"is one reply, and {experiment.id} asks the model more than once: give a column for "
            "each measure, and no reply"
        )
        raise ValueError(problem)
    if walk.error is not None:
        raise _failed(walk.error)
    read = walk.outcome(walk.result, walk.invalid_as)
    try:
        record = record_of(read, experiment.measured_with(roles))
    except Exception as error:  # noqa: BLE001  (the author's function: anything)
        raise _failed(error) from None
    invalid, kept = read.invalid[:1], experiment.retention == "raw"
    heard = replace(
        said,
        place=asked[0].place if kept else None,
        reply=text if kept else "",
        invalid="".join(invalid),
    )
    return replace(
        unread,
        missing=record.missing,
        invalid=invalid,
        values=record.values,
        format_kept=read.format_kept,
        exchanges=(heard,),
    )


def _failed(error: BaseException) -> ValueError:
    words = f"{type(error).__name__}: {one_line(str(error))} ({author_line(error)})"
    return ValueError(f"cannot be read, as the experiment's own code fails on it: {words}")
