"""Adapters of the APIs of vendors: one attempt per call.

An attempt ends in a completion, or in the failure that says why there is none.
"""

from __future__ import annotations

import asyncio
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

from ..errors import CallFailed
from ..experiments.messages import Completion, Parameters, Request, text_of, token_count
from .base import Call
from .client import Client, Unsent
from .failures import error_within, reply_failure, stream_failure, unencodable
from .outcomes import prompt_outcome
from .sdk import ROUTED, cache_header, now, parsed
from .streams import is_stream, joined

_SCHEMA_NAMES = (
    "json_schema",
    "JSON mode",
    "output format",
    "response format",
    "structured output",
    "structured outputs",
)
"""How models and gateways without structured replies call what they refuse."""


class Adapter(ABC):
    """An adapter of one API of a vendor, over a client that is closed with it.

    It makes one attempt, and raises what that came to outside of its ``except`` blocks: the SDK's
    own error, which holds the request with its headers, is no longer the context. ``api`` is the
    name of the API in a wire, ``path`` where it is called, ``what`` what a reply should be,
    ``seedless`` its name where it takes no seed, and ``streams`` whether event streams are read.
    """

    api: str
    path: str = ""
    what: str
    seedless: str = ""
    streams: bool = False

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
        """Parse a reply body; KeyError, TypeError … where it is not one."""

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
        request, dropped = _without(call.dropped, request)
        if self.seedless and request.parameters.seeded:
            problem = f"{self.seedless} takes no seed (Parameters.seeded)"
            return CallFailed(model=name, problem=problem, kind="parameter", parameter="seeded")
        unwritable = unencodable(name, client.endpoint.api_key, request)
        if unwritable is not None:
            return unwritable
        body, sent = self._body(model, request, call)
        body = self.with_fields({"model": model, **body}, request.parameters.request)
        try:
            # The SDKs' own time counts each read, and not the whole.
            async with asyncio.timeout(call.timeout):
                response = await client.send(self.path, body, call.timeout)
        except client.refusal as error:
            response = error.response
        except (Unsent, UnicodeEncodeError) as error:  # as of a custom header of the environment
            return client.unsent(name, error)
        except (client.disconnection, TimeoutError) as error:
            return client.no_response(name, error)
        except ValueError as error:
            return reply_failure(name, self.what, error)
        return self._read(name, response, sent, dropped)

    @staticmethod
    def with_fields(body: dict[str, Any], further: Mapping[str, Any]) -> dict[str, Any]:
        """The body with the roster's further fields, merged into objects that stand there."""
        known = {n: body[n] | v for n, v in further.items() if isinstance(body.get(n), dict)}
        return {**body, **further, **known}

    def _read(
        self, name: str, response: Any, sent: Mapping[str, str], dropped: tuple[str, ...]
    ) -> Completion | CallFailed:
        """The completion that a response holds, or the reason for none."""
        client = self._client
        if not response.is_success:
            try:
                body = client.secrets.purged(_json(response))
            except ValueError:
                body = client.secrets.purged(response.text)
            if prompt_outcome(body, response.status_code) is None:
                return client.error_response(name, response, body, sent)
        else:
            streamed = is_stream(response)
            if streamed and not self.streams:
                return stream_failure(name, self.what, client.place)
            try:
                body = client.key.purged(_json(response))
            except ValueError as error:
                came = ", but half an event stream" if streamed else ""
                if response.content.lstrip()[:1] == b"<":
                    came = f", but a web page: {_PAGE}"
                return reply_failure(name, f"{self.what}{came}", error)
            failure = self._failure_within(name, body)
            if failure is not None:
                return failure
        routed = client.secrets.hidden(response.headers.get(ROUTED, ""))
        return completion(name, body, response, self.read, self.what, dropped, routed)

    def _failure_within(self, name: str, body: object) -> CallFailed | None:
        """The failure that stands in a body with the status of a reply."""
        if not isinstance(body, dict) or prompt_outcome(body) is not None:
            return None
        return error_within(name, body, self.what, self._client.redacted)

    async def aclose(self) -> None:
        """Close every connection."""
        await self._client.close()


