"""The adapters of all vendors, over their real SDKs and mocked replies: the same asked of each."""

from __future__ import annotations

import asyncio
import json
import logging
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import httpx
import pytest
import respx
from bias_tests.linguistic_audit.experiment import LINGUISTIC_AUDIT

from pytest_bias.errors import BadSetting, BiasError, CallFailed, InvalidReply, MissingPackage
from pytest_bias.experiments.canonical import compact, dumps
from pytest_bias.experiments.messages import Completion, Parameters, Request
from pytest_bias.experiments.replies import accept_text
from pytest_bias.providers.base import (
    Call,
    Endpoint,
    Provider,
    ProviderContext,
    open_provider,
    open_wire,
)

from . import mocker
from .line import Line, body_of
from .mocker import CONNECTION_ERRORS, REQUEST, SECRET, SEED, STATUSES, UNBELIEVABLE
from .structured import SUITE, keys, prompted, structured
from .vendors import VENDORS
from .vendors.vendor import SCHEMA, TURNS, Vendor

pytestmark = pytest.mark.usefixtures("nothing_set")

SEEDED = Request(REQUEST.messages, Parameters(seeded=True))


@pytest.fixture(params=list(VENDORS.values()), ids=list(VENDORS))
def vendor(request: pytest.FixtureRequest) -> Vendor:
    found: Vendor = request.param
    return found


@pytest.fixture
def line(
    vendor: Vendor,
    opened: Callable[[str], tuple[Provider, asyncio.Runner]],
    router: respx.MockRouter,
) -> Line:
    return Line(vendor, *opened(vendor.wire), router)


def rows(table: str) -> pytest.MarkDecorator:
    """Each vendor with each row of its own table of that name."""
    found = []
    for vendor in VENDORS.values():
        given = getattr(vendor, table)
        named = given.items() if isinstance(given, Mapping) else enumerate(given)
        found += [
            pytest.param(vendor, (name, row), id=f"{vendor.wire}-{name}") for name, row in named
        ]
    return pytest.mark.parametrize(("vendor", "row"), found, indirect=["vendor"])


def test_a_completion(line: Line) -> None:
    five = line.vendor.five
    route = line.answers(json=five)
    completion = line.ask()
    assert route.call_count == 1
    assert (completion.text, completion.finish) == ("Five.", "stop")
    assert completion.served_model == "served-1"
    assert completion.usage == {"input": 7, "output": 2}
    assert completion.body == five
    assert completion.dropped == ()
    assert completion.latency is not None
    assert completion.latency >= 0
    assert completion.recorded_at is not None
    assert completion.recorded_at.endswith("+00:00")
    assert line.vendor.read_by_sdk(json.loads(dumps(completion.body))) == "Five."


@rows("finishes")
def test_how_replies_end(line: Line, row: tuple[str, tuple[dict[str, Any], str, str]]) -> None:
    _, (reply, text, finish) = row
    line.answers(json=reply)
    completion = line.ask()
    assert (completion.text, completion.finish) == (text, finish)
    assert completion.body == reply


def test_half_a_character_is_kept_as_it_came(line: Line) -> None:
    reply = line.vendor.says("\ud83d")
    line.answers(text=json.dumps(reply), content_type="application/json")
    completion = line.ask()
    assert (completion.text, completion.finish) == ("\ud83d", "stop")
    assert json.loads(dumps(completion.body)) == reply


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_a_reply_is_read_as_json_whatever_charset_its_header_names(
    line: Line, encoding: str
) -> None:
    said = "Zoë: שלום"
    body = json.dumps(line.vendor.says(said), ensure_ascii=False).encode(encoding)
    line.answers(content=body, content_type="application/json; charset=ISO-8859-1")
    assert line.ask().text == said


@rows("filters")
def test_what_a_filter_stops_was_answered(line: Line, row: tuple[str, dict[str, Any]]) -> None:
    for status in (400, 403, 451, 500, 200):
        line.answers(status, json=row[1])
        completion = line.ask()
        assert (completion.text, completion.finish, completion.usage) == ("", "content_filter", {})
        assert (completion.served_model, completion.body) == ("", row[1])


