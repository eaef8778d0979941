"""The adapter of Google's generateContent, over the real SDK: mocked replies, then loopback."""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import httpx2
import pytest
import respx

from pytest_bias.canonical import dumps, plain
from pytest_bias.cassettes.store import Cassette, cassette_path
from pytest_bias.collection import Job, Terms, collect
from pytest_bias.errors import BadSetting, BiasError, CallFailed, MissingKey, MissingPackage
from pytest_bias.experiment import Players, SimulatedPrompt, plan
from pytest_bias.messages import Completion, Message, Parameters, Request
from pytest_bias.providers.base import (
    Call,
    Endpoint,
    Provider,
    ProviderContext,
    open_provider,
)
from pytest_bias.providers.google_contents import GoogleContents
from pytest_bias.replay import replay
from pytest_bias.replies import reply_schema
from pytest_bias.roster import EndpointEntry
from pytest_bias.settings import Limits
from pytest_bias.simulator.faults import Fault
from pytest_bias.simulator.server import FINGERPRINT, SimulatorServer

from ..core.factories import Score, ask_twice, experiment
from ..helpers import Endpoint as Listener
from ..helpers import serving
from . import mocker

assert mocker.HTTPX2Mocker.name == "httpx2"  # importing it is what registers it

MODEL = "gemini-2.0-flash-lite-001"
HOST = "https://generativelanguage.googleapis.com"
PATH = f"/v1beta/models/{MODEL}:generateContent"
URL = HOST + PATH
SECRET = "AIza" + "s3cret" * 6
USER = Message("user", "How long?")
REQUEST = Request((Message("system", "Be brief."), USER), Parameters())
SET = Request((USER,), Parameters(0.5, 400, seeded=True))
DETAIL = "type.googleapis.com/google.rpc."


@pytest.fixture(autouse=True)
def _only_what_the_test_sets(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GEMINI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)


def body(text: str = "Five.", **changes: Any) -> dict[str, Any]:
    """A reply as the API sends it."""
    content = {"role": "model", "parts": [{"text": text}]}
    return {
        "candidates": [{"content": content, "finishReason": "STOP", "index": 0}],
        "usageMetadata": {
            "promptTokenCount": 7,
            "candidatesTokenCount": 2,
            "totalTokenCount": 14,
            "thoughtsTokenCount": 5,
        },
        "modelVersion": f"{MODEL}-served",
        "responseId": "r1",
    } | changes


def candidate(reason: str | None = "STOP", *parts: Any, **changes: Any) -> dict[str, Any]:
    """A reply whose candidate ended for ``reason``, with these parts."""
    found: dict[str, Any] = {"content": {"role": "model", "parts": list(parts)}}
    if reason is not None:
        found["finishReason"] = reason
    return body(candidates=[found | changes])


def refusal(status: int, message: str, *details: dict[str, Any], word: str = "X") -> str:
    """An error body as the API sends it."""
    error = {"code": status, "message": message, "status": word, "details": list(details)}
    return json.dumps({"error": error})


def called(provider: Provider, request: Request, call: Call, *, model: str = MODEL) -> Completion:
    """One call, after which the provider is closed."""

    async def run() -> Completion:
        try:
            return await provider.complete(model, request, call)
        finally:
            await provider.aclose()

    try:
        return asyncio.run(run())
    finally:
        gc.collect()  # a connection left open would fail here, and not in somebody else's test


def opened(**environ: str) -> Provider:
    return open_provider("google", ProviderContext({"GEMINI_API_KEY": SECRET} | environ))


@dataclass
class Google:
    """Google's API as ``router`` mocks it, called through one provider."""

    provider: Provider
    runner: asyncio.Runner
    router: respx.MockRouter

    def answers(self, status: int = 200, **reply: Any) -> respx.Route:
        """Answer every call of :data:`MODEL` so."""
        return self.router.post(URL).respond(status, **reply)

    def ask(
        self,
        request: Request = REQUEST,
        *,
        model: str = MODEL,
        seed: int = 42,
        dropped: tuple[str, ...] = (),
    ) -> Completion:
        """One call."""
        call = Call(seed, dropped=frozenset(dropped))
        return self.runner.run(self.provider.complete(model, request, call))

    def failed(self, request: Request = REQUEST, *, model: str = MODEL) -> CallFailed:
        """The failure of one call, which tells no secret."""
        with pytest.raises(CallFailed) as caught:
            self.ask(request, model=model)
        failure = caught.value
        assert str(failure).startswith(f"google/{model}: ")
        assert SECRET not in str(failure)
        # The SDK's error holds the request and its headers.
        assert failure.__cause__ is failure.__context__ is None
        return failure

    def sent(self, request: Request, **given: Any) -> dict[str, Any]:
        """The body of one call."""
        route = self.answers(json=body())
        self.ask(request, **given)
        found: dict[str, Any] = json.loads(route.calls.last.request.content)
        return found


