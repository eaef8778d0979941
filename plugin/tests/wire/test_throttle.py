"""Pace, tokens, calls in flight, stops and caps on money, on a clock that jumps."""

from __future__ import annotations

import asyncio
from contextlib import ExitStack

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_bias.recording.limits import (
    Capped,
    Concurrency,
    Halted,
    Pace,
    Spending,
    Stop,
    Throttle,
)

from .virtual_time import (
    most_in_a_window,
    most_weight_in_a_window,
    now,
    run_virtually,
)


def throttle(ceiling: int = 1000, qpm: int | None = None, tpm: int | None = None) -> Throttle:
    """A throttle of the running loop."""
    gate = Throttle(ceiling=ceiling, tpm=tpm, clock=asyncio.get_running_loop().time)
    gate.pace.per_minute = qpm
    return gate


async def _sent_at(per_minute: int, wanted: int) -> list[float]:
    gate, stop, sent = throttle(qpm=per_minute), Stop(), list[float]()

    async def one() -> None:
        await gate.enter(1, stop, Spending())
        sent.append(now())

    await asyncio.gather(*(one() for _ in range(wanted)))
    return sent


@pytest.mark.parametrize("per_minute", [1, 7, 60, 600])
def test_no_minute_holds_more_requests_than_the_limit(per_minute: int) -> None:
    wanted = 3 * per_minute + 5
    sent = run_virtually(_sent_at(per_minute, wanted))
    assert len(sent) == wanted
    assert sent == sorted(sent)
    assert sent[0] == 0
    assert most_in_a_window(sent) <= per_minute
    rate = (wanted - 1) / (sent[-1] / 60)
    # One interval in every minute is left to the network's jitter, and no more.
    assert rate >= max(0.5, per_minute - 1) - 1e-6


def test_of_several_jobs_at_a_pace_the_slowest_counts() -> None:
    pace = Pace(None)
    # They need not end in the order in which they began.
    with ExitStack() as first, ExitStack() as second:
        first.enter_context(pace.at_most(7))
        second.enter_context(pace.at_most(60))
        second.enter_context(pace.at_most(None))
        paces = [pace.per_minute]
        first.close()
        paces.append(pace.per_minute)
    assert [*paces, pace.per_minute] == [7, 60, None]


@given(st.lists(st.integers(1, 100), min_size=1, max_size=60), st.integers(100, 400))
def test_no_minute_holds_more_tokens_than_the_limit(sizes: list[int], limit: int) -> None:
    async def all_of_them() -> list[float]:
        gate, stop, sent = throttle(tpm=limit), Stop(), list[float]()
        for size in sizes:
            charged = await gate.enter(size, stop, Spending())
            sent.append(now())
            charged.tokens = size
        return sent

    sent = run_virtually(all_of_them())
    assert most_weight_in_a_window(sent, sizes) <= limit + 1e-6


@pytest.mark.parametrize("ceiling", [1, 2, 4, 16, 100])
def test_calls_in_flight_begin_with_a_part_of_the_ceiling_and_grow_to_it(ceiling: int) -> None:
    calls = Concurrency(ceiling)
    assert 1 <= calls.limit == calls.start <= max(1, ceiling / 2)
    for number in (1, 2, 3):
        calls.succeeded()
        assert calls.limit == min(ceiling, calls.start + 4 * number)
    for _ in range(100):
        calls.succeeded()
    assert calls.limit == ceiling


def test_a_rate_limit_halves_once_for_all_calls_that_were_in_flight_and_a_round_adds_one() -> None:
    calls = Concurrency(100)
    for _ in range(100):
        calls.succeeded()
    begins = [calls.limited(sent_at=1.0 + call / 1000, now=2.0 + call) for call in range(100)]
    assert begins == [True] + [False] * 99
    assert (calls.limit, calls.episodes, calls.in_a_row) == (50, 1, 1)
    assert calls.limited(sent_at=150.0, now=151.0)
    assert (calls.limit, calls.episodes, calls.in_a_row) == (25, 2, 2)
    for _ in range(25):
        calls.succeeded()
    assert 25.9 < calls.limit <= 26
    assert calls.in_a_row == 0
    for second in range(200, 220):
        calls.limited(second, second + 0.5)
    assert calls.limit == 1  # at least


