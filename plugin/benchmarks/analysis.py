"""What analysing an experiment costs, from outcomes to verdicts, beside bare means of groups.

    python plugin/benchmarks/analysis.py [--trials 720 100000] [--rounds 3] [--profile]

One synthetic experiment: 3 personas × 8 groups with 5 names each × 2 statuses × 3 scenarios, 720
trials per replicate; a flag and a rating from 1 to 5; 8 groups against the rest on each of them
for a population of names, one interaction, a difference of means, one of rates and a sum of gaps,
with the 10,000 resamples every analysis draws. A row is ``analyse`` as a
whole, on outcomes that are there already; the floor reads both measures of the same outcomes and
takes the groups' means with numpy. Rounds of both alternate in one process, after one analysis
that is not timed and imports what it needs. Medians of wall and of processor seconds; on a busy
machine the latter say more. The goals are 0.5 s for 720 trials and 5 s for 100,000.

Imports are timed apart, in processes of their own, which also say which heavy modules loading the
plugin brings in. ``--profile`` lists the five functions that take most time by themselves.
"""

from __future__ import annotations

import argparse
import cProfile
import json
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import CodeType
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.common import median_and_spread, note, say
from pytest_bias import (
    Experiment,
    Factor,
    GroupContrast,
    Interaction,
    Items,
    MeanDifference,
    Measure,
    RateDifference,
    TotalGap,
)
from pytest_bias.experiments.design import Design
from pytest_bias.experiments.experiment import plan
from pytest_bias.experiments.records import Outcome, Recording
from pytest_bias.verdicts.analysis import Analysis, analyse

if TYPE_CHECKING:
    from pytest_bias.contrasts.declared import Hypothesis
    from pytest_bias.experiments.design import Trial
    from pytest_bias.experiments.protocol import Subject

TRIALS = (720, 100_000)
GOALS: Mapping[int, float] = {720: 0.5, 100_000: 5.0}
ROUNDS = 3
SEED = 5
HOTTEST = 5
GROUPS = [f"g{number}" for number in range(8)]
EACH = [{"group": group} for group in GROUPS]
HEAVY = ("statsmodels", "pandas", "altair", "vl_convert", "scipy", "numpy")

_IMPORTS = f"""
import json, sys, time
started = time.perf_counter()
import pytest_bias
import pytest_bias.pytest_plugin
plugin = time.perf_counter() - started
heavy = [name for name in {HEAVY!r} if name in sys.modules]
started = time.perf_counter()
import pytest_bias.contrasts.estimation.groups
import pytest_bias.contrasts.estimation.two_groups
print(json.dumps([plugin, heavy, time.perf_counter() - started]))
"""


@dataclass(frozen=True, slots=True)
class Reply:
    """What a trial came to."""

    helped: bool
    rating: int


async def _unasked(trial: Trial, subject: Subject) -> Reply:
    """No reply is ever asked for: outcomes are made of random numbers."""
    raise NotImplementedError


def experiment(replicates: int) -> Experiment:
    """The experiment, of 720 trials per replicate."""
    return Experiment(
        id="benchmark-narrative",
        name="Narrative",
        factors=[
            Factor("persona", {f"p{n}": f"persona {n}" for n in range(3)}),
            Factor(
                "group",
                {group: group for group in GROUPS},
                exemplars={group: [f"{group} {n}" for n in range(5)] for group in GROUPS},
            ),
            Factor("status", {"high": "rich", "low": "poor"}),
        ],
        items=Items("scenario", {f"s{n}": f"scenario {n}" for n in range(3)}),
        protocol=_unasked,
        measures=[Measure("helped"), Measure("rating", bounds=(1, 5))],
        replicates=replicates,
    )


def hypotheses() -> list[Hypothesis]:
    """Questions of every kind the experiment can answer."""
    return [
        *GroupContrast.each(
            "helped", "group", over=EACH, margin=0.1, claim="detect", target="population"
        ),
        *GroupContrast.each(
            "rating", "group", over=EACH, margin=0.25, claim="detect", target="population"
        ),
        Interaction("helped", {"persona": None, "group": None}, target="population"),
        MeanDifference(
            "rating",
            "status",
            high="high",
            low="low",
            margin=0.25,
            claim="clear",
            target="population",
            unit="group",
        ),
        RateDifference("helped", "status", high="high", low="low", margin=0.1, claim="clear"),
        TotalGap("helped", "group", gaps=[(high, "g0", 1.0) for high in GROUPS[1:]]),
    ]


