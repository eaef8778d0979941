"""A server of simulated subjects with the faults of a vendor, planted at will."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from email.message import Message as Headers
from typing import Any, Literal, get_args

from pytest_bias.experiments.experiment import SimulatedAnswer

from ..support.server import Outgoing, Served, Server, outgoing, running
from .vendors import VENDORS
from .vendors.google_contents import DETAIL

Fault = Literal[
    "rate_limit",
    "rate_limit_retry_after",
    "server_error",
    "overloaded",
    "timeout",
    "malformed",
    "slow",
    "drop",
    "content_filter",
    "refusal",
    "length",
    "refused_parameter",
    "quota",
    "unauthorised",
]
"""What a request meets: an error of the vendor's (``refused_parameter``: if a temperature is
sent), no answer, at once (``drop``) or until the server stops, half of the reply, the reply later,
or one of the vendor's that ends so."""

FAULTS: tuple[Fault, ...] = get_args(Fault)

Faults = Callable[[Served], Fault | None] | Iterable[Fault | None]
"""The fault of a request; or what one request after another meets, and then none."""

_ERRORS: Mapping[str, tuple[int, str]] = {
    "rate_limit": (429, "Rate limit reached."),
    "rate_limit_retry_after": (429, "Rate limit reached."),
    "server_error": (500, "The server had an error."),
    "overloaded": (503, "Overloaded."),
    "quota": (429, "You exceeded your current quota."),
    "unauthorised": (401, "Incorrect API key provided: {key}"),
}
_ANTHROPIC_STATUSES = {"quota": 402, "overloaded": 529}
_PER_DAY = {
    "@type": f"{DETAIL}QuotaFailure",
    "violations": [{"quotaId": "GenerateRequestsPerDayPerProjectPerModel"}],
}
_OTHERWISE = {"refusal": "content_filter", "content_filter": "refusal"}
"""Some vendors have one mark for what a filter and for what a model will not say."""


class FaultyServer(Server):
    """Plants ``faults``; ``slow`` and ``retry_after`` are in seconds, ``met`` is by request."""

    def __init__(
        self,
        answers: tuple[SimulatedAnswer, ...],
        faults: Faults = (),
        *,
        slow: float = 1.0,
        retry_after: float = 1.0,
        **settings: Any,
    ) -> None:
        super().__init__(answers, **settings)
        self._slow, self._retry_after = slow, retry_after
        self.met: dict[int, Fault | None] = {}
        self.plant(faults)

    def plant(self, faults: Faults) -> None:
        """Let the next requests meet these."""
        turns = iter(()) if callable(faults) else iter(faults)
        self._choose = faults if callable(faults) else lambda _: next(turns, None)

    def respond(self, path: str, headers: Headers, data: bytes) -> Outgoing | None:
        """Quote the key back that the client sent, where it is refused."""
        reply = super().respond(path, headers, data)
        names = ("Authorization", "x-api-key", "x-goog-api-key")
        key = next(filter(None, map(headers.get, names)), "")
        quoted = key.removeprefix("Bearer ").encode()
        return reply and replace(reply, data=reply.data.replace(b"{key}", quoted))

    def reply(self, asked: Served, body: Mapping[str, Any]) -> Outgoing | None:
        fault = self._choose(asked)
        if fault == "refused_parameter" and "'temperature'" not in str(body):
            fault = None
        self.met[asked.number] = fault
        if fault == "timeout":
            self.stopping.wait()
        if fault in ("timeout", "drop"):
            return None
        if fault == "slow":
            self.stopping.wait(self._slow)
        if fault not in (None, "slow", "malformed"):
            return self._planted(fault, asked.wire, asked.model)
        reply = super().reply(asked, body)
        if fault == "malformed" and reply:
            return replace(reply, data=reply.data[: len(reply.data) // 2])
        return reply

    def _planted(self, fault: Fault, wire: str, model: str) -> Outgoing:
        vendor = VENDORS[wire]
        if fault == "refused_parameter":
            refused = (body for body, name in vendor.refused.values() if name == "temperature")
            return outgoing(400, next(refused))
        if fault not in _ERRORS:
            ends = {end: body for body, _, end in reversed([*vendor.finishes.values()])}
            body = ends.get(fault) or ends[_OTHERWISE[fault]]
            name = "modelVersion" if wire == "google" else "model"
            return outgoing(200, body | {name: model})
        status, message = _ERRORS[fault]
        said = vendor.refusing(message)
        if wire == "anthropic":
            status = _ANTHROPIC_STATUSES.get(fault, status)
        elif fault == "quota":
            said["error"] |= {"code": "insufficient_quota", "details": [_PER_DAY]}
        wait = fault == "rate_limit_retry_after"
        headers = {"Retry-After": f"{self._retry_after:g}"} if wait else {}
        return replace(outgoing(status, said), headers=headers)


@contextmanager
def faulty(*answers: SimulatedAnswer, **settings: Any) -> Iterator[FaultyServer]:
    """A running server."""
    server = FaultyServer(answers, **settings)
    with running(server):
        yield server
