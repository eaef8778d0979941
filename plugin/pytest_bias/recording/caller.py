"""Calls of one model: when they may be sent, what they may cost, and when to try again."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

from ..errors import BadSetting, CallFailed, CopiedReply, OtherModel
from ..experiments.canonical import compact
from ..experiments.keys import request_parts
from ..experiments.messages import Completion, Parameters, Request
from ..experiments.records import Retention
from ..providers.base import Call, Provider
from ..settings.model_names import other_model
from ..settings.roster import ModelEntry
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
class Tally:
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

    def failed(self, kind: str) -> None:
        """Count a failed attempt."""
        self.failures[kind] = self.failures.get(kind, 0) + 1


Progress = Callable[[Tally], None]
"""Called with the books of a model whenever they have changed."""


def silent(_: Tally) -> None:
    """Show nothing."""


@dataclass(frozen=True, slots=True)
class CallTerms:
    """The terms of a call beside its request: the seed, and what need not be sent.

    ``trial`` is a seed that all calls of a trial share.
    """

    seed: int
    may_drop: frozenset[str] = frozenset()
    trial: int | None = None


@dataclass(kw_only=True, eq=False)
class Caller:
    """Calls one model within its limits, and tries again where that can help.

    ``other`` says that another model answered than the one asked for, once one has, ``copied``
    that a cache answered; ``failed`` why the last attempt came to nothing, if it did;
    ``in_flight`` counts the calls that are sent and not answered; ``progress`` is called after
    every attempt.
    """

    name: str
    provider: Provider
    entry: ModelEntry
    throttle: Throttle
    spending: Spending
    timeout: float
    rng: Random
    retries: Retries
    progress: Progress = silent
    other: OtherModel | None = field(default=None, init=False)
    copied: CopiedReply | None = field(default=None, init=False)
    failed: CallFailed | None = field(default=None, init=False)
    in_flight: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        self.tally = Tally(self.name, priced=self._cost(1, 1) > 0)
        self._model = self.name.partition("/")[2]
        self._refused: set[str] = set(self.entry.refuses)

    async def prepare(self) -> None:
        """Have the provider make the model ready, where it has to."""
        prepare = getattr(self.provider, "prepare", None)
        if prepare is not None:
            await prepare(self._model)

    @property
    def wire(self) -> str:
        """Through what the model is called."""
        return self.provider.wire(self._model)

    async def call(self, request: Request, asked: CallTerms, stop: Stop) -> Completion:
        """The model's reply to ``request``.

        Raises CallFailed when there is none, and trying again does not help. Raises Capped when a
        cap of the recording leaves no room for the call. Raises Halted when a stop is requested
        before it is sent.
        """
        transient = limited = 0
        while True:
            dropped = self._dropped(request, asked)
            try:
                terms = Call(asked.seed, self.timeout, dropped, asked.trial)
                return await self._attempt(request, terms, stop)
            except CallFailed as failed:
                self.failed = failed
                self.tally.failed(failed.kind)
                self.progress(self.tally)
                if (failed.retry_after or 0.0) > self.retries.longest:
                    raise _too_long(failed) from failed
                if stop.pressed:
                    raise
                again = failed.kind in ("transient", "reply")
                if again and transient < self.retries.transient:
                    transient += 1
                    # A provider that asks for no wait is waited for all the same.
                    wait = failed.retry_after or self.retries.wait(transient, self.rng)
                    await stop.wait(wait)
                    if stop.pressed:
                        raise
                elif failed.kind == "rate_limit" and limited < self.retries.rate_limit:
                    limited += 1
                elif failed.kind == "parameter" and failed.parameter in asked.may_drop - dropped:
                    self._refused.add(failed.parameter)
                elif failed.kind == "parameter" and failed.parameter is not None:
                    raise refusal(self.name, failed.parameter) from failed
                else:
                    raise

    async def _attempt(self, request: Request, call: Call, stop: Stop) -> Completion:
        estimate, highest = self._tokens(request), self._highest_price(request)
        async with self.throttle.slot(stop):
            await self.spending.reserve(highest, stop)
            price = 0.0
            try:
                charged = await self.throttle.enter(
                    estimate, stop, lambda: self.spending.check(promised=stop.promised)
                )
                self.spending.called(promised=stop.promised)
                stop.sent()
                self.tally.attempts += 1
                sent_at = self.throttle.clock()
                price = highest  # until more is known
                self.in_flight += 1
                try:
                    completion = await self.provider.complete(self._model, request, call)
                except CallFailed as failed:
                    # After a time-out nobody knows what was done; a reply that is none is paid.
                    if failed.kind == "reply":
                        self.tally.uncosted += not highest
                    elif failed.answered:
                        price = 0.0
                    self._held_up(failed, sent_at)
                    raise
                finally:
                    self.in_flight -= 1
                used = completion.usage
                if {"input", "output"} <= used.keys() and any(used.values()):
                    price = self._cost(used["input"], used["output"])
                    charged(used["input"] + used["output"])
                elif not highest:
                    self.tally.uncosted += 1
            finally:
                self.spending.settle(highest, price)
                self.tally.cost += price
        self.throttle.succeeded()
        self._count(completion)
        self.progress(self.tally)
        return completion

    def _held_up(self, failed: CallFailed, sent_at: float) -> None:
        """Note a wait that is asked for; at a rate limit all wait, and fewer are in flight."""
        throttle, wait, limited = self.throttle, failed.retry_after, failed.kind == "rate_limit"
        begins = limited and throttle.concurrency.limited(sent_at, throttle.clock())
        if not wait:
            # Calls of the same episode say nothing new.
            episodes = throttle.concurrency.in_a_row
            wait = self.retries.wait(episodes, self.rng) if begins else 0.0
        if wait <= self.retries.longest:
            throttle.pause(wait if limited else 0.0)
            self.tally.waiting = max(self.tally.waiting, wait)

    def _count(self, completion: Completion) -> None:
        self.other = self.other or other_model(self.name, [completion.served_model], self.entry)
        self.failed = None
        self.tally.replies += 1
        self.tally.waiting = 0.0
        self.tally.input_tokens += completion.usage.get("input", 0)
        self.tally.output_tokens += completion.usage.get("output", 0)

    # --- parameters a model refuses -----------------------------------------------------------

    def _dropped(self, request: Request, asked: CallTerms) -> frozenset[str]:
        """Return the parameters this model is known to refuse, of those that need not be sent."""
        refused = request.given & self._refused
        for parameter in sorted(refused - asked.may_drop):
            raise refusal(self.name, parameter)
        return refused

    # --- tokens and money ---------------------------------------------------------------------

    def check_keeps(self, retention: Retention) -> None:
        """Refuse a provider through which text touches the disk, where none is to be kept."""
        if retention != "raw" and getattr(self.provider, "keeps_text", False):
            raise BadSetting(
                option="--bias-model",
                value=self.name,
                problem=(
                    "its prompts and replies pass through files, and this experiment keeps no "
                    f'text (retention="{retention}")'
                ),
            )

    def check_bounded(self, parameters: Parameters) -> None:
        """Refuse a budget that nothing is known to hold against, before anything is paid."""
        if self.spending.budget is None:
            return
        if self.entry.price is None:
            raise self._unbudgeted("has no price in the roster of models")
        if getattr(self.provider, "adds_to_prompts", False):
            raise self._unbudgeted("is sent more than the prompt")
        if self.entry.price.output and self._most_output(parameters) is None:
            raise self._unbudgeted(
                "has no limit of a reply's tokens (max_output_tokens in the roster of models)"
            )

    def _unbudgeted(self, what: str) -> BadSetting:
        return BadSetting(
            option="--bias-budget",
            value=f"{self.spending.budget:.15g}",
            problem=f"{self.name} {what}, so its cost cannot be bounded",
        )

    def _most_output(self, parameters: Parameters) -> int | None:
        if "max_output_tokens" in self._refused:
            return None
        return parameters.max_output_tokens

    def _tokens(self, request: Request) -> float:
        """About how many tokens a call comes to, for limits per minute."""
        replies = self.tally.replies
        limit = self._most_output(request.parameters)
        # As much as it may be, until replies say how much it is.
        reply = self.tally.output_tokens / replies if replies else (limit or _TYPICAL_REPLY)
        return tokens_of(message.text for message in request.messages) + reply

    def _highest_price(self, request: Request) -> float:
        """Return the most a call can cost: no text has more tokens than bytes."""
        if self.spending.budget is None:
            return 0.0
        self.check_bounded(request.parameters)
        size = len(compact(request_parts(request)).encode())
        return self._cost(size, self._most_output(request.parameters) or 0)

    def _cost(self, asked: int, replied: int) -> float:
        return 0.0 if self.entry.price is None else self.entry.price.cost(asked, replied)


def _too_long(failed: CallFailed) -> CallFailed:
    """The failure for a wait that is longer than is waited; in minutes, of many calls the same."""
    minutes = math.ceil((failed.retry_after or 0.0) / 60)
    return CallFailed(
        model=failed.model,
        problem=(
            f"{failed.problem} (it asks to wait {minutes:,} min, which is not waited for; run the "
            "same command again then: what is recorded is kept)"
        ),
        kind=failed.kind,
        retry_after=failed.retry_after,
        answered=failed.answered,
    )


def refusal(model: str, parameter: str) -> CallFailed:
    """The failure for a parameter that a model refuses and the experiment insists on."""
    return CallFailed(
        model=model,
        problem=(
            f"the model refuses {parameter}, and the experiment does not allow leaving it out; "
            f"add may_drop=[{parameter!r}] to the experiment if its result does not depend on it"
        ),
        kind="parameter",
        parameter=parameter,
    )
