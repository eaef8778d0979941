"""Pure statistical functions on arrays: no I/O, no clock, no randomness that was not given.

Differences are always a - b. No function returns NaN, an infinity or a p-value of 0: too few
units, constant data and damaged input raise.
"""

from __future__ import annotations

from pytest_bias.estimates import Bootstrap, Description, EffectSize, Interval, Permutation, Tost

from ._arrays import ROUNDING
from .agreement import Alpha, Kappa, cohen_kappa, krippendorff_alpha
from .anova import AnovaRow, FactorialAnova, OneWay, factorial_anova, one_way, welch_anova
from .blocks import OneSample, cohen_dz, one_sample, sign_flip, tost_one_sample, tost_sign_flip
from .bootstrap import (
    LogRatioBootstrap,
    bootstrap_clusters,
    bootstrap_difference,
    bootstrap_log_ratio,
    bootstrap_mean,
)
from .bounded import BoundedEquivalence, bounded_equivalence, bounded_equivalence_paired, skewness
from .deterministic import Deterministic, IdenticalPairs, deterministic_difference, identical_pairs
from .effect_size import cohen_d, d_interval, hedges_g, hedges_j, standardized_difference
from .equivalence import tost_from_estimate, tost_from_summary, tost_paired, tost_welch
from .exact_tables import Fisher, fisher_exact, fisher_freeman_halton
from .exchange import exchange_size, spread_of_means, sum_of_gaps
from .gaps import GapPermutation, gap_permutation
from .impact import ImpactRatio, impact_ratio
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
from .multiplicity import benjamini_hochberg, benjamini_yekutieli, bonferroni, hochberg, holm
from .noninferiority import (
    NonInferiority,
    non_inferior_from_estimates,
    non_inferior_paired,
    non_inferior_paired_groups,
)
from .noninferiority_power import (
    largest_sd_to_pass,
    power_to_pass_independent,
    power_to_pass_paired,
)
from .noninferiority_rates import power_to_pass_rates
from .normalising import min_max, signed_magnitude
from .permutation import (
    GroupAgainstRest,
    GroupPermutation,
    contrast_permutation,
    group_permutation,
)
from .power import (
    Chances,
    largest_sd_to_clear,
    power_to_alarm,
    power_to_clear,
    smallest_difference_found,
    t_power,
    verdict_chances,
)
from .profiles import CellInteraction, ProfilePermutation, profile_permutation
from .proportions import RateDifferenceResult, newcombe, wilson
from .ranks import (
    Friedman,
    Kruskal,
    MannWhitney,
    SignedRank,
    friedman,
    kruskal,
    mann_whitney,
    signed_rank,
)
from .rate_power import RatePower, power_to_alarm_rate, power_to_clear_rate, units_for_zero_events
from .regression import Coefficient, Logistic, ProportionalOdds, logistic, proportional_odds
from .resampling import exact_separation_p, label_permutation
from .sample_size import (
    Settling,
    deterministic_units,
    fractional_units_for_rates,
    fractional_units_for_t,
    units_for_rates,
    units_for_t,
    units_paired,
    units_per_group,
    units_to_settle,
)
from .score import (
    RateTost,
    RatioTost,
    ScoreDifference,
    ScoreRatio,
    score_difference,
    score_difference_p,
    score_ratio,
    score_ratio_p,
    tost_rates,
    tost_ratio,
)
from .sequential import Betting, Boundaries, betting_p, obrien_fleming_boundaries
from .shuffling import label_shuffle_ratio
from .simultaneous import (
    MaxT,
    PooledContrast,
    PooledContrasts,
    SignFlipMaxT,
    max_t,
    pooled_group_contrasts,
    sign_flip_max_t,
)
from .stratified import StratifiedContrast, stratified_contrast
from .stratified_tables import (
    CommonOddsRatio,
    CommonRiskDifference,
    MantelHaenszel,
    mantel_haenszel,
)
from .summary import describe, unit_means
from .superiority import BrunnerMunzel, brunner_munzel, cliff_delta, vargha_delaney
from .tables import ChiSquare, EqualProportions, McNemar, chi_square, equal_proportions, mcnemar

