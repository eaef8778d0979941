"""``bias-results.json``: everything found, byte for byte the same in any order and on any day."""

from __future__ import annotations

import json

from ..canonical import plain
from .view import RunView

FORMAT = 2


def results_text(view: RunView) -> str:
    """The results as indented JSON: no clock, no path, no effect of order."""
    value = {
        "format": FORMAT,
        "pytest_bias": view.version,
        "suite": view.suite,
        "standing": view.standing,
        "accepted": plain(view.accepted, "accepted"),
        "partial": list(view.partial),
        "broken": list(view.broken),
        "lost": list(view.lost),
        "problems": list(view.problems),
        "cases": dict(view.cases),
        "analyses": plain(view.analyses, "analyses"),
    }
    text = json.dumps(value, sort_keys=True, indent=1, ensure_ascii=True, allow_nan=False)
    return f"{text}\n"
