"""What the benchmarks share: an experiment, what records it, its server, how rows are run.

And for those that simulate: how shares are counted and held against published ones.
"""

from __future__ import annotations

import math
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

EXPERIMENT = """
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
"""Module ``experiment``; format with ``levels`` and ``replicates``, whose product are trials."""

HYPOTHESIS = """
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
"""Module of cases for the experiment of two levels."""

COLLECTING = """
import sys
from pathlib import Path

from experiment import THINGS

from pytest_bias.experiments.experiment import ModelRoles, plan
from pytest_bias.providers.base import ProviderContext
from pytest_bias.recording.caller import Terms
from pytest_bias.recording.collector import collect
from pytest_bias.recording.job import Job
from pytest_bias.settings.model_entry import EndpointEntry
from pytest_bias.settings.settings import Limits

url, concurrency, folder = sys.argv[1:]
terms = Terms(
    mode="all",
    folder=Path(folder),
    context=ProviderContext({}, endpoints={"served": EndpointEntry("openai-chat", f"{url}/v1")}),
    limits=Limits(concurrency=int(concurrency)),
)
trials = plan(THINGS, THINGS.design())
(report,) = collect([Job(THINGS, ModelRoles("served/even"), trials)], terms, lambda _: None).jobs
if report.problems or report.calls != len(trials):
    sys.exit(f"{report.calls} calls of {len(trials)}: {report.problems}")
"""
"""Script ``collecting``: records the experiment at a URL, so many at once, into a folder."""

_SERVING = """
import json
import sys
from dataclasses import asdict

from experiment import answer

from tests.support.server import Server, running


class Noting(Server):
    def respond(self, path, headers, data):
        with open("sent.log", "ab") as file:
            file.write(data + b"\\n")
        return super().respond(path, headers, data)

    def note(self, asked):
        with open("served.log", "a") as file:
            file.write(json.dumps(asdict(asked)) + "\\n")


with running(Noting((answer,), latency=float(sys.argv[1]))) as server:
    print(server.url, flush=True)
    sys.stdin.read()
"""

LOG = "served.log"
"""A line for each request to :func:`serving`, in the folder of the suite."""

PYTEST = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider")

PLUGIN = (
    "-p",
    "pytest_bias.pytest_plugin",
    "--bias-model=simulated/even",
    "--bias-report=off",
    "--bias-gate=off",
)


def chromium() -> str | None:
    """Return the path of a Chromium: the one that is named, or one of this machine.

    The shell without a window is the same engine, at half of the cost of each page.
    """
    named = os.environ.get("PYTEST_BIAS_CHROMIUM")
    return named or shutil.which("chromium-headless-shell") or shutil.which("chromium")


@dataclass(frozen=True, slots=True)
class Spent:
    """What one process came to: wall and processor seconds, and its peak memory in MiB."""

    wall: float
    cpu: float
    memory: float


def run(
    name: str,
    command: Sequence[str],
    folder: Path,
    *,
    variables: Mapping[str, str] = MappingProxyType({}),
    accepted: Collection[int] = (0,),
) -> Spent:
    """Run a command in a folder.

    Ends the benchmark, quoting what it printed, where its exit status is none of ``accepted``. Of
    pytest's plugins it sees those its command names, and it is not in CI.
    """
    # Other installed plugins would add their own cost to every row.
    alone = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", **variables}
    with tempfile.TemporaryFile("w+") as output:
        started = time.perf_counter()
        process = subprocess.Popen(  # noqa: S603  (our own command)
            command,
            cwd=folder,
            env={name: value for name, value in os.environ.items() if name != "CI"} | alone,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - started
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode not in accepted:
            output.seek(0)
            sys.exit(f"{name} failed:\n{output.read()[-4000:]}")
    # Linux counts the peak in KiB, macOS in bytes.
    unit = 2**20 if sys.platform == "darwin" else 2**10
    return Spent(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / unit)


@contextmanager
def serving(suite: Path, latency: float = 0.0) -> Iterator[str]:
    """Serve the subjects of the module ``experiment`` in a process of its own; its URL.

    Each reply takes ``latency`` seconds. The suite's roster has the server as ``served``.
    """
    write(suite, serving=_SERVING)
    (suite / LOG).write_text("")
    with subprocess.Popen(  # noqa: S603  (our own command)
        [sys.executable, "serving.py", str(latency)],
        cwd=suite,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as server:
        try:
            assert server.stdout is not None  # noqa: S101  (it was asked for)
            url = server.stdout.readline().strip()
            roster = f'[endpoints.served]\nwire = "openai-chat"\nbase_url = "{url}/v1"\n'
            (suite / "bias_models.toml").write_text(roster)
            yield url
        finally:
            server.communicate()


def keep_bodies(suite: Path) -> None:
    """Keep the bodies that recording sends, a line each, in ``bodies.jsonl``."""
    write(suite, collecting=COLLECTING)
    with serving(suite) as url:
        run("bodies", [sys.executable, "collecting.py", url, "10", "kept"], suite)
    (suite / "sent.log").rename(suite / "bodies.jsonl")


def median_and_spread(values: Sequence[float]) -> tuple[float, float]:
    """The median, and half the distance between the least and the largest."""
    return statistics.median(values), (max(values) - min(values)) / 2


@dataclass(frozen=True, slots=True)
class Share:
    """How many of so many simulated runs came out so."""

    hits: int
    runs: int

    @property
    def value(self) -> float:
        """The share."""
        return self.hits / self.runs

    @property
    def error(self) -> float:
        """Its Monte Carlo standard error; 0 where all or none came out so."""
        return math.sqrt(self.value * (1 - self.value) / self.runs)

    def error_beside(self, published: float, runs: int) -> float:
        """Standard error of its distance from a share of ``runs`` others, were both the same."""
        both = (self.hits + published * runs) / (self.runs + runs)
        return math.sqrt(both * (1 - both) * (1 / self.runs + 1 / runs))

    def __str__(self) -> str:
        return f"{self.value:.3f} ± {self.error:.3f}"


def note(text: str) -> None:
    """Show progress, apart from what is reported."""
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


def write(folder: Path, **modules: str) -> None:
    """Write modules by name into a folder."""
    for name, text in modules.items():
        (folder / f"{name}.py").write_text(text)


def say(text: str) -> None:
    """Print a line at once."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()
