"""Requests to a model, their keys, and what comes back: the same types for all providers."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import lru_cache
from typing import Literal, cast

from .canonical import by_identity, compact, digest, plain
from .design import Trial, frozen_mapping
from .fields import forbid, need, need_number

Role = Literal["system", "user", "assistant"]
NO_REPLY = frozenset({"refusal", "content_filter", "prompt_too_long", "schema_broken"})
"""Ends of what is no reply, and the reasons for which such a trial is missing."""

TRUNCATED = "truncated"
"""Reason of a reply that is invalid since the limit on tokens ended it."""

ModelRole = Literal["subject", "judge"]
"""Who answers: the model under test, or the model that grades."""


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a conversation."""

    role: Role
    text: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Parameters:
    """Sampling of replies: temperature, and the limit on the reply in tokens.

    What is None is left to the provider. ``seeded`` sends each trial's own seed, where the
    provider takes one, so that replicates vary and a reply can (mostly) be had again. ``extra`` is
    what the roster has sent besides (``request``, ``query``, names of ``headers``), as JSON.
    """

    temperature: float | None = None
    max_output_tokens: int | None = None
    seeded: bool = False
    extra: str = ""

    def __post_init__(self) -> None:
        if self.temperature is not None:
            warmth = need_number("Parameters", "temperature", self.temperature, "0 or above")
            forbid("Parameters", warmth < 0, "temperature must be 0 or above")
            # 1 and 1.0 are one request, so they have one key, as have 0.0 and -0.0
            object.__setattr__(self, "temperature", abs(warmth))
        limit = self.max_output_tokens
        valid = limit is None or (type(limit) is int and limit >= 1)
        forbid("Parameters", not valid, "max_output_tokens must be a whole number from 1 up")
        need("Parameters", "seeded", self.seeded, bool, "True or False")

    def filled(self, defaults: Parameters) -> Parameters:
        """These parameters, and those of ``defaults`` where these leave it to the provider."""
        if defaults == NONE_GIVEN:
            return self
        temperature, limit = self.temperature, self.max_output_tokens
        return Parameters(
            temperature=defaults.temperature if temperature is None else temperature,
            max_output_tokens=defaults.max_output_tokens if limit is None else limit,
            seeded=self.seeded or defaults.seeded,
            extra=self.extra or defaults.extra,
        )

    @property
    def sent(self) -> frozenset[str]:
        """Names of the parameters that are not left to the provider."""
        return frozenset(n for n, default in _DEFAULTS.items() if getattr(self, n) is not default)

    @property
    def request(self) -> Mapping[str, object]:
        """The roster's further fields of the request."""
        return cast("Mapping[str, object]", json.loads(self.extra or "{}").get("request", {}))


_DEFAULTS = {each.name: each.default for each in fields(Parameters) if each.name != "extra"}

NONE_GIVEN = Parameters()
"""All is left to the provider."""


@dataclass(frozen=True, slots=True)
class Request:
    """All that a model is sent for one interaction.

    ``schema`` is the JSON schema of a structured reply (None for free text), ``schema_name`` the
    name providers want for it, ``to`` who is asked.
    """

    messages: tuple[Message, ...]
    parameters: Parameters
    schema_name: str | None = None
    schema: Mapping[str, object] | None = field(default=None, repr=False)
    to: ModelRole = "subject"

    @property
    def sent(self) -> frozenset[str]:
        """Names of what is sent beside the messages, and a model may refuse: :data:`DROPPABLE`."""
        return self.parameters.sent | ({"schema"} if self.schema is not None else set())


DROPPABLE = frozenset({*_DEFAULTS, "schema"})
"""What need not be sent to a model that refuses it, where the experiment allows that."""


@dataclass(frozen=True, slots=True)
class Place:
    """The place of an interaction in its trial.

    ``branch`` is the path through ``together()`` calls (turn, child, turn, child, …), ``turn``
    counts steps within the branch from 1, ``attempt`` counts tries of the same question from 1, of
    as many as it allows (``of``).
    """

    branch: tuple[int, ...]
    turn: int
    attempt: int
    of: int = field(default=1, compare=False)


