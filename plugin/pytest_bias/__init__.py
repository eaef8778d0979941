"""pytest-bias: documented bias hypotheses as pytest cases with statistical verdicts.

This module is the public API and nothing else. Names load when they are first used, so that a
project which merely has the plugin installed pays nothing for it.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .agreements import NOT_SCORED, Agreement, scored_again
    from .analysis import Analysis
    from .cases import Recorded, conditions, hypotheses, positive_control
    from .contrasts import (
        ChiSquareTest,
        FactorialAnova,
        GroupContrast,
        Interaction,
        MannWhitneyTest,
        MeanDifference,
        OneWayAnova,
        PublishedMethod,
        RateDifference,
        RateRatio,
        Selection,
        TotalGap,
        WelchTest,
    )
    from .design import Condition, Design, Factor, Items, Trial
    from .errors import BiasError, BiasFound, ControlNotSeen, Inconclusive, InvalidReply
    from .escaping import csv_text
    from .experiment import Experiment, SimulatedAnswer, SimulatedPrompt, plan
    from .findings import Finding, HumanStudy
    from .illustrations import Heatmap, Means
    from .masking import masked
    from .measures import MISSING, Measure
    from .messages import Message, Parameters
    from .protocol import Reply, Subject, together
    from .recommendation import (
        BiasTables,
        Feature,
        PoolTrial,
        bias_tables,
        pool_vs_recommended,
        selection_description,
        summary_csv,
    )
    from .records import Outcome
    from .report.recommendation_charts import bias_charts
    from .screening import screening_measures
    from .simulator.subjects import dice
    from .stimuli import PromptTemplate
    from .texts import (
        Refusals,
        error_rates,
        is_refusal,
        log_length,
        response_length,
        sentiment,
    )
    from .verdicts import Control, Verdict

_HOMES = {
    "Agreement": "agreements",
    "Analysis": "analysis",
    "BiasError": "errors",
    "BiasFound": "errors",
    "BiasTables": "recommendation",
    "ChiSquareTest": "contrasts",
    "Condition": "design",
    "Control": "verdicts",
    "ControlNotSeen": "errors",
    "Design": "design",
    "Experiment": "experiment",
    "Factor": "design",
    "FactorialAnova": "contrasts",
    "Feature": "recommendation",
    "Finding": "findings",
    "GroupContrast": "contrasts",
    "Heatmap": "illustrations",
    "HumanStudy": "findings",
    "Inconclusive": "errors",
    "Interaction": "contrasts",
    "InvalidReply": "errors",
    "Items": "design",
    "MISSING": "measures",
    "MannWhitneyTest": "contrasts",
    "MeanDifference": "contrasts",
    "Means": "illustrations",
    "Measure": "measures",
    "Message": "messages",
    "NOT_SCORED": "agreements",
    "OneWayAnova": "contrasts",
    "Outcome": "records",
    "Parameters": "messages",
    "PoolTrial": "recommendation",
    "PromptTemplate": "stimuli",
    "PublishedMethod": "contrasts",
    "RateDifference": "contrasts",
    "RateRatio": "contrasts",
    "Recorded": "cases",
    "Refusals": "texts",
    "Reply": "protocol",
    "Selection": "contrasts",
    "SimulatedAnswer": "experiment",
    "SimulatedPrompt": "experiment",
    "Subject": "protocol",
    "TotalGap": "contrasts",
    "Trial": "design",
    "Verdict": "verdicts",
    "WelchTest": "contrasts",
    "bias_charts": "report.recommendation_charts",
    "bias_tables": "recommendation",
    "conditions": "cases",
    "csv_text": "escaping",
    "dice": "simulator.subjects",
    "error_rates": "texts",
    "hypotheses": "cases",
    "is_refusal": "texts",
    "log_length": "texts",
    "masked": "masking",
    "plan": "experiment",
    "pool_vs_recommended": "recommendation",
    "positive_control": "cases",
    "response_length": "texts",
    "scored_again": "agreements",
    "screening_measures": "screening",
    "selection_description": "recommendation",
    "sentiment": "texts",
    "summary_csv": "recommendation",
    "together": "protocol",
}

__all__ = [
    "MISSING",
    "NOT_SCORED",
    "Agreement",
    "Analysis",
    "BiasError",
    "BiasFound",
    "BiasTables",
    "ChiSquareTest",
    "Condition",
    "Control",
    "ControlNotSeen",
    "Design",
    "Experiment",
    "Factor",
    "FactorialAnova",
    "Feature",
    "Finding",
    "GroupContrast",
    "Heatmap",
    "HumanStudy",
    "Inconclusive",
    "Interaction",
    "InvalidReply",
    "Items",
    "MannWhitneyTest",
    "MeanDifference",
    "Means",
    "Measure",
    "Message",
    "OneWayAnova",
    "Outcome",
    "Parameters",
    "PoolTrial",
    "PromptTemplate",
    "PublishedMethod",
    "RateDifference",
    "RateRatio",
    "Recorded",
    "Refusals",
    "Reply",
    "Selection",
    "SimulatedAnswer",
    "SimulatedPrompt",
    "Subject",
    "TotalGap",
    "Trial",
    "Verdict",
    "WelchTest",
    "bias_charts",
    "bias_tables",
    "conditions",
    "csv_text",
    "dice",
    "error_rates",
    "hypotheses",
    "is_refusal",
    "log_length",
    "masked",
    "plan",
    "pool_vs_recommended",
    "positive_control",
    "response_length",
    "scored_again",
    "screening_measures",
    "selection_description",
    "sentiment",
    "summary_csv",
    "together",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    value = getattr(importlib.import_module(f".{_HOMES[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
