"""Findings to verdicts: the three-valued rule, families, positive controls, and words for them."""

from __future__ import annotations

from .rule import Control, Question, Status, Support, Verdict, control_of, decide, margin_words

__all__ = [
    "Control",
    "Question",
    "Status",
    "Support",
    "Verdict",
    "control_of",
    "decide",
    "margin_words",
]