def quoted(raw: str) -> object:
    """An error of a provider behind OpenRouter."""
    return {"message": "Provider returned error", "code": 400, "metadata": {"raw": raw}}


# an error of any vendor, which gateways pass on over any wire → how the prompt ended
OUTCOMES: dict[str, tuple[int, object, str]] = {
    "OpenRouter's moderation": (
        403,
        {"code": 403, "message": 'Your input was flagged for "violence". It needs moderation.'},
        "content_filter",
    ),
    "OpenRouter's quote": (400, quoted('{"error": "DataInspectionFailed"}'), "content_filter"),
    "OpenRouter's quote of a text": (400, quoted("the prompt is too long"), "prompt_too_long"),
    "xAI": (403, "Content violates usage guidelines. API key ID: k", "content_filter"),
    "Alibaba": (400, {"code": "data_inspection_failed", "message": "Stopped."}, "content_filter"),
    "Azure within": (
        400,
        {"message": "no", "innererror": {"code": "ResponsibleAIPolicyViolation"}},
        "content_filter",
    ),
    "DeepSeek": (400, {"message": "Content Exists Risk"}, "content_filter"),
    "Moonshot": (400, {"type": "content_filter", "message": "High risk."}, "content_filter"),
    "new-api": (400, "input contains sensitive words: [x]", "content_filter"),
    "Zhipu": (400, {"code": "1301", "message": "unsafe"}, "content_filter"),
    "a guardrail": (422, "Violated guardrail policy", "content_filter"),
    "a guardrail's check": (446, "The guardrail checks in the config failed.", "content_filter"),
    "Cloudflare": (424, "Prompt blocked due to security configurations", "content_filter"),
    "Kong": (400, "bad request: prompt pattern is blocked", "content_filter"),
    "rules": (400, "The content does not comply with safety rules", "content_filter"),
    "SiliconFlow": (451, "Blocked due to potentially unlawful content", "content_filter"),
    "the law": (451, "The prompt was blocked by the safety system.", "content_filter"),
    "OpenAI's window": (400, {"code": "context_length_exceeded"}, "prompt_too_long"),
    "vLLM's window": (
        400,
        "This model's maximum context length is 8 tokens. However, you requested 9 tokens.",
        "prompt_too_long",
    ),
    "Anthropic's window": (400, "prompt is too long: 9 tokens > 8 maximum", "prompt_too_long"),
    "Google's window": (
        400,
        "The input token count (9) exceeds the maximum number of tokens allowed (8).",
        "prompt_too_long",
    ),
    "llama.cpp's window": (
        400,
        {"type": "exceed_context_size_error", "message": "the request is too large"},
        "prompt_too_long",
    ),
    "TGI's window": (
        422,
        "Input validation error: `inputs` must have less than 8 tokens. Given: 9",
        "prompt_too_long",
    ),
    "TGI's window and limit": (
        422,
        "`inputs` tokens + `max_new_tokens` must be <= 8. Given: 7 `inputs` tokens",
        "prompt_too_long",
    ),
    "LM Studio's window": (
        400,
        "Trying to keep the first 9 tokens when context the overflows.",
        "prompt_too_long",
    ),
    "OpenAI's window and limit": (
        400,
        "This model's maximum context length is 8 tokens (7 in the messages, 2 in the completion)",
        "prompt_too_long",
    ),
    "a user's prompt": (400, "The prompt you sent was blocked by a guardrail", "content_filter"),
    "LiteLLM's presidio": (
        400,
        "Blocked entity detected: PERSON by Guardrail: presidio.",
        "content_filter",
    ),
    "a request": (403, "Request blocked by guardrail", "content_filter"),
    "LiteLLM's window": (500, "litellm.ContextWindowExceededError: x", "prompt_too_long"),
}


@pytest.mark.parametrize(("status", "error", "end"), OUTCOMES.values(), ids=OUTCOMES)
def test_an_error_about_its_prompt_is_an_outcome_of_it(
    line: Line, status: int, error: object, end: str
) -> None:
    for answered in (status, 200):
        line.answers(answered, json={"error": error})
        completion = line.ask()
        assert (completion.text, completion.finish) == ("", end)
    line.answers(status, json=[{"error": error}])
    assert (line.ask().finish, line.ask().body) == (end, {"error": error})


