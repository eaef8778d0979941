"""Google's generateContent (the Gemini API), through the official async SDK.

Details of its errors are those of google/rpc/error_details.proto.
"""

from __future__ import annotations

import asyncio
import logging
import math
import re
import ssl
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from http import HTTPStatus
from http.client import responses as phrases
from importlib import import_module
from typing import Any

from ..errors import BadSetting, CallFailed, MissingKey
from ..experiments.canonical import plain
from ..experiments.messages import Completion, Finish, Message, Request
from . import sdk
from .base import NO_KEY, Adapter, Call, Endpoint, Provider, ProviderContext, api_key
from .completion import (
    ReplyBody,
    address,
    answered,
    asked_fields,
    completion,
    connection_failure,
    counts,
    effective,
    error_words,
    filtered,
    filtered_answer,
    is_filtered,
    refused_parameter,
    reply_failure,
    status_failure,
    text_of,
    unencodable,
    unsent,
)
from .transport import Refused, at_one_go, guarded, loopback_client

_NAME = "google"
_DEFAULT_URL = "https://generativelanguage.googleapis.com"
_BASE_URL = "GOOGLE_GEMINI_BASE_URL"
_WHAT = "a generateContent reply"

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

# The SDK hands out no HTTP response, so its client's hook leaves it here, for its status and time.
_RESPONSES: ContextVar[list[Any]] = ContextVar("responses")

_OUT_OF_QUOTA = "insufficient_quota"
"""The code by which :func:`status_failure` knows a limit that waiting does not mend."""

_PER_DAY = re.compile("per_?day", re.IGNORECASE)
_SECONDS = re.compile(r"(\d+(?:\.\d+)?)s")


def open_google(context: ProviderContext) -> Provider:
    """Models of Google; the key comes from GEMINI_API_KEY, or else from GOOGLE_API_KEY.

    GOOGLE_GEMINI_BASE_URL is honoured, as the SDK does. Nothing else in the environment is: this
    is never Vertex AI, which has other models, terms and credentials.
    """
    environ = context.environ
    variable = next((name for name in _KEYS if environ.get(name, "").strip()), None)
    if variable is None:
        raise MissingKey(provider=_NAME, variable=" or ".join(_KEYS))
    key = api_key(environ, _NAME, variable)
    return GoogleContents(Endpoint(_NAME, key, environ.get(_BASE_URL) or None))


