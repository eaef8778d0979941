"""OpenAI's Chat Completions, and its Responses, whole and streamed: bodies in, bodies out.

Conversations are sent whole: nothing is kept between requests. Tools, reasoning and whatever else
an agent sends along is taken and has no effect. Recorded cassettes hold these reply bodies: those
of a whole reply must stay as they are, byte for byte.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from http import HTTPStatus
from typing import Any, cast

from ...experiments.canonical import compact
from ...experiments.experiment import SimulatedPrompt
from ...experiments.messages import Message
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


CHAT = WireFormat("openai-chat", "chat completion request", _read_chat, _chat_reply, openai_error)
"""``POST /v1/chat/completions``."""


_PARTS = frozenset({"input_text", "output_text", "text"})
_DELTA = 64
_SURROUNDINGS = "<environment_context>"
"""Begins what the Codex CLI tells of its folder and shell, in the user's name."""

# Ending → why the response is incomplete; the others are complete.
_INCOMPLETE: Mapping[Ending, str] = {
    "length": "max_output_tokens",
    "content_filter": "content_filter",
}


def _read(body: Body) -> SimulatedPrompt:
    if body.get("previous_response_id") is not None:
        raise MalformedRequest("nothing is stored here: send the whole conversation as input")
    return prompt_of(body, _messages)


def _messages(body: Body) -> Iterator[Message]:
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


def _reply(prompt: SimulatedPrompt, answer: SimulatedReply) -> Body:
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
    "openai-responses", "Responses request", _read, _reply, openai_error, stream=_stream
)
"""``POST /v1/responses``."""
