"""OpenAI's Chat Completions, as pure functions: bodies in, bodies out.

Recorded cassettes hold these reply bodies: those of a whole reply must stay as they are, byte for
byte.
"""

from __future__ import annotations

from collections.abc import Mapping

from ...experiments.experiment import SimulatedPrompt
from .exchange import (
    FINGERPRINT,
    Body,
    MalformedRequest,
    Problem,
    ProblemKind,
    SimulatedReply,
    WireFormat,
    identity,
    message_of,
    prompt_of,
    refuse_stream,
    tokens,
)

_PARTS = frozenset({"text"})

# Kind of problem → status, type and code.
_ERRORS: Mapping[ProblemKind, tuple[int, str, str | None]] = {
    "malformed": (400, "invalid_request_error", None),
    "no_such_path": (404, "invalid_request_error", None),
    "no_such_model": (404, "invalid_request_error", "model_not_found"),
    "no_length": (411, "invalid_request_error", None),
    "too_large": (413, "invalid_request_error", None),
    "unrecognised": (422, "invalid_request_error", None),
    "subject_failed": (500, "server_error", None),
    "rate_limit": (429, "requests", "rate_limit_exceeded"),
    "quota": (429, "insufficient_quota", "insufficient_quota"),
    "server_error": (500, "server_error", None),
    "overloaded": (503, "server_error", None),
    "unauthorised": (401, "invalid_request_error", "invalid_api_key"),
    "refused_parameter": (400, "invalid_request_error", "unsupported_value"),
}


def _read(body: Body) -> SimulatedPrompt:
    given = body.get("messages")
    if not isinstance(given, list) or not given:
        raise MalformedRequest("model and messages are needed")
    refuse_stream(body)
    return prompt_of(body, lambda: [message_of(message, _PARTS) for message in given])


def _reply(prompt: SimulatedPrompt, answer: SimulatedReply) -> Body:
    asked, said = tokens(prompt, answer)
    message: dict[str, object] = {"role": "assistant", "content": answer.text}
    if answer.ending == "refusal":
        message |= {"content": None, "refusal": answer.text}
    return {
        "id": f"chatcmpl-simulated-{identity(prompt)}",
        "object": "chat.completion",
        "created": 0,
        "model": prompt.subject,
        "system_fingerprint": FINGERPRINT,
        "choices": [
            {
                "index": 0,
                "message": message,
                "finish_reason": "stop" if answer.ending == "refusal" else answer.ending,
            }
        ],
        "usage": {
            "prompt_tokens": asked,
            "completion_tokens": said,
            "total_tokens": asked + said,
        },
    }


def openai_error(problem: Problem) -> tuple[int, Body]:
    """Status and body of an error, alike for both of OpenAI's APIs."""
    status, kind, code = _ERRORS[problem.kind]
    parameter = "temperature" if problem.kind == "refused_parameter" else None
    error = {"message": problem.message, "type": kind, "param": parameter, "code": code}
    return status, {"error": error}


def sends_temperature(body: Body) -> bool:
    """Return whether ``temperature`` stands at the top level."""
    return body.get("temperature") is not None


CHAT = WireFormat(
    name="openai-chat",
    request="chat completion request",
    read=_read,
    reply=_reply,
    error=openai_error,
    sends_temperature=sends_temperature,
)
"""``POST /v1/chat/completions``."""
