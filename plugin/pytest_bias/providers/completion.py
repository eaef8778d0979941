"""From a request's parameters and a reply's body to a completion: what no SDK is needed for."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

from ..errors import CallFailed
from ..experiments.messages import Completion, Finish, Parameters, Request, token_count
from .base import Endpoint
from .failures import reply_failure, simulated_failure, unmarked_failure
from .sdk import is_marked, now


@dataclass(frozen=True, slots=True)
class ReplyBody:
    """A reply body, and the seconds it took."""

    body: dict[str, Any] = field(repr=False)
    latency: float


@dataclass(frozen=True, slots=True)
class ReadReply:
    """The facts an adapter reads from a reply body."""

    text: str = field(repr=False)
    finish: Finish
    served_model: str
    usage: Mapping[str, int]


def answered(
    model: str, body: object, latency: float, endpoint: Endpoint, what: str, led_there: str
) -> ReplyBody | CallFailed:
    """A parsed reply, if it comes from whom it should.

    ``led_there`` is the variable that leads to the endpoint, empty where the roster does.
    """
    if not endpoint.simulated and is_marked(body):
        return simulated_failure(model, led_there)
    if not isinstance(body, dict):
        return reply_failure(model, what, TypeError())
    if endpoint.simulated and not is_marked(body):
        return unmarked_failure(model)
    return ReplyBody(body, latency)


def completion(
    model: str,
    answer: ReplyBody,
    read: Callable[[dict[str, Any]], ReadReply],
    what: str,
    dropped: tuple[str, ...],
) -> Completion | CallFailed:
    """The completion that ``read`` finds in a reply body, which should be ``what``."""
    try:
        reply = read(answer.body)
        return Completion(
            text=reply.text,
            finish=reply.finish,
            served_model=reply.served_model,
            usage=reply.usage,
            latency=round(answer.latency, 6),
            recorded_at=now(),
            body=answer.body,
            dropped=dropped,
        )
    except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
        return reply_failure(model, what, error)


# Azure documents content_filter. The others are known from what users of the vendors report in
# public: OpenAI's content_policy_violation and invalid_prompt ("your prompt was flagged as
# potentially violating our usage policy"; gateways use that code for malformed requests too, so
# its words decide), and Anthropic's "Output blocked by content filtering policy".
_FILTERS = frozenset({"content_filter", "content_policy_violation"})
_FLAGGED = re.compile(r"flagged|polic(?:y|ies)|safety", re.IGNORECASE)
_BLOCKED = re.compile(r"content filtering policy", re.IGNORECASE)


def is_filtered(body: Mapping[str, Any]) -> bool:
    """Return whether ``body`` is an error that stands for a filtered prompt or reply."""
    details = error_details(body.get("error"))
    codes = {code for name in ("code", "type") if isinstance(code := details.get(name), str)}
    said = details.get("message")
    said = said if isinstance(said, str) else ""
    flagged = "invalid_prompt" in codes and _FLAGGED.search(said) is not None
    return bool(codes & _FILTERS) or flagged or _BLOCKED.search(said) is not None


def filtered() -> ReadReply:
    """Return the reading of such a body, which names no model and counts no tokens."""
    return ReadReply("", "content_filter", "", {})


def counts(usage: object, **names: Sequence[str]) -> dict[str, int]:
    """Token counts by our name (``input``, ``output``), each the sum of the vendor's ``names``.

    A count that the vendor does not give is left out: 0 would say that there were none. So is one
    of which a part cannot be believed; the reply, which is paid, is read all the same.
    """
    said = usage if isinstance(usage, dict) else {}
    summed: dict[str, int] = {}
    for ours, theirs in names.items():
        given = [token_count(said[name]) for name in theirs if said.get(name) is not None]
        known = [count for count in given if count is not None]
        if known and len(known) == len(given):
            summed[ours] = sum(known)
    return summed


def text_of(value: object) -> str:
    """``value`` where it is text, nothing for None; TypeError for anything else."""
    if value is None:
        return ""
    if not isinstance(value, str):
        raise TypeError(type(value).__name__)
    return value


def effective(request: Request, dropped: frozenset[str]) -> tuple[Request, tuple[str, ...]]:
    """The request without what of it is to be dropped, and the names of that."""
    left = request.given & dropped
    if not left:
        return request, ()
    defaults: dict[str, Any] = {f.name: f.default for f in fields(Parameters) if f.name in left}
    lighter = replace(request, parameters=replace(request.parameters, **defaults))
    if "schema" in left:
        lighter = replace(lighter, schema=None, schema_name=None)
    return lighter, tuple(sorted(left))


def error_details(error: object) -> Mapping[str, Any]:
    """Return a vendor's details of an error, in its body or in the ``error`` there."""
    if not isinstance(error, dict):
        return {}
    inner = error.get("error")
    return inner if isinstance(inner, dict) else error
