"""Limits of a recording: a stop, each model's requests and tokens, the hard caps over all models.

Everything here runs in one event loop and takes its time from it.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field

from ..errors import BiasError
from ..settings.options import OPTIONS

_MINUTE = 60.0
_START_SHARE = 4
"""Calls in flight begin at the ceiling divided by this."""
_FIRST_GROWTH = 4
"""Calls in flight that a success adds until the first rate limit: after one round, the ceiling."""
_PATIENCE = 10.0
"""Seconds that a trial under way may still wait for its turn once a stop was requested."""

Waiting = deque["asyncio.Future[None]"]
"""Futures of tasks that wait for something, the first in front."""


class Halted(Exception):
    """No further call is to be made."""


class Capped(BiasError):
    """A cap leaves no room for a further call; its message names it."""


class Stop:
    """A switch for new calls, which also stops those made under it.

    One of a trial that counts only as a ``whole`` is heeded until its first call is sent;
    ``reserved`` are the calls that :meth:`Spending.reserve_calls` put aside for the trial.
    """

    def __init__(self, above: Stop | None = None, *, whole: bool = False) -> None:
        self.reserved = 0
        self._whole = whole
        self._begun = False
        self.pressed = False
        self.levels: tuple[Stop, ...] = (self, *(above.levels if above is not None else ()))
        self.waiting: set[asyncio.Future[None]] = set()

    @property
    def requested(self) -> bool:
        """True if a stop was requested, heeded or not: nothing is to be tried again."""
        return any(stop.pressed for stop in self.levels)

    def request(self) -> None:
        """Start nothing new; all that wait are woken, to look whether they may go on."""
        self.pressed = True
        for waiting in self.waiting:
            if not waiting.done():
                waiting.set_result(None)

    def check(self) -> None:
        """Raise Halted once a stop was requested, unless a trial must come to its end."""
        if self.requested and not self._begun:
            raise Halted

    def sent(self) -> None:
        """Note that a call is sent."""
        self._begun = self._whole
        self.reserved = max(self.reserved - 1, 0)

    async def wait(self, seconds: float | None = None, *, until: Waiting | None = None) -> None:
        """Wait ``seconds``, or until woken through ``until``; Halted when a stop is requested."""
        self.check()
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        if until is not None:
            until.append(future)
        for stop in self.levels:
            stop.waiting.add(future)
        try:
            await asyncio.wait([future], timeout=seconds)
        finally:
            for stop in self.levels:
                stop.waiting.discard(future)
        self.check()


def wake(waiting: Waiting, number: int | None = None) -> None:
    """Wake the first ``number`` (or all) that wait; each looks again whether its turn has come."""
    while waiting and number != 0:
        future = waiting.popleft()
        if not future.done():
            future.set_result(None)
            number = number - 1 if number is not None else None


@dataclass(slots=True)
class Concurrency:
    """The limit of calls in flight: starts small, grows, gives way to rate limits.

    Until the first rate limit every success adds four (slow start); after it, every full round of
    successes adds one. A rate limit halves it, once per episode: calls that were sent before the
    limit was known are of the same one. (Additive increase, multiplicative decrease: Chiu & Jain
    1989, Computer Networks and ISDN Systems 17, 1–14.)
    """

    ceiling: int
    limit: float = 0.0
    episodes: int = 0
    in_a_row: int = 0
    _backed_off_at: float = float("-inf")

    def __post_init__(self) -> None:
        self.limit = float(self.start)

    @property
    def start(self) -> int:
        """Calls in flight at the beginning."""
        return max(1, self.ceiling // _START_SHARE)

    def succeeded(self) -> None:
        """Note an answered call."""
        self.in_a_row = 0
        step = _FIRST_GROWTH if self.episodes == 0 else 1 / self.limit
        self.limit = min(float(self.ceiling), self.limit + step)

    def limited(self, sent_at: float, now: float) -> bool:
        """Note a rate limit; whether it begins a new episode."""
        if sent_at < self._backed_off_at:
            return False
        self._backed_off_at = now
        self.episodes += 1
        self.in_a_row += 1
        self.limit = max(1.0, self.limit / 2)
        return True


@dataclass(slots=True)
class Pace:
    """Requests per minute, spread evenly: no minute, wherever it begins, holds more.

    Between two requests lies a minute divided by the limit, and a little more: after as many
    requests as the limit allows, one interval is left over, which is there for the network's
    jitter.
    """

    per_minute: int | None = None
    _limits: list[int] = field(default_factory=list)
    _next: float = float("-inf")

    @contextmanager
    def at_most(self, per_minute: int | None) -> Iterator[None]:
        """Keep the pace to ``per_minute`` meanwhile; of several limits the lowest counts."""
        if per_minute is None:
            yield
            return
        self._limits.append(per_minute)
        self.per_minute = min(self._limits)
        try:
            yield
        finally:
            self._limits.remove(per_minute)
            self.per_minute = min(self._limits, default=None)

    def wait(self, now: float) -> float:
        """Seconds until the next request may be sent."""
        return self._next - now

    def sent(self, now: float) -> None:
        """Note a request."""
        if self.per_minute is not None:
            self._next = now + _MINUTE / self.per_minute * (1 + 1 / self.per_minute)


@dataclass(slots=True)
class SentTokens:
    """Tokens of one request: estimated when it is sent, then as charged."""

    at: float
    tokens: float


class TokenWindow:
    """Tokens per minute: what was sent in the last minute, as estimated or as charged."""

    def __init__(self, per_minute: int | None) -> None:
        self.per_minute = per_minute
        self._sent: deque[SentTokens] = deque()

    def wait(self, tokens: float, now: float) -> float:
        """Seconds from ``now`` until a request of ``tokens`` keeps the limit of a minute.

        One that is larger than the limit waits until nothing was sent for a minute. ``now`` is a
        time of the clock that ``sent`` was given; nothing sleeps here.
        """
        if self.per_minute is None:
            return 0.0
        while self._sent and self._sent[0].at <= now - _MINUTE:
            self._sent.popleft()
        excess = sum(each.tokens for each in self._sent) + tokens - self.per_minute
        until = now
        for each in self._sent:
            if excess <= 0:
                break
            excess -= each.tokens
            until = each.at + _MINUTE
        return until - now

    def sent(self, tokens: float, now: float) -> SentTokens:
        """Note a request; set the tokens of what is returned once it is known what it used."""
        request = SentTokens(now, tokens)
        if self.per_minute is not None:
            self._sent.append(request)
        return request


class Throttle:
    """Lets calls of one model through, one after another, each when its time has come.

    In ``growth`` wait those who may begin only when more calls may be in flight.
    """

    def __init__(self, *, ceiling: int, tpm: int | None, clock: Callable[[], float]) -> None:
        self.concurrency = Concurrency(ceiling)
        self.pace = Pace()
        self.tokens = TokenWindow(tpm)
        self.clock = clock
        self.paused_until = float("-inf")
        self.growth: Waiting = deque()
        self._in_flight = 0
        self._slots: Waiting = deque()
        self._door = asyncio.Lock()

    @asynccontextmanager
    async def slot(self, stop: Stop) -> AsyncIterator[None]:
        """Hold one of the slots for calls in flight."""
        try:
            while self._in_flight >= int(self.concurrency.limit):
                await stop.wait(until=self._slots)
            stop.check()
        except Halted:
            # A task that was woken and does not go on wakes another: it may be under another stop.
            self._let_in()
            raise
        self._in_flight += 1
        try:
            yield
        finally:
            self._in_flight -= 1
            self._let_in()

    def succeeded(self) -> None:
        """Note an answered call."""
        before = int(self.concurrency.limit)
        self.concurrency.succeeded()
        if int(self.concurrency.limit) > before:
            self._let_in()
            wake(self.growth)

    def _let_in(self) -> None:
        wake(self._slots, max(0, int(self.concurrency.limit) - self._in_flight))

    async def enter(self, tokens: float, stop: Stop, spending: Spending) -> SentTokens:
        """Wait until a request of about ``tokens`` may be sent now, and count it as sent.

        Raises Capped as soon as no call is left, so that no call waits in vain.
        """
        async with self._door:
            spending.check(stop)
            while (wait := self._wait(tokens)) > 0:
                if stop.requested and wait > _PATIENCE:
                    raise Halted
                await stop.wait(wait)
                spending.check(stop)
            stop.check()
            spending.sent(stop)
            now = self.clock()
            self.pace.sent(now)
            return self.tokens.sent(tokens, now)

    def _wait(self, tokens: float) -> float:
        now = self.clock()
        return max(self.paused_until - now, self.pace.wait(now), self.tokens.wait(tokens, now))

    def pause(self, seconds: float) -> None:
        """Send nothing for so long."""
        self.paused_until = max(self.paused_until, self.clock() + seconds)


@dataclass(slots=True)
class Spending:
    """The calls and money that may still be spent.

    A call is let through only if its highest possible price fits with what was spent and what the
    calls in flight may come to, so that the budget holds whatever the replies cost. ``spent`` and
    ``budget`` are in US dollars; ``calls`` counts attempts, failed ones included, ``reserved``
    those put aside for trials under way; ``cap`` is the name of the limit of calls.
    """

    max_calls: int | None = None
    budget: float | None = None
    calls: int = 0
    spent: float = 0.0
    _money: float = 0.0
    _over: str | None = None
    reserved: int = 0
    _waiting: Waiting = field(default_factory=deque)
    cap: str = OPTIONS["max_calls"].option

    def check(self, stop: Stop | None = None) -> None:
        """Raise Capped when no further call is allowed.

        One that is reserved for the trial of ``stop`` is; others must leave room for those.
        """
        reserved = 0 if stop is not None and stop.reserved else self.reserved
        if self.max_calls is not None and self.calls + reserved >= self.max_calls:
            what = f"{self.cap}={self.max_calls} is reached"
            raise Capped(what)

    @contextmanager
    def reserve_calls(self, stop: Stop, calls: int) -> Iterator[None]:
        """Put aside ``calls`` for the trial of ``stop``, which counts only as a whole.

        A trial that a cap ends in the middle would be paid for nothing.

        Raises Capped when they do not fit.
        """
        self.check()
        if self.max_calls is not None and self.calls + self.reserved + calls > self.max_calls:
            what = f"{self.cap}={self.max_calls} leaves no room for a whole trial"
            raise Capped(what)
        stop.reserved = calls
        self.reserved += calls
        try:
            yield
        finally:
            self.reserved -= stop.reserved

    async def reserve(self, highest: float, stop: Stop) -> None:
        """Put aside the ``highest`` price of a call; waits while calls in flight hold the money.

        Raises Capped when it does not fit, and nothing in flight can free any more.
        """
        self.check(stop)
        if highest > 0 and self._over is not None:
            # A cheaper call might still fit; but then what is missing would depend on its length.
            raise Capped(self._over)
        while self.budget is not None and self.spent + self._money + highest > self.budget:
            if self._money <= 0:
                self._over = (
                    f"--bias-budget={self.budget:.15g} is reached: ${self.spent:.4f} are spent, "
                    f"and the next call may cost up to ${highest:.4f}"
                )
                raise Capped(self._over)
            await stop.wait(until=self._waiting)
            self.check(stop)
        self._money += highest

    def sent(self, stop: Stop) -> None:
        """Count an attempt that is being sent."""
        self.check(stop)
        self.calls += 1
        self.reserved -= bool(stop.reserved)
        stop.sent()

    def charge(self, highest: float, price: float) -> None:
        """Give back what was put aside, and count what the call did cost."""
        self._money -= highest
        # What is left of sums and differences of floats is no money.
        if self._money < 1e-9:  # noqa: PLR2004  (a billionth of a dollar)
            self._money = 0.0
        self.spent += price
        wake(self._waiting)
