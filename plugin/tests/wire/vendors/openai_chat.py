"""OpenAI's Chat Completions."""

from __future__ import annotations

from typing import Any

from openai import __version__
from openai.types.chat import ChatCompletion

from pytest_bias.experiments.canonical import plain

from ..mocker import SECRET, SEED
from .vendor import LITELLM, SCHEMA, SENT_TURNS, Body, Vendor

OPENAI: dict[str, Any] = {
    "provider": "openai",
    "key": "OPENAI_API_KEY",
    "base_url": "OPENAI_BASE_URL",
    "home": "https://api.openai.com/v1",
    "own_base": "/v1",
    "extra": "openai",
    "package": "openai",
    "header": ("authorization", f"Bearer {SECRET}"),
    "own_header": ("authorization", f"Bearer {SECRET}"),
    "foreign": {
        "OPENAI_API_KEY": "sk-of-vendor",
        "OPENAI_ADMIN_KEY": "sk-of-vendor",
        "OPENAI_ORG_ID": "org-of-vendor",
        "OPENAI_PROJECT_ID": "project-of-vendor",
        "OPENAI_CUSTOM_HEADERS": "authorization: Bearer sk-of-vendor\nX-Gateway: gw-of-vendor",
    },
}

FLAGGED = "Invalid prompt: your prompt was flagged as potentially violating our usage policy."
FILTERS: dict[str, Body] = {
    "Azure's": {"error": {"code": "content_filter", "message": "filtered", "status": 400}},
    "invalid_prompt": {"error": {"code": "invalid_prompt", "message": FLAGGED}},
    "policy": {"error": {"code": "content_policy_violation", "message": "Rejected."}},
    "biology": {"error": {"code": "bio_policy", "message": "Blocked."}},
    "misalignment": {"error": {"code": "misalignment_policy_violation", "message": "Blocked."}},
    "LiteLLM's": {"error": LITELLM},
    "bare": {"code": "content_filter", "message": "filtered"},
    "beside no error": {"error": None, "code": "content_filter", "message": "filtered"},
    "FastAPI's": {"detail": LITELLM["message"]},
    "in words alone": {"error": "Output blocked by content filtering policy"},
    "policy as type": {"error": {"type": "content_policy_violation", "message": "Rejected."}},
}


def reply(content: object = "Five.", **choice: Any) -> Body:
    """A reply as the API sends it."""
    message = {"role": "assistant", "content": content, "refusal": choice.pop("refusal", None)}
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "served-1",
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"} | choice],
        "usage": {"prompt_tokens": 7, "completion_tokens": 2, "total_tokens": 9},
    }


def error(message: object = "no", **fields: object) -> Body:
    """An error as the API sends it."""
    return {"error": {"message": message, "param": None, "code": None} | fields}


def _read(body: object) -> str:
    (choice,) = ChatCompletion.model_validate(body).choices
    assert choice.finish_reason == "stop"
    return choice.message.content or ""


def refused_schema(field: str) -> dict[str, bool]:
    """What OpenAI says of schemas, which are in ``field``."""
    return {
        f"Invalid parameter: '{field}' of type 'json_schema' is not supported with this model.": (
            True
        ),
        "This model does not support response format `json_schema`.": True,
        "This response_format type is unavailable now": True,
        "json_schema: Extra inputs are not permitted": True,
        'response_format type must be one of "text" or "json_object", got: json_schema': True,
        "body.response_format.type: Input should be 'text'": True,
        f"Unrecognized request argument supplied: {field}": True,
        "Invalid schema for response_format 'Score': In context=(), 'minimum' is not permitted.": (
            False
        ),
        f"{field}.schema: unknown keyword": False,
        f"Invalid '{field}': the name is too long": False,
    }


def part(text: object) -> Body:
    """A part of a message, as Mistral's reasoning models send them."""
    return {"type": "text", "text": text}


THOUGHT = {"type": "thinking", "thinking": [part("Hm.")]}

ENDS = {
    "eos_token": "stop",
    "max_new_tokens": "length",
    "COMPLETE": "stop",
    "end_turn": "stop",
    "model_length": "length",
    "FINISH_REASON_MAX_TOKENS": "length",
    "content-filter": "content_filter",
    "content_filtered": "content_filter",
    "guardrail_intervened": "content_filter",
    "SAFETY": "content_filter",
    "refusal": "refusal",
    "abort": "abort",
    "pause_turn": "pause_turn",
}
"""What gateways pass on of other vendors."""

