"""Control levels, which are met with the first level and item of all else alone."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_bias.contrasts.declared import PositiveControl
from pytest_bias.contrasts.differences import MeanDifference, RateDifference
from pytest_bias.contrasts.groups import Interaction
from pytest_bias.errors import BadDesign
from pytest_bias.experiments.design import Factor, Items, Trial
from pytest_bias.experiments.experiment import plan
from pytest_bias.experiments.records import Record, Records
from pytest_bias.verdicts.analysis import without_controls

from .designs import SCALE, YES, study

FRAMING = study(
    factors=[
        Factor("frame", {"gain": "g", "loss": "l"}, controls={"doubled": "d"}),
        Factor("order", ["certain_first", "risky_first"]),
    ],
    items=Items("scenario", {"virus": 1, "herd": 2, "divers": 3}, controls={"plain": 4}),
    measures=[SCALE, YES],
    replicates=12,
    controls=12,
)


def replies(trial: Trial) -> Record:
    """Under ``gain`` 9, under ``doubled`` 1; all else moves the reply by 3."""
    levels = trial.condition.levels
    score = {"gain": 9.0, "loss": 9.0, "doubled": 1.0}[levels["frame"]]
    score -= 3 * (levels["order"] == "risky_first") + 3 * (trial.item != "virus")
    score += (trial.replicate % 3 - 1) / 2
    return Record(trial, {"score": score, "yes": score > 5}, None)


RECORDS = Records(tuple(map(replies, plan(FRAMING, FRAMING.design()))))


@pytest.mark.parametrize(
    ("at", "units"),
    [({}, 24), ({"order": "certain_first"}, 24), ({"scenario": ("virus", "herd")}, 24)],
)
@pytest.mark.parametrize("kind", [MeanDifference, RateDifference])
def test_a_contrast_with_a_control_level_is_of_what_it_is_met_with(
    kind: Any, at: dict[str, Any], units: int
) -> None:
    measure = {MeanDifference: "score", RateDifference: "yes"}[kind]
    control = PositiveControl(kind(measure, "frame", high="gain", low="doubled", at=at))
    control.check(FRAMING)
    finding = control.contrast.analyse(
        FRAMING, without_controls(FRAMING, RECORDS, control.contrast)
    )
    assert finding.units == units
    assert finding.estimate == (8.0 if kind is MeanDifference else 1.0)
    assert [arm.units for arm in finding.arms] == [12, 12]


def test_control_items_are_met_under_every_condition() -> None:
    contrast = MeanDifference("score", "scenario", high="virus", low="plain")
    contrast.check(FRAMING)
    rows = without_controls(FRAMING, RECORDS, contrast)
    assert contrast.analyse(FRAMING, rows).units == 4 * 24


@pytest.mark.parametrize(
    ("contrast", "words"),
    [
        (
            MeanDifference(
                "score", "frame", high="gain", low="doubled", at={"order": "risky_first"}
            ),
            "control levels of 'frame' are met with order=certain_first alone",
        ),
        (
            MeanDifference("score", "frame", high="gain", low="doubled", at={"scenario": "herd"}),
            "control levels of 'frame' are met with scenario=virus alone",
        ),
        (
            Interaction(
                "score",
                {"frame": ("gain", "doubled"), "order": ("certain_first", "risky_first")},
            ),
            "control levels of 'frame' are met with order=certain_first alone",
        ),
        (
            MeanDifference(
                "score", "order", high="certain_first", low="risky_first", at={"frame": "doubled"}
            ),
            "at='frame': doubled is a control level, to be compared itself",
        ),
    ],
)
def test_what_no_control_trial_is_of_is_refused_when_it_is_declared(
    contrast: Any, words: str
) -> None:
    with pytest.raises(BadDesign, match=words):
        PositiveControl(contrast).check(FRAMING)
