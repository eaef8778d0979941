"""Recording what keeps no text: whole trials, and no word on disk."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from bias_tests.anchoring.experiment import ANCHORING
from bias_tests.anchoring.hypotheses import CONTROLS

from pytest_bias import MeanDifference
from pytest_bias.cassettes.recorded_trials import reread
from pytest_bias.cassettes.store import JOURNAL_SUFFIX, REJOURNAL_SUFFIX, Cassette, cassette_path
from pytest_bias.experiments.canonical import dumps
from pytest_bias.experiments.design import Design
from pytest_bias.experiments.experiment import Experiment, plan
from pytest_bias.experiments.replay import Unrecorded
from pytest_bias.verdicts.analysis import analyse

from ..core.factories import ask_once, ask_twice, experiment
from ..core.in_memory import NOTHING_KEPT
from ..helpers import Endpoint
from ..support.server import serving
from .processes import CONCURRENCY, MODEL, Recorders
from .test_collection import (
    files,
    first_turns_only,
    recorded,
)

SILENT = "this experiment keeps no text, so no more is said"


def kept(protocol: Any = ask_once, retention: str = "measures", **changes: Any) -> Experiment:
    return experiment(protocol, retention=retention, **changes)


def measured(of: Experiment, folder: Path, model: str = MODEL) -> list[Mapping[str, object]]:
    """The values of every trial that is recorded, in the plan's order."""
    cassette = Cassette(cassette_path(folder, of.id, model))
    found: list[Mapping[str, object]] = []
    for trial in plan(of, of.design()):
        try:
            outcome = reread(of, model, trial, cassette)
        except Unrecorded:
            continue
        assert outcome.values is not None
        found.append(outcome.values)
    return found


@pytest.mark.parametrize("subject", ["even", "biased"])
def test_the_verdict_is_that_of_the_same_experiment_with_its_text(
    tmp_path: Path, subject: str
) -> None:
    model, design = f"simulated/{subject}", Design(20)
    assert ANCHORING.simulated is not None
    found = {}
    for name in ("raw", "measures"):
        of = replace(ANCHORING, retention=name)
        folder = tmp_path / name
        given = {"answers": [ANCHORING.simulated]}
        trials = plan(of, design)
        report, _ = recorded(of, folder, None, model=model, trials=trials, **given)
        assert (report.problems, report.recorded) == ([], 40)
        cassette = Cassette(report.cassette)
        analysis = analyse(
            of,
            design,
            model,
            [reread(of, model, trial, cassette) for trial in trials],
            hypotheses=[
                MeanDifference(
                    "sentence_months", "demand", high="high", low="low", margin=0.6, claim="clear"
                )
            ],
            controls=CONTROLS,
            recording=NOTHING_KEPT,
        )
        found[name] = dumps(analysis)
    assert found["measures"] == found["raw"]


@pytest.mark.parametrize("mode", ["missing", "all"])
def test_a_killed_recording_goes_on_with_whole_trials(
    tmp_path: Path, recorders: Recorders, mode: Any
) -> None:
    of, endpoint = kept(ask_twice, replicates=40), Endpoint(limit=50)
    path = cassette_path(tmp_path, of.id, MODEL)
    journal = path.name + (JOURNAL_SUFFIX if mode == "missing" else REJOURNAL_SUFFIX)
    with serving(endpoint) as server:
        with recorders.recording(tmp_path, server.url, mode=mode, retention="measures"):
            # When every worker waits for a held call, every trial that has ended is kept.
            endpoint.wait_for_arrivals(50 + CONCURRENCY)
        assert files(tmp_path) == {journal}
        whole = len(list(Cassette(path, anew=mode == "all").measured_trials()))
        begun_only = 50 - 2 * whole
        assert 0 <= begun_only <= CONCURRENCY
        endpoint.release()
    # Other books: the first may still count calls that were held when their caller was killed.
    resumed = Endpoint()
    job, _ = recorded(of, tmp_path, resumed, mode=mode)
    assert job.calls == resumed.answered.total() == 160 - 2 * whole
    assert files(tmp_path) == {path.name}
    assert measured(of, tmp_path) == [{"score": 5.0}] * 80


def test_a_trial_of_which_a_call_failed_is_asked_again_as_a_whole(tmp_path: Path) -> None:
    of = kept(ask_twice, replicates=4)

    job, _ = recorded(of, tmp_path, Endpoint(first_turns_only))
    assert job.recorded == 0
    assert job.problems == [
        f"simulated/even: a call failed (fatal); {SILENT}",
        "1 paid reply could not be kept",
    ]
    job, _ = recorded(of, tmp_path, Endpoint())
    assert (job.recorded, job.calls, job.problems) == (8, 16, [])
