"""OpenAI's Chat Completions, as pure functions: bodies in, bodies out.

Recorded cassettes hold these reply bodies: those of a whole reply must stay as they are, byte for
byte.
"""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus

from ...experiments.experiment import SimulatedPrompt
from .exchange import (
    FINGERPRINT,
    STATUSES,
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

_TYPES: Mapping[ProblemKind, str] = {"rate_limit": "requests", "quota": "insufficient_quota"}
_CODES: Mapping[ProblemKind, str] = {
    "no_such_model": "model_not_found",
    "rate_limit": "rate_limit_exceeded",
    "quota": "insufficient_quota",
    "unauthorised": "invalid_api_key",
    "refused_parameter": "unsupported_value",
}


def _read(body: Body) -> SimulatedPrompt:
    given = body.get("messages")
    if not isinstance(given, list) or not given:
        raise MalformedRequest("model and messages are needed")
    refuse_stream(body)
    return prompt_of(body, lambda _: map(message_of, given))


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
    kind, status = problem.kind, STATUSES[problem.kind]
    usual = (
        "invalid_request_error" if status < HTTPStatus.INTERNAL_SERVER_ERROR else "server_error"
    )
    error = {
        "message": problem.message,
        "type": _TYPES.get(kind, usual),
        "param": "temperature" if kind == "refused_parameter" else None,
        "code": _CODES.get(kind),
    }
    return status, {"error": error}


CHAT = WireFormat("openai-chat", "chat completion request", _read, _reply, openai_error)
"""``POST /v1/chat/completions``."""
