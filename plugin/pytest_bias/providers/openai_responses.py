"""OpenAI's Responses, through the official async SDK.

Conversations are sent whole and nothing is stored at OpenAI: a reply depends on its request alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..errors import CallFailed, FailureKind
from ..experiments.canonical import plain
from ..experiments.messages import Completion, Finish, Request
from .base import Call, Endpoint
from .client import Api, Client, ClientAdapter
from .completion import ReadReply, ReplyBody, counts, filtered, is_filtered, text_of
from .failures import schema_fields
from .openai_chat import OPENAI

_SILENT = frozenset({"message", "reasoning"})
_INCOMPLETE: Mapping[object, Finish] = {
    "max_output_tokens": "length",
    "content_filter": "content_filter",
}
_FAILED: Mapping[object, FailureKind] = {
    "rate_limit_exceeded": "rate_limit",
    "server_error": "transient",
}
"""Code of a response that failed on the way → what kind of failure it is, else ``reply``."""

_PARAMETERS = ("temperature", "max_output_tokens")
"""Fields of a request that are called as our parameters."""
_SCHEMA_FIELDS = ("text.format", "response_format")


class OpenAIResponses(ClientAdapter):
    """Responses at an endpoint; ``client`` is one to share, and closed with this."""

    def __init__(self, endpoint: Endpoint, client: Client | None = None) -> None:
        super().__init__(client or Client(OPENAI, endpoint), _API)

    def _body(
        self,
        model: str,  # noqa: ARG002  (all are asked alike)
        request: Request,
        call: Call,  # noqa: ARG002  (no seed is taken)
    ) -> tuple[dict[str, Any], dict[str, str]]:
        given = {name: getattr(request.parameters, name) for name in _PARAMETERS}
        fields = {name: value for name, value in given.items() if value is not None}
        return (
            {"store": False, **_conversation(request), **fields, **_format(request)},
            {**{name: name for name in fields}, **schema_fields(request, *_SCHEMA_FIELDS)},
        )

    def _completed(
        self, name: str, answer: ReplyBody, dropped: tuple[str, ...]
    ) -> Completion | CallFailed:
        body = answer.body
        if body.get("status") != "failed" or is_filtered(body):
            return super()._completed(name, answer, dropped)
        error = body.get("error")
        error = error if isinstance(error, dict) else {}
        code, message = str(error.get("code")), str(error.get("message"))
        kind = _FAILED.get(code, "reply")
        return self._client.failure(name, f"the response failed ({code}): {message}", kind=kind)


def _conversation(request: Request) -> dict[str, Any]:
    messages = list(request.messages)
    arguments: dict[str, Any] = {}
    if len(messages) > 1 and messages[0].role == "system":
        arguments["instructions"] = messages.pop(0).text
    arguments["input"] = [{"role": m.role, "content": m.text} for m in messages]
    return arguments


def _format(request: Request) -> dict[str, Any]:
    if request.schema is None:
        return {}
    return {
        "text": {
            "format": {
                "type": "json_schema",
                "name": request.schema_name,
                "schema": plain(request.schema, "reply schema"),
                "strict": True,
            }
        }
    }


def read_response(body: dict[str, Any]) -> ReadReply:
    """Read a Responses reply body; KeyError, TypeError … when it is none."""
    if is_filtered(body):
        return filtered()
    text = "".join(text_of(part["text"]) for part in _parts(body, "output_text"))
    refusal = "".join(text_of(part["refusal"]) for part in _parts(body, "refusal"))
    return ReadReply(
        text=refusal or text,
        finish="refusal" if refusal else _finish(body),
        served_model=str(body["model"]),
        usage=counts(body.get("usage"), input=("input_tokens",), output=("output_tokens",)),
    )


def _parts(body: Mapping[str, Any], kind: str) -> Iterator[Mapping[str, Any]]:
    for item in body["output"]:
        if item["type"] == "message":
            yield from (part for part in item["content"] if part["type"] == kind)


def _finish(body: Mapping[str, Any]) -> Finish:
    if body["status"] == "incomplete":
        return _INCOMPLETE.get((body.get("incomplete_details") or {}).get("reason"), "other")
    # A call of a tool, say, is no answer.
    answered = all(item["type"] in _SILENT for item in body["output"])
    return "stop" if body["status"] == "completed" and answered else "other"


_API = Api("responses", "/responses", "a response", read_response, "OpenAI's Responses API")
