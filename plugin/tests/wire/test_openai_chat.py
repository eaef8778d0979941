"""The adapter of OpenAI's Chat Completions, over the real SDK and mocked replies."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
import respx
from openai.types.chat import ChatCompletion

from pytest_bias.canonical import dumps, plain
from pytest_bias.errors import BadSetting, CallFailed, MissingKey, MissingPackage
from pytest_bias.messages import Completion, Message, Parameters, Request
from pytest_bias.providers.base import (
    Call,
    Endpoint,
    Provider,
    ProviderContext,
    open_provider,
)
from pytest_bias.providers.openai_chat import OpenAIChat
from pytest_bias.replies import reply_schema
from pytest_bias.simulator.server import FINGERPRINT

from ..core.factories import Score
from . import mocker
from .mocker import CONNECTION_ERRORS, NO_SCHEMA, REQUEST, SECRET, SEED, STATUSES, STRUCTURED

HTTPX2 = mocker.HTTPX2Mocker.name  # importing it is what registers it

URL = "https://api.openai.com/v1/chat/completions"
OWN_URL = "https://gateway.example:8443/v1"
ALL = Parameters(0.5, 400, seeded=True)


@pytest.fixture(autouse=True)
def openai(monkeypatch: pytest.MonkeyPatch) -> Iterator[respx.MockRouter]:
    for name in ("OPENAI_BASE_URL", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID"):
        monkeypatch.delenv(name, raising=False)
    with respx.mock(using="httpx2", assert_all_called=False) as router:
        yield router


def body(content: object = "Five.", **choice: Any) -> dict[str, Any]:
    """A reply as the API sends it."""
    message = {"role": "assistant", "content": content, "refusal": choice.pop("refusal", None)}
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "gpt-5.1-2026-01-01",
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"} | choice],
        "usage": {"prompt_tokens": 7, "completion_tokens": 2, "total_tokens": 9},
    }


def opened(**environ: str) -> Provider:
    return open_provider("openai", ProviderContext({"OPENAI_API_KEY": SECRET} | environ))


def own() -> Provider:
    return OpenAIChat(Endpoint("gateway", SECRET, OWN_URL))


def simulated() -> Provider:
    return OpenAIChat(Endpoint("simulated", "none-needed", OWN_URL, simulated=True))


def ask(request: Request = REQUEST, **how: Any) -> Completion:
    return mocker.ask(opened, request, model="gpt-5.1", **how)


def failed(request: Request = REQUEST, **how: Any) -> CallFailed:
    failure = mocker.failed(opened, request, model="gpt-5.1", **how)
    assert str(failure).startswith("openai/gpt-5.1: ")
    return failure


# --- replies -------------------------------------------------------------------------------------


def test_a_completion(openai: respx.MockRouter) -> None:
    openai.post(URL).respond(json=body())
    completion = ask()
    assert (completion.text, completion.finish) == ("Five.", "stop")
    assert completion.served_model == "gpt-5.1-2026-01-01"
    assert completion.usage == {"input": 7, "output": 2}
    assert completion.body == body()
    assert completion.dropped == ()
    assert completion.latency is not None
    assert completion.latency >= 0
    assert completion.recorded_at is not None
    assert completion.recorded_at.endswith("+00:00")


def test_the_stored_body_is_one_that_the_sdk_parses(openai: respx.MockRouter) -> None:
    openai.post(URL).respond(json=body())
    again = ChatCompletion.model_validate(json.loads(dumps(ask().body)))
    assert again.choices[0].message.content == "Five."
    assert again.choices[0].finish_reason == "stop"


FINISHES: dict[str, tuple[dict[str, Any], str, str]] = {
    "stop": (body("Five."), "Five.", "stop"),
    "length": (body("Fi", finish_reason="length"), "Fi", "length"),
    "content filter": (body("", finish_reason="content_filter"), "", "content_filter"),
    "filtered to nothing": (body(None, finish_reason="content_filter"), "", "content_filter"),
    "refusal": (body(None, refusal="I cannot."), "I cannot.", "refusal"),
    "refusal beside a text": (body("Well", refusal="I cannot."), "I cannot.", "refusal"),
    "empty": (body(""), "", "stop"),
    "nothing": (body(None), "", "stop"),
    "a tool": (body(None, finish_reason="tool_calls"), "", "other"),
    "an unknown end": (body("Five.", finish_reason="else"), "Five.", "other"),
    "no end": (body("Five.", finish_reason=None), "Five.", "other"),
    "a lone surrogate": (body("\ud83d"), "\ud83d", "stop"),
}


@pytest.mark.parametrize(("reply", "text", "finish"), FINISHES.values(), ids=FINISHES)
def test_how_replies_end(
    openai: respx.MockRouter, reply: dict[str, Any], text: str, finish: str
) -> None:
    openai.post(URL).respond(text=json.dumps(reply), content_type="application/json")
    completion = ask()
    assert (completion.text, completion.finish) == (text, finish)
    assert json.loads(dumps(completion.body)) == reply


def test_a_prompt_that_azure_filters_was_answered(openai: respx.MockRouter) -> None:
    error = {"error": {"code": "content_filter", "message": "filtered", "status": 400}}
    openai.post(URL).respond(400, json=error)
    completion = ask()
    assert (completion.text, completion.finish) == ("", "content_filter")
    assert completion.served_model == ""
    assert completion.body == error
    assert completion.usage == {}


FLAGGED = "Invalid prompt: your prompt was flagged as potentially violating our usage policy."
FILTERS = {
    "invalid_prompt": {"code": "invalid_prompt", "message": FLAGGED},
    "content policy": {"code": "content_policy_violation", "message": "Rejected."},
    "content policy as type": {"type": "content_policy_violation", "message": "Rejected."},
}


@pytest.mark.parametrize("error", FILTERS.values(), ids=FILTERS)
def test_a_prompt_that_openai_filters_was_answered(
    openai: respx.MockRouter, error: dict[str, str]
) -> None:
    openai.post(URL).respond(400, json={"error": error})
    completion = ask()
    assert (completion.text, completion.finish, completion.usage) == ("", "content_filter", {})
    openai.post(URL).respond(403, json={"error": error})
    assert failed().fatal


def test_an_invalid_prompt_that_no_filter_refused_is_fatal(openai: respx.MockRouter) -> None:
    error = {"code": "invalid_prompt", "message": "Invalid request: messages are missing."}
    openai.post(URL).respond(400, json={"error": error})
    assert failed().fatal


USAGES: list[tuple[object, dict[str, int]]] = [
    (None, {}),
    ({}, {}),
    ({"prompt_tokens": None}, {}),
    ({"prompt_tokens": 7}, {"input": 7}),
    ({"prompt_tokens": 7, "completion_tokens": 0}, {"input": 7, "output": 0}),
    ({"prompt_tokens": SECRET}, {}),
    ("7", {}),
]


@pytest.mark.parametrize(("usage", "read"), USAGES)
def test_usage_that_is_missing_is_left_out(
    openai: respx.MockRouter, usage: object, read: dict[str, int]
) -> None:
    openai.post(URL).respond(json=body() | {"usage": usage})
    assert ask().usage == read


def test_a_model_that_is_not_named_is_not_said(openai: respx.MockRouter) -> None:
    openai.post(URL).respond(json={k: v for k, v in body().items() if k != "model"})
    assert ask().served_model == ""


MALFORMED = {
    "not json": "<html>502</html>",
    "half": '{"choices": [{"mess',
    "nothing": "",
    "a list": "[]",
    "null": "null",
    "an error with status 200": '{"error": {"message": "oops"}}',
    "no choice": json.dumps(body() | {"choices": []}),
    "no choices": '{"model": "x"}',
    "choices are null": json.dumps(body() | {"choices": None}),
    "no message": '{"model": "x", "choices": [{}]}',
    "message is null": '{"model": "x", "choices": [{"message": null}]}',
    "content in parts": json.dumps(body([{"type": "text", "text": "x"}])),
    "nested": "[" * 100_000,
}


@pytest.mark.parametrize("text", MALFORMED.values(), ids=MALFORMED)
def test_malformed_replies_are_failed_calls_and_paid_once(
    openai: respx.MockRouter, text: str
) -> None:
    route = openai.post(URL).respond(text=text, content_type="application/json")
    failure = failed()
    assert failure.kind == "reply"
    assert "the reply is not a chat completion" in str(failure)
    assert route.call_count == 1


# --- failures ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("status", "headers", "kind", "wait"), STATUSES.values(), ids=STATUSES)
def test_statuses_are_told_apart_and_never_tried_again_here(
    openai: respx.MockRouter,
    status: int,
    headers: dict[str, str],
    kind: str,
    wait: float | None,
) -> None:
    error = {"error": {"message": f"bad key {SECRET}", "type": "x", "code": "y"}}
    route = openai.post(URL).respond(status, json=error, headers=headers)
    failure = failed()
    assert (failure.kind, failure.retry_after, failure.answered) == (kind, wait, True)
    assert f"HTTP {status}: bad key ***" in str(failure)
    assert route.call_count == 1


@pytest.mark.parametrize("code", ["insufficient_quota", "billing_hard_limit_reached"])
def test_an_empty_account_is_no_rate_limit(openai: respx.MockRouter, code: str) -> None:
    error = {"error": {"message": "You exceeded your quota.", "type": code, "code": code}}
    openai.post(URL).respond(429, json=error, headers={"retry-after": "1"})
    assert failed().kind == "fatal"


ERROR_BODIES = {
    "text": f"busy {SECRET}",
    "a page": "<html>" + "x" * 100_000,
    "nothing": "",
    "a list": "[1]",
    "a text as error": json.dumps({"error": f"busy {SECRET}"}),
    "fields of other types": json.dumps(
        {"error": {"message": [SECRET], "code": [], "param": {}, "type": 5}}
    ),
    "half": '{"error": ',
}


@pytest.mark.parametrize("text", ERROR_BODIES.values(), ids=ERROR_BODIES)
def test_errors_may_look_like_anything(openai: respx.MockRouter, text: str) -> None:
    openai.post(URL).respond(400, text=text)
    failure = failed()
    assert failure.kind == "fatal"
    assert len(str(failure)) < 600


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "temperature": (
        {"code": "unsupported_value", "param": "temperature", "message": "Only the default."},
        "temperature",
    ),
    "the limit": (
        {"code": "unsupported_parameter", "param": "max_completion_tokens", "message": "no"},
        "max_output_tokens",
    ),
    "the seed": ({"code": None, "param": None, "message": "Unknown field: `seed`"}, "seeded"),
    "in words": (
        {"message": "'temperature' does not support 0.5 with this model. Mind the seed."},
        "temperature",
    ),
}


@pytest.mark.parametrize(("error", "parameter"), REFUSED.values(), ids=REFUSED)
def test_refused_parameters_are_named(
    openai: respx.MockRouter, error: dict[str, Any], parameter: str
) -> None:
    openai.post(URL).respond(400, json={"error": error})
    failure = failed(Request(REQUEST.messages, ALL))
    assert (failure.kind, failure.parameter) == ("parameter", parameter)


NOT_REFUSED: dict[str, dict[str, Any]] = {
    "another parameter": {"code": "unsupported_parameter", "param": "tools", "message": "seed"},
    "out of range": {
        "code": "decimal_above_max_value",
        "param": "temperature",
        "message": "Invalid 'temperature': expected a value <= 2, but got 9 instead.",
    },
    "nothing by name": {"message": "This model is not supported."},
}


@pytest.mark.parametrize("error", NOT_REFUSED.values(), ids=NOT_REFUSED)
def test_what_is_wrong_with_the_request_is_no_refused_parameter(
    openai: respx.MockRouter, error: dict[str, Any]
) -> None:
    openai.post(URL).respond(400, json={"error": error})
    failure = failed(Request(REQUEST.messages, ALL))
    assert (failure.kind, failure.parameter) == ("fatal", None)


def test_a_parameter_that_was_not_sent_cannot_be_refused(openai: respx.MockRouter) -> None:
    error = {"code": "unsupported_value", "param": "temperature", "message": "not supported"}
    openai.post(URL).respond(400, json={"error": error})
    assert failed().kind == "fatal"


@pytest.mark.parametrize("error", CONNECTION_ERRORS, ids=lambda error: type(error).__name__)
def test_connections_that_fail_may_have_been_paid(
    openai: respx.MockRouter, error: Exception
) -> None:
    route = openai.post(URL).mock(side_effect=error)
    failure = failed()
    assert (failure.kind, failure.answered) == ("transient", False)
    assert route.call_count == 1


def test_the_reason_of_a_lost_connection_is_told_without_credentials(
    openai: respx.MockRouter,
) -> None:
    openai.post(URL).mock(side_effect=httpx.ReadError(f"reset by {SECRET}"))
    assert "APIConnectionError: Connection error. reset by ***" in str(failed())


def test_a_call_ends_with_its_time(openai: respx.MockRouter) -> None:
    async def never(_: httpx.Request) -> httpx.Response:
        await asyncio.Event().wait()
        raise AssertionError

    openai.post(URL).mock(side_effect=never)
    failure = failed(timeout=0.01)
    assert (failure.kind, failure.answered) == ("transient", False)


def test_the_time_of_a_call_is_the_transport_s_too(openai: respx.MockRouter) -> None:
    route = openai.post(URL).respond(json=body())
    ask(timeout=33.0)
    assert route.calls.last.request.headers["x-stainless-read-timeout"] == "33.0"


def test_replies_of_the_simulator_are_refused(openai: respx.MockRouter) -> None:
    route = openai.post(URL).respond(json=body() | {"system_fingerprint": FINGERPRINT})
    failure = failed()
    assert failure.fatal
    assert "unset OPENAI_BASE_URL, or record simulated/gpt-5.1" in str(failure)
    assert route.call_count == 1
    openai.post(f"{OWN_URL}/chat/completions").respond(
        json=body() | {"system_fingerprint": FINGERPRINT}
    )
    assert "mend its base_url in the roster" in str(mocker.failed(own))
    assert mocker.ask(simulated).text == "Five."
    openai.post(f"{OWN_URL}/chat/completions").respond(json=body())
    unmarked = mocker.failed(simulated)
    assert unmarked.fatal
    assert "bias_simulated_url does not lead to pytest-bias serve" in str(unmarked)
    error = {"code": "content_filter", "message": "filtered"}
    openai.post(f"{OWN_URL}/chat/completions").respond(400, json={"error": error})
    assert mocker.failed(simulated).fatal
    openai.post(URL).respond(json=body() | {"system_fingerprint": "fp_1"})
    assert ask().text == "Five."


# --- credentials ---------------------------------------------------------------------------------


@pytest.mark.parametrize("where", ["context", "environment"])
def test_no_credential_of_the_endpoint_is_told(
    openai: respx.MockRouter, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    url = "https://joe:p%40ss@example.org:8443/v1?token=t0ken"
    environ = {"OPENAI_BASE_URL": url} if where == "context" else {}
    if where == "environment":
        monkeypatch.setenv("OPENAI_BASE_URL", url)
    said = "joe:p%40ss, joe:p@ss, p@ss, token=t0ken, t0ken, am9lOnBAc3M=, https://joe:p%40ss@x"
    openai.route(host="example.org").respond(401, json={"error": {"message": said}})
    problem = str(mocker.failed(lambda: opened(**environ)))
    assert "HTTP 401" in problem
    for secret in ("joe", "p@ss", "p%40ss", "t0ken", "am9l"):
        assert secret not in problem


def test_a_custom_header_is_a_credential_and_is_not_told(
    openai: respx.MockRouter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "X-Gateway: gw-t0ken-1\nX-Stage: 1")
    openai.post(URL).respond(401, json={"error": {"message": "no gw-t0ken-1, 1"}})
    assert "no ***, 1" in str(failed())


def test_a_key_that_is_sent_back_in_a_reply_is_not_kept(openai: respx.MockRouter) -> None:
    openai.post(URL).respond(json=body(f"Your key is {SECRET}.") | {"echo": f"Bearer {SECRET}"})
    completion = ask()
    assert completion.text == "Your key is ***."
    assert SECRET not in dumps(completion)


@pytest.mark.parametrize("key", ["model", "stop", "null", "Five"])
def test_a_placeholder_for_a_key_is_no_secret_in_replies(
    openai: respx.MockRouter, key: str
) -> None:
    openai.post(URL).respond(json=body())
    completion = mocker.ask(lambda: opened(OPENAI_API_KEY=key))
    assert (completion.text, completion.body) == ("Five.", body())
    openai.post(URL).respond(401, json={"error": {"message": f"no {key}, and {key}s"}})
    problem = str(mocker.failed(lambda: opened(OPENAI_API_KEY=key)))
    assert problem.endswith(f"no ***, and {key}s")


def test_a_reply_is_read_where_a_key_is_the_name_of_a_field(openai: respx.MockRouter) -> None:
    openai.post(URL).respond(json=body("finish_reason"))
    completion = mocker.ask(lambda: opened(OPENAI_API_KEY="finish_reason"))
    assert (completion.text, completion.finish) == ("***", "other")


def test_the_key_is_sent_and_kept_nowhere(openai: respx.MockRouter) -> None:
    route = openai.post(URL).respond(json=body(), headers={"x-request-id": "r", "set-cookie": "c"})
    completion = ask()
    assert route.calls.last.request.headers["authorization"] == f"Bearer {SECRET}"
    kept = dumps(completion) + repr(completion)
    assert SECRET not in kept
    assert "x-request-id" not in kept
    assert "Five." not in repr(completion)


def test_credentials_for_openai_do_not_go_elsewhere(
    openai: respx.MockRouter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-openai")
    monkeypatch.setenv("OPENAI_ADMIN_KEY", "sk-of-openai")
    monkeypatch.setenv("OPENAI_ORG_ID", "org-of-openai")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "project-of-openai")
    monkeypatch.setenv(
        "OPENAI_CUSTOM_HEADERS", "authorization: Bearer sk-of-openai\nX-Gateway: gw-of-openai"
    )
    route = openai.post(f"{OWN_URL}/chat/completions").respond(
        json=body() | {"system_fingerprint": FINGERPRINT}
    )
    with pytest.raises(CallFailed):
        mocker.ask(own)
    mocker.ask(simulated)
    assert route.call_count == 2
    for call, key in zip(route.calls, (SECRET, "none-needed"), strict=True):
        assert call.request.headers["authorization"] == f"Bearer {key}"
        assert "of-openai" not in str(call.request.headers.raw)


# --- what is sent --------------------------------------------------------------------------------


def sent(openai: respx.MockRouter, request: Request = REQUEST, **how: Any) -> dict[str, Any]:
    route = openai.post(URL).respond(json=body())
    ask(request, **how)
    found: dict[str, Any] = json.loads(route.calls.last.request.content)
    return found


def test_only_what_is_asked_for_is_sent(openai: respx.MockRouter) -> None:
    assert sent(openai) == {
        "model": "gpt-5.1",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "How long?"},
        ],
    }


def test_a_conversation_is_sent_whole(openai: respx.MockRouter) -> None:
    turns = (Message("user", "a"), Message("assistant", "b"), Message("user", "c"))
    assert sent(openai, Request(turns, Parameters()))["messages"] == [
        {"role": "user", "content": "a"},
        {"role": "assistant", "content": "b"},
        {"role": "user", "content": "c"},
    ]


def test_parameters_and_schema(openai: respx.MockRouter) -> None:
    found = sent(openai, Request(REQUEST.messages, ALL, "Score", reply_schema(Score)))
    assert found["temperature"] == 0.5
    assert found["max_completion_tokens"] == 400
    assert "max_tokens" not in found
    assert found["seed"] == SEED % 2**31
    assert found["response_format"] == {
        "type": "json_schema",
        "json_schema": {
            "name": "Score",
            "schema": plain(reply_schema(Score)),
            "strict": True,
        },
    }


DROPPED = {
    "temperature": "temperature",
    "max_output_tokens": "max_completion_tokens",
    "seeded": "seed",
}


@pytest.mark.parametrize(("parameter", "field"), DROPPED.items())
def test_what_is_dropped_is_not_sent_and_is_named(
    openai: respx.MockRouter, parameter: str, field: str
) -> None:
    request = Request(REQUEST.messages, ALL)
    assert set(sent(openai, request)) - set(
        sent(openai, request, dropped=frozenset({parameter}))
    ) == {field}
    assert ask(request, dropped=frozenset({parameter})).dropped == (parameter,)


def test_what_was_not_set_is_not_named_as_dropped(openai: respx.MockRouter) -> None:
    openai.post(URL).respond(json=body())
    assert ask(dropped=frozenset(DROPPED)).dropped == ()
    assert ask(Request(REQUEST.messages, ALL), dropped=frozenset(DROPPED)).dropped == tuple(
        sorted(DROPPED)
    )


def test_seeds_are_sent_to_models_only_where_asked_for(openai: respx.MockRouter) -> None:
    assert "seed" not in json.dumps(sent(openai))


def test_endpoints_of_the_user_s_own_are_told_the_limit_by_its_older_name(
    openai: respx.MockRouter,
) -> None:
    route = openai.post(f"{OWN_URL}/chat/completions").respond(json=body())
    mocker.ask(own, Request(REQUEST.messages, ALL))
    found = json.loads(route.calls.last.request.content)
    assert (found["max_tokens"], found["seed"]) == (400, SEED % 2**31)
    assert "max_completion_tokens" not in found
    error = {"code": "unsupported_parameter", "param": "max_tokens", "message": "no"}
    openai.post(f"{OWN_URL}/chat/completions").respond(400, json={"error": error})
    failure = mocker.failed(own, Request(REQUEST.messages, ALL))
    assert failure.parameter == "max_output_tokens"
    assert str(failure).startswith("gateway/m: ")


NEWER = "'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."


def limits(route: respx.Route) -> list[str]:
    """By which name each request gave its limit."""
    bodies = [json.loads(call.request.content) for call in route.calls]
    return ["/".join(sorted(name for name in found if name.startswith("max"))) for found in bodies]


def test_an_own_endpoint_that_wants_the_newer_name_is_remembered_by_model(
    openai: respx.MockRouter,
) -> None:
    def answer(asked: httpx.Request) -> httpx.Response:
        if "max_tokens" in json.loads(asked.content):
            error = {"code": "unsupported_parameter", "param": "max_tokens", "message": NEWER}
            return httpx.Response(400, json={"error": error})
        return httpx.Response(200, json=body())

    route = openai.post(f"{OWN_URL}/chat/completions").mock(side_effect=answer)

    async def attempts() -> list[str]:
        provider = own()
        request = Request(REQUEST.messages, ALL)
        ends = []
        try:
            for model in ("m", "m", "m", "another", "another"):
                try:
                    ends.append((await provider.complete(model, request, Call(1))).text)
                except CallFailed as failed:
                    # One attempt per call: the collector counts them, and makes the next.
                    ends.append(failed.kind)
        finally:
            await provider.aclose()
        return ends

    with mocker.nothing_left():
        assert asyncio.run(attempts()) == ["transient", "Five.", "Five.", "transient", "Five."]
    older, newer = "max_tokens", "max_completion_tokens"
    assert limits(route) == [older, newer, newer, older, newer]


@pytest.mark.parametrize(
    ("status", "message", "parameters", "kind"),
    [
        (400, NEWER, ALL, "transient"),
        (400, NEWER, Parameters(), "fatal"),
        (400, "max_tokens is too large", ALL, "fatal"),
        (422, NEWER, ALL, "parameter"),
        (429, NEWER, ALL, "rate_limit"),
        (500, NEWER, ALL, "transient"),
    ],
)
def test_only_a_refusal_that_names_the_newer_limit_passes(
    openai: respx.MockRouter, status: int, message: str, parameters: Parameters, kind: str
) -> None:
    route = openai.post(f"{OWN_URL}/chat/completions").respond(
        status, json={"error": {"message": message}}
    )
    failed = mocker.failed(own, Request(REQUEST.messages, parameters))
    assert (route.call_count, failed.kind) == (1, kind)


def test_simulated_endpoints_are_always_sent_the_trial_s_seed(openai: respx.MockRouter) -> None:
    route = openai.post(f"{OWN_URL}/chat/completions").respond(
        json=body() | {"system_fingerprint": FINGERPRINT}
    )
    for parameters in (Parameters(), ALL):
        mocker.ask(simulated, Request(REQUEST.messages, parameters))
        found = json.loads(route.calls.last.request.content)
        assert found["pytest_bias_seed"] == SEED
        assert "seed" not in found


# --- opening -------------------------------------------------------------------------------------


@pytest.mark.parametrize("environ", [{}, {"OPENAI_API_KEY": ""}, {"OPENAI_API_KEY": " \n"}])
def test_a_missing_key_is_named_before_anything_is_sent(environ: dict[str, str]) -> None:
    with pytest.raises(MissingKey, match="OPENAI_API_KEY, which is not set"):
        open_provider("openai", ProviderContext(environ))


@pytest.mark.parametrize("key", ["sk-s3\ncret", "sk-s3cret…"])
def test_a_key_that_no_header_can_hold_is_not_told(key: str) -> None:
    with pytest.raises(BadSetting, match="OPENAI_API_KEY=…: ") as caught:
        opened(OPENAI_API_KEY=key)
    assert "cret" not in str(caught.value)


def test_a_missing_sdk_is_named_with_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "openai", None)
    context = ProviderContext({"OPENAI_API_KEY": "x"})
    for name in ("openai", "simulated"):
        with pytest.raises(MissingPackage, match=r"pip install 'pytest-bias\[openai\]'"):
            open_provider(name, context)


BAD_URLS = [
    "https://joe:s3cret/x@example.org/v1",
    "https://joe:s3cret@example.org:port/v1",
    "https://joe:s3cret@/v1",
    "joe:s3cret@example.org/v1",
    "s3cret",
    "https://s3cret\x00/v1",
]


@pytest.mark.parametrize("url", BAD_URLS)
def test_an_endpoint_that_is_no_url(url: str) -> None:
    with pytest.raises(BadSetting, match="OPENAI_BASE_URL=…: it is not a URL") as caught:
        opened(OPENAI_BASE_URL=url)
    assert "s3cret" not in str(caught.value)
    assert caught.value.__context__ is None
    with pytest.raises(BadSetting, match=r"\[endpoints\.mine\] base_url=…: it is not a URL"):
        OpenAIChat(Endpoint("mine", "x", url))


ENDPOINTS = {
    "the default": (None, ""),
    "none": ("", ""),
    "the default, spelled out": ("https://api.openai.com/v1", ""),
    "another": ("https://proxy.example:8443/secret/v1", " at https://proxy.example:8443"),
    "loopback": ("http://127.0.0.1:8000/v1", " at http://127.0.0.1:8000"),
    "credentials": ("https://joe:s3cret@example.org/v1?key=s3cret", " at https://example.org"),
}


@pytest.mark.parametrize(("url", "named"), ENDPOINTS.values(), ids=ENDPOINTS)
def test_wire_names_sdk_version_api_and_host(url: str | None, named: str) -> None:
    import openai as sdk  # noqa: PLC0415

    environ = {} if url is None else {"OPENAI_BASE_URL": url}
    assert mocker.wire(lambda: opened(**environ)) == (
        f"openai {sdk.__version__}, chat completions{named}"
    )


# --- reply schemas -------------------------------------------------------------------------------

NO_STRUCTURE = [
    "Invalid parameter: 'response_format' of type 'json_schema' is not supported with this model.",
    "This model does not support response format `json_schema`.",
    "This response_format type is unavailable now",
    "json_schema: Extra inputs are not permitted",
    "Unrecognized request argument supplied: response_format",
]
BAD_SCHEMA = [
    "Invalid schema for response_format 'Score': In context=(), 'minimum' is not permitted.",
    "response_format.schema: unknown keyword",
    "Invalid 'response_format': the name is too long",
]


@pytest.mark.parametrize("message", NO_STRUCTURE)
def test_models_that_refuse_a_schema(openai: respx.MockRouter, message: str) -> None:
    openai.post(URL).respond(
        400, json={"error": {"message": message, "param": None, "code": None}}
    )
    failure = failed(STRUCTURED)
    assert (failure.kind, failure.parameter) == ("parameter", "schema")
    # It cannot be the schema where none was sent.
    assert failed(Request(REQUEST.messages, Parameters(0.5))).kind == "fatal"


@pytest.mark.parametrize("message", BAD_SCHEMA)
def test_a_schema_that_is_wrong_is_no_refusal_of_schemas(
    openai: respx.MockRouter, message: str
) -> None:
    openai.post(URL).respond(
        400, json={"error": {"message": message, "param": None, "code": None}}
    )
    assert failed(STRUCTURED).kind == "fatal"


def test_a_schema_is_left_out_and_named(openai: respx.MockRouter) -> None:
    assert {"response_format"} & sent(openai, STRUCTURED).keys()
    assert not {"response_format"} & sent(openai, STRUCTURED, dropped=NO_SCHEMA).keys()
    assert ask(STRUCTURED, dropped=NO_SCHEMA).dropped == ("schema",)
    assert ask(REQUEST, dropped=NO_SCHEMA).dropped == ()


FIELDS_NAMED = {
    "response_format": "schema",
    "response_format.type": "schema",
    "response_format.json_schema.schema": None,
    "messages": None,
}


@pytest.mark.parametrize(("field", "parameter"), FIELDS_NAMED.items())
def test_the_field_an_error_names_is_the_one_refused(
    openai: respx.MockRouter, field: str, parameter: str | None
) -> None:
    said = {"message": "Not this.", "param": field, "code": "unsupported_value"}
    openai.post(URL).respond(400, json={"error": said})
    assert failed(STRUCTURED).parameter == parameter
