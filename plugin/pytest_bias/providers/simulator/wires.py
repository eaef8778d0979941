"""Wire formats of OpenAI, Anthropic and Google, as pure functions: bodies in, bodies out.

Conversations are sent whole: nothing is kept between requests. Recorded cassettes hold these reply
bodies: those of a whole reply must stay as they are, byte for byte. Tools, reasoning and whatever
else an agent sends along is taken and has no effect.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from http import HTTPStatus
from typing import Any, cast

from ...experiments.canonical import compact
from ...experiments.experiment import SimulatedPrompt
from ...experiments.messages import Message, Role
from .exchange import (
    FINGERPRINT,
    STATUSES,
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

# --- OpenAI's Chat Completions -----------------------------------------------------------------

_OPENAI_TYPES: Mapping[ProblemKind, str] = {
    "rate_limit": "requests",
    "quota": "insufficient_quota",
}
_OPENAI_CODES: Mapping[ProblemKind, str] = {
    "no_such_model": "model_not_found",
    "rate_limit": "rate_limit_exceeded",
    "quota": "insufficient_quota",
    "unauthorised": "invalid_api_key",
    "refused_parameter": "unsupported_value",
}


def _read_chat(body: Body) -> SimulatedPrompt:
    given = body.get("messages")
    if not isinstance(given, list) or not given:
        raise MalformedRequest("model and messages are needed")
    refuse_stream(body)
    return prompt_of(body, lambda _: map(message_of, given))


def _chat_reply(prompt: SimulatedPrompt, answer: SimulatedReply) -> Body:
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


def _openai_error(problem: Problem) -> tuple[int, Body]:
    """Status and body of an error, alike for both of OpenAI's APIs."""
    kind, status = problem.kind, STATUSES[problem.kind]
    usual = (
        "invalid_request_error" if status < HTTPStatus.INTERNAL_SERVER_ERROR else "server_error"
    )
    error = {
        "message": problem.message,
        "type": _OPENAI_TYPES.get(kind, usual),
        "param": "temperature" if kind == "refused_parameter" else None,
        "code": _OPENAI_CODES.get(kind),
    }
    return status, {"error": error}


CHAT = WireFormat("openai-chat", "chat completion request", _read_chat, _chat_reply, _openai_error)
"""``POST /v1/chat/completions``."""


# --- OpenAI's Responses ------------------------------------------------------------------------

_PARTS = frozenset({"input_text", "output_text", "text"})
_DELTA = 64
_SURROUNDINGS = "<environment_context>"
"""Begins what the Codex CLI tells of its folder and shell, in the user's name."""

# Ending → why the response is incomplete; the others are complete.
_INCOMPLETE: Mapping[Ending, str] = {
    "length": "max_output_tokens",
    "content_filter": "content_filter",
}


def _read_response(body: Body) -> SimulatedPrompt:
    if body.get("previous_response_id") is not None:
        raise MalformedRequest("nothing is stored here: send the whole conversation as input")
    return prompt_of(body, _input_messages)


def _input_messages(body: Body) -> Iterator[Message]:
    instructions, given = body.get("instructions"), body.get("input")
    if isinstance(instructions, str):
        yield Message("system", instructions)
    elif instructions is not None:
        raise MalformedRequest("instructions must be text")
    items = [{"role": "user", "content": given}] if isinstance(given, str) else given
    if not isinstance(items, list):
        raise MalformedRequest("input must be text or a list of items")
    messages = [_surrounding(message_of(item, _PARTS)) for item in items if _is_message(item)]
    if not messages:
        raise MalformedRequest("input must have at least one message")
    yield from messages


def _is_message(item: object) -> bool:
    # Others are reasoning and the calls of tools, which the subjects neither make nor see.
    return not isinstance(item, dict) or item.get("type", "message") == "message"


def _surrounding(message: Message) -> Message:
    """Turn what an agent adds about its surroundings into a message of the system's."""
    if message.role == "user" and message.text.lstrip().startswith(_SURROUNDINGS):
        return Message("system", message.text)
    return message


