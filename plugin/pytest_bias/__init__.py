"""pytest-bias: documented bias hypotheses as pytest cases with statistical verdicts.

This module is the public API and nothing else. Names load when they are first used, so that a
project which merely has the plugin installed pays nothing for it.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .contrasts.cases import Recorded, conditions, hypotheses, positive_control
    from .contrasts.findings import Finding, HumanStudy
    from .contrasts.gaps import TotalGap
    from .contrasts.groups import GroupContrast
    from .contrasts.interactions import Interaction
    from .contrasts.means import MeanDifference
    from .contrasts.published import (
        ChiSquareTest,
        FactorialAnova,
        MannWhitneyTest,
        OneWayAnova,
        PublishedMethod,
        WelchTest,
    )
    from .contrasts.rates import RateDifference, RateRatio
    from .contrasts.selection import Selection
    from .errors import BiasError, BiasFound, ControlNotSeen, Inconclusive, InvalidReply
    from .experiments.agreements import NOT_SCORED, Agreement, scored_again
    from .experiments.design import Condition, Design, Factor, Items, Trial
    from .experiments.experiment import Experiment, SimulatedAnswer, SimulatedPrompt, plan
    from .experiments.figures import Heatmap, Means
    from .experiments.masking import masked
    from .experiments.measures import MISSING, Measure
    from .experiments.messages import Message, Parameters
    from .experiments.protocol import Reply, Subject, together
    from .experiments.records import Outcome
    from .experiments.templates import PromptTemplate
    from .experiments.text_measures import (
        Refusals,
        error_rates,
        is_refusal,
        log_length,
        response_length,
        sentiment,
    )
    from .providers.simulator.subjects import dice
    from .recommendation import (
        BiasTables,
        Feature,
        PoolTrial,
        bias_tables,
        pool_vs_recommended,
        selection_description,
        summary_csv,
    )
    from .report.escapes import csv_text
    from .report.recommendation_charts import bias_charts
    from .screening import screening_measures
    from .verdicts.analysis import Analysis
    from .verdicts.verdict import Control, Verdict

_HOMES = {
    "Agreement": "experiments.agreements",
    "Analysis": "verdicts.analysis",
    "BiasError": "errors",
    "BiasFound": "errors",
    "BiasTables": "recommendation",
    "ChiSquareTest": "contrasts.published",
    "Condition": "experiments.design",
    "Control": "verdicts.verdict",
    "ControlNotSeen": "errors",
    "Design": "experiments.design",
    "Experiment": "experiments.experiment",
    "Factor": "experiments.design",
    "FactorialAnova": "contrasts.published",
    "Feature": "recommendation",
    "Finding": "contrasts.findings",
    "GroupContrast": "contrasts.groups",
    "Heatmap": "experiments.figures",
    "HumanStudy": "contrasts.findings",
    "Inconclusive": "errors",
    "Interaction": "contrasts.interactions",
    "InvalidReply": "errors",
    "Items": "experiments.design",
    "MISSING": "experiments.measures",
    "MannWhitneyTest": "contrasts.published",
    "MeanDifference": "contrasts.means",
    "Means": "experiments.figures",
    "Measure": "experiments.measures",
    "Message": "experiments.messages",
    "NOT_SCORED": "experiments.agreements",
    "OneWayAnova": "contrasts.published",
    "Outcome": "experiments.records",
    "Parameters": "experiments.messages",
    "PoolTrial": "recommendation",
    "PromptTemplate": "experiments.templates",
    "PublishedMethod": "contrasts.published",
    "RateDifference": "contrasts.rates",
    "RateRatio": "contrasts.rates",
    "Recorded": "contrasts.cases",
    "Refusals": "experiments.text_measures",
    "Reply": "experiments.protocol",
    "Selection": "contrasts.selection",
    "SimulatedAnswer": "experiments.experiment",
    "SimulatedPrompt": "experiments.experiment",
    "Subject": "experiments.protocol",
    "TotalGap": "contrasts.gaps",
    "Trial": "experiments.design",
    "Verdict": "verdicts.verdict",
    "WelchTest": "contrasts.published",
    "bias_charts": "report.recommendation_charts",
    "bias_tables": "recommendation",
    "conditions": "contrasts.cases",
    "csv_text": "report.escapes",
    "dice": "providers.simulator.subjects",
    "error_rates": "experiments.text_measures",
    "hypotheses": "contrasts.cases",
    "is_refusal": "experiments.text_measures",
    "log_length": "experiments.text_measures",
    "masked": "experiments.masking",
    "plan": "experiments.experiment",
    "pool_vs_recommended": "recommendation",
    "positive_control": "contrasts.cases",
    "response_length": "experiments.text_measures",
    "scored_again": "experiments.agreements",
    "screening_measures": "screening",
    "selection_description": "recommendation",
    "sentiment": "experiments.text_measures",
    "summary_csv": "recommendation",
    "together": "experiments.protocol",
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