@dataclass(frozen=True, slots=True)
class Completion:
    """A model's answer, alike for all providers.

    ``finish`` is how it ended: ``stop`` and ``length`` are ends of a reply, :data:`NO_REPLY` of
    none. Any other word is the provider's own, and no end that is known.
    ``served_model`` is the model that the provider says answered, empty where it does not say.
    ``usage`` holds token counts (``input``, ``output``), ``latency`` is in seconds without
    queueing and failed attempts (None where the provider cannot tell), ``body`` is the reply as
    the provider sent it, ``dropped`` names the parameters that were not sent because the model
    refuses them, ``cached`` the header by which a cache on the way says that it gave this reply,
    ``routed`` the model to which a gateway says that it passed the request.
    Counts and times that none can be are left out, whoever says them: a provider
    or a recording.
    """

    text: str = field(repr=False)
    finish: str
    served_model: str
    usage: Mapping[str, int] = field(default_factory=dict)
    latency: float | None = None
    recorded_at: str | None = None
    body: Mapping[str, object] = field(default_factory=dict, repr=False)
    dropped: tuple[str, ...] = ()
    cached: str = ""
    routed: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "usage", frozen_mapping(believable_counts(self.usage)))
        object.__setattr__(self, "latency", believable_seconds(self.latency))
        object.__setattr__(self, "body", frozen_mapping(self.body))


_ENDS: Mapping[str, str] = {
    word: end
    for end, words in {
        "stop": "stop stop_sequence stop_token eos eos_token end end_turn end_of_turn end_of_text "
        "endoftext complete completed finish finished",
        "length": "length max_length max_tokens max_output_tokens max_new_tokens model_length "
        "token_limit limit model_context_window_exceeded error_limit continuation",
        "content_filter": "content_filter content_filtered content_policy_violation guardrail "
        "guardrail_intervened safety moderation sensitive error_toxic prohibited_content "
        "blocklist spii recitation escalation model_armor image_safety image_recitation "
        "image_prohibited_content",
        "refusal": "refusal refused",
    }.items()
    for word in words.split()
}
"""Words for how a reply ended → how it did. One table for all wires, as gateways pass on the words
of the vendors behind them: OpenAI, Anthropic, Google, Amazon, Cohere, Mistral, Zhipu, watsonx and
servers of open models. Pauses, tools, errors and aborts are in none: no reply is whole then."""

_LONGEST_END = 20
"""Characters of an unknown end, which becomes part of a reason that may name a role as well."""


def end_of(word: object) -> str:
    """How a reply ended, by the provider's ``word``: of :data:`_ENDS`, or as a label the word.

    A reply without a word ended as it should. Raises TypeError where it is no text.
    """
    parts = re.findall("[a-z0-9]+", text_of(word).lower().removeprefix("finish_reason_"))
    label = "_".join(parts) or ("unnamed" if word else "stop")
    if label in _ENDS or len(label) <= _LONGEST_END:
        return _ENDS.get(label, label)
    short = label[: _LONGEST_END + 1]
    return short.rpartition("_")[0] or short[:-1]


def text_of(value: object) -> str:
    """``value`` where it is text, '' for None; TypeError for anything else."""
    if value is None:
        return ""
    if not isinstance(value, str):
        message = f"a {type(value).__name__} where text belongs"
        raise TypeError(message)
    return value


_IDENTIFIES = re.compile(r"\D*\d.*[a-zA-Z]", re.DOTALL)
"""What is in ids made at random. A word with a number behind it is none: a counter, the second of
a clock, or one of the thousand numbers that Ollama draws from, which differing replies share."""

_ID_LENGTH = 16


def identity_of(body: Mapping[str, object]) -> tuple[str, str]:
    """Digests of a reply's id and creation time; each '' where its ``body`` has no id.

    OpenAI and Anthropic call it ``id``, Google ``responseId``.
    """
    name = body.get("id", body.get("responseId"))
    if not isinstance(name, str) or _IDENTIFIES.match(name) is None:
        return "", ""
    created = (body[each] for each in ("created", "created_at", "createTime") if each in body)
    return digest(name)[:_ID_LENGTH], digest(str(next(created, "")))[:_ID_LENGTH]


