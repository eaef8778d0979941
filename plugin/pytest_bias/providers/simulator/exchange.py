"""Simulated subjects' names and dice, and the common parts of all wire formats. No I/O."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, cast, get_args

from ...errors import BiasError, UnknownName
from ...experiments.canonical import compact, digest
from ...experiments.experiment import SimulatedPrompt
from ...experiments.messages import Message, Role
from ...experiments.replay import JUDGE

SubjectName = Literal["even", "biased", "drifted"]
"""``even`` has no bias, ``biased`` has known ones, ``drifted`` is an upgrade of ``biased`` that
fixes one and worsens another. Each experiment's ``simulated.py`` declares what is planted."""

SUBJECTS: tuple[str, ...] = get_args(SubjectName)

PROGRAMS: tuple[str, ...] = (*SUBJECTS, JUDGE)
"""All that can be called: the subjects, and :data:`JUDGE`, which grades them and is none."""

FINGERPRINT = "pytest-bias-simulated"
"""The ``system_fingerprint`` of every reply, in every wire format."""

SEED_FIELD = "pytest_bias_seed"
"""Field at the top level of a request's body that carries the per-trial seed."""

_ID_LENGTH = 24

Body = Mapping[str, object]
"""A body, parsed: of a request or of a reply."""

TEXT_PARTS = frozenset({"text"})
"""Types of a content's parts, unless a format has others."""

ProblemKind = Literal[
    "malformed",
    "no_such_path",
    "no_such_model",
    "no_length",
    "too_large",
    "unrecognised",
    "subject_failed",
]

STATUSES: Mapping[ProblemKind, int] = {
    "malformed": 400,
    "no_such_path": 404,
    "no_such_model": 404,
    "no_length": 411,
    "too_large": 413,
    "unrecognised": 422,
    "subject_failed": 500,
}
"""HTTP status of a problem."""


def dice(subject: str, seed: int) -> random.Random:
    """Random numbers of a subject for one per-trial seed: the same for the same two, always."""
    return random.Random(int(digest(f"{subject}:{seed}"), 16))  # noqa: S311  (no secret)


class MalformedRequest(BiasError):
    """A request body is not what the API takes."""


@dataclass(frozen=True, slots=True)
class Problem:
    """The reason why a request is not answered."""

    kind: ProblemKind
    message: str


@dataclass(frozen=True, slots=True)
class WireFormat:
    """One API's wire format, as pure functions.

    ``name`` is that of the ini key ``bias_simulated_wire``, ``request`` what a request is called
    in words. ``read`` finds the prompt in its body, or raises MalformedRequest or UnknownName;
    ``reply`` answers it with a text, ``error`` gives the HTTP status and body that tell of a
    problem; ``stream`` makes a reply's body the text of server-sent events, where there are any.
    """

    name: str
    request: str
    read: Callable[[Body], SimulatedPrompt]
    reply: Callable[[SimulatedPrompt, str], Body]
    error: Callable[[Problem], tuple[int, Body]]
    stream: Callable[[Body], str] | None = None


def parsed_body(data: bytes) -> Body:
    """The body in ``data``; MalformedRequest where it is no JSON object."""
    try:
        body: object = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise MalformedRequest(str(error)) from error
    if not isinstance(body, Mapping):
        raise MalformedRequest("the body must be an object")
    return body


def prompt_of(body: Body, messages: Callable[[Body], Iterable[Message]]) -> SimulatedPrompt:
    """The prompt of a body whose ``model`` is a subject or their judge.

    ``messages`` reads the conversation.

    Raises MalformedRequest when model or seed are none. Raises UnknownName when the body asks for
    a model that is neither a simulated subject nor their judge.
    """
    subject, seed = body.get("model"), body.get(SEED_FIELD, 0)
    if not isinstance(subject, str):
        raise MalformedRequest("model is needed")
    if type(seed) is not int:
        raise MalformedRequest("pytest_bias_seed must be an integer")
    if subject not in PROGRAMS:
        raise UnknownName(kind="simulated subject", name=subject, known=PROGRAMS)
    return SimulatedPrompt(subject, tuple(messages(body)), seed)


def refuse_stream(body: Body) -> None:
    """MalformedRequest for a body that asks for a stream."""
    if body.get("stream"):
        raise MalformedRequest("replies are not streamed")


def message_of(item: object, parts: frozenset[str] = TEXT_PARTS) -> Message:
    """A message with ``role`` and ``content``; see :func:`joined_text` for ``parts``."""
    if isinstance(item, dict):
        role = item.get("role")
        role = "system" if role == "developer" else role
        if role in get_args(Role):
            return Message(cast("Role", role), joined_text(item.get("content"), parts))
    raise MalformedRequest("a message needs a role and its content as text")


def joined_text(content: object, parts: frozenset[str] = TEXT_PARTS) -> str:
    """Text that is a string, or a list of parts whose ``type`` is one of ``parts``, joined."""
    if isinstance(content, str):
        return content
    if isinstance(content, list) and content:
        return "".join(_text_part(part, parts) for part in content)
    raise MalformedRequest("a message needs a role and its content as text")


def _text_part(part: object, parts: frozenset[str]) -> str:
    if isinstance(part, dict) and part.get("type") in parts:
        text = part.get("text")
        if isinstance(text, str):
            return text
    known = " or ".join(sorted(parts))
    problem = f"content may have text only, in parts of type {known}"
    raise MalformedRequest(problem)


def identity(prompt: SimulatedPrompt) -> str:
    """Return the id of a reply: the same for the same prompt."""
    said = digest(compact([message.text for message in prompt.messages]))
    return digest(f"{prompt.subject}:{prompt.seed}:{said}")[:_ID_LENGTH]


def tokens(prompt: SimulatedPrompt, text: str) -> tuple[int, int]:
    """Words asked and answered, which stand in for tokens."""
    asked = sum(len(message.text.split()) for message in prompt.messages)
    return asked, len(text.split())