@pytest.mark.parametrize(
    ("code", "words", "end"),
    [(1026, "input new_sensitive", "content_filter"), (1008, "insufficient balance", "")],
)
def test_minimax_says_its_errors_with_the_status_of_a_reply(
    line: Line, code: int, words: str, end: str
) -> None:
    line.answers(json={"choices": None, "base_resp": {"status_code": code, "status_msg": words}})
    if end:
        assert line.ask().finish == end
    else:
        assert f"but an error: {words}" in str(line.failed())


DENIED: dict[str, tuple[int, object]] = {
    "a key": (401, "Incorrect API key provided."),
    "a permission": (403, "The caller does not have permission to execute this operation."),
    "an account": (403, "Your account was disabled for violations of our usage policies."),
    "an account that is flagged": (
        403,
        "Your account has been flagged for violating our usage policies and was suspended.",
    ),
    "a resource": (403, "Your resource has been blocked: it may violate our content policy."),
    "a model": (403, "Your project has no access to this model."),
    "a limit that is too large": (
        400,
        "'max_tokens' is too large: 9. This model's maximum context length is 8 tokens.",
    ),
    "a setting": (400, "Invalid input: 'temperature' exceeds the maximum of 2."),
    "a limit that exceeds": (400, "Invalid input: max_tokens exceeds the limit of the model."),
    "a route": (404, "No endpoints available matching your guardrail restrictions."),
    "a limit beside a short prompt": (
        400,
        {
            "message": "This model's maximum context length is 4097 tokens. However, you "
            "requested 5000 tokens (100 in the messages, 4900 in the completion).",
            "code": "context_length_exceeded",
        },
    ),
    "TGI's limit": (
        422,
        "`inputs` + `max_new_tokens` must be <= 8: 3 `inputs` tokens and 6 `max_new_tokens`",
    ),
    "Anthropic's limit": (
        400,
        "input length and `max_tokens` exceed context limit: 3 + 6 > 8, decrease input length",
    ),
    "a field": (400, "Unknown field 'moderation' detected"),
    "a guardrail's name": (
        400,
        "1 validation error detected: Value at 'guardrailIdentifier' failed to satisfy constraint",
    ),
    "a filter that is down": (400, "Content blocked: the moderation is unavailable"),
    "a user": (403, "You have been blocked for violating our usage policies"),
    "a user by name": (403, "User 'u-1' was banned: content policy violations"),
    "an address": (403, "Your IP address has been temporarily blocked: usage policy violations"),
    "an organization": (403, "Your organization has been flagged for violating usage policies"),
    "a rate": (413, "Request too large: input tokens per minute exceed the limit."),
}


@pytest.mark.parametrize(("status", "message"), DENIED.values(), ids=DENIED)
def test_what_is_denied_whatever_the_prompt_stays_fatal(
    line: Line, status: int, message: object
) -> None:
    line.answers(status, json={"error": message})
    assert line.failed().fatal


@pytest.mark.parametrize(
    ("status", "kind", "message"),
    [
        (500, "transient", "Guardrail presidio failed: 503 Service Unavailable"),
        (503, "transient", "The content was blocked: the content filter does not answer"),
        (429, "rate_limit", "Rate limit of the moderation endpoint reached; request rejected"),
        (429, "rate_limit", "Your input was flagged too often by moderation"),
    ],
)
def test_rates_and_outages_of_filters_pass(
    line: Line, status: int, kind: str, message: str
) -> None:
    line.refuses(status, message)
    assert line.failed().kind == kind
    line.answers(json={"error": {"code": status, "message": message}})
    assert line.failed().kind == kind


@pytest.mark.parametrize("text", ["it takes nine minutes", "", '{"score": 5}'])
def test_what_a_gateway_refuses_of_the_model_s_is_kept_and_no_reply(line: Line, text: str) -> None:
    said = {"message": "Failed to generate JSON.", "code": "json_validate_failed"}
    line.answers(400, json={"error": {**said, "failed_generation": text}})
    completion = line.ask(Request(REQUEST.messages, Parameters(), "Score", SCHEMA))
    assert (completion.text, completion.finish) == (text, "schema_broken")
    with pytest.raises(InvalidReply, match=r"^schema_broken$"):
        accept_text(completion.text, completion.finish)


