"""Clients of official SDKs, and the adapters of their APIs.

An adapter makes one attempt per call: a completion, or why there is none.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from http.client import responses as phrases
from typing import Any
from urllib.parse import urlsplit

from ..errors import BadSetting, CallFailed
from ..experiments.messages import Completion, Request
from .base import NO_KEY, Call, Endpoint
from .completion import (
    OUT_OF_QUOTA,
    completion,
    connection_failure,
    effective,
    error_details,
    error_within,
    error_words,
    is_filtered,
    is_quota_per_day,
    refused_parameter,
    reply_failure,
    rpc_delay,
    rpc_violations,
    status_failure,
    unencodable,
    unsent,
)
from .sdk import (
    SHORTEST_SECRET,
    Secrets,
    host,
    is_loopback,
    is_url,
    load_sdk,
    parsed,
    retry_after,
)
from .transport import Refused, guarded, loopback_client

_REFUSING = frozenset({HTTPStatus.BAD_REQUEST, HTTPStatus.UNPROCESSABLE_ENTITY})


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
        where = f"[endpoints.{endpoint.provider}] base_url" if self.own else vendor.variable
        bad = BadSetting(option=where, value="…", problem="it is not a URL")
        if endpoint.base_url is not None and not is_url(endpoint.base_url):
            raise bad
        direct = is_loopback(endpoint.base_url)
        http = loopback_client(self.transport, endpoint.base_url) if direct else self._http()
        self.http = guarded(http, self.transport, where)
        try:
            self.url, custom = self._open()
        except self.transport.InvalidURL:
            self.url, custom = "", []
        # Raised here, where the SDK's error, which quotes the URL, is no longer its context.
        if not is_url(self.url):
            raise bad
        key = "" if endpoint.api_key == NO_KEY else endpoint.api_key
        self.key = Secrets(key)
        long = (header for header in custom if len(header) >= SHORTEST_SECRET)
        # An SDK may end the whole in a slash, behind a token in its query too.
        self.secrets = Secrets(key, *long, url=self.url.rstrip("/"))
        self.redacted = self.secrets.redacted
        # Without user, password and query.
        self.route = self.place = self.redacted(f"{host(self.url)}{urlsplit(self.url).path}")
        if endpoint.base_url is not None and not endpoint.started:
            self.place += f", as {where} says"

    def __repr__(self) -> str:
        return f"Client({self.vendor.name!r}, {self.endpoint!r})"

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
        """A failure in the words of the endpoint, without its credentials."""
        return CallFailed(model=model, problem=self.redacted(problem), **why)

    def no_response(self, model: str, error: Exception) -> CallFailed:
        """The failure of a call that the transport gave up."""
        # Anthropic's SDK makes a connection error of it, OpenAI's leaves it as it is.
        causes = [each for each in (error, error.__cause__) if each is not None]
        for each in causes:
            if isinstance(each, Refused):
                return self.failure(model, each.problem, kind=each.kind)
            if isinstance(each, self.transport.LocalProtocolError):
                return unsent(model, "a header holds what none can")
        words = " ".join(dict.fromkeys(filter(None, map(str, causes))))
        words = self.redacted(words or "no answer in time")
        return connection_failure(model, error, words, self.route)

    def error_response(
        self, model: str, response: Any, body: object, sent: Mapping[str, str]
    ) -> CallFailed:
        """The failure that a response with the status of an error stands for.

        ``sent`` is for :func:`refused_parameter`.
        """
        details, status = error_details(body), response.status_code
        code = _text(details, "code") or _text(details, "type")
        words = error_words(body)
        message = words or response.text or phrases.get(status, "no words")
        parameter = None
        if status in _REFUSING:
            words = " ".join((words, *rpc_violations(details)))
            parameter = refused_parameter(sent, words, code=code, field=_text(details, "param"))
        return status_failure(
            model,
            status,
            self.redacted(message),
            code=OUT_OF_QUOTA if is_quota_per_day(details) else code,
            parameter=parameter,
            wait=rpc_delay(details) or retry_after(response.headers),
            place=self.place,
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


class Adapter(ABC):
    """An adapter of one API of a vendor, over a client that is closed with it.

    It makes one attempt, and raises what that came to outside of its ``except`` blocks: the SDK's
    own error, which holds the request with its headers, is no longer the context. ``api`` is the
    name of the API in a wire, ``path`` where it is called, ``what`` what a reply should be, and
    ``seedless`` its name where it takes no seed.
    """

    api: str
    path: str = ""
    what: str
    seedless: str = ""

    def __init__(self, client: Client) -> None:
        self._client = client

    def wire(self, model: str) -> str:  # noqa: ARG002  (one API for all models)
        """SDK, version and API, and the host where it is not the vendor's."""
        return self._client.wire(self.api)

    @abstractmethod
    def _body(
        self, model: str, request: Request, call: Call
    ) -> tuple[dict[str, Any], dict[str, str]]:
        """The body for ``request``, and which fields may be left out → the parameter each is."""

    @staticmethod
    @abstractmethod
    def read(body: dict[str, Any]) -> Completion:
        """Read a reply body; KeyError, TypeError … when it is none."""

    async def complete(self, model: str, request: Request, call: Call) -> Completion:
        """See :class:`~pytest_bias.providers.base.Provider`."""
        result = await self._attempt(model, request, call)
        if isinstance(result, Completion):
            return result
        if result.kind == "reply":
            problem = f"{result.problem} (from {self._client.place})"
            raise CallFailed(model=result.model, problem=problem, kind="reply")
        raise result

    async def _attempt(self, model: str, request: Request, call: Call) -> Completion | CallFailed:
        client = self._client
        name = f"{client.endpoint.provider}/{model}"
        request, dropped = effective(request, call.dropped)
        if self.seedless and request.parameters.seeded:
            problem = f"{self.seedless} takes no seed (Parameters.seeded)"
            return CallFailed(model=name, problem=problem, kind="parameter", parameter="seeded")
        unwritable = unencodable(name, client.endpoint.api_key, request)
        if unwritable is not None:
            return unwritable
        body, sent = self._body(model, request, call)
        body = {"model": model, **body}
        try:
            # The SDKs' own time counts each read, and not the whole.
            async with asyncio.timeout(call.timeout):
                response = await client.send(self.path, body, call.timeout)
        except client.refusal as error:
            response = error.response
        except (client.disconnection, TimeoutError, Refused) as error:
            return client.no_response(name, error)
        except UnicodeEncodeError:  # a custom header of the environment, say
            return unsent(name, "it holds characters that cannot be encoded")
        except ValueError as error:
            return reply_failure(name, self.what, error)
        return self._read(name, response, sent, dropped)

    def _read(
        self, name: str, response: Any, sent: Mapping[str, str], dropped: tuple[str, ...]
    ) -> Completion | CallFailed:
        """The completion that a response holds, or the reason for none."""
        client = self._client
        if not response.is_success:
            try:
                body = parsed(response.text)
            except ValueError:
                body = response.text
            body = client.secrets.purged(body)
            # Where a filter stopped it, it was answered: the next prompt may not be refused.
            if response.status_code != HTTPStatus.BAD_REQUEST or not is_filtered(body):
                return client.error_response(name, response, body, sent)
        else:
            try:
                body = client.key.purged(parsed(response.text))
            except ValueError as error:
                return reply_failure(name, self.what, error)
            failure = self._failure_within(name, body)
            if failure is not None:
                return failure
        return completion(name, body, response, self.read, self.what, dropped)

    def _failure_within(self, name: str, body: object) -> CallFailed | None:
        """The failure that stands in a body with the status of a reply."""
        if not isinstance(body, dict) or is_filtered(body):
            return None
        return error_within(name, body, self.what, self._client.redacted)

    async def aclose(self) -> None:
        """Close every connection."""
        await self._client.close()


def base_url(environ: Mapping[str, str], vendor: Vendor) -> str | None:
    """The base URL that ``environ`` sets; None where it sets none."""
    return environ[vendor.variable] or vendor.url if vendor.variable in environ else None


def _text(of: Mapping[str, Any], name: str) -> str | None:
    return of[name] if isinstance(of.get(name), str) else None
