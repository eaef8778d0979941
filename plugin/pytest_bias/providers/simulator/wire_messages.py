"""Anthropic's Messages, as pure functions: bodies in, bodies out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ...experiments.experiment import SimulatedPrompt
from ...experiments.messages import Message
from .exchange import (
    FINGERPRINT,
    Body,
    Ending,
    MalformedRequest,
    Problem,
    ProblemKind,
    SimulatedReply,
    WireFormat,
    identity,
    joined_text,
    message_of,
    prompt_of,
    refuse_stream,
    tokens,
)
from .wire_chat import sends_temperature

_PARTS = frozenset({"text"})

# The API has one way to say that it will not: its filters and the model end alike.
_STOP_REASONS: Mapping[Ending, str] = {
    "stop": "end_turn",
    "length": "max_tokens",
    "content_filter": "refusal",
    "refusal": "refusal",
}

# Kind of problem → status and type.
_ERRORS: Mapping[ProblemKind, tuple[int, str]] = {
    "malformed": (400, "invalid_request_error"),
    "no_such_path": (404, "not_found_error"),
    "no_such_model": (404, "not_found_error"),
    "no_length": (411, "invalid_request_error"),
    "too_large": (413, "request_too_large"),
    "unrecognised": (422, "invalid_request_error"),
    "subject_failed": (500, "api_error"),
    "rate_limit": (429, "rate_limit_error"),
    "quota": (402, "billing_error"),
    "server_error": (500, "api_error"),
    "overloaded": (529, "overloaded_error"),
    "unauthorised": (401, "authentication_error"),
    "refused_parameter": (400, "invalid_request_error"),
}


def _read(body: Body) -> SimulatedPrompt:
    limit = body.get("max_tokens")
    if type(limit) is not int or limit < 1:
        raise MalformedRequest("max_tokens is needed, a whole number from 1 up")
    refuse_stream(body)
    return prompt_of(body, lambda: list(_messages(body)))


def _messages(body: Body) -> Iterator[Message]:
    system, given = body.get("system"), body.get("messages")
    if system is not None:
        yield Message("system", joined_text(system, _PARTS))
    if not isinstance(given, list) or not given:
        raise MalformedRequest("model and messages are needed")
    for item in given:
        yield message_of(item, _PARTS)


def _reply(prompt: SimulatedPrompt, answer: SimulatedReply) -> Body:
    asked, said = tokens(prompt, answer)
    refused = _STOP_REASONS[answer.ending] == "refusal"
    content = [{"type": "text", "text": answer.text}]
    reply: dict[str, object] = {
        "id": f"msg_simulated_{identity(prompt)}",
        "type": "message",
        "role": "assistant",
        "model": prompt.subject,
        "system_fingerprint": FINGERPRINT,
        "content": [] if answer.ending == "content_filter" else content,
        "stop_reason": _STOP_REASONS[answer.ending],
        "stop_sequence": None,
        "usage": {"input_tokens": asked, "output_tokens": said},
    }
    if refused:
        reply["stop_details"] = {"type": "refusal", "category": None, "explanation": None}
    return reply


def _error(problem: Problem) -> tuple[int, Body]:
    status, kind = _ERRORS[problem.kind]
    return status, {"type": "error", "error": {"type": kind, "message": problem.message}}


MESSAGES = WireFormat(
    name="anthropic",
    request="Messages request",
    read=_read,
    reply=_reply,
    error=_error,
    sends_temperature=sends_temperature,
)
"""``POST /v1/messages``."""
