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
"""Seconds that what has begun may still wait for its turn once a stop was requested."""


class Halted(Exception):
    """No further call is to be made."""


class Stop:
    """A switch for new calls; what is told to one is told to those made under it.

    One with a ``promise``, which holds the calls that were put aside for a trial, stops that trial
    where it has sent nothing yet; what has begun comes to its end.
    """

    def __init__(self, above: Stop | None = None, promise: PromisedCalls | None = None) -> None:
        self.requested: bool = above.requested if above is not None else False
        self.below: list[Stop] = []
        self._above = above
        self._promise = promise
        self._begun = False
        self._waiting: set[asyncio.Future[None]] = set()
        if above is not None:
            above.below.append(self)

    def request(self) -> None:
        """Start nothing new; whoever waits for leave to start is told at once.

        What has begun looks how long it still has to wait.
        """
        self.requested |= not self._begun
        for waiting in self._waiting:
            if not waiting.done():
                waiting.set_result(None)
        for stop in self.below:
            stop.request()

    @property
    def promised(self) -> bool:
        """Return whether the next call is one of those that were put aside for it."""
        return self._promise is not None and self._promise.left > 0

    def check(self) -> None:
        """Raise Halted once a stop was requested."""
        if self.requested:
            raise Halted

    @property
    def pressed(self) -> bool:
        """Return whether a stop was requested, heeded or not: nothing is to be tried again."""
        return self.requested or (self._above is not None and self._above.requested)

    def sent(self) -> None:
        """Take note that a call is being sent; with a promise no stop is heeded from now on."""
        if self._promise is not None:
            self._begun = True
            self._promise.redeem()

    def release(self) -> None:
        """Be told nothing any more: what this was for is over."""
        if self._above is not None:
            self._above.below.remove(self)

    async def wait(self, seconds: float | None = None, *, until: Waiting | None = None) -> None:
        """Wait ``seconds``, or until woken through ``until``; Halted when a stop is requested."""
        self.check()
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.add(future)
        if until is not None:
            until.append(future)
        try:
            await asyncio.wait([future], timeout=seconds)
        finally:
            self._waiting.discard(future)
        self.check()


Waiting = deque["asyncio.Future[None]"]
"""Futures of those that wait for something, the first in front."""


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
        """Take note of an answered call."""
        self.in_a_row = 0
        step = _FIRST_GROWTH if self.episodes == 0 else 1 / self.limit
        self.limit = min(float(self.ceiling), self.limit + step)

    def limited(self, sent_at: float, now: float) -> bool:
        """Take note of a rate limit; whether it begins a new episode."""
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
    _held: list[int] = field(default_factory=list)
    _next: float = float("-inf")

    @contextmanager
    def at_most(self, per_minute: int | None) -> Iterator[None]:
        """Hold the pace to ``per_minute`` meanwhile; of several that hold it the lowest counts."""
        if per_minute is None:
            yield
            return
        self._held.append(per_minute)
        self.per_minute = min(self._held)
        try:
            yield
        finally:
            self._held.remove(per_minute)
            self.per_minute = min(self._held, default=None)

    def wait(self, now: float) -> float:
        """Seconds until the next request may be sent."""
        return max(0.0, self._next - now)

    def sent(self, now: float) -> None:
        """Take note of a request."""
        if self.per_minute is not None:
            self._next = now + _MINUTE / self.per_minute * (1 + 1 / self.per_minute)


class TokenWindow:
    """Tokens per minute: what was sent in the last minute, as estimated or as charged."""

    def __init__(self, per_minute: int | None) -> None:
        self.per_minute = per_minute
        self._sent: deque[list[float]] = deque()
        self._sum = 0.0

    def wait(self, tokens: float, now: float) -> float:
        """Seconds until ``tokens`` fit; more than a minute's worth waits for an empty window."""
        if self.per_minute is None:
            return 0.0
        while self._sent and self._sent[0][0] <= now - _MINUTE:
            self._sum -= self._sent.popleft()[1]
        excess = self._sum + tokens - self.per_minute
        if excess <= 0 or not self._sent:
            return 0.0
        for at, size in self._sent:
            excess -= size
            if excess <= 0:
                return max(0.0, at + _MINUTE - now)
        return max(0.0, self._sent[-1][0] + _MINUTE - now)

    def sent(self, tokens: float, now: float) -> Callable[[float], None]:
        """Take note of a request; call what is returned with the tokens that were charged."""
        entry = [now, tokens]
        if self.per_minute is not None:
            self._sent.append(entry)
            self._sum += tokens

        def charged(number: float) -> None:
            # An entry that has left the window no longer counts, whatever it was.
            if self._sent and entry[0] >= self._sent[0][0]:
                self._sum += number - entry[1]
                entry[1] = number

        return charged


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

    @property
    def room(self) -> bool:
        """Return whether one more call may be in flight."""
        return self._in_flight < int(self.concurrency.limit)

    @asynccontextmanager
    async def slot(self, stop: Stop) -> AsyncIterator[None]:
        """Hold one of the places for calls in flight."""
        try:
            while not self.room:
                await stop.wait(until=self._slots)
            stop.check()
        except Halted:
            # Who was woken and does not come in passes it on: others wait under another stop.
            self._let_in()
            raise
        self._in_flight += 1
        try:
            yield
        finally:
            self._in_flight -= 1
            self._let_in()

    def succeeded(self) -> None:
        """Take note of an answered call."""
        before = int(self.concurrency.limit)
        self.concurrency.succeeded()
        if int(self.concurrency.limit) > before:
            self._let_in()
            wake(self.growth)

    def _let_in(self) -> None:
        wake(self._slots, max(0, int(self.concurrency.limit) - self._in_flight))

    async def enter(
        self, tokens: float, stop: Stop, check: Callable[[], None] = lambda: None
    ) -> Callable[[float], None]:
        """Wait until a request of about ``tokens`` may be sent now, and count it as sent.

        ``check`` raises when it may not be sent at all; nobody waits for nothing.
        """
        async with self._door:
            check()
            while (wait := self._wait(tokens)) > 0:
                if stop.pressed and wait > _PATIENCE:
                    raise Halted
                await stop.wait(wait)
                check()
            stop.check()
            now = self.clock()
            self.pace.sent(now)
            return self.tokens.sent(tokens, now)

    def _wait(self, tokens: float) -> float:
        now = self.clock()
        paused = self.paused_until - now
        return max(paused, self.pace.wait(now), self.tokens.wait(tokens, now))

    def pause(self, seconds: float) -> None:
        """Send nothing for so long."""
        self.paused_until = max(self.paused_until, self.clock() + seconds)


