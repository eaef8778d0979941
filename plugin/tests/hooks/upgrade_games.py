"""A game of four numbers, of which the simulated subjects move one, two or none."""

from __future__ import annotations

OLD, NEW, EVEN = MODELS = ("simulated/biased", "simulated/drifted", "simulated/even")
KNOWN, WORSE, FRESH, FIXED = (f"{name}-high-low" for name in ("known", "worse", "fresh", "fixed"))

SOURCE = '''\
"""Four numbers that a cue must not move, over thirty topics."""

import json

from pydantic import BaseModel, ConfigDict

from pytest_bias import Experiment, Factor, Items, Measure, dice

EFFECT = {
    "even": {},
    "biased": {"known": 6, "worse": 4, "fixed": 5},
    "drifted": {"known": 6, "worse": 9, "fresh": 5},
}
NAMES = ("known", "worse", "fresh", "fixed")


class Answer(BaseModel):
    model_config = ConfigDict(extra="forbid")
    known: int
    worse: int
    fresh: int
    fixed: int
    cue: str


async def guess(trial, subject):
    told = f'Game NAME of {trial.item}. The cue is {trial["cue"]}. Reply with JSON: four numbers.'
    return (await subject.ask(told, reply=Answer)).value


def simulated(prompt):
    told = prompt.messages[-1].text
    if not told.startswith("Game NAME of"):
        return None
    high = "cue is high" in told
    rng = dice(prompt.subject, prompt.seed)
    numbers = {
        name: 10 + round(rng.gauss(0, 1)) + EFFECT[prompt.subject].get(name, 0) * high
        for name in NAMES
    }
    return json.dumps(numbers | {"cue": "high" if high else "low"})


GAME = Experiment(
    id="game-NAME",
    name="Game NAME",
    factors=[Factor("cue", {"low": "low", "high": "high"})],
    items=Items("topic", {f"t{n}": n for n in range(30)}),
    protocol=guess,
    measures=[
        *(Measure(name, bounds=(4, 24)) for name in NAMES),
        Measure("noticed", lambda answer: answer.cue == "high", kind="flag"),
    ],
    replicates=2,
    simulated=simulated,
)
'''

TESTS = '''\
"""The cases of the game."""

from pytest_bias import (
    MeanDifference, PositiveControl, RateDifference, hypotheses, positive_control,
)

from .experiment import GAME, NAMES


READ = RateDifference("noticed", "cue", high="high", low="low")


@positive_control(GAME, PositiveControl(READ, licenses=NAMES))
def test_noticed():
    pass


@hypotheses(
    GAME,
    *(
        MeanDifference(
            name, "cue", high="high", low="low", margin=2.0, claim="clear", target="population"
        )
        for name in NAMES
    ),
)
def test_cue():
    pass
'''


def source(name: str) -> str:
    return (
        SOURCE.replace("NAME ", f"{name} ")
        .replace("-NAME", f"-{name}")
        .replace('Game NAME"', f'Game {name}"')
    )
