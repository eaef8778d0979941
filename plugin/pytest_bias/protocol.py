"""One trial as an async function of ``ask()`` and ``together()``, and its one driver.

A protocol is ``async def rule(trial, subject) -> result``. It awaits only ``subject.ask()`` (one
interaction) and ``together()`` (several at once). Both only *describe* what is wanted; the driver
below carries it out: live by calling a provider, on replay by looking up what was recorded, with
the same code and, on replay, without an event loop.
"""

from __future__ import annotations

import typing
from collections.abc import Awaitable, Callable, Coroutine, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, TypeVar, cast, overload

from pydantic import BaseModel

from .design import Trial, frozen_mapping
from .errors import BadDesign, ForeignAwait, InvalidReply
from .replies import accept_object, accept_text, reply_schema

ATTEMPTS = 3
"""How often a question is put before an invalid reply makes the trial missing."""

Role = Literal["system", "user", "assistant"]
Finish = Literal["stop", "length", "content_filter", "refusal", "other"]
Value = TypeVar("Value")
Structured = TypeVar("Structured", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a conversation."""

    role: Role
    text: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Parameters:
    """How replies are drawn: sampling temperature and the limit on the reply, in tokens."""

    temperature: float | None = None
    max_output_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Request:
    """All that a model is sent for one interaction.

    ``schema`` is the JSON schema of a structured reply (None for free text), ``schema_name`` the
    name providers want for it.
    """

    messages: tuple[Message, ...]
    parameters: Parameters
    schema_name: str | None = None
    schema: Mapping[str, object] | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Place:
    """Where in its trial an interaction stands.

    ``branch`` is the path through ``together()`` calls (turn, child, turn, child, …), ``turn``
    counts steps within the branch from 1, ``attempt`` counts tries of the same question from 1.
    """

    branch: tuple[int, ...]
    turn: int
    attempt: int


@dataclass(frozen=True, slots=True)
class Completion:
    """What a model answered, alike for all providers.

    ``usage`` holds token counts (``input``, ``output``), ``latency`` is in seconds without
    queueing and failed attempts, ``body`` is the reply as the provider sent it.
    """

    text: str = field(repr=False)
    finish: Finish
    served_model: str
    usage: Mapping[str, int] = field(default_factory=dict)
    latency: float | None = None
    recorded_at: str | None = None
    body: Mapping[str, object] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "usage", frozen_mapping(self.usage))
        object.__setattr__(self, "body", frozen_mapping(self.body))


@dataclass(frozen=True, slots=True)
class Reply(Generic[Value]):
    """A valid reply: its text, its ``value`` (the text itself or the parsed object).

    ``messages`` is the whole conversation so far, this reply included: give the reply as
    ``after=`` to the next ``ask()`` to go on with it.
    """

    value: Value = field(repr=False)
    text: str = field(repr=False)
    messages: tuple[Message, ...] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Ask:
    """The instruction that ``subject.ask()`` yields to the driver."""

    request: Request
    accept: Callable[[Completion], object]
    attempts: int

    def __await__(self) -> Generator[Ask, object, object]:
        return (yield self)


@dataclass(frozen=True, slots=True)
class Together:
    """The instruction that ``together()`` yields to the driver."""

    children: tuple[Coroutine[Any, Any, object], ...]

    def __await__(self) -> Generator[Together, object, object]:
        return (yield self)


@dataclass(frozen=True, slots=True)
class Subject:
    """The model under test, as a protocol sees it."""

    parameters: Parameters = field(default_factory=Parameters)

    @overload
    async def ask(
        self,
        prompt: str,
        *,
        after: Reply[Any] | None = None,
        system: str | None = None,
        attempts: int = ATTEMPTS,
    ) -> Reply[str]: ...

    @overload
    async def ask(
        self,
        prompt: str,
        *,
        reply: type[Structured],
        check: Callable[[Structured], None] | None = None,
        after: Reply[Any] | None = None,
        system: str | None = None,
        attempts: int = ATTEMPTS,
    ) -> Reply[Structured]: ...

    async def ask(
        self,
        prompt: str,
        *,
        reply: type[BaseModel] | None = None,
        check: Callable[[Any], None] | None = None,
        after: Reply[Any] | None = None,
        system: str | None = None,
        attempts: int = ATTEMPTS,
    ) -> Reply[Any]:
        """Put one question to the model and wait for a valid reply.

        Parameters
        ----------
        prompt
            Text of the user's message.
        reply
            Pydantic model of a structured reply. The text must be one JSON object of exactly its
            fields and nothing else; validation is strict.
        check
            Called with the parsed object; raises ``InvalidReply(reason)`` for what a schema
            cannot say ("the echoed demand must be the condition's").
        after
            Reply whose conversation goes on; without it a new one starts.
        system
            System prompt of a new conversation.
        attempts
            How often the same question is put while replies are invalid; each try is recorded.

        Raises
        ------
        InvalidReply
            When no attempt gave a valid reply. Left uncaught, the trial is missing under its
            ``reason``: ``empty``, ``refusal``, ``content_filter``, ``truncated``, ``not_json``,
            ``no_number``, ``missing_field``, ``extra_field``, ``wrong_type``, ``unknown_option``
            or a reason of ``check`` or the reply's own validators.
        """
        if after is not None and system is not None:
            raise BadDesign(what="ask()", problem="system= belongs to the start of a conversation")
        if attempts < 1:
            raise BadDesign(what="ask()", problem="attempts must be at least 1")
        opening = [Message("system", system)] if system is not None else []
        before = after.messages if after is not None else tuple(opening)
        messages = (*before, Message("user", prompt))
        if reply is None:
            request = Request(messages, self.parameters)
        else:
            request = Request(messages, self.parameters, reply.__name__, reply_schema(reply))

        def accept(completion: Completion) -> Reply[Any]:
            text = completion.text
            value: object = (
                accept_text(text, completion.finish)
                if reply is None
                else accept_object(text, completion.finish, reply, check)
            )
            return Reply(value, text, (*messages, Message("assistant", text)))

        return cast("Reply[Any]", await Ask(request, accept, attempts))


async def together(*children: Coroutine[Any, Any, Value]) -> list[Value]:
    """Run several interactions (or coroutines made of them) at once; results in argument order.

    Waits for all of them; then raises the first error in argument order, if there was any.
    """
    return cast("list[Value]", await Together(children))


Protocol = Callable[[Trial, Subject], Coroutine[Any, Any, object]]
"""One trial: from the trial and the subject to the result that measures are taken from."""


class Executor(typing.Protocol):
    """Carries out what a protocol asks for: live it calls a provider, on replay it looks up."""

    async def perform(self, request: Request, place: Place) -> Completion:
        """Carry out one interaction."""

    async def gather(self, awaitables: Sequence[Awaitable[object]]) -> list[object]:
        """Await all; results and exceptions in order, like gather(return_exceptions=True)."""

    def reject(self, place: Place, invalid: InvalidReply) -> None:
        """Take note that the reply at ``place`` was not valid."""


async def drive(
    coroutine: Coroutine[Any, Any, object], executor: Executor, branch: tuple[int, ...] = ()
) -> object:
    """Run a protocol's coroutine to its end, carrying out each instruction it yields.

    Raises
    ------
    ForeignAwait
        When the protocol awaits anything else; names the line.
    """
    turn = 0
    answer: object = None
    error: Exception | None = None
    try:
        while True:
            try:
                step = coroutine.throw(error) if error is not None else coroutine.send(answer)
            except StopIteration as stop:
                return stop.value
            turn += 1
            answer, error = None, None
            if isinstance(step, Ask):
                try:
                    answer = await _fulfil(step, executor, branch, turn)
                except InvalidReply as invalid:
                    error = invalid
            elif isinstance(step, Together):
                outcomes = await executor.gather(
                    [
                        drive(child, executor, (*branch, turn, number))
                        for number, child in enumerate(step.children, start=1)
                    ]
                )
                error = next((o for o in outcomes if isinstance(o, Exception)), None)
                answer = outcomes
            else:
                raise ForeignAwait(
                    protocol=_name(coroutine),
                    where=_waiting_line(coroutine),
                    what=type(step).__name__ if step is not None else "a bare yield (a sleep?)",
                )
    finally:
        coroutine.close()


async def _fulfil(ask: Ask, executor: Executor, branch: tuple[int, ...], turn: int) -> object:
    """The first valid reply to ``ask``, trying as often as it allows."""
    last = Place(branch, turn, ask.attempts)
    for attempt in range(1, ask.attempts + 1):
        place = Place(branch, turn, attempt)
        completion = await executor.perform(ask.request, place)
        try:
            return ask.accept(completion)
        except InvalidReply as invalid:
            executor.reject(place, invalid)
            if place == last:
                raise
    raise AssertionError(last)  # attempts >= 1 is checked where an Ask is made


def run(coroutine: Coroutine[Any, Any, object], executor: Executor) -> object:
    """Drive a protocol without an event loop: the executor must never suspend."""
    driver = drive(coroutine, executor)
    try:
        driver.send(None)
    except StopIteration as stop:
        return stop.value
    finally:
        driver.close()
    raise ForeignAwait(protocol=_name(coroutine), where="replay", what="a suspended call")


def _name(coroutine: Coroutine[Any, Any, object]) -> str:
    return str(getattr(coroutine, "__qualname__", coroutine))


def _waiting_line(coroutine: Coroutine[Any, Any, object]) -> str:
    """``file.py:12`` of the innermost coroutine of the protocol that is waiting."""
    innermost: Any = coroutine
    while getattr(innermost.cr_await, "cr_frame", None) is not None:
        innermost = innermost.cr_await
    frame = innermost.cr_frame
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"
