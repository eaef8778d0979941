"""The one driver of protocols: live it awaits real calls, on replay it feeds what was recorded.

The same code runs in both modes, on replay without an event loop. So a protocol may suspend only
where it asks for something; whatever else it awaits is an error that names the line.
"""

from __future__ import annotations

import inspect
import traceback
import typing
from collections.abc import Awaitable, Coroutine, Sequence
from typing import Any

from ..errors import BadDesign, InvalidReply, NotReplayable
from .fields import author_line
from .messages import Completion, Place, Request
from .protocol import Ask, Reply, Together

_ASYNCIO = f"{typing.__file__.removesuffix('typing.py')}asyncio"  # not imported for its path alone


class Executor(typing.Protocol):
    """Carries out what a protocol asks for: live it calls a provider, on replay it looks up."""

    async def perform(self, request: Request, place: Place) -> Completion:
        """Carry out one interaction."""

    async def gather(self, awaitables: Sequence[Awaitable[object]]) -> list[object]:
        """Await all; results and exceptions in order, like gather(return_exceptions=True)."""

    def reject(self, place: Place, invalid: InvalidReply) -> None:
        """Take note that the reply at ``place`` was not valid."""

    def accept(self, request: Request, reply: Reply[Any]) -> None:
        """Take note of the valid reply to ``request``."""


class _Halted(Exception):
    """Carries an error that ends the trial, past every ``except`` a protocol may have."""

    def __init__(self, error: Exception) -> None:
        self.error = error
        super().__init__(error)


async def drive(coroutine: Coroutine[Any, Any, object], executor: Executor) -> object:
    """Run a protocol's coroutine to its end, carrying out each instruction it yields.

    Only invalid replies and the protocol's own errors are raised inside the protocol; an error of
    the executor ends the trial wherever it stands, so that no protocol can mistake a call that
    failed, or a reply that is not recorded, for an answer.

    Raises NotReplayable when the protocol awaits anything else; it names the line.
    """
    try:
        return await _drive(coroutine, executor, ())
    except _Halted as halted:
        error = halted.error
    try:
        raise error
    finally:
        del error  # its traceback holds this frame: they would keep a trial's prompts together


def drive_at_once(coroutine: Coroutine[Any, Any, object], executor: Executor) -> object:
    """Drive a protocol without an event loop: the executor must never suspend."""
    driver = drive(coroutine, executor)
    try:
        driver.send(None)
    except StopIteration as stop:
        return stop.value
    finally:
        driver.close()
    raise _foreign_await(coroutine, "replay", "a suspended call")


async def _drive(
    coroutine: Coroutine[Any, Any, object], executor: Executor, branch: tuple[int, ...]
) -> object:
    turn = 0
    answer: object = None
    error: BaseException | None = None
    try:
        while True:
            try:
                step = coroutine.throw(error) if error is not None else coroutine.send(answer)
            except StopIteration as stop:
                if inspect.iscoroutine(stop.value):
                    code = getattr(coroutine, "cr_code")  # noqa: B009  (typed as any coroutine)
                    where = f"{code.co_filename}:{code.co_firstlineno}"
                    raise _not_awaited(where, stop.value, "returned") from None
                return stop.value
            except AttributeError as problem:
                if inspect.iscoroutine(problem.obj):
                    where, used = author_line(problem), f"asked for its .{problem.name}"
                    raise _not_awaited(where, problem.obj, used) from problem
                raise
            except (RuntimeError, Warning) as problem:
                _raise_if_foreign(coroutine, problem)
                raise
            turn += 1
            answer, error = None, None
            if isinstance(step, Ask):
                try:
                    answer = await _fulfil(step, executor, branch, turn)
                except InvalidReply as invalid:
                    error = invalid
            elif isinstance(step, Together):
                outcomes = await _all(step, executor, (*branch, turn))
                error = next((o for o in outcomes if isinstance(o, BaseException)), None)
                answer = outcomes
                del outcomes
            else:
                _withdraw(step)
                foreign = _foreign_await(coroutine, _waiting_line(coroutine), _what(step))
                raise _Halted(foreign)
    finally:
        coroutine.close()
        del answer, error  # as in drive


