"""Reading a generateContent reply body of Google's. No I/O, and no SDK."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..experiments.messages import Finish
from .completion import ReadReply, counts, text_of

_FINISHES: Mapping[object, Finish] = {
    "STOP": "stop",
    "MAX_TOKENS": "length",
    "CONTINUATION": "length",  # one request's limit; a second one could go on from there
    "SAFETY": "content_filter",
    "PROHIBITED_CONTENT": "content_filter",
    "BLOCKLIST": "content_filter",
    "SPII": "content_filter",
    "RECITATION": "content_filter",
    "IMAGE_SAFETY": "content_filter",
    "IMAGE_PROHIBITED_CONTENT": "content_filter",
    "IMAGE_RECITATION": "content_filter",
    "ESCALATION": "content_filter",  # "filtered by an escalation rule"
    "MODEL_ARMOR": "content_filter",
}


def read_contents(body: dict[str, Any]) -> ReadReply:
    """Read a generateContent reply body; KeyError, TypeError … when it is none."""
    # Thoughts are paid as output.
    replied = ("candidatesTokenCount", "thoughtsTokenCount")
    tokens = counts(body.get("usageMetadata"), input=("promptTokenCount",), output=replied)
    served = str(body.get("modelVersion") or "")
    if not body.get("candidates") and (body.get("promptFeedback") or {}).get("blockReason"):
        return ReadReply("", "content_filter", served, tokens)
    candidate = body["candidates"][0]
    finish = _FINISHES.get(candidate.get("finishReason"), "other")
    # A filter, or a limit met while thinking, leaves no content; but it is said then.
    content = candidate["content"] if "finishReason" not in candidate else candidate.get("content")
    parts = (content or {}).get("parts") or []
    texts = [text_of(part.get("text")) for part in parts if not part.get("thought")]
    return ReadReply("".join(texts), finish, served, tokens)
