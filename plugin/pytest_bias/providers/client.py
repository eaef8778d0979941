"""One client of an official SDK: OpenAI's and Anthropic's come out of one generator.

It makes one attempt per call, and says of each what came back or why nothing did.
"""

from __future__ import annotations

import asyncio
import importlib
from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from ..errors import BadSetting, CallFailed
from ..experiments.messages import Completion, Request
from .base import NO_KEY, Adapter, Call, Endpoint
from .completion import (
    ReplyBody,
    address,
    answered,
    completion,
    connection_failure,
    effective,
    error_details,
    error_words,
    filtered_answer,
    refused_parameter,
    reply_failure,
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
    proxy_words,
    retry_after,
)
from .transport import Refused, at_one_go, guarded, loopback_client

_REFUSING = frozenset({HTTPStatus.BAD_REQUEST, HTTPStatus.UNPROCESSABLE_ENTITY})


@dataclass(frozen=True, slots=True)
class Vendor:
    """The owner of an SDK.

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

    Raises MissingPackage when the SDK is not installed. Raises BadSetting when the endpoint's base
    URL is none.
    """

    def __init__(self, vendor: Vendor, endpoint: Endpoint) -> None:
        self.sdk = sdk = load_sdk(vendor.name, vendor.name)
        self.vendor = vendor
        self.endpoint = endpoint
        self.own = endpoint.provider != vendor.name
        self.transport = importlib.import_module("httpx2")  # the SDK's own
        where = f"[endpoints.{endpoint.provider}] base_url" if self.own else vendor.variable
        bad = BadSetting(option=where, value="…", problem="it is not a URL")
        if endpoint.base_url is not None and not is_url(endpoint.base_url):
            raise bad
        direct = is_loopback(endpoint.base_url)
        http = (
            loopback_client(self.transport, endpoint.base_url)
            if direct
            else sdk.DefaultAsyncHttpxClient()
        )
        try:
            self.api = getattr(sdk, vendor.client)(
                api_key=endpoint.api_key,
                base_url=endpoint.base_url,
                max_retries=0,
                http_client=guarded(http, self.transport, where),
            )
        except self.transport.InvalidURL:
            self.api = None
        # Raised here, where the SDK's error, which quotes the URL, is no longer its context.
        self.url = "" if self.api is None else str(self.api.base_url)
        if not is_url(self.url):
            raise bad
        # Those of the environment are for the vendor: they may hold its keys, under any name.
        custom = list(map(str, self.api._custom_headers.values()))  # noqa: SLF001  (no other way)
        if self.own:
            for name in vendor.personal:
                setattr(self.api, name, None)
            self.api._custom_headers = {"Authorization": f"Bearer {endpoint.api_key}"}  # noqa: SLF001
        key = "" if endpoint.api_key == NO_KEY else endpoint.api_key
        self._key = Secrets(key)
        long = (header for header in custom if len(header) >= SHORTEST_SECRET)
        # An SDK may end the whole in a slash, behind a token in its query too.
        self._secrets = Secrets(key, *long, url=self.url.rstrip("/"))
        self.told = self._secrets.told
        self.route = self.told(address(self.url))
        self.route += "" if direct else proxy_words(self.url)
        self.place = self.route
        if endpoint.base_url is not None and not endpoint.started:
            self.place += f", as {where} says"

    def __repr__(self) -> str:
        return f"Client({self.vendor.name!r}, {self.endpoint!r})"

    def wire(self, api: str) -> str:
        """SDK, version and API, and the host where it is not the vendor's."""
        wire = f"{self.vendor.name} {self.sdk.__version__}, {api}"
        theirs = self.url.rstrip("/") == self.vendor.url
        return wire if self.endpoint.started or theirs else f"{wire} at {host(self.url)}"

    async def close(self) -> None:
        """Close every connection."""
        await self.api.close()

    async def exchange(
        self,
        model: str,
        path: str,
        body: Mapping[str, Any],
        request: Request,
        timeout: float,  # noqa: ASYNC109  (the SDK's own counts each read, not the whole)
        *,
        sent: Mapping[str, str],
        what: str,
    ) -> ReplyBody | CallFailed:
        """Post ``body``, made of ``request``, to ``path``, once, for ``timeout`` seconds.

        ``model`` is ``provider/model``, ``sent`` are the fields of the body that may be left out
        and the parameter each stands for, ``what`` is what the reply should be.

        The SDKs' own methods of each API are not used: what they would check and convert is made
        here as it is sent (OpenAI's took two fifths of a call's time), and Anthropic's knows no
        temperature, which older models take, and warns of models that will be retired.
        """
        problem = unencodable(model, self.endpoint.api_key, request)
        if problem is not None:
            return problem
        try:
            async with asyncio.timeout(timeout):
                posted = self.api.post(
                    path,
                    cast_to=self.transport.Response,  # as it came: nothing is parsed
                    body=body,
                    options={"timeout": timeout},
                )
                raw = await at_one_go(posted)
            reply = self._key.purged(parsed(raw.text))
        except self.sdk.APIStatusError as error:
            return self._refusal(model, error, sent)
        except (self.sdk.APIConnectionError, TimeoutError, Refused) as error:
            return self._lost(model, error)
        except UnicodeEncodeError:  # a custom header of the environment, say
            return unsent(model, "it holds characters that cannot be encoded")
        except (self.sdk.APIError, ValueError) as error:
            return reply_failure(model, what, error)
        return answered(model, reply, raw, what)

    def failure(self, model: str, problem: str, **why: Any) -> CallFailed:
        """A failure in the words of the endpoint, without its credentials."""
        return CallFailed(model=model, problem=self.told(problem), **why)

    def _lost(self, model: str, error: Exception) -> CallFailed:
        # Anthropic's SDK makes a connection error of it, OpenAI's leaves it as it is.
        for refused in (error, error.__cause__):
            if isinstance(refused, Refused):
                return self.failure(model, refused.problem, kind=refused.kind)
        if isinstance(error.__cause__, self.transport.LocalProtocolError):
            return unsent(model, "a header holds what none can")
        said = f"{error} {error.__cause__ or ''}".strip()
        said = self.told(said or "no answer in time")
        return connection_failure(model, error, said, self.route)

    def _refusal(self, model: str, error: Any, sent: Mapping[str, str]) -> ReplyBody | CallFailed:
        answer = filtered_answer(error.response, self._secrets.purged)
        if answer is not None:
            return answer
        try:
            body = parsed(error.response.text)  # OpenAI's SDK keeps the ``error`` in it alone
        except ValueError:
            body = error.body
        details = error_details(body)
        code = _word(details.get("code")) or _word(details.get("type"))
        said = error_words(body)
        message = said or error.response.text or error.message
        parameter = None
        if error.status_code in _REFUSING:
            parameter = refused_parameter(sent, said, code=code, field=_word(details.get("param")))
        return status_failure(
            model,
            error.status_code,
            self.told(message),
            code=code,
            parameter=parameter,
            wait=retry_after(error.response.headers),
            place=self.place,
        )


