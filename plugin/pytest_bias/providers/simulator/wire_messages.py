"""Anthropic's Messages, as pure functions: bodies in, bodies out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ...experiments.experiment import SimulatedPrompt
from ...experiments.messages import Message
from .exchange import (
    FINGERPRINT,
    STATUSES,
    Body,
    Ending,
    MalformedRequest,
    Problem,
    SimulatedReply,
    WireFormat,
    identity,
    joined_text,
    message_of,
    prompt_of,
    refuse_stream,
    tokens,
)

# The API has one way to say that it will not: its filters and the model end alike.
_STOP_REASONS: Mapping[Ending, str] = {
    "stop": "end_turn",
    "length": "max_tokens",
    "content_filter": "refusal",
    "refusal": "refusal",
}

_STATUSES = {**STATUSES, "quota": 402, "overloaded": 529}

# HTTP status → type; the others are an invalid_request_error.
_TYPES = {
    401: "authentication_error",
    402: "billing_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    500: "api_error",
    529: "overloaded_error",
}


def _read(body: Body) -> SimulatedPrompt:
    limit = body.get("max_tokens")
    if type(limit) is not int or limit < 1:
        raise MalformedRequest("max_tokens is needed, a whole number from 1 up")
    refuse_stream(body)
    return prompt_of(body, _messages)


def _messages(body: Body) -> Iterator[Message]:
    system, given = body.get("system"), body.get("messages")
    if system is not None:
        yield Message("system", joined_text(system))
    if not isinstance(given, list) or not given:
        raise MalformedRequest("model and messages are needed")
    yield from map(message_of, given)


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
    status = _STATUSES[problem.kind]
    kind = _TYPES.get(status, "invalid_request_error")
    return status, {"type": "error", "error": {"type": kind, "message": problem.message}}


MESSAGES = WireFormat("anthropic", "Messages request", _read, _reply, _error)
"""``POST /v1/messages``."""
