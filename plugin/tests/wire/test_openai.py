"""What only OpenAI's two APIs have, and endpoints that speak Chat Completions."""

from __future__ import annotations

import asyncio
import json
from datetime import datetime, timezone
from typing import Any

import httpx
import pytest
import respx

from pytest_bias.errors import CallFailed, UnknownName
from pytest_bias.experiments.messages import Message, Parameters, Request
from pytest_bias.providers.base import Call, Provider, ProviderContext, open_provider

from . import mocker
from .line import body_of
from .mocker import REQUEST, SECRET
from .vendors.openai_chat import CHAT, error, reply
from .vendors.openai_responses import RESPONSES
from .vendors.openai_responses import reply as response

pytestmark = pytest.mark.usefixtures("router")

GATEWAY = "https://gateway.example:8443"
OWN_URL = f"{GATEWAY}/v1/chat/completions"
LIMITED = Request(REQUEST.messages, Parameters(0.5, 400))


def own() -> Provider:
    return CHAT.at(GATEWAY)


def test_a_custom_header_is_a_credential_and_is_not_told(
    router: respx.MockRouter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "X-Gateway: gw-t0ken-1\nX-Stage: 1")
    router.post(CHAT.url).respond(401, json=error("no gw-t0ken-1, 1"))
    assert "no ***, 1" in str(mocker.failed(CHAT.opened))


@pytest.mark.parametrize("code", ["insufficient_quota", "billing_hard_limit_reached"])
def test_an_empty_account_is_no_rate_limit(router: respx.MockRouter, code: str) -> None:
    said = error("You exceeded your quota.", type=code, code=code)
    router.post(CHAT.url).respond(429, json=said, headers={"retry-after": "1"})
    assert mocker.failed(CHAT.opened).kind == "fatal"


NEWER = "'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."


def test_an_own_endpoint_that_wants_the_newer_name_is_remembered_by_model(
    router: respx.MockRouter,
) -> None:
    limits: list[str] = []

    def answer(asked: httpx.Request) -> httpx.Response:
        limits.extend(name for name in json.loads(asked.content) if name.startswith("max"))
        if limits[-1] == "max_tokens":
            return httpx.Response(400, json=error(NEWER, code="unsupported_parameter"))
        return httpx.Response(200, json=reply())

    router.post(OWN_URL).mock(side_effect=answer)

    async def attempts() -> list[str]:
        provider = own()
        ends = []
        try:
            for model in ("m", "m", "m", "another", "another"):
                try:
                    ends.append((await provider.complete(model, LIMITED, Call(1))).text)
                except CallFailed as failed:
                    # One attempt per call: the collector counts them, and makes the next.
                    ends.append(failed.kind)
        finally:
            await provider.aclose()
        return ends

    with mocker.nothing_left():
        assert asyncio.run(attempts()) == ["transient", "Five.", "Five.", "transient", "Five."]
    older, newer = "max_tokens", "max_completion_tokens"
    assert limits == [older, newer, newer, older, newer]


@pytest.mark.parametrize(
    ("status", "message", "request_", "kind"),
    [
        (400, NEWER, LIMITED, "transient"),
        (400, NEWER, REQUEST, "fatal"),
        (400, "max_tokens is too large", LIMITED, "fatal"),
        (422, NEWER, LIMITED, "transient"),
        (429, NEWER, LIMITED, "rate_limit"),
        (500, NEWER, LIMITED, "transient"),
    ],
)
def test_only_a_refusal_that_names_the_newer_limit_passes(
    router: respx.MockRouter, status: int, message: str, request_: Request, kind: str
) -> None:
    route = router.post(OWN_URL).respond(status, json=error(message))
    failed = mocker.failed(own, request_)
    assert (route.call_count, failed.kind) == (1, kind)


FAILED = {
    "rate_limit_exceeded": "rate_limit",
    "server_error": "transient",
    "invalid_prompt": "reply",
}


def refused_on_the_way(router: respx.MockRouter, **fields: Any) -> CallFailed:
    router.post(RESPONSES.url).respond(json=response(status="failed", **fields))
    return mocker.failed(RESPONSES.opened, model=RESPONSES.model)