@rows("usages")
def test_usage_that_is_missing_is_left_out(
    line: Line, row: tuple[int, tuple[object, dict[str, int]]]
) -> None:
    for usage, read in (row[1], (None, {}), ({}, {})):
        line.answers(json=line.vendor.five | {line.vendor.usage: usage})
        assert line.ask().usage == read


def counted(line: Line, tokens: str) -> Completion:
    """A reply of so many tokens, as JSON says it."""
    known = json.dumps(line.vendor.five)
    assert known.count(": 2") == 1
    line.answers(text=known.replace(": 2", f": {tokens}"), content_type="application/json")
    kept = line.ask()
    assert (kept.text, kept.finish) == ("Five.", "stop")
    assert compact(dict(kept.body))  # it can be stored
    return kept


@pytest.mark.parametrize("tokens", UNBELIEVABLE, ids=lambda text: f"{text[:9]}-{len(text)}")
def test_a_count_that_none_can_be_is_unknown_and_its_reply_is_kept(
    line: Line, tokens: str
) -> None:
    assert counted(line, tokens).usage == {"input": 7}


def test_a_count_that_can_be_is_believed(line: Line) -> None:
    assert counted(line, "10000000").usage == {"input": 7, "output": 10_000_000}


def malformed(line: Line, text: str) -> None:
    """It is no reply, and asked for once."""
    line.router.clear()
    route = line.answers(text=text, content_type="application/json")
    failure = line.failed()
    assert (failure.kind, failure.answered) == ("reply", True)
    assert f"the reply is not {line.vendor.what}" in str(failure)
    assert route.call_count == 1


def test_a_web_page_is_named_as_one(line: Line) -> None:
    line.answers(text="\n<!doctype html><html></html>", content_type="text/html")
    assert "but a web page: the base URL may lack its end, as /v1" in str(line.failed())


NO_REPLY = {
    "not json": "{",
    "nothing": "",
    "a list": "[]",
    "null": "null",
    "a text": '"Five."',
    "nested": "[" * 100_000,
}


@pytest.mark.parametrize("text", NO_REPLY.values(), ids=NO_REPLY)
def test_replies_of_nobody_s_are_failed_calls_and_paid_once(line: Line, text: str) -> None:
    malformed(line, text)


@pytest.mark.parametrize("kind", ["text/event-stream", "application/json"])
def test_an_event_stream_where_none_is_read_is_named_and_called_no_more(
    line: Line, kind: str
) -> None:
    line.answers(text="event: ping\ndata: {}\n\ndata: {}\n\n", content_type=kind)
    failure = line.failed()
    if line.vendor.wire == "openai-chat":
        assert "not a chat completion, but half an event stream" in str(failure)
        return
    assert failure.fatal
    assert f"an event stream came, and not {line.vendor.what}" in str(failure)


def test_comments_that_keep_a_connection_alive_are_no_part_of_a_reply(line: Line) -> None:
    for indent in (None, 2):
        text = ": PROCESSING\n\n" * 3 + json.dumps(line.vendor.five, indent=indent)
        line.answers(text=text, content_type="application/json")
        assert line.ask().body == line.vendor.five


def test_an_error_and_half_a_reply_are_failed_calls_whatever_the_status(line: Line) -> None:
    malformed(line, json.dumps(line.vendor.refusing("oops")))
    malformed(line, json.dumps(line.vendor.five)[:-9])


