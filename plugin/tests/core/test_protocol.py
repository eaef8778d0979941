"""One driver, two modes: whatever is shown here is shown live and on replay."""

from __future__ import annotations

import asyncio
import gc
import inspect
from collections.abc import Callable, Coroutine
from typing import Any, cast

import pytest

from pytest_bias.errors import BadDesign, CallFailed, InvalidReply, NotReplayable
from pytest_bias.experiments.driver import drive, drive_at_once
from pytest_bias.experiments.messages import Message, Parameters, Place, Request
from pytest_bias.experiments.protocol import Reply, Subject, together

from .factories import Score, Script, always_five

Body = Callable[[Subject], Coroutine[Any, Any, object]]
PARAMETERS = Parameters(temperature=0.5)


@pytest.fixture(params=["live", "replay"])
def carry_out(request: pytest.FixtureRequest) -> Callable[[Body, Script], object]:
    """Drive a protocol with an event loop, or without one."""

    def live(body: Body, script: Script) -> object:
        script.live = True
        return asyncio.run(drive(body(Subject(PARAMETERS)), script))

    def replay(body: Body, script: Script) -> object:
        return drive_at_once(body(Subject(PARAMETERS)), script)

    return live if request.param == "live" else replay


CarryOut = Callable[[Body, Script], object]


TAGGED = "<reasoning>Nine.</reasoning>So nine."


def in_order(script: Script) -> list[Place]:
    return sorted(script.places, key=lambda p: ((*p.branch, p.turn), p.attempt))


def test_turns_count_from_one_and_conversations_grow(carry_out: CarryOut) -> None:
    async def body(subject: Subject) -> Reply[Score]:
        first = await subject.ask("First?", system="Be brief.")
        second = await subject.ask("Second?", after=first)
        return await subject.ask("Score?", after=second, reply=Score)

    script = Script(always_five)
    reply = cast("Reply[Score]", carry_out(body, script))
    assert script.places == [Place((), turn, 1) for turn in (1, 2, 3)]
    assert reply.value == Score(score=5)
    assert reply.text == '{"score": 5}'
    assert [(m.role, m.text) for m in reply.messages] == [
        ("system", "Be brief."),
        ("user", "First?"),
        ("assistant", "turn 1"),
        ("user", "Second?"),
        ("assistant", "turn 2"),
        ("user", "Score?"),
        ("assistant", '{"score": 5}'),
    ]
    assert script.requests[0] == Request(
        (Message("system", "Be brief."), Message("user", "First?")), PARAMETERS
    )
    assert script.requests[2].schema_name == "Score"
    assert script.requests[2].messages == reply.messages[:-1]


@pytest.mark.parametrize(
    ("own", "opening"), [(None, ["Be fair."]), ("Be brief.", ["Be fair.\n\nBe brief."])]
)
def test_a_system_prompt_of_the_models_own_stands_first_and_once(
    own: str | None, opening: list[str]
) -> None:
    async def body(subject: Subject) -> list[tuple[str, str]]:
        first = await subject.ask("One?", system=own)
        second = await subject.ask("Two?", after=first)
        return [(message.role, message.text) for message in second.messages]

    said = drive_at_once(body(Subject(PARAMETERS, system="Be fair.")), Script(lambda *_: "ok"))
    assert said == [
        *(("system", text) for text in opening),
        ("user", "One?"),
        ("assistant", "ok"),
        ("user", "Two?"),
        ("assistant", "ok"),
    ]


@pytest.mark.parametrize(
    ("own", "read"),
    [(f"End with {TAGGED}", TAGGED), ("Be brief.", "So nine."), (None, "So nine.")],
)
def test_tags_that_the_experiments_own_system_prompt_asks_for_stay(
    own: str | None, read: str
) -> None:
    async def body(subject: Subject) -> tuple[str, str]:
        first = await subject.ask("One?", system=own)
        return first.text, (await subject.ask("Two?", after=first)).text

    always = Subject(PARAMETERS, system="Think in <reasoning> tags.")
    assert drive_at_once(body(always), Script(lambda *_: TAGGED)) == (read, read)


def test_an_invalid_reply_is_asked_for_again_with_the_same_request(carry_out: CarryOut) -> None:
    said = ["", "no idea", '{"score": 7}']

    async def body(subject: Subject) -> Score:
        await subject.ask("Hello")
        return (await subject.ask("Score?", reply=Score)).value

    def say(request: Request, place: Place) -> str:
        return said[place.attempt - 1] if request.schema else "Hello."

    script = Script(say)
    assert carry_out(body, script) == Score(score=7)
    assert script.places == [Place((), 1, 1), *(Place((), 2, attempt) for attempt in (1, 2, 3))]
    assert script.rejected == [(Place((), 2, 1), "empty"), (Place((), 2, 2), "no_number")]
    assert len({id(request) for request in script.requests[1:]}) == 1


@pytest.mark.parametrize("attempts", [1, 2, 5])
def test_after_the_last_attempt_the_last_reason_is_raised(
    carry_out: CarryOut, attempts: int
) -> None:
    async def body(subject: Subject) -> object:
        return await subject.ask("Score?", reply=Score, attempts=attempts)

    script = Script(lambda _, place: "" if place.attempt < attempts else "[1]")
    with pytest.raises(InvalidReply, match="wrong_type"):
        carry_out(body, script)
    assert len(script.places) == len(script.rejected) == attempts


