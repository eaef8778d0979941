"""What was asked, and what the published method says, on findings of every kind."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from pytest_bias.contrasts.declared import Claim
from pytest_bias.contrasts.differences import MeanDifference
from pytest_bias.contrasts.estimate import Estimate
from pytest_bias.errors import NoFinding
from pytest_bias.experiments.design import Trial
from pytest_bias.verdicts.analysis import worded
from pytest_bias.verdicts.decide import decide
from pytest_bias.verdicts.explanation import explanation
from pytest_bias.verdicts.verdict import Reason, Verdict

from .designs import SCALE, TONE, level, recorded, study

OF = study(factors=[TONE], measures=[replace(SCALE, bounds=(-3, 3))], replicates=40)


def judged(finding: Estimate | NoFinding, claim: Claim = "clear") -> Verdict:
    against = {Reason.NO_ESTIMATE: str(finding)} if isinstance(finding, NoFinding) else {}
    found = None if isinstance(finding, NoFinding) else finding
    asked = Verdict(
        id="q", experiment="study", model="m", claim=claim, finding=found, against=against
    )
    return worded(decide([asked], scale=1.0)["q"])


def tones(shift: float, sd: float = 1.0, margin: float | None = 0.5) -> Estimate:
    """Forty replies a tone."""
    rng = np.random.default_rng(5)
    noise = {t: rng.permutation(np.linspace(-1.7, 1.7, 40)) * sd for t in TONE.levels}

    def draw(trial: Trial) -> float:
        tone = level(trial, "tone")
        return float(shift * (tone == "high") + noise[tone][trial.replicate - 1])

    question = MeanDifference("score", "tone", high="high", low="low", margin=margin)
    return question.analyse(OF, recorded(OF, draw))


def test_what_was_asked_and_what_the_published_method_says() -> None:
    assert explanation(judged(tones(0.02, 0.4))) == (
        (
            "Asked about score: high − low (mean difference), for these stimuli (this very set). "
            "Effects within ±0.5 points do not matter. The design is sized to clear it."
        ),
        (
            "Published method (Welch's t test on all replies, Cohen's d): p = 0.8269, which it "
            "calls no effect. It asks whether there is any, and decides nothing; the verdict asks "
            "whether it matters."
        ),
    )