_MOST_TOKENS = 10_000_000
"""Ten times what any model reads and writes in one call."""

_MOST_SECONDS = 10_000_000.0


def token_count(value: object) -> int | None:
    """``value`` where it can be a number of tokens of one call; None for whatever else is said.

    A count that is not believed is unknown, and never 0: the call is charged at its highest price.
    """
    return value if type(value) is int and 0 <= value <= _MOST_TOKENS else None


def believable_counts(usage: object) -> dict[str, int]:
    """Name → number of tokens, as far as they can be believed."""
    if not isinstance(usage, dict | Mapping):  # a plain dict is told without asking the ABC
        return {}
    return {n: count for n, value in usage.items() if (count := token_count(value)) is not None}


def believable_seconds(value: object) -> float | None:
    """``value`` where it can be how long a reply took; None where nobody knows."""
    known = type(value) in (int, float) and 0 <= cast("float", value) <= _MOST_SECONDS
    return cast("float", value) if known else None


_SEED_HEX = 15


def request_parts(request: Request) -> dict[str, object]:
    """The request in JSON types, as it enters the key and, hashed, the cassette."""
    return {
        "messages": [[message.role, message.text] for message in request.messages],
        "parameters": parameters_of(request.parameters),
        "schema": None if request.schema is None else _plain(request.schema),
    }


@by_identity
def _plain(schema: Mapping[str, object]) -> object:
    return plain(schema, "reply schema")


def parameters_of(parameters: Parameters) -> dict[str, object]:
    """The parameters that are sent: those that are not left to the provider."""
    sent = {
        "temperature": parameters.temperature,
        "max_output_tokens": parameters.max_output_tokens,
        "seeded": parameters.seeded or None,
    }
    known: dict[str, object] = {n: value for n, value in sent.items() if value is not None}
    return {**known, **json.loads(parameters.extra or "{}")}


def interaction_key(
    instrument: str, trial: Trial, place: Place, model: str, request: Request
) -> str:
    """SHA-256 (64 hexadecimal digits) of all that makes an interaction what it is.

    ``instrument`` is :attr:`.Experiment.instrument`. The replicate is part of it, so two trials
    never share a reply; node ids and arrival order are not, so a renamed test keeps its recordings
    and concurrency cannot mispair them.
    """
    # One object with sorted keys; replicates ask the same, so that its parts are made once.
    where = {
        "experiment": instrument,
        "model": model,
        "place": [list(place.branch), place.turn, place.attempt],
    }
    parts = (
        compact(where, sort_keys=True)[:-1],
        f'"request":{_messages_text(request.messages, request.parameters)[:-1]}',
        f'"schema":{"null" if request.schema is None else _schema_text(request.schema)}}}',
        f'"trial":{compact(trial.identity, sort_keys=True)}}}',
    )
    return digest(",".join(parts))


@lru_cache(maxsize=1024)
def _messages_text(messages: tuple[Message, ...], parameters: Parameters) -> str:
    texts = [[message.role, message.text] for message in messages]
    return compact({"messages": texts, "parameters": parameters_of(parameters)}, sort_keys=True)


@by_identity
def _schema_text(schema: Mapping[str, object]) -> str:
    return compact(_plain(schema), sort_keys=True)


def seed_of_trial(experiment_id: str, trial: Trial) -> int:
    """The seed that all calls of a trial share, for simulated subjects; as :func:`trial_seed`."""
    text = compact([experiment_id, trial.identity], sort_keys=True)
    return int(digest(text)[:_SEED_HEX], 16)


def trial_seed(experiment_id: str, trial: Trial, place: Place) -> int:
    """The per-trial seed simulated endpoints are sent, a non-negative 60-bit integer.

    It depends on the trial and the place in it, not on the prompt or the model: replicates vary,
    re-recordings agree. As a hash it says nothing a subject could read a condition from.
    """
    text = compact(
        [experiment_id, trial.identity, list(place.branch), place.turn, place.attempt],
        sort_keys=True,
    )
    return int(digest(text)[:_SEED_HEX], 16)