@pytest.fixture(scope="module")
def shared() -> Iterator[tuple[Provider, asyncio.Runner]]:
    """A provider and its event loop: making one takes 50 ms."""
    with asyncio.Runner() as runner:

        async def made() -> Provider:
            return opened()

        provider = runner.run(made())
        yield provider, runner
        runner.run(provider.aclose())
    gc.collect()


@pytest.fixture
def google(shared: tuple[Provider, asyncio.Runner]) -> Iterator[Google]:
    with respx.mock(using="httpx2", assert_all_called=False) as router:
        yield Google(*shared, router)


# --- replies -------------------------------------------------------------------------------------


def test_a_completion(google: Google) -> None:
    google.answers(json=body())
    completion = google.ask()
    assert (completion.text, completion.finish) == ("Five.", "stop")
    assert completion.served_model == f"{MODEL}-served"
    assert completion.usage == {"input": 7, "output": 2 + 5}
    assert completion.body == body()
    assert completion.dropped == ()
    assert completion.latency is not None
    assert completion.latency > 0
    assert completion.recorded_at is not None
    assert completion.recorded_at.endswith("+00:00")


TEXT = {"text": "Five."}
THOUGHT = {"text": "Hm.", "thought": True}
BLOCKED = body(promptFeedback={"blockReason": "PROHIBITED_CONTENT"})
FINISHES: dict[str, tuple[dict[str, Any], str, str]] = {
    "stop": (candidate("STOP", TEXT), "Five.", "stop"),
    "several parts": (candidate("STOP", {"text": "Fi"}, {"text": "ve."}), "Five.", "stop"),
    "thoughts": (candidate("STOP", THOUGHT, TEXT), "Five.", "stop"),
    "other parts": (candidate("STOP", {"inlineData": {}}, TEXT), "Five.", "stop"),
    "length": (candidate("MAX_TOKENS", {"text": "Fi"}), "Fi", "length"),
    "length while thinking": (candidate("MAX_TOKENS", content={"role": "model"}), "", "length"),
    "to be continued": (candidate("CONTINUATION", TEXT), "Five.", "length"),
    "safety": (candidate("SAFETY"), "", "content_filter"),
    "safety, no content": (body(candidates=[{"finishReason": "SAFETY"}]), "", "content_filter"),
    "prohibited": (candidate("PROHIBITED_CONTENT"), "", "content_filter"),
    "blocklist": (candidate("BLOCKLIST"), "", "content_filter"),
    "personal data": (candidate("SPII"), "", "content_filter"),
    "recitation": (candidate("RECITATION", {"text": "F"}), "F", "content_filter"),
    "image safety": (candidate("IMAGE_SAFETY"), "", "content_filter"),
    "prohibited image": (candidate("IMAGE_PROHIBITED_CONTENT"), "", "content_filter"),
    "recited image": (candidate("IMAGE_RECITATION"), "", "content_filter"),
    "an escalation rule": (candidate("ESCALATION"), "", "content_filter"),
    "Model Armor": (candidate("MODEL_ARMOR"), "", "content_filter"),
    "prompt blocked": (
        {k: BLOCKED[k] for k in BLOCKED if k != "candidates"},
        "",
        "content_filter",
    ),
    "prompt blocked, empty list": (BLOCKED | {"candidates": []}, "", "content_filter"),
    "a language": (candidate("LANGUAGE", TEXT), "Five.", "other"),
    "a tool": (candidate("MALFORMED_FUNCTION_CALL"), "", "other"),
    "no end": (candidate(None, TEXT), "Five.", "other"),
    "empty": (candidate("STOP", {"text": ""}), "", "stop"),
    "nothing": (candidate("STOP", content={}), "", "stop"),
    "a lone surrogate": (candidate("STOP", {"text": "\ud83d"}), "\ud83d", "stop"),
    "the first of two": (
        body(candidates=candidate("STOP", TEXT)["candidates"] + [{"finishReason": "OTHER"}]),
        "Five.",
        "stop",
    ),
}


@pytest.mark.parametrize(("reply", "text", "finish"), FINISHES.values(), ids=FINISHES)
def test_how_replies_end(google: Google, reply: dict[str, Any], text: str, finish: str) -> None:
    route = google.answers(text=json.dumps(reply), content_type="application/json")
    completion = google.ask()
    assert (completion.text, completion.finish) == (text, finish)
    assert json.loads(dumps(completion.body)) == reply
    assert route.call_count == 1


SDK_READS = {name: reply for name, (reply, *_) in FINISHES.items() if "surrogate" not in name}