def test_check_says_what_a_schema_cannot(carry_out: CarryOut) -> None:
    def odd(score: Score) -> None:
        if score.score % 2 == 0:
            raise InvalidReply("even", "score")

    async def body(subject: Subject) -> Score:
        return (await subject.ask("Score?", reply=Score, check=odd)).value

    script = Script(lambda _, place: f'{{"score": {place.attempt + 1}}}')
    assert carry_out(body, script) == Score(score=3)
    assert script.rejected == [(Place((), 1, 1), "even")]


def test_a_conversation_has_one_system_prompt(carry_out: CarryOut) -> None:
    async def two_systems(subject: Subject) -> None:
        first = await subject.ask("One", system="x")
        await subject.ask("Two", after=first, system="y")

    with pytest.raises(BadDesign, match="start of a conversation"):
        carry_out(two_systems, Script(always_five))


def test_together_nests_and_numbers_every_branch(carry_out: CarryOut) -> None:
    async def grade(subject: Subject, name: str) -> list[str]:
        asked = await subject.ask(f"{name}?")
        replies = await together(
            subject.ask(f"{name} judge 1", after=asked), subject.ask(f"{name} judge 2")
        )
        return [reply.value for reply in replies]

    async def body(subject: Subject) -> list[list[str]]:
        return await together(grade(subject, "a"), grade(subject, "b"))

    script = Script(lambda r, _: r.messages[-1].text)
    assert carry_out(body, script) == [
        ["a judge 1", "a judge 2"],
        ["b judge 1", "b judge 2"],
    ]
    assert in_order(script) == [
        Place((1, 1), 1, 1),
        Place((1, 1, 2, 1), 1, 1),
        Place((1, 1, 2, 2), 1, 1),
        Place((1, 2), 1, 1),
        Place((1, 2, 2, 1), 1, 1),
        Place((1, 2, 2, 2), 1, 1),
    ]
    assert len(set(script.places)) == len(script.places)


def test_together_waits_for_all_then_raises_the_first_error(carry_out: CarryOut) -> None:
    ended: list[int] = []

    async def part(subject: Subject, number: int) -> None:
        for turn in range(4 - number):  # the last one is the first to fail
            await subject.ask(f"Part {number}, {turn}")
        ended.append(number)
        if number:
            reason = f"reason {number}"
            raise InvalidReply(reason)

    async def body(subject: Subject) -> object:
        try:
            return await together(*(part(subject, number) for number in range(4)))
        except InvalidReply as invalid:
            return invalid.reason

    assert carry_out(body, Script(always_five)) == "reason 1"
    assert sorted(ended) == [0, 1, 2, 3]


@pytest.mark.parametrize("at_once", [False, True])
def test_no_protocol_catches_an_error_of_the_machinery(
    carry_out: CarryOut, *, at_once: bool
) -> None:
    async def body(subject: Subject) -> str:
        try:
            if at_once:
                await together(subject.ask("One", attempts=1), subject.ask("Two"))
            else:
                await subject.ask("Two")
        except Exception:  # noqa: BLE001  (a careless protocol)
            return "an answer made up"
        return "an answer"

    failed = CallFailed(model="m", problem="down", kind="fatal")
    script = Script(lambda r, _: failed if r.messages[-1].text == "Two" else "")
    with pytest.raises(CallFailed) as caught:
        carry_out(body, script)
    assert caught.value is failed


def test_nothing_is_left_unawaited(carry_out: CarryOut) -> None:
    """Under ``-W error`` a coroutine that was never awaited fails whichever test it dies in."""

    async def body(subject: Subject) -> None:
        await together(subject.ask("One"), subject.ask("Two"), subject.ask("Three"))

    def interrupt(_: Request, place: Place) -> str:
        if place.branch == (1, 1):
            raise KeyboardInterrupt
        return "ok"

    with pytest.raises(KeyboardInterrupt):
        carry_out(body, Script(interrupt))
    gc.collect()


async def sleeps(subject: Subject) -> None:
    await subject.ask("Hello")
    await asyncio.sleep(1)  # foreign


async def sleeps_zero(subject: Subject) -> None:
    await subject.ask("Hello")
    await asyncio.sleep(0)  # foreign


async def _helper(_: Subject) -> None:
    await asyncio.sleep(1)  # foreign


async def sleeps_in_a_helper(subject: Subject) -> None:
    await _helper(subject)


async def sleeps_in_a_branch(subject: Subject) -> None:
    await together(subject.ask("One"), _helper(subject))


def _foreign_line(body: Body) -> int:
    function = _helper if "_helper" in inspect.getsource(body) else body
    lines, start = inspect.getsourcelines(function)
    return start + next(i for i, line in enumerate(lines) if "# foreign" in line)


@pytest.mark.parametrize("body", [sleeps, sleeps_zero, sleeps_in_a_helper, sleeps_in_a_branch])
def test_what_cannot_be_replayed_is_named_with_its_line(carry_out: CarryOut, body: Body) -> None:
    with pytest.raises(NotReplayable) as caught:
        carry_out(body, Script(always_five))
    assert f" at {__file__}:{_foreign_line(body)}; " in str(caught.value)
    gc.collect()
