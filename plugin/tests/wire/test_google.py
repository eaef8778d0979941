"""What only Google's API has, and what its SDK would do if it were left to itself."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
import respx

from pytest_bias.providers.base import Provider, ProviderContext, open_provider
from pytest_bias.recording.collector import quiet_sdks

from .line import Line
from .mocker import SECRET
from .vendors.google_contents import DETAIL, GOOGLE, error, reply

pytestmark = pytest.mark.usefixtures("nothing_set")

RETRY_INFO = {"@type": f"{DETAIL}RetryInfo", "retryDelay": "7s"}


@pytest.fixture
def google(
    opened: Callable[[str], tuple[Provider, asyncio.Runner]], router: respx.MockRouter
) -> Line:
    return Line(GOOGLE, *opened(GOOGLE.wire), router)


WAITS: dict[str, tuple[list[dict[str, Any]], dict[str, str], float | None]] = {
    "RetryInfo": ([RETRY_INFO], {}, 7.0),
    "RetryInfo in fractions": ([RETRY_INFO | {"retryDelay": "1.5s"}], {}, 1.5),
    "both": ([RETRY_INFO], {"Retry-After": "9"}, 7.0),
    "RetryInfo of nonsense": ([RETRY_INFO | {"retryDelay": "-1s"}], {"Retry-After": "9"}, 9.0),
    "no RetryInfo": ([RETRY_INFO | {"retryDelay": None}], {}, None),
}


@pytest.mark.parametrize(("details", "headers", "wait"), WAITS.values(), ids=WAITS)
def test_rate_limits_say_how_long_to_wait(
    google: Line, details: list[dict[str, Any]], headers: dict[str, str], wait: float | None
) -> None:
    said = error("check your plan and billing details", *details)
    google.answers(429, json=said, headers=headers)
    failure = google.failed()
    assert (failure.kind, failure.retry_after) == ("rate_limit", wait)


@pytest.mark.parametrize(
    ("violation", "kind"),
    [
        ({"quotaId": "GenerateRequestsPerDayPerProjectPerModel-FreeTier"}, "fatal"),
        ({"quotaMetric": "x.googleapis.com/generate_requests_per_model_per_day"}, "fatal"),
        ({"quotaId": "GenerateRequestsPerMinutePerProjectPerModel-FreeTier"}, "rate_limit"),
        ({}, "rate_limit"),
    ],
)
def test_a_quota_of_the_day_is_fatal(google: Line, violation: dict[str, str], kind: str) -> None:
    quota = {"@type": f"{DETAIL}QuotaFailure", "violations": [violation]}
    google.answers(429, json=error("quota", quota, RETRY_INFO))
    assert google.failed().kind == kind


@pytest.mark.parametrize(
    ("environ", "key"),
    [
        ({"GEMINI_API_KEY": "one"}, "one"),
        ({"GOOGLE_API_KEY": " two\n"}, "two"),
        ({"GEMINI_API_KEY": "one", "GOOGLE_API_KEY": "two"}, "one"),
        ({"GEMINI_API_KEY": " ", "GOOGLE_API_KEY": "two"}, "two"),
    ],
)
def test_which_key_is_sent(
    google: Line,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    environ: dict[str, str],
    key: str,
) -> None:
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    route = google.answers(json=reply())
    with quiet_sdks():
        google.once(lambda: open_provider("google", ProviderContext(environ)))
    assert route.calls.last.request.headers["x-goog-api-key"] == key
    assert caplog.text == ""  # the SDK would say that it takes the other one


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("GOOGLE_GENAI_USE_VERTEXAI", "true"),
        ("GOOGLE_GENAI_USE_ENTERPRISE", "true"),
        ("GOOGLE_CLOUD_PROJECT", "mine"),
        ("GOOGLE_CLOUD_LOCATION", "europe-west1"),
        ("GOOGLE_GENAI_API_VERSION", "v1alpha"),
        ("GOOGLE_GENAI_CLIENT_MODE", "replay"),
        ("GOOGLE_GEMINI_BASE_URL", "https://elsewhere.example"),  # not in the context's environ
        ("GOOGLE_API_KEY", "another"),
    ],
)
def test_the_sdk_reads_nothing_else_from_the_environment(
    google: Line, monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(name, value)
    route = google.answers(json=reply())
    assert google.once(GOOGLE.opened).text == "Five."
    assert route.calls.last.request.headers["x-goog-api-key"] == SECRET
