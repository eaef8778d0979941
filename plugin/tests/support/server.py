"""A server on loopback that answers as simulated subjects do, in the vendors' wire formats.

The faults of a vendor can be planted in it.

Over HTTP a model's name carries the per-trial seed, as in ``even@7``: real SDKs then send all that
a subject draws by, and nothing else of theirs is touched.
"""

from __future__ import annotations

import itertools
import json
import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from email.message import Message as Headers
from typing import Any, Literal, get_args

from pytest_bias.errors import CallFailed
from pytest_bias.experiments.messages import Completion, Message, Request
from pytest_bias.experiments.simulated import SimulatedAnswer, SimulatedPrompt, simulated_text
from pytest_bias.providers.base import Call, Provider
from pytest_bias.providers.simulated import word_counts

from ..helpers import Asked, Endpoint, answering, saying
from ..wire.vendors import VENDORS
from ..wire.vendors.google_contents import DETAIL

_PATHS = {vendor.own_base + vendor.path: wire for wire, vendor in VENDORS.items()}
_GENERATE = re.compile(r"/v1beta/models/([^/:]+):generateContent")
_COUNTED = {
    "input": {"prompt_tokens", "input_tokens", "promptTokenCount"},
    "output": {"completion_tokens", "output_tokens", "candidatesTokenCount"},
    "total": {"total_tokens", "totalTokenCount"},
}


@dataclass(frozen=True, slots=True)
class Served:
    """One request, as the server saw it.

    ``number`` is in order of arrival, from 1; ``at`` and ``answered_at`` are seconds on the
    monotonic clock. ``status`` is None where no answer was sent.
    """

    number: int
    at: float
    wire: str
    model: str
    seed: int
    status: int | None = None
    answered_at: float | None = None


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A reply: HTTP status, body and headers."""

    status: int
    data: bytes = field(repr=False)
    headers: Mapping[str, str] = field(default_factory=dict)


def outgoing(status: int, body: object) -> Outgoing:
    """A reply with a JSON body."""
    return Outgoing(status, json.dumps(body).encode())


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
    "flagged",
    "too_long",
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
    "flagged": (403, "Content violates usage guidelines."),
    "too_long": (400, "The prompt is too long: 9 tokens."),
    "unauthorised": (401, "Incorrect API key provided: {key}"),
}
_ANTHROPIC_STATUSES = {"quota": 402, "overloaded": 529}
_PER_DAY = {
    "@type": f"{DETAIL}QuotaFailure",
    "violations": [{"quotaId": "GenerateRequestsPerDayPerProjectPerModel"}],
}
_OTHERWISE = {"refusal": "content_filter", "content_filter": "refusal"}
"""Some vendors have one mark for what a filter and for what a model will not say."""


class Server:
    """Answers every prompt with the first of ``answers`` that recognises it, after ``latency``.

    ``served`` are the requests that have been dealt with, in order of arrival, ``met`` the
    fault of each by its number; ``slow`` and ``retry_after`` are in seconds.
    """

    url = ""

    def __init__(
        self,
        answers: tuple[SimulatedAnswer, ...],
        faults: Faults = (),
        *,
        latency: float = 0.0,
        slow: float = 1.0,
        retry_after: float = 1.0,
    ) -> None:
        self.answers = answers
        self._slow, self._retry_after = slow, retry_after
        self.met: dict[int, Fault | None] = {}
        self.plant(faults)
        self.stopping = threading.Event()
        self._latency = latency
        self._served: list[Served] = []
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()

    def plant(self, faults: Faults) -> None:
        """Let the next requests meet these."""
        turns = iter(()) if callable(faults) else iter(faults)
        self._choose = faults if callable(faults) else lambda _: next(turns, None)

    @property
    def served(self) -> list[Served]:
        with self._lock:
            return sorted(self._served, key=lambda entry: entry.number)

    def __call__(self, call: Asked) -> None:
        """Answer a request, or close its connection."""
        reply = self.respond(call.path, call.headers, call.body)
        if reply is None:
            call.close_connection = True
        else:
            headers = {"Content-Type": "application/json", **reply.headers}
            saying(reply.status, headers, reply.data)(call)

    def respond(self, path: str, headers: Headers, data: bytes) -> Outgoing | None:
        """The reply to a request, when it is time; a key that is refused is quoted."""
        body = json.loads(data)
        google = _GENERATE.fullmatch(path)
        wire = "google" if google else _PATHS[path]
        model, _, seed = (google[1] if google else body["model"]).partition("@")
        with self._lock:
            number, at = next(self._numbers), time.monotonic()
        asked = Served(number, at, wire, model, int(seed or 0))
        reply = self._met_by(asked, body)
        if self._latency and self.stopping.wait(self._latency):
            reply = None
        if reply is not None:
            asked = replace(asked, status=reply.status, answered_at=time.monotonic())
        with self._lock:
            self.note(asked)
        names = ("Authorization", "x-api-key", "x-goog-api-key")
        key = next(filter(None, map(headers.get, names)), "").removeprefix("Bearer ")
        return reply and replace(reply, data=reply.data.replace(b"{key}", key.encode()))

    def _met_by(self, asked: Served, body: Mapping[str, Any]) -> Outgoing | None:
        """The reply, or the fault in its place."""
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
        reply = self.reply(asked, body)
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

    def note(self, asked: Served) -> None:
        """Note a request that has been dealt with; no other is noted meanwhile."""
        self._served.append(asked)

    def reply(self, asked: Served, body: Mapping[str, Any]) -> Outgoing | None:
        """What a subject says; its failure is one of the server's."""
        vendor = VENDORS[asked.wire]
        prompt = SimulatedPrompt(asked.model, _messages(asked.wire, body), asked.seed)
        try:
            said = (simulated_text(answer, prompt) for answer in self.answers)
            text = next(each for each in said if each is not None)
        except Exception as error:  # noqa: BLE001  (a test's own code)
            return outgoing(500, vendor.refusing(f"{type(error).__name__}: {error}"))
        name = "modelVersion" if asked.wire == "google" else "model"
        asked_words, said_words = word_counts(prompt, text)
        counts = {"input": asked_words, "output": said_words, "total": asked_words + said_words}
        whole = vendor.says(text)
        usage = {
            field: next((n for kind, n in counts.items() if field in _COUNTED[kind]), told)
            for field, told in whole[vendor.usage].items()
        }
        return outgoing(200, whole | {name: asked.model, vendor.usage: usage})


