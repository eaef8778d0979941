"""OpenAI's models: Chat Completions, or Responses where the roster says a model needs them.

Both go through the official async SDK; whatever else speaks them is called so too. Conversations
are sent whole and nothing is stored at OpenAI: a reply depends on its request alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..errors import CallFailed, FailureKind, UnknownName
from ..experiments.canonical import plain
from ..experiments.messages import Completion, Request, end_of, text_of
from .adapter import Adapter, counts, parameter_fields, text_of_parts
from .base import DEFAULT_WIRE, Call, Endpoint, Provider, ProviderContext, api_key
from .client import Client, GeneratedClient, Vendor, base_url
from .failures import error_details, error_within
from .outcomes import prompt_outcome
from .sdk import vendor_seed

OPENAI = Vendor(
    "openai",
    "openai",
    "AsyncOpenAI",
    "https://api.openai.com/v1",
    "OPENAI_BASE_URL",
    personal=("organization", "project"),
)

_OLDER, _NEWER = "max_tokens", "max_completion_tokens"


class OpenAIChat(Adapter):
    """Chat Completions at an endpoint; ``client`` is one to share, and closed with this.

    Endpoints of the user's own get the limit of a reply as ``max_tokens``, because many know
    only that older name. Where one answers with an error and asks for ``max_completion_tokens``,
    the failure is one that passes: the next attempt uses that name. It is remembered by model, as
    one gateway may serve models of both kinds.
    """

    api, path, what = "chat completions", "/chat/completions", "a chat completion"
    streams = True

    def __init__(self, endpoint: Endpoint, client: Client | None = None) -> None:
        super().__init__(client or GeneratedClient(OPENAI, endpoint))
        self._newer: set[str] = set()

    async def _attempt(self, model: str, request: Request, call: Call) -> Completion | CallFailed:
        limit = self._limit(model)  # as it is sent: another call may change it meanwhile
        outcome = await super()._attempt(model, request, call)
        limited = "max_output_tokens" in request.sent - call.dropped
        if limit == _OLDER and limited and _wants_newer(outcome):
            self._newer.add(model)
            problem = f"the endpoint takes {_NEWER}, not {_OLDER}; the call is made again so"
            name = f"{self._client.endpoint.provider}/{model}"
            return CallFailed(model=name, problem=problem, kind="transient")
        return outcome

    def _limit(self, model: str) -> str:
        return _NEWER if model in self._newer or not self._client.own else _OLDER

    def _body(
        self, model: str, request: Request, call: Call
    ) -> tuple[dict[str, Any], dict[str, str]]:
        limit = self._limit(model)
        names = {"temperature": "temperature", "max_output_tokens": limit, "seeded": "seed"}
        fields, sent = parameter_fields(
            request, names, "response_format", seed=vendor_seed(call.seed)
        )
        messages = [{"role": m.role, "content": m.text} for m in request.messages]
        body = {"messages": messages, **fields}
        if self._client.endpoint.stream:
            body |= {"stream": True, "stream_options": {"include_usage": True}}
        if request.schema is not None:
            shape = {"type": "json_schema", "json_schema": _strict(request)}
            body["response_format"] = shape
        return body, sent

    @staticmethod
    def read(body: dict[str, Any]) -> Completion:
        """Parse a Chat Completions reply body; KeyError, TypeError … where it is not one."""
        choice = body["choices"][0]
        message = choice["message"]
        refusal, content = text_of(message.get("refusal")), message.get("content")
        text = text_of_parts(content) if isinstance(content, list) else text_of(content)
        return Completion(
            text=refusal or text,
            finish="refusal" if refusal else end_of(choice.get("finish_reason")),
            served_model=str(body.get("model") or ""),
            usage=_usage(body, "prompt_tokens", "completion_tokens"),
        )

    def _failure_within(self, name: str, body: object) -> CallFailed | None:
        why = _broken_off(body) if isinstance(body, dict) else None
        if why is None or prompt_outcome(body) is not None:
            return super()._failure_within(name, body)
        choice = body["choices"][0]  # type: ignore[index]
        failure = error_within(name, choice, self.what, self._client.redacted)
        if failure is not None and failure.kind in ("fatal", "rate_limit"):
            return failure
        # What passes is tried again either way; as a reply, its tokens count as paid.
        return self._client.failure(name, f"the reply was broken off ({why})", kind="reply")


_BROKEN_OFF = ("error", "insufficient_system_resource")
"""Ends of replies that failed on the way, of gateways such as OpenRouter and of DeepSeek."""


def _broken_off(body: Mapping[str, Any]) -> str | None:
    """The reason for which a reply was broken off, as the provider gives it; None for none."""
    choices = body.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    if not isinstance(choice, dict):
        return None
    finish, error = choice.get("finish_reason"), choice.get("error")
    if finish not in _BROKEN_OFF and (not error or finish == "content_filter"):
        return None
    message = error_details(error).get("message") or error
    return f"{finish}: {message}" if message else str(finish)


def _wants_newer(outcome: Completion | CallFailed) -> bool:
    """True if a request was refused that gave the limit by its older name."""
    failed = isinstance(outcome, CallFailed) and outcome.kind != "rate_limit"
    return failed and _NEWER in str(outcome)


def _strict(request: Request) -> dict[str, Any]:
    """The reply schema, as both APIs take it."""
    schema = plain(request.schema, "reply schema")
    return {"name": request.schema_name, "schema": schema, "strict": True}


def _usage(body: Mapping[str, Any], sent: str, replied: str) -> dict[str, int]:
    found = counts(body.get("usage"), input=(sent,), output=(replied,), total=("total_tokens",))
    total = found.pop("total", 0)
    if {"input", "output"} <= found.keys():
        # Others than OpenAI (xAI, Gemini) count thoughts, which are paid, in the total alone.
        found["output"] = max(found["output"], total - found["input"])
    return found


_SILENT = frozenset({"message", "reasoning"})
_FAILED: Mapping[object, FailureKind] = {
    "rate_limit_exceeded": "rate_limit",
    "server_error": "transient",
}
"""Code of a response that failed on the way → what kind of failure it is, else ``reply``."""

_NAMES = {name: name for name in ("temperature", "max_output_tokens")}


class OpenAIResponses(Adapter):
    """Responses at an endpoint; ``client`` is one to share, and closed with this."""

    api, path, what = "responses", "/responses", "a response"
    seedless = "OpenAI's Responses API"

    def __init__(self, endpoint: Endpoint, client: Client | None = None) -> None:
        super().__init__(client or GeneratedClient(OPENAI, endpoint))

    def _body(
        self,
        model: str,  # noqa: ARG002  (one body for all)
        request: Request,
        call: Call,  # noqa: ARG002  (no seed is taken)
    ) -> tuple[dict[str, Any], dict[str, str]]:
        fields, sent = parameter_fields(request, _NAMES, "text.format", "response_format")
        body = {"store": False, **_conversation(request), **fields}
        if request.schema is not None:
            body["text"] = {"format": {"type": "json_schema", **_strict(request)}}
        return body, sent

    @staticmethod
    def read(body: dict[str, Any]) -> Completion:
        """Parse a Responses reply body; KeyError, TypeError … where it is not one."""
        text = "".join(text_of(part["text"]) for part in _parts(body, "output_text"))
        refusal = "".join(text_of(part["refusal"]) for part in _parts(body, "refusal"))
        return Completion(
            text=refusal or text,
            finish="refusal" if refusal else _finish(body),
            served_model=str(body["model"]),
            usage=_usage(body, "input_tokens", "output_tokens"),
        )

    def _failure_within(self, name: str, body: object) -> CallFailed | None:
        if not isinstance(body, dict) or body.get("status") != "failed" or prompt_outcome(body):
            return super()._failure_within(name, body)
        error = error_details(body.get("error"))
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


def _parts(body: Mapping[str, Any], kind: str) -> Iterator[Mapping[str, Any]]:
    for item in body["output"]:
        # Commentary on the work on the way is not the answer.
        if item["type"] == "message" and item.get("phase") != "commentary":
            yield from (part for part in item["content"] if part["type"] == kind)


def _finish(body: Mapping[str, Any]) -> str:
    status = body["status"]
    if status == "incomplete":
        return end_of((body.get("incomplete_details") or {}).get("reason") or status)
    # A call of a tool, say, is no answer.
    return end_of(next((i["type"] for i in body["output"] if i["type"] not in _SILENT), status))


_KEY = "OPENAI_API_KEY"
_PREFIX = f"{OPENAI.name}/"


def open_openai(context: ProviderContext) -> Provider:
    """Models of OpenAI; the key comes from OPENAI_API_KEY.

    Raises UnknownName when the roster gives a model a wire format that OpenAI does not speak.
    """
    key = api_key(context.environ, OPENAI.name, _KEY)
    wires = {
        model.removeprefix(_PREFIX): wire
        for model, wire in context.wires.items()
        if model.startswith(_PREFIX)
    }
    endpoint = Endpoint(OPENAI.name, key, base_url(context.environ, OPENAI))
    return _OpenAI(endpoint, wires)


class _OpenAI:
    """Both APIs over one client: making one takes tens of milliseconds."""

    def __init__(self, endpoint: Endpoint, wires: Mapping[str, str]) -> None:
        known = (DEFAULT_WIRE, "openai-responses")
        for wire in wires.values():
            if wire not in known:
                raise UnknownName(kind="wire format of OpenAI", name=wire, known=known)
        self._wires = dict(wires)
        self._client = client = GeneratedClient(OPENAI, endpoint)
        self._apis: dict[str, Provider] = {
            DEFAULT_WIRE: OpenAIChat(endpoint, client),
            "openai-responses": OpenAIResponses(endpoint, client),
        }

    def wire(self, model: str) -> str:
        return self._api(model).wire(model)

    async def complete(self, model: str, request: Request, call: Call) -> Completion:
        return await self._api(model).complete(model, request, call)

    async def aclose(self) -> None:
        await self._client.close()

    def _api(self, model: str) -> Provider:
        return self._apis[self._wires.get(model, DEFAULT_WIRE)]
