"""What replaying a trial costs, beside bare pytest cases and beside pytest-recording.

    python plugin/benchmarks/replay.py [--trials 720] [--rounds 5] [--inspect-python PATH]
    python plugin/benchmarks/replay.py --scale 1000 10000 100000

Every row runs the same number of trials in a pytest process of its own; rounds are interleaved, so
that a noisy neighbour disturbs all rows alike. The difference to bare cases holds the start-up of
what a row imports too; a run with ``--trials 20`` beside one with more tells the two apart. Rows:

- bare cases: as many parametrized cases that do nothing;
- pytest-bias, one case per trial: an experiment of that many conditions, replayed from a cassette;
- pytest-bias, two cases: the same number of trials as replicates of two conditions, with the
  analysis of a hypothesis and without reports, the shape experiments have;
- the same at ``-n 8``, beside bare cases at ``-n 8``;
- a look-up: the lines of the same cassette in a dictionary by their keys, one read in each case;
- pytest-recording: the same calls replayed through the openai SDK, one cassette per case;
- inspect_ai: the same prompts as samples, answered by its own cache, as no server runs any more;
  in the Python that ``--inspect-python`` names.

The replies are recorded once, before timing, from a simulated subject.

With ``--scale`` the third row alone, at so many trials each: what loading the cassette takes in a
process that has imported what it needs, and the run from cassette to verdict, with its peak
memory. Cassettes of made-up replies are written without a call. The goals are 5 ms and 0.5 s to
load 1,000 and 100,000 interactions, 20 s and 1 GB for a run of 100,000.
"""

from __future__ import annotations

import argparse
import math
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.common import (
    EXPERIMENT,
    HYPOTHESIS,
    PLUGIN,
    PYTEST,
    Spent,
    keep_bodies,
    median_and_spread,
    run,
    say,
    serving,
    write,
)
from benchmarks.recording import INSPECT, has_inspect

ROUNDS = 5
TRIALS = 720

SCALES: Mapping[int, tuple[float, float]] = {1_000: (0.005, math.inf), 100_000: (0.5, 20.0)}
"""Interactions → seconds in which they are to be loaded, and analysed."""

MEMORY = 1_000
"""Megabytes that a run may take."""

_FILLING = """
from dataclasses import replace
from functools import partial
from pathlib import Path

from experiment import THINGS

from pytest_bias.cassettes import format as form
from pytest_bias.cassettes.store import cassette_path, write_content
from pytest_bias.experiments.experiment import ModelRoles, plan
from pytest_bias.experiments.replay import Walk, simulated_reply

MODEL = "simulated/even"
texts, lines = {}, []
for trial in plan(THINGS, THINGS.design()):
    for wanted, reply in Walk(
        THINGS, ModelRoles(MODEL), trial, partial(simulated_reply, THINGS)
    ).answered:
        said = {"role": "assistant", "content": reply.text}
        body = {"id": wanted.key, "model": "even", "choices": [{"index": 0, "message": said}]}
        usage = {"input": 20, "output": 5}
        at = "2026-01-01T00:00:00+00:00"
        reply = replace(reply, usage=usage, recorded_at=at, body=body)
        kept = form.interaction_of(wanted, reply)
        texts |= form.texts_of(wanted)
        order = form.order_of(kept.trial, kept.place, kept.key)
        lines.append((order, form.encode_interaction(kept)))
body = [*sorted(map(form.encode_text, texts.values())), *(line for _, line in sorted(lines))]
made = form.Provenance(simulated=True, wire="none", recorded_with="a benchmark")
head = [form.encode_header(THINGS.id, MODEL), form.encode_provenance(made)]
path = cassette_path(Path("cassettes"), THINGS.id, MODEL)
write_content(path, (line + b"\\n" for line in (*head, *body)))
"""

_LOADING = """
import sys
import time
from pathlib import Path

from pytest_bias.cassettes.store import Cassette

(path,) = Path("cassettes").rglob("*.jsonl")
seconds = []
for _ in range(int(sys.argv[1])):
    began = time.perf_counter(), time.process_time()
    Cassette(path)
    seconds.append((time.perf_counter() - began[0], time.process_time() - began[1]))
wall, cpu = (sorted(each)[len(seconds) // 2] for each in zip(*seconds))
print(wall, cpu, path.stat().st_size / 1e6)
"""

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
    """One way of running the trials: its name, folder, arguments, and the row it is held to.

    The arguments are those of ``command``, mostly of pytest.
    """

    name: str
    folder: Path
    arguments: tuple[str, ...]
    beside: str = "bare cases"
    command: tuple[str, ...] = PYTEST


