"""OpenAI's Chat Completions, through the official async SDK, and whatever else speaks them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..errors import CallFailed
from ..experiments.canonical import plain
from ..experiments.messages import Completion, Finish, Parameters, Request
from .base import Call, Endpoint
from .client import Client, ClientAdapter, Vendor
from .completion import (
    ReadReply,
    ReplyBody,
    completion,
    counts,
    effective,
    filtered,
    is_filtered,
    text_of,
)
from .failures import schema_fields
from .sdk import SEED_FIELD, vendor_seed

OPENAI = Vendor(
    "openai",
    "AsyncOpenAI",
    "https://api.openai.com/v1",
    "OPENAI_BASE_URL",
    personal=("organization", "project"),
)

_PATH = "/chat/completions"
_WHAT = "a chat completion"
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
        super().__init__(client or Client(OPENAI, endpoint), "chat completions")
        self._newer: set[str] = set()

    async def _attempt(self, model: str, request: Request, call: Call) -> Completion | CallFailed:
        name = f"{self._client.endpoint.provider}/{model}"
        request, dropped = effective(request, call.dropped)
        limit = _NEWER if model in self._newer or not self._client.own else _OLDER
        answer = await self._asked(model, request, call, limit)
        if limit == _OLDER and _wants_newer(answer, request.parameters):
            self._newer.add(model)
            problem = f"the endpoint takes {_NEWER}, not {_OLDER}; it is asked again so"
            return CallFailed(model=name, problem=problem, kind="transient")
        if not isinstance(answer, ReplyBody):
            return answer
        return completion(name, answer, read_chat, _WHAT, dropped)

    async def _asked(
        self, model: str, request: Request, call: Call, limit: str
    ) -> ReplyBody | CallFailed:
        fields = self._fields(request.parameters, call, limit)
        body = {
            "model": model,
            "messages": [{"role": m.role, "content": m.text} for m in request.messages],
            **fields,
            **_format(request),
            **({SEED_FIELD: call.seed} if self._simulated else {}),
        }
        sent = {field: _PARAMETERS[field] for field in fields}
        return await self._client.exchange(
            f"{self._client.endpoint.provider}/{model}",
            _PATH,
            body,
            request,
            call.timeout,
            sent=sent | schema_fields(request, "response_format"),
            what=_WHAT,
        )

    @property
    def _simulated(self) -> bool:
        return self._client.endpoint.simulated

    def _fields(self, parameters: Parameters, call: Call, limit: str) -> dict[str, Any]:
        fields: dict[str, Any] = {}
        if parameters.temperature is not None:
            fields["temperature"] = parameters.temperature
        if parameters.max_output_tokens is not None:
            fields[limit] = parameters.max_output_tokens
        if parameters.seeded and not self._simulated:
            fields["seed"] = vendor_seed(call.seed)
        return fields


_PARAMETERS = {
    "temperature": "temperature",
    _OLDER: "max_output_tokens",
    _NEWER: "max_output_tokens",
    "seed": "seeded",
}


def _wants_newer(answer: ReplyBody | CallFailed, parameters: Parameters) -> bool:
    """Return whether a request was refused that gave the limit by its older name."""
    if isinstance(answer, ReplyBody) or parameters.max_output_tokens is None:
        return False
    return answer.problem.startswith("HTTP 400:") and _NEWER in answer.problem


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
