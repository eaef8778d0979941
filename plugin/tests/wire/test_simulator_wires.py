"""Every wire format of the simulator's server: through its real SDK, and raw."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import anthropic
import httpx2
import openai
import pytest
from google import genai
from google.genai import errors as google_errors
from google.genai import types
from openai.types.responses import Response

from pytest_bias.experiments.experiment import SimulatedPrompt
from pytest_bias.experiments.messages import Message
from pytest_bias.providers.simulator.exchange import FINGERPRINT, PROGRAMS, SUBJECTS
from pytest_bias.providers.simulator.server import SimulatorServer

from ..helpers import serving

HEARD: list[SimulatedPrompt] = []


def echo(prompt: SimulatedPrompt) -> str | None:
    """Recognises what begins with "echo" and says what it was asked, so that tests can compare."""
    if not prompt.messages[-1].text.startswith("echo"):
        return None
    HEARD.append(prompt)
    return " | ".join(f"{message.role}: {message.text}" for message in prompt.messages)


@pytest.fixture(scope="module")
def server() -> Iterator[SimulatorServer]:
    with serving(echo) as running:
        yield running


@pytest.fixture(scope="module")
def anthropic_sdk(server: SimulatorServer) -> Iterator[anthropic.Anthropic]:
    with anthropic.Anthropic(base_url=server.url, api_key="x", max_retries=0) as client:
        yield client


@pytest.fixture(scope="module")
def google_sdk(server: SimulatorServer) -> Iterator[genai.Client]:
    options = types.HttpOptions(base_url=server.url)
    with genai.Client(api_key="x", vertexai=False, http_options=options) as client:
        yield client


Conversation = tuple[Message, ...]
Ask = Callable[[Conversation, str, int], str]
"""Conversation, subject, seed → text."""

TALK: Conversation = (
    Message("system", "Be brief."),
    Message("user", "One?"),
    Message("assistant", "Two."),
    Message("user", "echo: three?"),
)
SAID = "system: Be brief. | user: One? | assistant: Two. | user: echo: three?"
WORDS_IN, WORDS_OUT = 6, len(SAID.split())


def roles(messages: Conversation) -> list[Any]:
    return [{"role": message.role, "content": message.text} for message in messages]


def split(messages: Conversation) -> tuple[str | None, Conversation]:
    """The system prompt, and what follows it."""
    if messages[0].role == "system":
        return messages[0].text, messages[1:]
    return None, messages


def contents(messages: Conversation) -> list[Any]:
    names = {"user": "user", "assistant": "model"}
    return [types.Content(role=names[m.role], parts=[types.Part(text=m.text)]) for m in messages]


@pytest.fixture(scope="module")
def asks(
    openai_sdk: openai.OpenAI, anthropic_sdk: anthropic.Anthropic, google_sdk: genai.Client
) -> Mapping[str, Ask]:
    """One question through each of the SDKs."""

    def chat(messages: Conversation, subject: str, seed: int) -> str:
        reply = openai_sdk.chat.completions.create(
            model=subject, messages=roles(messages), extra_body={"pytest_bias_seed": seed}
        )
        return reply.choices[0].message.content or ""

    def responses(messages: Conversation, subject: str, seed: int) -> str:
        system, rest = split(messages)
        return openai_sdk.responses.create(
            model=subject,
            input=roles(rest),
            instructions=system,
            extra_body={"pytest_bias_seed": seed},
        ).output_text

    def streamed(messages: Conversation, subject: str, seed: int) -> str:
        system, rest = split(messages)
        with openai_sdk.responses.create(
            model=subject,
            input=roles(rest),
            instructions=system,
            stream=True,
            extra_body={"pytest_bias_seed": seed},
        ) as events:
            return "".join(e.delta for e in events if e.type == "response.output_text.delta")

    def messages_api(messages: Conversation, subject: str, seed: int) -> str:
        system, rest = split(messages)
        reply = anthropic_sdk.messages.create(
            model=subject,
            max_tokens=9,
            messages=roles(rest),
            system=anthropic.omit if system is None else system,
            extra_body={"pytest_bias_seed": seed},
        )
        return "".join(block.text for block in reply.content if block.type == "text")

    def generate(messages: Conversation, subject: str, seed: int) -> str:
        system, rest = split(messages)
        config = types.GenerateContentConfig(
            system_instruction=system,
            http_options=types.HttpOptions(extra_body={"pytest_bias_seed": seed}),
        )
        reply = google_sdk.models.generate_content(
            model=subject, contents=contents(rest), config=config
        )
        return reply.text or ""

    return {
        "chat": chat,
        "responses": responses,
        "streamed": streamed,
        "messages": messages_api,
        "generateContent": generate,
    }


WIRES = ("chat", "responses", "streamed", "messages", "generateContent")


@pytest.mark.parametrize("wire", WIRES)
def test_a_conversation_arrives_whole(asks: Mapping[str, Ask], wire: str) -> None:
    assert asks[wire](TALK, "drifted", 2**60 - 1) == SAID
    assert HEARD[-1] == SimulatedPrompt("drifted", TALK, 2**60 - 1)
    assert asks[wire](TALK, "judge", 5) == SAID
    assert HEARD[-1] == SimulatedPrompt("judge", TALK, 5)
    # Without a system prompt there is none.
    assert asks[wire]((Message("user", "echo"),), "even", 0) == "user: echo"


def test_responses_are_whole(openai_sdk: openai.OpenAI) -> None:
    reply = openai_sdk.responses.create(
        model="even",
        input="echo",
        temperature=1.0,
        max_output_tokens=5,
        store=False,
        reasoning={"effort": "low"},
        tools=[{"type": "function", "name": "look", "parameters": {}, "strict": False}],
        text={"format": {"type": "json_schema", "name": "n", "schema": {}, "strict": True}},
    )
    assert reply.output_text == "user: echo"
    assert (reply.status, reply.model, reply.created_at) == ("completed", "even", 0)
    assert (reply.incomplete_details, reply.error) == (None, None)
    assert reply.usage is not None
    assert (reply.usage.input_tokens, reply.usage.output_tokens) == (1, 2)
    assert reply.usage.total_tokens == 3
    assert reply.to_dict()["system_fingerprint"] == FINGERPRINT
    # Strictly: the SDK's own types take the body, without the leniency of its client.
    assert Response.model_validate_json(reply.to_json()).output_text == "user: echo"


def test_streamed_responses_have_every_event_in_order(openai_sdk: openai.OpenAI) -> None:
    text = "echo " + "word " * 30
    with openai_sdk.responses.create(model="even", input=text, stream=True) as stream:
        events = list(stream)
    assert [e.sequence_number for e in events] == list(range(len(events)))
    kinds = [event.type for event in events]
    assert list(dict.fromkeys(kinds)) == [
        "response.created",
        "response.in_progress",
        "response.output_item.added",
        "response.content_part.added",
        "response.output_text.delta",
        "response.output_text.done",
        "response.content_part.done",
        "response.output_item.done",
        "response.completed",
    ]
    assert kinds.count("response.output_text.delta") > 1
    whole = openai_sdk.responses.create(model="even", input=text)
    last = events[-1]
    assert last.type == "response.completed"
    assert last.response.to_dict() == whole.to_dict()
    first = events[0]
    assert first.type == "response.created"
    assert first.response.status == "in_progress"
    assert first.response.to_dict()["system_fingerprint"] == FINGERPRINT


def test_the_sdks_own_stream_helper_reads_it(openai_sdk: openai.OpenAI) -> None:
    with openai_sdk.responses.stream(model="even", input="echo") as stream:
        assert stream.get_final_response().output_text == "user: echo"


def test_what_an_agent_sends_beside_the_prompt_is_not_asked_by_the_user(
    raw: httpx2.Client,
) -> None:
    text = {"type": "input_text", "text": "<environment_context>\n<cwd>/x</cwd>"}
    asked = {"type": "input_text", "text": "echo"}
    body = {
        "model": "even",
        "instructions": "You are an agent.",
        "input": [
            {"type": "message", "role": "developer", "content": "Rules."},
            {"type": "message", "role": "user", "content": [text]},
            {"type": "reasoning", "summary": [], "encrypted_content": "…"},
            {"type": "message", "id": "1", "role": "user", "content": [asked]},
        ],
        "include": ["reasoning.encrypted_content"],
        "client_metadata": {"a": "b"},
    }
    assert raw.post("/v1/responses", json=body).status_code == 200
    said = [(message.role, message.text) for message in HEARD[-1].messages]
    assert said == [
        ("system", "You are an agent."),
        ("system", "Rules."),
        ("system", text["text"]),
        ("user", "echo"),
    ]


def test_messages_are_whole(anthropic_sdk: anthropic.Anthropic) -> None:
    reply = anthropic_sdk.messages.create(
        model="even",
        max_tokens=100,
        system=[{"type": "text", "text": "Be "}, {"type": "text", "text": "brief."}],
        messages=[
            {"role": "user", "content": [{"type": "text", "text": "One?"}]},
            {"role": "assistant", "content": "Two."},
            {"role": "user", "content": "echo: three?"},
        ],
        output_config={"format": {"type": "json_schema", "schema": {"type": "object"}}},
        extra_body={"temperature": 0.5},
    )
    assert [block.text for block in reply.content if block.type == "text"] == [SAID]
    assert (reply.model, reply.role, reply.type) == ("even", "assistant", "message")
    assert (reply.stop_reason, reply.stop_sequence) == ("end_turn", None)
    assert (reply.usage.input_tokens, reply.usage.output_tokens) == (WORDS_IN, WORDS_OUT)
    assert reply.to_dict()["system_fingerprint"] == FINGERPRINT
    assert anthropic.types.Message.model_validate_json(reply.to_json()).content == reply.content


def test_generated_contents_are_whole(google_sdk: genai.Client, raw: httpx2.Client) -> None:
    config = types.GenerateContentConfig(
        temperature=1.0,
        max_output_tokens=5,
        seed=7,
        response_mime_type="application/json",
        response_json_schema={"type": "object"},
    )
    reply = google_sdk.models.generate_content(model="even", contents="echo", config=config)
    assert reply.text == "user: echo"
    assert reply.model_version == "even"
    assert reply.candidates is not None
    assert reply.candidates[0].finish_reason == types.FinishReason.STOP
    assert reply.usage_metadata is not None
    assert reply.usage_metadata.prompt_token_count == 1
    assert reply.usage_metadata.candidates_token_count == 2
    assert reply.usage_metadata.total_token_count == 3
    body = {"contents": [{"parts": [{"text": "echo"}]}]}  # as curl's users write it: no role
    whole = raw.post("/v1beta/models/even:generateContent", json=body).json()
    assert whole["system_fingerprint"] == FINGERPRINT


def test_models_are_listed(openai_sdk: openai.OpenAI) -> None:
    assert list(PROGRAMS) == [*SUBJECTS, "judge"]
    models = list(openai_sdk.models.list())
    assert [(model.id, model.owned_by) for model in models] == [
        (program, "simulated") for program in PROGRAMS
    ]


def test_errors_are_those_of_the_vendors(
    openai_sdk: openai.OpenAI, anthropic_sdk: anthropic.Anthropic, google_sdk: genai.Client
) -> None:
    said = "unknown simulated subject 'gpt-5'; known: biased, drifted, even, judge"
    for ask in (
        lambda: openai_sdk.responses.create(model="gpt-5", input="echo"),
        lambda: openai_sdk.chat.completions.create(model="gpt-5", messages=roles(TALK[1:])),
    ):
        with pytest.raises(openai.NotFoundError) as first:
            ask()
        assert first.value.body == {
            "message": said,
            "type": "invalid_request_error",
            "param": None,
            "code": "model_not_found",
        }
    with pytest.raises(anthropic.NotFoundError) as second:
        anthropic_sdk.messages.create(model="gpt-5", max_tokens=1, messages=roles(TALK[1:]))
    assert second.value.body == {
        "type": "error",
        "error": {"type": "not_found_error", "message": said},
    }
    with pytest.raises(google_errors.ClientError) as third:
        google_sdk.models.generate_content(model="gpt-5", contents="echo")
    assert third.value.details == {"error": {"code": 404, "message": said, "status": "NOT_FOUND"}}


def test_streams_are_refused_where_there_are_none(
    openai_sdk: openai.OpenAI, anthropic_sdk: anthropic.Anthropic, google_sdk: genai.Client
) -> None:
    with pytest.raises(openai.BadRequestError, match="not streamed"):
        openai_sdk.chat.completions.create(model="even", messages=roles(TALK[1:]), stream=True)
    with pytest.raises(anthropic.BadRequestError, match="replies are not streamed"):
        anthropic_sdk.messages.create(
            model="even", max_tokens=1, messages=roles(TALK[1:]), stream=True
        )
    with pytest.raises(google_errors.ClientError, match=r"nothing is served at .*:streamGenerate"):
        list(google_sdk.models.generate_content_stream(model="even", contents="echo"))


CHAT, RESPONSES, MESSAGES = "/v1/chat/completions", "/v1/responses", "/v1/messages"
CONTENTS = "/v1beta/models/even:generateContent"
NAMES = {CHAT: "chat completion", RESPONSES: "Responses", MESSAGES: "Messages"}
NAMES |= {CONTENTS: "generateContent"}


def said_by(role: object, content: object) -> list[dict[str, object]]:
    return [{"role": role, "content": content}]


ECHO = {"model": "even", "messages": said_by("user", "echo")}
ASKED = {"model": "even", "input": "echo"}
PART = {"parts": [{"text": "echo"}]}
# A body that is answered, and what is each by itself wrong in it.
WRONG: list[tuple[str, dict[str, Any], list[dict[str, Any]]]] = [
    (CHAT, ECHO, [{"model": None}, {"model": 5}, {"messages": None}, {"messages": []}]),
    (CHAT, ECHO, [{"messages": "echo"}, {"messages": ["echo"]}, {"messages": [{"content": "x"}]}]),
    (CHAT, ECHO, [{"messages": said_by("x", "echo")}, {"messages": [{"role": "user"}]}]),
    (CHAT, ECHO, [{"messages": said_by("user", [{"type": "text"}])}]),
    (CHAT, ECHO, [{"pytest_bias_seed": "1"}, {"pytest_bias_seed": True}]),
    (RESPONSES, ASKED, [{"model": None}, {"input": None}, {"input": []}, {"input": 5}]),
    (RESPONSES, ASKED, [{"input": [{"type": "reasoning"}]}, {"input": ["echo"]}]),
    (RESPONSES, ASKED, [{"input": said_by("x", "echo")}, {"instructions": []}]),
    (RESPONSES, ASKED, [{"input": said_by("user", [{"type": "input_image"}])}]),
    (RESPONSES, ASKED, [{"previous_response_id": "resp_1"}, {"pytest_bias_seed": "1"}]),
    (MESSAGES, ECHO | {"max_tokens": 1}, [{"max_tokens": None}, {"max_tokens": 0}]),
    (MESSAGES, ECHO | {"max_tokens": 1}, [{"messages": None}, {"system": 5}]),
    (MESSAGES, ECHO | {"max_tokens": 1}, [{"messages": said_by("user", [{"type": "image"}])}]),
    (CONTENTS, {"contents": [PART]}, [{"contents": None}, {"contents": "echo"}]),
    (CONTENTS, {"contents": [PART]}, [{"contents": [PART | {"role": "assistant"}]}]),
    (CONTENTS, {"contents": [PART]}, [{"contents": [PART | {"role": []}]}]),
    (CONTENTS, {"contents": [PART]}, [{"contents": [{"role": "user"}]}]),
    (CONTENTS, {"contents": [PART]}, [{"contents": [{"parts": [{"inlineData": {}}]}]}]),
    (CONTENTS, {"contents": [PART]}, [{"systemInstruction": "x"}]),
]


def is_malformed(raw: httpx2.Client, path: str, content: bytes) -> None:
    reply = raw.post(path, content=content)
    assert reply.status_code == 400
    said: str = reply.json()["error"]["message"]
    assert said.startswith(f"not a {NAMES[path]} request: ")


@pytest.mark.parametrize(("path", "good", "changes"), WRONG)
def test_malformed_bodies(
    raw: httpx2.Client, path: str, good: dict[str, Any], changes: list[dict[str, Any]]
) -> None:
    assert raw.post(path, json=good).status_code == 200
    for change in changes:
        is_malformed(raw, path, json.dumps(good | change).encode())


@pytest.mark.parametrize("path", NAMES)
def test_bodies_that_are_no_object(raw: httpx2.Client, path: str) -> None:
    for content in (b"", b"{", b"[]", b"null", b"model=even", b"\xff\xfe{}", b"[" * 100_000):
        is_malformed(raw, path, content)


def test_a_prompt_nobody_recognises_is_said_in_every_format(raw: httpx2.Client) -> None:
    bodies: dict[str, dict[str, Any]] = {
        CHAT: {"model": "even", "messages": said_by("user", "2 + 2?")},
        RESPONSES: {"model": "even", "input": "2 + 2?"},
        MESSAGES: {"model": "even", "max_tokens": 1, "messages": said_by("user", "")},
        CONTENTS: {"contents": [{"parts": [{"text": "2 + 2?"}]}]},
    }
    for path, body in bodies.items():
        reply = raw.post(path, json=body)
        assert reply.status_code == 422
        assert reply.json()["error"]["message"] == (
            "no simulated subject recognises this prompt; give the experiment a function "
            "simulated=… that answers it (see SimulatedPrompt)"
        )


@pytest.mark.parametrize(
    ("path", "shape"),
    [
        ("/v1/embeddings", {"type": "invalid_request_error", "param": None, "code": None}),
        ("/v1/messages/count_tokens", {"type": "not_found_error"}),
        ("/v1beta/models/even:countTokens", {"code": 404, "status": "NOT_FOUND"}),
    ],
)
def test_unknown_paths(raw: httpx2.Client, path: str, shape: dict[str, object]) -> None:
    for reply in (raw.post(f"{path}?key=s3cret", json={}), raw.get(f"{path}?key=s3cret")):
        assert reply.status_code == 404
        assert reply.json()["error"] == {"message": f"nothing is served at {path}"} | shape