class GoogleContents(Adapter):
    """generateContent at an endpoint; one SDK client, because making one loads certificates.

    Raises MissingPackage when the SDK is not installed. Raises BadSetting when the endpoint's base
    URL is none.
    """

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        own = endpoint.provider != _NAME
        self._url = endpoint.base_url or _DEFAULT_URL
        where = f"[endpoints.{endpoint.provider}] base_url" if own else _BASE_URL
        if not sdk.is_url(self._url):
            raise BadSetting(option=where, value="…", problem="it is not an http(s) URL")
        key = "" if endpoint.api_key == NO_KEY else endpoint.api_key
        self._key = sdk.Secrets(key)
        self._secrets = sdk.Secrets(key, url=self._url)
        direct = sdk.is_loopback(self._url)
        self._route = self._secrets.told(address(self._url))
        self._route += "" if direct else sdk.proxy_words(self._url)
        self.place = self._route
        if endpoint.base_url is not None:
            self.place += f", as {where} says"
        self._genai = sdk.load_sdk("google.genai", "google")
        self._errors = import_module("google.genai.errors")
        self._transport = transport = sdk.load_sdk("httpx2", "google")
        # A URL or header that cannot be sent (and is quoted).
        self._no_connection = (transport.InvalidURL, transport.LocalProtocolError)
        # Handing in a client also keeps the SDK from aiohttp, which it prefers where installed.
        hooks = {"response": [_keep]}
        http = (
            loopback_client(transport, self._url, event_hooks=hooks)
            if direct
            else transport.AsyncClient(limits=transport.Limits(**sdk.LIMITS), event_hooks=hooks)
        )
        self._http = guarded(http, transport, where)
        self._client = self._sdk_client()

    def _sdk_client(self) -> Any:
        types = self._genai.types
        # Of the SDK's other clients, which nothing goes through: they trust nobody.
        closed = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        # What is not given here the SDK would read from the environment.
        with _without_false_warning():
            return self._genai.Client(
                vertexai=False,
                api_key=self._endpoint.api_key,
                debug_config=import_module("google.genai.client").DebugConfig(
                    client_mode=None, replays_directory=None, replay_id=None
                ),
                http_options=types.HttpOptions(
                    base_url=self._url,
                    api_version=_API_VERSION,
                    retry_options=types.HttpRetryOptions(attempts=1),
                    httpx_async_client=self._http,
                    async_client_args={"verify": closed, "ssl": closed},
                ),
            )

    def wire(self, model: str) -> str:  # noqa: ARG002  (one API for all models)
        """SDK, version and API, and the host where it is not Google's."""
        wire = f"google-genai {self._genai.__version__}, generateContent"
        theirs = self._url.rstrip("/") == _DEFAULT_URL
        return wire if theirs else f"{wire} at {sdk.host(self._url)}"

    async def aclose(self) -> None:
        """Close every connection."""
        await self._client.aio.aclose()
        self._client.close()
        # Both leave a client that was handed in to whom it belongs.
        await self._http.aclose()

    async def _attempt(self, model: str, request: Request, call: Call) -> Completion | CallFailed:
        name = f"{self._endpoint.provider}/{model}"
        problem = unencodable(name, self._endpoint.api_key, request)
        if problem is not None:
            return problem
        request, dropped = effective(request, call.dropped)
        seed = sdk.vendor_seed(call.seed)
        fields, sent = asked_fields(request, _NAMES, *_SCHEMA_FIELDS, seed=seed)
        responses: list[Any] = []
        token = _RESPONSES.set(responses)
        try:
            # The SDK's own time counts each read, and not the whole.
            async with asyncio.timeout(call.timeout):
                generated = self._client.aio.models.generate_content(
                    model=model,
                    contents=self._contents(request.messages),
                    config=self._config(request, call, fields),
                )
                reply = await at_one_go(generated)
            body = self._key.purged(sdk.parsed(reply.sdk_http_response.body or ""))
        except self._errors.APIError as error:
            stopped = filtered_answer(error.response, self._secrets.purged)
            told = self._secrets.told
            return (
                google_failure(name, error, told, sent, self.place)
                if stopped is None
                else completion(name, stopped, read_contents, _WHAT, dropped, told)
            )
        except (ValueError, RecursionError, Refused, *self._no_connection) as error:
            return self._unreadable(name, error, responses)
        except (self._transport.TransportError, TimeoutError) as error:
            said = str(error) or "no answer in time"
            return connection_failure(name, error, self._secrets.told(said), self._route)
        finally:
            _RESPONSES.reset(token)
        answer = answered(name, body, responses[-1], _WHAT)
        if not isinstance(answer, ReplyBody):
            return answer
        return completion(name, answer, read_contents, _WHAT, dropped, self._secrets.told)

    def _contents(self, messages: Sequence[Message]) -> list[Any]:
        types = self._genai.types
        return [
            types.Content(
                role="model" if message.role == "assistant" else "user",
                parts=[types.Part(text=message.text)],
            )
            for message in messages
            if message.role != "system"
        ]

    def _config(self, request: Request, call: Call, fields: Mapping[str, Any]) -> Any:
        types = self._genai.types
        options: dict[str, Any] = {"timeout": max(1, math.ceil(call.timeout * 1000))}
        config: dict[str, Any] = {
            **fields,
            "http_options": types.HttpOptions(**options),
            # The body as it was sent. The SDK then never goes on by itself with a second call.
            "should_return_http_response": True,
            "automatic_function_calling": types.AutomaticFunctionCallingConfig(disable=True),
        }
        system = [types.Part(text=m.text) for m in request.messages if m.role == "system"]
        if system:
            config["system_instruction"] = types.Content(parts=system)
        if request.schema is not None:
            config["response_mime_type"] = "application/json"
            config["response_json_schema"] = plain(request.schema, "reply schema")
        return types.GenerateContentConfig(**config)

    def _unreadable(self, name: str, error: Exception, responses: Sequence[Any]) -> CallFailed:
        """Name what the SDK, its transport or the JSON decoder gave up on."""
        if isinstance(error, Refused):
            problem = self._secrets.told(error.problem)
            return CallFailed(model=name, problem=problem, kind=error.kind)
        if not responses:
            # Plain ValueErrors are about the model's name or an empty conversation; others may
            # quote the prompt or the key.
            why = type(error).__name__
            if type(error) is ValueError:
                why = f"{why}: {self._secrets.told(str(error))}"
            return unsent(name, why)
        response = responses[-1]
        if response.status_code != HTTPStatus.OK:
            wait = sdk.retry_after(response.headers)
            words = self._secrets.told(response.text) or "unreadable error"
            return status_failure(name, response.status_code, words, wait=wait, place=self.place)
        return reply_failure(name, _WHAT, error)


