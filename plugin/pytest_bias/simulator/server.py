"""An HTTP server on loopback whose models are simulated subjects.

Wire format: OpenAI Chat Completions (``POST /v1/chat/completions``, ``GET /v1/models``). The body
may carry ``pytest_bias_seed``, the per-trial seed: replies are a function of the model's name, the
messages and that seed alone, so that a recording can be made again. Reply ids and times are
constant for the same reason. Every reply is marked as simulated by its ``system_fingerprint``.
"""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Sequence
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, cast, get_args

from ..canonical import compact, digest
from ..errors import BiasError, UnknownName
from ..experiment import SimulatedAnswer, SimulatedPrompt
from ..messages import Message, Role
from .subjects import SUBJECTS

LOOPBACK = "127.0.0.1"
FINGERPRINT = "pytest-bias-simulated"
"""The ``system_fingerprint`` of every reply."""
_UNRECOGNISED = (
    "no simulated subject recognises this prompt; give the experiment a function simulated=… that "
    "answers it (see SimulatedPrompt)"
)
_LARGEST_BODY = 4 * 1024 * 1024
_ID_LENGTH = 24


class MalformedRequest(BiasError):
    """A request body is not what the API takes."""


class Unrecognised(BiasError):
    """No experiment recognises the prompt."""


class SimulatorServer:
    """Serves simulated subjects on loopback until stopped.

    Parameters
    ----------
    answers
        How each experiment's prompts are answered; the first that recognises a prompt answers.
    port
        Port to listen on; 0 takes a free one.
    """

    def __init__(self, answers: Sequence[SimulatedAnswer], port: int = 0) -> None:
        self.answers = tuple(answers)
        self._http = _Server((LOOPBACK, port), _Handler)
        self._http.simulator = self
        self._thread = threading.Thread(
            target=self._http.serve_forever,
            kwargs={"poll_interval": 0.05},
            name="pytest-bias-simulator",
            daemon=True,
        )
        self._lock = threading.Lock()
        self._answered = 0

    @property
    def url(self) -> str:
        """Base URL without a path."""
        return f"http://{LOOPBACK}:{self._http.server_address[1]}"

    @property
    def answered(self) -> int:
        """Number of completions given so far."""
        return self._answered

    def start(self) -> None:
        """Serve from a thread of its own."""
        self._thread.start()

    def stop(self) -> None:
        """Stop serving and close every socket."""
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()

    def serve(self) -> None:
        """Serve in this thread until interrupted."""
        try:
            self._http.serve_forever()
        finally:
            self._http.server_close()

    def complete(self, body: object) -> dict[str, object]:
        """The Chat Completions reply to a request body.

        Raises
        ------
        MalformedRequest
            When the body is no Chat Completions request.
        UnknownName
            When the body asks for a model that is no simulated subject.
        Unrecognised
            When no experiment recognises the prompt.
        """
        prompt = read_prompt(body)
        subject, messages, seed = prompt.subject, prompt.messages, prompt.seed
        text = next((t for answer in self.answers if (t := answer(prompt)) is not None), None)
        if text is None:
            raise Unrecognised
        with self._lock:
            self._answered += 1
        asked = sum(len(message.text.split()) for message in messages)
        identity = digest(f"{subject}:{seed}:{digest(compact([m.text for m in messages]))}")
        return {
            "id": f"chatcmpl-simulated-{identity[:_ID_LENGTH]}",
            "object": "chat.completion",
            "created": 0,
            "model": subject,
            "system_fingerprint": FINGERPRINT,
            "choices": [
                {
                    "index": 0,
                    "message": {"role": "assistant", "content": text},
                    "finish_reason": "stop",
                }
            ],
            "usage": {
                "prompt_tokens": asked,
                "completion_tokens": len(text.split()),
                "total_tokens": asked + len(text.split()),
            },
        }


def _parsed(data: bytes) -> object:
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        raise MalformedRequest(str(error)) from error


def read_prompt(body: object) -> SimulatedPrompt:
    """What a request body asks of whom.

    Raises
    ------
    MalformedRequest
        When it is no Chat Completions request, or one for a stream.
    UnknownName
        When it asks for a model that is no simulated subject.
    """
    if not isinstance(body, dict):
        raise MalformedRequest("the body must be an object")
    subject, given = body.get("model"), body.get("messages")
    if not isinstance(subject, str) or not isinstance(given, list) or not given:
        raise MalformedRequest("model and messages are needed")
    if body.get("stream"):
        raise MalformedRequest("replies are not streamed")
    seed = body.get("pytest_bias_seed", 0)
    if type(seed) is not int:
        raise MalformedRequest("pytest_bias_seed must be an integer")
    if subject not in SUBJECTS:
        raise UnknownName(kind="simulated subject", name=subject, known=SUBJECTS)
    return SimulatedPrompt(subject, tuple(_message(message) for message in given), seed)


def _message(message: object) -> Message:
    if isinstance(message, dict):
        role, content = message.get("role"), message.get("content")
        if role in get_args(Role) and isinstance(content, str):
            return Message(cast("Role", role), content)
    raise MalformedRequest("a message needs a role and its content as text")


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128
    simulator: SimulatorServer

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of clients that went away; anything else is shown."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # One small packet per reply: with Nagle's algorithm each would wait for an acknowledgement.
    disable_nagle_algorithm = True
    wbufsize = -1

    def do_GET(self) -> None:
        if self.path == "/v1/models":
            models = [{"id": s, "object": "model", "owned_by": "simulated"} for s in SUBJECTS]
            self._send(HTTPStatus.OK, {"object": "list", "data": models})
        else:
            self._fail(HTTPStatus.NOT_FOUND, f"nothing is served at {self.path}")

    def do_POST(self) -> None:
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal() or int(length) > _LARGEST_BODY:
            # What follows cannot be told from the next request.
            self.close_connection = True
            known = HTTPStatus.REQUEST_ENTITY_TOO_LARGE
            status = known if length.isdecimal() else HTTPStatus.LENGTH_REQUIRED
            self._fail(status, f"a body of 0 to {_LARGEST_BODY} bytes and its length are needed")
            return
        data = self.rfile.read(int(length))
        if self.path != "/v1/chat/completions":
            self._fail(HTTPStatus.NOT_FOUND, f"nothing is served at {self.path}")
            return
        try:
            reply = cast("_Server", self.server).simulator.complete(_parsed(data))
        except UnknownName as unknown:
            self._fail(HTTPStatus.NOT_FOUND, str(unknown))
        except MalformedRequest as error:
            self._fail(HTTPStatus.BAD_REQUEST, f"not a chat completion request: {error}")
        except Unrecognised:
            self._fail(HTTPStatus.UNPROCESSABLE_ENTITY, _UNRECOGNISED)
        except Exception as error:  # noqa: BLE001  (an experiment's own code: say what it raised)
            problem = f"a simulated subject failed: {type(error).__name__}: {error}"
            self._fail(HTTPStatus.INTERNAL_SERVER_ERROR, problem)
        else:
            self._send(HTTPStatus.OK, reply)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  (the base's name)
        """Say nothing: a request line on stderr would stand between pytest's own lines."""

    def _fail(self, status: HTTPStatus, message: str) -> None:
        self._send(status, {"error": {"message": message, "type": status.phrase, "code": None}})

    def _send(self, status: HTTPStatus, reply: dict[str, Any]) -> None:
        data = compact(reply).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)
        self.wfile.flush()
