"""Simulated subjects: programs that answer in place of a model, and the mess of a real one.

``messy`` answers as ``even`` does, and its judge as ``judge``, with draws of their own. But it
refuses every call of one trial in twenty, whatever the condition, and one JSON reply in ten stands
in a Markdown fence. What else is messy about it (few distinct ratings, a judge that errs) an
experiment's own subject draws where :attr:`.SimulatedPrompt.messy` says so.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from ..errors import BadDesign
from .canonical import digest
from .messages import Message

MESSY, MESSY_JUDGE = "messy", "messy-judge"

AS: Mapping[str, str] = MappingProxyType({MESSY: "even", MESSY_JUDGE: "judge"})
"""Messy program → the one it answers as."""

REFUSED = 0.05
"""Share of trials in which every reply is :data:`REFUSAL`."""

FENCED = 0.10
"""Share of JSON replies that stand in a Markdown fence."""

REFUSAL = "I'm sorry, but I can't help with that."

_DIGITS = 15


def seed_of(seed: int) -> int:
    """The seed a messy program draws by where others draw by ``seed``."""
    return int(digest(f"messy:{seed}")[:_DIGITS], 16)


def messy_reply(text: str, *, trial: int, seed: int) -> str:
    """``text`` as the messy subject says it; ``trial`` decides whether it refuses."""
    if _share("refuses", trial) < REFUSED:
        return REFUSAL
    return f"```json\n{text}\n```" if _share("fenced", seed) < FENCED and _is_json(text) else text


def _share(what: str, seed: int) -> float:
    """A number from 0 to below 1, the same for the same two."""
    return float(int(digest(f"messy {what}:{seed}")[:_DIGITS], 16) / 16**_DIGITS)


def _is_json(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except ValueError:
        return False


@dataclass(frozen=True, slots=True)
class SimulatedPrompt:
    """All a simulated subject may see: the messages, a seed, and its own name.

    ``injected`` is empty but where error rates are measured: measure → how much higher than else
    the expected value of what is measured of this trial is to be, in the measure's unit.
    ``MEASURE*`` is of a rate, and the logarithm of the factor by which it is to be multiplied; a
    group's name after that is of the items of that group.

    ``trial`` is a seed that all calls of a trial share; without one every call is a trial of its
    own. ``messy``: the mess above is laid over what is answered.
    """

    subject: str
    messages: tuple[Message, ...]
    seed: int
    injected: Mapping[str, float] = field(default_factory=dict)
    trial: int | None = None
    messy: bool = False

    @property
    def questions(self) -> tuple[str, ...]:
        """The user's messages, the one to answer last."""
        return tuple(message.text for message in self.messages if message.role == "user")

    @property
    def replies(self) -> tuple[str, ...]:
        """The subject's own replies so far."""
        return tuple(message.text for message in self.messages if message.role == "assistant")


SimulatedAnswer = Callable[[SimulatedPrompt], str | None]
"""Answers in place of a model; None when the prompt is not one of this experiment's."""


def simulated_text(answer: SimulatedAnswer, prompt: SimulatedPrompt) -> str | None:
    """Return what ``answer`` says to ``prompt``, in a mess where its subject is messy.

    Raises BadDesign where what it says is no text.
    """
    subject, asked = prompt.subject, prompt
    if subject in AS:
        asked = replace(prompt, subject=AS[subject], seed=seed_of(prompt.seed), messy=True)
    text: object = answer(asked)
    if isinstance(text, str) and subject == MESSY:
        trial = prompt.seed if prompt.trial is None else prompt.trial
        return messy_reply(text, trial=trial, seed=prompt.seed)
    if text is None or isinstance(text, str):
        return text
    name = getattr(answer, "__name__", type(answer).__name__)
    problem = f"gave a {type(text).__name__}; text (json.dumps(…)) or None is needed"
    raise BadDesign(what=f"simulated={name}", problem=problem)
