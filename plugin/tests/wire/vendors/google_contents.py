"""Google's generateContent."""

from __future__ import annotations

from typing import Any

from google.genai import __version__, types

from pytest_bias.experiments.canonical import plain

from ..mocker import SECRET, SEED
from .vendor import LITELLM, SCHEMA, Body, Vendor, without

MODEL = "gemini-2.0-flash-lite-001"
DETAIL = "type.googleapis.com/google.rpc."
TEXT = {"text": "Five."}
THOUGHT = {"text": "Hm.", "thought": True}


def reply(text: object = "Five.", **changes: Any) -> Body:
    """A reply as the API sends it."""
    content = {"role": "model", "parts": [{"text": text}]}
    return {
        "candidates": [{"content": content, "finishReason": "STOP", "index": 0}],
        "usageMetadata": {
            "promptTokenCount": 7,
            "candidatesTokenCount": 2,
            "totalTokenCount": 9,
        },
        "modelVersion": "served-1",
        "responseId": "r1",
    } | changes


def candidate(reason: str | None = "STOP", *parts: Any, **changes: Any) -> Body:
    """A reply whose candidate ended for ``reason``, with these parts."""
    found: Body = {"content": {"role": "model", "parts": list(parts)}}
    if reason is not None:
        found["finishReason"] = reason
    return reply(candidates=[found | changes])


def error(message: object = "no", *details: Body, status: str = "X") -> Body:
    """An error as the API sends it."""
    return {"error": {"message": message, "status": status, "details": list(details)}}


def fields(*violations: Body) -> Body:
    """A detail of an error: the fields that are wrong."""
    return {"@type": f"{DETAIL}BadRequest", "fieldViolations": list(violations)}


def _read(body: object) -> str:
    read = types.GenerateContentResponse.model_validate(body)
    assert read.usage_metadata is not None
    assert (read.usage_metadata.prompt_token_count, read.model_version) == (7, "served-1")
    return read.text or ""


BLOCKED = reply(promptFeedback={"blockReason": "PROHIBITED_CONTENT"})
UNKNOWN_SEED = "Invalid JSON payload received. Unknown name \"seed\" at 'generation_config'"
FILTERED = {
    "personal data": "SPII",
    **{
        reason.lower().replace("_", " "): reason
        for reason in (
            "SAFETY",
            "PROHIBITED_CONTENT",
            "BLOCKLIST",
            "IMAGE_SAFETY",
            "IMAGE_PROHIBITED_CONTENT",
            "IMAGE_RECITATION",
            "ESCALATION",
            "MODEL_ARMOR",
        )
    },
}

