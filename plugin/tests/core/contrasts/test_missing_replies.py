"""Missing replies of a contrast: whether they are shown to be missing unequally."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pytest_bias import GroupContrast, Interaction, RateDifference
from pytest_bias.contrasts.estimate import Estimate, MissingReplies
from pytest_bias.experiments.design import Factor, Trial
from pytest_bias.experiments.experiment import Experiment
from pytest_bias.experiments.records import CAP, Records

from .designs import SCALE, STYLE, TONE, YES, groups, items, level, recorded, study

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


def test_replies_that_one_of_several_groups_lacks_are_missing_unequally() -> None:
    of = of_tones(factors=[groups(dict.fromkeys("abcdefgh", 1))], replicates=150)
    question = GroupContrast("yes", "group", margin=0.1, claim="detect")

    def draw(trial: Trial) -> bool | None:
        return None if level(trial, "group") == "c" and trial.replicate <= 90 else False

    lost = missing_of(question.analyse(of, recorded(of, draw, "yes")))
    assert lost.shares == pytest.approx((0, 0, 0.6, 0, 0, 0, 0, 0))
    assert lost.too_many
    assert lost.p_beyond < 1e-6


def test_an_interaction_of_missing_replies_is_held_against_its_own_width() -> None:
    of = of_tones(factors=[TONE, STYLE], replicates=200)
    question = Interaction(
        "yes", {"tone": ("high", "low"), "style": ("plain", "formal")}, margin=0.2, claim="detect"
    )

    def draw(trial: Trial) -> bool | None:
        apart = (level(trial, "tone") == "high") == (level(trial, "style") == "plain")
        return None if apart and trial.replicate <= 22 else False

    lost = missing_of(question.analyse(of, recorded(of, draw, "yes")))
    assert lost.shares == pytest.approx((0.11, 0, 0, 0.11))
    assert lost.p_beyond > 0.3
