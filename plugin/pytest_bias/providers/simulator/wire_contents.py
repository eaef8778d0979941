"""Google's generateContent, as pure functions: bodies in, bodies out.

The model stands in the path; the router puts it into the body as ``model``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import cast

from ...experiments.experiment import SimulatedPrompt
from ...experiments.messages import Message, Role
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
    prompt_of,
    tokens,
)

_ROLES: Mapping[object, Role] = {None: "user", "user": "user", "model": "assistant"}

# The API has no mark for a model's own refusal: there, the candidate is stopped, where the filter
# blocks the prompt. Together they are its two ways of giving no text.
_FINISH_REASONS: Mapping[Ending, str] = {
    "stop": "STOP",
    "length": "MAX_TOKENS",
    "refusal": "SAFETY",
}

# HTTP status → the API's own; the others are INVALID_ARGUMENT.
_STATUSES = {
    401: "UNAUTHENTICATED",
    404: "NOT_FOUND",
    422: "FAILED_PRECONDITION",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    503: "UNAVAILABLE",
}
_TYPES = "type.googleapis.com/google.rpc."
_PER_DAY = "GenerateRequestsPerDayPerProjectPerModel"


def _messages(body: Body) -> Iterator[Message]:
    # JSON of protocol buffers takes both spellings.
    system = body.get("systemInstruction", body.get("system_instruction"))
    if system is not None:
        yield Message("system", _text(system))
    given = body.get("contents")
    if not isinstance(given, list) or not given:
        raise MalformedRequest("contents are needed")
    for content in given:
        role = content.get("role") if isinstance(content, dict) else None
        if not isinstance(role, str | None) or role not in _ROLES:
            raise MalformedRequest("a content's role is user or model")
        yield Message(_ROLES[role], _text(content))


def _text(content: object) -> str:
    parts = content.get("parts") if isinstance(content, dict) else None
    if not isinstance(parts, list) or not parts:
        raise MalformedRequest("a content needs parts")
    texts = [part.get("text") if isinstance(part, dict) else None for part in parts]
    if not all(isinstance(text, str) for text in texts):
        raise MalformedRequest("parts may have text only")
    return "".join(cast("list[str]", texts))


def _reply(prompt: SimulatedPrompt, answer: SimulatedReply) -> Body:
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


def _error(problem: Problem) -> tuple[int, Body]:
    code = STATUSES[problem.kind]
    status = _STATUSES.get(code, "INVALID_ARGUMENT")
    error: dict[str, object] = {"code": code, "message": problem.message, "status": status}
    if details := list(_details(problem)):
        error["details"] = details
    return code, {"error": error}


def _details(problem: Problem) -> Iterator[Body]:
    if problem.kind == "quota":
        yield {"@type": f"{_TYPES}QuotaFailure", "violations": [{"quotaId": _PER_DAY}]}
    if problem.retry_after is not None:
        yield {"@type": f"{_TYPES}RetryInfo", "retryDelay": f"{problem.retry_after:g}s"}


def _sends_temperature(body: Body) -> bool:
    config = body.get("generationConfig", body.get("generation_config"))
    return isinstance(config, dict) and config.get("temperature") is not None


CONTENTS = WireFormat(
    "google",
    "generateContent request",
    partial(prompt_of, messages=_messages),
    _reply,
    _error,
    _sends_temperature,
)
"""``POST /v1beta/models/{model}:generateContent``."""
