"""What recording costs beside bare clients and a peer, against a server that takes its time.

    python plugin/benchmarks/recording.py [--calls 720] [--latency 0.5] [--concurrency 100]
        [--rounds 3] [--inspect-python PATH] [--memory]

Every row makes the same calls, with the same bodies, of one loopback server in a process of its
own that takes ``--latency`` seconds for each; rounds are interleaved. From the server's books come
"served", the seconds between the first request and the last answer, as a ratio to the ideal (every
call in full waves), and the most calls that were open at once. Wall seconds, processor seconds and
memory are those of the row's whole process, its start and imports included. Rows:

- bare httpx2.AsyncClient: workers that post the bodies and keep nothing; the floor;
- bare AsyncOpenAI: the same through the SDK;
- pytest-bias, collect(): one experiment recorded through that SDK, every trial replayed at once;
- pytest-bias, pytest run: the same as ``pytest --bias-record=all``, with its cases and a verdict;
- inspect_ai: the same prompts and schema as samples, without a scorer, its log kept; in the Python
  named by ``--inspect-python``. Any call of it that leaves loopback ends the benchmark.

``--memory`` measures something else: the peak memory of collect() for few and for many trials.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path

from benchmarks.common import (
    COLLECTING,
    EXPERIMENT,
    HYPOTHESIS,
    LOG,
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

MEMORY_TRIALS = (2_000, 20_000)

_OK = 200
_PEER = "inspect_ai"

_BARE = """
import asyncio
import json
import sys


async def through_httpx2(url, workers):
    import httpx2

    with open("bodies.jsonl", "rb") as file:
        bodies = iter(file.read().splitlines())
    limits = httpx2.Limits(max_connections=workers, max_keepalive_connections=workers)
    options = {"limits": limits, "timeout": 60, "trust_env": False}
    async with httpx2.AsyncClient(base_url=url, **options) as client:

        async def work():
            for body in bodies:
                (await client.post("/v1/chat/completions", content=body)).raise_for_status()

        await asyncio.gather(*(work() for _ in range(workers)))


async def through_openai(url, workers):
    from openai import AsyncOpenAI, DefaultAsyncHttpxClient

    with open("bodies.jsonl") as file:
        bodies = iter([json.loads(line) for line in file])
    http = DefaultAsyncHttpxClient(trust_env=False)
    async with AsyncOpenAI(
        api_key="none-needed", base_url=f"{url}/v1", max_retries=0, http_client=http
    ) as client:

        async def work():
            for body in bodies:
                await client.chat.completions.create(**body)

        await asyncio.gather(*(work() for _ in range(workers)))


through = {"httpx2": through_httpx2, "openai": through_openai}[sys.argv[1]]
asyncio.run(through(sys.argv[2], int(sys.argv[3])))
"""

INSPECT = """
import json
import os
import sys


def loopback_only(event, arguments):
    where = {"socket.connect": 1, "socket.sendto": 1, "socket.getaddrinfo": 0}.get(event)
    if where is not None:
        address = arguments[where]
        host = address[0] if isinstance(address, tuple) else address
        if host not in ("127.0.0.1", b"127.0.0.1", "localhost"):
            os.write(2, f"it wanted to reach {host!r}, which is not loopback\\n".encode())
            os._exit(3)


sys.addaudithook(loopback_only)

from inspect_ai import Task, eval
from inspect_ai.dataset import Sample
from inspect_ai.model import CachePolicy, GenerateConfig, ResponseSchema, get_model
from inspect_ai.solver import generate

url, concurrency, folder = sys.argv[1], int(sys.argv[2]), sys.argv[3]
cached = sys.argv[4:] == ["cached"]
with open("bodies.jsonl") as file:
    bodies = [json.loads(line) for line in file]
form = bodies[0]["response_format"]["json_schema"]
schema = ResponseSchema(name=form["name"], json_schema=form["schema"], strict=True)
model = get_model(
    "openai-api/loopback/even",
    base_url=f"{url}/v1",
    api_key="none-needed",
    config=GenerateConfig(max_connections=concurrency, max_retries=0, response_schema=schema),
)
samples = [Sample(input=body["messages"][0]["content"]) for body in bodies]
(log,) = eval(
    Task(dataset=samples, solver=generate(cache=CachePolicy(expiry=None) if cached else False)),
    model=model,
    max_samples=concurrency,
    log_dir=folder,
    display="none",
)
if log.status != "success" or len(log.samples) != len(samples):
    sys.exit(f"{log.status}: {log.error}")
