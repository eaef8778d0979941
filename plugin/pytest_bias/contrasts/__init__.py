"""Hypotheses: an estimand on a measure, its margin, claim, target and family, as data.

A hypothesis is declared before any reply exists and costs nothing to declare; its ``analyse``
imports the statistics when it is called.
"""

from __future__ import annotations

from .base import (
    FEWEST_UNITS,
    Claim,
    Contrast,
    Direction,
    Hypothesis,
    Target,
    claim_under,
    measures_of,
)
from .gaps import TotalGap
from .groups import GroupContrast
from .interactions import Interaction
from .means import MeanDifference
from .published import (
    ChiSquareTest,
    FactorialAnova,
    MannWhitneyTest,
    OneWayAnova,
    PublishedMethod,
    WelchTest,
)
from .rates import RateDifference, RateRatio
from .selection import Selection

__all__ = [
    "FEWEST_UNITS",
    "ChiSquareTest",
    "Claim",
    "Contrast",
    "Direction",
    "FactorialAnova",
    "GroupContrast",
    "Hypothesis",
    "Interaction",
    "MannWhitneyTest",
    "MeanDifference",
    "OneWayAnova",
    "PublishedMethod",
    "RateDifference",
    "RateRatio",
    "Selection",
    "Target",
    "TotalGap",
    "WelchTest",
    "claim_under",
    "measures_of",
]