def _messages(wire: str, body: Mapping[str, Any]) -> tuple[Message, ...]:
    """The conversation that a request sends."""
    system = body.get("systemInstruction") or body.get("instructions") or body.get("system")
    turns = body.get("contents") or body.get("input") or body.get("messages") or ()
    said = [{"role": "system", "content": system}] * bool(system) + [*turns]
    return tuple(
        Message(
            "assistant" if turn["role"] == "model" else turn["role"],
            _text(turn if wire == "google" and "parts" in turn else turn["content"]),
        )
        for turn in said
    )


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    parts = content["parts"] if isinstance(content, dict) else content
    return "".join(part["text"] for part in parts)


@contextmanager
def running(server: Server) -> Iterator[Server]:
    """The server, at its ``url``; what it holds back is let go at the end."""
    with answering(server, lasting=True) as (server.url, _):
        try:
            yield server
        finally:
            server.stopping.set()
            for answer in server.answers:
                if isinstance(answer, Endpoint):
                    answer.release()


@contextmanager
def serving(*answers: SimulatedAnswer, **settings: Any) -> Iterator[Server]:
    """A running server."""
    with running(Server(answers, **settings)) as server:
        yield server


class _OverHTTP:
    """Simulated subjects at ``url``, called through a vendor's SDK."""

    def __init__(self, url: str, wire: str) -> None:
        self._inner = VENDORS[wire].at(url)

    def wire(self, model: str) -> str:
        return self._inner.wire(model)

    async def complete(self, model: str, request: Request, call: Call) -> Completion:
        try:
            return await self._inner.complete(f"{model}@{call.seed}", request, call)
        except CallFailed as failed:
            failure = failed
        why = {name: value for name, value in vars(failure).items() if name != "model"}
        raise CallFailed(model=f"simulated/{model}", **why)

    async def aclose(self) -> None:
        await self._inner.aclose()


def over_http(url: str, wire: str = "openai-chat") -> dict[str, Callable[[object], Provider]]:
    """What makes ``simulated/…`` a server's, as ``providers`` of a context."""
    return {"simulated": lambda _: _OverHTTP(url, wire)}
