"""The adapter of Anthropic's Messages, over the real SDK and mocked replies."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Any

import pytest
import respx
from anthropic.types import Message as AnthropicMessage

from pytest_bias.canonical import dumps
from pytest_bias.errors import BadSetting, CallFailed, MissingKey, MissingPackage
from pytest_bias.messages import Completion, Message, Parameters, Request
from pytest_bias.providers.anthropic_messages import DEFAULT_LIMIT, AnthropicMessages
from pytest_bias.providers.base import Endpoint, Provider, ProviderContext, open_provider
from pytest_bias.simulator.server import FINGERPRINT

from . import mocker
from .mocker import CONNECTION_ERRORS, NO_SCHEMA, REQUEST, SECRET, SEED, STATUSES, STRUCTURED

HTTPX2 = mocker.HTTPX2Mocker.name  # importing it is what registers it

URL = "https://api.anthropic.com/v1/messages"
ALL = Parameters(0.5, 400, seeded=True)
SEEDED = frozenset({"seeded"})
RETIRING = "claude-3-5-haiku-20241022"
"""A model that the SDK warns of; warnings are errors in these tests."""


@pytest.fixture(autouse=True)
def anthropic(monkeypatch: pytest.MonkeyPatch) -> Iterator[respx.MockRouter]:
    for name in ("ANTHROPIC_BASE_URL", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_CUSTOM_HEADERS"):
        monkeypatch.delenv(name, raising=False)
    with respx.mock(using="httpx2", assert_all_called=False) as router:
        yield router


def text(value: object) -> dict[str, Any]:
    return {"type": "text", "text": value, "citations": None}


def body(*content: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """A reply as the API sends it."""
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-x-20260101",
        "content": list(content),
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 7, "output_tokens": 2},
    } | fields


FIVE = body(text("Five."))
THINKING = {"type": "thinking", "thinking": "Hm.", "signature": "s"}
TOOL = {"type": "tool_use", "id": "t", "name": "f", "input": {}}


def error(kind: str, message: str) -> dict[str, Any]:
    return {"type": "error", "error": {"type": kind, "message": message}, "request_id": "r"}


def opened(**environ: str) -> Provider:
    return open_provider("anthropic", ProviderContext({"ANTHROPIC_API_KEY": SECRET} | environ))


def simulated() -> Provider:
    url = "https://api.anthropic.com"
    return AnthropicMessages(Endpoint("simulated", "none-needed", url, simulated=True))


def ask(request: Request = REQUEST, **how: Any) -> Completion:
    return mocker.ask(opened, request, model=RETIRING, **how)


def failed(request: Request = REQUEST, **how: Any) -> CallFailed:
    failure = mocker.failed(opened, request, model=RETIRING, **how)
    assert str(failure).startswith(f"anthropic/{RETIRING}: ")
    return failure


# --- replies -------------------------------------------------------------------------------------


def test_a_completion(anthropic: respx.MockRouter) -> None:
    anthropic.post(URL).respond(json=FIVE)
    completion = ask()
    assert (completion.text, completion.finish) == ("Five.", "stop")
    assert completion.served_model == "claude-x-20260101"
    assert completion.usage == {"input": 7, "output": 2}
    assert completion.body == FIVE
    assert completion.dropped == ()
    assert completion.latency is not None
    assert completion.latency >= 0
    assert completion.recorded_at is not None


def test_the_stored_body_is_one_that_the_sdk_parses(anthropic: respx.MockRouter) -> None:
    anthropic.post(URL).respond(json=FIVE)
    again = AnthropicMessage.model_validate(json.loads(dumps(ask().body)))
    assert again.content[0].type == "text"
    assert again.content[0].text == "Five."
    assert again.usage.output_tokens == 2


FINISHES: dict[str, tuple[dict[str, Any], str, str]] = {
    "end of turn": (FIVE, "Five.", "stop"),
    "stop sequence": (body(text("Fi"), stop_reason="stop_sequence"), "Fi", "stop"),
    "in blocks": (body(text("Fi"), THINKING, text("ve.")), "Five.", "stop"),
    "length": (body(text("Fi"), stop_reason="max_tokens"), "Fi", "length"),
    "window": (body(text("Fi"), stop_reason="model_context_window_exceeded"), "Fi", "length"),
    "refusal": (body(text("I cannot."), stop_reason="refusal"), "I cannot.", "refusal"),
    "refusal without a word": (body(stop_reason="refusal"), "", "refusal"),
    "a tool": (body(TOOL, stop_reason="tool_use"), "", "other"),
    "a pause": (body(text("Fi"), stop_reason="pause_turn"), "Fi", "other"),
    "an unknown end": (body(text("Fi"), stop_reason="else"), "Fi", "other"),
    "no end": (body(text("Fi"), stop_reason=None), "Fi", "other"),
    "nothing": (body(), "", "stop"),
}


@pytest.mark.parametrize(("reply", "said", "finish"), FINISHES.values(), ids=FINISHES)
def test_how_replies_end(
    anthropic: respx.MockRouter, reply: dict[str, Any], said: str, finish: str
) -> None:
    anthropic.post(URL).respond(json=reply)
    completion = ask()
    assert (completion.text, completion.finish) == (said, finish)
    assert completion.body == reply


def test_cached_tokens_are_tokens_that_were_read(anthropic: respx.MockRouter) -> None:
    usage = {
        "input_tokens": 7,
        "cache_creation_input_tokens": 100,
        "cache_read_input_tokens": None,
        "output_tokens": 2,
    }
    anthropic.post(URL).respond(json=FIVE | {"usage": usage})
    assert ask().usage == {"input": 107, "output": 2}


@pytest.mark.parametrize("usage", [None, {}, {"output_tokens": None}, [1]])
def test_usage_that_is_missing_is_left_out(anthropic: respx.MockRouter, usage: object) -> None:
    anthropic.post(URL).respond(json=FIVE | {"usage": usage})
    assert ask().usage == {}
    anthropic.post(URL).respond(json=FIVE | {"usage": {"input_tokens": 7}})
    assert ask().usage == {"input": 7}


def test_a_reply_that_a_filter_blocks_was_answered(anthropic: respx.MockRouter) -> None:
    said = error("invalid_request_error", "Output blocked by content filtering policy")
    anthropic.post(URL).respond(400, json=said)
    completion = ask()
    assert (completion.text, completion.finish, completion.usage) == ("", "content_filter", {})
    assert (completion.served_model, completion.body) == ("", said)
    anthropic.post(URL).respond(500, json=said)
    assert failed().kind == "transient"


MALFORMED = {
    "not json": "<html>502</html>",
    "half": json.dumps(FIVE)[:-9],
    "nothing": "",
    "a list": "[]",
    "an error with status 200": json.dumps(error("api_error", "oops")),
    "content is null": json.dumps(FIVE | {"content": None}),
    "a block is text": json.dumps(FIVE | {"content": ["x"]}),
    "a block of no type": json.dumps(body({"text": "x"})),
    "a text that is none": json.dumps(body(text(5))),
    "no model": json.dumps({k: v for k, v in FIVE.items() if k != "model"}),
}


@pytest.mark.parametrize("said", MALFORMED.values(), ids=MALFORMED)
def test_malformed_replies_are_failed_calls_and_paid_once(
    anthropic: respx.MockRouter, said: str
) -> None:
    route = anthropic.post(URL).respond(text=said, content_type="application/json")
    failure = failed()
    assert failure.kind == "reply"
    assert "the reply is not a message" in str(failure)
    assert route.call_count == 1


# --- failures ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("status", "headers", "kind", "wait"), STATUSES.values(), ids=STATUSES)
def test_statuses_are_told_apart_and_never_tried_again_here(
    anthropic: respx.MockRouter,
    status: int,
    headers: dict[str, str],
    kind: str,
    wait: float | None,
) -> None:
    said = error("some_error", f"bad key {SECRET}")
    route = anthropic.post(URL).respond(status, json=said, headers=headers)
    failure = failed()
    assert (failure.kind, failure.retry_after, failure.answered) == (kind, wait, True)
    assert f"HTTP {status}: bad key ***" in str(failure)
    assert route.call_count == 1


@pytest.mark.parametrize("status", [402, 429])
def test_an_empty_account_is_no_rate_limit(anthropic: respx.MockRouter, status: int) -> None:
    anthropic.post(URL).respond(status, json=error("billing_error", "Pay first."))
    assert failed().kind == "fatal"


REFUSED = {
    "`temperature` is deprecated for this model.": "temperature",
    "temperature: Extra inputs are not permitted": "temperature",
    "max_tokens is not supported with this model": "max_output_tokens",
}


@pytest.mark.parametrize(("message", "parameter"), REFUSED.items())
def test_refused_parameters_are_named(
    anthropic: respx.MockRouter, message: str, parameter: str
) -> None:
    anthropic.post(URL).respond(400, json=error("invalid_request_error", message))
    failure = failed(Request(REQUEST.messages, ALL), dropped=SEEDED)
    assert (failure.kind, failure.parameter) == ("parameter", parameter)


NOT_REFUSED = [
    "temperature: range: 0..1",
    "max_tokens: 100000 > 8192, which is the maximum allowed number of output tokens",
]


@pytest.mark.parametrize("message", NOT_REFUSED)
def test_what_is_wrong_with_the_request_is_no_refused_parameter(
    anthropic: respx.MockRouter, message: str
) -> None:
    anthropic.post(URL).respond(400, json=error("invalid_request_error", message))
    failure = failed(Request(REQUEST.messages, ALL), dropped=SEEDED)
    assert failure.kind == "fatal"
    assert message in str(failure)


@pytest.mark.parametrize("lost", CONNECTION_ERRORS, ids=lambda error: type(error).__name__)
def test_connections_that_fail_may_have_been_paid(
    anthropic: respx.MockRouter, lost: Exception
) -> None:
    route = anthropic.post(URL).mock(side_effect=lost)
    failure = failed()
    assert (failure.kind, failure.answered) == ("transient", False)
    assert route.call_count == 1


def test_replies_of_the_simulator_are_refused(anthropic: respx.MockRouter) -> None:
    anthropic.post(URL).respond(json=FIVE | {"system_fingerprint": FINGERPRINT})
    failure = failed()
    assert failure.fatal
    assert "unset ANTHROPIC_BASE_URL" in str(failure)
    assert mocker.ask(simulated).text == "Five."
    anthropic.post(URL).respond(json=FIVE)
    unmarked = mocker.failed(simulated)
    assert unmarked.fatal
    assert "bias_simulated_url does not lead to pytest-bias serve" in str(unmarked)


# --- what is sent --------------------------------------------------------------------------------


def sent(anthropic: respx.MockRouter, request: Request = REQUEST, **how: Any) -> dict[str, Any]:
    route = anthropic.post(URL).respond(json=FIVE)
    ask(request, **how)
    assert SECRET in str(route.calls.last.request.headers.raw)
    found: dict[str, Any] = json.loads(route.calls.last.request.content)
    return found


def test_only_what_is_asked_for_is_sent_beside_a_limit(anthropic: respx.MockRouter) -> None:
    assert sent(anthropic) == {
        "model": RETIRING,
        "system": "Be brief.",
        "messages": [{"role": "user", "content": "How long?"}],
        "max_tokens": DEFAULT_LIMIT,
    }


def test_a_conversation_is_sent_whole(anthropic: respx.MockRouter) -> None:
    turns = (Message("user", "a"), Message("assistant", "b"), Message("user", "c"))
    found = sent(anthropic, Request(turns, Parameters()))
    assert found["messages"] == [
        {"role": "user", "content": "a"},
        {"role": "assistant", "content": "b"},
        {"role": "user", "content": "c"},
    ]
    assert "system" not in found


def test_parameters_and_schema(anthropic: respx.MockRouter) -> None:
    schema = {
        "type": "object",
        "properties": {"score": {"type": "integer", "minimum": 1, "maximum": 9}},
        "required": ["score"],
        "additionalProperties": False,
    }
    request = Request(REQUEST.messages, Parameters(0.5, 400), "Score", schema)
    found = sent(anthropic, request)
    assert (found["temperature"], found["max_tokens"]) == (0.5, 400)
    # The API takes no limits of numbers; the SDK's own function makes a description of them.
    score = {"type": "integer", "description": "{minimum: 1, maximum: 9}"}
    assert found["output_config"] == {
        "format": {"type": "json_schema", "schema": schema | {"properties": {"score": score}}}
    }


def test_what_is_dropped_is_not_sent_and_is_named(anthropic: respx.MockRouter) -> None:
    request = Request(REQUEST.messages, Parameters(0.5, 400))
    assert "temperature" not in sent(anthropic, request, dropped=frozenset({"temperature"}))
    dropped = frozenset({"max_output_tokens"})
    assert sent(anthropic, request, dropped=dropped)["max_tokens"] == DEFAULT_LIMIT
    assert ask(request, dropped=dropped).dropped == ("max_output_tokens",)


def test_a_seed_cannot_be_sent_and_nothing_is(anthropic: respx.MockRouter) -> None:
    route = anthropic.post(URL).respond(json=FIVE)
    request = Request(REQUEST.messages, Parameters(seeded=True))
    failure = failed(request)
    assert (failure.kind, failure.parameter) == ("parameter", "seeded")
    assert not route.called
    assert ask(request, dropped=SEEDED).dropped == ("seeded",)
    assert "seed" not in str(json.loads(route.calls.last.request.content))


def test_simulated_endpoints_are_always_sent_the_trial_s_seed(
    anthropic: respx.MockRouter,
) -> None:
    route = anthropic.post(URL).respond(json=FIVE | {"system_fingerprint": FINGERPRINT})
    for parameters in (Parameters(), Parameters(seeded=True)):
        mocker.ask(simulated, Request(REQUEST.messages, parameters))
        assert json.loads(route.calls.last.request.content)["pytest_bias_seed"] == SEED


def test_the_time_of_a_call_is_the_transport_s_too(anthropic: respx.MockRouter) -> None:
    route = anthropic.post(URL).respond(json=FIVE)
    ask(timeout=33.0)
    assert route.calls.last.request.headers["x-stainless-timeout"] == "33.0"


# --- opening -------------------------------------------------------------------------------------


def test_a_token_in_the_environment_does_not_replace_the_key(
    anthropic: respx.MockRouter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", "another-token")
    route = anthropic.post(URL).respond(json=FIVE)
    ask()
    assert "another-token" not in str(route.calls.last.request.headers.raw)
    for environ in ({}, {"ANTHROPIC_API_KEY": ""}):
        with pytest.raises(MissingKey, match="ANTHROPIC_API_KEY, which is not set"):
            open_provider("anthropic", ProviderContext(environ))


@pytest.mark.parametrize("simulated", [False, True], ids=["own", "simulated"])
def test_credentials_for_anthropic_do_not_go_elsewhere(
    anthropic: respx.MockRouter,
    monkeypatch: pytest.MonkeyPatch,
    simulated: bool,  # noqa: FBT001  (a parameter of the test)
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-of-anthropic")
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", "token-of-anthropic")
    monkeypatch.setenv(
        "ANTHROPIC_CUSTOM_HEADERS", "X-Api-Key: sk-of-anthropic\nX-Gateway: gw-of-anthropic"
    )
    reply = FIVE | ({"system_fingerprint": FINGERPRINT} if simulated else {})
    route = anthropic.post("https://gateway.example/v1/messages").respond(json=reply)
    endpoint = Endpoint("gateway", SECRET, "https://gateway.example", simulated=simulated)
    assert mocker.ask(lambda: AnthropicMessages(endpoint)).text == "Five."
    headers = route.calls.last.request.headers
    assert headers["authorization"] == f"Bearer {SECRET}"
    assert "of-anthropic" not in str(headers.raw)


def test_a_missing_sdk_is_named_with_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "anthropic", None)
    with pytest.raises(MissingPackage, match=r"pip install 'pytest-bias\[anthropic\]'"):
        opened()


def test_an_endpoint_that_is_no_url() -> None:
    with pytest.raises(BadSetting, match="ANTHROPIC_BASE_URL=…: it is not a URL") as caught:
        opened(ANTHROPIC_BASE_URL="https://joe:s3cret/x@example.org/v1")
    assert "s3cret" not in str(caught.value)


def test_wire_names_sdk_version_api_and_host() -> None:
    import anthropic as sdk  # noqa: PLC0415

    assert mocker.wire(opened) == f"anthropic {sdk.__version__}, messages"
    elsewhere = "https://joe:s3cret@gateway.example/x"
    assert mocker.wire(lambda: opened(ANTHROPIC_BASE_URL=elsewhere)) == (
        f"anthropic {sdk.__version__}, messages at https://gateway.example"
    )


# --- reply schemas -------------------------------------------------------------------------------

NO_STRUCTURE = [
    "'claude-3-5-haiku-20241022' does not support output format.",
    "output_config.format: this model does not support structured outputs",
    "output_config: Extra inputs are not permitted",
    "output_format: Extra inputs are not permitted",
]
BAD_SCHEMA = [
    "output_config.format.schema: For 'integer' type, property 'minimum' is not supported",
    "output_config.format: the schema is too complex",
]


@pytest.mark.parametrize("message", NO_STRUCTURE)
def test_models_that_refuse_a_schema(anthropic: respx.MockRouter, message: str) -> None:
    anthropic.post(URL).respond(400, json=error("invalid_request_error", message))
    failure = failed(STRUCTURED)
    assert (failure.kind, failure.parameter) == ("parameter", "schema")
    # It cannot be the schema where none was sent.
    assert failed(Request(REQUEST.messages, Parameters(0.5))).kind == "fatal"


@pytest.mark.parametrize("message", BAD_SCHEMA)
def test_a_schema_that_is_wrong_is_no_refusal_of_schemas(
    anthropic: respx.MockRouter, message: str
) -> None:
    anthropic.post(URL).respond(400, json=error("invalid_request_error", message))
    assert failed(STRUCTURED).kind == "fatal"


def test_a_schema_is_left_out_and_named(anthropic: respx.MockRouter) -> None:
    assert {"output_config"} & sent(anthropic, STRUCTURED).keys()
    assert not {"output_config"} & sent(anthropic, STRUCTURED, dropped=NO_SCHEMA).keys()
    assert ask(STRUCTURED, dropped=NO_SCHEMA).dropped == ("schema",)
    assert ask(REQUEST, dropped=NO_SCHEMA).dropped == ()
