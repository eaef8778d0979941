"""An HTTP server on loopback whose models are simulated subjects.

It speaks OpenAI's Chat Completions (``POST /v1/chat/completions``) and Responses (``POST
/v1/responses``, streamed too), Anthropic's Messages (``POST /v1/messages``) and Google's
generateContent (``POST /v1beta/models/{model}:generateContent``), and lists its models as OpenAI
does. In all of them the body may carry ``pytest_bias_seed``, the per-trial seed: a reply's text is
a function of the model's name, the messages and that seed alone, whatever the format, so that a
recording can be made again. Reply ids and times are constant for the same reason. Every reply is
marked as simulated by its ``system_fingerprint``.

A vendor's faults can be switched on, see :mod:`.faults`.

The books of what came in and went out hold no key, no header and no word said.
"""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path

from ...errors import UnknownName
from ...experiments.canonical import compact, dumps
from ...experiments.experiment import SimulatedAnswer, SimulatedPrompt, simulated_text
from .exchange import (
    SEED_FIELD,
    Body,
    MalformedRequest,
    Problem,
    WireFormat,
    parsed_body,
)
from .faults import Fault, Faults, RequestFacts, answer_under, chooser, problem_of
from .listener import LOOPBACK, Incoming, Listener, Outgoing, Route, Silence, outgoing, route_of

_UNRECOGNISED = (
    "no simulated subject recognises this prompt; give the experiment a function simulated=… that "
    "answers it (see SimulatedPrompt)"
)


@dataclass(frozen=True, slots=True)
class Served:
    """One request for a completion, as the server saw it.

    ``number`` is in order of arrival, from 1; ``at`` and ``answered_at`` are seconds on the
    monotonic clock, at arrival and when the answer was ready to be sent. ``path`` is without its
    query, in which keys may stand; ``model`` and ``seed`` are as asked for. ``fault`` is what was
    planted. What there was not is None.
    """

    number: int
    at: float
    path: str
    model: str | None
    seed: int | None
    status: int | None
    fault: str | None
    answered_at: float | None