# error with status 200, kind of the failure, what is said
ERRORS_WITHIN: dict[str, tuple[object, str, str]] = {
    "no credit": ({"code": 402, "message": f"Add credit, {SECRET}"}, "fatal", "HTTP 402: Add "),
    "a rate limit": ({"code": 429, "message": "Slow down"}, "rate_limit", "HTTP 429: Slow down"),
    "a server's": ({"code": 502, "message": "Gone"}, "transient", "HTTP 502: Gone"),
    "a text": (
        f"Unexpected endpoint, {SECRET}",
        "reply",
        "but an error: Unexpected endpoint, ***",
    ),
    "a word as code": ({"code": "busy", "message": "Gone"}, "reply", "but an error: Gone"),
    "FastAPI's": ({"detail": "Gone"}, "reply", "but an error: Gone"),
    "no status": ({"code": 1001, "message": "Gone"}, "reply", "but an error: Gone"),
    "nothing said": ({"code": 402}, "reply", "the reply is not "),
}


@pytest.mark.parametrize(("error", "kind", "said"), ERRORS_WITHIN.values(), ids=ERRORS_WITHIN)
def test_an_error_with_status_200_is_told_as_any_other(
    line: Line, error: object, kind: str, said: str
) -> None:
    line.answers(json={"error": error})
    failure = line.failed()
    assert failure.kind == kind
    assert said in str(failure)


def test_an_error_beside_a_reply_is_told_as_any_other(line: Line) -> None:
    line.answers(json=line.vendor.five | {"error": "The model has crashed"})
    failure = line.failed()
    assert (failure.kind, failure.answered) == ("reply", True)
    assert "but an error: The model has crashed" in str(failure)


@pytest.mark.parametrize("code", [0, 200])
def test_success_beside_a_reply_is_no_error(line: Line, code: int) -> None:
    line.answers(json=line.vendor.five)
    text = line.ask().text
    line.answers(json=line.vendor.five | {"error": {"code": code, "message": "success"}})
    assert line.ask().text == text != ""


def test_an_answer_that_is_no_reply_says_where_it_came_from(line: Line) -> None:
    line.answers(text="<html>")
    slash = "/" if line.vendor.provider == "openai" else ""  # its SDK ends every base URL in one
    assert str(line.failed()).endswith(f" (from {line.vendor.home}{slash})")
    line.elsewhere("https://joe:s3cret@gateway.example").respond(text="<html>")
    with pytest.raises(CallFailed) as caught:
        line.once(lambda: line.vendor.at("https://joe:s3cret@gateway.example"))
    place = f"https://gateway.example{line.vendor.own_base}{slash}"
    told = f" (from {place}, as [endpoints.gateway] base_url says)"
    assert str(caught.value).endswith(told)


@rows("malformed")
def test_malformed_replies_are_failed_calls_and_paid_once(
    line: Line, row: tuple[str, object]
) -> None:
    malformed(line, json.dumps(row[1]))


@pytest.mark.parametrize(("status", "headers", "kind", "wait"), STATUSES.values(), ids=STATUSES)
def test_statuses_are_told_apart_and_never_tried_again_here(
    line: Line, status: int, headers: dict[str, str], kind: str, wait: float | None
) -> None:
    route = line.refuses(status, f"bad key {SECRET}", headers=headers)
    failure = line.failed()
    assert (failure.kind, failure.retry_after, failure.answered) == (kind, wait, True)
    assert f"HTTP {status}: bad key ***" in str(failure)
    assert route.call_count == 1


NAMELESS = {"message": [SECRET], "code": [], "param": {}, "type": 5, "details": "y"}
# What errors may look like: status, content, kind of the failure, and what is told of it.
ERRORS: dict[str, tuple[int, bytes, str, str]] = {
    "text": (400, f"busy {SECRET}".encode(), "fatal", "busy ***"),
    "a long page": (400, b"<html>" + b"x" * 100_000, "fatal", "<html>xxx"),
    "Latin-1": (502, "<html>Défaut</html>".encode("latin-1"), "transient", "<html>D"),
    "nothing": (503, b"", "transient", ""),
    "nested": (500, b"[" * 100_000, "transient", "[[["),
    "a list of one": (503, b'[{"error": {"message": "No path"}}]', "transient", "No path"),
    "a text as error": (400, f'{{"error": "busy {SECRET}"}}'.encode(), "fatal", "busy ***"),
    "of other types": (400, json.dumps({"error": NAMELESS}).encode(), "fatal", "***"),
    "FastAPI's": (404, b'{"detail": "Not Found"}', "fatal", "Not Found"),
    "in a word": (404, b'{"error": "Unauthorized", "error_type": "x"}', "fatal", "Unauthorized"),
    "other fields": (404, b'{"reason": "No path"}', "fatal", '{"reason": "No path"}'),
    "Nest's": (404, b'{"message": "No path", "error": "Bad"}', "fatal", "No path"),
    "Nest's two": (
        404,
        b'{"message": ["no path", "no key"], "error": "B"}',
        "fatal",
        "no path; no",
    ),
    "within": (404, b'{"detail": {"error": {"message": "No path"}}}', "fatal", "No path"),
}