def _response_reply(prompt: SimulatedPrompt, answer: SimulatedReply) -> Body:
    asked, said = tokens(prompt, answer)
    name, why = identity(prompt), _INCOMPLETE.get(answer.ending)
    status = "completed" if why is None else "incomplete"
    part: dict[str, object] = {"type": "output_text", "text": answer.text, "annotations": []}
    if answer.ending == "refusal":
        part = {"type": "refusal", "refusal": answer.text}
    item = {
        "id": f"msg_simulated_{name}",
        "type": "message",
        "role": "assistant",
        "status": status,
        "content": [part],
    }
    return {
        "id": f"resp_simulated_{name}",
        "object": "response",
        "created_at": 0,
        "status": status,
        "error": None,
        "incomplete_details": None if why is None else {"reason": why},
        "instructions": None,
        "metadata": {},
        "model": prompt.subject,
        "output": [] if answer.ending == "content_filter" else [item],
        "parallel_tool_calls": False,
        "previous_response_id": None,
        "store": False,
        "temperature": None,
        "tool_choice": "none",
        "tools": [],
        "top_p": None,
        "system_fingerprint": FINGERPRINT,
        "usage": {
            "input_tokens": asked,
            "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
            "output_tokens": said,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": asked + said,
        },
    }


def _stream(reply: Body) -> str:
    return "".join(
        f"event: {event['type']}\ndata: {compact({**event, 'sequence_number': number})}\n\n"
        for number, event in enumerate(_events(reply))
    )


def _events(reply: Body) -> Iterator[Body]:
    begun = {**reply, "status": "in_progress", "incomplete_details": None, "output": []}
    begun["usage"] = None
    yield {"type": "response.created", "response": begun}
    yield {"type": "response.in_progress", "response": begun}
    for index, item in enumerate(cast("list[dict[str, Any]]", reply["output"])):
        yield from _item_events(index, item)
    yield {"type": f"response.{reply['status']}", "response": reply}


def _item_events(index: int, item: dict[str, Any]) -> Iterator[Body]:
    (part,) = item["content"]
    field = "refusal" if part["type"] == "refusal" else "text"
    event = "response.refusal" if field == "refusal" else "response.output_text"
    log: dict[str, object] = {} if field == "refusal" else {"logprobs": []}
    at = {"output_index": index, "item_id": item["id"], "content_index": 0}
    text: str = part[field]
    yield {
        "type": "response.output_item.added",
        "output_index": index,
        "item": {**item, "status": "in_progress", "content": []},
    }
    yield {"type": "response.content_part.added", **at, "part": {**part, field: ""}}
    for start in range(0, len(text), _DELTA):
        yield {"type": f"{event}.delta", **at, **log, "delta": text[start : start + _DELTA]}
    yield {"type": f"{event}.done", **at, **log, field: text}
    yield {"type": "response.content_part.done", **at, "part": part}
    yield {"type": "response.output_item.done", "output_index": index, "item": item}


RESPONSES = WireFormat(
    "openai-responses",
    "Responses request",
    _read_response,
    _response_reply,
    _openai_error,
    stream=_stream,
)
"""``POST /v1/responses``."""


# --- Anthropic's Messages ----------------------------------------------------------------------

# The API has one way to say that it will not: its filters and the model end alike.
_STOP_REASONS: Mapping[Ending, str] = {
    "stop": "end_turn",
    "length": "max_tokens",
    "content_filter": "refusal",
    "refusal": "refusal",
}

_ANTHROPIC_STATUSES = {**STATUSES, "quota": 402, "overloaded": 529}

# HTTP status → type; the others are an invalid_request_error.
_ANTHROPIC_TYPES = {
    401: "authentication_error",
    402: "billing_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    500: "api_error",
    529: "overloaded_error",
}


def _read_message(body: Body) -> SimulatedPrompt:
    limit = body.get("max_tokens")
    if type(limit) is not int or limit < 1:
        raise MalformedRequest("max_tokens is needed, a whole number from 1 up")
    refuse_stream(body)
    return prompt_of(body, _anthropic_messages)


def _anthropic_messages(body: Body) -> Iterator[Message]:
    system, given = body.get("system"), body.get("messages")
    if system is not None:
        yield Message("system", joined_text(system))
    if not isinstance(given, list) or not given:
        raise MalformedRequest("model and messages are needed")
    yield from map(message_of, given)


def _message_reply(prompt: SimulatedPrompt, answer: SimulatedReply) -> Body:
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


def _anthropic_error(problem: Problem) -> tuple[int, Body]:
    status = _ANTHROPIC_STATUSES[problem.kind]
    kind = _ANTHROPIC_TYPES.get(status, "invalid_request_error")
    return status, {"type": "error", "error": {"type": kind, "message": problem.message}}


