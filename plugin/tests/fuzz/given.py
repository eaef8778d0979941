"""Targets that others write: replies of providers and models."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

from pytest_bias.cassettes.format import decode_interaction, encode_interaction, interaction_of
from pytest_bias.errors import BiasError, CallFailed, InvalidReply
from pytest_bias.experiments.design import LABEL
from pytest_bias.experiments.experiment import plan
from pytest_bias.experiments.messages import Completion
from pytest_bias.experiments.replay import PendingRequest, carry_out
from pytest_bias.experiments.replies import accept_object
from pytest_bias.providers.adapter import completion
from pytest_bias.providers.anthropic_messages import AnthropicMessages
from pytest_bias.providers.codex import Ran, completion_of
from pytest_bias.providers.failures import reply_failure
from pytest_bias.providers.google_contents import GoogleContents
from pytest_bias.providers.openai import OpenAIChat, OpenAIResponses
from pytest_bias.providers.sdk import Secrets, parsed

from .games import GAMES, MODEL, Rating
from .harness import Target

GAME = GAMES["fuzz-raw"]


_READERS: Mapping[str, Callable[[dict[str, Any]], Completion]] = {
    "anthropic.json": AnthropicMessages.read,
    "google.json": GoogleContents.read,
    "openai-chat.json": OpenAIChat.read,
    "openai-responses.json": OpenAIResponses.read,
}
_RESPONSE = SimpleNamespace(elapsed=timedelta(seconds=0.1), headers={})
_SECRETS = Secrets("a-key-of-somebody-0123456789")


class Replies(Target[Completion]):
    """A damaged reply body is a completion that a cassette can hold, or a failed call.

    A failure names the model. Text is text, an end is one of those known, counts are whole
    and not below 0.
    """

    name = "replies"

    def read(self, origin: str, data: bytes) -> Completion:
        text = data.decode("utf-8", "replace")  # as the transport decodes it
        if origin == "codex.jsonl":
            return completion_of(Ran(0, text, "", "5", 0.1), "m", Secrets())
        try:
            body = _SECRETS.purged(parsed(text))
        except ValueError as error:
            raise reply_failure("lab/m", "a reply", error) from error
        found = completion("lab/m", body, _RESPONSE, _READERS[origin], "a reply")
        if isinstance(found, Completion):
            return found
        raise found

    def blames(self, origin: str, error: BiasError) -> bool:
        return isinstance(error, CallFailed) and (
            "codex/m" if "codex" in origin else "lab/m"
        ) in str(error)

    def why_wrong(self, origin: str, data: bytes, found: Completion) -> str:  # noqa: ARG002
        texts: list[object] = [found.text, found.served_model]
        if not all(isinstance(text, str) for text in texts):
            return "its text, or its model, is none"
        if not LABEL.fullmatch(found.finish):
            return f"it ended as {found.finish!r}"
        if not all(type(count) is int and count >= 0 for count in found.usage.values()):
            return f"it counts {dict(found.usage)}"
        line = encode_interaction(interaction_of(self._wanted, found))
        again = decode_interaction(line, "path", 1).completion
        return "" if again == found else "a cassette gives another reply back"

    @property
    def _wanted(self) -> PendingRequest:
        seen: list[PendingRequest] = []

        def say(wanted: PendingRequest) -> Completion:
            seen.append(wanted)
            return Completion('{"score": 5}', "stop", "even")

        carry_out(GAME, MODEL, plan(GAME, GAME.design())[0], say)
        return seen[-1]


class Texts(Target[Rating]):
    """A damaged reply text gives exactly what stands in it, or is invalid for a reason."""

    name = "texts"

    def read(self, origin: str, data: bytes) -> Rating:
        assert origin
        return accept_object(data.decode("utf-8", "surrogateescape"), "stop", Rating)

    def blames(self, origin: str, error: BiasError) -> bool:
        return isinstance(error, InvalidReply) and bool(error.reason and origin)

    def why_wrong(self, origin: str, data: bytes, found: Rating) -> str:  # noqa: ARG002
        said = json.loads(data)
        values = found.model_dump()
        stands = {**Rating(score=0).model_dump(), **said}
        stands["weight"] = float(stands["weight"])  # a whole number is one, too
        if not math.isfinite(found.weight) or values != stands:
            return f"it is read as {values}"
        kinds = {name: type(values[name]) for name in said if name != "weight"}
        same = all(type(said[name]) is kind for name, kind in kinds.items())
        return "" if same else f"it is read as {values}"
