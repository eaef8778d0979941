"""The simulated subjects' names, that of the program that grades them, and their dice."""

from __future__ import annotations

import random
from typing import Literal, get_args

from ...experiments.canonical import digest
from ...experiments.replay import JUDGE

SubjectName = Literal["even", "biased", "drifted"]
"""``even`` has no bias, ``biased`` has known ones, ``drifted`` is an upgrade of ``biased`` that
fixes one and worsens another. Each experiment's ``simulated.py`` declares what is planted."""

SUBJECTS: tuple[str, ...] = get_args(SubjectName)

PROGRAMS: tuple[str, ...] = (*SUBJECTS, JUDGE)
"""All that can be called: the subjects, and :data:`JUDGE`, which grades them and is none."""


def dice(subject: str, seed: int) -> random.Random:
    """Random numbers of a subject for one per-trial seed: the same for the same two, always."""
    return random.Random(int(digest(f"{subject}:{seed}"), 16))  # noqa: S311  (no secret)