def read_contents(body: dict[str, Any]) -> Completion:
    """Read a generateContent reply body; KeyError, TypeError … when it is none."""
    if is_filtered(body):
        return filtered()
    # Thoughts are paid as output.
    replied = ("candidatesTokenCount", "thoughtsTokenCount")
    tokens = counts(body.get("usageMetadata"), input=("promptTokenCount",), output=replied)
    served = str(body.get("modelVersion") or "")
    if not body.get("candidates") and (body.get("promptFeedback") or {}).get("blockReason"):
        return Completion("", "content_filter", served, tokens)
    candidate = body["candidates"][0]
    finish = _FINISHES.get(candidate.get("finishReason"), "other")
    # A filter, or a limit met while thinking, leaves no content; but it is said then.
    content = candidate["content"] if "finishReason" not in candidate else candidate.get("content")
    parts = (content or {}).get("parts") or []
    texts = [text_of(part.get("text")) for part in parts if not part.get("thought")]
    return Completion("".join(texts), finish, served, tokens)


# --- the SDK's client ---------------------------------------------------------------------------


async def _keep(response: Any) -> None:
    _RESPONSES.get().append(response)


@contextmanager
def _without_false_warning() -> Iterator[None]:
    """Keep the SDK from saying that it takes GOOGLE_API_KEY where both are set."""
    logger = logging.getLogger("google_genai._api_client")

    def true(record: logging.LogRecord) -> bool:
        return not str(record.msg).startswith("Both GOOGLE_API_KEY and GEMINI_API_KEY")

    logger.addFilter(true)
    try:
        yield
    finally:
        logger.removeFilter(true)


# --- failures ----------------------------------------------------------------------------------


def google_failure(
    model: str, error: Any, told: Callable[[str], str], sent: Mapping[str, str], place: str
) -> CallFailed:
    """The failure that an answer with another status than 200 stands for.

    ``error`` is the SDK's APIError, ``told`` takes credentials out of a text, ``sent`` is what
    :func:`refused_parameter` wants, ``place`` what was called.
    """
    details = list(_details(error.details))
    words = error_words(error.details)
    parameter = None
    if error.code == HTTPStatus.BAD_REQUEST:
        said = " ".join((words, *_violations(details)))
        said = said.replace("maxOutputTokens", "max_output_tokens")
        parameter = refused_parameter(sent, said)
    return status_failure(
        model,
        error.code,
        told(words or error.response.text or phrases.get(error.code, "no words")),
        code=_OUT_OF_QUOTA if _of_the_day(details) else None,
        parameter=parameter,
        wait=_wait(details, error.response.headers),
        place=place,
    )


def _details(body: object) -> Iterator[Mapping[str, Any]]:
    for answer in _objects(body if isinstance(body, list) else [body]):
        for error in _objects([answer.get("error")]):
            yield from _objects(error.get("details"))


def _objects(value: object) -> Iterator[Mapping[str, Any]]:
    if isinstance(value, list):
        yield from (entry for entry in value if isinstance(entry, dict))


def _violations(details: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Return BadRequest's violations of single fields."""
    for detail in details:
        for violation in _objects(detail.get("fieldViolations")):
            yield f"{violation.get('field')}: {violation.get('description')}"


def _of_the_day(details: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether QuotaFailure names a quota per day, which no recording waits for."""
    return any(
        _PER_DAY.search(f"{violation.get('quotaId')} {violation.get('quotaMetric')}")
        for detail in details
        for violation in _objects(detail.get("violations"))
    )


def _wait(details: Sequence[Mapping[str, Any]], headers: Mapping[str, str]) -> float | None:
    """Seconds that RetryInfo or else the headers ask to wait."""
    for detail in details:
        if found := _SECONDS.fullmatch(str(detail.get("retryDelay"))):
            return float(found[1])
    return sdk.retry_after(headers)
