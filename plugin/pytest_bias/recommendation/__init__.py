"""The published analysis of recommendations: a pool of posts against what was picked of it.

It reads any table of posts, ours or somebody else's, and gives no verdict. Beside it stands a
description that takes trials for units.
"""

from __future__ import annotations

from .aggregation import BiasCell, BiasTables, NormalizedRow, bias_tables, marker, summary_csv
from .comparison import SMALLEST_SAMPLE, pool_vs_recommended
from .described import CategoryDifference, FeatureDescription, PositionBias, SelectionDescription
from .description import magnitudes, selection_description
from .features import DATASETS, FEATURES, PROMPT_STYLES, PROVIDERS, Feature, Kind
from .interpretation import effect, interpretation, interpretation_of_cell
from .rows import ALPHA, COLUMNS, BiasRow, bias_rows
from .tables import PoolTrial, Table, stacked

__all__ = [
    "ALPHA",
    "COLUMNS",
    "DATASETS",
    "FEATURES",
    "PROMPT_STYLES",
    "PROVIDERS",
    "SMALLEST_SAMPLE",
    "BiasCell",
    "BiasRow",
    "BiasTables",
    "CategoryDifference",
    "Feature",
    "FeatureDescription",
    "Kind",
    "NormalizedRow",
    "PoolTrial",
    "PositionBias",
    "SelectionDescription",
    "Table",
    "bias_rows",
    "bias_tables",
    "effect",
    "interpretation",
    "interpretation_of_cell",
    "magnitudes",
    "marker",
    "pool_vs_recommended",
    "selection_description",
    "stacked",
    "summary_csv",
]
