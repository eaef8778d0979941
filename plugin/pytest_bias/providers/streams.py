"""Replies of Chat Completions that come as an event stream: put together as one reply."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from .sdk import parsed

_DATA, _DONE = "data:", "[DONE]"
_LINE = re.compile(r"\r\n|\n|\r")  # JSON may hold what str.splitlines() also splits at
_BEGINS = re.compile(rb"(?:\s*(?::|event:|id:|retry:)[^\n]*\n)*\s*data:")


def is_stream(response: Any) -> bool:
    """True if a response is an event stream."""
    kind: str = response.headers.get("content-type", "")
    named = kind.partition(";")[0].strip().lower() == "text/event-stream"
    return named or _BEGINS.match(response.content) is not None


def joined(text: str) -> object:
    """The reply whose chunks an event stream holds; of one that failed the chunk that says so.

    Raises ValueError where the stream ends before the reply does, or is none of Chat Completions.
    """
    try:
        return _joined(_chunks(text))
    except (AttributeError, TypeError) as error:
        raise ValueError(type(error).__name__) from None


def _joined(chunks: Iterable[object]) -> object:
    content: list[str] = []
    refusal: list[str] = []
    whole: dict[str, Any] = {}
    finish: object = None
    ended = False
    for chunk in chunks:
        if chunk == _DONE:
            ended = True
            continue
        if not isinstance(chunk, dict) or chunk.get("error"):
            return chunk
        whole |= {name: chunk[name] for name in ("id", "created", "model") if name in chunk}
        whole |= {name: chunk[name] for name in ("usage", "system_fingerprint") if chunk.get(name)}
        for choice in chunk.get("choices") or ():
            delta = choice.get("delta") or {}
            content += [delta["content"]] if isinstance(delta.get("content"), str) else []
            refusal += [delta["refusal"]] if isinstance(delta.get("refusal"), str) else []
            finish = choice.get("finish_reason") or finish
    if finish is None and not (ended and content):
        reason = "the event stream ended before the reply"
        raise ValueError(reason)
    message = {"role": "assistant", "content": "".join(content)}
    if refusal:
        message["refusal"] = "".join(refusal)
    return {**whole, "choices": [{"index": 0, "message": message, "finish_reason": finish}]}


def _chunks(text: str) -> Iterator[object]:
    """The values of an event stream, and its end; comments are passed over."""
    for line in _LINE.split(text):
        if line.startswith(_DATA):
            data = line.removeprefix(_DATA).strip()
            yield data if data == _DONE else parsed(data)
