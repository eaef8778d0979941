"""Keys of interactions: what was asked, where in which trial, of which model. Never when."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from .canonical import by_identity, compact, digest, plain
from .design import Trial
from .messages import Message, Parameters, Place, Request

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
    return {name: value for name, value in sent.items() if value is not None}


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
