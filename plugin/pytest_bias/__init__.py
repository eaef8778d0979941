"""pytest-bias: documented bias hypotheses as pytest cases with statistical verdicts.

This module is the public API, with the functions of ``pytest_bias.stats``. Names load when
they are first used, so that a project which merely has the plugin installed pays nothing for it.
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
        Hypothesis as Hypothesis,
        PositiveControl as PositiveControl,
    )
    from .contrasts.differences import (
        Mean as Mean,
        MeanDifference as MeanDifference,
        Rate as Rate,
        RateDifference as RateDifference,
        RateRatio as RateRatio,
    )
    from .contrasts.groups import (
        GroupContrast as GroupContrast,
        Interaction as Interaction,
        TotalGap as TotalGap,
    )
    from .contrasts.people import Human as Human
    from .contrasts.published import (
        ChiSquareTest as ChiSquareTest,
        FactorialAnova as FactorialAnova,
        MannWhitneyTest as MannWhitneyTest,
        OneWayAnova as OneWayAnova,
        Transformed as Transformed,
        WelchTest as WelchTest,
    )
    from .contrasts.selection import Selection as Selection
    from .errors import (
        BadDesign as BadDesign,
        BadData as BadData,
        BiasError as BiasError,
        InvalidReply as InvalidReply,
    )
    from .experiments.design import (
        Condition as Condition,
        Design as Design,
        Factor as Factor,
        Items as Items,
        Trial as Trial,
    )
    from .experiments.experiment import Experiment as Experiment
    from .experiments.simulated import SimulatedPrompt as SimulatedPrompt
    from .experiments.figures import Heatmap as Heatmap, Means as Means
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
        log_length as log_length,
        sentiment as sentiment,
    )
    from .experiments.messages import Message as Message, Parameters as Parameters
    from .experiments.protocol import Reply as Reply, Subject as Subject, together as together
    from .experiments.records import Record as Record, Records as Records
    from .experiments.replies import Within as Within
    from .experiments.stimuli import PromptTemplate as PromptTemplate, Stimuli as Stimuli
    from .providers.simulated import dice as dice
    from .report.escapes import csv_text as csv_text
    from .verdicts.verdict import Control as Control, Verdict as Verdict
    from .workbench.study import analyze as analyze, run as run

_HOMES = {
    name: f".{home}"
    for home, names in {
        "cassettes.recorded_trials": "recorded",
        "contrasts.cases": "Recorded conditions hypotheses positive_control",
        "contrasts.declared": "Hypothesis PositiveControl",
        "contrasts.differences": "Mean MeanDifference Rate RateDifference RateRatio",
        "contrasts.groups": "GroupContrast Interaction TotalGap",
        "contrasts.people": "Human",
        "contrasts.published": "ChiSquareTest FactorialAnova MannWhitneyTest "
        "OneWayAnova Transformed WelchTest",
        "contrasts.selection": "Selection",
        "errors": "BadData BadDesign BiasError InvalidReply",
        "experiments.design": "Condition Design Factor Items Trial",
        "experiments.experiment": "Experiment",
        "experiments.simulated": "SimulatedPrompt",
        "experiments.figures": "Heatmap Means",
        "experiments.judges": "NOT_SCORED Agreement scored_again",
        "experiments.layouts": "TableLayout TableRow",
        "experiments.masking": "masked",
        "experiments.measures": "MISSING Measure Refusals count_words log_length sentiment",
        "experiments.messages": "Message Parameters",
        "experiments.protocol": "Reply Subject together",
        "experiments.records": "Record Records",
        "experiments.replies": "Within",
        "experiments.stimuli": "PromptTemplate Stimuli",
        "providers.simulated": "dice",
        "report.escapes": "csv_text",
        "verdicts.verdict": "Control Verdict",
        "workbench.study": "analyze run",
    }.items()
    for name in names.split()
}

if not TYPE_CHECKING:  # a checker goes by what is imported as itself
    __all__ = list(_HOMES)

    def __getattr__(name: str) -> object:
        if name not in _HOMES:
            message = f"module {__name__!r} has no attribute {name!r}"
            raise AttributeError(message)
        value = getattr(importlib.import_module(_HOMES[name], __name__), name)
        globals()[name] = value
        return value


_refusals: list[str] = []
"""What functions said that ran unjudged; here it outlasts the modules that a process forgets."""


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
