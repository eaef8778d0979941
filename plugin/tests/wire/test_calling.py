"""What one caller does: when it tries again, how long it waits, what it counts."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

import pytest

from pytest_bias.errors import BadSetting, CallFailed
from pytest_bias.experiments.canonical import compact
from pytest_bias.experiments.keys import request_parts
from pytest_bias.experiments.messages import Completion, Message, Parameters, Request
from pytest_bias.providers.base import Call
from pytest_bias.recording.caller import Caller, CallTerms, Retries, Tally
from pytest_bias.recording.limits import Capped, Concurrency, Halted, Spending, Stop, Throttle
from pytest_bias.settings.roster import ModelEntry, Price

from .virtual_time import most_in_a_window, now, run_virtually

ASKED = CallTerms(seed=1)
REQUEST = Request((Message("user", "How long?"),), Parameters(0.5, 100))
PRICE = Price(input=1.0, output=10.0)
USAGE = {"input": 30, "output": 20}
HIGHEST = PRICE.cost(len(compact(request_parts(REQUEST)).encode()), 100)
PAID = PRICE.cost(30, 20)
EVEN = Retries(base=1.0, ceiling=8.0)


def failure(kind: Any, **given: Any) -> CallFailed:
    return CallFailed(model="acme/one", problem=f"planted {kind}", kind=kind, **given)


@dataclass
class Acme:
    """A provider whose calls end as listed, then well; ``latency`` in seconds of the loop."""

    ends: Iterable[CallFailed | None] | Callable[[Call], CallFailed | None] = ()
    latency: float = 1.0
    usage: dict[str, int] = field(default_factory=lambda: dict(USAGE))
    sent: list[float] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._ends = None if callable(self.ends) else iter(self.ends)

    def wire(self, model: str) -> str:
        return f"acme 1.0, {model}"

    async def complete(self, model: str, request: Request, call: Call) -> Completion:
        assert model == "one"
        self.sent.append(now())
        self.calls.append(call)
        end = self.ends(call) if callable(self.ends) else next(self._ends or iter(()), None)
        await asyncio.sleep(self.latency)
        if end is not None:
            raise end
        dropped = tuple(sorted(call.dropped & request.parameters.given))
        return Completion("7", "stop", "one-1", self.usage, latency=0.25, dropped=dropped)

    async def aclose(self) -> None:
        return


def caller(provider: Acme, **given: Any) -> Caller:
    """A caller of ``acme/one``; ``max_calls`` and ``budget`` go to its purse."""
    throttle = Throttle(
        ceiling=given.pop("ceiling", 5),
        tpm=given.pop("tpm", None),
        clock=asyncio.get_running_loop().time,
    )
    throttle.pace.per_minute = given.pop("qpm", None)
    return Caller(
        name="acme/one",
        provider=provider,
        entry=given.pop("entry", ModelEntry(price=PRICE)),
        throttle=throttle,
        spending=Spending(given.pop("max_calls", None), given.pop("budget", None)),
        timeout=given.pop("timeout", 120.0),
        rng=Random(given.pop("seed", 0)),  # noqa: S311  (no secret)
        retries=given.pop("retries", EVEN),
        **given,
    )


def ended(
    provider: Acme,
    *,
    times: int = 1,
    at_once: bool = False,
    asked: CallTerms = ASKED,
    **given: Any,
) -> tuple[Caller, list[Completion | BaseException]]:
    """The caller, and how each of its calls ended."""

    async def scene() -> tuple[Caller, list[Completion | BaseException]]:
        of, stop = caller(provider, **given), Stop()
        if at_once:
            calls = [of.call(REQUEST, asked, stop) for _ in range(times)]
            return of, list(await asyncio.gather(*calls, return_exceptions=True))
        ends: list[Completion | BaseException] = []
        for _ in range(times):
            ends += await asyncio.gather(of.call(REQUEST, asked, stop), return_exceptions=True)
        return of, ends

    return run_virtually(scene())


def gaps(times: Sequence[float]) -> list[float]:
    return [b - a for a, b in itertools.pairwise(times)]


def test_a_call_that_is_answered_is_counted_and_paid() -> None:
    provider = Acme()
    of, (end,) = ended(provider, asked=CallTerms(seed=77), timeout=33.0)
    assert isinstance(end, Completion)
    assert end.latency == 0.25  # the provider's, not the time that passed here
    assert provider.calls == [Call(77, 33.0, frozenset())]
    tally = of.tally
    assert (tally.attempts, tally.replies, tally.failures) == (1, 1, {})
    assert (tally.input_tokens, tally.output_tokens) == (30, 20)
    assert tally.cost == pytest.approx(PAID)
    assert of.wire == "acme 1.0, one"


@pytest.mark.parametrize("kind", ["fatal", "parameter"])
def test_what_trying_again_cannot_mend_is_not_tried_again(kind: Any) -> None:
    provider = Acme([failure(kind, parameter="temperature" if kind == "parameter" else None)])
    of, (end,) = ended(provider)
    assert isinstance(end, CallFailed)
    assert end.kind == kind
    assert len(provider.sent) == 1
    assert of.tally.failures == {kind: 1}
    assert of.throttle._in_flight == 0


@pytest.mark.parametrize("kind", ["transient", "rate_limit"])
def test_what_passes_is_tried_again_after_a_wait_that_doubles_with_jitter(kind: Any) -> None:
    provider = Acme([failure(kind)] * 4)
    of, (end,) = ended(provider)
    assert isinstance(end, Completion)
    waits = [gap - provider.latency for gap in gaps(provider.sent)]
    for number, wait in enumerate(waits):
        assert 0.5 * 2**number <= wait <= 1.5 * 2**number
    assert (of.tally.attempts, of.tally.replies, of.tally.failures) == (5, 1, {kind: 4})
    assert of.throttle.concurrency.episodes == (4 if kind == "rate_limit" else 0)


def test_the_jitter_differs_between_calls_that_failed_together() -> None:
    wave = Concurrency(100).start
    first = iter([failure("transient")] * wave)
    provider = Acme(lambda _: next(first, None))
    ended(provider, times=wave, at_once=True, ceiling=100)
    again = provider.sent[wave:]
    assert provider.sent[:wave] == [0] * wave
    assert len(set(again)) == wave
    assert max(again) - min(again) > 0.5


def test_a_wait_is_not_longer_than_the_ceiling() -> None:
    waits = [EVEN.wait(number, Random(0)) for number in range(1, 30)]  # noqa: S311  (no secret)
    assert max(waits) <= 1.5 * EVEN.ceiling


@pytest.mark.parametrize("kind", ["transient", "reply", "rate_limit"])
def test_failures_that_pass_are_tried_again_so_often_and_no_more(kind: Any) -> None:
    provider = Acme([failure(kind)] * 100)
    of, (end,) = ended(provider)
    assert isinstance(end, CallFailed)
    assert end.kind == kind
    again = EVEN.rate_limit if kind == "rate_limit" else EVEN.transient
    assert of.tally.attempts == of.spending.calls == 1 + again


def test_answers_that_are_no_reply_are_tried_again_within_the_caps() -> None:
    of, (end,) = ended(Acme([failure("reply")] * 100), max_calls=3, budget=1.0)
    assert isinstance(end, Capped)
    assert of.tally.attempts == 3
    of, (end,) = ended(Acme([failure("reply")] * 100), budget=HIGHEST * 2.5)
    assert isinstance(end, Capped)
    assert of.spending.spent == pytest.approx(HIGHEST * 2)


def test_a_rate_limit_is_no_fault_of_the_call() -> None:
    ends = [failure("rate_limit"), failure("transient")] * 4
    of, (end,) = ended(Acme(ends))
    assert isinstance(end, Completion)
    assert of.tally.failures == {"rate_limit": 4, "transient": 4}


def test_a_server_that_says_when_to_come_back_is_obeyed() -> None:
    provider = Acme([failure("transient", retry_after=42.0)])
    ended(provider)
    assert gaps(provider.sent) == pytest.approx([43.0])


def test_nobody_is_sent_before_the_time_a_rate_limit_names_has_passed() -> None:
    ends = iter([None, failure("rate_limit", retry_after=100.0)])
    provider = Acme(lambda _: next(ends, None))
    of, all_ends = ended(provider, times=50, at_once=True, ceiling=100, qpm=600)
    assert all(isinstance(end, Completion) for end in all_ends)
    known = provider.sent[1] + provider.latency
    assert not [at for at in provider.sent if known < at < known + 100 - 1e-6]
    assert [at for at in provider.sent if at >= known + 100 - 1e-6]
    assert (of.tally.attempts, of.tally.failures) == (51, {"rate_limit": 1})
    assert most_in_a_window(provider.sent) <= 600


def test_calls_in_flight_at_a_rate_limit_back_off_once() -> None:
    # All of the first wave are refused.
    wave = Concurrency(100).start
    first = iter([failure("rate_limit")] * wave)
    provider = Acme(lambda _: next(first, None))
    of, ends = ended(provider, times=60, at_once=True, ceiling=100)
    assert all(isinstance(end, Completion) for end in ends)
    assert of.throttle.concurrency.episodes == 1
    assert provider.sent[:wave] == [0] * wave
    known = provider.latency
    later = provider.sent[wave:]
    assert min(later) >= known + 0.5
    # Half of those that were in flight come back, and no more.
    assert sum(at == min(later) for at in later) == wave // 2


def test_a_wait_of_nothing_is_still_a_wait() -> None:
    """Some gateways say ``Retry-After: 0``: ten attempts at once would not help anybody."""
    provider = Acme([failure("rate_limit", retry_after=0.0)] * 5)
    ended(provider)
    assert min(gaps(provider.sent)) > provider.latency


def test_a_longer_wait_than_the_longest_is_not_waited_for() -> None:
    provider = Acme([failure("rate_limit", retry_after=601.0)])
    of, ends = ended(provider, times=2)
    assert isinstance(ends[0], CallFailed)
    assert isinstance(ends[1], Completion)
    assert provider.sent == [0, 1]
    assert of.tally.waiting == 0
    provider = Acme([failure("rate_limit", retry_after=600.0)])
    _, (end,) = ended(provider)
    assert isinstance(end, Completion)
    assert provider.sent == pytest.approx([0, 601])


@pytest.mark.parametrize("kind", ["transient", "rate_limit"])
def test_a_longer_wait_is_told_with_what_to_do(kind: Any) -> None:
    provider = Acme([failure(kind, retry_after=86_341.0)])
    _, (end,) = ended(provider)
    assert isinstance(end, CallFailed)
    assert (end.kind, end.retry_after) == (kind, 86_341.0)
    assert f"planted {kind} (it asks to wait 1,440 min, which is not waited for; run " in str(end)
    assert provider.sent == [0]


@pytest.mark.parametrize("kind", ["transient", "rate_limit"])
def test_the_books_tell_the_wait_until_it_is_over(kind: Any) -> None:
    async def scene() -> list[float]:
        of, stop = caller(Acme([failure(kind, retry_after=30.0)])), Stop()
        call = asyncio.create_task(of.call(REQUEST, ASKED, stop))
        seen = []
        for _ in range(2):
            await asyncio.sleep(20)
            seen.append(of.tally.waiting)
        await call
        return [*seen, of.tally.waiting]

    assert run_virtually(scene()) == [30.0, 0.0, 0.0]


def test_every_attempt_is_shown_when_it_ends_a_failed_one_before_the_next() -> None:
    shown: list[tuple[float, int, int, float]] = []

    def show(tally: Tally) -> None:
        shown.append((now(), tally.replies, tally.failures["rate_limit"], tally.waiting))

    ended(Acme([failure("rate_limit", retry_after=30.0)]), progress=show)
    assert shown == [(1.0, 0, 1, 30.0), (32.0, 1, 1, 0.0)]


@pytest.mark.parametrize("kind", ["transient", "rate_limit"])
def test_a_stop_ends_the_wait_before_trying_again(kind: Any) -> None:
    async def scene() -> tuple[object, float]:
        of, stop = caller(Acme([failure(kind, retry_after=500.0)])), Stop()
        call = asyncio.create_task(of.call(REQUEST, ASKED, stop))
        await asyncio.sleep(10)
        stop.request()
        (end,) = await asyncio.gather(call, return_exceptions=True)
        assert of.throttle._in_flight == 0
        return end, now()

    end, at = run_virtually(scene())
    assert isinstance(end, Halted)
    assert at == 10


@pytest.mark.parametrize(
    ("kind", "wait", "stopped", "how", "when"),
    [
        ("rate_limit", 25.0, 10, Halted, 10),
        ("rate_limit", 15.0, 10, Completion, 17),
        ("rate_limit", 15.0, 0.5, CallFailed, 1),  # what fails after a stop is not tried again
        ("transient", 15.0, 10, CallFailed, 10),
    ],
)
def test_a_trial_that_has_begun_waits_out_a_short_rate_limit_at_a_stop_and_no_longer_one(
    kind: Any, wait: float, stopped: float, how: type[object], when: float
) -> None:
    async def scene() -> tuple[object, float]:
        of, above = caller(Acme([failure(kind, retry_after=wait)])), Stop()
        with of.spending.promising(2) as promise:
            call = asyncio.create_task(of.call(REQUEST, ASKED, Stop(above, promise)))
            await asyncio.sleep(stopped)
            above.request()
            (end,) = await asyncio.gather(call, return_exceptions=True)
        return end, now()

    end, at = run_virtually(scene())
    assert isinstance(end, how)
    assert at == when


def test_a_reply_under_way_at_a_stop_is_kept() -> None:
    async def scene() -> object:
        of, stop = caller(Acme(latency=50)), Stop()
        call = asyncio.create_task(of.call(REQUEST, ASKED, stop))
        await asyncio.sleep(10)
        stop.request()
        return await call

    assert isinstance(run_virtually(scene()), Completion)


def test_every_attempt_counts_towards_the_cap() -> None:
    provider = Acme(lambda _: failure("transient"))
    of, ends = ended(provider, times=4, max_calls=7)
    assert [type(end) for end in ends] == [CallFailed, Capped, Capped, Capped]
    assert len(provider.sent) == 7 == of.tally.attempts


def test_nobody_waits_for_the_pace_once_no_call_is_left() -> None:
    """At one request in two minutes, telling 19 calls one by one would take 38 minutes."""

    async def scene() -> float:
        of, stop = caller(Acme(), ceiling=100, qpm=1, max_calls=2), Stop()
        calls = [of.call(REQUEST, ASKED, stop) for _ in range(20)]
        ends = await asyncio.gather(*calls, return_exceptions=True)
        assert [type(end) for end in ends].count(Capped) == 18
        return now()

    assert run_virtually(scene()) <= 120 + 1 + 1e-6


def test_a_cap_leaves_no_slot_and_no_money_behind() -> None:
    of, _ = ended(Acme(), times=9, at_once=True, max_calls=3, budget=HIGHEST * 5)
    assert of.throttle._in_flight == 0
    assert of.spending._reserved == 0
    assert of.spending.spent == pytest.approx(3 * PAID)


def test_the_budget_holds_for_the_highest_price() -> None:
    provider = Acme(usage={"input": 0, "output": 100})
    budget = PRICE.cost(0, 100) * 10 + HIGHEST / 2
    of, ends = ended(provider, times=50, at_once=True, ceiling=100, budget=budget)
    assert of.spending.spent <= budget
    assert sum(isinstance(end, Completion) for end in ends) == 10


@pytest.mark.parametrize(
    ("planted", "price"),
    [
        (failure("transient", answered=False), HIGHEST),
        (failure("transient"), 0.0),
        (failure("reply"), HIGHEST),
        (failure("fatal"), 0.0),
        (failure("rate_limit"), 0.0),
    ],
)
def test_what_may_have_been_carried_out_is_counted_at_its_highest_price(
    planted: CallFailed, price: float
) -> None:
    of, (end,) = ended(Acme([planted]), budget=1.0)
    paid = PAID if isinstance(end, Completion) else 0.0
    assert of.spending.spent == pytest.approx(price + paid)
    assert of.tally.cost == pytest.approx(price + paid)


USAGES: list[Any] = [
    None,
    {},
    {"input": 0, "output": 0},
    {"output": 20},
    {"input": -(10**9), "output": 20},
    {"input": 30, "output": True},
    {"input": 30, "output": "20"},
    {"input": 30.5, "output": 20},
    {"input": float("nan"), "output": 20},
    {"input": 30, "output": float("inf")},
    {"input": 30, "output": 10**400},
]


@pytest.mark.parametrize("usage", USAGES, ids=map(str, range(len(USAGES))))
def test_a_reply_without_usage_is_counted_at_its_highest_price(usage: Any) -> None:
    of, (end,) = ended(Acme(usage=usage), budget=1.0, tpm=10**6)
    assert isinstance(end, Completion)
    assert of.spending.spent == of.tally.cost == pytest.approx(HIGHEST)
    assert of.tally.input_tokens in (0, 30)
    assert of.tally.output_tokens in (0, 20)
    ((_, size),) = of.throttle.tokens._sent
    assert 100 <= size <= HIGHEST * 10**6
    assert of.tally.uncosted == 0
    unlimited, _ = ended(Acme(usage=usage))
    assert (unlimited.tally.uncosted, unlimited.tally.cost) == (1, 0.0)


@pytest.mark.parametrize(("kind", "uncosted"), [("reply", 1), ("transient", 0), ("fatal", 0)])
def test_a_paid_reply_that_was_thrown_away_has_no_known_cost(kind: str, uncosted: int) -> None:
    of, _ = ended(Acme([failure(kind)]))
    assert of.tally.uncosted == uncosted


def test_the_highest_price_takes_every_byte_for_a_token() -> None:
    text = "Ω" * 500
    request = Request((Message("user", text),), Parameters(max_output_tokens=10))

    async def scene() -> float:
        of = caller(Acme(), budget=1.0)
        return of._highest_price(request)

    assert run_virtually(scene()) >= PRICE.cost(1000, 10)


@pytest.mark.parametrize(
    ("entry", "parameters", "words"),
    [
        (ModelEntry(), Parameters(max_output_tokens=9), "acme/one has no price in the roster"),
        (ModelEntry(price=PRICE), Parameters(), "acme/one has no limit of a reply.s tokens"),
        (
            ModelEntry(price=PRICE, refuses=frozenset({"max_output_tokens"})),
            Parameters(max_output_tokens=9),
            "acme/one has no limit of a reply.s tokens",
        ),
    ],
)
def test_a_budget_that_nothing_holds_against_is_refused_before_the_first_call(
    entry: ModelEntry, parameters: Parameters, words: str
) -> None:
    provider = Acme()

    async def scene() -> None:
        of = caller(provider, budget=1234567.0, entry=entry)
        request = Request((Message("user", "?"),), parameters)
        with pytest.raises(BadSetting, match=words) as caught:
            await of.call(request, CallTerms(1, frozenset({"max_output_tokens"})), Stop())
        assert str(caught.value).startswith("--bias-budget=1234567: ")

    run_virtually(scene())
    assert provider.sent == []


def test_without_a_budget_no_price_is_needed() -> None:
    of, (end,) = ended(Acme(), entry=ModelEntry())
    assert isinstance(end, Completion)
    assert (of.tally.cost, of.tally.priced) == (0.0, False)


def test_replies_longer_than_thought_slow_the_calls_down() -> None:
    provider = Acme(usage={"input": 100, "output": 900})
    _, ends = ended(provider, times=12, tpm=2000)
    assert all(isinstance(end, Completion) for end in ends)
    assert most_in_a_window(provider.sent, 59.9) <= 2


def test_a_failed_attempt_keeps_its_estimate_in_the_window() -> None:
    provider = Acme([failure("transient")] * 3)
    of, _ = ended(provider, tpm=1000)
    assert len(of.throttle.tokens._sent) == 4
    assert all(size > 0 for _, size in of.throttle.tokens._sent)


MAY_DROP = CallTerms(1, frozenset({"temperature"}))


def _fussy(call: Call) -> CallFailed | None:
    if "temperature" in call.dropped:
        return None
    return failure("parameter", parameter="temperature")


def test_a_refused_parameter_is_left_out_where_that_is_allowed_and_learned_once() -> None:
    provider = Acme(_fussy)
    of, ends = ended(provider, times=3, asked=MAY_DROP)
    assert [end.dropped for end in ends if isinstance(end, Completion)] == [("temperature",)] * 3
    assert [call.dropped for call in provider.calls] == [
        frozenset(),
        *[frozenset({"temperature"})] * 3,
    ]
    assert of.tally.failures == {"parameter": 1}


def test_calls_in_flight_that_are_refused_together_all_go_without_it() -> None:
    """The first wave is sent before anybody can know what the model refuses."""
    provider, wave = Acme(_fussy), Concurrency(100).start
    of, ends = ended(provider, times=wave, at_once=True, ceiling=100, asked=MAY_DROP)
    assert [type(end) for end in ends] == [Completion] * wave
    assert of.tally.failures == {"parameter": wave}
    assert len(provider.calls) == 2 * wave


def test_what_one_experiment_learned_holds_for_the_next_that_insists() -> None:
    provider = Acme(_fussy)

    async def scene() -> str:
        of, stop = caller(provider), Stop()
        await of.call(REQUEST, MAY_DROP, stop)
        with pytest.raises(CallFailed) as caught:
            await of.call(REQUEST, ASKED, stop)
        return str(caught.value)

    told = run_virtually(scene())
    assert "the model refuses temperature" in told
    assert "may_drop=['temperature']" in told
    assert len(provider.calls) == 2


def test_what_the_roster_says_a_model_refuses_is_never_sent() -> None:
    provider = Acme(_fussy)
    entry = ModelEntry(refuses=frozenset({"temperature"}))
    of, (end,) = ended(provider, asked=MAY_DROP, entry=entry)
    assert isinstance(end, Completion)
    assert [call.dropped for call in provider.calls] == [frozenset({"temperature"})]
    _, (end,) = ended(Acme(_fussy), entry=entry)
    assert isinstance(end, CallFailed)
    assert "add may_drop=['temperature'] to the experiment" in str(end)
    assert of.tally.failures == {}


def test_a_parameter_refused_though_it_is_not_sent_ends_the_call() -> None:
    """A provider that goes on refusing would be called for ever."""
    provider = Acme(lambda _: failure("parameter", parameter="temperature"))
    _, (end,) = ended(provider, asked=MAY_DROP, max_calls=1000)
    assert isinstance(end, CallFailed)
    assert end.kind == "parameter"
    assert len(provider.calls) <= 2