async def _fulfil(ask: Ask, executor: Executor, branch: tuple[int, ...], turn: int) -> object:
    """The first valid reply to ``ask``, trying as often as it allows."""
    for attempt in range(1, ask.attempts + 1):
        place = Place(branch, turn, attempt, of=ask.attempts)
        try:
            completion = await executor.perform(ask.request, place)
        except Exception as error:
            raise _Halted(error) from error
        try:
            reply = ask.accept(completion)
        except InvalidReply as invalid:
            executor.reject(place, invalid)
            if attempt == ask.attempts:
                raise
        else:
            executor.accept(ask.request, reply)
            return reply
    raise AssertionError(ask)  # attempts >= 1 is checked where an Ask is made


async def _all(step: Together, executor: Executor, branch: tuple[int, ...]) -> list[object]:
    """Results and errors of the children, in order; raises what ended one of them for good."""
    drivers = [
        _drive(child, executor, (*branch, number))
        for number, child in enumerate(step.children, start=1)
    ]
    try:
        outcomes = await executor.gather(drivers)
    finally:
        # Only what an interruption left: a coroutine that has ended takes no notice.
        for left in (*drivers, *step.children):
            left.close()
    halted = next((each for each in outcomes if isinstance(each, _Halted)), None)
    try:
        if halted is not None:
            raise halted
        return outcomes
    finally:
        del halted, outcomes  # as in drive


# --- awaiting what cannot be replayed ------------------------------------------------------------


def _raise_if_foreign(coroutine: Coroutine[Any, Any, object], problem: Exception) -> None:
    """Raise NotReplayable when ``problem`` is asyncio's, which found no event loop or task."""
    frames = traceback.extract_tb(problem.__traceback__)
    last = max(i for i, frame in enumerate(frames) if not frame.filename.startswith(_ASYNCIO))
    if frames[last] is frames[-1]:
        return
    where = f"{frames[last].filename}:{frames[last].lineno}"
    what = f"asyncio ({frames[last + 1].name})"
    raise _Halted(_foreign_await(coroutine, where, what)) from problem


def _foreign_await(coroutine: Coroutine[Any, Any, object], where: str, what: str) -> NotReplayable:
    return NotReplayable(
        f"the protocol {_name(coroutine)}() awaits {what} at {where}; a protocol may await only "
        "subject.ask() and together(), because nothing else can be replayed"
    )


def _not_awaited(where: str, left: Coroutine[Any, Any, object], used: str) -> _Halted:
    """The error of a protocol that takes a coroutine for what awaiting it would give."""
    left.close()
    name = _name(left)
    problem = f"{name}() is {used} and was never awaited: write await before it"
    return _Halted(BadDesign(what=where, problem=problem))


def _withdraw(step: object) -> None:
    """Take back what a foreign future set going, so that nothing of it is left in the loop."""
    cancel = getattr(step, "cancel", None)
    if callable(cancel):
        cancel()


def _what(step: object) -> str:
    return "a bare yield (a sleep?)" if step is None else type(step).__name__.lstrip("_")


def _name(coroutine: Coroutine[Any, Any, object]) -> str:
    return str(getattr(coroutine, "__qualname__", coroutine))


def _waiting_line(coroutine: Coroutine[Any, Any, object]) -> str:
    """``file.py:12`` of the innermost coroutine of the protocol's author that is waiting."""
    waiting: Any = coroutine
    frame = waiting.cr_frame
    while getattr(waiting.cr_await, "cr_frame", None) is not None:
        waiting = waiting.cr_await
        if not waiting.cr_frame.f_code.co_filename.startswith(_ASYNCIO):
            frame = waiting.cr_frame
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"