@pytest.mark.parametrize("reply", SDK_READS.values(), ids=SDK_READS)
def test_the_sdks_own_type_reads_the_stored_body(google: Google, reply: dict[str, Any]) -> None:
    from google.genai import types  # noqa: PLC0415  (slow to import, as in the provider)

    google.answers(json=reply)
    completion = google.ask()
    again = types.GenerateContentResponse.model_validate(plain(completion.body, "body"))
    assert (again.text or "") == completion.text
    assert again.usage_metadata is not None
    assert again.usage_metadata.prompt_token_count == completion.usage["input"]
    assert again.model_version == completion.served_model


def test_a_model_that_is_not_named_is_not_said(google: Google) -> None:
    reply = body()
    del reply["modelVersion"]
    google.answers(json=reply)
    assert google.ask().served_model == ""


USAGES: list[object] = [None, {}, {"promptTokenCount": None}, "7", {"promptTokenCount": "many"}]


@pytest.mark.parametrize("usage", USAGES)
def test_usage_that_is_missing_is_left_out(google: Google, usage: object) -> None:
    google.answers(json=body(usageMetadata=usage))
    assert google.ask().usage == {}
    google.answers(json=body(usageMetadata={"promptTokenCount": 7}))
    assert google.ask().usage == {"input": 7}
    google.answers(json=body(usageMetadata={"thoughtsTokenCount": 5}))  # a 0 is not written
    assert google.ask().usage == {"output": 5}


MALFORMED = {
    "not json": "<html>502</html>",
    "half": '{"candidates": [{"con',
    "nothing": "",
    "a list": "[]",
    "null": "null",
    "a text": '"Five."',
    "an error with status 200": refusal(500, "oops"),
    "no candidate": json.dumps(body(candidates=[])),
    "no candidates": '{"modelVersion": "x"}',
    "candidates are null": json.dumps(body(candidates=None)),
    "candidates as text": json.dumps(body(candidates="Five.")),
    "a candidate of nothing": json.dumps(body(candidates=[{}])),
    "candidate is null": json.dumps(body(candidates=[None])),
    "content as text": json.dumps(candidate("STOP", content="Five.")),
    "part as text": json.dumps(candidate("STOP", "Five.")),
    "text is a number": json.dumps(candidate("STOP", {"text": 5})),
    "finish is a list": json.dumps(candidate(finishReason=["STOP"])),
    "nested": "[" * 100_000,
}


@pytest.mark.parametrize("text", MALFORMED.values(), ids=MALFORMED)
def test_malformed_replies_are_failed_calls_and_paid_once(google: Google, text: str) -> None:
    route = google.answers(text=text, content_type="application/json")
    failure = google.failed()
    assert (failure.kind, failure.answered) == ("reply", True)
    assert "is not a generateContent reply" in str(failure)
    assert route.call_count == 1


def test_a_reply_that_cannot_be_unpacked() -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 5\r\n\r\n"

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(head + b"Five.")
        await writer.drain()
        writer.close()
        await writer.wait_closed()

    async def run() -> None:
        async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
            port = server.sockets[0].getsockname()[1]
            provider = GoogleContents(Endpoint("own", SECRET, f"http://127.0.0.1:{port}"))
            try:
                await provider.complete(MODEL, REQUEST, Call(1))
            finally:
                await provider.aclose()

    with pytest.raises(CallFailed) as caught:
        asyncio.run(run())
    gc.collect()
    assert caught.value.kind == "reply"


def test_a_key_sent_back_in_a_reply_is_not_kept(google: Google) -> None:
    google.answers(json=body(f"Your key is {SECRET}."))
    completion = google.ask()
    assert completion.text == "Your key is ***."
    assert SECRET not in dumps(completion.body)


# --- failures ------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [302, 400, 401, 403, 404, 422])
def test_what_no_later_call_can_mend_is_fatal(google: Google, status: int) -> None:
    message = f"API key not valid: {SECRET}"
    route = google.answers(status, text=refusal(status, message))
    failure = google.failed()
    assert (failure.kind, failure.fatal) == ("fatal", True)
    assert f"HTTP {status}: API key not valid: ***" in str(failure)
    assert route.call_count == 1


@pytest.mark.parametrize("status", [408, 500, 502, 503, 504])
def test_what_may_pass_is_transient_and_tried_once(google: Google, status: int) -> None:
    route = google.answers(status, text=refusal(status, "overloaded"))
    failure = google.failed()
    assert (failure.kind, failure.answered, failure.retry_after) == ("transient", True, None)
    assert f"HTTP {status}: overloaded" in str(failure)
    assert route.call_count == 1


