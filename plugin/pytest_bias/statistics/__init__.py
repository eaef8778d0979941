"""Pure statistical functions on arrays: no I/O, no clock, no randomness that was not given.

Differences are always a - b. No function returns NaN, an infinity or a p-value of 0: too few
units, constant data and damaged input raise.
"""

from __future__ import annotations

from pytest_bias.estimates import Bootstrap, Description, EffectSize, Interval, Permutation, Tost

from .deterministic import Deterministic, deterministic_difference
from .effect_size import (
    cohen_d,
    d_interval,
    hedges_g,
    hedges_j,
    standardized_difference,
)
from .equivalence import tost_from_summary, tost_paired, tost_welch
from .means import (
    DifferenceOfDifferences,
    Welch,
    compare_differences,
    p_from_t,
    se_from_t,
    welch,
    welch_from_summary,
)
from .missing import worst_case
from .multiplicity import benjamini_hochberg, holm
from .proportions import RateDifferenceResult, newcombe, wilson
from .resampling import bootstrap_difference, exact_separation_p, label_permutation
from .sample_size import deterministic_units, units_per_group
from .summary import describe

__all__ = [
    "Bootstrap",
    "Description",
    "Deterministic",
    "DifferenceOfDifferences",
    "EffectSize",
    "Interval",
    "Permutation",
    "RateDifferenceResult",
    "Tost",
    "Welch",
    "benjamini_hochberg",
    "bootstrap_difference",
    "cohen_d",
    "compare_differences",
    "d_interval",
    "describe",
    "deterministic_difference",
    "deterministic_units",
    "exact_separation_p",
    "hedges_g",
    "hedges_j",
    "holm",
    "label_permutation",
    "newcombe",
    "p_from_t",
    "se_from_t",
    "standardized_difference",
    "tost_from_summary",
    "tost_paired",
    "tost_welch",
    "units_per_group",
    "welch",
    "welch_from_summary",
    "wilson",
    "worst_case",
]
