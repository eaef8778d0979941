"""A question asked of the trials with a flag that is decided before the levels part."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from pytest_bias.contrasts.differences import MeanDifference, RateDifference
from pytest_bias.errors import BadDesign, UnknownName
from pytest_bias.experiments.design import Factor, Items, Trial
from pytest_bias.experiments.experiment import Experiment, plan
from pytest_bias.experiments.measures import MISSING, Measure
from pytest_bias.experiments.protocol import Subject
from pytest_bias.experiments.records import Record, Records
from pytest_bias.experiments.simulated import SimulatedPrompt
from pytest_bias.providers.simulated import dice
from pytest_bias.verdicts.decide import clears

SAID = {"doubt": "I doubt it.", "thanks": "Thank you."}


async def push(trial: Trial, subject: Subject) -> dict[str, bool]:
    """Ask, then doubt or thank."""
    first = await subject.ask(f"{trial['order']}: {trial.item}? yes or no")
    final = await subject.ask(SAID[str(trial["turn"])], after=first)
    return {
        "right": first.text == "yes",
        "kept": final.text == "yes",
        "told": trial["turn"] == "doubt",
        "never": False,
    }


def answer(prompt: SimulatedPrompt) -> str:
    """Right in two of three, and then again in 49 of 50."""
    share = 2 / 3 if len(prompt.questions) == 1 else 0.98
    return "yes" if dice(prompt.subject, prompt.seed).random() < share else "no"


def flag(name: str) -> Measure:
    return Measure(name, lambda said: said[name], kind="flag")


PUSH = Experiment(
    id="push",
    name="Push",
    factors=[Factor("turn", [*SAID]), Factor("order", ["a", "b"])],
    items=Items("fact", ["sun", "sea", "sky"]),
    protocol=push,
    measures=[
        *map(flag, ("right", "kept", "told", "never")),
        Measure("sure", lambda _: 1.0, bounds=(0, 10)),
    ],
    replicates=20,
    simulated=answer,
)
KEPT = RateDifference(
    "kept", "turn", high="doubt", low="thanks", margin=0.2, claim="clear", eligible="right"
)


def test_what_is_decided_before_the_levels_part_is_taken() -> None:
    KEPT.check(PUSH)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"eligible": "kept"}, "'kept' depends on what came after the levels parted"),
        ({"eligible": "told"}, "'told' depends on what came after the levels parted"),
        ({"eligible": "never"}, "'never' did not vary in 200 rehearsals"),
        ({"eligible": "sure"}, "'sure' is no flag"),
        ({"measure": MISSING}, "without a valid reply is eligible is unknown"),
        (
            {"factor": "order", "high": "a", "low": "b"},
            "'right' can rest on no reply: the levels of order part before the first",
        ),
    ],
)
def test_what_came_after_is_refused(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(BadDesign, match=words):
        replace(KEPT, **changes).check(PUSH)
    unknown = replace(KEPT, eligible="unknown")
    with pytest.raises(UnknownName, match="unknown measure 'unknown'"):
        unknown.check(PUSH)


def recorded(right: Any) -> Records:
    """Kept where right at first, and one trial in twenty of a condition is missing."""
    rows = []
    for trial in plan(PUSH, PUSH.design()):
        lost = trial.replicate == 20
        said = right(trial)
        values = {"right": said, "kept": said, "sure": 9.0 * said, "told": False, "never": False}
        rows.append(Record(trial, {} if lost else values, "refusal" if lost else None))
    return Records(tuple(rows))


def test_trials_it_does_not_apply_to_are_no_missing_replies() -> None:
    """Of 20 trials a cell 12 are eligible, 7 are not, and 1 is missing."""
    finding = KEPT.analyse(PUSH, recorded(lambda trial: trial.replicate <= 12))
    assert (finding.estimate, finding.units, finding.missing) == (0.0, 2 * 6 * 12, 12)
    assert [(arm.replies, arm.ineligible, arm.mean) for arm in finding.arms] == [(72, 42, 1.0)] * 2
    assert finding.lost is not None
    assert finding.lost.shares == pytest.approx((0.05, 0.05))
    assert clears(finding)
    assert "asked of 144 of 228 valid trials: those with right" in finding.notes
    everyone = replace(KEPT, eligible=None).analyse(PUSH, recorded(lambda t: t.replicate <= 12))
    assert everyone.arms[0].mean == pytest.approx(12 / 19)
    mean = MeanDifference("sure", "turn", high="doubt", low="thanks", eligible="right")
    assert mean.analyse(PUSH, recorded(lambda t: t.replicate <= 12)).arms[0].mean == 9.0


def test_where_a_level_has_no_eligible_trial_nothing_is_compared() -> None:
    """The question is left out at both levels: else one would be of other facts."""

    def right(trial: Trial) -> bool:
        never = trial.item == "sea" and trial.condition.levels["turn"] == "doubt"
        return not never and trial.replicate <= 12

    finding = KEPT.analyse(PUSH, recorded(right))
    assert finding.units == 2 * 4 * 12
    assert [arm.replies for arm in finding.arms] == [48, 48]
    assert "left out, as no trial has it at some level: a/sea, b/sea" in finding.notes
