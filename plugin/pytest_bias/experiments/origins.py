"""Origins of replies: who was asked and who answered, when, and what was kept of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from .messages import Player

Retention = Literal["raw", "measures", "encrypted"]


@dataclass(frozen=True, slots=True)
class Spoken:
    """The size of one reply of the subject: words, tokens of output, seconds it took.

    None is what is not known: words, where no text is kept.
    """

    words: int | None
    tokens: int | None
    latency: float | None


@dataclass(frozen=True, slots=True)
class Origin:
    """The origin of one reply: who was asked, which model the provider said answered, when.

    ``served`` is empty and ``at`` (ISO 8601) None where the recording does not know.
    """

    to: Player
    served: str
    at: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """The origin of all replies; no path and no clock, so that results compare.

    ``judge`` is the model that graded them, ``dropped`` the parameters that were not sent because
    the model refuses them.

    ``interrupted`` is the number of interactions that stand only in the journal of a recording
    that has not ended; ``checksum`` covers them.

    ``served`` are the models that the provider said answered, sorted, ``judge_served`` the same of
    the judge; ``oldest`` is when the oldest reply was recorded (ISO 8601; empty where none says,
    and for a program, whose replies do not age), ``undated`` how many do not say.
    """

    cassette: str
    checksum: str
    simulated: bool
    wire: str
    recorded_with: str
    interactions: int
    judge: str | None = None
    dropped: tuple[str, ...] = ()
    retention: Retention = "raw"
    interrupted: int = 0
    served: tuple[str, ...] = ()
    judge_served: tuple[str, ...] = ()
    oldest: str = ""
    undated: int = 0
