"""OpenAI's Chat Completions, through the official async SDK."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import datetime, timezone
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import unquote, urlsplit

from ..canonical import plain
from ..errors import CallFailed, FailureKind, MissingPackage
from ..messages import Completion, Finish, Request
from ..simulator.server import FINGERPRINT
from .base import Call, Endpoint

if TYPE_CHECKING:
    from types import ModuleType

_DEFAULT_URL = "https://api.openai.com/v1/"
_SEED_FIELD = "pytest_bias_seed"
_FINISHES: Mapping[str, Finish] = {
    "stop": "stop",
    "length": "length",
    "content_filter": "content_filter",
}


class OpenAIChat:
    """One client for all calls: making one loads certificates, tens of milliseconds."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._sdk = _sdk()
        self._name = endpoint.provider
        self._send_seed = send_seed = endpoint.simulated
        self._client = self._sdk.AsyncOpenAI(
            api_key=endpoint.api_key,
            base_url=endpoint.base_url,
            max_retries=0,
            # A proxy from the environment could not reach an endpoint on loopback.
            http_client=self._sdk.DefaultAsyncHttpxClient(trust_env=False) if send_seed else None,
        )

    def wire(self, model: str) -> str:  # noqa: ARG002  (one API for all models)
        """SDK, version and API, and the host where it is not OpenAI's."""
        wire = f"openai {self._sdk.__version__}, chat completions"
        url = str(self._client.base_url)
        return wire if self._send_seed or url == _DEFAULT_URL else f"{wire} at {_host(url)}"

    async def complete(self, model: str, request: Request, call: Call) -> Completion:
        """See :class:`~pytest_bias.providers.base.Provider`."""
        name = f"{self._name}/{model}"
        try:
            raw = await self._client.chat.completions.with_raw_response.create(
                **self._arguments(model, request, call)
            )
            # Of the attempt that was answered; the SDK waits and tries again after others.
            latency = raw.elapsed.total_seconds()
            body = json.loads(raw.text, parse_constant=_no_constant)
        except self._sdk.APIStatusError as error:
            problem = f"HTTP {error.status_code}: {self._without_key(error.message)}"
            kind = _kind(error.status_code)
            raise CallFailed(model=name, problem=problem, kind=kind) from error
        except (self._sdk.APIError, ValueError, RecursionError) as error:
            problem = f"{type(error).__name__}: {self._without_key(str(error))}"
            raise CallFailed(model=name, problem=problem, kind="reply") from error
        if not self._send_seed and _is_simulated(body):
            problem = (
                "the endpoint serves simulated subjects (pytest-bias serve), and their replies "
                f"must not pass as a model's; unset OPENAI_BASE_URL, or record simulated/{model}"
            )
            raise CallFailed(model=name, problem=problem, kind="fatal")
        return completion_of(body, latency, name)

    async def aclose(self) -> None:
        """Close every connection."""
        await self._client.close()

    def _without_key(self, text: str) -> str:
        """``text`` without the credentials, should an endpoint send them back."""
        for secret in (self._client.api_key, *_secrets(str(self._client.base_url))):
            text = text.replace(secret, "***")
        return text

    def _arguments(self, model: str, request: Request, call: Call) -> dict[str, Any]:
        arguments: dict[str, Any] = {
            "model": model,
            "messages": [{"role": m.role, "content": m.text} for m in request.messages],
        }
        if request.parameters.temperature is not None:
            arguments["temperature"] = request.parameters.temperature
        if request.parameters.max_output_tokens is not None:
            arguments["max_completion_tokens"] = request.parameters.max_output_tokens
        if request.schema is not None:
            arguments["response_format"] = {
                "type": "json_schema",
                "json_schema": {
                    "name": request.schema_name,
                    "schema": plain(request.schema, "reply schema"),
                    "strict": True,
                },
            }
        if self._send_seed:
            arguments["extra_body"] = {_SEED_FIELD: call.seed}
        return arguments


def completion_of(body: object, latency: float, model: str) -> Completion:
    """The completion in a Chat Completions reply body; CallFailed when there is none in it."""
    try:
        reply = cast("dict[str, Any]", body)
        choice = reply["choices"][0]
        message = choice["message"]
        refusal = message.get("refusal")
        text = refusal or message.get("content") or ""
        if not isinstance(text, str):
            raise TypeError(type(text).__name__)  # noqa: TRY301
        usage = reply.get("usage") or {}
        return Completion(
            text=text,
            finish="refusal" if refusal else _FINISHES.get(choice.get("finish_reason"), "other"),
            served_model=str(reply["model"]),
            usage={
                "input": int(usage.get("prompt_tokens") or 0),
                "output": int(usage.get("completion_tokens") or 0),
            },
            latency=round(latency, 6),
            recorded_at=datetime.now(tz=timezone.utc).isoformat(timespec="seconds"),
            body=reply,
        )
    except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
        raise CallFailed(
            model=model,
            problem=f"the reply is not a chat completion ({type(error).__name__}: {error})",
            kind="reply",
        ) from error


def _kind(status: int) -> FailureKind:
    if status == HTTPStatus.TOO_MANY_REQUESTS:
        return "rate_limit"
    return "transient" if status >= HTTPStatus.INTERNAL_SERVER_ERROR else "fatal"


def _is_simulated(body: object) -> bool:
    return isinstance(body, dict) and body.get("system_fingerprint") == FINGERPRINT


def _host(url: str) -> str:
    """``scheme://host:port`` of ``url``: no path, no credentials, no query."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"


def _secrets(url: str) -> Iterator[str]:
    """What may be a credential in ``url``, the longest first, as it stands there and decoded."""
    parts = urlsplit(url)
    userinfo = parts.netloc.rpartition("@")[0]
    for secret in (userinfo, parts.password, parts.query):
        if secret:
            yield from dict.fromkeys((secret, unquote(secret)))


def _no_constant(name: str) -> object:
    """Refuse NaN and Infinity, which are not JSON and could not be stored."""
    raise ValueError(name)


def _sdk() -> ModuleType:
    try:
        import openai  # noqa: PLC0415  (an optional extra, imported when it is used)
    except ModuleNotFoundError:
        raise MissingPackage(package="openai", extra="openai") from None
    return openai