"""
"""Script ``peer``: the bodies as samples, by inspect_ai; replies from its cache if ``cached``."""


@dataclass(frozen=True, slots=True)
class Row:
    """One way of making the calls: its name and command, to which a new folder is added."""

    name: str
    command: tuple[str, ...]


@dataclass(slots=True)
class Measured:
    """What a row came to, one value per round."""

    served: list[float] = field(default_factory=list)
    open: list[int] = field(default_factory=list)
    spent: list[Spent] = field(default_factory=list)


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--calls", type=int, default=720, help="an even number (720)")
    parser.add_argument("--latency", type=float, default=0.5, help="seconds per reply (0.5)")
    parser.add_argument("--concurrency", type=int, default=100, help="at once (100)")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--inspect-python", type=Path, help="a Python that has inspect_ai")
    parser.add_argument("--memory", action="store_true", help="measure peak memory instead")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="pytest-bias-benchmark-") as folder:
        if given.memory:
            _memory(Path(folder), given.concurrency)
        else:
            _speed(Path(folder), given)
    return 0


def _speed(suite: Path, given: argparse.Namespace) -> None:
    _write_suite(suite, given.calls)
    keep_bodies(suite)
    (suite / "pytest.ini").write_text("[pytest]\n")
    with serving(suite, given.latency) as url:
        rows = _rows(url, given.concurrency, given.inspect_python)
        measured = {row.name: Measured() for row in rows}
        for number in range(given.rounds):
            say(f"round {number + 1} of {given.rounds} …")
            for row in rows:
                _measure(row, suite, given.calls, measured[row.name])
    _report(measured, given)


def _write_suite(suite: Path, trials: int) -> None:
    experiment = EXPERIMENT.format(levels=2, replicates=trials // 2)
    write(suite, experiment=experiment, test_case=HYPOTHESIS)
    write(suite, collecting=COLLECTING, bare=_BARE, peer=INSPECT)


def _rows(url: str, concurrency: int, inspect_python: Path | None) -> list[Row]:
    how = (url, str(concurrency))
    limit = f"--bias-concurrency={concurrency}"
    model = "--bias-model=served/even"
    whole = (*PYTEST, *PLUGIN, model, "--bias-record=all", limit, "--bias-cassettes")
    rows = [
        Row("bare httpx2.AsyncClient", (sys.executable, "bare.py", "httpx2", *how)),
        Row("bare AsyncOpenAI", (sys.executable, "bare.py", "openai", *how)),
        Row("pytest-bias, collect()", (sys.executable, "collecting.py", *how)),
        Row("pytest-bias, pytest run", whole),
    ]
    if inspect_python is not None and has_inspect(inspect_python):
        # Not resolved: a virtual environment is known by the link to its interpreter.
        python = str(inspect_python.absolute())
        rows.append(Row(_PEER, (python, "peer.py", *how)))
    return rows


def has_inspect(python: Path) -> bool:
    """Return whether that Python has inspect_ai."""
    look = "import importlib.util as i, sys; sys.exit(i.find_spec('inspect_ai') is None)"
    return subprocess.run([python, "-c", look], check=False).returncode == 0  # noqa: S603  (as asked)


def _measure(row: Row, suite: Path, calls: int, measured: Measured) -> None:
    log = suite / LOG
    before = log.stat().st_size
    measured.spent.append(_run(row, suite))
    with log.open("rb") as file:
        file.seek(before)
        books = [json.loads(line) for line in file]
    answered = [entry for entry in books if entry["status"] == _OK]
    if not len(answered) == len(books) == calls:
        sys.exit(f"{row.name}: {len(answered)} of {len(books)} requests answered, not {calls}")
    first = min(entry["at"] for entry in answered)
    measured.served.append(max(entry["answered_at"] for entry in answered) - first)
    measured.open.append(_most_open(answered))


def _most_open(answered: Sequence[Mapping[str, float]]) -> int:
    steps = [step for e in answered for step in ((e["at"], 1), (e["answered_at"], -1))]
    return max(accumulate(step for _, step in sorted(steps)))


def _run(row: Row, suite: Path) -> Spent:
    """Run a row with a folder nobody has used."""
    folder = tempfile.mkdtemp(dir=suite)
    # What a peer keeps in the user's own folders goes away with the benchmark.
    own = {"XDG_DATA_HOME": folder, "XDG_CACHE_HOME": folder}
    return run(row.name, [*row.command, folder], suite, variables=own)


def _report(measured: Mapping[str, Measured], given: argparse.Namespace) -> None:
    ideal = math.ceil(given.calls / given.concurrency) * given.latency
    say(
        f"\n{given.calls} calls of {given.latency:g} s, {given.concurrency} at once; "
        f"ideal {ideal:.2f} s; medians of {given.rounds} rounds, ± half their range"
    )
    say(
        f"{'':26}{'served s':>9}{'±':>6}{'× ideal':>9}{'open':>6}"
        f"{'wall s':>9}{'±':>6}{'CPU s':>8}{'±':>6}{'ms CPU per call':>17}{'peak MiB':>10}"
    )
    for name, row in measured.items():
        served, served_spread = median_and_spread(row.served)
        wall, wall_spread = median_and_spread([spent.wall for spent in row.spent])
        cpu, cpu_spread = median_and_spread([spent.cpu for spent in row.spent])
        memory, _ = median_and_spread([spent.memory for spent in row.spent])
        say(
            f"{name:26}{served:9.2f}{served_spread:6.2f}{served / ideal:9.2f}{max(row.open):6}"
            f"{wall:9.2f}{wall_spread:6.2f}{cpu:8.2f}{cpu_spread:6.2f}"
            f"{cpu / given.calls * 1000:17.2f}{memory:10.0f}"
        )
    if _PEER not in measured:
        say(
            f"{_PEER:26} not installed; give it a Python of its own (python -m venv peer; "
            "peer/bin/pip install inspect_ai openai) and add --inspect-python peer/bin/python"
        )
    loads = ", ".join(f"{load:.1f}" for load in os.getloadavg())
    say(f"{os.cpu_count()} processors, load average {loads}")


def _memory(folder: Path, concurrency: int) -> None:
    say(f"{'trials recorded':>16}{'peak MiB':>10}{'wall s':>9}{'CPU s':>8}")
    peaks = []
    for trials in MEMORY_TRIALS:
        suite = folder / str(trials)
        suite.mkdir()
        _write_suite(suite, trials)
        with serving(suite) as url:
            command = (sys.executable, "collecting.py", url, str(concurrency))
            spent = _run(Row(f"{trials} trials", command), suite)
        say(f"{trials:16}{spent.memory:10.1f}{spent.wall:9.1f}{spent.cpu:8.1f}")
        peaks.append(spent.memory)
    growth = (peaks[-1] - peaks[0]) / (MEMORY_TRIALS[-1] - MEMORY_TRIALS[0]) * 2**10
    say(f"{growth:.2f} KiB for each further trial")


if __name__ == "__main__":
    sys.exit(main())
