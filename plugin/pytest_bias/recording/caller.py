"""Calls of one model: when they may be sent, what they may cost, and when to try again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from typing import cast

from ..errors import BadSetting, CallFailed
from ..experiments.canonical import compact
from ..experiments.experiment import Experiment
from ..experiments.messages import Completion, Parameters, Request, request_parts
from ..experiments.records import Outcome, Retention
from ..providers.base import (
    Call,
    Provider,
    ProviderContext,
    is_simulated,
    open_provider,
    split_model,
)
from ..providers.renewal import Renewing
from ..settings.model_entry import FREE
from ..settings.model_names import other_model
from ..settings.roster import Roster
from ..settings.settings import Limits, RecordMode
from .causes import Sent, explained, refusal, too_long
from .estimate import tokens_of
from .limits import Spending, Stop, Throttle

_TYPICAL_REPLY = 256


@dataclass(frozen=True, slots=True)
class Retries:
    """Times of new attempts, after failures that pass or may come out well another time.

    That is a rate limit, a server's error, a time-out, and an answer that is no reply (half of
    one, say), which counts as paid each time. ``transient`` (of all but rate limits) and
    ``rate_limit`` are numbers of further attempts. Waits are in seconds, doubled from ``base`` up
    to ``ceiling``, with jitter so that calls that failed together do not come back together. A
    rate limit is counted apart: it is no fault of the call. A provider that asks to wait longer
    than ``longest`` is not waited for.
    """

    transient: int = 4
    rate_limit: int = 10
    base: float = 0.5
    ceiling: float = 30.0
    longest: float = 600.0

    def wait(self, number: int, rng: Random) -> float:
        """Seconds before the ``number``-th further attempt (from 1)."""
        return float(min(self.ceiling, self.base * 2 ** (number - 1)) * rng.uniform(0.5, 1.5))


@dataclass(slots=True)
class CallCounts:
    """The sum of one model's calls: attempts, replies, failures by kind, tokens, dollars.

    ``trials`` of ``wanted`` are recorded so far; ``waiting`` is the wait a provider asks for, in
    seconds; ``doing`` is the experiment under way. ``uncosted`` counts replies in ``cost`` at 0,
    as their tokens are not known, nor a price at most.
    """

    model: str
    doing: str = ""
    wanted: int = 0
    trials: int = 0
    attempts: int = 0
    replies: int = 0
    failures: dict[str, int] = field(default_factory=dict)
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float = 0.0
    uncosted: int = 0
    priced: bool = False
    waiting: float = 0.0


Progress = Callable[[CallCounts], None]
"""Called with the tally of a model whenever they have changed."""


def silent(_: CallCounts) -> None:
    """Show nothing."""


OnTrial = Callable[[Experiment, Outcome], None]
"""Called with every trial when it has been recorded."""


def ignore_trial(_experiment: Experiment, _outcome: Outcome) -> None:
    """Do nothing with a trial."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """The terms on which models are called.

    ``order_seed`` shuffles the trials of each experiment and model, so that what drifts while a
    recording runs (load, latency) is not confounded with a condition. ``gates`` is whether
    verdicts rest on what is recorded, so that nothing is paid for that another model answers.
    ``on_trial`` is called with every trial when it is recorded, and must not raise.
    """

    mode: RecordMode
    folder: Path
    context: ProviderContext
    roster: Roster = field(default_factory=Roster)
    limits: Limits = field(default_factory=Limits)
    retries: Retries = field(default_factory=Retries)
    order_seed: int = 0
    gates: bool = True
    on_trial: OnTrial = ignore_trial


class Caller:
    """Calls one model within its limits, and tries again where that can help.

    Made within the event loop. ``other`` is set once another model has answered than the requested
    one, ``unusable`` once a reply counts for nothing: both say why nothing more is called.
    ``failed`` is why the last attempt came to nothing, if it did; ``in_flight`` counts calls that
    are sent and not answered; ``progress`` is called after every attempt.
    """

    def __init__(
        self,
        name: str,
        provider: Provider,
        terms: Terms,
        spending: Spending,
        progress: Progress = silent,
    ) -> None:
        limits, entry = terms.limits, terms.roster.entry(name)
        if is_simulated(name) and entry.price is None:
            entry = replace(entry, price=FREE)
        self.name, self.provider, self.entry, self.spending = name, provider, entry, spending
        self.progress = progress
        most = limits.concurrency
        # A provider's own ceiling is one of this machine.
        own = getattr(provider, "concurrency", most)
        self.throttle = Throttle(
            ceiling=min(most, entry.concurrency or most, own),
            tpm=entry.tokens_per_minute,
            clock=asyncio.get_running_loop().time,
        )
        self.tally = CallCounts(name, priced=self._cost(1, 1) > 0)
        self.other = ""
        self.unusable = ""
        self.hosts: set[str] = set()
        self.failed: CallFailed | None = None
        self.in_flight = self._unanswered = 0
        self._timeout, self._retries = limits.timeout, terms.retries
        self._rng = Random(f"{terms.order_seed} {name}")  # noqa: S311  (no secret)
        self._model = entry.requested(name)
        self._refused: set[str] = set(entry.refuses)

    async def prepare(self) -> None:
        """Have the provider make the model ready, where it has to."""
        prepare = getattr(self.provider, "prepare", None)
        if prepare is not None:
            await prepare(self._model)

    @property
    def wire(self) -> str:
        """Through what the model is called."""
        return self.provider.wire(self._model)

    async def call(
        self, request: Request, call: Call, stop: Stop, may_drop: frozenset[str] = frozenset()
    ) -> Completion:
        """The model's reply to ``request``, without those of ``may_drop`` that it refuses.

        Raises CallFailed when there is none, and trying again does not help. Raises Capped when a
        cap of the recording leaves no room for the call. Raises Halted when a stop is requested
        before it is sent.
        """
        transient = limited = 0
        while True:
            dropped = self._dropped(request, may_drop)
            try:
                return await self._attempt(
                    request, replace(call, timeout=self._timeout, dropped=dropped), stop
                )
            except CallFailed as failed:
                self.failed = failed
                kind, wait = failed.kind, failed.retry_after or 0.0
                self.tally.failures[kind] = self.tally.failures.get(kind, 0) + 1
                self.progress(self.tally)
                if wait > self._retries.longest:
                    raise too_long(failed) from failed
                if stop.requested:
                    raise
                if kind in ("transient", "reply") and transient < self._retries.transient:
                    transient += 1
                    # A provider that names no wait is waited for all the same.
                    await stop.wait(wait or self._retries.wait(transient, self._rng))
                    if stop.requested:
                        raise
                elif kind == "rate_limit" and limited < self._retries.rate_limit:
                    limited += 1
                elif kind == "parameter" and failed.parameter in may_drop - dropped:
                    self._refused.add(failed.parameter)
                elif kind == "parameter" and failed.parameter is not None:
                    raise refusal(self._sent(request), failed.parameter) from failed
                else:
                    self._unanswered += not self.tally.replies
                    unanswered = 0 if self.tally.replies else self._unanswered
                    raise explained(self._sent(request, dropped), failed, unanswered) from None

    def _dropped(self, request: Request, may_drop: frozenset[str]) -> frozenset[str]:
        """The parameters of a request that this model is known to refuse."""
        refused = request.sent & self._refused
        for parameter in sorted(refused - may_drop):
            raise refusal(self._sent(request), parameter)
        return refused

    def _sent(self, request: Request, dropped: frozenset[str] = frozenset()) -> Sent:
        return Sent(self.name, self.entry, request, dropped)

    async def _attempt(self, request: Request, call: Call, stop: Stop) -> Completion:
        tally, throttle = self.tally, self.throttle
        estimate, highest = self._tokens(request), self._highest_price(request)
        async with throttle.slot(stop):
            await self.spending.reserve(highest, stop)
            price = 0.0
            try:
                sent = await throttle.enter(estimate, stop, self.spending)
                tally.attempts += 1
                price = highest  # until more is known
                self.in_flight += 1
                try:
                    completion = await self.provider.complete(self._model, request, call)
                except CallFailed as failed:
                    # After a time-out it is unknown what was done; a reply that is none is paid.
                    if failed.kind == "reply":
                        tally.uncosted += not highest
                    elif failed.answered:
                        price = 0.0
                    self._hold_up(failed, sent.at)
                    raise
                finally:
                    self.in_flight -= 1
                used = completion.usage
                if {"input", "output"} <= used.keys() and any(used.values()):
                    price = self._cost(used["input"], used["output"])
                    sent.tokens = used["input"] + used["output"]
                elif not highest:
                    tally.uncosted += 1
            finally:
                self.spending.charge(highest, price)
                tally.cost += price
        throttle.succeeded()
        self.other = self.other or other_model(self.name, [completion.served_model], self.entry)
        self.failed = None
        tally.replies += 1
        tally.waiting = 0.0
        tally.input_tokens += used.get("input", 0)
        tally.output_tokens += used.get("output", 0)
        self.progress(tally)
        return completion

    def _hold_up(self, failed: CallFailed, sent_at: float) -> None:
        """Note a wait that is requested; at a rate limit all wait, and fewer are in flight."""
        throttle, wait, limited = self.throttle, failed.retry_after, failed.kind == "rate_limit"
        begins = limited and throttle.concurrency.limited(sent_at, throttle.clock())
        if not wait:
            # Calls of the same episode add nothing.
            episodes = throttle.concurrency.in_a_row
            wait = self._retries.wait(episodes, self._rng) if begins else 0.0
        if wait <= self._retries.longest:
            throttle.pause(wait if limited else 0.0)
            self.tally.waiting = max(self.tally.waiting, wait)

    def check_keeps(self, retention: Retention) -> None:
        """Refuse a provider through which text touches the disk, where none may be stored."""
        if retention != "raw" and getattr(self.provider, "keeps_text", False):
            problem = (
                "its prompts and replies pass through files, and this experiment stores no text "
                f'(retention="{retention}")'
            )
            raise BadSetting(option="--bias-model", value=self.name, problem=problem)

    def check_bounded(self, parameters: Parameters) -> None:
        """Refuse a budget that nothing is known to keep to, before anything is paid."""
        if self.spending.budget is None:
            return
        hint = ""
        if self.entry.price is None:
            what = "has no price"
            hint = (
                f"; add price = {{ input = …, output = … }} (US dollars per million tokens) under "
                f"[models.{compact(self.name)}] in the roster"
            )
        elif getattr(self.provider, "adds_to_prompts", False):
            what = "is sent more than the prompt"
        elif self.entry.price.output and self._most_output(parameters) is None:
            what = "has no limit of a reply's tokens (max_output_tokens in the roster of models)"
        else:
            return
        problem = f"{self.name} {what}, so its cost cannot be bounded{hint}"
        value = f"{self.spending.budget:.15g}"
        raise BadSetting(option="--bias-budget", value=value, problem=problem)

    def _most_output(self, parameters: Parameters) -> int | None:
        return None if "max_output_tokens" in self._refused else parameters.max_output_tokens

    def _tokens(self, request: Request) -> float:
        """About how many tokens a call comes to, for limits per minute."""
        replies = self.tally.replies
        limit = self._most_output(request.parameters)
        # As much as it may be, until replies say how much it is.
        reply = self.tally.output_tokens / replies if replies else (limit or _TYPICAL_REPLY)
        return tokens_of(message.text for message in request.messages) + reply

    def _highest_price(self, request: Request) -> float:
        """The most a call can cost: no text has more tokens than bytes."""
        if self.spending.budget is None:
            return 0.0
        self.check_bounded(request.parameters)
        size = len(compact(request_parts(request)).encode())
        return self._cost(size, self._most_output(request.parameters) or 0)

    def _cost(self, sent: int, replied: int) -> float:
        return 0.0 if self.entry.price is None else self.entry.price.cost(sent, replied)


class Callers:
    """The callers of a recording's models, over providers that are opened when one is needed.

    Made within or before the event loop; ``tallies`` gets that of each model.
    """

    def __init__(self, terms: Terms, progress: Progress, tallies: list[CallCounts]) -> None:
        limits = terms.limits
        self.spending = Spending(limits.max_calls, limits.budget, cap=limits.cap)
        self._terms, self._progress, self._tallies = terms, progress, tallies
        self._providers: dict[str, Provider] = {}
        self._callers: dict[str, Caller] = {}

    def of(self, name: str) -> Caller:
        """The caller of ``provider/model``."""
        if name not in self._callers:
            provider = split_model(name, self._terms.context.own)[0]
            if provider not in self._providers:
                context = self._terms.context
                self._providers[provider] = (
                    open_provider(provider, context)
                    if context.reread is None
                    else cast("Provider", Renewing(provider, context, context.reread))
                )
            caller = Caller(
                name, self._providers[provider], self._terms, self.spending, self._progress
            )
            self._callers[name] = caller
            self._tallies.append(caller.tally)
        return self._callers[name]

    @property
    def in_flight(self) -> int:
        """The number of calls that are sent and not answered."""
        return sum(caller.in_flight for caller in self._callers.values())

    async def aclose(self) -> None:
        """Close the providers."""
        for provider in self._providers.values():
            # What is recorded is recorded: a connection that does not close costs no reply.
            with suppress(Exception):
                await provider.aclose()