_PAGE = "the base URL may lack its end, as /v1, or a log-in stands before it"

_KEPT_ALIVE = re.compile(rb"\A(?:\s*:[^\n]*\n)+")
"""Comments by which OpenRouter keeps a connection alive before its JSON."""


def _json(response: Any) -> object:
    """The value of a body; JSON has no charset, whatever a header says (RFC 8259, 8.1 and 11)."""
    if is_stream(response):
        return joined(response.content.decode("utf-8", "replace"))
    try:
        return parsed(_KEPT_ALIVE.sub(b"", response.content))
    except UnicodeDecodeError:
        return parsed(response.text)


def completion(
    model: str,
    body: object,
    response: Any,
    read: Callable[[dict[str, Any]], Completion],
    what: str,
    dropped: tuple[str, ...] = (),
    routed: str = "",
) -> Completion | CallFailed:
    """The completion that ``read`` makes of the ``body`` of a response, which should be ``what``.

    Of an error it is what :func:`.outcomes.prompt_outcome` says.
    """
    outcome = prompt_outcome(body, response.status_code)
    if outcome is not None and isinstance(body, list):
        (body,) = body
    if not isinstance(body, dict):
        return reply_failure(model, what, TypeError())
    try:
        return replace(
            read(body) if outcome is None else Completion(*outcome, served_model=""),
            # The time of the attempt, without queueing.
            latency=round(response.elapsed.total_seconds(), 6),
            recorded_at=now(),
            body=body,
            dropped=dropped,
            cached=cache_header(response.headers),
            routed=routed,
        )
    except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
        return reply_failure(model, what, error)


def _without(dropped: frozenset[str], request: Request) -> tuple[Request, tuple[str, ...]]:
    """The request without what of it is ``dropped``, and the names of that."""
    left = request.sent & dropped
    if not left:
        return request, ()
    defaults: dict[str, Any] = {f.name: f.default for f in fields(Parameters) if f.name in left}
    lighter = replace(request, parameters=replace(request.parameters, **defaults))
    if "schema" in left:
        lighter = replace(lighter, schema=None, schema_name=None)
    return lighter, tuple(sorted(left))


# --- parts of requests and replies --------------------------------------------------------------


def parameter_fields(
    request: Request, names: Mapping[str, str], *schema: str, seed: int | None = None
) -> tuple[dict[str, Any], dict[str, str]]:
    """The fields of a body that parameters fill, and what may be refused as which parameter.

    ``names`` are ours → the vendor's; ``seed`` is what stands for a requested seed.
    ``schema`` are the fields that hold the reply schema, if there is one. The second is for
    :func:`refused_parameter`.
    """
    parameters = request.parameters
    values = {ours: getattr(parameters, ours) for ours in names if ours != "seeded"}
    values["seeded"] = seed if parameters.seeded else None
    values = {ours: value for ours, value in values.items() if value is not None}
    may_drop = {names[ours]: ours for ours in values}
    if request.schema is not None:
        may_drop |= dict.fromkeys((*schema, *_SCHEMA_NAMES), "schema")
    return {names[ours]: value for ours, value in values.items()}, may_drop


def counts(usage: object, **names: Sequence[str]) -> dict[str, int]:
    """Token counts by our name (``input``, ``output``), each the sum of the vendor's ``names``.

    A count that the vendor does not give is left out: 0 would say that there were none. So is one
    of which a part cannot be believed; the reply, which is paid, is read all the same.
    """
    known = usage if isinstance(usage, dict) else {}
    summed: dict[str, int] = {}
    for ours, theirs in names.items():
        parts = [token_count(known[name]) for name in theirs if known.get(name) is not None]
        believed = [part for part in parts if part is not None]
        if believed and len(believed) == len(parts):
            summed[ours] = sum(believed)
    return summed


def text_of_parts(parts: Sequence[Mapping[str, Any]]) -> str:
    """The text among ``parts`` of a message, where thoughts may stand too."""
    return "".join(text_of(part["text"]) for part in parts if part["type"] == "text")
