"""What replaying a trial costs, beside bare pytest cases and beside pytest-recording.

    python plugin/benchmarks/replay.py [--trials 720] [--rounds 5]

Every row runs the same number of trials in a pytest process of its own; rounds are interleaved, so
that a noisy neighbour disturbs all rows alike. The difference to bare cases holds the start-up of
what a row imports too; a run with ``--trials 20`` beside one with more tells the two apart. Rows:

- bare cases: as many parametrized cases that do nothing;
- pytest-bias, one case per trial: an experiment of that many conditions, replayed from a cassette;
- pytest-bias, two cases: the same number of trials as replicates of two conditions, with the
  analysis of a hypothesis and without reports, the shape experiments have;
- the same at ``-n 8``, beside bare cases at ``-n 8``;
- a look-up: the lines of the same cassette in a dictionary by their keys, one read in each case;
- pytest-recording: the same calls replayed through the openai SDK, one cassette per case.

The replies are recorded once, before timing, from a simulated subject on loopback.
"""

from __future__ import annotations

import argparse
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
    Spent,
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

_LOOKUP = """
import hashlib
import json
from pathlib import Path

import pytest

(CASSETTE,) = Path("{folder}").rglob("*.jsonl")
LINES = [line for line in CASSETTE.read_bytes().splitlines() if line.startswith(b'{{"key"')]


@pytest.fixture(scope="session")
def recorded():
    return {{hashlib.sha256(str(at).encode()).hexdigest(): line for at, line in enumerate(LINES)}}


@pytest.mark.parametrize("number", range({trials}))
def test_case(number, recorded):
    line = recorded[hashlib.sha256(str(number).encode()).hexdigest()]
    assert json.loads(line)["reply"]["text"]
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
    """One way of running the trials: its name, folder, arguments, and the row it is held to."""

    name: str
    folder: Path
    arguments: tuple[str, ...]
    beside: str = "bare cases"


def main() -> int:
    """Record, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--trials", type=int, default=TRIALS)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="pytest-bias-benchmark-") as folder:
        rows = _prepare(Path(folder), given.trials)
        spent: dict[str, list[Spent]] = {row.name: [] for row in rows}
        for number in range(given.rounds):
            say(f"round {number + 1} of {given.rounds} …")
            for row in rows:
                spent[row.name].append(_pytest(row))
        _report(rows, spent, given.trials)
    return 0


def _prepare(folder: Path, trials: int) -> list[Row]:
    """Write the suites and record what they replay."""
    peer = ("-p", "pytest_recording.plugin")
    eight = ("-p", "xdist", "-n", "8")
    rows = [
        Row("bare cases", folder / "bare", ()),
        Row("pytest-bias, one case per trial", folder / "many", PLUGIN),
        Row("pytest-bias, two cases and a verdict", folder / "two", PLUGIN),
        Row("pytest-recording and openai", folder / "vcr", (*peer, "--record-mode=none")),
        Row("a look-up in a dictionary", folder / "lookup", ()),
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
    write(rows[4].folder, test_case=_LOOKUP.format(folder=rows[1].folder, trials=trials))
    bare = "bare cases, -n 8"
    return [
        *rows,
        Row(bare, rows[0].folder, eight, beside=bare),
        Row(f"{rows[1].name}, -n 8", rows[1].folder, (*PLUGIN, *eight), beside=bare),
    ]


def _record_peer(row: Row, suite: Path, trials: int) -> None:
    """Record pytest-recording's cassettes from the same simulated subject."""
    say(f"recording for {row.name} …")
    with serving(suite) as url:
        write(row.folder, test_case=_RECORDING.format(url=url, trials=trials))
        _pytest(Row(row.name, row.folder, (*row.arguments[:2], "--record-mode=once")))


def _pytest(row: Row, *more: str) -> Spent:
    """Run a row."""
    return run(row.name, [*PYTEST, *row.arguments, *more], row.folder)


def _report(rows: Sequence[Row], spent: dict[str, list[Spent]], trials: int) -> None:
    say(f"\n{trials} trials, median of {len(spent[rows[0].name])} rounds")
    titles = ("seconds", "± range", "× bare", "processor", "× bare")
    titled = "".join(f"{title:>10}" for title in titles)
    say(f"{'':40}{titled}{'processor ms per trial beyond bare':>37}")
    for row in rows:
        wall, spread = median_and_spread([each.wall for each in spent[row.name]])
        cpu, _ = median_and_spread([each.cpu for each in spent[row.name]])
        bare, _ = median_and_spread([each.wall for each in spent[row.beside]])
        floor, _ = median_and_spread([each.cpu for each in spent[row.beside]])
        numbers = f"{wall:10.2f}{spread:10.2f}{wall / bare:10.2f}{cpu:10.2f}{cpu / floor:10.2f}"
        say(f"{row.name:40}{numbers}{(cpu - floor) / trials * 1000:37.3f}")


if __name__ == "__main__":
    sys.exit(main())
