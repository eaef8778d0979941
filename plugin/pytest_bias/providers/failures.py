"""The failure a call ends in, read from a vendor's error; no I/O.

Adapters raise failures outside of their ``except`` blocks: an SDK's own error holds the request
with its headers, and must not be printed as the cause of ours. ``model`` is ``provider/model``
throughout; messages come with their secrets redacted.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from http import HTTPStatus
from typing import Any

from ..errors import CallFailed
from ..experiments.canonical import plain
from ..experiments.messages import Request

_PASSING = frozenset({HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.CONFLICT})
"""Statuses below 500 that are over when the call is tried again."""

OUT_OF_QUOTA = "insufficient_quota"
"""OpenAI's code for a limit that waiting does not lift."""

_PER_DAY = re.compile("per[ _-]?day|daily", re.IGNORECASE)
_SECONDS = re.compile(r"(\d+(?:\.\d+)?)s")
_NO_STATUS = 600  # from here on no number is a status of HTTP
_SURROGATE = re.compile("[\ud800-\udfff]")
_UNSUPPORTED = frozenset({"unsupported_parameter", "unsupported_value"})

# Out of its range is not refused: there the user's setting is wrong, and leaving it out would
# hide that.
_REFUSED = re.compile(
    r"not support|n't support|unsupported|not permitted|not allowed|deprecated|unknown|"
    r"unrecogni[sz]ed|unexpected|may only be set|only the default|not enabled|unavailable",
    re.IGNORECASE,
)

# No value of a schema's field is out of a range.
_OTHER_SHAPE = re.compile(
    r"must be|should be|one of|but got|expected|not implemented", re.IGNORECASE
)

# What a schema says may be wrong too; without it the reply would be another than was requested.
_WITHIN_SCHEMA = re.compile(r"invalid schema|\.schema\b|\bat '[^']*schema\b", re.IGNORECASE)


def status_failure(
    model: str,
    status: int,
    message: str,
    *,
    code: str | None = None,
    parameter: str | None = None,
    wait: float | None = None,
    place: str = "",
) -> CallFailed:
    """The failure that an HTTP ``status`` stands for.

    ``code`` is the vendor's own word for the error, ``parameter`` the refused parameter by our
    name, ``wait`` the seconds the provider asks to wait, ``place`` what was called, which is named
    where no further call can succeed.
    """
    problem = f"HTTP {status}: {message}"
    if parameter is not None:
        return CallFailed(model=model, problem=problem, kind="parameter", parameter=parameter)
    # An empty account answers 429 too, and waiting does not fill it.
    unpaid = code is not None and (code == OUT_OF_QUOTA or "billing" in code)
    if status == HTTPStatus.TOO_MANY_REQUESTS and not unpaid:
        return CallFailed(model=model, problem=problem, kind="rate_limit", retry_after=wait)
    if status in _PASSING or status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return CallFailed(model=model, problem=problem, kind="transient", retry_after=wait)
    problem += f" (at {place})" if place else ""
    refused = status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN)
    return CallFailed(model=model, problem=problem, kind="fatal", refused_key=refused)


def reply_failure(model: str, what: str, error: Exception) -> CallFailed:
    """The failure of a reply that is not ``what`` it should be (``a chat completion``).

    Of the error only what no reply can put there is shown: its type, the missing field, and of
    values their types.
    """
    detail = f": {error}" if isinstance(error, KeyError | TypeError) and error.args else ""
    problem = f"the reply is not {what} ({type(error).__name__}{detail})"
    return CallFailed(model=model, problem=problem, kind="reply")


def stream_failure(model: str, what: str, place: str) -> CallFailed:
    """The failure of an endpoint that streams, though nothing asks it to."""
    problem = (
        f"an event stream came, and not {what}, though none is requested: have the endpoint "
        f"answer without streaming (from {place})"
    )
    return CallFailed(model=model, problem=problem, kind="fatal")


def unsent(model: str, reason: str) -> CallFailed:
    """The failure of a request that cannot be sent, today or later."""
    problem = f"the request cannot be sent ({reason})"
    return CallFailed(model=model, problem=problem, kind="fatal")


# --- halves of characters -----------------------------------------------------------------------


def unencodable(model: str, api_key: str, request: Request) -> CallFailed | None:
    """The failure of a ``request`` that cannot be written as it is sent; None where it can be."""
    if not (api_key.isascii() and api_key.isprintable()):
        return unsent(model, "the endpoint's key holds characters no header can hold")
    texts = {"the model's name": model}
    for number, message in enumerate(request.messages, 1):
        texts[f"message {number} ({message.role})"] = message.text
    if request.schema is not None:
        schema = plain(request.schema, "reply schema")
        texts["the reply schema"] = json.dumps(schema, ensure_ascii=False)
    for where, text in texts.items():
        lone = _SURROGATE.search(text)
        if lone is not None:
            problem = (
                f"{where} holds half of a character (a lone surrogate, U+{ord(lone[0]):04X}) "
                f"at position {lone.start() + 1}, which UTF-8 cannot write"
            )
            return unsent(model, problem)
    return None


