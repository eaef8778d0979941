"""What the roster has sent besides an experiment's request, over every wire."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import respx

from pytest_bias.experiments.messages import Parameters, parameters_of
from pytest_bias.providers.base import (
    Endpoint,
    Provider,
    ProviderContext,
    open_provider,
    open_wire,
)
from pytest_bias.providers.destinations import PAIRS
from pytest_bias.settings.roster import Roster, parse_roster

from . import mocker
from .line import body_of
from .mocker import REQUEST, SECRET
from .vendors import VENDORS
from .vendors.vendor import Vendor

GATEWAY = "https://gateway.example"
FIELDS: dict[str, dict[str, Any]] = {
    "anthropic": {"thinking": {"type": "enabled"}},
    "google": {"generationConfig": {"thinkingConfig": {"thinkingBudget": 0}}},
    "openai-chat": {"reasoning_effort": "low"},
    "openai-responses": {"reasoning": {"effort": "low"}},
}
vendors = pytest.mark.parametrize("vendor", VENDORS.values(), ids=VENDORS)


def roster_of(text: str) -> Roster:
    return parse_roster(text, Path("bias_models.toml"))


@pytest.mark.usefixtures("nothing_set")
@vendors
def test_further_fields_stand_in_the_body_beside_the_experiment_s(
    vendor: Vendor, router: respx.MockRouter
) -> None:
    route = router.post(vendor.url).respond(json=vendor.five)
    sent = replace(REQUEST, parameters=replace(vendor.whole, extra=""))
    mocker.ask(vendor.opened, sent, model=vendor.model)
    before = body_of(route)
    fields = FIELDS[vendor.wire]
    extra = json.dumps({"request": fields})
    further = replace(sent, parameters=replace(vendor.whole, extra=extra))
    mocker.ask(vendor.opened, further, model=vendor.model)
    for name, value in fields.items():
        known = before.get(name, {})
        before[name] = known | value if isinstance(value, dict) else value
    assert body_of(route) == before


@pytest.mark.usefixtures("nothing_set")
@vendors
def test_headers_and_query_are_sent_to_the_endpoint_and_headers_are_secrets(
    vendor: Vendor, router: respx.MockRouter
) -> None:
    token = "Gw-t0ken-of-the-gateway"  # noqa: S105  (made up)
    name = (
        f"[endpoints.gateway]\nwire = '{vendor.wire}'\nbase_url = '{GATEWAY}{vendor.own_base}'\n"
    )
    roster = roster_of(
        f"{name}headers_env = {{ api-key = 'GW' }}\nquery = {{ api-version = '7' }}"
    )

    environ = {"GW": f" {token}\n", PAIRS: "GW=gateway.example"}

    def opened() -> Provider:
        context = ProviderContext(environ, endpoints=roster.endpoints)
        return open_provider("gateway", context)

    url = f"{GATEWAY}{vendor.own_base}{vendor.path}"
    route = router.post(url).respond(json=vendor.says(f"Five, {token}."))
    reply = mocker.ask(opened, model=vendor.model)
    request = route.calls.last.request
    assert (reply.text, request.headers["api-key"]) == ("Five, ***.", token)
    assert dict(request.url.params) == {"api-version": "7"}
    # No other key was given: the placeholder that the SDK insists on is not sent.
    assert {"authorization", "x-api-key", "x-goog-api-key"}.isdisjoint(request.headers)
    router.post(url).respond(401, json=vendor.refusing(f"wrong key {token}"))
    assert "wrong key ***" in str(mocker.failed(opened, model=vendor.model))

    key = Endpoint("gateway", SECRET, GATEWAY + vendor.own_base, headers={"x-team": "t"})
    route = router.post(url).respond(json=vendor.five)
    mocker.ask(lambda: open_wire(vendor.wire, key), model=vendor.model)
    header, value = vendor.own_header
    assert (route.calls.last.request.headers[header]) == value


def test_what_is_sent_besides_is_in_the_key_and_values_of_headers_are_not() -> None:
    endpoint = "[endpoints.gw]\nwire = 'openai-chat'\nbase_url = 'https://gateway.example'\n"
    further = "headers_env = { x-b = 'B_VALUE', x-a = 'A' }\nquery = { v = '2' }\n"
    model = (
        "[models.'gw/m']\nrequest = { top_p = 0.5, chat_template_kwargs = { thinking = false } }"
    )
    assert roster_of(endpoint).defaults("gw/m") == Parameters()
    assert parameters_of(roster_of(endpoint + further + model).defaults("gw/m")) == {
        "request": {"top_p": 0.5, "chat_template_kwargs": {"thinking": False}},
        "headers": ["x-a", "x-b"],
        "query": {"v": "2"},
    }


def chunks(*choices: dict[str, Any], end: str = "data: [DONE]\n\n") -> str:
    head: dict[str, Any] = {"id": "c-1a", "model": "served-1", "usage": None}
    usage = {"prompt_tokens": 7, "completion_tokens": 2}
    said = [{**head, "choices": [choice]} for choice in choices]
    said.append({**head, "choices": [], "usage": usage})
    return ": PROCESSING\n\n" + "".join(f"data: {json.dumps(c)}\n\n" for c in said) + end


STREAM = {"content-type": "text/event-stream; charset=utf-8"}
WORDS: list[dict[str, Any]] = [
    {"delta": {"role": "assistant", "content": ""}, "finish_reason": None},
    {"delta": {"reasoning_content": "Well."}},
    {"delta": {"content": "Fi"}, "finish_reason": None},
    {"delta": {"content": "ve."}, "finish_reason": None},
]
STOP: dict[str, Any] = {"delta": {}, "finish_reason": "stop"}


@pytest.mark.parametrize("asks", [True, False])
@pytest.mark.usefixtures("nothing_set")
def test_an_event_stream_is_put_together(router: respx.MockRouter, *, asks: bool) -> None:
    at = Endpoint("gateway", SECRET, f"{GATEWAY}/v1", stream=asks)
    url = f"{GATEWAY}/v1/chat/completions"
    route = router.post(url).respond(text=chunks(*WORDS, STOP), headers=STREAM)
    reply = mocker.ask(lambda: open_wire("openai-chat", at))
    assert (reply.text, reply.finish, reply.served_model) == ("Five.", "stop", "served-1")
    assert reply.usage == {"input": 7, "output": 2}
    assert body_of(route).get("stream", False) == asks


@pytest.mark.usefixtures("nothing_set")
@pytest.mark.parametrize("text", ["Five\u2028and\u0085six.", "Five."])
def test_an_end_without_a_word_is_the_model_s_and_lines_are_those_of_the_stream(
    router: respx.MockRouter, text: str
) -> None:
    at = Endpoint("gateway", SECRET, f"{GATEWAY}/v1", stream=True)
    chunk = json.dumps({"choices": [{"delta": {"content": text}}]}, ensure_ascii=False)
    said = f"data: {chunk}\r\n\r\ndata: [DONE]\r\n\r\n"
    router.post(f"{GATEWAY}/v1/chat/completions").respond(text=said, headers=STREAM)
    reply = mocker.ask(lambda: open_wire("openai-chat", at))
    assert (reply.text, reply.finish) == (text, "stop")


FAILED = {"error": {"message": "The server had an error.", "code": 503}}
BROKEN = {
    "before its end": (chunks(*WORDS, end=""), "the reply is not a chat completion"),
    "by an error": (f"data: {json.dumps(FAILED)}\n\n", "The server had an error."),
    "by a choice that is none": ('data: {"choices": [1]}', "the reply is not"),
    "in a chunk": (chunks(*WORDS)[:150], "the reply is not"),
}


@pytest.mark.parametrize(("text", "why"), BROKEN.values(), ids=BROKEN)
@pytest.mark.usefixtures("nothing_set")
def test_a_broken_event_stream_is_no_reply(router: respx.MockRouter, text: str, why: str) -> None:
    at = Endpoint("gateway", SECRET, f"{GATEWAY}/v1", stream=True)
    router.post(f"{GATEWAY}/v1/chat/completions").respond(text=text, headers=STREAM)
    failure = mocker.failed(lambda: open_wire("openai-chat", at))
    assert why in str(failure)
    assert not failure.fatal
