"""The adapter of OpenAI's Chat Completions, over the real SDK and mocked replies."""

from __future__ import annotations

import asyncio
import gc
import json
import sys
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
import respx

from pytest_bias.canonical import dumps, plain
from pytest_bias.errors import BadSetting, CallFailed, MissingKey, MissingPackage
from pytest_bias.messages import Completion, Message, Parameters, Request
from pytest_bias.providers.base import ProviderContext, open_provider
from pytest_bias.simulator.server import FINGERPRINT

from . import mocker

assert mocker.HTTPX2Mocker.name == "httpx2"  # importing it is what registers it

URL = "https://api.openai.com/v1/chat/completions"
SECRET = "sk-proj-" + "s3cret" * 6
REQUEST = Request((Message("system", "Be brief."), Message("user", "How long?")), Parameters())


@pytest.fixture
def openai() -> Iterator[respx.MockRouter]:
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


def ask(request: Request = REQUEST) -> Completion:
    """One call through a provider of its own."""

    async def call() -> Completion:
        provider = open_provider("openai", ProviderContext({"OPENAI_API_KEY": SECRET}))
        try:
            return await provider.complete("gpt-5.1", request, 42)
        finally:
            await provider.aclose()

    try:
        return asyncio.run(call())
    finally:
        gc.collect()  # a connection left open would fail here, and not in somebody else's test


def failed(request: Request = REQUEST) -> CallFailed:
    with pytest.raises(CallFailed) as caught:
        ask(request)
    assert str(caught.value).startswith("openai/gpt-5.1: ")
    assert SECRET not in str(caught.value)
    return caught.value


# --- replies -------------------------------------------------------------------------------------


def test_a_completion(openai: respx.MockRouter) -> None:
    openai.post(URL).respond(json=body())
    completion = ask()
    assert (completion.text, completion.finish) == ("Five.", "stop")
    assert completion.served_model == "gpt-5.1-2026-01-01"
    assert completion.usage == {"input": 7, "output": 2}
    assert completion.body == body()
    assert completion.latency is not None
    assert completion.latency >= 0
    assert completion.recorded_at is not None
    assert completion.recorded_at.endswith("+00:00")


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


def test_usage_may_be_missing(openai: respx.MockRouter) -> None:
    openai.post(URL).respond(json=body() | {"usage": None})
    assert ask().usage == {"input": 0, "output": 0}
    openai.post(URL).respond(json=body() | {"usage": {"prompt_tokens": None}})
    assert ask().usage == {"input": 0, "output": 0}


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
    "no model": '{"choices": [{"message": {"content": "x"}}]}',
    "content in parts": json.dumps(body([{"type": "text", "text": "x"}])),
    "NaN": json.dumps(body() | {"logprob": float("nan")}),
    "nested": "[" * 100_000,
}


@pytest.mark.parametrize("text", MALFORMED.values(), ids=MALFORMED)
def test_malformed_replies_are_failed_calls_and_paid_once(
    openai: respx.MockRouter, text: str
) -> None:
    route = openai.post(URL).respond(text=text, content_type="application/json")
    assert not failed().fatal
    assert route.call_count == 1


# --- failures ------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [400, 401, 403, 404, 422])
def test_what_no_later_call_can_mend_is_not_tried_again(
    openai: respx.MockRouter, status: int
) -> None:
    error = {"error": {"message": f"bad key {SECRET}", "type": "x", "code": "y"}}
    route = openai.post(URL).respond(status, json=error)
    failure = failed()
    assert failure.fatal
    assert f"HTTP {status}" in str(failure)
    assert "bad key ***" in str(failure)
    assert route.call_count == 1


@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503])
def test_what_may_pass_is_tried_again_and_is_not_fatal(
    openai: respx.MockRouter, status: int
) -> None:
    route = openai.post(URL).respond(status, headers={"retry-after-ms": "1"}, text="busy")
    failure = failed()
    assert not failure.fatal
    assert f"HTTP {status}" in str(failure)
    assert route.call_count > 1


def test_a_call_that_succeeds_in_the_end(openai: respx.MockRouter) -> None:
    route = openai.post(URL)
    route.side_effect = [
        httpx.Response(500, headers={"retry-after-ms": "1"}),
        httpx.Response(429, headers={"retry-after-ms": "1"}),
        httpx.Response(200, json=body()),
    ]
    assert ask().text == "Five."
    assert route.call_count == 3


