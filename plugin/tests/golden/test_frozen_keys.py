"""Keys of shipped interactions never change: a new key makes every recording of it stale."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from bias_tests.anchoring.experiment import ALL_IN_ONE, ANCHORING
from bias_tests.cv_screening.experiment import CV_SCREENING
from bias_tests.linguistic_audit.experiment import LINGUISTIC_AUDIT
from bias_tests.narrative.experiment import NARRATIVE
from bias_tests.recommendation.experiment import RECOMMENDATION

from pytest_bias import Experiment
from pytest_bias.cassettes.recorded_trials import reread
from pytest_bias.cassettes.store import Cassette, cassette_path
from pytest_bias.experiments.experiment import ModelRoles, plan
from pytest_bias.experiments.replay import Walk

ROOT = Path(__file__).parents[3]
MODEL = "simulated/even"
PLAYERS = ModelRoles(MODEL, "simulated/judge")
EXPERIMENTS = {
    each.id: each
    for each in (
        ANCHORING,
        ALL_IN_ONE,
        CV_SCREENING,
        LINGUISTIC_AUDIT,
        NARRATIVE,
        RECOMMENDATION,
    )
}
FROZEN: dict[str, list[str]] = json.loads(
    Path(__file__).with_name("keys.json").read_text(encoding="utf-8")
)
"""Experiment and id of a trial → the keys of its interactions, in order."""


def keys_of(experiment: Experiment, trial_id: str) -> list[str]:
    """The keys of a trial; where no text is kept, that of the first interaction."""
    trials = plan(experiment, experiment.design("gate"))
    trial = next(each for each in trials if each.id == trial_id)
    cassette = Cassette(cassette_path(ROOT / "cassettes", experiment.id, MODEL))
    assert reread(experiment, PLAYERS, trial, cassette).missing is None  # it is recorded
    lookup = cassette.lookup
    walk = Walk(experiment, PLAYERS, trial, lambda wanted: lookup(wanted.key))
    return [wanted.key for wanted in walk.requests]


@pytest.mark.parametrize("name", FROZEN)
def test_keys_of_shipped_recordings(name: str) -> None:
    experiment, _, trial = name.partition(" ")
    assert keys_of(EXPERIMENTS[experiment], trial) == FROZEN[name]


def test_twenty_keys_of_all_experiments() -> None:
    assert sum(map(len, FROZEN.values())) == 20
    assert {name.partition(" ")[0] for name in FROZEN} == set(EXPERIMENTS)