@pytest.mark.parametrize(("status", "content", "kind", "said"), ERRORS.values(), ids=ERRORS)
def test_errors_may_look_like_anything_and_name_the_place_where_they_end_a_recording(
    line: Line, status: int, content: bytes, kind: str, said: str
) -> None:
    line.answers(status, content=content)
    failure = line.failed()
    assert failure.kind == kind
    assert f": HTTP {status}: {said}" in str(failure)
    assert len(str(failure)) < 700
    slash = "/" if line.vendor.provider == "openai" else ""
    assert str(failure).endswith(f" (at {line.vendor.home}{slash})") == (kind == "fatal")


@pytest.mark.parametrize(("wrong", "kind"), [("messages", "fatal"), ("temperature", "parameter")])
def test_only_what_a_server_finds_wrong_is_read_as_refused(
    line: Line, wrong: str, kind: str
) -> None:
    """FastAPI quotes what was sent, and so may anything beside its details."""
    sent = {"input": "temperature is not allowed", "msg": "Extra inputs are not permitted"}
    detail = [{"loc": ["body", wrong], **sent}]
    mistral = {"object": "error", "message": {"detail": detail}, "type": "invalid_request_error"}
    for body in ({"detail": detail, "body": sent["input"]}, mistral):
        line.answers(400, json=body)
        failure = line.failed(Request(REQUEST.messages, Parameters(0.5)))
        assert failure.kind == kind
        assert f"HTTP 400: body.{wrong}: Extra inputs are not permitted" in str(failure)


@rows("refused")
def test_a_refused_parameter_is_named_where_it_was_sent(
    line: Line, row: tuple[str, tuple[dict[str, Any], str | None]]
) -> None:
    _, (error, parameter) = row
    line.answers(400, json=error)
    failure = line.failed(Request(REQUEST.messages, line.vendor.whole))
    assert failure.parameter == parameter
    assert failure.kind == ("fatal" if parameter is None else "parameter")
    assert line.failed().kind == "fatal"  # where none was sent, none can be left out


@rows("refused_schema")
def test_models_that_refuse_schemas_and_schemas_that_are_wrong(
    line: Line, row: tuple[str, bool]
) -> None:
    message, refused = row
    structured = Request(REQUEST.messages, Parameters(0.5), "Score", SCHEMA)
    for status, kind in ((400, "fatal"), (422, "fatal"), (500, "transient"), (501, "transient")):
        line.refuses(status, message)
        failure = line.failed(structured)
        expected = ("parameter", "schema") if refused else (kind, None)
        assert (failure.kind, failure.parameter) == expected
    line.refuses(500, f"Unexpected error at {{}}: {message}")
    assert line.failed(structured).kind == "transient"
    line.refuses(400, message)
    # It cannot be the schema where none was sent.
    assert line.failed(Request(REQUEST.messages, Parameters(0.5))).kind == "fatal"


@pytest.mark.parametrize("error", CONNECTION_ERRORS, ids=lambda error: type(error).__name__)
def test_connections_that_fail_may_have_been_paid_once_they_were_made(
    line: Line, error: Exception
) -> None:
    named = type(error)(f"{error} by {SECRET}")
    route = line.router.post(line.vendor.url).mock(side_effect=named)
    failure = line.failed()
    assert " by ***" in str(failure)
    never = isinstance(
        error, httpx.ConnectError | httpx.ConnectTimeout | httpx.PoolTimeout | httpx.ProxyError
    )
    assert (failure.kind, failure.answered) == ("transient", never)
    assert route.call_count == 1


