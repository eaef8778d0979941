"""What tests of the wire share: a paid endpoint that keeps the books, and servers."""

from __future__ import annotations

import socket
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, TypeVar

from hypothesis import settings

from pytest_bias.experiments.simulated import SimulatedPrompt

T = TypeVar("T")


def fewer(times: int) -> settings:
    """Return settings with a share of the profile's examples, for a case that takes long."""
    profile = settings.get_profile(settings.get_current_profile_name())
    return settings(max_examples=max(1, profile.max_examples // times))


def there(value: T | None) -> T:
    """Return a value, of which there has to be one."""
    assert value is not None
    return value


PATIENCE = 60.0
"""Seconds until a wait that should have ended fails; no test waits that long when it passes."""


class Endpoint:
    """Answers like a model and counts every call by the seed in its body.

    Calls beyond ``limit`` are held until :meth:`release`; ``on_call`` is called with the number of
    each call before it is answered.
    """

    def __init__(
        self,
        say: Callable[[SimulatedPrompt], str | None] = lambda _: '{"score": 5}',
        *,
        limit: int | None = None,
        on_call: Callable[[int], None] = lambda _: None,
    ) -> None:
        self._say = say
        self._limit = limit
        self._on_call = on_call
        self._changed = threading.Condition()
        self.arrived: Counter[int] = Counter()
        self.answered: Counter[int] = Counter()

    def __call__(self, prompt: SimulatedPrompt) -> str | None:
        """Answer a prompt, when it is time."""
        with self._changed:
            self.arrived[prompt.seed] += 1
            number = self.arrived.total()
            self._changed.notify_all()
        self._on_call(number)
        with self._changed:
            if not self._changed.wait_for(
                lambda: self._limit is None or number <= self._limit, timeout=PATIENCE
            ):
                raise TimeoutError(number)
            self.answered[prompt.seed] += 1
        return self._say(prompt)

    def wait_for_arrivals(self, number: int) -> None:
        """Wait until ``number`` calls have come in, held ones included."""
        with self._changed:
            if not self._changed.wait_for(
                lambda: self.arrived.total() >= number, timeout=PATIENCE
            ):
                raise TimeoutError(self.arrived.total())

    def release(self) -> None:
        """Hold nothing any more."""
        with self._changed:
            self._limit = None
            self._changed.notify_all()


class Asked(BaseHTTPRequestHandler):
    """A call to a server that is :func:`answering`, with its body."""

    body = b""


Answer = Callable[[Asked], None]


class _Listener(ThreadingHTTPServer):
    request_queue_size = 128
    """Of the five it has else the sixth of calls at once is asked again a second later."""

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of clients that went away; anything else is shown."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


@contextmanager
def answering(answer: Answer, *, lasting: bool = False) -> Iterator[tuple[str, list[str]]]:
    """A server that answers every call so: its URL, and the paths it was asked for.

    ``lasting`` connections are kept for the next call.
    """
    seen: list[str] = []

    class Handler(Asked):
        protocol_version = "HTTP/1.1" if lasting else "HTTP/1.0"
        wbufsize = -1 if lasting else 0  # else a small reply waits for an acknowledgement

        def do_POST(self) -> None:
            seen.append(self.path)
            self.body = self.rfile.read(int(self.headers["Content-Length"]))
            answer(self)

        do_PATCH = do_PUT = do_POST  # noqa: N815  (names of the base)

        def do_GET(self) -> None:  # what a 303 makes of a POST
            seen.append(self.path)
            answer(self)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002  (the base's name)
            """Say nothing."""

    server = _Listener(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", seen
    finally:
        server.socket.shutdown(socket.SHUT_RDWR)  # so that it ends at once
        server.shutdown()
        thread.join()
        server.server_close()


def saying(status: int, headers: Mapping[str, str], body: bytes = b"") -> Answer:
    def answer(handler: Asked) -> None:
        handler.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(body)

    return answer
