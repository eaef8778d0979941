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
    from .contrasts import MeanDifference, RateDifference
    from .design import Condition, Design, Factor, Items, Trial
    from .errors import BiasError, BiasFound, ControlNotSeen, Inconclusive, InvalidReply
    from .experiment import Experiment, SimulatedAnswer, SimulatedPrompt, plan
    from .findings import Finding, HumanStudy
    from .measures import Measure
    from .messages import Message, Parameters
    from .protocol import Reply, Subject, together
    from .records import Outcome
    from .simulator.subjects import dice
    from .stimuli import PromptTemplate
    from .verdicts import Control, Verdict

_HOMES = {
    "Analysis": "analysis",
    "BiasError": "errors",
    "BiasFound": "errors",
    "Condition": "design",
    "Control": "verdicts",
    "ControlNotSeen": "errors",
    "Design": "design",
    "Experiment": "experiment",
    "Factor": "design",
    "Finding": "findings",
    "HumanStudy": "findings",
    "Inconclusive": "errors",
    "InvalidReply": "errors",
    "Items": "design",
    "MeanDifference": "contrasts",
    "Measure": "measures",
    "Message": "messages",
    "Outcome": "records",
    "Parameters": "messages",
    "PromptTemplate": "stimuli",
    "RateDifference": "contrasts",
    "Recorded": "cases",
    "Reply": "protocol",
    "SimulatedAnswer": "experiment",
    "SimulatedPrompt": "experiment",
    "Subject": "protocol",
    "Trial": "design",
    "Verdict": "verdicts",
    "conditions": "cases",
    "dice": "simulator.subjects",
    "hypotheses": "cases",
    "plan": "experiment",
    "positive_control": "cases",
    "together": "protocol",
}

__all__ = [
    "Analysis",
    "BiasError",
    "BiasFound",
    "Condition",
    "Control",
    "ControlNotSeen",
    "Design",
    "Experiment",
    "Factor",
    "Finding",
    "HumanStudy",
    "Inconclusive",
    "InvalidReply",
    "Items",
    "MeanDifference",
    "Measure",
    "Message",
    "Outcome",
    "Parameters",
    "PromptTemplate",
    "RateDifference",
    "Recorded",
    "Reply",
    "SimulatedAnswer",
    "SimulatedPrompt",
    "Subject",
    "Trial",
    "Verdict",
    "conditions",
    "dice",
    "hypotheses",
    "plan",
    "positive_control",
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
