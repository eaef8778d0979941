"""The hard caps of a recording: number of calls and money, over all models together."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from ..errors import BiasError
from .stop import Stop, Waiting, wake


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
    ``promised`` those put aside for trials under way.
    """

    max_calls: int | None = None
    budget: float | None = None
    calls: int = 0
    spent: float = 0.0
    _reserved: float = 0.0
    _over: str | None = None
    promised: int = 0
    _waiting: Waiting = field(default_factory=deque)

    def check(self, *, promised: bool = False) -> None:
        """Raise Capped when no further call is allowed.

        A call that was ``promised`` is; any other one must leave room for those that were.
        """
        aside = 0 if promised else self.promised
        if self.max_calls is not None and self.calls + aside >= self.max_calls:
            what = f"--bias-max-calls={self.max_calls} is reached"
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
                    f"--bias-budget={self.budget:g} is reached: ${self.spent:.4f} are spent, and "
                    f"the next call may cost up to ${highest:.4f}"
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
            what = f"--bias-max-calls={self.max_calls} leaves no room for a whole trial"
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


class StopBeforeFirst(Stop):
    """Stops what has sent nothing yet; whatever has begun comes to its end.

    ``promise`` holds the calls that were put aside for it.
    """

    def __init__(self, above: Stop, promise: PromisedCalls) -> None:
        super().__init__(above)
        self._above = above
        self._begun = False
        self._promise = promise

    @property
    def pressed(self) -> bool:
        """See :class:`Stop`."""
        return self._above.requested

    def sent(self) -> None:
        """From now on no stop is heeded."""
        self._begun = True
        self._promise.redeem()

    @property
    def promised(self) -> bool:
        """See :class:`Stop`."""
        return self._promise.left > 0

    def request(self) -> None:
        """Start nothing new; what has begun looks how long it still has to wait."""
        if self._begun:
            self._wake()
        else:
            super().request()

    def release(self) -> None:
        """Be told nothing any more: what this was for is over."""
        self._above.below.remove(self)