__all__ = [
    "ROUNDING",
    "Alpha",
    "AnovaRow",
    "Betting",
    "Bootstrap",
    "Boundaries",
    "BoundedEquivalence",
    "BrunnerMunzel",
    "CellInteraction",
    "Chances",
    "ChiSquare",
    "Coefficient",
    "CommonOddsRatio",
    "CommonRiskDifference",
    "Description",
    "Deterministic",
    "DifferenceOfDifferences",
    "EffectSize",
    "EqualProportions",
    "FactorialAnova",
    "Fisher",
    "Friedman",
    "GapPermutation",
    "GroupAgainstRest",
    "GroupPermutation",
    "IdenticalPairs",
    "ImpactRatio",
    "Interval",
    "Kappa",
    "Kruskal",
    "LogRatioBootstrap",
    "Logistic",
    "MannWhitney",
    "MantelHaenszel",
    "MaxT",
    "McNemar",
    "NonInferiority",
    "OneSample",
    "OneWay",
    "Permutation",
    "PooledContrast",
    "PooledContrasts",
    "ProfilePermutation",
    "ProportionalOdds",
    "RateDifferenceResult",
    "RatePower",
    "RateTost",
    "RatioTost",
    "ScoreDifference",
    "ScoreRatio",
    "Settling",
    "SignFlipMaxT",
    "SignedRank",
    "StratifiedContrast",
    "Tost",
    "Welch",
    "benjamini_hochberg",
    "benjamini_yekutieli",
    "betting_p",
    "bonferroni",
    "bootstrap_clusters",
    "bootstrap_difference",
    "bootstrap_log_ratio",
    "bootstrap_mean",
    "bounded_equivalence",
    "bounded_equivalence_paired",
    "brunner_munzel",
    "chi_square",
    "cliff_delta",
    "cohen_d",
    "cohen_dz",
    "cohen_kappa",
    "compare_differences",
    "contrast_permutation",
    "d_interval",
    "describe",
    "deterministic_difference",
    "deterministic_units",
    "equal_proportions",
    "exact_separation_p",
    "exchange_size",
    "factorial_anova",
    "fisher_exact",
    "fisher_freeman_halton",
    "fractional_units_for_rates",
    "fractional_units_for_t",
    "friedman",
    "gap_permutation",
    "group_permutation",
    "hedges_g",
    "hedges_j",
    "hochberg",
    "holm",
    "identical_pairs",
    "impact_ratio",
    "krippendorff_alpha",
    "kruskal",
    "label_permutation",
    "label_shuffle_ratio",
    "largest_sd_to_clear",
    "largest_sd_to_pass",
    "logistic",
    "mann_whitney",
    "mantel_haenszel",
    "max_t",
    "mcnemar",
    "min_max",
    "newcombe",
    "non_inferior_from_estimates",
    "non_inferior_paired",
    "non_inferior_paired_groups",
    "obrien_fleming_boundaries",
    "one_sample",
    "one_way",
    "p_from_t",
    "pooled_group_contrasts",
    "power_to_alarm",
    "power_to_alarm_rate",
    "power_to_clear",
    "power_to_clear_rate",
    "power_to_pass_independent",
    "power_to_pass_paired",
    "power_to_pass_rates",
    "profile_permutation",
    "proportional_odds",
    "score_difference",
    "score_difference_p",
    "score_ratio",
    "score_ratio_p",
    "se_from_t",
    "sign_flip",
    "sign_flip_max_t",
    "signed_magnitude",
    "signed_rank",
    "skewness",
    "smallest_difference_found",
    "spread_of_means",
    "standardized_difference",
    "stratified_contrast",
    "sum_of_gaps",
    "t_power",
    "tost_from_estimate",
    "tost_from_summary",
    "tost_one_sample",
    "tost_paired",
    "tost_rates",
    "tost_ratio",
    "tost_sign_flip",
    "tost_welch",
    "unit_means",
    "units_for_rates",
    "units_for_t",
    "units_for_zero_events",
    "units_paired",
    "units_per_group",
    "units_to_settle",
    "vargha_delaney",
    "verdict_chances",
    "welch",
    "welch_anova",
    "welch_from_summary",
    "wilson",
    "worst_case",
]
