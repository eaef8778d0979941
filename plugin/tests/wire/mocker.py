"""respx over httpx2: its own mocker knows only httpx, on which the SDKs no longer run."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

import httpx
import httpx2
import pytest
from respx.mocks import Mocker

from pytest_bias.errors import CallFailed
from pytest_bias.experiments.messages import Completion, Message, Parameters, Request
from pytest_bias.providers.base import Call, Provider

SECRET = "sk-proj-" + "s3cret" * 6
REQUEST = Request((Message("system", "Be brief."), Message("user", "How long?")), Parameters())
SEED = 2**31 + 42
STRUCTURED = Request(
    REQUEST.messages,
    Parameters(0.5),
    "Score",
    {"type": "object", "properties": {"score": {"type": "integer"}}, "required": ["score"]},
)

CONNECTION_ERRORS = [
    httpx.ConnectError("no route to host"),
    httpx.ReadError("reset by peer"),
    httpx.RemoteProtocolError("closed"),
    httpx.ConnectTimeout("slow"),
    httpx.ReadTimeout("slow"),
    httpx.PoolTimeout("slow"),
    httpx.ProxyError("407 Proxy Authentication Required"),  # before it lets anything through
]

# status, headers of the reply, kind of the failure, seconds to wait
STATUSES: dict[str, tuple[int, dict[str, str], str, float | None]] = {
    "moved": (302, {}, "fatal", None),
    "bad request": (400, {}, "fatal", None),
    "bad key": (401, {}, "fatal", None),
    "forbidden": (403, {}, "fatal", None),
    "no such model": (404, {}, "fatal", None),
    "not processable": (422, {}, "fatal", None),
    "request time-out": (408, {}, "transient", None),
    "conflict": (409, {}, "transient", None),
    "too many": (429, {}, "rate_limit", None),
    "too many, wait": (429, {"Retry-After": "7"}, "rate_limit", 7.0),
    "too many, wait a little": (429, {"retry-after-ms": "250"}, "rate_limit", 0.25),
    "too many, nonsense": (429, {"retry-after": "soon"}, "rate_limit", None),
    "server error": (500, {}, "transient", None),
    "bad gateway": (502, {}, "transient", None),
    "gateway time-out": (504, {}, "transient", None),
    "overloaded, wait": (503, {"retry-after": "2"}, "transient", 2.0),
    "overloaded": (529, {}, "transient", None),
}


UNBELIEVABLE = (
    "-5",
    "true",
    "1.5",
    '"7"',
    "[7]",
    "{}",
    "NaN",
    "Infinity",
    "1e400",
    "10000001",
    "9" * 400,
    "9" * 5000,
)
"""What a gateway may say in place of a number of tokens, in JSON."""


@contextmanager
def nothing_left() -> Iterator[None]:
    """A connection left open fails here, and not in somebody else's test."""
    try:
        yield
    finally:
        gc.collect()


def ask(
    opened: Callable[[], Provider],
    request: Request = REQUEST,
    *,
    model: str = "m",
    timeout: float = 120.0,
    dropped: frozenset[str] = frozenset(),
) -> Completion:
    """One call through a provider of its own."""

    async def call() -> Completion:
        provider = opened()
        try:
            return await provider.complete(model, request, Call(SEED, timeout, dropped))
        finally:
            await provider.aclose()

    with nothing_left():
        return asyncio.run(call())


def failed(opened: Callable[[], Provider], request: Request = REQUEST, **how: Any) -> CallFailed:
    """The failure of one call, which tells no key and holds nothing that does."""
    with pytest.raises(CallFailed) as caught:
        ask(opened, request, **how)
    failure = caught.value
    assert SECRET not in str(failure)
    # The SDK's own error holds the request with its headers.
    assert failure.__cause__ is None
    assert failure.__context__ is None
    return failure


def wire(opened: Callable[[], Provider], model: str = "m") -> str:
    """What a provider says of its wire."""

    async def named() -> str:
        provider = opened()
        await provider.aclose()
        return provider.wire(model)

    with nothing_left():
        return asyncio.run(named())


class HTTPX2Mocker(Mocker):
    """Use with ``respx.mock(using="httpx2")``; patterns and replies are respx' (httpx') own."""

    name = "httpx2"
    targets: ClassVar[list[str]] = ["httpx2._client.Client", "httpx2._client.AsyncClient"]
    target_methods: ClassVar[list[str]] = ["_transport_for_url"]

    @classmethod
    def mock(cls, spec: Callable[..., Any]) -> Callable[..., httpx2.MockTransport]:  # noqa: ARG003
        """What replaces a client's choice of transport."""

        async def answer_async(request: httpx2.Request) -> httpx2.Response:
            try:
                response = await cls.async_handler(_to_httpx(request))  # type: ignore[no-untyped-call]
            except httpx.TransportError as error:
                raise _from_httpx_error(error, request) from error
            return _from_httpx(response)

        def answer(request: httpx2.Request) -> httpx2.Response:
            try:
                return _from_httpx(cls.handler(_to_httpx(request)))  # type: ignore[no-untyped-call]
            except httpx.TransportError as error:
                raise _from_httpx_error(error, request) from error

        def transport_for_url(client: object, *_: Any, **__: Any) -> httpx2.MockTransport:
            asynchronous = isinstance(client, httpx2.AsyncClient)
            return httpx2.MockTransport(answer_async if asynchronous else answer)

        return transport_for_url


def _to_httpx(request: httpx2.Request) -> httpx.Request:
    return httpx.Request(
        request.method, str(request.url), headers=request.headers.raw, content=request.content
    )


def _from_httpx(response: httpx.Response) -> httpx2.Response:
    # As a stream still to be read: the client times what it reads.
    return httpx2.Response(
        response.status_code,
        headers=response.headers.raw,
        stream=httpx2.ByteStream(response.read()),
    )


def _from_httpx_error(
    error: httpx.TransportError, request: httpx2.Request
) -> httpx2.TransportError:
    kind: type[httpx2.TransportError] = getattr(httpx2, type(error).__name__)
    return kind(str(error), request=request)
