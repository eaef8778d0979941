"""The adapter of OpenAI's Responses, over the real SDK and mocked replies."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
import respx
from openai.types.responses import Response

from pytest_bias.canonical import dumps, plain
from pytest_bias.errors import CallFailed, UnknownName
from pytest_bias.messages import Completion, Message, Parameters, Request
from pytest_bias.providers.base import Endpoint, Provider, ProviderContext, open_provider
from pytest_bias.providers.openai_responses import OpenAIResponses
from pytest_bias.replies import reply_schema
from pytest_bias.simulator.server import FINGERPRINT

from ..core.factories import Score
from . import mocker
from .mocker import CONNECTION_ERRORS, NO_SCHEMA, REQUEST, SECRET, SEED, STATUSES, STRUCTURED

HTTPX2 = mocker.HTTPX2Mocker.name  # importing it is what registers it

URL = "https://api.openai.com/v1/responses"
WIRES = {"openai/gpt-5.1-pro": "openai-responses", "google/gpt-5.1": "google"}
ALL = Parameters(0.5, 400, seeded=True)
SEEDED = frozenset({"seeded"})


@pytest.fixture(autouse=True)
def openai(monkeypatch: pytest.MonkeyPatch) -> Iterator[respx.MockRouter]:
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    with respx.mock(using="httpx2", assert_all_called=False) as router:
        yield router


def text(value: object, kind: str = "output_text") -> dict[str, Any]:
    field = {"output_text": "text", "refusal": "refusal"}[kind]
    return {"type": kind, field: value} | ({"annotations": []} if field == "text" else {})


def message(*parts: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "status": "completed",
        "content": list(parts),
    }


REASONING = {"id": "rs_1", "type": "reasoning", "summary": []}
TOOL = {"id": "fc_1", "type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}


def body(*output: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """A reply as the API sends it."""
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "status": "completed",
        "error": None,
        "incomplete_details": None,
        "model": "gpt-5.1-pro-2026-01-01",
        "output": list(output),
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": {
            "input_tokens": 7,
            "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
            "output_tokens": 2,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": 9,
        },
    } | fields


FIVE = body(REASONING, message(text("Five.")))


def opened() -> Provider:
    return open_provider("openai", ProviderContext({"OPENAI_API_KEY": SECRET}, wires=WIRES))


def simulated() -> Provider:
    url = "https://api.openai.com/v1"
    return OpenAIResponses(Endpoint("simulated", "none-needed", url, simulated=True))


def ask(request: Request = REQUEST, **how: Any) -> Completion:
    return mocker.ask(opened, request, model="gpt-5.1-pro", **how)


def failed(request: Request = REQUEST, **how: Any) -> CallFailed:
    failure = mocker.failed(opened, request, model="gpt-5.1-pro", **how)
    assert str(failure).startswith("openai/gpt-5.1-pro: ")
    return failure


# --- replies -------------------------------------------------------------------------------------


def test_a_completion(openai: respx.MockRouter) -> None:
    openai.post(URL).respond(json=FIVE)
    completion = ask()
    assert (completion.text, completion.finish) == ("Five.", "stop")
    assert completion.served_model == "gpt-5.1-pro-2026-01-01"
    assert completion.usage == {"input": 7, "output": 2}
    assert completion.body == FIVE
    assert completion.latency is not None
    assert completion.latency >= 0
    assert completion.recorded_at is not None


def test_the_stored_body_is_one_that_the_sdk_parses(openai: respx.MockRouter) -> None:
    openai.post(URL).respond(json=FIVE)
    again = Response.model_validate(json.loads(dumps(ask().body)))
    assert again.output_text == "Five."
    assert again.status == "completed"


def incomplete(reason: str | None, *output: dict[str, Any]) -> dict[str, Any]:
    details = {"reason": reason} if reason else None
    return body(*output, status="incomplete", incomplete_details=details)


FINISHES: dict[str, tuple[dict[str, Any], str, str]] = {
    "stop": (FIVE, "Five.", "stop"),
    "in parts": (body(message(text("Fi"), text("ve."))), "Five.", "stop"),
    "in messages": (body(message(text("Fi")), REASONING, message(text("ve."))), "Five.", "stop"),
    "length": (incomplete("max_output_tokens", message(text("Fi"))), "Fi", "length"),
    "length before a word": (incomplete("max_output_tokens", REASONING), "", "length"),
    "content filter": (incomplete("content_filter"), "", "content_filter"),
    "another reason": (incomplete("steered", message(text("Fi"))), "Fi", "other"),
    "no reason": (incomplete(None), "", "other"),
    "refusal": (body(message(text("I cannot.", "refusal"))), "I cannot.", "refusal"),
    "refusal beside a text": (
        body(message(text("Well"), text("I cannot.", "refusal"))),
        "I cannot.",
        "refusal",
    ),
    "nothing": (body(), "", "stop"),
    "a tool": (body(TOOL), "", "other"),
    "cancelled": (body(status="cancelled"), "", "other"),
}


@pytest.mark.parametrize(("reply", "said", "finish"), FINISHES.values(), ids=FINISHES)
def test_how_replies_end(
    openai: respx.MockRouter, reply: dict[str, Any], said: str, finish: str
) -> None:
    openai.post(URL).respond(json=reply)
    completion = ask()
    assert (completion.text, completion.finish) == (said, finish)
    assert completion.body == reply


def test_a_prompt_that_is_filtered_was_answered(openai: respx.MockRouter) -> None:
    error = {"error": {"code": "content_filter", "message": "filtered"}}
    openai.post(URL).respond(400, json=error)
    completion = ask()
    assert (completion.finish, completion.body) == ("content_filter", error)
    assert completion.served_model == ""
    assert completion.usage == {}


@pytest.mark.parametrize("status", [200, 400])
def test_a_prompt_that_is_flagged_was_answered(openai: respx.MockRouter, status: int) -> None:
    error = {"code": "invalid_prompt", "message": "Your prompt was flagged: usage policy."}
    openai.post(URL).respond(status, json=body(status="failed", error=error))
    completion = ask()
    assert (completion.text, completion.finish, completion.usage) == ("", "content_filter", {})


def test_usage_that_is_missing_is_left_out(openai: respx.MockRouter) -> None:
    openai.post(URL).respond(json=FIVE | {"usage": None})
    assert ask().usage == {}
    openai.post(URL).respond(json=FIVE | {"usage": {"output_tokens": 2}})
    assert ask().usage == {"output": 2}


FAILED = {
    "rate_limit_exceeded": "rate_limit",
    "server_error": "transient",
    "invalid_prompt": "reply",
}


@pytest.mark.parametrize(("code", "kind"), FAILED.items())
def test_responses_that_failed_on_the_way(openai: respx.MockRouter, code: str, kind: str) -> None:
    error = {"code": code, "message": f"sorry, {SECRET}"}
    openai.post(URL).respond(json=body(status="failed", error=error))
    failure = failed()
    assert failure.kind == kind
    assert f"the response failed ({code}): sorry, ***" in str(failure)


def test_a_failed_response_may_say_nothing(openai: respx.MockRouter) -> None:
    openai.post(URL).respond(json=body(status="failed"))
    assert failed().kind == "reply"


MALFORMED = {
    "not json": "<html>502</html>",
    "half": json.dumps(FIVE)[:-9],
    "nothing": "",
    "a list": "[]",
    "an error with status 200": '{"error": {"message": "oops"}}',
    "no output": '{"model": "x", "status": "completed"}',
    "output is null": json.dumps(FIVE | {"output": None}),
    "an item is text": json.dumps(FIVE | {"output": ["x"]}),
    "a message without content": json.dumps(body({"type": "message"})),
    "a text that is none": json.dumps(body(message(text(5)))),
    "no model": json.dumps({k: v for k, v in FIVE.items() if k != "model"}),
    "no status": json.dumps({k: v for k, v in FIVE.items() if k != "status"}),
    "a chat completion": '{"model": "x", "choices": [{"message": {"content": "x"}}]}',
}


@pytest.mark.parametrize("said", MALFORMED.values(), ids=MALFORMED)
def test_malformed_replies_are_failed_calls_and_paid_once(
    openai: respx.MockRouter, said: str
) -> None:
    route = openai.post(URL).respond(text=said, content_type="application/json")
    failure = failed()
    assert failure.kind == "reply"
    assert "the reply is not a response" in str(failure)
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


@pytest.mark.parametrize("parameter", ["temperature", "max_output_tokens"])
def test_refused_parameters_are_named(openai: respx.MockRouter, parameter: str) -> None:
    error = {"code": "unsupported_parameter", "param": parameter, "message": "not supported"}
    openai.post(URL).respond(400, json={"error": error})
    failure = failed(Request(REQUEST.messages, ALL), dropped=SEEDED)
    assert (failure.kind, failure.parameter) == ("parameter", parameter)


@pytest.mark.parametrize("error", CONNECTION_ERRORS, ids=lambda error: type(error).__name__)
def test_connections_that_fail_may_have_been_paid(
    openai: respx.MockRouter, error: Exception
) -> None:
    route = openai.post(URL).mock(side_effect=error)
    failure = failed()
    assert (failure.kind, failure.answered) == ("transient", False)
    assert route.call_count == 1


def test_replies_of_the_simulator_are_refused(openai: respx.MockRouter) -> None:
    openai.post(URL).respond(json=FIVE | {"system_fingerprint": FINGERPRINT})
    assert failed().fatal
    assert mocker.ask(simulated).text == "Five."
    openai.post(URL).respond(json=FIVE)
    unmarked = mocker.failed(simulated)
    assert unmarked.fatal
    assert "bias_simulated_url does not lead to pytest-bias serve" in str(unmarked)


# --- what is sent --------------------------------------------------------------------------------


def sent(openai: respx.MockRouter, request: Request = REQUEST, **how: Any) -> dict[str, Any]:
    route = openai.post(URL).respond(json=FIVE)
    ask(request, **how)
    assert route.calls.last.request.headers["authorization"] == f"Bearer {SECRET}"
    found: dict[str, Any] = json.loads(route.calls.last.request.content)
    return found


def test_only_what_is_asked_for_is_sent_and_nothing_is_stored(openai: respx.MockRouter) -> None:
    assert sent(openai) == {
        "model": "gpt-5.1-pro",
        "store": False,
        "instructions": "Be brief.",
        "input": [{"role": "user", "content": "How long?"}],
    }


def test_a_conversation_is_sent_whole(openai: respx.MockRouter) -> None:
    turns = (Message("user", "a"), Message("assistant", "b"), Message("user", "c"))
    found = sent(openai, Request(turns, Parameters()))
    assert found["input"] == [
        {"role": "user", "content": "a"},
        {"role": "assistant", "content": "b"},
        {"role": "user", "content": "c"},
    ]
    assert not {"instructions", "previous_response_id", "conversation"} & set(found)


def test_a_system_prompt_alone_is_still_an_input(openai: respx.MockRouter) -> None:
    found = sent(openai, Request((Message("system", "Speak."),), Parameters()))
    assert found["input"] == [{"role": "system", "content": "Speak."}]


def test_parameters_and_schema(openai: respx.MockRouter) -> None:
    request = Request(REQUEST.messages, Parameters(0.5, 400), "Score", reply_schema(Score))
    found = sent(openai, request)
    assert (found["temperature"], found["max_output_tokens"]) == (0.5, 400)
    assert found["text"] == {
        "format": {
            "type": "json_schema",
            "name": "Score",
            "schema": plain(reply_schema(Score)),
            "strict": True,
        }
    }


@pytest.mark.parametrize("parameter", ["temperature", "max_output_tokens"])
def test_what_is_dropped_is_not_sent_and_is_named(
    openai: respx.MockRouter, parameter: str
) -> None:
    request = Request(REQUEST.messages, Parameters(0.5, 400))
    dropped = frozenset({parameter})
    assert set(sent(openai, request)) - set(sent(openai, request, dropped=dropped)) == {parameter}
    assert ask(request, dropped=dropped).dropped == (parameter,)


def test_a_seed_cannot_be_sent_and_nothing_is(openai: respx.MockRouter) -> None:
    route = openai.post(URL).respond(json=FIVE)
    request = Request(REQUEST.messages, Parameters(seeded=True))
    failure = failed(request)
    assert (failure.kind, failure.parameter) == ("parameter", "seeded")
    assert not route.called
    completion = ask(request, dropped=SEEDED)
    assert completion.dropped == ("seeded",)
    assert "seed" not in json.loads(route.calls.last.request.content)


def test_simulated_endpoints_are_always_sent_the_trial_s_seed(openai: respx.MockRouter) -> None:
    route = openai.post(URL).respond(json=FIVE | {"system_fingerprint": FINGERPRINT})
    for parameters in (Parameters(), Parameters(seeded=True)):
        mocker.ask(simulated, Request(REQUEST.messages, parameters))
        assert json.loads(route.calls.last.request.content)["pytest_bias_seed"] == SEED


# --- which API -----------------------------------------------------------------------------------


def test_wire_names_the_api_of_each_model() -> None:
    import openai as sdk  # noqa: PLC0415

    names = {"gpt-5.1-pro": "responses", "gpt-5.1": "chat completions"}
    for model, api in names.items():
        assert mocker.wire(opened, model) == f"openai {sdk.__version__}, {api}"
    own = Endpoint("mine", "x", "http://127.0.0.1:9/v1")
    assert mocker.wire(lambda: OpenAIResponses(own)).endswith(", responses at http://127.0.0.1:9")


def test_models_go_to_chat_completions_unless_the_roster_says_otherwise(
    openai: respx.MockRouter,
) -> None:
    chat = openai.post("https://api.openai.com/v1/chat/completions").respond(json={})
    responses = openai.post(URL).respond(json=FIVE)
    mocker.failed(opened, model="gpt-5.1")
    assert (chat.call_count, responses.call_count) == (1, 0)


def test_a_wire_that_openai_does_not_speak() -> None:
    context = ProviderContext({"OPENAI_API_KEY": "x"}, wires={"openai/gpt": "anthropic"})
    with pytest.raises(UnknownName, match="'anthropic'; known: openai-chat, openai-responses"):
        open_provider("openai", context)


# --- reply schemas -------------------------------------------------------------------------------

NO_STRUCTURE = [
    "Invalid parameter: 'text.format' of type 'json_schema' is not supported with this model.",
    "This model does not support response format `json_schema`.",
    "This response_format type is unavailable now",
    "json_schema: Extra inputs are not permitted",
    "Unrecognized request argument supplied: text.format",
]
BAD_SCHEMA = [
    "Invalid schema for response_format 'Score': In context=(), 'minimum' is not permitted.",
    "text.format.schema: unknown keyword",
    "Invalid 'text.format': the name is too long",
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
    assert {"text"} & sent(openai, STRUCTURED).keys()
    assert not {"text"} & sent(openai, STRUCTURED, dropped=NO_SCHEMA).keys()
    assert ask(STRUCTURED, dropped=NO_SCHEMA).dropped == ("schema",)
    assert ask(REQUEST, dropped=NO_SCHEMA).dropped == ()