RETRY_INFO = {"@type": f"{DETAIL}RetryInfo", "retryDelay": "7s"}
WAITS: dict[str, tuple[list[dict[str, Any]], dict[str, str], float | None]] = {
    "nothing said": ([], {}, None),
    "RetryInfo": ([RETRY_INFO], {}, 7.0),
    "RetryInfo in fractions": ([RETRY_INFO | {"retryDelay": "1.5s"}], {}, 1.5),
    "Retry-After": ([], {"Retry-After": "9"}, 9.0),
    "both": ([RETRY_INFO], {"Retry-After": "9"}, 7.0),
    "RetryInfo of nonsense": ([RETRY_INFO | {"retryDelay": "-1s"}], {"Retry-After": "9"}, 9.0),
    "no RetryInfo": ([RETRY_INFO | {"retryDelay": None}], {}, None),
}


@pytest.mark.parametrize(("details", "headers", "wait"), WAITS.values(), ids=WAITS)
def test_rate_limits_say_how_long_to_wait(
    google: Google,
    details: list[dict[str, Any]],
    headers: dict[str, str],
    wait: float | None,
) -> None:
    text = refusal(429, "check your plan and billing details", *details)
    route = google.answers(429, text=text, headers=headers)
    failure = google.failed()
    assert (failure.kind, failure.retry_after) == ("rate_limit", wait)
    assert route.call_count == 1


def quota(**violation: str) -> dict[str, Any]:
    return {"@type": f"{DETAIL}QuotaFailure", "violations": [violation]}


@pytest.mark.parametrize(
    ("violation", "kind"),
    [
        ({"quotaId": "GenerateRequestsPerDayPerProjectPerModel-FreeTier"}, "fatal"),
        ({"quotaMetric": "x.googleapis.com/generate_requests_per_model_per_day"}, "fatal"),
        ({"quotaId": "GenerateRequestsPerMinutePerProjectPerModel-FreeTier"}, "rate_limit"),
        ({}, "rate_limit"),
    ],
)
def test_a_quota_of_the_day_is_fatal(google: Google, violation: dict[str, str], kind: str) -> None:
    google.answers(429, text=refusal(429, "quota", quota(**violation), RETRY_INFO))
    assert google.failed().kind == kind


UNREADABLE: dict[str, tuple[int, bytes, str]] = {
    "a page": (502, b"<html>Bad Gateway</html>", "transient"),
    "a page in Latin-1": (502, "<html>Défaut</html>".encode("latin-1"), "transient"),
    "a page with a 4xx": (404, b"<html>Not Found</html>", "fatal"),
    "nothing": (503, b"", "transient"),
    "nested": (500, b"[" * 100_000, "transient"),
    "a list": (503, b'[{"error": {"message": "busy"}}]', "transient"),
    "two": (503, b"[1, 2]", "transient"),
    "a text": (503, b'"busy"', "transient"),
    "an error as text": (503, b'{"error": "busy"}', "transient"),
    "a message as number": (503, b'{"error": {"message": 5}}', "transient"),
    "details as text": (429, b'{"error": {"message": "x", "details": "y"}}', "rate_limit"),
    "details of nothing": (429, b'{"error": {"message": "x", "details": [1]}}', "rate_limit"),
}


@pytest.mark.parametrize(("status", "content", "kind"), UNREADABLE.values(), ids=UNREADABLE)
def test_errors_that_are_not_googles(
    google: Google, status: int, content: bytes, kind: str
) -> None:
    google.answers(status, content=content)
    failure = google.failed()
    assert failure.kind == kind
    assert f"HTTP {status}: " in str(failure)


def test_a_page_is_not_told_whole(google: Google) -> None:
    google.answers(502, text="<p>" * 10_000)
    assert len(str(google.failed())) < 700