MESSAGES = WireFormat(
    "anthropic", "Messages request", _read_message, _message_reply, _anthropic_error
)
"""``POST /v1/messages``."""


# --- Google's generateContent ------------------------------------------------------------------

_ROLES: Mapping[object, Role] = {None: "user", "user": "user", "model": "assistant"}

# The API has no mark for a model's own refusal: there, the candidate is stopped, where the filter
# blocks the prompt. Together they are its two ways of giving no text.
_FINISH_REASONS: Mapping[Ending, str] = {
    "stop": "STOP",
    "length": "MAX_TOKENS",
    "refusal": "SAFETY",
}

# HTTP status → the API's own; the others are INVALID_ARGUMENT.
_GOOGLE_STATUSES = {
    401: "UNAUTHENTICATED",
    404: "NOT_FOUND",
    422: "FAILED_PRECONDITION",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    503: "UNAVAILABLE",
}
_GOOGLE_TYPES = "type.googleapis.com/google.rpc."
_PER_DAY = "GenerateRequestsPerDayPerProjectPerModel"


def _contents(body: Body) -> Iterator[Message]:
    # JSON of protocol buffers takes both spellings.
    system = body.get("systemInstruction", body.get("system_instruction"))
    if system is not None:
        yield Message("system", _content_text(system))
    given = body.get("contents")
    if not isinstance(given, list) or not given:
        raise MalformedRequest("contents are needed")
    for content in given:
        role = content.get("role") if isinstance(content, dict) else None
        if not isinstance(role, str | None) or role not in _ROLES:
            raise MalformedRequest("a content's role is user or model")
        yield Message(_ROLES[role], _content_text(content))


def _content_text(content: object) -> str:
    parts = content.get("parts") if isinstance(content, dict) else None
    if not isinstance(parts, list) or not parts:
        raise MalformedRequest("a content needs parts")
    texts = [part.get("text") if isinstance(part, dict) else None for part in parts]
    if not all(isinstance(text, str) for text in texts):
        raise MalformedRequest("parts may have text only")
    return "".join(cast("list[str]", texts))


def _contents_reply(prompt: SimulatedPrompt, answer: SimulatedReply) -> Body:
    asked, said = tokens(prompt, answer)
    usage = {"promptTokenCount": asked, "totalTokenCount": asked + said}
    reply: dict[str, object] = {
        "responseId": f"simulated-{identity(prompt)}",
        "modelVersion": prompt.subject,
        "system_fingerprint": FINGERPRINT,
    }
    if answer.ending == "content_filter":
        blocked = {"blockReason": "SAFETY"}
        return {**reply, "promptFeedback": blocked, "usageMetadata": usage}
    candidate: dict[str, object] = {"index": 0, "finishReason": _FINISH_REASONS[answer.ending]}
    if answer.ending != "refusal":
        candidate["content"] = {"role": "model", "parts": [{"text": answer.text}]}
    usage["candidatesTokenCount"] = said
    return {**reply, "candidates": [candidate], "usageMetadata": usage}


def _google_error(problem: Problem) -> tuple[int, Body]:
    code = STATUSES[problem.kind]
    status = _GOOGLE_STATUSES.get(code, "INVALID_ARGUMENT")
    error: dict[str, object] = {"code": code, "message": problem.message, "status": status}
    if details := list(_google_details(problem)):
        error["details"] = details
    return code, {"error": error}


def _google_details(problem: Problem) -> Iterator[Body]:
    if problem.kind == "quota":
        yield {"@type": f"{_GOOGLE_TYPES}QuotaFailure", "violations": [{"quotaId": _PER_DAY}]}
    if problem.retry_after is not None:
        yield {"@type": f"{_GOOGLE_TYPES}RetryInfo", "retryDelay": f"{problem.retry_after:g}s"}


def _sends_temperature(body: Body) -> bool:
    config = body.get("generationConfig", body.get("generation_config"))
    return isinstance(config, dict) and config.get("temperature") is not None


CONTENTS = WireFormat(
    "google",
    "generateContent request",
    partial(prompt_of, messages=_contents),
    _contents_reply,
    _google_error,
    _sends_temperature,
)
"""``POST /v1beta/models/{model}:generateContent``; the router puts that model into the body."""
