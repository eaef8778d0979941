"""Google's generateContent (the Gemini API), through the official async SDK."""

from __future__ import annotations

import math
import ssl
from collections.abc import Mapping
from contextvars import ContextVar
from http import HTTPStatus
from importlib import import_module
from typing import Any

from ..experiments.canonical import plain
from ..experiments.messages import Completion, Request, end_of, text_of
from .adapter import Adapter, counts, parameter_fields
from .base import Call, Endpoint, Provider, ProviderContext, api_key
from .client import LIMITS, Client, Unsent, Vendor, base_url
from .sdk import vendor_seed

GOOGLE = Vendor(
    "google",
    "google.genai",
    "Client",
    "https://generativelanguage.googleapis.com",
    "GOOGLE_GEMINI_BASE_URL",
)

_KEYS = ("GEMINI_API_KEY", "GOOGLE_API_KEY")
"""GOOGLE_API_KEY may have been set for another of Google's services, GEMINI_API_KEY only for this
one, so it comes first where both are set. (The SDK left to itself takes them the other way.)"""

_API_VERSION = "v1beta"
"""Given, because the SDK's default would change with its version and GOOGLE_GENAI_API_VERSION;
this one has everything that is sent here."""

_NAMES = {
    "temperature": "temperature",
    "max_output_tokens": "max_output_tokens",
    "seeded": "seed",
}
"""Parameter of ours → the field of the SDK's configuration."""

_SCHEMA_FIELDS = (
    "response_json_schema",
    "responseJsonSchema",
    "response_mime_type",
    "responseMimeType",
    "response mime type",
)

# The SDK hands out no HTTP response, so its client's hook leaves it here, for its status and time.
_RESPONSES: ContextVar[list[Any]] = ContextVar("responses")


def open_google(context: ProviderContext) -> Provider:
    """Models of Google; the key comes from GEMINI_API_KEY, or else from GOOGLE_API_KEY.

    GOOGLE_GEMINI_BASE_URL is honoured, as the SDK does. Nothing else in the environment is: this
    is never Vertex AI, which has other models, terms and credentials.
    """
    environ = context.environ
    either = " or ".join(_KEYS)  # where neither is set
    variable = next((name for name in _KEYS if environ.get(name, "").strip()), either)
    key = api_key(environ, GOOGLE.name, variable)
    return GoogleContents(Endpoint(GOOGLE.name, key, base_url(environ, GOOGLE)))


class GoogleContents(Adapter):
    """generateContent at an endpoint."""

    api, what = "generateContent", "a generateContent reply"

    def __init__(self, endpoint: Endpoint) -> None:
        super().__init__(_GoogleClient(GOOGLE, endpoint))

    def _body(
        self,
        model: str,  # noqa: ARG002  (one body for all)
        request: Request,
        call: Call,
    ) -> tuple[dict[str, Any], dict[str, str]]:
        seed = vendor_seed(call.seed)
        config, sent = parameter_fields(request, _NAMES, *_SCHEMA_FIELDS, seed=seed)
        if "max_output_tokens" in sent:
            sent["maxOutputTokens"] = "max_output_tokens"
        system = [{"text": m.text} for m in request.messages if m.role == "system"]
        if system:
            config["system_instruction"] = {"parts": system}
        if request.schema is not None:
            config["response_mime_type"] = "application/json"
            config["response_json_schema"] = plain(request.schema, "reply schema")
        contents = [
            {"role": "model" if m.role == "assistant" else "user", "parts": [{"text": m.text}]}
            for m in request.messages
            if m.role != "system"
        ]
        return {"contents": contents, "config": config}, sent

    @staticmethod
    def with_fields(body: dict[str, Any], further: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments with the roster's further fields, which the SDK merges into the body."""
        return body | {"config": body["config"] | {"http_options": {"extra_body": dict(further)}}}

    @staticmethod
    def read(body: dict[str, Any]) -> Completion:
        """Parse a generateContent reply body; KeyError, TypeError … where it is not one."""
        # Thoughts are paid as output.
        replied = ("candidatesTokenCount", "thoughtsTokenCount")
        tokens = counts(body.get("usageMetadata"), input=("promptTokenCount",), output=replied)
        served = str(body.get("modelVersion") or "")
        if not body.get("candidates") and (body.get("promptFeedback") or {}).get("blockReason"):
            return Completion("", "content_filter", served, tokens)
        candidate = body["candidates"][0]
        finish = end_of(candidate.get("finishReason"))
        # A filter, or a limit met while thinking, leaves no content; but it is said then.
        content = (
            candidate["content"] if "finishReason" not in candidate else candidate.get("content")
        )
        parts = (content or {}).get("parts") or []
        texts = [text_of(part.get("text")) for part in parts if not part.get("thought")]
        return Completion("".join(texts), finish, served, tokens)


class _GoogleClient(Client):
    def _http(self) -> Any:
        return self.transport.AsyncClient(limits=self.transport.Limits(**LIMITS))

    def _open(self) -> tuple[str, list[str]]:
        self.refusal = import_module("google.genai.errors").APIError
        self.disconnection = self.transport.RequestError
        hooks = self.http.event_hooks
        self.http.event_hooks = {**hooks, "response": [_keep, *hooks["response"]]}
        url = self.endpoint.base_url or self.vendor.url
        types = self.sdk.types
        # Of the SDK's other clients, which nothing goes through: they trust no certificate.
        closed = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        # What is not set here the SDK would read from the environment.
        self.api = self.sdk.Client(
            vertexai=False,
            api_key=self.endpoint.api_key,
            debug_config=import_module("google.genai.client").DebugConfig(
                client_mode=None, replays_directory=None, replay_id=None
            ),
            http_options=types.HttpOptions(
                base_url=url,
                api_version=_API_VERSION,
                retry_options=types.HttpRetryOptions(attempts=1),
                # This also keeps the SDK from aiohttp, which it prefers where installed.
                httpx_async_client=self.http,
                async_client_args={"verify": closed, "ssl": closed},
            ),
        )
        return url, []

    async def send(self, path: str, body: dict[str, Any], timeout: float) -> Any:  # noqa: ARG002, ASYNC109
        """See :class:`Client`; a response that the SDK cannot read is returned as well."""
        config = body["config"]
        config |= {
            "http_options": config["http_options"]
            | {"timeout": max(1, math.ceil(timeout * 1000))},
            # The SDK then never goes on by itself with a second call.
            "should_return_http_response": True,
            "automatic_function_calling": {"disable": True},
        }
        responses: list[Any] = []
        token = _RESPONSES.set(responses)
        try:
            await self.api.aio.models.generate_content(**body | {"config": config})
        except (ValueError, RecursionError, self.transport.InvalidURL) as error:
            if not responses:
                # Plain ValueErrors are about the model's name or an empty conversation; others
                # may quote the prompt or the key.
                known = f": {error}" if type(error) is ValueError else ""
                reason = f"{type(error).__name__}{known}"
                raise Unsent(reason) from None
            if responses[-1].status_code != HTTPStatus.OK:
                raise self.refusal(responses[-1].status_code, {}, responses[-1]) from None
        finally:
            _RESPONSES.reset(token)
        return responses[-1]

    async def close(self) -> None:
        """Close every connection."""
        await self.api.aio.aclose()
        self.api.close()
        # Both leave a client that was handed in to whom it belongs.
        await self.http.aclose()


async def _keep(response: Any) -> None:
    _RESPONSES.get().append(response)
