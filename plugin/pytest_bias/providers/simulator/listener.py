"""HTTP on loopback: which wire format is spoken at a path, and bytes in, bytes out.

What is answered is not decided here.
"""

from __future__ import annotations

import re
import socket
import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from email.message import Message
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, cast
from urllib.parse import unquote, urlsplit

from ...experiments.canonical import compact
from .exchange import PROGRAMS, Body, Problem, WireFormat
from .wires import CHAT, CONTENTS, MESSAGES, RESPONSES

LOOPBACK = "127.0.0.1"
_LARGEST_BODY = 4 * 1024 * 1024

_PATHS: Mapping[str, WireFormat] = {
    "/v1/chat/completions": CHAT,
    "/v1/responses": RESPONSES,
    "/v1/messages": MESSAGES,
}
_GENERATE = re.compile(r"/v1(?:beta)?/models/([^/:]+):generateContent")
_GOOGLE = re.compile(r"/v1beta/|/v1/models/[^/]+:")


@dataclass(frozen=True, slots=True)
class Route:
    """The format and action a path leads to.

    ``wire`` is the format in which to answer, even where nothing is ``served``; ``model`` the
    model where the path names it.
    """

    wire: WireFormat
    served: bool
    model: str | None = None


def route_of(path: str) -> Route:
    """Return the route of a request for completions to ``path`` (without its query)."""
    if path in _PATHS:
        return Route(_PATHS[path], served=True)
    if found := _GENERATE.fullmatch(path):
        return Route(CONTENTS, served=True, model=unquote(found.group(1)))
    if _GOOGLE.match(path):
        return Route(CONTENTS, served=False)
    return Route(MESSAGES if path.startswith("/v1/messages/") else CHAT, served=False)


@dataclass(frozen=True, slots=True)
class Incoming:
    """A request as it came: the path without its query, its headers, its body.

    ``problem`` says why the body could not be read.
    """

    path: str
    headers: Message = field(repr=False)
    data: bytes = field(repr=False)
    problem: Problem | None = None


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A reply: HTTP status, body, and headers beside those that every reply has."""

    status: int
    data: bytes = field(repr=False)
    headers: Mapping[str, str] = field(default_factory=dict)


class Listener(ThreadingHTTPServer):
    """Listens on loopback and gives every connection a thread, in which ``respond`` is called.

    Where it gives no reply, the connection is closed.
    """

    daemon_threads = True
    request_queue_size = 512

    def __init__(self, port: int, respond: Callable[[Incoming], Outgoing | None]) -> None:
        self.respond = respond
        self._connections: set[socket.socket] = set()
        self._lock = threading.Lock()
        super().__init__((LOOPBACK, port), _Handler)

    def shutdown(self) -> None:
        """End at once: a listener that is shut wakes the thread that waits for connections."""
        _end(self.socket)
        super().shutdown()

    def hang_up(self) -> None:
        """End every open connection, so that no thread is left waiting for its client."""
        with self._lock:
            for connection in self._connections:
                _end(connection)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answer a connection's requests in a thread of its own."""
        with self._lock:
            self._connections.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        """Close a connection."""
        with self._lock:
            self._connections.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of clients that went away; anything else is shown."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


def _end(connection: socket.socket) -> None:
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:  # the client was quicker; a listener is "not connected" to macOS
        return


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # One small packet per reply: with Nagle's algorithm each would wait for an acknowledgement.
    disable_nagle_algorithm = True
    wbufsize = -1

    def do_GET(self) -> None:
        path = urlsplit(self.path).path
        if path == "/v1/models":
            listed = [{"id": s, "object": "model", "owned_by": "simulated"} for s in PROGRAMS]
            self._send(outgoing(HTTPStatus.OK, {"object": "list", "data": listed}))
        else:
            problem = Problem("no_such_path", f"nothing is served at {path}")
            self._send(outgoing(*route_of(path).wire.error(problem)))

    def do_POST(self) -> None:
        length = self.headers.get("Content-Length", "")
        problem, data = None, b""
        if not length.isdecimal() or int(length) > _LARGEST_BODY:
            # What follows cannot be told from the next request.
            self.close_connection = True
            told = f"a body of 0 to {_LARGEST_BODY} bytes and its length are needed"
            problem = Problem("too_large" if length.isdecimal() else "no_length", told)
        else:
            data = self.rfile.read(int(length))
        incoming = Incoming(urlsplit(self.path).path, self.headers, data, problem)
        reply = cast("Listener", self.server).respond(incoming)
        if reply is None:
            self.close_connection = True
        else:
            self._send(reply)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  (the base's name)
        """Say nothing: a request line on stderr would stand between pytest's own lines."""

    def _send(self, reply: Outgoing) -> None:
        self.send_response(reply.status)
        headers = {"Content-Type": "application/json", **reply.headers}
        for name, value in {**headers, "Content-Length": str(len(reply.data))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(reply.data)
        self.wfile.flush()


def outgoing(status: int, body: Body) -> Outgoing:
    """A reply with a JSON body."""
    return Outgoing(status, compact(body).encode())
