"""Findings to verdicts: the three-valued rule, families, positive controls, and words for them."""

from __future__ import annotations

from .rule import (
    SCREENED,
    Control,
    Question,
    Status,
    Support,
    Verdict,
    control_of,
    decide,
    margin_words,
)

__all__ = [
    "SCREENED",
    "Control",
    "Question",
    "Status",
    "Support",
    "Verdict",
    "control_of",
    "decide",
    "margin_words",
]
