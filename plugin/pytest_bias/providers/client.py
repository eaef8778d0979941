"""One client of an official SDK: OpenAI's and Anthropic's come out of one generator.

It makes one attempt per call, and says of each what came back or why nothing did.
"""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

from ..errors import BadSetting, CallFailed, MissingKey
from .base import Endpoint
from .reading import Answer, Reply, completion, count, effective, error_details, text_of
from .sdk import (
    Secrets,
    connection_failure,
    host,
    is_simulated,
    load_sdk,
    parsed,
    refused_parameter,
    reply_failure,
    retry_after,
    simulated_failure,
    status_failure,
)

__all__ = [
    "NO_KEY",
    "Answer",
    "Client",
    "Reply",
    "Vendor",
    "api_key",
    "base_url",
    "completion",
    "count",
    "effective",
    "text_of",
]

NO_KEY = "none-needed"
"""Stands for a key where the endpoint takes none; SDKs insist on one."""

_LONGEST_PROBLEM = 500
_SHORTEST_TOKEN = 8
_REFUSING = frozenset({HTTPStatus.BAD_REQUEST, HTTPStatus.UNPROCESSABLE_ENTITY})


@dataclass(frozen=True, slots=True)
class Vendor:
    """Whose SDK it is.

    ``name`` is that of the provider, the package and its extra; ``client`` of the class of its
    async client; ``url`` the base URL of its own API and ``variable`` what replaces that;
    ``personal`` are attributes of the client that the environment fills for the vendor alone.
    """

    name: str
    client: str
    url: str
    variable: str
    personal: tuple[str, ...] = ()


