"""Transports under SDKs: no other host's reply, none without end, and no proxy on loopback."""

from __future__ import annotations

import codecs
import json
import zlib
from contextlib import aclosing, suppress
from http import HTTPStatus
from types import ModuleType
from typing import Any
from urllib.parse import urljoin, urlsplit

from ..errors import BiasError, FailureKind
from .sdk import LIMITS, host, is_url

LONGEST_REPLY = 2**24
"""Bytes a reply may have, packed or not. The longest that models write come to a few megabytes of
JSON; and calls by the hundred must fit into memory together."""

_GZIP = 16 + zlib.MAX_WBITS
_PLAIN = frozenset({"", "identity"})


class Refused(BiasError):
    """A reply that is not handed on: ``problem`` and ``kind`` are those of the call's failure."""

    def __init__(self, problem: str, kind: FailureKind) -> None:
        self.problem = problem
        self.kind: FailureKind = kind
        super().__init__(problem)


def guarded(client: Any, transport: ModuleType, where: str) -> Any:
    """``client``, an async client of ``transport`` (httpx2), handing on only what it may.

    Redirects are refused: where one leads, prompts would go to a host nobody named, and its
    replies would count as the endpoint's. Bodies are read and unpacked here, to
    :data:`LONGEST_REPLY`: a client's own decoders make a gigabyte of a packed megabyte before
    anything can be counted. ``where`` is the setting that leads to the endpoint.
    """

    async def receive(response: Any) -> None:
        if response.has_redirect_location:
            raise Refused(_redirected(response, where), "fatal")
        body = await _body(response)
        elapsed = response.elapsed
        response.headers.pop("content-encoding", None)
        # JSON has no charset, whatever a header says (RFC 8259, sections 8.1 and 11): what is
        # none of its encodings is as the header says.
        named = response.encoding
        strict = json.detect_encoding(body), "strict"
        for encoding, errors in (strict, (named, "replace"), ("utf-8", "replace")):
            with suppress(LookupError, ValueError):  # of base64, too, which is no text's
                body.decode(encoding, errors)
                codecs.getincrementaldecoder(encoding)(errors).decode(body, final=True)
                response.encoding = encoding
                break
        # As a stream still to be read, so that it is read as any other.
        response.stream = transport.ByteStream(body)
        response.is_stream_consumed = response.is_closed = False
        response.elapsed = elapsed

    hooks = client.event_hooks
    client.event_hooks = {**hooks, "response": [*hooks["response"], receive]}
    client.headers["Accept-Encoding"] = "gzip"  # of what is unpacked here
    client.follow_redirects = False
    return client


def _redirected(response: Any, where: str) -> str:
    place = "what is no URL"
    with suppress(ValueError):  # of half an IPv6 address
        target = urljoin(str(response.url), response.headers["location"])
        place = host(target) if is_url(target) else place
        if place == host(str(response.url)):
            place = f"another path, {urlsplit(target).path}"
    return (
        f"HTTP {response.status_code}: the endpoint sends its callers on to {place}; nothing was "
        "sent there, as prompts would go where nobody sent them, and its replies would count as "
        f"the endpoint's. If that is who is to answer, name it in {where}"
    )


async def _body(response: Any) -> bytes:
    """The body, unpacked; of an error no more than may be read, as its status says enough."""
    is_error = response.status_code >= HTTPStatus.BAD_REQUEST
    encoding = response.headers.get("content-encoding", "").strip().lower()
    is_read = encoding in {*_PLAIN, "gzip", "x-gzip"}
    if not (is_read or is_error):
        problem = f"the reply is packed as {encoding!r}, which was not asked for"
        raise Refused(problem, "fatal")  # the next one will be, too
    unpack = zlib.decompressobj(_GZIP) if is_read and encoding not in _PLAIN else None
    body, came = bytearray(), 0
    async with aclosing(response.aiter_raw()) as pieces:
        async for piece in pieces:
            came += len(piece)
            left = LONGEST_REPLY - len(body)
            try:
                body += piece if unpack is None else unpack.decompress(piece, left + 1)
            except zlib.error:
                if is_error:
                    break
                raise Refused("the reply is not packed as it says (gzip)", "reply") from None
            if max(came, len(body)) <= LONGEST_REPLY:
                continue
            if is_error:
                break
            problem = f"the reply is longer than {LONGEST_REPLY:,} bytes"
            raise Refused(problem, "reply")
    return bytes(body[:LONGEST_REPLY]) if is_read else b""


def loopback_client(transport: ModuleType, url: str | None) -> Any:
    """An async client of ``transport`` (httpx2) for ``url`` that no proxy sees.

    A proxy from the environment could not reach an endpoint on loopback; and the client that
    Anthropic's SDK makes turns to one whatever it is told.
    """
    # Certificates of the environment are not read where none is asked for.
    verify = transport.create_ssl_context(trust_env=urlsplit(url or "").scheme != "http")
    limits = transport.Limits(**LIMITS)
    return transport.AsyncClient(verify=verify, limits=limits, trust_env=False)
