"""pytest-bias: documented bias hypotheses as pytest cases with statistical verdicts.

This module is the public API and nothing else. Names load when they are first used, so that a
project which merely has the plugin installed pays nothing for it.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .cassettes.recorded_trials import recorded
    from .contrasts.cases import Recorded, conditions, hypotheses, positive_control
    from .contrasts.declared import Claim, Hypothesis, PositiveControl
    from .contrasts.findings import Finding, HumanStudy
    from .contrasts.groups import GroupContrast, TotalGap
    from .contrasts.interactions import Interaction
    from .contrasts.pairs import MeanDifference, RateDifference, RateRatio
    from .contrasts.published import (
        ChiSquareTest,
        FactorialAnova,
        FisherTest,
        MannWhitneyTest,
        OneWayAnova,
        PublishedMethod,
        Transformed,
        WelchTest,
    )
    from .contrasts.selection import Selection
    from .errors import (
        BadDesign,
        BadStimuli,
        BadTable,
        BiasError,
        BiasFound,
        ControlNotSeen,
        Inconclusive,
        InvalidReply,
        MissingPackage,
        NoVariance,
        TooFewUnits,
        UnknownName,
    )
    from .experiments.charts import Panel, Shades, Tile, VegaChart, tile_chart
    from .experiments.design import Condition, Design, Factor, Items, Trial
    from .experiments.experiment import Experiment, SimulatedAnswer, SimulatedPrompt, plan
    from .experiments.figures import Heatmap, Means
    from .experiments.impact import Impact
    from .experiments.judges import NOT_SCORED, Agreement, scored_again
    from .experiments.layouts import TableLayout, TableRow
    from .experiments.masking import masked
    from .experiments.measures import (
        MISSING,
        Measure,
        Refusals,
        count_words,
        error_rates,
        is_refusal,
        log_length,
        response_length,
        sentiment,
    )
    from .experiments.messages import Message, Parameters
    from .experiments.protocol import Reply, Subject, together
    from .experiments.records import Outcome, Record, Records
    from .experiments.replies import Within
    from .experiments.stimuli import PromptTemplate, Stimuli
    from .providers.simulator.exchange import dice
    from .report.escapes import csv_text
    from .statistics.anova import factorial_anova
    from .statistics.blocks import one_sample
    from .statistics.counts import chi_square
    from .statistics.effect_size import cohen_d
    from .statistics.means import welch
    from .statistics.ranks import mann_whitney
    from .statistics.results import Interval, Misclassified
    from .statistics.simultaneous import benjamini_hochberg, holm
    from .verdicts.analysis import Analysis
    from .verdicts.verdict import Control, Verdict
    from .workbench.study import Results, analyze, run

_HOMES = {
    "Agreement": "experiments.judges",
    "Analysis": "verdicts.analysis",
    "BadDesign": "errors",
    "BadStimuli": "errors",
    "BadTable": "errors",
    "BiasError": "errors",
    "BiasFound": "errors",
    "ChiSquareTest": "contrasts.published",
    "Claim": "contrasts.declared",
    "Condition": "experiments.design",
    "Control": "verdicts.verdict",
    "ControlNotSeen": "errors",
    "Design": "experiments.design",
    "Experiment": "experiments.experiment",
    "Factor": "experiments.design",
    "FactorialAnova": "contrasts.published",
    "Finding": "contrasts.findings",
    "FisherTest": "contrasts.published",
    "GroupContrast": "contrasts.groups",
    "Heatmap": "experiments.figures",
    "Impact": "experiments.impact",
    "HumanStudy": "contrasts.findings",
    "Hypothesis": "contrasts.declared",
    "Inconclusive": "errors",
    "Interaction": "contrasts.interactions",
    "Interval": "statistics.results",
    "InvalidReply": "errors",
    "Items": "experiments.design",
    "MISSING": "experiments.measures",
    "MannWhitneyTest": "contrasts.published",
    "MeanDifference": "contrasts.pairs",
    "Means": "experiments.figures",
    "Measure": "experiments.measures",
    "Misclassified": "statistics.results",
    "Message": "experiments.messages",
    "MissingPackage": "errors",
    "NOT_SCORED": "experiments.judges",
    "NoVariance": "errors",
    "OneWayAnova": "contrasts.published",
    "Outcome": "experiments.records",
    "Panel": "experiments.charts",
    "Parameters": "experiments.messages",
    "PositiveControl": "contrasts.declared",
    "PromptTemplate": "experiments.stimuli",
    "PublishedMethod": "contrasts.published",
    "RateDifference": "contrasts.pairs",
    "RateRatio": "contrasts.pairs",
    "Record": "experiments.records",
    "Recorded": "contrasts.cases",
    "Records": "experiments.records",
    "Refusals": "experiments.measures",
    "Reply": "experiments.protocol",
    "Results": "workbench.study",
    "Selection": "contrasts.selection",
    "Shades": "experiments.charts",
    "SimulatedAnswer": "experiments.experiment",
    "SimulatedPrompt": "experiments.experiment",
    "Stimuli": "experiments.stimuli",
    "Subject": "experiments.protocol",
    "TableLayout": "experiments.layouts",
    "TableRow": "experiments.layouts",
    "Tile": "experiments.charts",
    "TooFewUnits": "errors",
    "TotalGap": "contrasts.groups",
    "Transformed": "contrasts.published",
    "Trial": "experiments.design",
    "UnknownName": "errors",
    "VegaChart": "experiments.charts",
    "Verdict": "verdicts.verdict",
    "WelchTest": "contrasts.published",
    "Within": "experiments.replies",
    "analyze": "workbench.study",
    "benjamini_hochberg": "statistics.simultaneous",
    "chi_square": "statistics.counts",
    "cohen_d": "statistics.effect_size",
    "conditions": "contrasts.cases",
    "count_words": "experiments.measures",
    "csv_text": "report.escapes",
    "dice": "providers.simulator.exchange",
    "error_rates": "experiments.measures",
    "factorial_anova": "statistics.anova",
    "holm": "statistics.simultaneous",
    "hypotheses": "contrasts.cases",
    "is_refusal": "experiments.measures",
    "log_length": "experiments.measures",
    "mann_whitney": "statistics.ranks",
    "masked": "experiments.masking",
    "one_sample": "statistics.blocks",
    "plan": "experiments.experiment",
    "positive_control": "contrasts.cases",
    "recorded": "cassettes.recorded_trials",
    "response_length": "experiments.measures",
    "run": "workbench.study",
    "scored_again": "experiments.judges",
    "sentiment": "experiments.measures",
    "tile_chart": "experiments.charts",
    "together": "experiments.protocol",
    "welch": "statistics.means",
}

__all__ = [
    "MISSING",
    "NOT_SCORED",
    "Agreement",
    "Analysis",
    "BadDesign",
    "BadStimuli",
    "BadTable",
    "BiasError",
    "BiasFound",
    "ChiSquareTest",
    "Claim",
    "Condition",
    "Control",
    "ControlNotSeen",
    "Design",
    "Experiment",
    "Factor",
    "FactorialAnova",
    "Finding",
    "FisherTest",
    "GroupContrast",
    "Heatmap",
    "HumanStudy",
    "Hypothesis",
    "Impact",
    "Inconclusive",
    "Interaction",
    "Interval",
    "InvalidReply",
    "Items",
    "MannWhitneyTest",
    "MeanDifference",
    "Means",
    "Measure",
    "Message",
    "Misclassified",
    "MissingPackage",
    "NoVariance",
    "OneWayAnova",
    "Outcome",
    "Panel",
    "Parameters",
    "PositiveControl",
    "PromptTemplate",
    "PublishedMethod",
    "RateDifference",
    "RateRatio",
    "Record",
    "Recorded",
    "Records",
    "Refusals",
    "Reply",
    "Results",
    "Selection",
    "Shades",
    "SimulatedAnswer",
    "SimulatedPrompt",
    "Stimuli",
    "Subject",
    "TableLayout",
    "TableRow",
    "Tile",
    "TooFewUnits",
    "TotalGap",
    "Transformed",
    "Trial",
    "UnknownName",
    "VegaChart",
    "Verdict",
    "WelchTest",
    "Within",
    "analyze",
    "benjamini_hochberg",
    "chi_square",
    "cohen_d",
    "conditions",
    "count_words",
    "csv_text",
    "dice",
    "error_rates",
    "factorial_anova",
    "holm",
    "hypotheses",
    "is_refusal",
    "log_length",
    "mann_whitney",
    "masked",
    "one_sample",
    "plan",
    "positive_control",
    "recorded",
    "response_length",
    "run",
    "scored_again",
    "sentiment",
    "tile_chart",
    "together",
    "welch",
]


_refusals: list[str] = []
"""What functions said that ran unjudged; here it outlasts the modules that a process forgets."""


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    value = getattr(importlib.import_module(f".{_HOMES[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
