"""The plan of experiments that keep no text: counted from measured lines."""

from __future__ import annotations

from pathlib import Path

from pytest_bias.experiments.experiment import plan
from pytest_bias.experiments.measures import Measure
from pytest_bias.recording.estimate import Calls

from . import factories
from .factories import ask_twice, experiment
from .test_measured import kept, record
from .test_planning import first_replicates, only, planned


def test_measured_trials_are_recorded_and_tell_what_the_others_use(tmp_path: Path) -> None:
    of = kept(protocol=ask_twice)
    record(tmp_path, of, trials=first_replicates(of, 2))
    row = only(planned(tmp_path, of))
    assert (row.trials, row.recorded_trials, row.missing_trials) == (6, 4, 2)
    assert row.subject == Calls(4, 12, 4)
    assert row.estimate.basis == "this cassette"
    record(tmp_path, of, trials=[t for t in plan(of, of.design()) if t.replicate == 3])
    assert only(planned(tmp_path, of)).subject == Calls()


def test_what_another_version_measured_is_missing(tmp_path: Path) -> None:
    record(tmp_path, kept())
    newer = kept(measures=[Measure("score", version=2)])
    row = only(planned(tmp_path, newer))
    assert (row.recorded_trials, row.missing_trials) == (0, 6)


def test_text_in_the_cassette_is_a_problem_of_the_plan(tmp_path: Path) -> None:
    factories.record(tmp_path, experiment())
    found = planned(tmp_path, kept())
    assert found.rows == ()
    assert "holds requests and replies as text" in found.problems[0]
