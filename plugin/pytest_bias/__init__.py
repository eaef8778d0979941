"""pytest-bias: documented bias hypotheses as pytest cases with statistical verdicts.

This module is the public API and nothing else. Names load when they are first used, so that a
project which merely has the plugin installed pays nothing for it.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .cassettes.recorded_trials import recorded as recorded
    from .contrasts.cases import (
        Recorded as Recorded,
        conditions as conditions,
        hypotheses as hypotheses,
        positive_control as positive_control,
    )
    from .contrasts.declared import (
        Claim as Claim,
        Hypothesis as Hypothesis,
        PositiveControl as PositiveControl,
    )
    from .contrasts.findings import Finding as Finding, HumanStudy as HumanStudy
    from .contrasts.groups import GroupContrast as GroupContrast, TotalGap as TotalGap
    from .contrasts.interactions import Interaction as Interaction
    from .contrasts.pairs import (
        MeanDifference as MeanDifference,
        RateDifference as RateDifference,
        RateRatio as RateRatio,
    )
    from .contrasts.published import (
        ChiSquareTest as ChiSquareTest,
        FactorialAnova as FactorialAnova,
        FisherTest as FisherTest,
        MannWhitneyTest as MannWhitneyTest,
        OneWayAnova as OneWayAnova,
        PublishedMethod as PublishedMethod,
        Transformed as Transformed,
        WelchTest as WelchTest,
    )
    from .contrasts.selection import Selection as Selection
    from .errors import (
        BadDesign as BadDesign,
        BadStimuli as BadStimuli,
        BadTable as BadTable,
        BiasError as BiasError,
        BiasFound as BiasFound,
        ControlNotSeen as ControlNotSeen,
        Inconclusive as Inconclusive,
        InvalidReply as InvalidReply,
        MissingPackage as MissingPackage,
        NoVariance as NoVariance,
        TooFewUnits as TooFewUnits,
        UnknownName as UnknownName,
    )
    from .experiments.charts import (
        Panel as Panel,
        Shades as Shades,
        Tile as Tile,
        VegaChart as VegaChart,
        tile_chart as tile_chart,
    )
    from .experiments.design import (
        Condition as Condition,
        Design as Design,
        Factor as Factor,
        Items as Items,
        Trial as Trial,
    )
    from .experiments.experiment import (
        Experiment as Experiment,
        SimulatedAnswer as SimulatedAnswer,
        SimulatedPrompt as SimulatedPrompt,
        plan as plan,
    )
    from .experiments.figures import Heatmap as Heatmap, Means as Means
    from .experiments.impact import Impact as Impact
    from .experiments.judges import (
        NOT_SCORED as NOT_SCORED,
        Agreement as Agreement,
        scored_again as scored_again,
    )
    from .experiments.layouts import TableLayout as TableLayout, TableRow as TableRow
    from .experiments.masking import masked as masked
    from .experiments.measures import (
        MISSING as MISSING,
        Measure as Measure,
        Refusals as Refusals,
        count_words as count_words,
        error_rates as error_rates,
        is_refusal as is_refusal,
        log_length as log_length,
        response_length as response_length,
        sentiment as sentiment,
    )
    from .experiments.messages import Message as Message, Parameters as Parameters
    from .experiments.protocol import Reply as Reply, Subject as Subject, together as together
    from .experiments.records import Outcome as Outcome, Record as Record, Records as Records
    from .experiments.replies import Within as Within
    from .experiments.stimuli import PromptTemplate as PromptTemplate, Stimuli as Stimuli
    from .providers.simulator.exchange import dice as dice
    from .report.escapes import csv_text as csv_text
    from .statistics.anova import factorial_anova as factorial_anova
    from .statistics.blocks import one_sample as one_sample
    from .statistics.counts import chi_square as chi_square
    from .statistics.effect_size import cohen_d as cohen_d
    from .statistics.means import welch as welch
    from .statistics.ranks import mann_whitney as mann_whitney
    from .statistics.results import Interval as Interval, Misclassified as Misclassified
    from .statistics.simultaneous import benjamini_hochberg as benjamini_hochberg, holm as holm
    from .verdicts.analysis import Analysis as Analysis
    from .verdicts.verdict import Control as Control, Verdict as Verdict
    from .workbench.study import Results as Results, analyze as analyze, run as run

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

if not TYPE_CHECKING:  # a checker goes by what is imported as itself
    __all__ = list(_HOMES)


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
