"""Accepted verdicts of a model, as values and as text.

A baseline holds, for each hypothesis of a model, the verdict somebody accepted, what it rests on,
what was accepted before it, and the fingerprint of the design it was reached with: verdicts of
different designs are never compared.
"""

from __future__ import annotations

from .differing import BaselineDiffers
from .entries import (
    Acceptance,
    Baseline,
    Entry,
    Past,
    entry_of,
    following,
    is_day,
    needs_acceptance,
)
from .text import FORMAT, DamagedBaseline, baseline_from, baseline_text

__all__ = [
    "FORMAT",
    "Acceptance",
    "Baseline",
    "BaselineDiffers",
    "DamagedBaseline",
    "Entry",
    "Past",
    "baseline_from",
    "baseline_text",
    "entry_of",
    "following",
    "is_day",
    "needs_acceptance",
]