class Books:
    """Every request served, in memory and, with a ``path``, as JSON lines at the file's end.

    Safe to use from many threads.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._entries: list[Served] = []
        if path is not None:
            path.open("a", encoding="ascii").close()  # an unwritable one is told at once

    def add(self, entry: Served) -> None:
        """Enter a request; it is on disk when this returns."""
        with self._lock:
            self._entries.append(entry)
            if self._path is not None:
                with self._path.open("a", encoding="ascii") as file:
                    file.write(dumps(entry) + "\n")

    def close(self) -> None:
        """Write no more: threads may outlive the server, and its folder may be gone by then."""
        with self._lock:
            self._path = None

    def entries(self) -> list[Served]:
        """All requests so far, in order of arrival."""
        with self._lock:
            return sorted(self._entries, key=lambda entry: entry.number)


@dataclass(frozen=True, slots=True)
class _Arrival:
    """A request that was noted: its number, when, where to, what of it, and what it meets."""

    number: int
    at: float
    route: Route
    facts: RequestFacts
    body: Body | None
    fault: Fault | None
    problem: Problem | None


class SimulatorServer:
    """Serves simulated subjects on loopback until stopped.

    Of ``answers`` the first that recognises a prompt answers it. Port 0 takes a free one.
    ``faults`` are a fixed sequence, or a function that chooses; see :data:`.Faults`. Every reply
    takes ``latency``, the fault ``slow`` adds ``slow``, and ``rate_limit_retry_after`` tells
    clients to wait ``retry_after``, all in seconds. ``log`` is a file to which every request adds
    a JSON line; see :class:`.Served`.

    Raises BadSetting or UnknownName when a fault is none. Raises OSError when the port
    is taken or the log cannot be written.
    """

    def __init__(
        self,
        answers: Sequence[SimulatedAnswer],
        port: int = 0,
        *,
        faults: Faults = None,
        latency: float = 0.0,
        slow: float = 1.0,
        retry_after: float = 1.0,
        log: Path | None = None,
    ) -> None:
        self.answers = tuple(answers)
        self._latency = latency
        self._slow = slow
        self._retry_after = retry_after
        self.faults = faults
        self._books = Books(log)
        self._lock = threading.Lock()
        self._numbers = itertools.count(1)
        self._answered = 0
        self._stopping = threading.Event()
        self._http = Listener(port, self.respond)
        self._thread = threading.Thread(
            target=self._http.serve_forever,
            kwargs={"poll_interval": 0.05},
            name="pytest-bias-simulator",
            daemon=True,
        )

    @property
    def url(self) -> str:
        """Base URL without a path."""
        return f"http://{LOOPBACK}:{self._http.server_address[1]}"

    @property
    def answered(self) -> int:
        """Number of completions given so far."""
        return self._answered

    @property
    def served(self) -> list[Served]:
        """Every request so far, in order of arrival."""
        return self._books.entries()

    @property
    def faults(self) -> Faults:
        """Faults that are met; may be set while the server runs, and then counts from 1 again."""
        return self._faults

    @faults.setter
    def faults(self, faults: Faults) -> None:
        # One assignment of both: a request sees the new ones and their own count, or neither.
        self._choice = (chooser(faults), itertools.count(1))
        self._faults = faults

    def start(self) -> None:
        """Serve from a thread of its own."""
        self._thread.start()

    def stop(self) -> None:
        """Stop serving and close every socket, those of requests without an answer too."""
        self._stopping.set()
        self._http.shutdown()
        self._thread.join()
        self._close()

    def serve(self) -> None:
        """Serve in this thread until interrupted."""
        try:
            self._http.serve_forever()
        finally:
            self._stopping.set()
            self._close()

    def _close(self) -> None:
        self._http.server_close()
        self._http.hang_up()
        self._books.close()

    def respond(self, incoming: Incoming) -> Outgoing | Silence:
        """Answer a request, when it is time."""
        arrival = self._noted(incoming)
        reply = self._reply(arrival, incoming.key)
        wait = self._latency + (self._slow if arrival.fault == "slow" else 0.0)
        if wait and not isinstance(reply, Silence) and self._stopping.wait(wait):
            reply = Silence(held=False)
        answered = isinstance(reply, Outgoing)
        self._books.add(
            Served(
                number=arrival.number,
                at=arrival.at,
                path=incoming.path,
                model=arrival.facts.model,
                seed=arrival.facts.seed,
                status=int(reply.status) if isinstance(reply, Outgoing) else None,
                fault=arrival.fault,
                answered_at=time.monotonic() if answered else None,
            )
        )
        return reply

    def _noted(self, incoming: Incoming) -> _Arrival:
        route = route_of(incoming.path)
        body, problem = None, incoming.problem
        if not route.served:
            problem = problem or Problem("no_such_path", f"nothing is served at {incoming.path}")
        if problem is None:
            try:
                body = parsed_body(incoming.data)
            except MalformedRequest as error:
                problem = _malformed(route.wire, error)
        if body is not None and route.model is not None:
            body = {**body, "model": route.model}
        facts = _facts(incoming.path, route.wire, body)
        with self._lock:
            number, at = next(self._numbers), time.monotonic()
            choose, count = self._choice
            turn = next(count) if route.served else 0
        fault = choose(turn, facts) if turn else None
        if fault == "refused_parameter" and not route.wire.sends_temperature(body or {}):
            fault = None
        return _Arrival(number, at, route, facts, body, fault, problem)

    def _reply(self, arrival: _Arrival, key: str) -> Outgoing | Silence:
        wire, fault = arrival.route.wire, arrival.fault
        problem = problem_of(fault, retry_after=self._retry_after, key=key)
        if problem is None and fault in ("timeout", "drop"):
            return Silence(held=fault == "timeout")
        problem = problem or arrival.problem
        if problem is None:
            completed = self._complete(wire, arrival.body or {}, fault)
            if isinstance(completed, Outgoing):
                return completed
            problem = completed
        return outgoing(*wire.error(problem), problem.retry_after)

    def _complete(self, wire: WireFormat, body: Body, fault: Fault | None) -> Outgoing | Problem:
        try:
            prompt = wire.read(body)
        except UnknownName as unknown:
            return Problem("no_such_model", str(unknown))
        except MalformedRequest as error:
            return _malformed(wire, error)
        try:
            text = self._said(prompt)
        except Exception as error:  # noqa: BLE001  (an experiment's own code: say what it raised)
            told = f"a simulated subject failed: {type(error).__name__}: {error}"
            return Problem("subject_failed", told)
        if text is None:
            return Problem("unrecognised", _UNRECOGNISED)
        with self._lock:
            self._answered += 1
        reply = wire.reply(prompt, answer_under(fault, text))
        if body.get("stream") and wire.stream is not None:
            data, content_type = wire.stream(reply).encode(), "text/event-stream"
        else:
            data, content_type = compact(reply).encode(), "application/json"
        if fault == "malformed":
            data = data[: len(data) // 2]
        return Outgoing(HTTPStatus.OK, data, content_type)

    def _said(self, prompt: SimulatedPrompt) -> str | None:
        said = (simulated_text(answer, prompt) for answer in self.answers)
        return next((text for text in said if text is not None), None)


def _malformed(wire: WireFormat, error: MalformedRequest) -> Problem:
    return Problem("malformed", f"not a {wire.request}: {error}")


def _facts(path: str, wire: WireFormat, body: Body | None) -> RequestFacts:
    given = body or {}
    model, seed = given.get("model"), given.get(SEED_FIELD, 0 if body is not None else None)
    return RequestFacts(
        wire=wire.name,
        path=path,
        model=model if isinstance(model, str) else None,
        seed=seed if type(seed) is int else None,
    )
