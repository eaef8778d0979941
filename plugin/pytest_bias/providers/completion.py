"""From an answer, or an SDK's error, to the completion of a call or the failure it stands for.

Adapters raise failures outside of their ``except`` blocks: an SDK's own error holds the request
with its headers, and must not be printed as the cause of ours. ``model`` is ``provider/model``
throughout; messages come with their secrets hidden already.
"""

from __future__ import annotations

import errno
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from http import HTTPStatus
from typing import Any

from ..errors import CallFailed
from ..experiments.canonical import plain
from ..experiments.messages import Completion, Parameters, Request, token_count
from .sdk import cache_header, now

_PASSING = frozenset({HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.CONFLICT})
"""Statuses below 500 that are over when the call is tried again."""

OUT_OF_QUOTA = "insufficient_quota"
"""OpenAI's code for a limit that waiting does not lift."""

_PER_DAY = re.compile("per_?day", re.IGNORECASE)
_SECONDS = re.compile(r"(\d+(?:\.\d+)?)s")

_NO_STATUS = 600
"""From here on no number is a status of HTTP."""

_SURROGATE = re.compile("[\ud800-\udfff]")

_UNSUPPORTED = frozenset({"unsupported_parameter", "unsupported_value"})

# Out of its range is not refused: there the user's setting is wrong, and leaving it out would
# hide that.
_REFUSED = re.compile(
    r"not support|n't support|unsupported|not permitted|not allowed|deprecated|unknown|"
    r"unrecogni[sz]ed|unexpected|may only be set|only the default|not enabled|unavailable",
    re.IGNORECASE,
)

_SCHEMA_WORDS = (
    "json_schema",
    "JSON mode",
    "output format",
    "response format",
    "structured output",
    "structured outputs",
)
"""How models and gateways without structured replies call what they refuse."""

# What a schema says may be wrong too; without it the reply would be another than was asked for.
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
    name, ``wait`` what :func:`retry_after` found, ``place`` what was called, which is named where
    no further call can mend it.
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
    return CallFailed(model=model, problem=problem, kind="fatal")


_UNCONNECTED = {"ConnectError", "ConnectTimeout", "PoolTimeout", "ProxyError"}


def connection_failure(model: str, error: Exception, message: str, url: str = "") -> CallFailed:
    """A time-out or a lost connection: the call may have been carried out, and be paid.

    Where no connection came about it was not.
    ``url`` is what was called, as far as it may be shown.
    """
    problem = f"{type(error).__name__}: {message}" + (f" (at {url})" if url else "")
    if _lacks_files(error):
        problem += ": too many open files here (ulimit -n); lower --bias-concurrency"
    unsent = any(type(each).__name__ in _UNCONNECTED for each in (error, error.__cause__))
    return CallFailed(model=model, problem=problem, kind="transient", answered=unsent)


def _lacks_files(error: BaseException | None) -> bool:
    """Return whether this process may open no more files, as SDKs say no word of."""
    if error is None:
        return False
    # A host with several addresses fails by all of them.
    before = (error.__cause__ or error.__context__, *getattr(error, "exceptions", ()))
    return getattr(error, "errno", None) == errno.EMFILE or any(map(_lacks_files, before))


def reply_failure(model: str, what: str, error: Exception) -> CallFailed:
    """An answer that is not ``what`` was asked for (``a chat completion``).

    Of the error only what no reply can put there is shown: its type, and the missing field.
    """
    detail = f": {error}" if isinstance(error, KeyError) else ""
    problem = f"the reply is not {what} ({type(error).__name__}{detail})"
    return CallFailed(model=model, problem=problem, kind="reply")


def unencodable(model: str, api_key: str, request: Request) -> CallFailed | None:
    """The failure of a ``request`` that cannot be written as what is sent; None where it can be.

    Nothing was sent then, and sending it again would not help.
    """
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


