"""Details of Google's errors (google/rpc/error_details.proto)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from http import HTTPStatus
from typing import Any

from ..errors import CallFailed
from .failures import refused_parameter, status_failure
from .sdk import retry_after

_OUT_OF_QUOTA = "insufficient_quota"
"""The code by which :func:`status_failure` knows a limit that waiting does not mend."""

_PER_DAY = re.compile("per_?day", re.IGNORECASE)
_SECONDS = re.compile(r"(\d+(?:\.\d+)?)s")


def google_failure(
    model: str, error: Any, told: Callable[[str], str], sent: Mapping[str, str]
) -> CallFailed:
    """The failure that an answer with another status than 200 stands for.

    ``error`` is the SDK's APIError, ``told`` takes credentials out of a text, ``sent`` is what
    :func:`refused_parameter` wants.
    """
    details = list(_details(error.details))
    message = error.message if isinstance(error.message, str) else error.response.text
    parameter = None
    if error.code == HTTPStatus.BAD_REQUEST:
        said = " ".join((message, *_violations(details)))
        said = said.replace("maxOutputTokens", "max_output_tokens")
        parameter = refused_parameter(sent, said)
    return status_failure(
        model,
        error.code,
        told(message),
        code=_OUT_OF_QUOTA if _of_the_day(details) else None,
        parameter=parameter,
        wait=_wait(details, error.response.headers),
    )


def _details(body: object) -> Iterator[Mapping[str, Any]]:
    for answer in _objects(body if isinstance(body, list) else [body]):
        for error in _objects([answer.get("error")]):
            yield from _objects(error.get("details"))


def _objects(value: object) -> Iterator[Mapping[str, Any]]:
    if isinstance(value, list):
        yield from (entry for entry in value if isinstance(entry, dict))


def _violations(details: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Return BadRequest's violations of single fields."""
    for detail in details:
        for violation in _objects(detail.get("fieldViolations")):
            yield f"{violation.get('field')}: {violation.get('description')}"


def _of_the_day(details: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether QuotaFailure names a quota per day, which no recording waits for."""
    return any(
        _PER_DAY.search(f"{violation.get('quotaId')} {violation.get('quotaMetric')}")
        for detail in details
        for violation in _objects(detail.get("violations"))
    )


def _wait(details: Sequence[Mapping[str, Any]], headers: Mapping[str, str]) -> float | None:
    """Seconds that RetryInfo or else the headers ask to wait."""
    for detail in details:
        if found := _SECONDS.fullmatch(str(detail.get("retryDelay"))):
            return float(found[1])
    return retry_after(headers)