@pytest.mark.parametrize(
    "error",
    [
        httpx.ConnectError("no route to host"),
        httpx.ReadError("reset by peer"),
        httpx.RemoteProtocolError("closed"),
        httpx.ConnectTimeout("slow"),
        httpx.ReadTimeout("slow"),
        httpx.PoolTimeout("slow"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_connections_that_fail_may_have_to_be_paid(google: Google, error: Exception) -> None:
    route = google.router.post(URL).mock(side_effect=error)
    failure = google.failed()
    assert (failure.kind, failure.answered) == ("transient", False)
    assert f"{type(error).__name__}: {error}" in str(failure)
    assert route.call_count == 1


UNKNOWN_SEED = "Invalid JSON payload received. Unknown name \"seed\" at 'generation_config'"
REFUSED: dict[str, tuple[str, list[dict[str, Any]], str | None]] = {
    "temperature": ("temperature is not supported by this model", [], "temperature"),
    "a field": (
        "Request contains an invalid argument.",
        [{"field": "generation_config.temperature", "description": "Unsupported."}],
        "temperature",
    ),
    "limit": ("maxOutputTokens isn't supported for this model", [], "max_output_tokens"),
    "limit, the other way": ("max_output_tokens is unsupported", [], "max_output_tokens"),
    "seed": (
        UNKNOWN_SEED,
        [{"field": "generation_config", "description": UNKNOWN_SEED}],
        "seeded",
    ),
    "out of range": ("temperature must be in the range [0, 2]", [], None),
    "not sent": ("top_p is not supported", [], None),
    "no parameter": ("API key not valid. Please pass a valid API key.", [], None),
}


@pytest.mark.parametrize(("message", "fields", "parameter"), REFUSED.values(), ids=REFUSED)
def test_refused_parameters(
    google: Google, message: str, fields: list[dict[str, Any]], parameter: str | None
) -> None:
    bad = {"@type": f"{DETAIL}BadRequest", "fieldViolations": fields}
    google.answers(400, text=refusal(400, message, bad))
    failure = google.failed(SET)
    assert failure.parameter == parameter
    assert failure.kind == ("fatal" if parameter is None else "parameter")
    assert google.failed(REQUEST).kind == "fatal"  # where none was sent, none can be left out


def test_replies_of_the_simulator_are_refused(google: Google) -> None:
    route = google.answers(json=body(system_fingerprint=FINGERPRINT))
    failure = google.failed()
    assert failure.fatal
    assert f"unset GOOGLE_GEMINI_BASE_URL, or record simulated/{MODEL}" in str(failure)
    assert route.call_count == 1
    google.router.post("https://own.example" + PATH).respond(
        json=body(system_fingerprint=FINGERPRINT)
    )
    own = GoogleContents(Endpoint("own", SECRET, "https://own.example"))
    with pytest.raises(CallFailed, match="mend its base_url in the roster"):
        called(own, REQUEST, Call(1))


def test_a_reply_that_is_not_the_simulator_s_is_no_simulated_subject_s(google: Google) -> None:
    google.answers(json=body())
    endpoint = Endpoint("simulated", "none-needed", HOST, simulated=True)
    words = "bias_simulated_url does not lead to pytest-bias serve"
    with pytest.raises(CallFailed, match=words) as caught:
        called(GoogleContents(endpoint), REQUEST, Call(1))
    assert caught.value.fatal


def test_a_call_ends_with_its_time(google: Google) -> None:
    async def never(_: httpx.Request) -> httpx.Response:
        async with asyncio.timeout(10):  # a call without an end fails the test
            await asyncio.Event().wait()
        raise AssertionError

    google.router.post(URL).mock(side_effect=never)
    with pytest.raises(CallFailed, match="TimeoutError: no answer in time") as caught:
        called(opened(), REQUEST, Call(1, timeout=0.05))
    assert (caught.value.kind, caught.value.answered) == ("transient", False)


@pytest.mark.parametrize("key", ["text", "STOP", "null", "model"])
def test_a_placeholder_for_a_key_is_no_secret_in_replies(google: Google, key: str) -> None:
    google.answers(json=body())
    completion = called(opened(GEMINI_API_KEY=key), REQUEST, Call(1))
    assert (completion.text, completion.finish, completion.body) == ("Five.", "stop", body())


@pytest.mark.parametrize("model", ["a/../b", "a?key=b", "a\nb"])
def test_models_no_request_can_be_made_for(google: Google, model: str) -> None:
    route = google.router.route().respond(json=body())
    failure = google.failed(model=model)
    assert failure.fatal
    assert "the request cannot be sent" in str(failure)
    assert not route.called


def test_a_conversation_needs_a_message(google: Google) -> None:
    route = google.answers(json=body())
    failure = google.failed(Request((Message("system", "Be brief."),), Parameters()))
    assert failure.fatal
    assert "contents are required" in str(failure)
    assert not route.called


def test_no_credential_of_the_endpoint_is_told(google: Google) -> None:
    said = "joe:p%40ss, joe:p@ss, p@ss, token=t0ken, https://joe:p%40ss@example.org"
    google.router.route(host="example.org").respond(401, text=refusal(401, said))
    url = "https://joe:p%40ss@example.org:8443/v1?token=t0ken"
    provider = opened(GOOGLE_GEMINI_BASE_URL=url)
    assert provider.wire(MODEL).endswith("generateContent at https://example.org:8443")
    with pytest.raises(CallFailed) as caught:
        called(provider, REQUEST, Call(1))
    assert "HTTP 401" in str(caught.value)
    for secret in ("joe", "p@ss", "p%40ss", "t0ken"):
        assert secret not in str(caught.value)


# --- requests ------------------------------------------------------------------------------------


def test_only_what_is_asked_for_is_sent(google: Google) -> None:
    found = google.sent(REQUEST)
    assert found.pop("generationConfig", {}) == {}
    assert found == {
        "systemInstruction": {"parts": [{"text": "Be brief."}]},
        "contents": [{"role": "user", "parts": [{"text": "How long?"}]}],
    }


def test_conversations_are_sent_whole(google: Google) -> None:
    turns = (USER, Message("assistant", "five"), Message("user", ""))
    found = google.sent(Request(turns, Parameters()))
    assert "systemInstruction" not in found
    assert found["contents"] == [
        {"role": "user", "parts": [{"text": "How long?"}]},
        {"role": "model", "parts": [{"text": "five"}]},
        {"role": "user", "parts": [{"text": ""}]},
    ]


def test_parameters_are_sent(google: Google) -> None:
    assert google.sent(SET, seed=2**31 + 5)["generationConfig"] == {
        "temperature": 0.5,
        "maxOutputTokens": 400,
        "seed": 5,
    }
    zero = Request((USER,), Parameters(0.0))
    assert google.sent(zero)["generationConfig"] == {"temperature": 0.0}


def test_the_schema_is_sent_as_it_is(google: Google) -> None:
    schema = reply_schema(Score)
    found = google.sent(Request((USER,), Parameters(), "Score", schema))
    assert found["generationConfig"] == {
        "responseMimeType": "application/json",
        "responseJsonSchema": plain(schema),
    }


def test_what_is_dropped_is_not_sent_and_named(google: Google) -> None:
    assert google.sent(SET, dropped=("temperature", "seeded"))["generationConfig"] == {
        "maxOutputTokens": 400
    }
    assert google.ask(SET, dropped=("temperature", "seeded")).dropped == ("seeded", "temperature")
    assert google.ask(REQUEST, dropped=("temperature",)).dropped == ()  # it was not set


def test_the_seed_of_simulated_endpoints_is_not_sent_to_a_model(google: Google) -> None:
    assert "seed" not in json.dumps(google.sent(REQUEST))


def test_simulated_endpoints_are_sent_the_whole_seed(google: Google) -> None:
    route = google.router.post("http://127.0.0.1:9" + PATH).respond(
        json=body(system_fingerprint=FINGERPRINT)
    )
    endpoint = Endpoint("simulated", "none-needed", "http://127.0.0.1:9", simulated=True)
    completion = called(GoogleContents(endpoint), SET, Call(2**60 - 1))
    found = json.loads(route.calls.last.request.content)
    assert found["pytest_bias_seed"] == 2**60 - 1
    assert found["generationConfig"] == {"temperature": 0.5, "maxOutputTokens": 400}
    assert completion.body["system_fingerprint"] == FINGERPRINT


def test_the_time_out_is_that_of_the_call(google: Google, monkeypatch: pytest.MonkeyPatch) -> None:
    google.answers(json=body())
    seen: list[object] = []
    whole = httpx2.AsyncClient.request

    async def request(client: httpx2.AsyncClient, *args: Any, **given: Any) -> httpx2.Response:
        seen.append(given["timeout"])
        return await whole(client, *args, **given)

    monkeypatch.setattr(httpx2.AsyncClient, "request", request)
    for timeout in (120.0, 12.5):
        called(opened(), REQUEST, Call(1, timeout=timeout))
    with suppress(CallFailed):  # it may be over before it begins
        called(opened(), REQUEST, Call(1, timeout=0.0001))
    assert seen[:2] == [120.0, 12.5]
    assert set(seen[2:]) <= {0.001}  # in whole milliseconds, and never none


def test_the_key_is_sent_as_a_header_and_kept_nowhere(
    google: Google, caplog: pytest.LogCaptureFixture
) -> None:
    headers = {"x-request-id": "r", "set-cookie": "c"}
    route = google.answers(json=body(), headers=headers)
    caplog.set_level(logging.DEBUG)
    completion = google.ask()
    request = route.calls.last.request
    assert request.headers["x-goog-api-key"] == SECRET
    assert SECRET not in str(request.url)
    kept = dumps(completion) + repr(completion)
    assert SECRET not in kept + caplog.text
    assert "AFC is enabled" not in caplog.text  # functions are never called by the SDK
    assert "x-request-id" not in kept
    assert "Five." not in repr(completion)


# --- opening -------------------------------------------------------------------------------------


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
    google: Google,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    environ: dict[str, str],
    key: str,
) -> None:
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    route = google.answers(json=body())
    called(open_provider("google", ProviderContext(environ)), REQUEST, Call(1))
    assert route.calls.last.request.headers["x-goog-api-key"] == key
    assert caplog.text == ""  # the SDK would say that it takes the other one


@pytest.mark.parametrize("environ", [{}, {"GEMINI_API_KEY": ""}, {"GOOGLE_API_KEY": "\n"}])
def test_a_missing_key_is_named(environ: dict[str, str]) -> None:
    with pytest.raises(MissingKey, match="GEMINI_API_KEY or GOOGLE_API_KEY, which is not set"):
        open_provider("google", ProviderContext(environ))


@pytest.mark.parametrize("key", ["AIza s3cret\nx", "AIzas3crét"])
def test_a_key_no_header_can_hold_is_not_told(key: str) -> None:
    with pytest.raises(BadSetting, match="GOOGLE_API_KEY=…") as caught:
        open_provider("google", ProviderContext({"GOOGLE_API_KEY": key}))
    assert "s3cr" not in str(caught.value)


@pytest.mark.parametrize("package", ["google.genai", "httpx2"])
def test_a_missing_sdk_is_named_with_the_command(
    monkeypatch: pytest.MonkeyPatch, package: str
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingPackage, match=r"pip install 'pytest-bias\[google\]'"):
        opened()


@pytest.mark.parametrize(
    "url",
    [
        "example.org",
        "ftp://joe:s3cret@example.org",
        "https://",
        "https://[::1",
        "https://joe:s3cret/x@example.org/v1",
    ],
)
def test_an_endpoint_that_is_no_url(url: str) -> None:
    with pytest.raises(BadSetting, match="GOOGLE_GEMINI_BASE_URL=…: it is not an") as caught:
        opened(GOOGLE_GEMINI_BASE_URL=url)
    assert "s3cret" not in str(caught.value)
    own = ProviderContext({}, endpoints={"mine": EndpointEntry("google", url)})
    with pytest.raises(BadSetting, match=r"\[endpoints.mine\] base_url=…: it is not an"):
        open_provider("mine", own)


ENDPOINTS = {
    "the default": ("", ""),
    "the default, spelled out": (f"{HOST}/", ""),
    "another": ("https://proxy.example:8443/secret", " at https://proxy.example:8443"),
    "loopback": ("http://127.0.0.1:8000", " at http://127.0.0.1:8000"),
}


@pytest.mark.parametrize(("url", "named"), ENDPOINTS.values(), ids=ENDPOINTS)
def test_wire_names_sdk_version_api_and_host(url: str, named: str) -> None:
    from google import genai  # noqa: PLC0415  (slow to import, as in the provider)

    provider = opened(GOOGLE_GEMINI_BASE_URL=url)
    asyncio.run(provider.aclose())
    gc.collect()
    assert provider.wire(MODEL) == f"google-genai {genai.__version__}, generateContent{named}"


def test_nothing_shows_the_key() -> None:
    provider = opened()
    asyncio.run(provider.aclose())
    gc.collect()
    assert SECRET not in repr(provider)


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
    google: Google, monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(name, value)
    route = google.answers(json=body())
    assert called(opened(), REQUEST, Call(1)).text == "Five."
    assert route.calls.last.request.headers["x-goog-api-key"] == SECRET


def test_the_sdk_does_not_turn_to_aiohttp(google: Google, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("google.genai._api_client.has_aiohttp", True)
    google.answers(json=body())
    assert called(opened(), REQUEST, Call(1)).text == "Five."


def test_redirects_are_not_followed_with_the_key(google: Google) -> None:
    google.answers(307, headers={"location": "https://elsewhere.example/"})
    elsewhere = google.router.route(host="elsewhere.example").respond(json=body())
    assert google.failed().fatal
    assert not elsewhere.called


@pytest.mark.parametrize(("url", "trusted"), [(None, True), ("http://127.0.0.1:9", False)])
def test_proxies_are_for_real_endpoints_only(url: str | None, trusted: bool) -> None:  # noqa: FBT001  (an expectation)
    endpoint = Endpoint("x", SECRET, url, simulated=not trusted)
    provider = GoogleContents(endpoint)
    assert provider._http.trust_env is trusted
    asyncio.run(provider.aclose())
    assert provider._http.is_closed
    assert provider._client._api_client._httpx_client.is_closed
    gc.collect()


# --- over loopback -------------------------------------------------------------------------------


def simulated(url: str) -> Provider:
    return open_provider(
        "simulated", ProviderContext({}, simulated_url=url, simulated_wire="google")
    )


def test_a_hundred_and_fifty_calls_are_in_flight_at_once() -> None:
    together = threading.Barrier(150, timeout=30)

    def say(prompt: SimulatedPrompt) -> str:
        together.wait()  # broken, and so HTTP 500, where calls queue before the connection
        return str(prompt.seed)

    async def calls(url: str) -> list[str]:
        provider = simulated(url)
        try:
            replies = await asyncio.gather(
                *(provider.complete("even", REQUEST, Call(seed)) for seed in range(150))
            )
        finally:
            await provider.aclose()
        return [reply.text for reply in replies]

    with serving(say) as server:
        assert asyncio.run(calls(server.url)) == [str(seed) for seed in range(150)]
    gc.collect()


FAULTS: dict[Fault, tuple[str, bool]] = {
    "rate_limit": ("rate_limit", True),
    "rate_limit_retry_after": ("rate_limit", True),
    "server_error": ("transient", True),
    "overloaded": ("transient", True),
    "timeout": ("transient", False),
    "drop": ("transient", False),
    "malformed": ("reply", True),
    "refused_parameter": ("parameter", True),
    "quota": ("fatal", True),
    "unauthorised": ("fatal", True),
}


def met(fault: Fault, request: Request, timeout: float = 30.0) -> Completion:
    """One call of a simulated subject that meets ``fault``."""
    server = SimulatorServer([lambda _: "Five or six."], faults=[fault], retry_after=3.0)
    server.start()
    try:
        provider = GoogleContents(Endpoint("simulated", SECRET, server.url, simulated=True))
        return called(provider, request, Call(1, timeout=timeout), model="even")
    finally:
        server.stop()


@pytest.mark.parametrize("fault", FAULTS)
def test_faults_on_a_real_connection(fault: Fault) -> None:
    with pytest.raises(CallFailed) as caught:
        met(fault, SET, 0.2 if fault == "timeout" else 30.0)
    failure = caught.value
    assert (failure.kind, failure.answered) == FAULTS[fault]
    assert failure.retry_after == (3.0 if fault == "rate_limit_retry_after" else None)
    assert failure.parameter == ("temperature" if fault == "refused_parameter" else None)
    assert SECRET not in str(failure)


ENDINGS: dict[Fault, str] = {
    "content_filter": "content_filter",
    "refusal": "content_filter",
    "length": "length",
}


@pytest.mark.parametrize("fault", ENDINGS)
def test_endings_on_a_real_connection(fault: Fault) -> None:
    assert met(fault, REQUEST).finish == ENDINGS[fault]


def test_a_key_of_an_own_endpoint_that_no_header_can_hold() -> None:
    with serving(lambda _: "Five.") as server:
        own = ProviderContext(
            {"KEY": "s3cret\r\nx: y"},
            endpoints={"own": EndpointEntry("google", server.url, "KEY")},
        )
        with pytest.raises(BiasError) as caught:
            called(open_provider("own", own), REQUEST, Call(1))
    assert "s3cret" not in str(caught.value)


def test_an_experiment_is_recorded_and_replayed(tmp_path: Path) -> None:
    of, listener = experiment(ask_twice, replicates=5), Listener()
    trials = plan(of, of.design())
    with serving(listener) as server:
        context = ProviderContext({}, simulated_url=server.url, simulated_wire="google")
        terms = Terms(mode="missing", folder=tmp_path, context=context, limits=Limits())
        players = Players("simulated/even")
        report = collect([Job(of, players, trials)], terms, lambda _: None).jobs[0]
    assert (report.problems, report.recorded, report.calls) == ([], 10, 20)
    assert set(listener.answered.values()) == {1}  # every seed arrived, once
    path = cassette_path(tmp_path, of.id, "simulated/even")
    assert "generateContent over loopback HTTP" in path.read_text().partition("\n")[0]
    cassette = Cassette(path)
    outcomes = [replay(of, players, trial, cassette.lookup) for trial in trials]
    assert {outcome.missing for outcome in outcomes} == {None}


# --- reply schemas -------------------------------------------------------------------------------

STRUCTURED = Request((USER,), Parameters(0.5), "Score", reply_schema(Score))
NO_STRUCTURE = [
    "JSON mode is not enabled for models/gemma-3-27b-it",
    "Unknown name 'responseJsonSchema' at 'generation_config': Cannot find field.",
    "Response mime type 'application/json' is unsupported for this model",
]
BAD_SCHEMA = [
    "Unknown name 'minimum' at 'generation_config.response_json_schema': Cannot find field.",
    "Invalid JSON schema: unknown keyword",
    "The response_json_schema has too many states",
]


@pytest.mark.parametrize("message", NO_STRUCTURE)
def test_models_that_refuse_a_schema(google: Google, message: str) -> None:
    google.answers(400, text=refusal(400, message))
    failure = google.failed(STRUCTURED)
    assert (failure.kind, failure.parameter) == ("parameter", "schema")
    assert google.failed(Request((USER,), Parameters(0.5))).kind == "fatal"


@pytest.mark.parametrize("message", BAD_SCHEMA)
def test_a_schema_that_is_wrong_is_no_refusal_of_schemas(google: Google, message: str) -> None:
    google.answers(400, text=refusal(400, message))
    assert google.failed(STRUCTURED).kind == "fatal"


def test_a_schema_is_left_out_and_named(google: Google) -> None:
    fields = {"responseMimeType", "responseJsonSchema"}
    assert fields <= google.sent(STRUCTURED)["generationConfig"].keys()
    assert not fields & google.sent(STRUCTURED, dropped=("schema",))["generationConfig"].keys()
    assert google.ask(STRUCTURED, dropped=("schema",)).dropped == ("schema",)
    assert google.ask(REQUEST, dropped=("schema",)).dropped == ()
