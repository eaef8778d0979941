"""Faults of a vendor, switched on at will, and the choice of when they come. No I/O."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from ...errors import BadSetting, UnknownName
from .exchange import Ending, Problem, ProblemKind, SimulatedReply

Fault = Literal[
    "rate_limit",
    "rate_limit_retry_after",
    "server_error",
    "overloaded",
    "timeout",
    "malformed",
    "slow",
    "drop",
    "content_filter",
    "refusal",
    "length",
    "refused_parameter",
    "quota",
    "unauthorised",
]
"""What a request meets instead of a reply:

=========================  ====================================================================
``rate_limit``             HTTP 429, without a word on how long to wait
``rate_limit_retry_after`` HTTP 429 with Retry-After (Google: RetryInfo too)
``server_error``           HTTP 500
``overloaded``             HTTP 503 (Anthropic: 529)
``timeout``                no answer, until the client goes away or the server stops
``malformed``              HTTP 200 with half of the reply
``slow``                   the reply, later
``drop``                   the connection closed without an answer
``content_filter``         the vendor's mark of a filter, no text
``refusal``                the vendor's mark of a model that will not
``length``                 the first half of the text, and the mark of the limit
``refused_parameter``      HTTP 400 for a request that sends a temperature; others are answered
``quota``                  the account is empty (HTTP 429; Anthropic: 402)
``unauthorised``           HTTP 401 that quotes back the key it was sent
=========================  ====================================================================
"""

FAULTS: tuple[Fault, ...] = get_args(Fault)

REFUSAL = "I cannot help with that."
"""What a subject says under the fault ``refusal``."""


@dataclass(frozen=True, slots=True)
class RequestFacts:
    """The facts a choice of faults may depend on.

    ``wire`` is the format's name, ``model`` and ``seed`` are None where the body has none.
    """

    wire: str
    path: str
    model: str | None
    seed: int | None


FaultChooser = Callable[[int, RequestFacts], Fault | None]
"""The fault of the n-th request, or None; counted from 1 since these faults were switched on."""

Faults = FaultChooser | Sequence[Fault | None] | None
"""A fixed sequence (the first request meets the first, …, then none), a function or none."""


def chooser(faults: Faults) -> FaultChooser:
    """``faults`` as a function; UnknownName when a name is no fault, BadSetting for no list."""
    if faults is None:
        return lambda _number, _facts: None
    if callable(faults):
        return faults
    _check_names(faults)
    in_turn = tuple(faults)
    return lambda number, _: in_turn[number - 1] if number <= len(in_turn) else None


def _check_names(faults: Sequence[Fault | None]) -> None:
    # One name alone is a sequence too, of letters.
    for name in (faults,) if isinstance(faults, str) else faults:
        if name is not None and name not in FAULTS:
            raise UnknownName(kind="fault", name=str(name), known=FAULTS)
    if isinstance(faults, str):
        raise BadSetting(option="faults", value=faults, problem="give a list of faults")


_ENDINGS: Mapping[str, Ending] = {
    "content_filter": "content_filter",
    "refusal": "refusal",
    "length": "length",
}


def answer_under(fault: Fault | None, text: str) -> SimulatedReply:
    """Return what ``fault`` leaves of a subject's ``text``, and why it ends there."""
    ending = _ENDINGS.get(fault or "", "stop")
    said = {"content_filter": "", "refusal": REFUSAL, "length": text[: len(text) // 2]}
    return SimulatedReply(said.get(ending, text), ending)


_PROBLEMS: Mapping[str, tuple[ProblemKind, str]] = {
    "rate_limit": ("rate_limit", "Rate limit reached (planted)."),
    "rate_limit_retry_after": ("rate_limit", "Rate limit reached (planted)."),
    "quota": ("quota", "You exceeded your current quota (planted)."),
    "server_error": ("server_error", "The server had an error (planted)."),
    "overloaded": ("overloaded", "Overloaded (planted)."),
    "unauthorised": ("unauthorised", "Incorrect API key provided: "),
    "refused_parameter": (
        "refused_parameter",
        "Unsupported parameter: 'temperature' is not supported with this model.",
    ),
}


def problem_of(fault: Fault | None, *, retry_after: float, key: str) -> Problem | None:
    """The problem that ``fault`` answers with, None where it is none of that kind.

    ``retry_after`` is in seconds; ``key`` is what the client sent to prove who it is.
    """
    if fault is None or fault not in _PROBLEMS:
        return None
    kind, message = _PROBLEMS[fault]
    told = f"{message}{key}" if fault == "unauthorised" else message
    return Problem(kind, told, retry_after if fault == "rate_limit_retry_after" else None)
