"""OpenAI's Responses."""

from __future__ import annotations

from typing import Any

from openai import __version__
from openai.types.responses import Response

from pytest_bias.experiments.canonical import plain

from .openai_chat import FILTERS, OPENAI, error, refused_schema
from .vendor import SCHEMA, SENT_TURNS, Body, Vendor, without

REASONING = {"id": "rs_1", "type": "reasoning", "summary": []}
TOOL = {"id": "fc_1", "type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}


def text(value: object) -> Body:
    """A part of a message."""
    return {"type": "output_text", "text": value, "annotations": []}


REFUSAL = {"type": "refusal", "refusal": "I cannot."}


def message(*parts: Body) -> Body:
    """An item of the output."""
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "status": "completed",
        "content": list(parts),
    }


def reply(*output: Any, **fields: Any) -> Body:
    """A reply as the API sends it."""
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "status": "completed",
        "error": None,
        "incomplete_details": None,
        "model": "served-1",
        "output": list(output),
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": {
            "input_tokens": 7,
            "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
            "output_tokens": 2,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": 9,
        },
    } | fields


def incomplete(reason: str | None, *output: Body) -> Body:
    """A reply that ends for ``reason``."""
    details = {"reason": reason} if reason else None
    return reply(*output, status="incomplete", incomplete_details=details)


def _says(value: object) -> Body:
    return reply(REASONING, message(text(value)))


def _read(body: object) -> str:
    read = Response.model_validate(body)
    assert read.status == "completed"
    return read.output_text


FIVE = _says("Five.")

RESPONSES = Vendor(
    **OPENAI,
    wire="openai-responses",
    model="gpt-5.1-pro",
    wires={"openai/gpt-5.1-pro": "openai-responses", "google/gpt-5.1": "google"},
    path="/responses",
    api=f"openai {__version__}, responses",
    what="a response",
    says=_says,
    read_by_sdk=_read,
    refusing=error,
    seeds=False,
    finishes={
        "in parts": (reply(message(text("Fi"), text("ve."))), "Five.", "stop"),
        "in messages": (
            reply(message(text("Fi")), REASONING, message(text("ve."))),
            "Five.",
            "stop",
        ),
        "commentary": (
            reply(message(text("Hm.")) | {"phase": "commentary"}, message(text("Five."))),
            "Five.",
            "stop",
        ),
        "length": (incomplete("max_output_tokens", message(text("Fi"))), "Fi", "length"),
        "length before a word": (incomplete("max_output_tokens", REASONING), "", "length"),
        "content filter": (incomplete("content_filter"), "", "content_filter"),
        "another reason": (incomplete("steered", message(text("Fi"))), "Fi", "steered"),
        "no reason": (incomplete(None), "", "incomplete"),
        "refusal": (reply(message(REFUSAL)), "I cannot.", "refusal"),
        "refusal beside a text": (reply(message(text("Well"), REFUSAL)), "I cannot.", "refusal"),
        "nothing": (reply(), "", "stop"),
        "a tool": (reply(TOOL), "", "function_call"),
        "cancelled": (reply(status="cancelled"), "", "cancelled"),
    },
    filters=FILTERS
    | {
        "a failed response": reply(
            status="failed",
            error={"code": "invalid_prompt", "message": "Your prompt was flagged: usage policy."},
        )
    },
    usages=(
        ({"output_tokens": 2}, {"output": 2}),
        (
            {"input_tokens": 7, "output_tokens": 2, "total_tokens": 14},
            {"input": 7, "output": 2 + 5},
        ),
    ),
    malformed={
        "no output": {"model": "x", "status": "completed"},
        "output is null": FIVE | {"output": None},
        "an item is text": reply("x"),
        "a message without content": reply({"type": "message"}),
        "a text that is none": _says(5),
        "no model": without(FIVE, "model"),
        "no status": without(FIVE, "status"),
        "a chat completion": {"model": "x", "choices": [{"message": {"content": "x"}}]},
    },
    refused={
        name: (error("not supported", code="unsupported_parameter", param=name), name)
        for name in ("temperature", "max_output_tokens")
    },
    refused_schema=refused_schema("text.format"),
    sent={
        "model": "gpt-5.1-pro",
        "store": False,
        "instructions": "Be brief.",
        "input": [{"role": "user", "content": "How long?"}],
    },
    sent_turns={
        "model": "gpt-5.1-pro",
        "store": False,
        "input": SENT_TURNS,
    },
    sent_whole={
        "model": "gpt-5.1-pro",
        "store": False,
        "input": [{"role": "user", "content": "How long?"}],
        "temperature": 0.5,
        "max_output_tokens": 400,
        "text": {
            "format": {
                "type": "json_schema",
                "name": "Score",
                "schema": plain(SCHEMA),
                "strict": True,
            }
        },
    },
)
