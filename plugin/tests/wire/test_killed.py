"""Killed at any moment, a recording keeps what was paid, and pays for nothing of it again."""

from __future__ import annotations

import json
import signal
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import pytest

from pytest_bias.cassettes.store import JOURNAL_SUFFIX, cassette_path
from pytest_bias.experiments.canonical import compact
from pytest_bias.experiments.experiment import Experiment, plan
from pytest_bias.experiments.messages import Place, trial_seed

from ..core.factories import ask_twice, experiment
from ..helpers import Endpoint
from ..support.server import Served, serving
from .processes import CONCURRENCY, MODEL, Recorders
from .test_collection import files, is_whole, recorded

KILLS = 8
REPLICATES = 200


def seeds_of(of: Experiment) -> dict[str, int]:
    """Trial and place, as a cassette spells them → the seed of the call."""
    return {
        compact([trial.identity, [[], turn, 1]], sort_keys=True): trial_seed(
            of.id, trial, Place((), turn, 1)
        )
        for trial in plan(of, of.design())
        for turn in (1, 2)
    }


def lines_of(path: Path) -> list[dict[str, Any]]:
    """The whole lines of interactions of a cassette or a journal, as they stand there."""
    data = path.read_bytes() if path.exists() else b""
    whole = data[: data.rfind(b"\n") + 1]
    return [json.loads(line) for line in whole.splitlines() if line.startswith(b'{"key":')]


def calls_on_disk(path: Path, seeds: dict[str, int]) -> Counter[int]:
    """How often each call (its seed) stands in the files of a cassette."""
    parts = [path, path.with_name(path.name + JOURNAL_SUFFIX)]
    return Counter(
        seeds[compact([line["trial"], line["place"]], sort_keys=True)]
        for part in parts
        for line in lines_of(part)
    )


@dataclass(frozen=True, slots=True)
class Round:
    """What the server saw of one recording, and what was on disk before and after it."""

    served: list[Served]
    before: set[int]
    after: set[int]

    @property
    def answered(self) -> Counter[int | None]:
        return Counter(each.seed for each in self.served if each.status == 200)


def test_killed_again_and_again_every_reply_is_paid_once_and_recorded_once(
    tmp_path: Path, recorders: Recorders
) -> None:
    rng = Random(8)  # noqa: S311  (no secret)
    of = experiment(ask_twice, replicates=REPLICATES)
    path, seeds = cassette_path(tmp_path, of.id, MODEL), seeds_of(of)
    servers, states = [], [set[int]()]
    for kill in range(KILLS):
        endpoint = Endpoint()
        with serving(endpoint) as server:
            with recorders.recording(
                tmp_path, server.url, order_seed=kill, replicates=REPLICATES
            ) as process:
                endpoint.wait_for_arrivals(rng.randint(1, 40))
            assert process.returncode == -signal.SIGKILL
            servers.append(server)
        kept = calls_on_disk(path, seeds)
        assert set(kept.values()) <= {1}
        states.append(set(kept))
    with serving(Endpoint()) as server:
        job, _ = recorded(of, tmp_path, server.url)
        servers.append(server)
    lines = lines_of(path)
    total = 2 * 2 * REPLICATES
    assert len(lines) == len({line["key"] for line in lines}) == total
    assert set(calls_on_disk(path, seeds)) == set(seeds.values())
    assert path.read_bytes().count(b'{"key":') == total
    assert files(tmp_path) == {path.name}
    assert is_whole(of, tmp_path)
    assert job.calls == total - len(states[-1])

    # The servers' books are read at the end, when no thread of theirs has a call left.
    states.append(set(seeds.values()))
    rounds = [Round(server.served, states[n], states[n + 1]) for n, server in enumerate(servers)]
    again: Counter[int | None] = Counter()
    for each in rounds:
        assert set(each.answered.values()) == {1}
        # What is on disk is never paid again, and stays there.
        assert not set(each.answered) & each.before
        assert each.before <= each.after
        # What is on disk was answered in this round, or before.
        assert each.after <= each.before | set(each.answered)
        lost = set(each.answered) - each.after
        assert len(lost) <= CONCURRENCY
        again.update(lost)
    assert rounds[-1].answered.total() == job.calls
    answered = sum((each.answered for each in rounds), Counter[int | None]())
    assert answered == Counter(dict.fromkeys(seeds.values(), 1)) + again


BEFORE_THE_DISK_HAS_IT = """
import pytest_bias.cassettes.recorder as recorder
calls = []
def killed(number):
    calls.append(number)
    if len(calls) == 3:
        os.kill(os.getpid(), signal.SIGKILL)
recorder.os.fsync = killed
"""

HALF_A_LINE = """
import pytest_bias.cassettes.recorder as recorder
opened = recorder.open_journal
class Half:
    def __init__(self, file):
        self.file, self.writes = file, 0
    def write(self, data):
        self.writes += 1
        if self.writes == 3:
            self.file.write(data[: len(data) // 2])
            self.file.flush()
            os.kill(os.getpid(), signal.SIGKILL)
        self.file.write(data)
    def __getattr__(self, name):
        return getattr(self.file, name)
recorder.open_journal = lambda journal: Half(opened(journal))
"""

BEFORE_THE_MERGE_IS_SEEN = """
replace = Path.replace
def killed(self, target):
    os.kill(os.getpid(), signal.SIGKILL)
Path.replace = killed
"""

AFTER_THE_MERGE = """
replace = Path.replace
def killed(self, target):
    replace(self, target)
    os.kill(os.getpid(), signal.SIGKILL)
Path.replace = killed
"""

MOMENTS = {
    "before the disk has it": BEFORE_THE_DISK_HAS_IT,
    "half a line": HALF_A_LINE,
    "before the merge is seen": BEFORE_THE_MERGE_IS_SEEN,
    "after the merge": AFTER_THE_MERGE,
}


@pytest.mark.parametrize("moment", MOMENTS.values(), ids=MOMENTS)
@pytest.mark.parametrize("mode", ["missing", "all"])
def test_killed_at_the_worst_moments(
    tmp_path: Path, recorders: Recorders, moment: str, mode: Any
) -> None:
    of = experiment(ask_twice, replicates=10)
    path, endpoint = cassette_path(tmp_path, of.id, MODEL), Endpoint()
    with serving(endpoint) as server:
        given = {"mode": mode, "replicates": 10, "first": moment}
        with recorders.recording(tmp_path, server.url, **given) as process:
            assert process.wait() == -signal.SIGKILL
        paid = endpoint.answered.total()
        job, _ = recorded(of, tmp_path, server.url, mode=mode)
        assert job.problems == []
        # What was in flight at the kill may be answered when nobody waits for it any more.
        late = endpoint.answered.total() - paid - job.calls
        assert 0 <= late <= CONCURRENCY
        assert endpoint.answered.total() - 40 <= CONCURRENCY
        if moment in (BEFORE_THE_MERGE_IS_SEEN, AFTER_THE_MERGE):
            assert paid == 40
            assert job.calls == 0
    keys = [line["key"] for line in lines_of(path)]
    assert len(keys) == len(set(keys)) == 40
    assert files(tmp_path) == {path.name}
    assert is_whole(of, tmp_path)
