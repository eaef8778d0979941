"""Clients of official SDKs at an endpoint.

Nothing follows a redirect: prompts would go to a host that none of the user's settings names, and
its replies would count as the endpoint's.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus
from http.client import responses as phrases
from typing import Any
from urllib.parse import urljoin, urlsplit

from ..errors import BadSetting, CallFailed
from .base import NO_KEY, Endpoint
from .destinations import check_encrypted
from .failures import (
    OUT_OF_QUOTA,
    error_details,
    error_message,
    is_quota_per_day,
    refused_parameter,
    rpc_delay,
    rpc_violations,
    status_failure,
    unsent,
)
from .sdk import (
    SHORTEST_SECRET,
    Secrets,
    host,
    is_loopback,
    is_url,
    load_sdk,
    reset_text,
    retry_after,
)

LIMITS = {"max_connections": 1000, "max_keepalive_connections": 100}
"""Of a client that is made here: what is in flight is limited by the collector alone."""

_REFUSING = frozenset(
    {
        HTTPStatus.BAD_REQUEST,
        HTTPStatus.UNPROCESSABLE_ENTITY,
        HTTPStatus.INTERNAL_SERVER_ERROR,  # as servers say it that did not expect the field
        HTTPStatus.NOT_IMPLEMENTED,
    }
)
_KEY_HEADERS = ("authorization", "x-api-key", "x-goog-api-key")
"""Headers in which the SDKs send a key."""
_SERVERS = HTTPStatus.INTERNAL_SERVER_ERROR
_UNCONNECTED = {"ConnectError", "ConnectTimeout", "PoolTimeout", "ProxyError"}


@dataclass(frozen=True, slots=True)
class Vendor:
    """The owner of an SDK.

    ``name`` is that of the provider and of the extra; ``package`` is imported, and ``client`` the
    class of its async client; ``url`` is the base URL of its own API and ``variable`` what
    replaces that; ``personal`` are attributes of the client that the environment fills for the
    vendor alone.
    """

    name: str
    package: str
    client: str
    url: str
    variable: str
    personal: tuple[str, ...] = ()


class Unsent(Exception):
    """An SDK refused to send a request; the message says why, and may hold a secret."""


class Client(ABC):
    """An SDK's client at an endpoint: made once, because making one loads certificates.

    Raises MissingPackage when the SDK is not installed. Raises BadSetting when the endpoint's base
    URL is none. ``place`` is where replies come from, for messages about what is no reply.
    """

    refusal: Any
    """What the SDK raises for a status that is an error; it has the ``response``."""
    disconnection: Any
    """What the SDK raises where no response came."""

    def __init__(self, vendor: Vendor, endpoint: Endpoint) -> None:
        self.sdk = load_sdk(vendor.package, vendor.name)
        self.vendor = vendor
        self.endpoint = endpoint
        self.own = endpoint.provider != vendor.name
        self.transport = load_sdk("httpx2", vendor.name)
        self.setting = f"[endpoints.{endpoint.provider}] base_url" if self.own else vendor.variable
        bad = BadSetting(option=self.setting, value="…", problem="it is not a URL")
        if endpoint.base_url is not None and not is_url(endpoint.base_url):
            raise bad
        self.http = self._loopback_http() if is_loopback(endpoint.base_url) else self._http()
        self.http.follow_redirects = False
        self.http.event_hooks["request"].append(self._dress)
        try:
            self.url, custom = self._open()
        except self.transport.InvalidURL:
            self.url, custom = "", []
        # Raised here, where the SDK's error, which quotes the URL, is no longer its context.
        if not is_url(self.url):
            raise bad
        key = "" if endpoint.api_key == NO_KEY else endpoint.api_key
        headers = endpoint.headers.values()
        if key or headers:
            check_encrypted(self.setting, self.url)
        # A word such as the name of a team may stand in a reply; what has a digit is a key.
        self.key = Secrets(key, *(each for each in headers if any(map(str.isdigit, each))))
        long = (header for header in custom if len(header) >= SHORTEST_SECRET)
        # An SDK may end the whole in a slash, behind a token in its query too.
        self.secrets = Secrets(key, *headers, *long, url=self.url.rstrip("/"))
        self.redacted = self.secrets.redacted
        # Without user, password and query.
        self.route = self.place = self.redacted(f"{host(self.url)}{urlsplit(self.url).path}")
        if endpoint.base_url is not None and not endpoint.started:
            self.place += f", as {self.setting} says"

    async def _dress(self, request: Any) -> None:
        """Add the endpoint's own headers and query, whatever the SDK set itself."""
        endpoint = self.endpoint
        if endpoint.headers and endpoint.api_key == NO_KEY:
            for name in _KEY_HEADERS:
                request.headers.pop(name, None)
        request.headers.update(endpoint.headers)
        if endpoint.query:
            request.url = request.url.copy_merge_params(endpoint.query)

    def __repr__(self) -> str:
        return f"Client({self.vendor.name!r}, {self.endpoint!r})"

    def _loopback_http(self) -> Any:
        """A client that no proxy sees: one from the environment could not reach this machine.

        Certificates of the environment are not read where none is needed.
        """
        scheme = urlsplit(self.endpoint.base_url or "").scheme
        return self.transport.AsyncClient(
            verify=self.transport.create_ssl_context(trust_env=scheme != "http"),
            limits=self.transport.Limits(**LIMITS),
            trust_env=False,
        )

    @abstractmethod
    def _http(self) -> Any:
        """The transport's client, for an endpoint elsewhere than on this machine."""

    @abstractmethod
    def _open(self) -> tuple[str, list[str]]:
        """Make the SDK's client; its base URL, and values of headers of the environment."""

    @abstractmethod
    async def send(self, path: str, body: dict[str, Any], timeout: float) -> Any:  # noqa: ASYNC109
        """Send one request, and return the transport's response to it."""

    @abstractmethod
    async def close(self) -> None:
        """Close every connection."""

    def wire(self, api: str) -> str:
        """SDK, version and API, and the host where it is not the vendor's."""
        wire = f"{self.vendor.package.replace('.', '-')} {self.sdk.__version__}, {api}"
        theirs = self.url.rstrip("/") == self.vendor.url
        return wire if self.endpoint.started or theirs else f"{wire} at {host(self.url)}"

    def failure(self, model: str, problem: str, **why: Any) -> CallFailed:
        """A failure whose message is redacted."""
        return CallFailed(model=model, problem=self.redacted(problem), **why)

    def unsent(self, model: str, error: Exception) -> CallFailed:
        """The failure of a request that the SDK refused to send, or cannot encode."""
        reason = str(error) if isinstance(error, Unsent) else "it cannot be encoded"
        return unsent(model, self.redacted(reason))

    def no_response(self, model: str, error: Exception) -> CallFailed:
        """The failure of a time-out or a lost connection.

        The call may have been carried out, and be paid, unless no connection came about.
        """
        # Anthropic's SDK makes a connection error of it, OpenAI's leaves it as it is.
        causes = [each for each in (error, error.__cause__) if each is not None]
        if any(isinstance(each, self.transport.LocalProtocolError) for each in causes):
            return unsent(model, "a header holds what none can")
        messages = " ".join(dict.fromkeys(filter(None, map(str, causes))))
        message = self.redacted(messages or "no answer in time")
        problem = f"{type(error).__name__}: {message} (at {self.route})"
        unconnected = any(type(each).__name__ in _UNCONNECTED for each in causes)
        return CallFailed(model=model, problem=problem, kind="transient", answered=unconnected)

    def error_response(
        self, model: str, response: Any, body: object, sent: Mapping[str, str]
    ) -> CallFailed:
        """The failure that a response with the status of an error stands for.

        ``sent`` is for :func:`refused_parameter`.
        """
        details, status = error_details(body), response.status_code
        code = _text(details, "code") or _text(details, "type")
        known = error_message(body)
        message = known or response.text or phrases.get(status, "no message")
        if response.has_redirect_location:
            message = self._redirected(response)
        parameter = None
        # A server's own error may quote the request.
        if status in _REFUSING and not (status >= _SERVERS and "{" in known):
            message_of_fields = " ".join((known, *rpc_violations(details)))
            parameter = refused_parameter(
                sent, message_of_fields, code=code, field=_text(details, "param")
            )
        wait = rpc_delay(details) or retry_after(response.headers)
        # A limit per day may be a bucket that fills: then the provider says how soon.
        words = known if status == HTTPStatus.TOO_MANY_REQUESTS and wait is None else ""
        if is_quota_per_day(details, words):
            code = OUT_OF_QUOTA
            message += reset_text(response.headers, body)
        return status_failure(
            model,
            status,
            self.redacted(message),
            code=code,
            parameter=parameter,
            wait=wait,
            place=self.place,
        )

    def _redirected(self, response: Any) -> str:
        target = "what is no URL"
        with suppress(ValueError):  # of half an IPv6 address
            url = urljoin(str(response.url), response.headers["location"])
            target = f"{host(url)}{urlsplit(url).path}" if is_url(url) else target
        return (
            f"the endpoint redirects its callers to {target}, where nothing was sent; if that is "
            f"what is to answer, name it in {self.setting}"
        )


