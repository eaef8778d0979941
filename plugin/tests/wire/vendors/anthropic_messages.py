"""Anthropic's Messages."""

from __future__ import annotations

from typing import Any

from anthropic import __version__
from anthropic.types import Message

from pytest_bias.providers.anthropic_messages import DEFAULT_LIMIT

from ..mocker import SECRET
from .vendor import LITELLM, SENT_TURNS, Body, Vendor, without

RETIRING = "claude-3-5-haiku-20241022"
"""A model that the SDK warns of; warnings are errors in these tests."""

THINKING = {"type": "thinking", "thinking": "Hm.", "signature": "s"}
TOOL = {"type": "tool_use", "id": "t", "name": "f", "input": {}}


def text(value: object) -> Body:
    """A block of a reply."""
    return {"type": "text", "text": value, "citations": None}


def reply(*content: Any, **fields: Any) -> Body:
    """A reply as the API sends it."""
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "served-1",
        "content": list(content),
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 7, "output_tokens": 2},
    } | fields


def error(message: object = "no", *, type: str = "invalid_request_error") -> Body:  # noqa: A002  (the API's name)
    """An error as the API sends it."""
    return {"type": "error", "error": {"type": type, "message": message}, "request_id": "r"}


def _says(value: object) -> Body:
    return reply(text(value))


def _read(body: object) -> str:
    read = Message.model_validate(body)
    assert read.usage.output_tokens == 2
    return "".join(block.text for block in read.content if block.type == "text")


FIVE = _says("Five.")

ANTHROPIC = Vendor(
    wire="anthropic",
    provider="anthropic",
    model=RETIRING,
    key="ANTHROPIC_API_KEY",
    base_url="ANTHROPIC_BASE_URL",
    home="https://api.anthropic.com",
    path="/v1/messages",
    extra="anthropic",
    package="anthropic",
    header=("authorization", f"Bearer {SECRET}"),
    own_header=("authorization", f"Bearer {SECRET}"),
    foreign={
        "ANTHROPIC_API_KEY": "sk-of-vendor",
        "ANTHROPIC_AUTH_TOKEN": "token-of-vendor",
        "ANTHROPIC_CUSTOM_HEADERS": "X-Api-Key: sk-of-vendor\nX-Gateway: gw-of-vendor",
    },
    api=f"anthropic {__version__}, messages",
    what="a message",
    says=_says,
    read_by_sdk=_read,
    refusing=error,
    seeds=False,
    finishes={
        "stop sequence": (reply(text("Fi"), stop_reason="stop_sequence"), "Fi", "stop"),
        "in blocks": (reply(text("Fi"), THINKING, text("ve.")), "Five.", "stop"),
        "length": (reply(text("Fi"), stop_reason="max_tokens"), "Fi", "length"),
        "window": (
            reply(text("Fi"), stop_reason="model_context_window_exceeded"),
            "Fi",
            "length",
        ),
        "refusal": (reply(text("I cannot."), stop_reason="refusal"), "I cannot.", "refusal"),
        "refusal without a word": (reply(stop_reason="refusal"), "", "refusal"),
        "a tool": (reply(TOOL, stop_reason="tool_use"), "", "tool_use"),
        "a pause": (reply(text("Fi"), stop_reason="pause_turn"), "Fi", "pause_turn"),
        "an unknown end": (reply(text("Fi"), stop_reason="else"), "Fi", "else"),
        "no end": (reply(text("Fi"), stop_reason=None), "Fi", "stop"),
        "nothing": (reply(), "", "stop"),
    },
    filters={
        "a blocked reply": error("Output blocked by content filtering policy"),
        "LiteLLM's": {"error": LITELLM},
    },
    usages=(
        ({"output_tokens": None}, {}),
        ([1], {}),
        ({"input_tokens": 7}, {"input": 7}),
        # A sum with a part that is not believed is unknown.
        (
            {"input_tokens": 7, "cache_read_input_tokens": -6, "output_tokens": 2},
            {"output": 2},
        ),
        # Cached tokens are tokens that were read.
        (
            {
                "input_tokens": 7,
                "cache_creation_input_tokens": 100,
                "cache_read_input_tokens": None,
                "output_tokens": 2,
            },
            {"input": 107, "output": 2},
        ),
    ),
    malformed={
        "content is null": FIVE | {"content": None},
        "a block is text": reply("x"),
        "a block of no type": reply({"text": "x"}),
        "a text that is none": _says(5),
        "no model": without(FIVE, "model"),
    },
    refused={
        "deprecated": (error("`temperature` is deprecated for this model."), "temperature"),
        "extra": (error("temperature: Extra inputs are not permitted"), "temperature"),
        "the limit": (error("max_tokens is not supported with this model"), "max_output_tokens"),
        "out of range": (error("temperature: range: 0..1"), None),
        "too large": (
            error("max_tokens: 100000 > 8192, the maximum allowed number of output tokens"),
            None,
        ),
    },
    refused_schema={
        "'claude-3-5-haiku-20241022' does not support output format.": True,
        "output_config.format: this model does not support structured outputs": True,
        "output_config: Extra inputs are not permitted": True,
        "output_format: Extra inputs are not permitted": True,
        "output_config.format.schema: For 'integer' type, property 'minimum' is not supported": (
            False
        ),
        "output_config.format: the schema is too complex": False,
    },
    sent={
        "model": RETIRING,
        "system": "Be brief.",
        "messages": [{"role": "user", "content": "How long?"}],
        "max_tokens": DEFAULT_LIMIT,
    },
    sent_turns={
        "model": RETIRING,
        "messages": SENT_TURNS,
        "max_tokens": DEFAULT_LIMIT,
    },
    sent_whole={
        "model": RETIRING,
        "messages": [{"role": "user", "content": "How long?"}],
        "temperature": 0.5,
        "max_tokens": 400,
        "output_config": {
            "format": {
                "type": "json_schema",
                "schema": {
                    "type": "object",
                    "properties": {"score": {"type": "integer"}},
                    "required": ["score"],
                    "additionalProperties": False,
                },
            }
        },
    },
)
