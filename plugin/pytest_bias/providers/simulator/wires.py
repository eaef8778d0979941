"""Wire formats of OpenAI, Anthropic and Google, as pure functions: bodies in, bodies out.

Conversations are sent whole: nothing is kept between requests. Recorded cassettes hold these reply
bodies, which must stay as they are, byte for byte. Tools, reasoning and whatever else an agent
sends along is taken and has no effect.
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
    MalformedRequest,
    Problem,
    WireFormat,
    identity,
    joined_text,
    message_of,
    prompt_of,
    refuse_stream,
    tokens,
)

# --- OpenAI's Chat Completions -----------------------------------------------------------------


def _read_chat(body: Body) -> SimulatedPrompt:
    given = body.get("messages")
    if not isinstance(given, list) or not given:
        raise MalformedRequest("model and messages are needed")
    refuse_stream(body)
    return prompt_of(body, lambda _: map(message_of, given))


def _chat_reply(prompt: SimulatedPrompt, text: str) -> Body:
    asked, said = tokens(prompt, text)
    return {
        "id": f"chatcmpl-simulated-{identity(prompt)}",
        "object": "chat.completion",
        "created": 0,
        "model": prompt.subject,
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
            "completion_tokens": said,
            "total_tokens": asked + said,
        },
    }


def _openai_error(problem: Problem) -> tuple[int, Body]:
    """Status and body of an error, alike for both of OpenAI's APIs."""
    status = STATUSES[problem.kind]
    ours = status >= HTTPStatus.INTERNAL_SERVER_ERROR
    error = {
        "message": problem.message,
        "type": "server_error" if ours else "invalid_request_error",
        "param": None,
        "code": "model_not_found" if problem.kind == "no_such_model" else None,
    }
    return status, {"error": error}


CHAT = WireFormat("openai-chat", "chat completion request", _read_chat, _chat_reply, _openai_error)
"""``POST /v1/chat/completions``."""


# --- OpenAI's Responses ------------------------------------------------------------------------

_PARTS = frozenset({"input_text", "output_text", "text"})
_DELTA = 64
_SURROUNDINGS = "<environment_context>"
"""Begins what the Codex CLI tells of its folder and shell, in the user's name."""


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


def _response_reply(prompt: SimulatedPrompt, text: str) -> Body:
    asked, said = tokens(prompt, text)
    name = identity(prompt)
    item = {
        "id": f"msg_simulated_{name}",
        "type": "message",
        "role": "assistant",
        "status": "completed",
        "content": [{"type": "output_text", "text": text, "annotations": []}],
    }
    return {
        "id": f"resp_simulated_{name}",
        "object": "response",
        "created_at": 0,
        "status": "completed",
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "metadata": {},
        "model": prompt.subject,
        "output": [item],
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
    begun = {**reply, "status": "in_progress", "output": [], "usage": None}
    yield {"type": "response.created", "response": begun}
    yield {"type": "response.in_progress", "response": begun}
    for index, item in enumerate(cast("list[dict[str, Any]]", reply["output"])):
        yield from _item_events(index, item)
    yield {"type": "response.completed", "response": reply}


def _item_events(index: int, item: dict[str, Any]) -> Iterator[Body]:
    (part,) = item["content"]
    at = {"output_index": index, "item_id": item["id"], "content_index": 0}
    text, said = part["text"], {**at, "logprobs": []}
    yield {
        "type": "response.output_item.added",
        "output_index": index,
        "item": {**item, "status": "in_progress", "content": []},
    }
    yield {"type": "response.content_part.added", **at, "part": {**part, "text": ""}}
    for start in range(0, len(text), _DELTA):
        delta = text[start : start + _DELTA]
        yield {"type": "response.output_text.delta", **said, "delta": delta}
    yield {"type": "response.output_text.done", **said, "text": text}
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

# HTTP status → type; the others are an invalid_request_error.
_ANTHROPIC_TYPES = {404: "not_found_error", 413: "request_too_large", 500: "api_error"}


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


def _message_reply(prompt: SimulatedPrompt, text: str) -> Body:
    asked, said = tokens(prompt, text)
    return {
        "id": f"msg_simulated_{identity(prompt)}",
        "type": "message",
        "role": "assistant",
        "model": prompt.subject,
        "system_fingerprint": FINGERPRINT,
        "content": [{"type": "text", "text": text}],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": asked, "output_tokens": said},
    }


def _anthropic_error(problem: Problem) -> tuple[int, Body]:
    status = STATUSES[problem.kind]
    kind = _ANTHROPIC_TYPES.get(status, "invalid_request_error")
    return status, {"type": "error", "error": {"type": kind, "message": problem.message}}


MESSAGES = WireFormat(
    "anthropic", "Messages request", _read_message, _message_reply, _anthropic_error
)
"""``POST /v1/messages``."""


# --- Google's generateContent ------------------------------------------------------------------

_ROLES: Mapping[object, Role] = {None: "user", "user": "user", "model": "assistant"}

# HTTP status → the API's own; the others are INVALID_ARGUMENT.
_GOOGLE_STATUSES = {404: "NOT_FOUND", 422: "FAILED_PRECONDITION", 500: "INTERNAL"}


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


def _contents_reply(prompt: SimulatedPrompt, text: str) -> Body:
    asked, said = tokens(prompt, text)
    content = {"role": "model", "parts": [{"text": text}]}
    return {
        "responseId": f"simulated-{identity(prompt)}",
        "modelVersion": prompt.subject,
        "system_fingerprint": FINGERPRINT,
        "candidates": [{"index": 0, "finishReason": "STOP", "content": content}],
        "usageMetadata": {
            "promptTokenCount": asked,
            "totalTokenCount": asked + said,
            "candidatesTokenCount": said,
        },
    }


def _google_error(problem: Problem) -> tuple[int, Body]:
    code = STATUSES[problem.kind]
    status = _GOOGLE_STATUSES.get(code, "INVALID_ARGUMENT")
    return code, {"error": {"code": code, "message": problem.message, "status": status}}


CONTENTS = WireFormat(
    "google",
    "generateContent request",
    partial(prompt_of, messages=_contents),
    _contents_reply,
    _google_error,
)
"""``POST /v1beta/models/{model}:generateContent``; the router puts that model into the body."""
