"""A server on loopback that answers as simulated subjects do, in the vendors' wire formats.

Over HTTP a model's name carries the per-trial seed, as in ``even@7``: real SDKs then send all that
a subject draws by, and nothing else of theirs is touched.
"""

from __future__ import annotations

import itertools
import json
import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from email.message import Message as Headers
from typing import Any

from pytest_bias.errors import CallFailed
from pytest_bias.experiments.experiment import (
    SimulatedAnswer,
    SimulatedPrompt,
    simulated_text,
)
from pytest_bias.experiments.messages import Completion, Message, Request
from pytest_bias.providers.base import Call, Provider
from pytest_bias.providers.simulated import word_counts

from ..helpers import Asked, Endpoint, answering, saying
from ..wire.vendors import VENDORS

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


class Server:
    """Answers every prompt with the first of ``answers`` that recognises it, after ``latency``.

    ``served`` are the requests that have been dealt with, in order of arrival.
    """

    url = ""

    def __init__(self, answers: tuple[SimulatedAnswer, ...], *, latency: float = 0.0) -> None:
        self.answers = answers
        self.stopping = threading.Event()
        self._latency = latency
        self._served: list[Served] = []
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()

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

    def respond(self, path: str, headers: Headers, data: bytes) -> Outgoing | None:  # noqa: ARG002  (for those that add to this)
        """The reply to a request, when it is time."""
        body = json.loads(data)
        google = _GENERATE.fullmatch(path)
        wire = "google" if google else _PATHS[path]
        model, _, seed = (google[1] if google else body["model"]).partition("@")
        with self._lock:
            number, at = next(self._numbers), time.monotonic()
        asked = Served(number, at, wire, model, int(seed or 0))
        reply = self.reply(asked, body)
        if self._latency and self.stopping.wait(self._latency):
            reply = None
        if reply is not None:
            asked = replace(asked, status=reply.status, answered_at=time.monotonic())
        with self._lock:
            self.note(asked)
        return reply

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
