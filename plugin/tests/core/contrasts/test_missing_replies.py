"""Missing replies of a contrast: whether they are shown to be missing unequally."""

from __future__ import annotations

from dataclasses import replace

from pytest_bias import RateDifference
from pytest_bias.contrasts.estimate import Estimate, MissingReplies
from pytest_bias.experiments.design import Factor, Trial
from pytest_bias.experiments.experiment import Experiment
from pytest_bias.experiments.records import CAP, Records

from .designs import SCALE, TONE, YES, items, level, recorded, study

QUESTION = RateDifference("yes", "tone", high="high", low="low", margin=0.1, claim="detect")


def missing_of(finding: Estimate) -> MissingReplies:
    assert finding.lost is not None
    return finding.lost


def of_tones(**design: object) -> Experiment:
    return study(**({"factors": [TONE], "measures": [SCALE, YES]} | design))


def test_an_item_that_a_cap_left_without_replies_says_nothing_of_missing_ones() -> None:
    of = of_tones(items=items(60), replicates=3)

    def draw(trial: Trial) -> bool | None:
        return None if level(trial, "tone") == "high" and trial.replicate == 1 else False

    records = recorded(of, draw, "yes")
    capped = Records(
        tuple(
            replace(row, missing=CAP, values={}) if row.trial.item == "s3" else row
            for row in records.rows
        )
    )
    assert missing_of(QUESTION.analyse(of, capped)).p_beyond < 1e-6


def test_single_trials_show_that_replies_are_missing_unequally() -> None:
    many = Factor("wording", {f"w{n}": n for n in range(200)})
    of = of_tones(factors=[TONE, many], replicates=1)

    def draw(trial: Trial) -> bool | None:
        lost = level(trial, "tone") == "high" and level(trial, "wording").endswith(("0", "5", "7"))
        return None if lost else False

    records = recorded(of, draw, "yes")
    assert missing_of(QUESTION.analyse(of, records)).p_beyond < 1e-4