def test_a_slot_freed_by_a_job_that_stops_goes_to_the_other_job() -> None:
    """Two jobs share a judge: what the first one's waiters leave behind is the second one's."""

    async def scene() -> list[object]:
        gate, first, second = throttle(ceiling=1), Stop(), Stop()

        async def call(stop: Stop, *, fails: bool = False) -> str:
            async with gate.slot(stop):
                await asyncio.sleep(1)
            if fails:  # which stops the job before any other task comes to run
                first.request()
            return "let in"

        calls = (call(first, fails=True), call(first), call(second))
        return list(await asyncio.gather(*calls, return_exceptions=True))

    _, halted, let_in = run_virtually(scene())
    assert isinstance(halted, Halted)
    assert let_in == "let in"


OUTCOMES = st.sampled_from(["success", "failure", "limit", "stop"])
STEPS = st.lists(
    st.tuples(OUTCOMES, st.floats(0.001, 30), st.integers(1, 50)), min_size=1, max_size=40
)


@given(
    STEPS,
    st.integers(1, 12),
    st.sampled_from([None, 7, 60, 600]),
    st.sampled_from([None, 40, 1000]),
)
def test_no_waiter_is_ever_lost(
    steps: list[tuple[str, float, int]], ceiling: int, qpm: int | None, tpm: int | None
) -> None:
    async def scene() -> list[str]:
        gate, stop = throttle(ceiling=ceiling, qpm=qpm, tpm=tpm), Stop()
        in_flight = most = 0

        async def call(outcome: str, latency: float, tokens: int) -> str:
            nonlocal in_flight, most
            try:
                async with gate.slot(stop):
                    charged = await gate.enter(tokens, stop, Spending())
                    sent_at = now()
                    in_flight += 1
                    most = max(most, in_flight)
                    await asyncio.sleep(latency)
                    in_flight -= 1
                    if outcome == "stop":
                        stop.request()
                    elif outcome == "limit":
                        gate.concurrency.limited(sent_at, now())
                        gate.pause(latency)
                    charged.tokens = tokens * 1.5
            except Halted:
                return "halted"
            if outcome == "success":
                gate.succeeded()
            return outcome

        ends = await asyncio.gather(*(call(*step) for step in steps))
        assert gate._in_flight == 0
        assert not stop.waiting
        assert most <= ceiling
        return list(ends)

    ends = run_virtually(scene())
    assert len(ends) == len(steps)
    assert ("halted" not in ends) or ("stop" in ends)
    wanted = [outcome for outcome, _, _ in steps]
    if "stop" not in wanted:
        assert ends == wanted


CALLS = st.lists(
    st.tuples(st.floats(0.01, 3), st.floats(0, 1), st.floats(0.001, 10)), min_size=1, max_size=40
)
"""Highest price, the share of it that is charged, seconds in flight."""


@given(CALLS, st.floats(0, 10), st.one_of(st.none(), st.integers(0, 30)))
def test_no_cap_is_ever_exceeded_and_everybody_comes_to_an_end(
    calls: list[tuple[float, float, float]], budget: float, max_calls: int | None
) -> None:
    async def scene() -> tuple[Spending, int]:
        purse, stop, sent = Spending(max_calls=max_calls, budget=budget), Stop(), 0

        async def call(highest: float, share: float, latency: float) -> None:
            nonlocal sent
            try:
                await purse.reserve(highest, stop)
            except Capped:
                return
            price = 0.0
            try:
                purse.sent(stop)
                sent += 1
                await asyncio.sleep(latency)
                price = highest * share
            except Capped:
                return
            finally:
                purse.charge(highest, price)
                assert purse.spent <= budget + 1e-6

        await asyncio.gather(*(call(*each) for each in calls))
        return purse, sent

    purse, sent = run_virtually(scene())
    assert purse.calls == sent
    assert max_calls is None or sent <= max_calls
    assert purse.spent <= budget + 1e-6
    assert purse._money == 0


@pytest.mark.requirement("AUDIT-21")
def test_a_budget_that_is_used_up_pays_nothing_more_and_lets_the_free_through() -> None:
    async def scene() -> None:
        purse, stop = Spending(budget=0.75), Stop()
        for _ in range(3):  # which fit exactly
            await purse.reserve(0.25, stop)
            purse.sent(stop)
            purse.charge(0.25, 0.25)
        with pytest.raises(Capped, match=r"--bias-budget=0\.75 is reached: \$0\.7500 are spent"):
            await purse.reserve(1e-6, stop)
        await purse.reserve(0.0, stop)
        purse.sent(stop)
        purse.charge(0.0, 0.0)
        assert (purse.calls, purse.spent) == (4, 0.75)

    run_virtually(scene())
