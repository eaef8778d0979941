"""Verdicts on findings, given as the rule gives them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from pytest_bias.contrasts.declared import Claim, Direction
from pytest_bias.contrasts.estimate import Estimate, PublishedColumn
from pytest_bias.contrasts.pairs import MeanDifference
from pytest_bias.errors import NoFinding
from pytest_bias.experiments.design import Trial
from pytest_bias.experiments.experiment import Experiment
from pytest_bias.experiments.measures import Measure
from pytest_bias.experiments.records import Records
from pytest_bias.verdicts.analysis import worded
from pytest_bias.verdicts.controls import licence_of
from pytest_bias.verdicts.decide import decide
from pytest_bias.verdicts.verdict import Control, Reason, Verdict

from .designs import SCALE, TONE, groups, items, level, recorded, study

SEEN = Control(id="control", seen=True, finding=None)
UNSEEN = Control(id="control", seen=False, finding=None, reason="its interval includes 0")
OF = study(
    factors=[TONE],
    measures=[replace(SCALE, bounds=(-3, 3)), Measure("yes", kind="flag")],
    replicates=40,
)
NAMED = study(
    factors=[groups({"white": 6, "black": 6, "asian": 6}), TONE], items=items(12), replicates=2
)


def judged(
    finding: Estimate | NoFinding,
    *,
    claim: Claim = "clear",
    direction: Direction | None = None,
    control: Control | None = SEEN,
    adjusted: float | None = None,
) -> Verdict:
    """Decide on a finding; its alarm's p is taken as adjusted unless another is given."""
    against = {}
    scale = 1.0
    if isinstance(finding, NoFinding):
        against[Reason.NO_ESTIMATE] = str(finding)
    else:
        given = [] if control is None else [replace(control, licenses=(finding.measure,))]
        if insensitive := licence_of(finding.measure, finding, given)[0]:
            against[Reason.NO_CONTROL] = insensitive
        scale = finding.p_alarm / adjusted if adjusted else scale
    asked = Verdict(
        id="q",
        experiment="study",
        model="openai/tiny",
        claim=claim,
        finding=None if isinstance(finding, NoFinding) else finding,
        documented=direction,
        against=against,
    )
    return worded(decide([asked], scale=scale)["q"])


def tones(
    shift: float, sd: float = 1.0, margin: float | None = 0.5, lost: int = 0, **changes: Any
) -> Estimate:
    """Forty replies a tone, ``lost`` of those at the high one missing."""
    rng = np.random.default_rng(5)
    noise = {t: rng.permutation(np.linspace(-1.7, 1.7, 40)) * sd for t in TONE.levels}

    def draw(trial: Trial) -> float | None:
        tone = level(trial, "tone")
        if tone == "high" and trial.replicate <= lost:
            return None
        return float(shift * (tone == "high") + noise[tone][trial.replicate - 1])

    question = MeanDifference("score", "tone", high="high", low="low", margin=margin, **changes)
    return question.analyse(OF, recorded(OF, draw))


def with_p(finding: Estimate, p: float) -> Estimate:
    """The same with a published method that says ``p``."""
    return replace(finding, published=PublishedColumn(method="a test", statistics={"p": p}))


def flags(high: int, low: int) -> Records:
    """So many events at each tone."""
    return recorded(
        OF, lambda t: t.replicate <= (high if level(t, "tone") == "high" else low), "yes"
    )


def of_names(of: Experiment, question: Any, shift: float = 0.0) -> Estimate:
    """Names differ, and those of the first group lie ``shift`` above the others."""
    rng = np.random.default_rng(3)
    own: dict[object, float] = {}

    def draw(trial: Trial) -> float:
        base = own.setdefault((trial.item, trial.exemplars.get("group")), rng.normal(0, 0.4))
        return float(base + shift * (level(trial, "group") == "white") + rng.normal(0, 0.4))

    found: Estimate = question.analyse(of, recorded(of, draw))
    return found
