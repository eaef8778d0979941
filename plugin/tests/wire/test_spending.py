"""The caps on calls and money, on a clock that jumps."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_bias.recording.limits import Capped, Halted, Spending, Stop

from .virtual_time import now, run_virtually

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
                purse.called()
                sent += 1
                await asyncio.sleep(latency)
                price = highest * share
            except Capped:
                return
            finally:
                purse.settle(highest, price)
                assert purse.spent <= budget + 1e-6

        await asyncio.gather(*(call(*each) for each in calls))
        return purse, sent

    purse, sent = run_virtually(scene())
    assert purse.calls == sent
    assert max_calls is None or sent <= max_calls
    assert purse.spent <= budget + 1e-6
    assert purse._reserved == 0


def test_what_calls_in_flight_hold_is_waited_for() -> None:
    async def scene() -> list[tuple[str, float]]:
        purse, stop, told = Spending(budget=1.0), Stop(), list[tuple[str, float]]()

        async def call(name: str, price: float) -> None:
            try:
                await purse.reserve(0.6, stop)
            except Capped:
                told.append((f"{name} capped", now()))
                return
            purse.called()
            await asyncio.sleep(10)
            purse.settle(0.6, price)
            told.append((name, now()))

        await asyncio.gather(call("first", 0.1), call("second", 0.5), call("third", 0.6))
        return told

    # 0.6 are held, 0.1 spent; then 0.6 held beside 0.1; then 0.6 spent, and 0.6 do not fit.
    assert run_virtually(scene()) == [("first", 10), ("second", 20), ("third capped", 20)]


def test_a_price_that_fits_exactly_fits() -> None:
    async def scene() -> None:
        purse, stop = Spending(budget=0.75), Stop()
        for _ in range(3):
            await purse.reserve(0.25, stop)
            purse.called()
            purse.settle(0.25, 0.25)
        with pytest.raises(Capped, match=r"--bias-budget=0\.75 is reached: \$0\.7500 are spent"):
            await purse.reserve(0.25, stop)

    run_virtually(scene())


@pytest.mark.requirement("AUDIT-21")
def test_a_budget_of_nothing_pays_nothing_and_lets_the_free_through() -> None:
    async def scene() -> None:
        purse, stop = Spending(budget=0.0), Stop()
        with pytest.raises(Capped, match="--bias-budget=0 is reached"):
            await purse.reserve(1e-6, stop)
        await purse.reserve(0.0, stop)
        purse.called()
        purse.settle(0.0, 0.0)
        assert (purse.calls, purse.spent) == (1, 0.0)

    run_virtually(scene())


def test_no_calls_at_all() -> None:
    async def scene() -> None:
        purse = Spending(max_calls=0)
        with pytest.raises(Capped, match="--bias-max-calls=0 is reached"):
            await purse.reserve(0.0, Stop())
        with pytest.raises(Capped, match="--bias-max-calls=0 is reached"):
            purse.called()
        assert purse.calls == 0

    run_virtually(scene())


def test_attempts_are_counted_one_by_one() -> None:
    purse = Spending(max_calls=3)
    for _ in range(3):
        purse.called()
    with pytest.raises(Capped, match="--bias-max-calls=3"):
        purse.check()
    with pytest.raises(Capped):
        purse.called()
    assert purse.calls == 3


def test_without_caps_everything_passes_and_is_added_up() -> None:
    async def scene() -> Spending:
        purse, stop = Spending(), Stop()
        for _ in range(100):
            await purse.reserve(1e9, stop)
            purse.called()
            purse.settle(1e9, 2.0)
        return purse

    purse = run_virtually(scene())
    assert (purse.calls, purse.spent) == (100, 200.0)


@pytest.mark.parametrize("cap", ["calls", "stop"])
def test_whoever_waits_for_money_is_told_of_the_end(cap: str) -> None:
    async def scene() -> tuple[BaseException, float]:
        purse, stop = Spending(max_calls=2, budget=1.0), Stop()
        await purse.reserve(0.9, stop)
        purse.called()
        waiter = asyncio.create_task(purse.reserve(0.5, stop))
        await asyncio.sleep(1)
        assert not waiter.done()
        if cap == "calls":
            purse.called()
            purse.settle(0.9, 0.0)
        else:
            stop.request()
        (end,) = await asyncio.gather(waiter, return_exceptions=True)
        assert isinstance(end, BaseException)
        return end, now()

    end, at = run_virtually(scene())
    assert isinstance(end, Capped if cap == "calls" else Halted)
    assert at == 1