def outcomes_of(of: Experiment) -> list[Outcome]:
    """An outcome for every trial, without any difference between conditions."""
    rng = np.random.default_rng(SEED)
    trials = plan(of, of.design())
    helped = (rng.random(len(trials)) < 0.5).tolist()  # noqa: PLR2004  (a coin)
    ratings = rng.integers(1, 6, len(trials)).tolist()
    return [
        Outcome(trial, Reply(yes, rating), None, invalid=(), interactions=1, prompts=())
        for trial, yes, rating in zip(trials, helped, ratings, strict=True)
    ]


def analysed(of: Experiment, outcomes: Sequence[Outcome]) -> Analysis:
    """The whole analysis."""
    recording = Recording(
        cassette="benchmark",
        checksum="0" * 64,
        simulated=True,
        wire="made by hand",
        recorded_with="a benchmark",
        interactions=len(outcomes),
    )
    design = Design(of.design().replicates)
    asked = hypotheses()
    return analyse(
        of, design, "none/none", outcomes, hypotheses=asked, controls=(), recording=recording
    )


def floor(outcomes: Sequence[Outcome]) -> list[list[float]]:
    """The groups' means of both measures, with nothing but numpy."""
    codes = {group: number for number, group in enumerate(GROUPS)}
    groups = np.array([codes[each.trial.condition.levels["group"]] for each in outcomes])
    counts = np.bincount(groups)
    replies = [each.result for each in outcomes if isinstance(each.result, Reply)]
    columns = ([reply.helped for reply in replies], [reply.rating for reply in replies])
    return [(np.bincount(groups, np.array(each)) / counts).tolist() for each in columns]


def _timed(work: Callable[[], object]) -> tuple[float, float]:
    """Wall and processor seconds."""
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - wall, time.process_time() - cpu


def hottest(work: Callable[[], object]) -> list[str]:
    """The functions that take most time by themselves, with their places and calls."""
    profile = cProfile.Profile()
    profile.runcall(work)
    slowest = sorted(profile.getstats(), key=lambda entry: -entry.inlinetime)[:HOTTEST]
    return [
        f"{entry.inlinetime:8.3f} s, {entry.totaltime:.3f} s with what it calls, "
        f"{entry.callcount} calls: {_place(entry.code)}"
        for entry in slowest
    ]


def _place(code: str | CodeType) -> str:
    if isinstance(code, str):
        return code
    return f"{code.co_filename}:{code.co_firstlineno} {code.co_qualname}"


def imports(rounds: int) -> None:
    """Say what loading the plugin takes and brings in, and what an analysis imports on top."""
    plugin, analysis, heavy = [], [], set()
    for _ in range(rounds):
        found = subprocess.run(  # noqa: S603  (our own command)
            [sys.executable, "-c", _IMPORTS], check=True, capture_output=True, text=True
        )
        seconds, names, more = json.loads(found.stdout)
        plugin.append(seconds)
        analysis.append(more)
        heavy |= set(names)
    for name, seconds in (("import of the plugin", plugin), ("further for analyses", analysis)):
        median, spread = median_and_spread(seconds)
        say(f"{name:24}{median:9.3f} s ± {spread:.3f}")
    present = ", ".join(sorted(heavy)) or "none"
    say(f"heavy modules that loading the plugin brings in: {present} (of {', '.join(HEAVY)})")


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--trials", type=int, nargs="+", default=TRIALS)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--profile", action="store_true")
    given = parser.parse_args(arguments)
    imports(given.rounds)
    small = experiment(1)
    analysed(small, outcomes_of(small))
    titles = ("seconds", "± range", "processor", "floor", "× floor", "goal")
    say(f"\n{'trials':>8}" + "".join(f"{title:>11}" for title in titles))
    for trials in given.trials:
        of = experiment(max(1, round(trials / 720)))
        outcomes = outcomes_of(of)
        whole, bare = [], []
        for number in range(given.rounds):
            note(f"{len(outcomes):,} trials: round {number + 1} of {given.rounds} …")
            bare.append(_timed(partial(floor, outcomes)))
            whole.append(_timed(partial(analysed, of, outcomes)))
        wall, spread = median_and_spread([seconds for seconds, _ in whole])
        cpu, _ = median_and_spread([seconds for _, seconds in whole])
        least, _ = median_and_spread([seconds for seconds, _ in bare])
        goal = f"{GOALS[trials]:g}" if trials in GOALS else "–"
        numbers = f"{wall:11.3f}{spread:11.3f}{cpu:11.3f}{least:11.4f}{wall / least:11.1f}"
        say(f"{len(outcomes):8}{numbers}{goal:>11}")
        if given.profile:
            for line in hottest(partial(analysed, of, outcomes)):
                say(line)
    return 0


if __name__ == "__main__":
    sys.exit(main())
