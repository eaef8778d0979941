"""respx over httpx2: its own mocker knows only httpx, on which the SDKs no longer run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import httpx
import httpx2
from respx.mocks import Mocker


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