def main() -> int:
    """Record, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--trials", type=int, default=TRIALS)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--scale", type=int, nargs="+", help="trials of each run, instead")
    parser.add_argument("--inspect-python", type=Path, help="a Python that has inspect_ai")
    given = parser.parse_args()
    if given.scale:
        return scaled(given.scale, given.rounds)
    with tempfile.TemporaryDirectory(prefix="pytest-bias-benchmark-") as folder:
        rows = _prepare(Path(folder), given.trials)
        if given.inspect_python is not None and has_inspect(given.inspect_python):
            rows.append(_inspect(Path(folder, "inspect"), given.trials, given.inspect_python))
        spent: dict[str, list[Spent]] = {row.name: [] for row in rows}
        for number in range(given.rounds):
            say(f"round {number + 1} of {given.rounds} …")
            for row in rows:
                spent[row.name].append(_timed(row))
        _report(rows, spent, given.trials)
    return 0


def scaled(sizes: Sequence[int], rounds: int) -> int:
    """Load and run cassettes of so many interactions, and print what that takes."""
    titles = ("MB", "load s", "load CPU s", "run s", "run CPU s", "µs a trial", "peak MB")
    say(f"{'trials':>8}" + "".join(f"{title:>12}" for title in titles))
    met, before = True, (0, 0.0)
    for size in sizes:
        with tempfile.TemporaryDirectory(prefix="pytest-bias-benchmark-") as name:
            folder = Path(name)
            (folder / "pytest.ini").write_text("[pytest]\n")
            source = EXPERIMENT.format(levels=2, replicates=size // 2)
            write(folder, experiment=source, test_case=HYPOTHESIS)
            write(folder, filling=_FILLING, loading=_LOADING)
            run("filling", [sys.executable, "filling.py"], folder)
            found = subprocess.run(  # noqa: S603  (our own command)
                [sys.executable, "loading.py", str(rounds)],
                cwd=folder, check=True, capture_output=True, text=True,
            )  # fmt: skip
            wall, cpu, megabytes = map(float, found.stdout.split())
            runs = [run("a run", [*PYTEST, *PLUGIN], folder) for _ in range(rounds)]
        took, spent, peak = (
            statistics.median(getattr(each, of) for each in runs)
            for of in ("wall", "cpu", "memory")
        )
        load_goal, run_goal = SCALES.get(size, (math.inf, math.inf))
        met &= wall <= load_goal and took <= run_goal and peak <= MEMORY
        further = (spent - before[1]) / (size - before[0]) * 1e6 if before[0] else math.nan
        before = size, spent
        say(
            f"{size:8}{megabytes:12.1f}{wall:12.4f}{cpu:12.4f}{took:12.1f}{spent:12.1f}"
            f"{further:12.0f}{peak:12.0f}"
        )
    say(f"load of the machine: {os.getloadavg()[0]:.1f}; goals {'met' if met else 'MISSED'}")
    return 0 if met else 1


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
        _timed(row, "--bias-record=missing")
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
        _timed(Row(row.name, row.folder, (*row.arguments[:2], "--record-mode=once")))


def _inspect(folder: Path, trials: int, python: Path) -> Row:
    """Fill inspect's own cache; the row that is answered from it."""
    folder.mkdir()
    write(folder, experiment=EXPERIMENT.format(levels=trials, replicates=1), peer=INSPECT)
    keep_bodies(folder)
    with serving(folder) as url:
        # Not resolved: a virtual environment is known by the link to its interpreter.
        command = (str(python.absolute()), "peer.py", url, "100", "logs", "cached")
        row = Row("inspect_ai, its cache", folder, (), command=command)
        say(f"recording for {row.name} …")
        _timed(row)
    return row


def _timed(row: Row, *more: str) -> Spent:
    """Run a row; what a peer keeps in the user's own folders goes away with the benchmark."""
    own = {"XDG_DATA_HOME": str(row.folder), "XDG_CACHE_HOME": str(row.folder)}
    command = [*row.command, *row.arguments, *more]
    return run(row.name, command, row.folder, variables=own)


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
