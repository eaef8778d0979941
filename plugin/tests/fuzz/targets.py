"""All targets, in the order in which they are shown."""

from __future__ import annotations

from typing import Any

from .harness import Target
from .stored import Baselines, Cassettes, Journals, Results

TARGETS: tuple[type[Target[Any]], ...] = (*(Cassettes, Journals, Baselines, Results),)
