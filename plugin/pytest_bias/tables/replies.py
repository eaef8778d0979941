"""Texts of replies in a table, read by the experiment's own protocol and measures."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ..errors import InvalidReply
from ..experiments.fields import author_line, one_line
from ..experiments.messages import Completion, Place, Request
from ..experiments.records import Outcome, record_of
from ..experiments.replay import PendingRequest, Walk

if TYPE_CHECKING:
    from ..experiments.experiment import Experiment, ModelRoles


class _OneReply(Walk):
    """A trial with one reply: nobody can be asked again, so that what is invalid stays so."""

    async def perform(self, request: Request, place: Place) -> Completion:
        """Answer each attempt by the same reply; the first alone counts."""
        if place.attempt > 1 and self.answered:
            return self.answered[-1][1]
        return await super().perform(request, place)

    def reject(self, place: Place, invalid: InvalidReply) -> None:
        """Take note, once, that the reply was not valid."""
        if place.attempt == 1:
            super().reject(place, invalid)


def read_reply(experiment: Experiment, roles: ModelRoles, unread: Outcome, text: str) -> Outcome:
    """The outcome of an ``unread`` trial with a reply, as on replay.

    It has the measures and no prompt, as the source's is not known; nor the text, where the
    experiment keeps none. Raises ValueError with what keeps it from an outcome.
    """
    (said,) = unread.exchanges
    completion = Completion(text, said.finish, said.served_model)
    asked: list[PendingRequest] = []

    def answer(pending: PendingRequest) -> Completion | None:
        asked.append(pending)
        return completion if len(asked) == 1 else None

    walk = _OneReply(experiment, roles, unread.trial, answer)
    if walk.missing is not None:
        problem = (
            f"is one reply, and {experiment.id} asks the model more than once: give a column for "
            "each measure, and no reply"
        )
        raise ValueError(problem)
    if walk.error is not None:
        raise ValueError(_failed(walk.error))
    read = walk.outcome(walk.result, walk.invalid_as)
    try:
        record = record_of(read, experiment.measured_with(roles))
    except Exception as error:  # noqa: BLE001  (the author's function: anything)
        raise ValueError(_failed(error)) from None
    kept = experiment.retention == "raw"
    heard = replace(
        said,
        place=asked[0].place if kept else None,
        reply=text if kept else "",
        invalid=next(iter(read.invalid), ""),
    )
    return replace(
        unread,
        missing=record.missing,
        invalid=read.invalid,
        values=record.values,
        format_kept=read.format_kept,
        exchanges=(heard,),
    )


def _failed(error: BaseException) -> str:
    words = f"{type(error).__name__}: {one_line(str(error))} ({author_line(error)})"
    return f"cannot be read, as the experiment's own code fails on it: {words}"
