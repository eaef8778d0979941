"""Caps, pace and faults through the real SDK, by the books of the loopback server."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from pytest_bias.cassettes.store import Cassette, cassette_path
from pytest_bias.experiments.design import Factor
from pytest_bias.experiments.experiment import Experiment, plan
from pytest_bias.experiments.messages import Parameters, Place, trial_seed
from pytest_bias.recording.job import Job
from pytest_bias.settings.model_entry import ModelEntry, Price
from pytest_bias.settings.roster import Roster

from ..core.factories import ask_twice, experiment
from ..support import server as support
from ..support.server import Fault, Faults, Served, Server
from .processes import MODEL
from .test_collection import (
    collected,
    is_whole,
    job_of,
    recorded,
    unrecorded,
)

OTHER = "simulated/biased"
PRICES = {MODEL: Price(2.0, 8.0), OTHER: Price(100.0, 400.0)}
ROSTER = Roster({name: ModelEntry(price=price) for name, price in PRICES.items()})
SHORT: dict[str, Any] = {"parameters": Parameters(max_output_tokens=50)}
HELD_UP = 0.5
"""Seconds that a busy machine may hold up a request between its sending and its arrival."""


def serving(faults: Faults = (), **settings: Any) -> AbstractContextManager[Server]:
    """A running server that answers every prompt alike."""
    return support.serving(lambda _: '{"score": 5}', faults=faults, **settings)


def both(of: Experiment) -> list[Job]:
    """All trials with both models."""
    return [job_of(of, model) for model in PRICES]


def answered(served: Sequence[Served]) -> Counter[tuple[str | None, int | None]]:
    """Number of completions for each model and seed."""
    return Counter((each.model, each.seed) for each in served if each.status == 200)


def cost(of: Experiment, folder: Path, model: str) -> float:
    """What the tokens that the server counted come to."""
    cassette = Cassette(cassette_path(folder, of.id, model))
    usages = [each.completion.usage for each in cassette.interactions()]
    return sum(PRICES[model].cost(usage["input"], usage["output"]) for usage in usages)


@pytest.mark.requirement("AUDIT-19")
@pytest.mark.parametrize("cap", [0, 1, 37])
def test_no_call_beyond_the_cap_reaches_the_server(tmp_path: Path, cap: int) -> None:
    of = experiment(ask_twice, replicates=20)
    often: list[Fault | None] = ["server_error", None, None, "rate_limit", None, None, "drop"]
    with serving(often * 9) as server:
        report = collected(both(of), tmp_path, server.url, max_calls=cap, concurrency=30)
        assert len(server.served) == cap
        kept = sum(answered(server.served).values())
    assert sum(job.calls for job in report.jobs) == kept
    for job in report.jobs:
        assert job.problems == []
        assert job.notes[0] == f"--bias-max-calls={cap} is reached"
        # Where nothing was recorded, why the last call failed is told as well.
        assert len(job.notes) == 1 or not job.recorded
        assert job.recorded + len(job.lost) == job.wanted == 40


def test_later_runs_record_what_a_cap_left_out_and_its_marks_vanish(tmp_path: Path) -> None:
    of, path = experiment(replicates=20), cassette_path(tmp_path, "tiny", MODEL)
    with serving() as server:
        first, _ = recorded(of, tmp_path, server.url, max_calls=11)
        assert (len(first.done), len(first.lost)) == (11, 29)
        assert Cassette(path).lost == first.lost == unrecorded(of, tmp_path, MODEL)
        second, _ = recorded(of, tmp_path, server.url, max_calls=20)
        assert (second.wanted, second.recorded) == (29, 20)
        assert second.done < first.lost
        assert Cassette(path).lost == first.lost - second.done
        third, _ = recorded(of, tmp_path, server.url)
        assert third.done == second.lost
        assert len(server.served) == 40
        assert set(answered(server.served).values()) == {1}
    assert Cassette(path).lost == frozenset()
    assert b'"lost"' not in path.read_bytes()
    assert is_whole(of, tmp_path)


def test_the_budget_holds_for_the_tokens_the_server_counted(tmp_path: Path) -> None:
    of, budget = experiment(ask_twice, replicates=20, **SHORT), 0.25
    with serving(["server_error", "drop", "server_error", *[None] * 17] * 20) as server:
        report = collected(both(of), tmp_path, server.url, budget=budget, roster=ROSTER)
        paid = sum(cost(of, tmp_path, model) for model in PRICES)
        assert 0 < paid <= budget
        # Dropped calls are counted at their highest price: nobody knows what was done.
        assert paid <= sum(tally.cost for tally in report.tallies) <= budget
        lost = {job.model: job.lost for job in report.jobs}
        assert lost[OTHER]
        for job in report.jobs:
            assert job.problems == []
            assert unrecorded(of, tmp_path, job.model) == job.lost
            assert Cassette(job.cassette).lost == job.lost
        calls_before = len(answered(server.served))
        server.plant(())
        again = collected(both(of), tmp_path, server.url, budget=100.0, roster=ROSTER)
        assert {job.model: job.done for job in again.jobs} == lost
        assert set(answered(server.served).values()) == {1}
        assert len(answered(server.served)) == 2 * 80 > calls_before
    for model in PRICES:
        assert is_whole(of, tmp_path, model)
        assert Cassette(cassette_path(tmp_path, of.id, model)).lost == frozenset()


@pytest.mark.requirement("AUDIT-18")
def test_requests_arrive_no_faster_than_the_limit(tmp_path: Path) -> None:
    levels = {str(n): f"Ada {n}" for n in range(5)}
    of = experiment(factors=[Factor("group", levels)], replicates=5, qpm=600)
    with serving() as server:
        job, _ = recorded(of, tmp_path, server.url, concurrency=100)
        at = [each.at for each in server.served]
    assert job.recorded == len(at) == 25
    interval = 60 / 600
    # Only a request that is held up on its way can seem too close to those after it.
    for one, other in ((0, 24), *((first, first + 10) for first in range(15))):
        assert at[other] - at[one] >= (other - one) * interval - HELD_UP


def _order(of: Experiment, folder: Path, order_seed: int) -> list[int | None]:
    """Seeds in the order of arrival, one call after another."""
    with serving() as server:
        recorded(of, folder, server.url, order_seed=order_seed, concurrency=1)
        return [each.seed for each in server.served]


def _timeless(path: Path) -> list[object]:
    """The lines of a cassette without header, provenance, times and sums."""
    found = []
    for line in path.read_bytes().splitlines()[2:]:
        parsed = json.loads(line)
        parsed.pop("sum", None)
        parsed.get("reply", {}).pop("latency", None)
        parsed.get("reply", {}).pop("recorded_at", None)
        found.append(parsed)
    return found


def test_the_order_of_calls_is_shuffled_by_its_seed_and_leaves_no_trace(tmp_path: Path) -> None:
    of = experiment(replicates=12)
    planned = [trial_seed(of.id, trial, Place((), 1, 1)) for trial in plan(of, of.design())]
    orders = [_order(of, tmp_path / str(n), seed) for n, seed in enumerate([7, 7, 8])]
    assert orders[0] == orders[1]
    assert orders[0] != orders[2]
    for order in orders:
        assert order != planned
        assert sorted(filter(None, order)) == sorted(planned)
    # Neither condition comes first: both are met in both halves.
    half = set(planned[:12])
    assert 1 < sum(seed in half for seed in orders[0][:12]) < 11
    texts = [_timeless(cassette_path(tmp_path / str(n), of.id, MODEL)) for n in range(3)]
    assert texts[0] == texts[1] == texts[2]


def test_a_model_is_not_called_by_more_than_its_own_limit(tmp_path: Path) -> None:
    of = experiment(replicates=10)
    roster = Roster({OTHER: ModelEntry(concurrency=1)})
    with serving(latency=0.01) as server:
        collected(both(of), tmp_path, server.url, roster=roster)
        served = [each for each in server.served if each.model == "biased"]
    assert len(served) == 20
    for one, following in itertools.pairwise(served):
        assert one.answered_at is not None
        assert one.answered_at <= following.at
