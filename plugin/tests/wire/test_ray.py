"""Recording on a cluster: as one process records, within limits that hold over all its workers."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import pytest

from pytest_bias.experiments.experiment import SimulatedAnswer
from pytest_bias.settings.settings import Limits, Settings
from pytest_bias.settings.shards import Shard
from pytest_bias.workbench.shard_worker import ShardOrder, ShardWorker

from .. import forked
from ..helpers import Endpoint
from ..hooks.suites import INI, TESTS, experiment_source
from ..runs import suites_apart
from ..support.server import Server, serving

CLUSTER = """
import os, sys, ray
found = ray.init(
    address="local", num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level=40,
    object_store_memory=80 << 20,
)
print(found.address_info["gcs_address"], flush=True)
sys.stdin.read()
ray.shutdown()
"""
OF_THE_MOMENT = re.compile(rb'"(latency|recorded_at|checksum|sum)":("[^"]*"|[0-9.e-]+)')
MODEL = "game/even"
ROSTER = '[endpoints.game]\nwire = "openai-chat"\nbase_url = "{}/v1"\n'
TRIALS = 48
SHARDS = 2
CONCURRENCY = 6
NOTED = """\
    Path(f"pid-{os.getpid()}").write_text(repr([*os.environ]))
    reply = await"""
DIES_AT_ITS_NINTH = """\
    SEEN.append(1)
    if len(SEEN) == 9 and ray.is_initialized() and not Path("died").exists():
        Path("died").touch()  # one worker alone, and once
        os.kill(os.getpid(), 9)
    return reply.value"""
FAILS = """\
    if ray.is_initialized():
        raise LookupError("no such person in the file")
    return reply.value"""
DIES_AT_ONCE = """\
if ray.is_initialized():
    os._exit(7)
