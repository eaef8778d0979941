"""Ten small steps, each within the margin, must not add up: the best ever accepted is what counts.

Simulated upgrades, each .4 margins worse than the one before, on 25 units that all models meet.
Each is held beside what was accepted as the gate does it, and accepted where it passes.

===================  =============  ==================  ==================  ================
200 runs from        beside         stopped by the 2nd  stopped by the 3rd  ten steps passed
===================  =============  ==================  ==================  ================
no bias              the last                      .00                 .00              1.00
no bias              the best ever                 .60                1.00               .00
a bias of 3 margins  the last                      .01                 .01               .99
a bias of 3 margins  the best ever                 .60                1.00               .00
===================  =============  ==================  ==================  ================
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pytest

from pytest_bias.baselines import entries
from pytest_bias.baselines.noninferiority import compared
from pytest_bias.contrasts.findings import Effect, UnitGroup

Beside = Literal["the last", "the best ever"]

RUNS = 200
STEPS = 10
UNITS = 25
MARGIN = 0.105
SPREAD = 0.39
"""Standard deviation of a unit's contrast in margins, beside what it shares with other models.

The standard error of a difference is then .11 margins: so precise a gate passes a step of .4 by
itself nearly always.
"""


def effect(shared: np.ndarray, size: float, rng: np.random.Generator) -> Effect:
    """A model's effect of ``size`` margins."""
    values = MARGIN * (shared + rng.normal(size, SPREAD, UNITS))
    return Effect(
        estimate=float(values.mean()),
        interval=None,
        se=float(values.std(ddof=1)) / math.sqrt(UNITS),
        df=UNITS - 1.0,
        scale="difference",
        cassette=f"{size:g} {rng.random()}",
        by_unit=(
            UnitGroup(
                group="seed",
                weight=1.0,
                values={f"seed={n}": value for n, value in enumerate(values.tolist())},
            ),
        ),
    )


@dataclass(frozen=True, slots=True)
class Steps:
    """At which step each run was stopped; ``STEPS`` + 1 where none was."""

    stopped: tuple[int, ...]

    def by(self, step: int) -> float:
        """Share of the runs that were stopped at a step or before."""
        return sum(each <= step for each in self.stopped) / len(self.stopped)


def upgraded(beside: Beside, *, start: float, step: float = 0.4, runs: int = RUNS) -> Steps:
    rng = np.random.default_rng(6)
    stopped = []
    for _ in range(runs):
        shared = rng.normal(0, 0.5, UNITS)
        shared -= shared.mean()  # what these units do is no part of the effect
        accepted: Effect | None = effect(shared, start, rng)
        at = STEPS + 1
        for number in range(1, STEPS + 1):
            candidate = effect(shared, start + number * step, rng)
            assert accepted is not None
            found = compared(candidate, accepted, margin=MARGIN)
            assert found.how == "paired"
            if not found.no_worse:
                at = number
                break
            # What accepting keeps as the best.
            last = beside == "the last"
            accepted = candidate if last else entries._smaller(accepted, candidate)
        stopped.append(at)
    return Steps(tuple(stopped))


@pytest.mark.parametrize("start", [0.0, 3.0, -3.0])
def test_small_steps_are_stopped_by_the_third(start: float) -> None:
    found = upgraded("the best ever", start=start, step=math.copysign(0.4, start))
    assert found.by(1) < 0.02, "a single step is within the margin, and passes"
    assert found.by(3) > 0.95
    assert found.by(4) == 1


@pytest.mark.parametrize("start", [0.0, 3.0])
def test_beside_the_last_only_all_ten_would_pass(start: float) -> None:
    """The rule that the best baseline replaces: four margins worse, and nothing noticed."""
    found = upgraded("the last", start=start)
    assert found.by(3) < 0.02
    assert found.by(STEPS) < 0.05


@pytest.mark.parametrize("start", [0.0, 3.0])
def test_ten_upgrades_without_any_change_are_not_stopped(start: float) -> None:
    """The best of many accepted estimates is a lucky one; it does not stop what is the same."""
    assert upgraded("the best ever", start=start, step=0.0, runs=40).by(STEPS) == 0


def test_steps_down_are_no_way_back_up() -> None:
    """A better model was accepted: the next one may not return to where it began."""
    rng = np.random.default_rng(1)
    shared = np.zeros(UNITS)
    before, better, again = (effect(shared, size, rng) for size in (3.0, 1.0, 3.0))
    assert compared(better, before, margin=MARGIN).no_worse
    best = entries._smaller(before, better)
    assert best == better
    assert not compared(again, best, margin=MARGIN).no_worse
    assert compared(again, before, margin=MARGIN).no_worse