class GeneratedClient(Client):
    """OpenAI's or Anthropic's: their SDKs come out of one generator.

    The SDKs' own methods of each API are not used: what they would check and convert is made here
    as it is sent (OpenAI's took two fifths of a call's time), and Anthropic's knows no
    temperature, which older models take, and warns of models that will be retired.
    """

    def _http(self) -> Any:
        return self.sdk.DefaultAsyncHttpxClient()

    def _open(self) -> tuple[str, list[str]]:
        self.refusal = self.sdk.APIStatusError
        self.disconnection = self.sdk.APIConnectionError
        key = self.endpoint.api_key
        self.api = getattr(self.sdk, self.vendor.client)(
            api_key=key, base_url=self.endpoint.base_url, max_retries=0, http_client=self.http
        )
        # Those of the environment are for the vendor: they may hold its keys, under any name.
        custom = list(map(str, self.api._custom_headers.values()))  # noqa: SLF001  (no other way)
        if self.own:
            for name in self.vendor.personal:
                setattr(self.api, name, None)
            self.api._custom_headers = {"Authorization": f"Bearer {key}"}  # noqa: SLF001
        return str(self.api.base_url), custom

    async def send(self, path: str, body: dict[str, Any], timeout: float) -> Any:  # noqa: ASYNC109
        """See :class:`Client`; nothing is parsed."""
        response, options = self.transport.Response, {"timeout": timeout}
        return await self.api.post(path, cast_to=response, body=body, options=options)

    async def close(self) -> None:
        """Close every connection."""
        await self.api.close()


def base_url(environ: Mapping[str, str], vendor: Vendor) -> str | None:
    """The base URL that ``environ`` sets; None where it sets none."""
    return environ[vendor.variable] or vendor.url if vendor.variable in environ else None


def _text(of: Mapping[str, Any], name: str) -> str | None:
    return of[name] if isinstance(of.get(name), str) else None
