"""pytest-bias: documented bias hypotheses as pytest cases with statistical verdicts.

This module is the public API and nothing else. Names load when they are first used, so that a
project which merely has the plugin installed pays nothing for it.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
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
    from .experiment import Experiment, SimulatedAnswer, SimulatedPrompt, plan
    from .findings import Finding, HumanStudy
    from .measures import MISSING, Measure
    from .messages import Message, Parameters
    from .protocol import Reply, Subject, together
    from .records import Outcome
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
    "Analysis": "analysis",
    "BiasError": "errors",
    "BiasFound": "errors",
    "ChiSquareTest": "contrasts",
    "Condition": "design",
    "Control": "verdicts",
    "ControlNotSeen": "errors",
    "Design": "design",
    "Experiment": "experiment",
    "Factor": "design",
    "FactorialAnova": "contrasts",
    "Finding": "findings",
    "GroupContrast": "contrasts",
    "HumanStudy": "findings",
    "Inconclusive": "errors",
    "Interaction": "contrasts",
    "InvalidReply": "errors",
    "Items": "design",
    "MISSING": "measures",
    "MannWhitneyTest": "contrasts",
    "MeanDifference": "contrasts",
    "Measure": "measures",
    "Message": "messages",
    "OneWayAnova": "contrasts",
    "Outcome": "records",
    "Parameters": "messages",
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
    "conditions": "cases",
    "dice": "simulator.subjects",
    "error_rates": "texts",
    "hypotheses": "cases",
    "is_refusal": "texts",
    "log_length": "texts",
    "plan": "experiment",
    "positive_control": "cases",
    "response_length": "texts",
    "screening_measures": "screening",
    "sentiment": "texts",
    "together": "protocol",
}

__all__ = [
    "MISSING",
    "Analysis",
    "BiasError",
    "BiasFound",
    "ChiSquareTest",
    "Condition",
    "Control",
    "ControlNotSeen",
    "Design",
    "Experiment",
    "Factor",
    "FactorialAnova",
    "Finding",
    "GroupContrast",
    "HumanStudy",
    "Inconclusive",
    "Interaction",
    "InvalidReply",
    "Items",
    "MannWhitneyTest",
    "MeanDifference",
    "Measure",
    "Message",
    "OneWayAnova",
    "Outcome",
    "Parameters",
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
    "conditions",
    "dice",
    "error_rates",
    "hypotheses",
    "is_refusal",
    "log_length",
    "plan",
    "positive_control",
    "response_length",
    "screening_measures",
    "sentiment",
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