CHAT = Vendor(
    **OPENAI,
    wire="openai-chat",
    model="gpt-5.1",
    path="/chat/completions",
    api=f"openai {__version__}, chat completions",
    what="a chat completion",
    says=reply,
    read_by_sdk=_read,
    refusing=error,
    finishes={
        "length": (reply("Fi", finish_reason="length"), "Fi", "length"),
        "content filter": (reply("", finish_reason="content_filter"), "", "content_filter"),
        "filtered to nothing": (
            reply(None, finish_reason="content_filter"),
            "",
            "content_filter",
        ),
        "refusal": (reply(None, refusal="I cannot."), "I cannot.", "refusal"),
        "in parts": (reply([THOUGHT, *map(part, ("Fi", "ve."))]), "Five.", "stop"),
        "thoughts alone": (reply([THOUGHT], finish_reason="length"), "", "length"),
        "refusal beside a text": (reply("Well", refusal="I cannot."), "I cannot.", "refusal"),
        "empty": (reply(""), "", "stop"),
        "nothing": (reply(None), "", "stop"),
        "a tool": (reply(None, finish_reason="tool_calls"), "", "tool_calls"),
        "an unknown end": (reply(finish_reason="Something-else!"), "Five.", "something_else"),
        "an end that is no word": (reply(finish_reason="…"), "Five.", "unnamed"),
        "no end": (reply(finish_reason=None), "Five.", "stop"),
        **{word: (reply(finish_reason=word), "Five.", end) for word, end in ENDS.items()},
    },
    filters=FILTERS,
    usages=(
        ({"prompt_tokens": None}, {}),
        ({"prompt_tokens": 7}, {"input": 7}),
        ({"prompt_tokens": 7, "completion_tokens": 0}, {"input": 7, "output": 0}),
        ({"prompt_tokens": SECRET}, {}),
        # xAI's: thoughts are counted in the total alone.
        (
            {"prompt_tokens": 300, "completion_tokens": 13, "total_tokens": 699},
            {"input": 300, "output": 13 + 386},
        ),
        (
            {"prompt_tokens": 7, "completion_tokens": 2, "total_tokens": 0},
            {"input": 7, "output": 2},
        ),
        ({"prompt_tokens": 7, "total_tokens": 9}, {"input": 7}),
        ("7", {}),
    ),
    malformed={
        "no choice": reply() | {"choices": []},
        "no choices": {"model": "x"},
        "choices are null": reply() | {"choices": None},
        "no message": {"model": "x", "choices": [{}]},
        "message is null": {"model": "x", "choices": [{"message": None}]},
        "a part without a type": reply([{"text": "x"}]),
        "a part that is text": reply(["x"]),
        "a text of a part that is none": reply([part(5)]),
    },
    refused={
        "temperature": (
            error("Only the default.", code="unsupported_value", param="temperature"),
            "temperature",
        ),
        "the limit": (
            error(code="unsupported_parameter", param="max_completion_tokens"),
            "max_output_tokens",
        ),
        "the seed": (error("Unknown field: `seed`"), "seeded"),
        "in words": (
            error("'temperature' does not support 0.5 with this model. Mind the seed."),
            "temperature",
        ),
        "another parameter": (
            error("seed", code="unsupported_parameter", param="tools"),
            None,
        ),
        "out of range": (
            error(
                "Invalid 'temperature': expected a value <= 2, but got 9 instead.",
                code="decimal_above_max_value",
                param="temperature",
            ),
            None,
        ),
        "nothing by name": (error("This model is not supported."), None),
    },
    refused_schema=refused_schema("response_format"),
    sent={
        "model": "gpt-5.1",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "How long?"},
        ],
    },
    sent_turns={
        "model": "gpt-5.1",
        "messages": SENT_TURNS,
    },
    sent_whole={
        "model": "gpt-5.1",
        "messages": [{"role": "user", "content": "How long?"}],
        "temperature": 0.5,
        "max_completion_tokens": 400,
        "seed": SEED % 2**31,
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "Score", "schema": plain(SCHEMA), "strict": True},
        },
    },
)
