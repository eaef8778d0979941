"""One trial as an async function of ``ask()`` and ``together()``.

A protocol is ``async def rule(trial, subject) -> result``. It awaits only ``subject.ask()`` (one
interaction) and ``together()`` (several at once). Both only *describe* what is wanted; the driver
(``driver.py``) carries it out.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Coroutine, Generator, Iterable
from dataclasses import dataclass, field
from functools import cache
from types import NoneType
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast, overload

from ..errors import BadDesign, InvalidReply
from .fields import need, need_function, need_text, wrong
from .messages import Completion, Message, ModelRole, Parameters, Request
from .replies import Structured, accept_object, accept_text, bare_json, reply_schema, spoken

if TYPE_CHECKING:
    from pydantic import BaseModel

ATTEMPTS = 3
"""How often a question is put before an invalid reply makes the trial missing."""

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class Reply(Generic[Value]):
    """A valid reply: its text without thoughts, its ``value`` (the text or the parsed object).

    ``messages`` is the whole conversation so far, this reply included: give the reply as
    ``after=`` to the next ``ask()`` to go on with it. ``seconds`` is what was recorded of how
    long it took; ask for :attr:`latency`, which is never None. It is no part of what makes two
    replies the same. ``bare``: nothing was taken off, neither a thought nor, leniently, a fence.
    """

    value: Value = field(repr=False)
    text: str = field(repr=False)
    messages: tuple[Message, ...] = field(repr=False)
    seconds: float | None = field(default=0.0, repr=False, compare=False)
    bare: bool = True

    @property
    def latency(self) -> float:
        """Seconds from sending the question to having this reply, as they were recorded.

        Of the attempt that gave it alone: waiting for a turn under the limits, and attempts that
        failed or gave no valid reply, are no part of it. A replay gives the same number; replies
        that are made up in memory (rehearsals) take 0.0.

        Raises InvalidReply (``no_latency``) where nobody can tell, because the provider tried
        again on its own: an unknown time is missing, never 0.
        """
        if self.seconds is None:
            raise InvalidReply("no_latency")
        return float(self.seconds)


@dataclass(frozen=True, slots=True)
class Ask:
    """The instruction that ``subject.ask()`` yields to the driver."""

    request: Request
    accept: Callable[[Completion], Reply[Any]]
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
    """A model as a protocol sees it: the one under test, or (``role``) the one that grades.

    ``system`` is a system prompt it is always given; that of a protocol follows it. ``lenient``:
    structured replies are taken out of what stands around them (:func:`.replies.bare_json`).
    """

    parameters: Parameters = field(default_factory=Parameters)
    role: ModelRole = "subject"
    system: str | None = field(default=None, repr=False)
    lenient: bool = False

    @overload
    async def ask(
        self,
        prompt: str,
        *,
        check: Callable[[str], None] | None = None,
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

        Raises InvalidReply when no attempt gave a valid reply. Left uncaught, the trial is missing
        under its ``reason``: ``empty``, ``refusal``, ``content_filter``, ``truncated``,
        ``unknown_end_WORD``, ``not_json``, ``no_number``, ``missing_field``, ``extra_field``,
        ``wrong_type``, ``unknown_option`` or a reason of ``check`` or the reply's own validators.

        Parameters
        ----------
        prompt
            Text of the user's message.
        reply
            Pydantic model of a structured reply. The text must be one JSON object of exactly its
            fields and nothing else but a thought before it; validation is strict. Read leniently
            (``Experiment(replies="lenient")``), a code fence or prose may stand around it.
        check
            Called with the parsed object, or without ``reply`` with the text; raises
            ``InvalidReply(reason)`` for what a schema cannot say ("the echoed demand must be the
            condition's"). It returns nothing: an answer such as False would be overheard.
        after
            Reply whose conversation goes on; without it a new one starts.
        system
            System prompt of a new conversation.
        attempts
            How often the same question is put while replies are invalid; each try is recorded.
        """
        _check_ask(prompt, reply, check, after, system, attempts)
        told_first = [each for each in (self.system, system) if each is not None]
        opening = (Message("system", "\n\n".join(told_first)),) if told_first else ()
        before = after.messages if after is not None else opening
        messages = (*before, Message("user", prompt))
        if reply is None:
            request = Request(messages, self.parameters, to=self.role)
        else:
            name, schema = reply.__name__, reply_schema(reply)
            request = Request(messages, self.parameters, name, schema, to=self.role)

        def accept(completion: Completion) -> Reply[Any]:
            text, finish = spoken(completion.text, self._asked(messages)), completion.finish
            inside: str | None = None
            value: object
            if reply is None:
                value = accept_text(text, finish, check)
            else:
                # Words at the limit on tokens may be a thought, which has no tags then.
                inside = bare_json(text) if self.lenient and finish != "length" else None
                value = accept_object(
                    text if inside is None else inside, finish, reply, check, conversation=messages
                )
            said = (*messages, Message("assistant", text))
            bare = inside is None and text == completion.text
            return Reply(value, text, said, completion.latency, bare)

        return cast("Reply[Any]", await Ask(request, accept, attempts))

    def _asked(self, messages: Iterable[Message]) -> list[str]:
        """The protocol's own texts among ``messages``, without the system prompt always given."""
        always = self.system or ""
        return [
            each.text.removeprefix(always) if each.role == "system" else each.text
            for each in messages
            if each.role != "assistant"
        ]


def _check_ask(
    prompt: object, reply: object, check: object, after: object, system: object, attempts: object
) -> None:
    """Refuse what a protocol cannot ask."""
    what = "ask()"
    need_text(what, prompt=prompt)
    need(what, "system", system, (str, NoneType), "text")
    if reply is not None and not (isinstance(reply, type) and _is_pydantic(reply)):
        expected = "a pydantic model (for one of several words: a field of type Literal[…])"
        raise wrong(what, "reply", reply, expected)
    need_function(what, "check", check)
    need(what, "after", after, (Reply, NoneType), "a reply (await subject.ask(…))")
    if after is not None and system is not None:
        raise BadDesign(what=what, problem="system= belongs to the start of a conversation")
    if type(attempts) is not int or attempts < 1:
        raise wrong(what, "attempts", attempts, "a whole number, at least 1")


@cache
def _is_pydantic(kind: type) -> bool:
    from pydantic import BaseModel  # noqa: PLC0415  (texts alone do not wait for it)

    return issubclass(kind, BaseModel)


async def together(*children: Coroutine[Any, Any, Value]) -> list[Value]:
    """Run several interactions (or coroutines made of them) at once; results in argument order.

    Waits for all of them; then raises the first error in argument order, if there was any.

    Raises BadDesign when an argument is no coroutine.
    """
    for number, child in enumerate(children, start=1):
        if not inspect.iscoroutine(child):
            raise BadDesign(
                what="together()",
                problem=(
                    f"argument {number} is a {type(child).__name__}; give coroutines, such as "
                    "subject.ask(…) without await"
                ),
            )
    return cast("list[Value]", await Together(children))


Protocol = Callable[..., Coroutine[Any, Any, object]]
"""One trial: from the trial and the subject (and the judge, where there is one) to the result that
measures are taken from."""