@pytest.mark.parametrize(
    ("error", "name"),
    [
        (httpx.ConnectError("no route to host"), "APIConnectionError"),
        (httpx.ReadError("reset by peer"), "APIConnectionError"),
        (httpx.RemoteProtocolError("closed"), "APIConnectionError"),
        (httpx.ConnectTimeout("slow"), "APITimeoutError"),
        (httpx.ReadTimeout("slow"), "APITimeoutError"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_connections_that_fail(
    openai: respx.MockRouter, error: Exception, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("openai._base_client.INITIAL_RETRY_DELAY", 0.0)
    openai.post(URL).mock(side_effect=error)
    failure = failed()
    assert not failure.fatal
    assert name in str(failure)


def test_replies_of_the_simulator_are_refused(openai: respx.MockRouter) -> None:
    route = openai.post(URL).respond(json=body() | {"system_fingerprint": FINGERPRINT})
    failure = failed()
    assert failure.fatal
    assert "record simulated/gpt-5.1" in str(failure)
    assert route.call_count == 1
    openai.post(URL).respond(json=body() | {"system_fingerprint": "fp_1"})
    assert ask().text == "Five."


def test_no_credential_of_the_endpoint_is_told(
    openai: respx.MockRouter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "https://joe:p%40ss@example.org:8443/v1?token=t0k")
    said = "joe:p%40ss, joe:p@ss, p@ss, token=t0k, https://joe:p%40ss@example.org"
    openai.route(host="example.org").respond(401, json={"error": {"message": said}})
    problem = str(failed())
    assert "HTTP 401" in problem
    for secret in ("joe", "p@ss", "p%40ss", "t0k"):
        assert secret not in problem


def test_an_endpoint_that_is_no_url(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "https://joe:s3cret/x@example.org/v1")
    with pytest.raises(BadSetting, match="OPENAI_BASE_URL=…: it is not a URL") as caught:
        open_provider("openai", ProviderContext({"OPENAI_API_KEY": "x"}))
    assert "s3cret" not in str(caught.value)


# --- requests ------------------------------------------------------------------------------------


def sent(openai: respx.MockRouter, request: Request) -> dict[str, Any]:
    route = openai.post(URL).respond(json=body())
    ask(request)
    found: dict[str, Any] = json.loads(route.calls.last.request.content)
    return found


def test_only_what_is_asked_for_is_sent(openai: respx.MockRouter) -> None:
    assert sent(openai, REQUEST) == {
        "model": "gpt-5.1",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "How long?"},
        ],
    }


def test_parameters_and_schema(openai: respx.MockRouter) -> None:
    from pytest_bias.replies import reply_schema  # noqa: PLC0415

    from ..core.factories import Score  # noqa: PLC0415

    request = Request(
        (Message("user", "Rate."),), Parameters(1.0, 400), "Score", reply_schema(Score)
    )
    found = sent(openai, request)
    assert found["temperature"] == 1.0
    assert found["max_completion_tokens"] == 400
    assert found["response_format"] == {
        "type": "json_schema",
        "json_schema": {
            "name": "Score",
            "schema": plain(reply_schema(Score)),
            "strict": True,
        },
    }


def test_the_seed_of_simulated_endpoints_is_not_sent_to_a_model(openai: respx.MockRouter) -> None:
    assert "seed" not in json.dumps(sent(openai, REQUEST))


def test_the_key_is_sent_and_kept_nowhere(openai: respx.MockRouter) -> None:
    route = openai.post(URL).respond(json=body(), headers={"x-request-id": "r", "set-cookie": "c"})
    completion = ask()
    assert route.calls.last.request.headers["authorization"] == f"Bearer {SECRET}"
    kept = dumps(completion) + repr(completion)
    assert SECRET not in kept
    assert "x-request-id" not in kept
    assert "Five." not in repr(completion)


def test_a_missing_key_is_named_before_anything_is_sent(openai: respx.MockRouter) -> None:
    route = openai.post(URL).respond(json=body())
    for environ in ({}, {"OPENAI_API_KEY": ""}):
        with pytest.raises(MissingKey, match="OPENAI_API_KEY, which is not set"):
            open_provider("openai", ProviderContext(environ))
    assert not route.called


def test_a_missing_sdk_is_named_with_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "openai", None)
    context = ProviderContext({"OPENAI_API_KEY": "x"})
    for name in ("openai", "simulated"):
        with pytest.raises(MissingPackage, match=r"pip install 'pytest-bias\[openai\]'"):
            open_provider(name, context)


ENDPOINTS = {
    "the default": (None, ""),
    "the default, spelled out": ("https://api.openai.com/v1", ""),
    "another": ("https://proxy.example:8443/secret/v1", " at https://proxy.example:8443"),
    "loopback": ("http://127.0.0.1:8000/v1", " at http://127.0.0.1:8000"),
    "credentials": ("https://joe:s3cret@example.org/v1?key=s3cret", " at https://example.org"),
}


@pytest.mark.parametrize(("url", "named"), ENDPOINTS.values(), ids=ENDPOINTS)
def test_wire_names_sdk_version_api_and_host(
    monkeypatch: pytest.MonkeyPatch, url: str | None, named: str
) -> None:
    import openai as sdk  # noqa: PLC0415

    if url is not None:
        monkeypatch.setenv("OPENAI_BASE_URL", url)

    async def wire() -> str:
        provider = open_provider("openai", ProviderContext({"OPENAI_API_KEY": "x"}))
        await provider.aclose()
        return provider.wire

    assert asyncio.run(wire()) == f"openai {sdk.__version__}, chat completions{named}"
    gc.collect()
