"""Record trials of a shipped recording of a local model again: are the replies the same, how fast.

    python plugin/benchmarks/local_model.py [--trials 10] [--model local/smollm2]
        [--experiment anchoring-prosecutor-sentencing-all-in-one]

Needs the extra ``local`` and the model's weights. Draws trials by a fixed seed, records them anew
into a folder that is thrown away, and holds each reply (of experiments that keep no text: each
trial's measures, but for times) against the shipped one. With the same weights, threads and build
of the server they are the same on the machine they were recorded on; another processor may add
numbers in another order. The exit status is 1 where they are not. Prints calls a minute, too.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path
from random import Random

from benchmarks.common import say
from pytest_bias import Experiment, Trial
from pytest_bias.cassettes.recorded_trials import reread
from pytest_bias.cassettes.store import Cassette, cassette_path
from pytest_bias.experiments.experiment import ModelRoles, plan
from pytest_bias.experiments.messages import Completion
from pytest_bias.experiments.replay import replay
from pytest_bias.providers.base import ProviderContext
from pytest_bias.recording.caller import Terms
from pytest_bias.recording.collector import collect
from pytest_bias.recording.job import Job
from pytest_bias.settings.roster import read_roster
from pytest_bias.workbench.suite import find_experiments

ROOT = Path(__file__).parents[2]
TIMES = {"latency"}
"""Measures of time, which no recording has again."""


def main() -> int:
    """Record, compare, print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--trials", type=int, default=10)
    parser.add_argument("--model", default="local/smollm2")
    parser.add_argument("--experiment", default="anchoring-prosecutor-sentencing-all-in-one")
    parser.add_argument("--design", default="documented")
    given = parser.parse_args()
    experiments = {each.id: each for each in find_experiments("bias_tests")}
    experiment = experiments[given.experiment]
    roster = read_roster(ROOT / "bias_models.toml")
    entry = roster.entry(given.model)
    roles = ModelRoles(
        given.model, subject_defaults=roster.defaults(given.model), subject_system=entry.system
    )
    shipped = Cassette(cassette_path(ROOT / "cassettes", experiment.id, given.model))
    trials = plan(experiment, experiment.design(given.design))
    drawn = Random(0).sample(trials, min(given.trials, len(trials)))  # noqa: S311  (no secret)
    with tempfile.TemporaryDirectory() as folder:
        context = ProviderContext(os.environ, local=roster.local)
        terms = Terms(mode="missing", folder=Path(folder), context=context, roster=roster)
        began = time.perf_counter()
        (job,) = collect([Job(experiment, roles, drawn)], terms, lambda _: None).jobs
        seconds = time.perf_counter() - began
        if job.problems:
            sys.exit("\n".join(job.problems))
        anew = Cassette(job.cassette)
        same = [
            _told(experiment, roles, trial, anew) == _told(experiment, roles, trial, shipped)
            for trial in drawn
        ]
    pace = f"{job.calls} calls in {seconds:.0f} s, {60 * job.calls / seconds:.0f} a minute"
    say(f"{given.model}, {experiment.id}: {pace}")
    say(f"{sum(same)} of {len(same)} trials recorded again are the same as those shipped")
    return int(not all(same))


def _told(experiment: Experiment, roles: ModelRoles, trial: Trial, cassette: Cassette) -> object:
    """Return all replies of a trial; where no text is kept, what was measured of it."""
    if experiment.retention != "raw":
        outcome = reread(experiment, roles, trial, cassette)
        values = {} if outcome.values is None else outcome.values
        return outcome.missing, {name: values[name] for name in sorted({*values} - TIMES)}
    texts = []

    def look(key: str) -> Completion | None:
        found = cassette.lookup(key)
        texts.append(None if found is None else found.text)
        return found

    return replay(experiment, roles, trial, look).missing, texts


if __name__ == "__main__":
    sys.exit(main())
