"""What one caller does: when it tries again, how long it waits, what it counts."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from typing import Any

import pytest

from pytest_bias.errors import BadSetting, CallFailed
from pytest_bias.experiments.canonical import compact
from pytest_bias.experiments.messages import (
    Completion,
    Message,
    Parameters,
    Request,
    request_parts,
)
from pytest_bias.providers.base import Call, ProviderContext
from pytest_bias.recording.caller import Caller, Retries, Terms
from pytest_bias.recording.limits import Capped, Halted, Spending, Stop
from pytest_bias.settings.model_entry import ModelEntry, Price
from pytest_bias.settings.roster import Roster
from pytest_bias.settings.settings import Limits

from .virtual_time import most_in_a_window, now, run_virtually

CALL = Call(seed=1)
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
        dropped = tuple(sorted(call.dropped & request.parameters.sent))
        return Completion("7", "stop", "one-1", self.usage, latency=0.25, dropped=dropped)

    async def aclose(self) -> None:
        return


def caller(provider: Acme, **given: Any) -> Caller:
    """A caller of ``acme/one``; ``max_calls`` and ``budget`` go to its purse."""
    entry = given.pop("entry", ModelEntry(price=PRICE))
    terms = Terms(
        mode="missing",
        folder=Path(),
        context=ProviderContext({}),
        roster=Roster(
            models={"acme/one": replace(entry, tokens_per_minute=given.pop("tpm", None))}
        ),
        limits=Limits(concurrency=given.pop("ceiling", 5), timeout=given.pop("timeout", 120.0)),
        retries=EVEN,
    )
    qpm, spending = (
        given.pop("qpm", None),
        Spending(given.pop("max_calls", None), given.pop("budget", None)),
    )
    found = Caller("acme/one", provider, terms, spending, **given)
    found.throttle.pace.per_minute = qpm
    return found


def ended(
    provider: Acme,
    *,
    times: int = 1,
    at_once: bool = False,
    call: Call = CALL,
    may_drop: frozenset[str] = frozenset(),
    request: Request = REQUEST,
    **given: Any,
) -> tuple[Caller, list[Completion | BaseException]]:
    """The caller, and how each of its calls ended."""

    async def scene() -> tuple[Caller, list[Completion | BaseException]]:
        of, stop = caller(provider, **given), Stop()
        if at_once:
            calls = [of.call(request, call, stop, may_drop) for _ in range(times)]
            return of, list(await asyncio.gather(*calls, return_exceptions=True))
        ends: list[Completion | BaseException] = []
        for _ in range(times):
            ends += await asyncio.gather(
                of.call(request, call, stop, may_drop), return_exceptions=True
            )
        return of, ends

    return run_virtually(scene())


def gaps(times: Sequence[float]) -> list[float]:
    return [b - a for a, b in itertools.pairwise(times)]


def test_a_call_that_is_answered_is_counted_and_paid() -> None:
    provider = Acme()
    of, (end,) = ended(provider, call=Call(seed=77), timeout=33.0)
    assert isinstance(end, Completion)
    assert end.latency == 0.25  # the provider's, not the time that passed here
    assert provider.calls == [Call(77, 33.0, frozenset())]
    tally = of.tally
    assert (tally.attempts, tally.replies, tally.failures) == (1, 1, {})
    assert (tally.input_tokens, tally.output_tokens) == (30, 20)
    assert tally.cost == pytest.approx(PAID)
    assert of.wire == "acme 1.0, one"


ENDS: dict[str, tuple[list[CallFailed], dict[str, Any], type, int]] = {
    "refused": ([failure("fatal")], {}, CallFailed, 1),
    "a parameter": ([failure("parameter", parameter="temperature")], {}, CallFailed, 1),
    "an outage": ([failure("transient")] * 100, {}, CallFailed, 1 + EVEN.transient),
    "no reply": ([failure("reply")] * 100, {}, CallFailed, 1 + EVEN.transient),
    "limited": ([failure("rate_limit")] * 100, {}, CallFailed, 1 + EVEN.rate_limit),
    # Longer than the longest wait is not waited for.
    "for long": ([failure("rate_limit", retry_after=601.0)], {}, CallFailed, 1),
    # A rate limit is no fault of the call.
    "both": ([failure("rate_limit"), failure("transient")] * 4, {}, Completion, 9),
    "a cap": ([failure("reply")] * 100, {"max_calls": 3, "budget": 1.0}, Capped, 3),
    "money": ([failure("reply")] * 100, {"budget": HIGHEST * 2.5}, Capped, 2),
}


@pytest.mark.parametrize(("ends", "limits", "how", "attempts"), ENDS.values(), ids=ENDS)
def test_what_may_pass_is_tried_again_so_often_within_the_caps_and_nothing_else(
    ends: list[CallFailed], limits: dict[str, Any], how: type, attempts: int
) -> None:
    provider = Acme(ends)
    of, (end,) = ended(provider, **limits)
    assert isinstance(end, how)
    assert len(provider.sent) == of.tally.attempts == of.spending.calls == attempts
    assert sum(of.tally.failures.values()) == attempts - (how is Completion)
    assert of.throttle._in_flight == of.spending._money == 0
    if isinstance(end, CallFailed):
        assert end.kind == ends[0].kind


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


@pytest.mark.parametrize(
    ("kind", "wait", "passed"),
    [("transient", 42.0, 43.0), ("rate_limit", 600.0, 601.0), ("rate_limit", 0.0, 1.5)],
)
def test_a_server_that_says_when_to_come_back_is_obeyed(
    kind: Any, wait: float, passed: float
) -> None:
    """Some gateways say ``Retry-After: 0``: ten attempts at once would not help anybody."""
    provider = Acme([failure(kind, retry_after=wait)])
    _, (end,) = ended(provider)
    assert isinstance(end, Completion)
    (gap,) = gaps(provider.sent)
    assert passed - 1e-6 <= gap <= (passed if wait else 3.0) + 1e-6
    assert max(EVEN.wait(number, Random(0)) for number in range(1, 30)) <= 1.5 * EVEN.ceiling  # noqa: S311  (no secret)


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


@pytest.mark.parametrize(
    ("whole", "kind", "wait", "stopped", "how", "when"),
    [
        (False, "transient", 500.0, 10, Halted, 10),
        (False, "rate_limit", 500.0, 10, Halted, 10),
        # A trial that has begun waits out a short rate limit, and no longer one.
        (True, "rate_limit", 25.0, 10, Halted, 10),
        (True, "rate_limit", 15.0, 10, Completion, 17),
        (True, "rate_limit", 15.0, 0.5, CallFailed, 1),  # what fails then is not tried again
        (True, "transient", 15.0, 10, CallFailed, 10),
        (False, None, 0.0, 0.5, Completion, 1),  # a reply under way is kept
    ],
)
def test_what_a_stop_leaves_of_a_call(
    *, whole: bool, kind: Any, wait: float, stopped: float, how: type[object], when: float
) -> None:
    async def scene() -> tuple[object, float]:
        ends = [failure(kind, retry_after=wait)] if kind else []
        of, above = caller(Acme(ends)), Stop()
        stop = Stop(above, whole=whole)
        with of.spending.reserve_calls(stop, 2 if whole else 0):
            call = asyncio.create_task(of.call(REQUEST, CALL, stop))
            await asyncio.sleep(stopped)
            above.request()
            (end,) = await asyncio.gather(call, return_exceptions=True)
        assert of.throttle._in_flight == of.spending.reserved == 0
        return end, now()

    end, at = run_virtually(scene())
    assert isinstance(end, how)
    assert at == when


@pytest.mark.parametrize(
    ("planted", "price"),
    [
        (failure("transient", answered=False), HIGHEST),
        (failure("transient"), 0.0),
        (failure("reply"), HIGHEST),
        (failure("fatal"), 0.0),
        (failure("rate_limit"), 0.0),
    ],
    ids=str,
)
def test_what_may_have_been_carried_out_is_counted_at_its_highest_price(
    planted: CallFailed, price: float
) -> None:
    of, (end,) = ended(Acme([planted]), budget=1.0)
    paid = PAID if isinstance(end, Completion) else 0.0
    assert of.spending.spent == pytest.approx(price + paid)
    assert of.tally.cost == pytest.approx(price + paid)
    unlimited, _ = ended(Acme([planted]))
    assert unlimited.tally.uncosted == (planted.kind == "reply")


USAGES: list[Any] = [
    None,
    {"input": 0, "output": 0},
    {"output": 20},
    {"input": -(10**9), "output": 20},
    {"input": 30, "output": True},
    {"input": 30, "output": float("inf")},
]


@pytest.mark.parametrize("usage", USAGES, ids=map(str, range(len(USAGES))))
def test_a_reply_without_usage_is_counted_at_its_highest_price(usage: Any) -> None:
    of, (end,) = ended(Acme(usage=usage), budget=1.0, tpm=10**6)
    assert isinstance(end, Completion)
    assert of.spending.spent == of.tally.cost == pytest.approx(HIGHEST)
    assert of.tally.input_tokens in (0, 30)
    assert of.tally.output_tokens in (0, 20)
    (sent,) = of.throttle.tokens._sent
    assert 100 <= sent.tokens <= HIGHEST * 10**6
    assert of.tally.uncosted == 0
    unlimited, _ = ended(Acme(usage=usage))
    assert (unlimited.tally.uncosted, unlimited.tally.cost) == (1, 0.0)


@pytest.mark.parametrize(
    ("entry", "parameters", "words"),
    [
        (
            ModelEntry(),
            Parameters(max_output_tokens=9),
            "add price = { input = …, output = … } ",
        ),
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
            await of.call(request, CALL, Stop(), frozenset({"max_output_tokens"}))
        assert str(caught.value).startswith("--bias-budget=1234567: ")

    run_virtually(scene())
    assert provider.sent == []


MAY_DROP = frozenset({"temperature"})


def _fussy(call: Call) -> CallFailed | None:
    if "temperature" in call.dropped:
        return None
    return failure("parameter", parameter="temperature")


def test_a_refused_parameter_is_left_out_where_that_is_allowed_and_learned_once() -> None:
    provider = Acme(_fussy)
    of, ends = ended(provider, times=3, may_drop=MAY_DROP)
    assert [end.dropped for end in ends if isinstance(end, Completion)] == [("temperature",)] * 3
    assert [call.dropped for call in provider.calls] == [
        frozenset(),
        *[frozenset({"temperature"})] * 3,
    ]
    assert of.tally.failures == {"parameter": 1}


def test_what_the_roster_says_a_model_refuses_is_never_sent() -> None:
    provider = Acme(_fussy)
    entry = ModelEntry(refuses=frozenset({"temperature"}))
    of, (end,) = ended(provider, may_drop=MAY_DROP, entry=entry)
    assert isinstance(end, Completion)
    assert [call.dropped for call in provider.calls] == [frozenset({"temperature"})]
    _, (end,) = ended(Acme(_fussy), entry=entry)
    assert isinstance(end, CallFailed)
    assert "add may_drop=['temperature'] to the experiment" in str(end)
    assert of.tally.failures == {}


WARM = replace(REQUEST, parameters=Parameters(temperature=0.5))


def told(sent: Request, problem: str, **entry: Any) -> str:
    """What is said of the first call that fails so."""
    kind: Any = "parameter" if problem == "refused" else "fatal"
    failed = CallFailed(model="acme/one", problem=problem, kind=kind, parameter="temperature")
    _, (end,) = ended(Acme([failed]), request=sent, entry=ModelEntry(**entry))
    return str(end)


def test_a_refused_setting_is_named_with_the_line_that_sets_it_or_leaves_it_out() -> None:
    section = '[models."acme/one"]'
    assert told(WARM, "refused", temperature=0.5).endswith(f"take temperature out of {section}")
    assert "add may_drop=['temperature'] to the experiment" in told(WARM, "refused")
    structured = replace(WARM, schema={"type": "object"}, schema_name="Score")
    assert told(structured, "HTTP 422: no such schema").endswith(
        f'(refuses = ["schema"] in {section} leaves schema out)'
    )
    system = replace(REQUEST, messages=(Message("system", "Be brief."), *REQUEST.messages))
    no_system = "HTTP 400: System role not supported"
    own = told(system, no_system, system="Be brief.")
    assert own.endswith(f"(a system prompt is sent, set by system in {section})")
    assert told(system, no_system).endswith("(a system prompt is sent, set by the experiment)")
    further = told(REQUEST, "HTTP 400: reasoning_effort?", request={"reasoning_effort": "low"})
    assert further.endswith(f"(reasoning_effort is sent, set by request in {section})")
    assert told(WARM, "HTTP 500: Internal Server Error", temperature=0.5).endswith(
        f"(temperature is sent, set in {section})"
    )
    long = replace(REQUEST, parameters=Parameters(max_output_tokens=4900))
    window = "HTTP 400: maximum context length is 4097 tokens (100 in the messages, 4900 in the …)"
    assert told(long, window, max_output_tokens=4900).endswith(
        f"(max_output_tokens is sent, set in {section})"
    )
    for problem in ("HTTP 401: no schema", "HTTP 400: Bad request"):
        assert told(structured, problem) == f"acme/one: {problem}"
    streams = told(REQUEST, "HTTP 400: This model only supports stream mode")
    assert streams.endswith("(stream = true in [endpoints.acme] asks for event streams)")


@pytest.mark.parametrize("problem", ["the reply is none", "HTTP 500: no", "HTTP 503: no"])
def test_what_no_call_gets_an_answer_to_is_fatal_with_the_second_unless_it_is_an_outage(
    problem: str,
) -> None:
    kind: Any = "transient" if "HTTP" in problem else "reply"
    attempts = 1 + EVEN.transient
    failed = [CallFailed(model="acme/one", problem=problem, kind=kind)] * attempts
    _, (first, second, third) = ended(Acme(failed * 2), times=3)
    assert isinstance(first, CallFailed)
    assert isinstance(second, CallFailed)
    assert not first.fatal
    assert second.fatal == ("503" not in problem)
    assert isinstance(third, Completion)
    _, ends = ended(Acme([*failed, None, *failed, *failed]), times=4)
    assert [each.fatal for each in ends if isinstance(each, CallFailed)] == [False] * 3