def test_a_call_ends_with_its_time(line: Line) -> None:
    async def never(_: httpx.Request) -> httpx.Response:
        await asyncio.Event().wait()
        raise AssertionError

    line.router.post(line.vendor.url).mock(side_effect=never)
    call = line.provider.complete(line.vendor.model, REQUEST, Call(SEED, timeout=0.01))
    with pytest.raises(CallFailed) as caught:
        line.runner.run(call)
    assert (caught.value.kind, caught.value.answered) == ("transient", False)


def test_the_key_is_sent_as_a_header_and_kept_nowhere(
    line: Line, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    headers = {"x-request-id": "r", "set-cookie": "c"}
    route = line.answers(json=line.vendor.five, headers=headers)
    completion = line.ask()
    name, value = line.vendor.header
    request = route.calls.last.request
    assert request.headers[name] == value
    assert SECRET not in str(request.url)
    kept = dumps(completion) + repr(completion)
    assert SECRET not in kept + caplog.text + repr(line.provider)
    assert "x-request-id" not in kept
    assert "Five." not in repr(completion)


def test_a_key_that_is_sent_back_in_a_reply_is_not_kept(line: Line) -> None:
    reply = line.vendor.says(f"Your key is {SECRET}.") | {"echo": f"Bearer {SECRET}"}
    line.answers(json=reply)
    completion = line.ask()
    assert completion.text == "Your key is ***."
    assert SECRET not in dumps(completion)


@pytest.mark.parametrize("key", ["model", "stop", "null", "Five", "text"])
def test_a_placeholder_for_a_key_is_no_secret_in_replies(line: Line, key: str) -> None:
    line.answers(json=line.vendor.five)
    completion = line.once(lambda: line.vendor.opened(**{line.vendor.key: key}))
    assert (completion.text, completion.finish) == ("Five.", "stop")
    assert completion.body == line.vendor.five
    line.refuses(401, f"no {key}, and {key}s")
    with pytest.raises(CallFailed, match=rf"no \*\*\*, and {key}s \(at "):
        line.once(lambda: line.vendor.opened(**{line.vendor.key: key}))


def test_no_credential_of_the_endpoint_is_told(line: Line) -> None:
    url = "https://joe:p%40ss@example.org:8443/v1?token=t0ken"
    said = "joe:p%40ss, joe:p@ss, p@ss, token=t0ken, t0ken, am9lOnBAc3M=, https://joe:p%40ss@x"
    line.router.route(host="example.org").respond(401, json=line.vendor.refusing(said))
    with pytest.raises(CallFailed, match="HTTP 401") as caught:
        line.once(lambda: line.vendor.opened(**{line.vendor.base_url: url}))
    for secret in ("joe", "p@ss", "p%40ss", "t0ken", "am9l"):
        assert secret not in str(caught.value)


def test_only_what_is_asked_for_is_sent(line: Line) -> None:
    assert line.sent() == line.vendor.sent


def test_a_conversation_is_sent_whole(line: Line) -> None:
    assert line.sent(TURNS) == line.vendor.sent_turns


def whole(vendor: Vendor) -> Request:
    """A request with everything that the vendor takes."""
    return Request(REQUEST.messages[1:], vendor.whole, "Score", SCHEMA)


def test_parameters_and_schema_are_sent(line: Line) -> None:
    assert line.sent(whole(line.vendor)) == line.vendor.sent_whole


@pytest.mark.parametrize("name", structured())
def test_a_schema_is_sent_in_the_order_in_which_the_prompt_names_its_keys(
    line: Line, name: str
) -> None:
    """Decoding that is held to a schema writes its keys in the schema's order."""
    request = replace(structured()[name], parameters=Parameters())
    assert keys(line.sent(request)) == prompted(request)


def test_every_experiment_whose_replies_have_keys_is_among_them() -> None:
    asked = {name.partition(" ")[0] for name in structured()}
    assert {of.id for of in SUITE} - asked == {LINGUISTIC_AUDIT.id}  # its replies are free text


LIGHTER: dict[str, dict[str, Any]] = {
    "temperature": {"parameters": {"temperature": None}},
    "max_output_tokens": {"parameters": {"max_output_tokens": None}},
    "seeded": {"parameters": {"seeded": False}},
    "schema": {"schema": None, "schema_name": None},
}


@pytest.mark.parametrize("name", LIGHTER)
def test_what_is_dropped_is_not_sent_and_is_named(line: Line, name: str) -> None:
    asked = whole(line.vendor)
    asked = replace(asked, parameters=replace(asked.parameters, seeded=True))
    other = () if line.vendor.seeds or name == "seeded" else ("seeded",)
    changes = dict(LIGHTER[name])
    parameters = replace(asked.parameters, **changes.pop("parameters", {}))
    lighter = replace(asked, parameters=parameters, **changes)
    sent = line.sent(asked, dropped=(name, *other))
    assert sent == line.sent(lighter, dropped=other)
    if line.vendor.seeds:
        assert sent != line.sent(asked)
    assert line.ask(asked, dropped=(name, *other)).dropped == tuple(sorted((name, *other)))


def test_a_seed_that_cannot_be_sent_is_a_refused_parameter_and_nothing_is_sent(
    line: Line,
) -> None:
    route = line.answers(json=line.vendor.five)
    if line.vendor.seeds:
        line.ask(SEEDED)
        assert f"{SEED % 2**31}" in json.dumps(body_of(route))
        return
    failure = line.failed(SEEDED)
    assert (failure.kind, failure.parameter) == ("parameter", "seeded")
    assert not route.called


@pytest.mark.parametrize("value", [None, "", " \n"])
def test_a_missing_key_is_named_before_anything_is_sent(vendor: Vendor, value: str | None) -> None:
    environ = {} if value is None else {vendor.key: value}
    with pytest.raises(BiasError, match=rf"\b{vendor.key}\b.*, which is not set"):
        open_provider(vendor.provider, ProviderContext(environ))


@pytest.mark.parametrize("key", ["sk-s3\ncret", "sk-s3cret…", "sk s3cret\nx", "sk-s3crét"])
def test_a_key_that_no_header_can_hold_is_not_told(vendor: Vendor, key: str) -> None:
    with pytest.raises(BadSetting, match=f"{vendor.key}=…: ") as caught:
        vendor.opened(**{vendor.key: key})
    assert "cr" not in str(caught.value).replace("characters", "")


def test_a_missing_sdk_is_named_with_the_command(
    vendor: Vendor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, vendor.package, None)
    with pytest.raises(MissingPackage, match=rf"pip install 'pytest-bias\[{vendor.extra}\]'"):
        vendor.opened()


BAD_URLS = [
    "https://joe:s3cret/x@example.org/v1",
    "https://joe:s3cret@example.org:port/v1",
    "s3cret",
    "ftp://joe:s3cret@example.org",
    "https://[::1",
]


@pytest.mark.parametrize("url", BAD_URLS)
def test_an_endpoint_that_is_no_url(vendor: Vendor, url: str) -> None:
    with pytest.raises(BadSetting, match=f"{vendor.base_url}=…: it is not an? ") as caught:
        vendor.opened(**{vendor.base_url: url})
    assert "s3cret" not in str(caught.value)
    assert caught.value.__context__ is None
    with pytest.raises(BadSetting, match=r"\[endpoints\.mine\] base_url=…: it is not an? "):
        open_wire(vendor.wire, Endpoint("mine", "x", url))


ELSEWHERE = {
    "": "",
    "https://proxy.example:8443/secret/v1": " at https://proxy.example:8443",
    "http://127.0.0.1:8000/v1": " at http://127.0.0.1:8000",
    "http://[::1]:8000/": " at http://[::1]:8000",
    "https://joe:p@s3cret@example.org/v1?key=s3cret": " at https://example.org",
}


@pytest.mark.parametrize(("url", "named"), ELSEWHERE.items())
def test_wire_names_sdk_version_api_and_host(vendor: Vendor, url: str, named: str) -> None:
    def opened() -> Provider:
        return vendor.opened(**{vendor.base_url: url})

    assert mocker.wire(opened, vendor.model) == vendor.api + named
