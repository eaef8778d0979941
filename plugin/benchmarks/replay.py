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
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROUNDS = 5
TRIALS = 720

_EXPERIMENT = """
from pydantic import BaseModel, ConfigDict

from pytest_bias import Experiment, Factor, Measure, SimulatedPrompt, dice


class Number(BaseModel):
    model_config = ConfigDict(extra="forbid")
    number: int


async def ask(trial, subject):
    reply = await subject.ask(f"Give a number for {{trial['word']}}, as JSON.", reply=Number)
    return reply.value


def answer(prompt: SimulatedPrompt) -> str:
    return f'{{{{"number": {{dice(prompt.subject, prompt.seed).randint(0, 9)}}}}}}'


THINGS = Experiment(
    id="benchmark-numbers",
    name="Numbers",
    factors=[Factor("word", {{f"w{{i}}": f"word {{i}}" for i in range({levels})}})],
    protocol=ask,
    measures=[Measure("number", bounds=(0, 9))],
    replicates={replicates},
    simulated=answer,
)
"""

_CONDITIONS = """
from pytest_bias import conditions

from experiment import THINGS


@conditions(THINGS)
def test_case(condition):
    pass
"""

_HYPOTHESIS = """
from pytest_bias import MeanDifference, conditions, hypotheses

from experiment import THINGS


@conditions(THINGS)
def test_case(condition):
    pass


GAP = MeanDifference("number", "word", high="w1", low="w0", margin=3, claim="detect")


@hypotheses(THINGS, GAP)
def test_verdict(verdict):
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
            _say(f"round {number + 1} of {given.rounds} …")
            for row in rows:
                seconds[row.name].append(_timed(row))
        _report(rows, seconds, given.trials)
    return 0


def _prepare(folder: Path, trials: int) -> list[Row]:
    """Write the suites and record what they replay."""
    offline = (
        "-p",
        "pytest_bias.pytest_plugin",
        "--bias-model=simulated/even",
        "--bias-report=off",
        "--bias-gate=off",
    )
    peer = ("-p", "pytest_recording.plugin")
    rows = [
        Row("bare cases", folder / "bare", ()),
        Row("pytest-bias, one case per trial", folder / "many", offline),
        Row("pytest-bias, two cases and a verdict", folder / "two", offline),
        Row("pytest-recording and openai", folder / "vcr", (*peer, "--record-mode=none")),
    ]
    for row in rows:
        row.folder.mkdir()
        (row.folder / "pytest.ini").write_text("[pytest]\n")
    _write(rows[0], test_case=_BARE.format(trials=trials))
    many = _EXPERIMENT.format(levels=trials, replicates=1)
    two = _EXPERIMENT.format(levels=2, replicates=trials // 2)
    _write(rows[1], experiment=many, test_case=_CONDITIONS)
    _write(rows[2], experiment=two, test_case=_HYPOTHESIS)
    for row in rows[1:3]:
        _say(f"recording for {row.name} …")
        _pytest(row, "--bias-record=missing")
    _record_peer(rows[3], rows[1].folder, trials)
    return rows


def _record_peer(row: Row, suite: Path, trials: int) -> None:
    """Record pytest-recording's cassettes from the same simulated subject."""
    _say(f"recording for {row.name} …")
    server = subprocess.Popen(
        [sys.executable, "-m", "pytest_bias.cli", "serve", "experiment", "--port", "0"],
        cwd=suite,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert server.stdout is not None  # noqa: S101  (it was asked for)
        url = server.stdout.readline().split()[-1].removesuffix("/v1")
        _write(row, test_case=_RECORDING.format(url=url, trials=trials))
        _pytest(Row(row.name, row.folder, (*row.arguments[:2], "--record-mode=once")))
    finally:
        server.terminate()
        server.wait()


def _write(row: Row, **modules: str) -> None:
    for name, text in modules.items():
        (row.folder / f"{name}.py").write_text(text)


def _timed(row: Row) -> float:
    started = time.perf_counter()
    _pytest(row)
    return time.perf_counter() - started


def _pytest(row: Row, *more: str) -> None:
    # Other installed plugins would add their own cost to every row.
    alone = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(  # noqa: S603  (our own command)
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *row.arguments, *more],
        cwd=row.folder,
        env={name: value for name, value in os.environ.items() if name != "CI"} | alone,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        sys.exit(f"{row.name} failed:\n{done.stdout[-3000:]}{done.stderr[-1000:]}")


def _report(rows: Sequence[Row], seconds: dict[str, list[float]], trials: int) -> None:
    floor = statistics.median(seconds[rows[0].name])
    _say(f"\n{trials} trials, median of {len(seconds[rows[0].name])} rounds")
    _say(f"{'':38}{'seconds':>9}{'± range':>9}{'× bare':>8}{'ms per trial beyond bare':>26}")
    for row in rows:
        times = seconds[row.name]
        median = statistics.median(times)
        spread = (max(times) - min(times)) / 2
        beyond = (median - floor) / trials * 1000
        _say(f"{row.name:38}{median:9.2f}{spread:9.2f}{median / floor:8.2f}{beyond:26.3f}")


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