class Client:
    """An SDK's client at an endpoint: made once, because making one loads certificates.

    Raises
    ------
    MissingPackage
        When the SDK is not installed.
    BadSetting
        When the endpoint's base URL is none.
    """

    def __init__(self, vendor: Vendor, endpoint: Endpoint) -> None:
        self.sdk = sdk = load_sdk(vendor.name, vendor.name)
        self.vendor = vendor
        self.endpoint = endpoint
        self.own = not endpoint.simulated and endpoint.provider != vendor.name
        self.transport = importlib.import_module("httpx2")  # the SDK's own
        where = f"[endpoints.{endpoint.provider}] base_url" if self.own else vendor.variable
        where = "bias_simulated_url" if endpoint.simulated else where
        bad = BadSetting(option=where, value="…", problem="it is not a URL")
        if endpoint.base_url is not None and not _is_url(endpoint.base_url):
            raise bad
        options: dict[str, Any] = {}
        if endpoint.simulated:
            # A proxy from the environment could not reach an endpoint on loopback.
            options["http_client"] = sdk.DefaultAsyncHttpxClient(trust_env=False)
        if self.own or endpoint.simulated:
            # Custom headers of the environment may hold another key, which is the vendor's.
            options["default_headers"] = {"Authorization": f"Bearer {endpoint.api_key}"}
        try:
            self.api = getattr(sdk, vendor.client)(
                api_key=endpoint.api_key, base_url=endpoint.base_url, max_retries=0, **options
            )
        except self.transport.InvalidURL:
            self.api = None
        # Raised here, where the SDK's error, which quotes the URL, is no longer its context.
        self.url = "" if self.api is None else str(self.api.base_url)
        if not _is_url(self.url):
            raise bad
        if self.own or endpoint.simulated:
            for name in vendor.personal:
                setattr(self.api, name, None)
        key = "" if endpoint.api_key == NO_KEY else endpoint.api_key
        headers = getattr(self.api, "_custom_headers", {}).values()  # those of the environment
        self._key = Secrets(key)
        self._secrets = Secrets(
            key, *(h for h in map(str, headers) if len(h) >= _SHORTEST_TOKEN), url=self.url
        )

    def __repr__(self) -> str:
        return f"Client({self.vendor.name!r}, {self.endpoint!r})"

    def wire(self, api: str) -> str:
        """SDK, version and API, and the host where it is not the vendor's."""
        wire = f"{self.vendor.name} {self.sdk.__version__}, {api}"
        theirs = self.url.rstrip("/") == self.vendor.url
        return wire if self.endpoint.simulated or theirs else f"{wire} at {host(self.url)}"

    async def close(self) -> None:
        """Close every connection."""
        await self.api.close()

    async def exchange(
        self,
        model: str,
        sending: Awaitable[Any],
        timeout: float,  # noqa: ASYNC109  (the SDK's own counts each read, not the whole)
        sent: Mapping[str, str],
        what: str,
    ) -> Answer | CallFailed:
        """Await ``sending``, a call of the SDK, once, for ``timeout`` seconds.

        ``model`` is ``provider/model``, ``sent`` are the fields of the body that may be left out
        and the parameter each stands for, ``what`` is what the reply should be.
        """
        try:
            async with asyncio.timeout(timeout):
                raw = await sending
            body = parsed(self._key.hidden(raw.text))
            latency = raw.elapsed.total_seconds()  # of the attempt, without queueing
        except self.sdk.APIStatusError as error:
            return self._refusal(model, error, sent)
        except (self.sdk.APIConnectionError, TimeoutError) as error:
            said = f"{error} {error.__cause__ or ''}".strip()
            return connection_failure(model, error, self._told(said or "no answer in time"))
        except (self.sdk.APIError, ValueError) as error:
            return reply_failure(model, what, error)
        if not self.endpoint.simulated and is_simulated(body):
            return simulated_failure(model, "" if self.own else self.vendor.variable)
        if not isinstance(body, dict):
            return reply_failure(model, what, TypeError())
        return Answer(body, latency)

    def failure(self, model: str, problem: str, **why: Any) -> CallFailed:
        """A failure in the words of the endpoint, without its credentials."""
        return CallFailed(model=model, problem=self._told(problem), **why)

    def _refusal(self, model: str, error: Any, sent: Mapping[str, str]) -> Answer | CallFailed:
        details = error_details(error.body)
        code = _word(details.get("code")) or _word(details.get("type"))
        message = _word(details.get("message")) or error.message
        if code == "content_filter" and error.status_code == HTTPStatus.BAD_REQUEST:
            # Azure refuses a prompt so; it was answered, and the next one may not be refused.
            try:
                body = parsed(self._secrets.hidden(error.response.text))
            except ValueError as unreadable:
                return reply_failure(model, "JSON", unreadable)
            if isinstance(body, dict):
                return Answer(body, error.response.elapsed.total_seconds())
        parameter = None
        if error.status_code in _REFUSING:
            parameter = refused_parameter(
                sent, message, code=code, field=_word(details.get("param"))
            )
        return status_failure(
            model,
            error.status_code,
            self._told(message),
            code=code,
            parameter=parameter,
            wait=retry_after(error.response.headers),
        )

    def _told(self, text: str) -> str:
        """``text`` without credentials, and not a page long."""
        text = self._secrets.hidden(text)
        return text if len(text) <= _LONGEST_PROBLEM else f"{text[:_LONGEST_PROBLEM]} …"


def api_key(environ: Mapping[str, str], provider: str, variable: str) -> str:
    """The key in ``variable``.

    Raises
    ------
    MissingKey
        When it is not set, or empty.
    BadSetting
        When no header can hold it: the transport's own error would quote it.
    """
    key = environ.get(variable, "").strip()
    if not key:
        raise MissingKey(provider=provider, variable=variable)
    if not key.isascii() or not key.isprintable():
        raise BadSetting(option=variable, value="…", problem="it holds characters no key has")
    return key


def base_url(environ: Mapping[str, str], vendor: Vendor) -> str | None:
    """The base URL that ``environ`` asks for; None where it says nothing."""
    return environ[vendor.variable] or vendor.url if vendor.variable in environ else None


def _is_url(url: str) -> bool:
    try:
        parts = urlsplit(url)
        port = parts.port  # raises for what is no number
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.hostname) and port != 0


def _word(value: object) -> str | None:
    return value if isinstance(value, str) else None