def with_valid_characters(request: Request) -> Request:
    """``request`` with U+FFFD for every half of a character in its messages."""
    messages = (replace(m, text=_SURROGATE.sub("\ufffd", m.text)) for m in request.messages)
    return replace(request, messages=tuple(messages))


def has_half_a_character(text: str) -> bool:
    """True if UTF-8 cannot write ``text``."""
    return _SURROGATE.search(text) is not None


# --- the body of an error -----------------------------------------------------------------------


def error_details(error: object) -> Mapping[str, Any]:
    """A vendor's details of an error, in its body or in the ``error`` there."""
    if isinstance(error, list) and len(error) == 1:  # as Google's gateways send it
        return error_details(error[0])
    if not isinstance(error, dict):
        return {}
    inner = error.get("error")
    return inner if isinstance(inner, dict) else error


def error_message(error: object) -> str:
    """The message of a server's error, as its body is read; '' where no known field has it.

    Of what FastAPI finds wrong that is where and why, and not what was sent there, which it quotes
    too: a prompt with ``not allowed`` in it refuses nothing.
    """
    if isinstance(error, str):
        return error.strip()
    if isinstance(error, list):
        if error and all(isinstance(each, str) for each in error):  # as Nest's are
            return "; ".join(filter(None, map(str.strip, error)))
        wrong = [each for each in error if isinstance(each, dict) and "msg" in each]
        if wrong:
            paths = (e["loc"] if isinstance(e.get("loc"), list) else () for e in wrong)
            named = zip((".".join(map(str, path)) for path in paths), wrong, strict=True)
            return "; ".join(f"{path}: {each['msg']}" for path, each in named)
    details = error_details(error)
    messages = (details[name] for name in ("message", "detail", "error") if name in details)
    return next(filter(None, map(error_message, messages)), "")


def error_of(body: Mapping[str, Any]) -> object:
    """The error in a body with the status of a reply, of MiniMax in words of its own."""
    status = body.get("base_resp")
    if body.get("error") or not isinstance(status, dict) or not status.get("status_code"):
        return body.get("error")
    return {"code": str(status["status_code"]), "message": status.get("status_msg")}


def error_within(
    model: str, body: Mapping[str, Any], what: str, redacted: Callable[[str], str]
) -> CallFailed | None:
    """The failure that an error with status 200 stands for, as gateways send it."""
    error = error_of(body)
    message, code = error_message(error), error_details(error).get("code")
    status = code if type(code) is int else _NO_STATUS
    if not message or status == 0 or HTTPStatus.OK <= status < HTTPStatus.MULTIPLE_CHOICES:
        return None  # "success" is none
    if HTTPStatus.BAD_REQUEST <= status < _NO_STATUS:
        return status_failure(model, status, redacted(message))
    problem = f"the reply is not {what}, but an error: {redacted(message)}"
    return CallFailed(model=model, problem=problem, kind="reply")


def refused_parameter(
    sent: Mapping[str, str], message: str, *, code: str | None = None, field: str | None = None
) -> str | None:
    """The parameter a vendor's error refuses, by our name; None for none.

    ``sent`` are the request's fields that may be left out → the parameter each stands for;
    ``message`` is the error's, ``code`` and ``field`` what else the vendor says of it.
    """
    name = field or ""
    while name and name not in sent:  # the whole may be sent, as response_format.type is
        name = name.rpartition(".")[0]
    parameter = sent.get(name)
    if not field or (name and code not in _UNSUPPORTED):
        positions = {
            match.start(): ours
            for theirs, ours in sent.items()
            if (match := re.search(rf"\b{re.escape(theirs)}\b", message, re.IGNORECASE))
        }
        first = positions[min(positions)] if positions else None
        shape = first == "schema" and _OTHER_SHAPE.search(message)
        parameter = first if shape or _REFUSED.search(message) else None
    within = _WITHIN_SCHEMA.search(f"{field}: {message}")
    return None if parameter == "schema" and within else parameter


# --- details of Google's errors, as in google/rpc/error_details.proto ---------------------------


def _rpc(error: Mapping[str, Any], name: str) -> list[Any]:
    """The values of one field of an error's ``details``."""
    details = error.get("details")
    details = details if isinstance(details, list) else []
    return [each[name] for each in details if isinstance(each, dict) and name in each]


def rpc_violations(error: Mapping[str, Any]) -> list[str]:
    """BadRequest's violations of single fields."""
    lists = (each for each in _rpc(error, "fieldViolations") if isinstance(each, list))
    rows = (row for each in lists for row in each if isinstance(row, dict))
    return [f"{row.get('field')}: {row.get('description')}" for row in rows]


def is_quota_per_day(error: Mapping[str, Any], message: str) -> bool:
    """True if QuotaFailure or the ``message`` names a limit per day."""
    return _PER_DAY.search(f"{_rpc(error, 'violations')} {message}") is not None


def rpc_delay(error: Mapping[str, Any]) -> float | None:
    """Seconds that RetryInfo asks to wait."""
    delays = [_SECONDS.fullmatch(str(delay)) for delay in _rpc(error, "retryDelay")]
    return next((float(delay[1]) for delay in delays if delay), None)
