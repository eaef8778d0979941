"""OpenAI's Chat Completions, through the official async SDK, and whatever else speaks them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..errors import CallFailed
from ..experiments.canonical import plain
from ..experiments.messages import Completion, Finish, Request
from .base import Call, Endpoint
from .client import Api, Client, ClientAdapter, Vendor
from .completion import ReadReply, counts, filtered, is_filtered, text_of
from .failures import schema_fields
from .sdk import vendor_seed

OPENAI = Vendor(
    "openai",
    "AsyncOpenAI",
    "https://api.openai.com/v1",
    "OPENAI_BASE_URL",
    personal=("organization", "project"),
)

_OLDER, _NEWER = "max_tokens", "max_completion_tokens"
_FINISHES: Mapping[str, Finish] = {
    "stop": "stop",
    "length": "length",
    "content_filter": "content_filter",
}


class OpenAIChat(ClientAdapter):
    """Chat Completions at an endpoint; ``client`` is one to share, and closed with this.

    Endpoints of the user's own are told the limit of a reply as ``max_tokens``, because many know
    only that older name. Where one answers with HTTP 400 and asks for ``max_completion_tokens``,
    the failure is one that passes: the next attempt uses that name. It is remembered by model, as
    one gateway may serve models of both kinds.
    """

    def __init__(self, endpoint: Endpoint, client: Client | None = None) -> None:
        super().__init__(client or Client(OPENAI, endpoint), _API)
        self._newer: set[str] = set()

    async def _attempt(self, model: str, request: Request, call: Call) -> Completion | CallFailed:
        limit = self._limit(model)  # as it is sent: another call may change it meanwhile
        outcome = await super()._attempt(model, request, call)
        limited = "max_output_tokens" in request.given - call.dropped
        if limit == _OLDER and limited and _wants_newer(outcome):
            self._newer.add(model)
            problem = f"the endpoint takes {_NEWER}, not {_OLDER}; it is asked again so"
            name = f"{self._client.endpoint.provider}/{model}"
            return CallFailed(model=name, problem=problem, kind="transient")
        return outcome

    def _limit(self, model: str) -> str:
        return _NEWER if model in self._newer or not self._client.own else _OLDER

    def _body(
        self, model: str, request: Request, call: Call
    ) -> tuple[dict[str, Any], dict[str, str]]:
        parameters = request.parameters
        seeded = parameters.seeded and not self._client.endpoint.simulated
        fields: dict[str, Any] = {
            "temperature": parameters.temperature,
            self._limit(model): parameters.max_output_tokens,
            "seed": vendor_seed(call.seed) if seeded else None,
        }
        fields = {name: value for name, value in fields.items() if value is not None}
        messages = [{"role": m.role, "content": m.text} for m in request.messages]
        sent = {field: _PARAMETERS[field] for field in fields}
        return (
            {"messages": messages, **fields, **_format(request)},
            sent | schema_fields(request, "response_format"),
        )


_PARAMETERS = {
    "temperature": "temperature",
    _OLDER: "max_output_tokens",
    _NEWER: "max_output_tokens",
    "seed": "seeded",
}


def _wants_newer(outcome: Completion | CallFailed) -> bool:
    """Return whether a request was refused that gave the limit by its older name."""
    problem = outcome.problem if isinstance(outcome, CallFailed) else ""
    return problem.startswith("HTTP 400:") and _NEWER in problem


def _format(request: Request) -> dict[str, Any]:
    if request.schema is None:
        return {}
    schema = plain(request.schema, "reply schema")
    return {
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": request.schema_name, "schema": schema, "strict": True},
        }
    }


def read_chat(body: dict[str, Any]) -> ReadReply:
    """Read a Chat Completions reply body; KeyError, TypeError … when it is none."""
    if is_filtered(body):
        return filtered()
    choice = body["choices"][0]
    message = choice["message"]
    refusal = text_of(message.get("refusal"))
    return ReadReply(
        text=refusal or text_of(message.get("content")),
        finish="refusal" if refusal else _FINISHES.get(choice.get("finish_reason"), "other"),
        served_model=str(body.get("model") or ""),
        usage=counts(body.get("usage"), input=("prompt_tokens",), output=("completion_tokens",)),
    )


_API = Api("chat completions", "/chat/completions", "a chat completion", read_chat)