GOOGLE = Vendor(
    wire="google",
    provider="google",
    model=MODEL,
    key="GEMINI_API_KEY",
    base_url="GOOGLE_GEMINI_BASE_URL",
    home="https://generativelanguage.googleapis.com",
    path=f"/v1beta/models/{MODEL}:generateContent",
    extra="google",
    package="google.genai",
    header=("x-goog-api-key", SECRET),
    own_header=("x-goog-api-key", SECRET),
    foreign={"GEMINI_API_KEY": "key-of-vendor", "GOOGLE_API_KEY": "key-of-vendor"},
    api=f"google-genai {__version__}, generateContent",
    what="a generateContent reply",
    says=reply,
    read_by_sdk=_read,
    refusing=error,
    finishes={
        "several parts": (candidate("STOP", {"text": "Fi"}, {"text": "ve."}), "Five.", "stop"),
        "thoughts": (candidate("STOP", THOUGHT, TEXT), "Five.", "stop"),
        "other parts": (candidate("STOP", {"inlineData": {}}, TEXT), "Five.", "stop"),
        "length": (candidate("MAX_TOKENS", {"text": "Fi"}), "Fi", "length"),
        "length while thinking": (
            candidate("MAX_TOKENS", content={"role": "model"}),
            "",
            "length",
        ),
        "to be continued": (candidate("CONTINUATION", TEXT), "Five.", "length"),
        **{name: (candidate(word), "", "content_filter") for name, word in FILTERED.items()},
        "safety, no content": (
            reply(candidates=[{"finishReason": "SAFETY"}]),
            "",
            "content_filter",
        ),
        "recitation": (candidate("RECITATION", {"text": "F"}), "F", "content_filter"),
        "prompt blocked": (without(BLOCKED, "candidates"), "", "content_filter"),
        "prompt blocked, empty list": (BLOCKED | {"candidates": []}, "", "content_filter"),
        "a language": (candidate("LANGUAGE", TEXT), "Five.", "language"),
        "a tool": (candidate("MALFORMED_FUNCTION_CALL"), "", "malformed_function"),
        "no end": (candidate(None, TEXT), "Five.", "stop"),
        "empty": (candidate("STOP", {"text": ""}), "", "stop"),
        "nothing": (candidate("STOP", content={}), "", "stop"),
        "the first of two": (
            reply(candidates=candidate("STOP", TEXT)["candidates"] + [{"finishReason": "OTHER"}]),
            "Five.",
            "stop",
        ),
    },
    filters={"LiteLLM's": {"error": LITELLM}},
    usage="usageMetadata",
    usages=(
        ({"promptTokenCount": None}, {}),
        ("7", {}),
        ({"promptTokenCount": "many"}, {}),
        ({"promptTokenCount": 7}, {"input": 7}),
        ({"thoughtsTokenCount": 5}, {"output": 5}),  # a 0 is not written
        (
            {"promptTokenCount": 7, "candidatesTokenCount": 2, "thoughtsTokenCount": 5},
            {"input": 7, "output": 2 + 5},
        ),
    ),
    malformed={
        "no candidate": reply(candidates=[]),
        "no candidates": {"modelVersion": "x"},
        "candidates are null": reply(candidates=None),
        "candidates as text": reply(candidates="Five."),
        "a candidate of nothing": reply(candidates=[{}]),
        "candidate is null": reply(candidates=[None]),
        "content as text": candidate("STOP", content="Five."),
        "part as text": candidate("STOP", "Five."),
        "text is a number": candidate("STOP", {"text": 5}),
        "finish is a list": candidate(finishReason=["STOP"]),
    },
    refused={
        "temperature": (error("temperature is not supported by this model"), "temperature"),
        "a field": (
            error(
                "Request contains an invalid argument.",
                fields({"field": "generation_config.temperature", "description": "Unsupported."}),
            ),
            "temperature",
        ),
        "limit": (error("maxOutputTokens isn't supported for this model"), "max_output_tokens"),
        "limit, the other way": (error("max_output_tokens is unsupported"), "max_output_tokens"),
        "seed": (
            error(
                UNKNOWN_SEED, fields({"field": "generation_config", "description": UNKNOWN_SEED})
            ),
            "seeded",
        ),
        "out of range": (error("temperature must be in the range [0, 2]"), None),
        "not sent": (error("top_p is not supported"), None),
        "no parameter": (error("API key not valid. Please pass a valid API key."), None),
    },
    refused_schema={
        "JSON mode is not enabled for models/gemma-3-27b-it": True,
        "Unknown name 'responseJsonSchema' at 'generation_config': Cannot find field.": True,
        "Response mime type 'application/json' is unsupported for this model": True,
        "Unknown name 'minimum' at 'generation_config.response_json_schema': no such field.": (
            False
        ),
        "Invalid JSON schema: unknown keyword": False,
        "The response_json_schema has too many states": False,
    },
    sent={
        "systemInstruction": {"parts": [{"text": "Be brief."}]},
        "contents": [{"role": "user", "parts": [{"text": "How long?"}]}],
        "generationConfig": {},
    },
    sent_turns={
        "contents": [
            {"role": "user", "parts": [{"text": "a"}]},
            {"role": "model", "parts": [{"text": "b"}]},
            {"role": "user", "parts": [{"text": "c"}]},
        ],
        "generationConfig": {},
    },
    sent_whole={
        "contents": [{"role": "user", "parts": [{"text": "How long?"}]}],
        "generationConfig": {
            "temperature": 0.5,
            "maxOutputTokens": 400,
            "seed": SEED % 2**31,
            "responseMimeType": "application/json",
            "responseJsonSchema": plain(SCHEMA),
        },
    },
)
