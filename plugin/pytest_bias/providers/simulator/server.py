"""An HTTP server on loopback whose models are simulated subjects.

It speaks OpenAI's Chat Completions (``POST /v1/chat/completions``) and Responses (``POST
/v1/responses``, streamed too), Anthropic's Messages (``POST /v1/messages``) and Google's
generateContent (``POST /v1beta/models/{model}:generateContent``), and lists its models as OpenAI
does. In all of them the body may carry ``pytest_bias_seed``, the per-trial seed: a reply's text is
a function of the model's name, the messages and that seed alone, whatever the format, so that a
recording can be made again. Reply ids and times are constant for the same reason. Every reply is
marked as simulated by its ``system_fingerprint``.

The books of what came in and went out hold no key, no header and no word said.
"""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from http import HTTPStatus
from pathlib import Path

from ...errors import UnknownName
from ...experiments.canonical import dumps
from ...experiments.experiment import SimulatedAnswer, SimulatedPrompt, simulated_text
from .exchange import (
    SEED_FIELD,
    Body,
    MalformedRequest,
    Problem,
    WireFormat,
    parsed_body,
)
from .listener import LOOPBACK, Incoming, Listener, Outgoing, Route, outgoing, route_of

_UNRECOGNISED = (
    "no simulated subject recognises this prompt; give the experiment a function simulated=… that "
    "answers it (see SimulatedPrompt)"
)


@dataclass(frozen=True, slots=True)
class Served:
    """One request for a completion, as the server saw it.

    ``number`` is in order of arrival, from 1; ``at`` and ``answered_at`` are seconds on the
    monotonic clock, at arrival and when the answer was ready to be sent. ``path`` is without its
    query, in which keys may stand; ``model`` and ``seed`` are as asked for. What there was not is
    None.
    """

    number: int
    at: float
    path: str
    model: str | None
    seed: int | None
    status: int | None = None
    answered_at: float | None = None


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


class SimulatorServer:
    """Serves simulated subjects on loopback until stopped.

    Of ``answers`` the first that recognises a prompt answers it. Port 0 takes a free one. Every
    reply takes ``latency`` seconds. ``log`` is a file to which every request adds a JSON line; see
    :class:`.Served`.

    Raises OSError when the port is taken or the log cannot be written.
    """

    def __init__(
        self,
        answers: Sequence[SimulatedAnswer],
        port: int = 0,
        *,
        latency: float = 0.0,
        log: Path | None = None,
    ) -> None:
        self.answers = tuple(answers)
        self._latency = latency
        self._books = Books(log)
        self._lock = threading.Lock()
        self._numbers = itertools.count(1)
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
    def served(self) -> list[Served]:
        """Every request so far, in order of arrival."""
        return self._books.entries()

    def start(self) -> None:
        """Serve from a thread of its own."""
        self._thread.start()

    def stop(self) -> None:
        """Stop serving and close every socket, those of requests without an answer too."""
        self._stopping.set()
        if self._thread.is_alive():  # what was never started would be waited for
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

    def respond(self, incoming: Incoming) -> Outgoing | None:
        """Answer a request, when it is time; None where we stop before."""
        route = route_of(incoming.path)
        given = _given(route, incoming)
        with self._lock:
            number, at = next(self._numbers), time.monotonic()
        asked = Served(number, at, incoming.path, *_facts(given))
        reply = self._reply(asked, given)
        if reply is not None and self._latency and self._stopping.wait(self._latency):
            reply = None
        if reply is not None:
            asked = replace(asked, status=int(reply.status), answered_at=time.monotonic())
        self._books.add(asked)
        return reply

    def _reply(self, asked: Served, given: Body | Problem) -> Outgoing | None:
        wire = route_of(asked.path).wire
        completed = given if isinstance(given, Problem) else self._complete(wire, given)
        return outgoing(*wire.error(completed)) if isinstance(completed, Problem) else completed

    def _complete(self, wire: WireFormat, body: Body) -> Outgoing | Problem:
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
        reply = wire.reply(prompt, text)
        if body.get("stream") and wire.stream is not None:
            streamed = {"Content-Type": "text/event-stream"}
            return Outgoing(HTTPStatus.OK, wire.stream(reply).encode(), streamed)
        return outgoing(HTTPStatus.OK, reply)

    def _said(self, prompt: SimulatedPrompt) -> str | None:
        said = (simulated_text(answer, prompt) for answer in self.answers)
        return next((text for text in said if text is not None), None)


def _malformed(wire: WireFormat, error: MalformedRequest) -> Problem:
    return Problem("malformed", f"not a {wire.request}: {error}")


def _given(route: Route, incoming: Incoming) -> Body | Problem:
    """The body of a request, with its model; or why it is none."""
    if incoming.problem is not None:
        return incoming.problem
    if not route.served:
        return Problem("no_such_path", f"nothing is served at {incoming.path}")
    try:
        body = parsed_body(incoming.data)
    except MalformedRequest as error:
        return _malformed(route.wire, error)
    return body if route.model is None else {**body, "model": route.model}


def _facts(given: Body | Problem) -> tuple[str | None, int | None]:
    """Model and seed as asked for."""
    if isinstance(given, Problem):
        return None, None
    model, seed = given.get("model"), given.get(SEED_FIELD, 0)
    return model if isinstance(model, str) else None, seed if type(seed) is int else None
