"""The published analysis of ratings of CVs: bias, quality and consistency from a table of ratings.

It reads any table with the documented columns, ours or somebody else's, and gives no verdict.
"""

from __future__ import annotations

from .measures import GROUND_TRUTH, BiasContrast, Screened, Screening, screening_measures
from .table import COLUMNS, GENDERS, NEUTRAL, RACES, Label, Table

__all__ = [
    "COLUMNS",
    "GENDERS",
    "GROUND_TRUTH",
    "NEUTRAL",
    "RACES",
    "BiasContrast",
    "Label",
    "Screened",
    "Screening",
    "Table",
    "screening_measures",
]
