"""The ordinary mess of a model, laid over what an unbiased simulated subject says.

``messy`` answers as ``even`` does, and its judge as ``judge``, with draws of their own. But it
refuses every call of one trial in twenty, whatever the condition, and one JSON reply in ten stands
in a Markdown fence. What else is messy about it (few distinct ratings, a judge that errs) an
experiment's own subject draws where :attr:`.SimulatedPrompt.messy` says so.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from types import MappingProxyType

from .canonical import digest

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