def with_whole_characters(request: Request) -> Request:
    """``request`` with U+FFFD for every half of a character in its messages."""
    messages = (replace(m, text=_SURROGATE.sub("\ufffd", m.text)) for m in request.messages)
    return replace(request, messages=tuple(messages))


def has_half_a_character(text: str) -> bool:
    """Return whether UTF-8 cannot write ``text``."""
    return _SURROGATE.search(text) is not None


def unsent(model: str, why: str) -> CallFailed:
    """A request that cannot be sent, today or later."""
    problem = f"the request cannot be sent ({why})"
    return CallFailed(model=model, problem=problem, kind="fatal")


def asked_fields(
    request: Request, names: Mapping[str, str], *schema: str, seed: int | None = None
) -> tuple[dict[str, Any], dict[str, str]]:
    """The fields of a body that parameters fill, and what may be refused as which parameter.

    ``names`` are ours → the vendor's; ``seed`` is what stands for a seed that is asked for.
    ``schema`` are the fields that hold the reply schema, if there is one. The second is for
    :func:`refused_parameter`.
    """
    parameters = request.parameters
    values = {ours: getattr(parameters, ours) for ours in names if ours != "seeded"}
    values["seeded"] = seed if parameters.seeded else None
    given = {ours: value for ours, value in values.items() if value is not None}
    may_go = {names[ours]: ours for ours in given}
    if request.schema is not None:
        may_go |= dict.fromkeys((*schema, *_SCHEMA_WORDS), "schema")
    return {names[ours]: value for ours, value in given.items()}, may_go


def refused_parameter(
    sent: Mapping[str, str],
    message: str,
    *,
    code: str | None = None,
    field: str | None = None,
) -> str | None:
    """Return the parameter a vendor's error refuses, by our name; None for none.

    ``sent`` are the request's fields that may be left out → the parameter each stands for;
    ``message`` are the error's words, ``code`` and ``field`` what else the vendor says of it.
    """
    name = field or ""
    while name and name not in sent:  # the whole may be sent, as response_format.type is
        name = name.rpartition(".")[0]
    parameter = sent.get(name)
    if not field or (name and code not in _UNSUPPORTED):
        places = {
            match.start(): ours
            for theirs, ours in sent.items()
            if (match := re.search(rf"\b{re.escape(theirs)}\b", message, re.IGNORECASE))
        }
        parameter = places[min(places)] if places and _REFUSED.search(message) else None
    within = _WITHIN_SCHEMA.search(f"{field}: {message}")
    return None if parameter == "schema" and within else parameter


def completion(
    model: str,
    body: object,
    response: Any,
    read: Callable[[dict[str, Any]], Completion],
    what: str,
    dropped: tuple[str, ...] = (),
) -> Completion | CallFailed:
    """The completion that ``read`` finds in the ``body`` of a response, which should be ``what``.

    Where a filter stopped the prompt or the reply it is empty.
    """
    if not isinstance(body, dict):
        return reply_failure(model, what, TypeError())
    try:
        return replace(
            Completion("", "content_filter", "") if is_filtered(body) else read(body),
            # The time of the attempt, without queueing.
            latency=round(response.elapsed.total_seconds(), 6),
            recorded_at=now(),
            body=body,
            dropped=dropped,
            cached=cache_header(response.headers),
        )
    except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
        return reply_failure(model, what, error)


def error_within(
    model: str, body: Mapping[str, Any], what: str, redacted: Callable[[str], str]
) -> CallFailed | None:
    """The failure that an error with status 200 stands for, as gateways send it.

    ``redacted`` takes credentials out of its words.
    """
    error = body.get("error")
    words, code = error_words(error), error_details(error).get("code")
    status = code if type(code) is int else _NO_STATUS
    if not words or status == 0 or HTTPStatus.OK <= status < HTTPStatus.MULTIPLE_CHOICES:
        return None  # "success" is none
    if HTTPStatus.BAD_REQUEST <= status < _NO_STATUS:
        return status_failure(model, status, redacted(words))
    problem = f"the reply is not {what}, but an error: {redacted(words)}"
    return CallFailed(model=model, problem=problem, kind="reply")


