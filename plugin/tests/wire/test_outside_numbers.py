"""Numbers that come with a reply: what none can be is not believed, and costs no reply."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from pytest_bias.experiments.canonical import compact
from pytest_bias.experiments.messages import Completion
from pytest_bias.providers import sdk
from pytest_bias.providers.anthropic_messages import read_message
from pytest_bias.providers.base import Endpoint
from pytest_bias.providers.codex import Credentials, Ran, completion_of
from pytest_bias.providers.completion import ReplyBody, answered, completion
from pytest_bias.providers.google_contents import read_contents
from pytest_bias.providers.openai import read_chat, read_response

_TEXT = {"role": "assistant", "content": "Five."}
_SAID = {"type": "message", "content": [{"type": "output_text", "text": "Five."}]}
CANDIDATE = {"content": {"parts": [{"text": "Five."}]}, "finishReason": "STOP"}

BODIES: Mapping[str, tuple[Callable[..., Completion], dict[str, Any], tuple[str, str, str]]] = {
    "chat": (
        read_chat,
        {"model": "m", "choices": [{"message": _TEXT, "finish_reason": "stop"}]},
        ("usage", "prompt_tokens", "completion_tokens"),
    ),
    "responses": (
        read_response,
        {"model": "m", "status": "completed", "output": [_SAID]},
        ("usage", "input_tokens", "output_tokens"),
    ),
    "anthropic": (
        read_message,
        {"model": "m", "content": [{"type": "text", "text": "Five."}], "stop_reason": "end_turn"},
        ("usage", "input_tokens", "output_tokens"),
    ),
    "google": (
        read_contents,
        {"modelVersion": "m", "candidates": [CANDIDATE]},
        ("usageMetadata", "promptTokenCount", "candidatesTokenCount"),
    ),
}
"""Reader of a wire format, a reply without its usage, and where that stands in it."""

UNBELIEVABLE = (
    "-5",
    "true",
    "1.5",
    '"7"',
    "[7]",
    "{}",
    "NaN",
    "Infinity",
    "1e400",
    "10000001",
    "9" * 400,
    "9" * 5000,
)
"""What a gateway may say in place of a number of tokens, in JSON."""


def read(wire: str, tokens: str) -> Completion:
    """What is read where 7 tokens were asked and ``tokens`` answered."""
    reader, body, (usage, asked, said) = BODIES[wire]
    text = json.dumps(body)[:-1] + f', "{usage}": {{"{asked}": 7, "{said}": {tokens}}}}}'
    answer = answered("p/m", sdk.parsed(text), 0.5, Endpoint("p", "none"), "a reply", "")
    assert isinstance(answer, ReplyBody)
    whole = completion("p/m", answer, reader, "a reply", (), str)
    assert isinstance(whole, Completion)
    return whole


@pytest.mark.parametrize("tokens", UNBELIEVABLE, ids=lambda text: f"{text[:9]}-{len(text)}")
@pytest.mark.parametrize("wire", BODIES)
def test_a_count_that_none_can_be_is_unknown_and_its_reply_is_kept(wire: str, tokens: str) -> None:
    kept = read(wire, tokens)
    assert (kept.text, kept.finish) == ("Five.", "stop")
    assert kept.usage == {"input": 7}
    assert compact(dict(kept.body))  # it can be stored


@pytest.mark.parametrize("wire", BODIES)
def test_counts_that_can_be_are_believed(wire: str) -> None:
    assert read(wire, "0").usage == {"input": 7, "output": 0}
    assert read(wire, "10000000").usage == {"input": 7, "output": 10_000_000}


def test_a_sum_with_a_part_that_is_not_believed_is_unknown() -> None:
    _, body, _ = BODIES["anthropic"]
    parts = {"input_tokens": 7, "cache_read_input_tokens": -6, "output_tokens": 2}
    assert read_message(body | {"usage": parts}).usage == {"output": 2}


@pytest.mark.parametrize("tokens", UNBELIEVABLE, ids=lambda text: f"{text[:9]}-{len(text)}")
def test_codex_is_not_believed_either(tokens: str) -> None:
    usage = f'{{"input_tokens": 7, "output_tokens": {tokens}}}'
    events = f'{{"type": "turn.completed", "usage": {usage}}}'
    kept = completion_of(Ran(0, events, "", "Five.", 0.5), "m", Credentials({}), ())
    assert (kept.text, kept.usage) == ("Five.", {"input": 7})
    assert compact(dict(kept.body))


@pytest.mark.parametrize(
    "latency", [-0.1, float("nan"), float("inf"), True, "1", 10**400, 1e300, None]
)
def test_a_time_that_none_can_be_is_unknown(latency: Any) -> None:
    assert Completion("x", "stop", "m", latency=latency).latency is None


@pytest.mark.parametrize("latency", [0, 0.25, 5, 86_400.0])
def test_a_time_that_can_be_is_kept(latency: float) -> None:
    assert Completion("x", "stop", "m", latency=latency).latency == latency