class Capped(BiasError):
    """A cap leaves no room for a further call; ``what`` says which, and how to raise it."""

    def __init__(self, what: str) -> None:
        self.what = what
        super().__init__(what)


@dataclass(slots=True)
class Spending:
    """The calls and money that may still be spent.

    A call is let through only if its highest possible price fits beside what was spent and what
    the calls in flight may come to, so that the budget holds whatever the replies cost. ``spent``
    and ``budget`` are in US dollars; ``calls`` counts attempts, failed ones included,
    ``promised`` those put aside for trials under way; ``cap`` is what the limit of calls is
    called.
    """

    max_calls: int | None = None
    budget: float | None = None
    calls: int = 0
    spent: float = 0.0
    _reserved: float = 0.0
    _over: str | None = None
    promised: int = 0
    _waiting: Waiting = field(default_factory=deque)
    cap: str = OPTIONS["max_calls"].option

    def check(self, *, promised: bool = False) -> None:
        """Raise Capped when no further call is allowed.

        A call that was ``promised`` is; any other one must leave room for those that were.
        """
        aside = 0 if promised else self.promised
        if self.max_calls is not None and self.calls + aside >= self.max_calls:
            what = f"{self.cap}={self.max_calls} is reached"
            raise Capped(what)

    async def reserve(self, highest: float, stop: Stop) -> None:
        """Put aside the ``highest`` price of a call; waits while calls in flight hold the money.

        Raises Capped when it does not fit, and nothing in flight can free any more.
        """
        self.check(promised=stop.promised)
        if highest > 0 and self._over is not None:
            # A cheaper call might still fit; but then what is missing would hang on its length.
            raise Capped(self._over)
        while self.budget is not None and self.spent + self._reserved + highest > self.budget:
            if self._reserved <= 0:
                self._over = (
                    f"--bias-budget={self.budget:.15g} is reached: ${self.spent:.4f} are spent, "
                    f"and the next call may cost up to ${highest:.4f}"
                )
                raise Capped(self._over)
            await stop.wait(until=self._waiting)
            self.check(promised=stop.promised)
        self._reserved += highest

    @contextmanager
    def promising(self, calls: int) -> Iterator[PromisedCalls]:
        """Put aside ``calls`` for a trial that counts only as a whole.

        A trial that a cap ends in the middle would be paid for nothing.

        Raises Capped when they do not fit.
        """
        self.check()
        if self.max_calls is not None and self.calls + self.promised + calls > self.max_calls:
            what = f"{self.cap}={self.max_calls} leaves no room for a whole trial"
            raise Capped(what)
        promise = PromisedCalls(self, calls)
        self.promised += calls
        try:
            yield promise
        finally:
            self.promised -= promise.left

    def called(self, *, promised: bool = False) -> None:
        """Count an attempt that is being sent."""
        self.check(promised=promised)
        self.calls += 1

    def settle(self, highest: float, price: float) -> None:
        """Give back what was put aside, and count what the call did cost."""
        self._reserved -= highest
        # What is left of sums and differences of floats is no money.
        if self._reserved < 1e-9:  # noqa: PLR2004  (a billionth of a dollar)
            self._reserved = 0.0
        self.spent += price
        wake(self._waiting)


@dataclass(slots=True)
class PromisedCalls:
    """Calls that were put aside for one trial; ``left`` are not made yet."""

    spending: Spending
    left: int

    def redeem(self) -> None:
        """One of them is made; a trial may need more than was put aside for it."""
        if self.left:
            self.left -= 1
            self.spending.promised -= 1