# Azure documents content_filter, OpenAI bio_policy and misalignment_policy_violation. The others
# are known from what users of the vendors report in public: OpenAI's content_policy_violation and
# invalid_prompt ("your prompt was flagged as potentially violating our usage policy"; gateways use
# that code for malformed requests too, so its words decide), Anthropic's "Output blocked by
# content filtering policy", and LiteLLM's name for all of these.
_FILTERS = {
    "content_filter",
    "content_policy_violation",
    "bio_policy",
    "misalignment_policy_violation",
}
_FLAGGED = re.compile(r"flagged|polic(?:y|ies)|safety", re.IGNORECASE)
_BLOCKED = re.compile(r"content filtering policy|ContentPolicyViolationError", re.IGNORECASE)
_REPLIES = {"choices", "output", "content", "candidates"}
"""Fields of a body that is a reply, at one vendor or another."""


def is_filtered(body: object) -> bool:
    """Return whether ``body`` is an error by which any vendor says that a filter stopped it."""
    if not isinstance(body, dict):
        return False
    error = body.get("error") or ({} if _REPLIES & body.keys() else body)
    details, words = error_details(error), error_words(error)
    codes = {code for name in ("code", "type") if isinstance(code := details.get(name), str)}
    flagged = "invalid_prompt" in codes and _FLAGGED.search(words) is not None
    return bool(codes & _FILTERS) or flagged or _BLOCKED.search(words) is not None


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


def text_of_parts(parts: Sequence[Mapping[str, Any]]) -> str:
    """Return what is text among ``parts`` of a message, where thoughts may stand too."""
    return "".join(text_of(part["text"]) for part in parts if part["type"] == "text")


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
    if isinstance(error, list) and len(error) == 1:  # as Google's gateways send it
        return error_details(error[0])
    if not isinstance(error, dict):
        return {}
    inner = error.get("error")
    return inner if isinstance(inner, dict) else error


def error_words(error: object) -> str:
    """The text of a server's error, as its body is read; '' where no known field has it.

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
            places = [
                ".".join(map(str, w)) if isinstance(w := e.get("loc"), list) else "" for e in wrong
            ]
            return "; ".join(
                f"{place}: {e['msg']}" for place, e in zip(places, wrong, strict=True)
            )
    details = error_details(error)
    words = (details[name] for name in ("message", "detail", "error") if name in details)
    return next(filter(None, map(error_words, words)), "")


# --- details of Google's errors, as in google/rpc/error_details.proto ---------------------------


def _rpc(error: Mapping[str, Any], name: str) -> list[Any]:
    """The values of one field of an error's ``details``."""
    details = error.get("details")
    details = details if isinstance(details, list) else []
    return [each[name] for each in details if isinstance(each, dict) and name in each]


def rpc_violations(error: Mapping[str, Any]) -> list[str]:
    """BadRequest's violations of single fields."""
    rows = [
        row for rows in _rpc(error, "fieldViolations") if isinstance(rows, list) for row in rows
    ]
    rows = [row for row in rows if isinstance(row, dict)]
    return [f"{row.get('field')}: {row.get('description')}" for row in rows]


def is_quota_per_day(error: Mapping[str, Any]) -> bool:
    """Return whether QuotaFailure names a quota per day, which no recording waits for."""
    return _PER_DAY.search(str(_rpc(error, "violations"))) is not None


def rpc_delay(error: Mapping[str, Any]) -> float | None:
    """Seconds that RetryInfo asks to wait."""
    delays = [_SECONDS.fullmatch(str(delay)) for delay in _rpc(error, "retryDelay")]
    return next((float(delay[1]) for delay in delays if delay), None)