@pytest.mark.parametrize(("code", "kind"), FAILED.items())
def test_responses_that_failed_on_the_way(router: respx.MockRouter, code: str, kind: str) -> None:
    failure = refused_on_the_way(router, error={"code": code, "message": f"sorry, {SECRET}"})
    assert failure.kind == kind
    assert f"the response failed ({code}): sorry, ***" in str(failure)


GONE = {"code": 502, "message": f"Provider of {SECRET} disconnected"}
TOLD_GONE = "Provider of *** disconnected"
BROKEN_OFF: dict[str, tuple[dict[str, Any], str]] = {
    "OpenRouter": ({"finish_reason": "error", "error": GONE}, f"error: {TOLD_GONE}"),
    "another end": ({"error": GONE}, f"stop: {TOLD_GONE}"),
    "nothing said": ({"finish_reason": "error", "error": None}, "error"),
}


@pytest.mark.parametrize(("choice", "said"), BROKEN_OFF.values(), ids=BROKEN_OFF)
def test_what_the_provider_broke_off_is_no_reply(
    router: respx.MockRouter, choice: dict[str, Any], said: str
) -> None:
    router.post(CHAT.url).respond(json=reply("one two thr", **choice))
    failure = mocker.failed(CHAT.opened)
    assert failure.kind == "reply"
    assert f"the reply was broken off ({said})" in str(failure)


@pytest.mark.parametrize(("code", "kind"), [(402, "fatal"), (429, "rate_limit")])
def test_an_error_in_a_choice_stands_for_what_it_would_beside_them(
    router: respx.MockRouter, code: int, kind: str
) -> None:
    broken = {"finish_reason": "error", "error": {**GONE, "code": code}}
    router.post(CHAT.url).respond(json=reply("one two thr", **broken))
    failure = mocker.failed(CHAT.opened)
    assert failure.kind == kind
    assert f"HTTP {code}: {TOLD_GONE}" in str(failure)


def test_a_filter_that_stops_a_choice_is_an_outcome(router: respx.MockRouter) -> None:
    flagged = {"code": 403, "message": "The output was flagged by moderation."}
    router.post(CHAT.url).respond(json=reply("one", finish_reason="error", error=flagged))
    assert mocker.ask(CHAT.opened).finish == "content_filter"


def test_a_system_prompt_alone_is_still_an_input(router: respx.MockRouter) -> None:
    route = router.post(RESPONSES.url).respond(json=RESPONSES.five)
    system = Request((Message("system", "Speak."),), Parameters())
    mocker.ask(RESPONSES.opened, system, model=RESPONSES.model)
    assert body_of(route)["input"] == [{"role": "system", "content": "Speak."}]


def test_a_wire_that_openai_does_not_speak() -> None:
    context = ProviderContext({"OPENAI_API_KEY": "x"}, wires={"openai/gpt": "anthropic"})
    with pytest.raises(UnknownName, match="'anthropic'; known: openai-chat, openai-responses"):
        open_provider("openai", context)


RESET = int(datetime(2030, 1, 2, 3, 4, tzinfo=timezone.utc).timestamp())
PER_DAY: dict[str, tuple[Any, dict[str, str], str]] = {
    "OpenRouter's": (
        {"metadata": {"headers": {"X-RateLimit-Reset": f"{RESET}000"}}},
        {},
        "free-models-per-day",
    ),
    "in a header": ({}, {"x-ratelimit-reset-requests": str(RESET)}, "Daily limit of requests"),
}


@pytest.mark.parametrize(("more", "headers", "message"), PER_DAY.values(), ids=PER_DAY)
def test_a_limit_per_day_is_not_waited_for_and_its_reset_is_named(
    router: respx.MockRouter, more: Any, headers: dict[str, str], message: str
) -> None:
    said = error(message, code=429, **more)
    router.post(OWN_URL).respond(429, json=said, headers=headers)
    failure = mocker.failed(own)
    assert failure.fatal
    assert "the limit is reset at 2030-01-02 03:04 UTC" in str(failure)


def test_a_limit_per_day_that_says_when_to_come_back_is_waited_for(
    router: respx.MockRouter,
) -> None:
    said = error("Rate limit reached on requests per day (RPD). Try again in 7s.", code="rpd")
    router.post(OWN_URL).respond(429, json=said, headers={"retry-after": "7"})
    assert mocker.failed(own).kind == "rate_limit"
