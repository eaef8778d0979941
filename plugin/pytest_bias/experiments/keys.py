"""Keys of interactions: what was asked, where in which trial, of which model. Never when."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from .canonical import compact, digest, plain
from .design import Trial
from .messages import Message, Parameters, Place, Request

_SEED_HEX = 15


def request_parts(request: Request) -> dict[str, object]:
    """The request in JSON types, as it enters the key and, hashed, the cassette."""
    return {
        "messages": [[message.role, message.text] for message in request.messages],
        "parameters": parameters_of(request.parameters),
        "schema": plain(request.schema, "reply schema") if request.schema is not None else None,
    }


def parameters_of(parameters: Parameters) -> dict[str, object]:
    """The parameters that are sent: those that are not left to the provider."""
    sent = {
        "temperature": parameters.temperature,
        "max_output_tokens": parameters.max_output_tokens,
        "seeded": parameters.seeded or None,
    }
    return {name: value for name, value in sent.items() if value is not None}


def interaction_key(
    experiment_id: str, trial: Trial, place: Place, model: str, request: Request
) -> str:
    """SHA-256 (64 hexadecimal digits) of all that makes an interaction what it is.

    The replicate is part of it, so two trials never share a reply; node ids and arrival order are
    not, so a renamed test keeps its recordings and concurrency cannot mispair them.
    """
    # One sorted object, put together of its parts: of replicates most are the same.
    where = _where_text(experiment_id, model, place.branch, place.turn, place.attempt)
    asked = _asked_text(request.messages, request.parameters)
    schema = "null" if request.schema is None else _schema_text(Itself(request.schema))
    levels, exemplars = trial.condition.levels, trial.exemplars
    cell = _cell_text(tuple(levels.items()), tuple(exemplars.items()), trial.item)
    identity = f'{cell[:-1]},"replicate":{trial.replicate}}}'
    return digest(f'{where[:-1]},"request":{asked[:-1]},"schema":{schema}}},"trial":{identity}}}')


@lru_cache
def _where_text(
    experiment_id: str, model: str, branch: tuple[int, ...], turn: int, attempt: int
) -> str:
    place = [list(branch), turn, attempt]
    return compact({"experiment": experiment_id, "model": model, "place": place}, sort_keys=True)


def _asked_text(messages: tuple[Message, ...], parameters: Parameters) -> str:
    # Message by message: every turn of a conversation says again what was said before it.
    said = ",".join([_said_text(message.role, message.text) for message in messages])
    return f'{{"messages":[{said}],"parameters":{_parameters_text(parameters)}}}'


@lru_cache
def _said_text(role: str, text: str) -> str:
    return f"[{compact(role)},{compact(text)}]"  # a list of both takes a third longer


@lru_cache
def _parameters_text(parameters: Parameters) -> str:
    return compact(parameters_of(parameters), sort_keys=True)


@lru_cache
def _cell_text(
    levels: tuple[tuple[str, str], ...], exemplars: tuple[tuple[str, str], ...], item: str | None
) -> str:
    """What replicates share of :attr:`.Trial.identity`: all but the last of its sorted keys."""
    cell = {"condition": dict(levels), "exemplars": dict(exemplars), "item": item}
    return compact(cell, sort_keys=True)


class Itself:
    """A schema that is the same as another only if it is that very object."""

    __slots__ = ("schema",)

    def __init__(self, schema: Mapping[str, object]) -> None:
        self.schema = schema

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Itself) and self.schema is other.schema

    def __hash__(self) -> int:
        return id(self.schema)


@lru_cache
def _schema_text(of: Itself) -> str:
    return compact(plain(of.schema, "reply schema"), sort_keys=True)


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
