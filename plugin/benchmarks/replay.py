"""What replaying a trial costs, beside bare pytest cases and beside pytest-recording.

    python plugin/benchmarks/replay.py [--trials 720] [--rounds 5]

Every row runs the same number of trials in a pytest process of its own; rounds are interleaved, so
that a noisy neighbour disturbs all rows alike. The difference to bare cases holds the start-up of
what a row imports too; a run with ``--trials 20`` beside one with more tells the two apart. Rows:

- bare cases: as many parametrized cases that do nothing;
- pytest-bias, one case per trial: an experiment of that many conditions, replayed from a cassette;
- pytest-bias, two cases: the same number of trials as replicates of two conditions, with the
  analysis of a hypothesis and without reports, the shape experiments have;
- pytest-recording: the same calls replayed through the openai SDK, one cassette per case.

The replies are recorded once, before timing, from a simulated subject on loopback.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.common import (
    EXPERIMENT,
    HYPOTHESIS,
    PLUGIN,
    PYTEST,
    median_and_spread,
    run,
    say,
    serving,
    write,
)

ROUNDS = 5
TRIALS = 720

_CONDITIONS = """
from pytest_bias import conditions

from experiment import THINGS


@conditions(THINGS)
def test_case(condition):
    pass
"""

_BARE = """
import pytest


@pytest.mark.parametrize("number", range({trials}))
def test_case(number):
    pass
"""

_RECORDING = """
import openai
import pytest


@pytest.fixture(scope="session")
def client():
    with openai.OpenAI(api_key="none", base_url="{url}/v1") as client:
        yield client


@pytest.fixture(scope="session")
def vcr_config():
    return {{"filter_headers": ["authorization"]}}


@pytest.mark.vcr
@pytest.mark.parametrize("number", range({trials}))
def test_case(number, client):
    reply = client.chat.completions.create(
        model="even",
        messages=[{{"role": "user", "content": f"Give a number for word {{number}}, as JSON."}}],
    )
    assert reply.choices[0].message.content
"""


@dataclass(frozen=True, slots=True)
class Row:
    """One way of running the trials: its name, folder and pytest arguments."""

    name: str
    folder: Path
    arguments: tuple[str, ...]


def main() -> int:
    """Record, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--trials", type=int, default=TRIALS)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="pytest-bias-benchmark-") as folder:
        rows = _prepare(Path(folder), given.trials)
        seconds: dict[str, list[float]] = {row.name: [] for row in rows}
        for number in range(given.rounds):
            say(f"round {number + 1} of {given.rounds} …")
            for row in rows:
                seconds[row.name].append(_pytest(row))
        _report(rows, seconds, given.trials)
    return 0


def _prepare(folder: Path, trials: int) -> list[Row]:
    """Write the suites and record what they replay."""
    peer = ("-p", "pytest_recording.plugin")
    rows = [
        Row("bare cases", folder / "bare", ()),
        Row("pytest-bias, one case per trial", folder / "many", PLUGIN),
        Row("pytest-bias, two cases and a verdict", folder / "two", PLUGIN),
        Row("pytest-recording and openai", folder / "vcr", (*peer, "--record-mode=none")),
    ]
    for row in rows:
        row.folder.mkdir()
        (row.folder / "pytest.ini").write_text("[pytest]\n")
    write(rows[0].folder, test_case=_BARE.format(trials=trials))
    many = EXPERIMENT.format(levels=trials, replicates=1)
    two = EXPERIMENT.format(levels=2, replicates=trials // 2)
    write(rows[1].folder, experiment=many, test_case=_CONDITIONS)
    write(rows[2].folder, experiment=two, test_case=HYPOTHESIS)
    for row in rows[1:3]:
        say(f"recording for {row.name} …")
        _pytest(row, "--bias-record=missing")
    _record_peer(rows[3], rows[1].folder, trials)
    return rows


def _record_peer(row: Row, suite: Path, trials: int) -> None:
    """Record pytest-recording's cassettes from the same simulated subject."""
    say(f"recording for {row.name} …")
    with serving(suite) as url:
        write(row.folder, test_case=_RECORDING.format(url=url, trials=trials))
        _pytest(Row(row.name, row.folder, (*row.arguments[:2], "--record-mode=once")))


def _pytest(row: Row, *more: str) -> float:
    """Run a row; its wall seconds."""
    return run(row.name, [*PYTEST, *row.arguments, *more], row.folder).wall


def _report(rows: Sequence[Row], seconds: dict[str, list[float]], trials: int) -> None:
    floor = statistics.median(seconds[rows[0].name])
    say(f"\n{trials} trials, median of {len(seconds[rows[0].name])} rounds")
    say(f"{'':38}{'seconds':>9}{'± range':>9}{'× bare':>8}{'ms per trial beyond bare':>26}")
    for row in rows:
        median, spread = median_and_spread(seconds[row.name])
        beyond = (median - floor) / trials * 1000
        say(f"{row.name:38}{median:9.2f}{spread:9.2f}{median / floor:8.2f}{beyond:26.3f}")


if __name__ == "__main__":
    sys.exit(main())