@dataclass(frozen=True, slots=True)
class Api:
    """One API of a vendor: what it is called in a wire, its path, and how its replies are read.

    ``what`` is what a reply should be; ``seedless`` what it is called where it takes no seed.
    """

    name: str
    path: str
    what: str
    read: Callable[[dict[str, Any]], Completion]
    seedless: str = ""


class ClientAdapter(Adapter):
    """An adapter of one API of a vendor, over a client that is closed with it."""

    def __init__(self, client: Client, api: Api) -> None:
        self._client = client
        self._api = api
        self.place = client.place

    def wire(self, model: str) -> str:  # noqa: ARG002  (one API for all models)
        """SDK, version and API, and the host where it is not the vendor's."""
        return self._client.wire(self._api.name)

    async def _attempt(self, model: str, request: Request, call: Call) -> Completion | CallFailed:
        api, endpoint = self._api, self._client.endpoint
        name = f"{endpoint.provider}/{model}"
        request, dropped = effective(request, call.dropped)
        if api.seedless and request.parameters.seeded:
            problem = f"{api.seedless} takes no seed (Parameters.seeded)"
            return CallFailed(model=name, problem=problem, kind="parameter", parameter="seeded")
        body, sent = self._body(model, request, call)
        body = {"model": model, **body}
        answer = await self._client.exchange(
            name, api.path, body, request, call.timeout, sent=sent, what=api.what
        )
        if not isinstance(answer, ReplyBody):
            return answer
        return self._completed(name, answer, dropped)

    @abstractmethod
    def _body(
        self, model: str, request: Request, call: Call
    ) -> tuple[dict[str, Any], dict[str, str]]:
        """The body for ``request``, and which fields may be left out (see ``exchange``)."""

    def _completed(
        self, name: str, answer: ReplyBody, dropped: tuple[str, ...]
    ) -> Completion | CallFailed:
        return completion(name, answer, self._api.read, self._api.what, dropped, self._client.told)

    async def aclose(self) -> None:
        """Close every connection."""
        await self._client.close()


def base_url(environ: Mapping[str, str], vendor: Vendor) -> str | None:
    """The base URL that ``environ`` asks for; None where it says nothing."""
    return environ[vendor.variable] or vendor.url if vendor.variable in environ else None


def _word(value: object) -> str | None:
    return value if isinstance(value, str) else None