SEEN = []
"""
SOURCE = (
    experiment_source("coin")
    .replace("import json", "import json\nimport os\nfrom pathlib import Path\n\nimport ray", 1)
    .replace("EFFECT =", "SEEN = []\nEFFECT =", 1)
    .replace("    reply = await", NOTED)
)


def _say() -> SimulatedAnswer:
    names: dict[str, Any] = {}
    exec(SOURCE, names)  # noqa: S102  (our own)
    return cast("SimulatedAnswer", names["simulated"])


SAY = _say()


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The environment in which a cluster of two workers on loopback is there."""
    home = tmp_path_factory.mktemp("home")
    own = {
        "HOME": str(home),
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN": "0" * 64,
        "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
        "PYTHONPATH": os.pathsep.join(sys.path),
    }
    environ = {name: value for name, value in os.environ.items() if name != "CI"} | own
    with subprocess.Popen(  # noqa: S603  (our own code)
        [sys.executable, "-c", CLUSTER],
        env=environ,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        yield {**environ, "RAY_ADDRESS": address}
        process.communicate()


@dataclass
class Place:
    """A folder with a suite, and the environment to record it in."""

    path: Path
    environ: dict[str, str]

    def change(self, old: str, new: str) -> None:
        file = self.path / "bias_tests/coin/experiment.py"
        text = file.read_text(encoding="utf-8")
        assert old in text
        file.write_text(text.replace(old, new), encoding="utf-8")

    def cassette(self, folder: str = "cassettes") -> Path:
        return self.path / folder / "game-coin" / "game--even.jsonl"

    @contextmanager
    def recording(
        self, server: Server, *options: str, python: str = sys.executable
    ) -> Iterator[subprocess.Popen[str]]:
        (self.path / "pytest.ini").write_text(INI.replace("simulated/even", MODEL))
        (self.path / "bias_models.toml").write_text(ROSTER.format(server.url))
        command = [python, "-m", "pytest_bias.cli.entry", "record", "game-coin"]
        size = ("--replicates", str(TRIALS // 2), "--concurrency", str(CONCURRENCY))
        with subprocess.Popen(  # noqa: S603  (our own command)
            [*command, *size, *options],
            cwd=self.path,
            env=self.environ,
            stderr=subprocess.PIPE,
            text=True,
        ) as process:
            try:
                yield process
            finally:
                process.kill()

    def record(self, server: Server, *options: str) -> tuple[int, str]:
        """Exit status, and what was said; who starts a cluster is no fork, nor its workers."""
        python = sys.executable if "--address" in options else forked.python()
        with self.recording(server, *options, python=python) as process:
            said = process.communicate()[1]
            return process.returncode, said

    def on_ray(self, server: Server, *options: str) -> tuple[int, str]:
        return self.record(server, "--engine", "ray", "--shards", str(SHARDS), *options)


@pytest.fixture
def place(tmp_path: Path, cluster: dict[str, str]) -> Place:
    package = tmp_path / "bias_tests" / "coin"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package.parent / "__init__.py").touch()
    (package / "experiment.py").write_text(SOURCE, encoding="utf-8")
    (package / "test_coin.py").write_text(TESTS, encoding="utf-8")
    return Place(tmp_path, {**cluster})


def same(path: Path) -> bytes:
    """A cassette without what is of the moment: times, and the sums of lines that hold them."""
    return OF_THE_MOMENT.sub(rb'"\1":0', path.read_bytes())


def heard(process: subprocess.Popen[str], words: str) -> str:
    """Read what is said up to a line with ``words``."""
    assert process.stderr is not None
    said = ""
    for line in process.stderr:
        said += line
        if re.search(words, line):
            return line
    raise AssertionError(said)


@pytest.mark.timeout(240)
def test_a_worker_killed_in_mid_run_and_the_cassette_is_that_of_one_process(place: Place) -> None:
    endpoint, cap = Endpoint(SAY, limit=12), TRIALS + 4 * CONCURRENCY
    options = ("--engine", "ray", "--shards", str(SHARDS), "--max-calls", str(cap))
    place.environ["SOME_API_KEY"] = "of the driver"
    with serving(endpoint) as server:
        with place.recording(server, *options) as process:
            heard(process, r" [1-9]\d*/48 trials")
            endpoint.wait_for_arrivals(13)
            pids = {int(each.name.partition("-")[2]) for each in place.path.glob("pid-*")}
            victim = min(pids - {process.pid})
            assert "SOME_API_KEY" not in (place.path / f"pid-{victim}").read_text()
            os.kill(victim, signal.SIGKILL)
            died = r"shard \d/2: its worker died \(ActorDiedError: .*\); \d+ replies are kept"
            heard(process, died)
            endpoint.release()
            said = process.communicate()[1]
            assert process.returncode == 0, said
        assert endpoint.answered.total() <= endpoint.arrived.total() <= cap
        # Paid twice are at most those that were in flight in the one that was killed.
        assert endpoint.answered.total() - TRIALS <= CONCURRENCY // SHARDS
        assert place.record(server, "--cassettes", "one")[0] == 0
    assert same(place.cassette()) == same(place.cassette("one"))
    assert [each.name for each in place.path.glob("cassettes*")] == ["cassettes"]
    assert [each.name for each in place.cassette().parent.iterdir()] == [place.cassette().name]


@pytest.mark.timeout(240)
@pytest.mark.parametrize("killed", [False, True])
def test_cap_and_pace_hold_over_all_shards_by_the_servers_log(
    place: Place, *, killed: bool
) -> None:
    if killed:
        place.change("    return reply.value", DIES_AT_ITS_NINTH)
    cap, qpm = 24, 900
    with serving(SAY) as server:
        status, said = place.on_ray(server, "--max-calls", str(cap), "--qpm", str(qpm))
        arrived = [each.at for each in server.served]
    # Each shard begins at once, and later keeps its part of the pace.
    assert len(arrived) <= SHARDS + 1 + (arrived[-1] - arrived[0]) * qpm / 60
    recorded = place.cassette().read_bytes().count(b'{"key":')
    assert 0 < recorded <= len(arrived) <= cap
    assert bool(re.search(r"shard ./2: its worker died", said)) == killed
    if not killed:
        assert (status, recorded, len(arrived)) == (0, cap, cap), said
        assert len(re.findall(r"shard ./2: 12 calls, .* s, the first call after ", said)) == SHARDS
        reached = f"a shard's share of --max-calls={cap} is reached; "
        assert said.count(f"{reached}{TRIALS - cap} of {TRIALS} trials are missing (cap)") == 1
        assert said.count("(cap)") == 1


@pytest.mark.timeout(360)
def test_interrupted_the_replies_in_flight_are_kept_and_the_same_command_goes_on(
    place: Place,
) -> None:
    endpoint = Endpoint(SAY, limit=12)
    engine = ("--engine", "ray", "--shards", str(SHARDS))
    with serving(endpoint) as server:
        with place.recording(server, *engine) as process:
            heard(process, r" [1-9]\d*/48 trials")
            endpoint.wait_for_arrivals(13)
            # A second one at once is refused before it calls, joins or removes anything.
            status, said = place.on_ray(server)
            assert (status, "is being recorded by another process" in said) == (2, True)
            process.send_signal(signal.SIGINT)
            heard(process, "stopping: nothing new is called")
            endpoint.release()
            assert process.wait() == 130
        kept = place.cassette().read_bytes().count(b'{"key":')
        assert 12 < kept == endpoint.answered.total() < TRIALS
        assert place.on_ray(server, "--address", "local")[0] == 0  # one of its own
        assert endpoint.answered.total() == TRIALS


@pytest.mark.timeout(240)
@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("    return reply.value", FAILS, "LookupError: no such person in the file"),
        ("SEEN = []\n", DIES_AT_ONCE, r"shard 1/1 with ray: its worker died 3 times \(Act"),
    ],
)
def test_what_goes_wrong_in_a_worker_reaches_the_user(
    place: Place, old: str, new: str, words: str
) -> None:
    place.change(old, new)
    with serving(SAY) as server:
        status, said = place.on_ray(server, "--shards", "1")
    assert status == 2
    assert re.search(f"problem: recording .*{words}", said), said


@suites_apart()
def test_no_call_is_sent_before_it_is_acknowledged(tmp_path: Path) -> None:
    package = tmp_path / "sharded"
    package.mkdir()
    (package / "__init__.py").write_text(experiment_source("coin"), encoding="utf-8")
    (package / "test_coin.py").write_text(TESTS.replace(".experiment", "."), encoding="utf-8")
    endpoint, booked = Endpoint(SAY), 0
    with serving(endpoint) as server:
        settings = Settings(
            models=(MODEL,),
            record="missing",
            cassettes=tmp_path,
            report=None,
            results=None,
            limits=Limits(concurrency=12),
            shard=Shard(1, 1),
        )
        order = ShardOrder(
            experiments=("game-coin",),
            suite=str(package),
            place=str(Path.cwd()),
            settings=settings,
            roster=ROSTER.format(server.url).encode(),
            parts=3,
        )
        worker = ShardWorker()
        for told in worker.record(order, {}, {}):
            assert endpoint.arrived.total() <= booked
            assert told.calls - booked <= 12 // 3
            booked = max(booked, told.calls)
            worker.acknowledge(booked)
        (job,) = told.jobs
    assert job.calls == endpoint.arrived.total() == booked == 24
    assert told.files["game-coin/game--even.jsonl"].count(b'{"key":') == 24
