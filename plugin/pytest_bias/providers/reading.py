"""From a request's parameters and a reply's body to a completion: what no SDK is needed for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from ..errors import CallFailed
from ..messages import Completion, Finish, Parameters, Request
from .failures import reply_failure
from .sdk import now


@dataclass(frozen=True, slots=True)
class Answer:
    """A reply body, and the seconds it took."""

    body: dict[str, Any] = field(repr=False)
    latency: float


@dataclass(frozen=True, slots=True)
class Reply:
    """What an adapter reads from a reply body."""

    text: str = field(repr=False)
    finish: Finish
    served_model: str
    usage: Mapping[str, int]


def completion(
    model: str,
    answer: Answer,
    read: Callable[[dict[str, Any]], Reply],
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


def is_filtered(body: Mapping[str, Any]) -> bool:
    """Whether ``body`` is an error that stands for a filtered prompt."""
    return error_details(body.get("error")).get("code") == "content_filter"


def filtered(model: str) -> Reply:
    """What is read from such a body: nothing was generated, by the model that was asked."""
    return Reply("", "content_filter", model.partition("/")[2], {"input": 0, "output": 0})


def count(usage: Mapping[str, Any], *names: str) -> int:
    """The sum of the token counts called ``names``; what is missing counts as 0."""
    return sum(int(usage.get(name) or 0) for name in names)


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
    """What a vendor says of an error, in its body or in the ``error`` there."""
    if not isinstance(error, dict):
        return {}
    inner = error.get("error")
    return inner if isinstance(inner, dict) else error
