"""Recording on a cluster: as one process records, each shard within its part of the limits."""

from __future__ import annotations

import os
import re
import shutil
import signal
import sys
from collections.abc import Iterator, Mapping
from subprocess import PIPE, STDOUT, Popen

import pytest

from pytest_bias.cassettes.recorder import recording_lock

from ..helpers import Endpoint, there
from ..runs import command
from ..support.server import serving
from .suites import Suite, experiment_source, game_of

CLUSTER = """
import sys, ray
found = ray.init(address="local", num_cpus=2, include_dashboard=False, log_to_driver=False)
print(found.address_info["gcs_address"], flush=True)
sys.stdin.read()
ray.shutdown()
"""
ROSTER = '[endpoints.game]\nwire = "openai-chat"\nbase_url = "{}/v1"\n'
OF_THE_MOMENT = re.compile(rb'"(latency|recorded_at|checksum|sum)":("[^"]*"|[0-9.e-]+)')
TRIALS, CONCURRENCY = 48, 6
MODULE = "bias_tests/coin/experiment.py"
DIES_ONCE = """\
    import os, pathlib, ray
    guess.seen, died = getattr(guess, "seen", 0) + 1, pathlib.Path("died")
    if guess.seen == 25 and ray.is_initialized() and not died.exists():
        died.write_text(repr([*os.environ]))
        os.kill(os.getpid(), 9)
    return reply.value"""
SAY = there(game_of(experiment_source("coin")).simulated)
ON_RAY = ("--engine", "ray")
Run = Popen[str]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The environment in which a cluster of two workers on loopback is there."""
    environ = {name: value for name, value in os.environ.items() if name != "CI"} | {
        "HOME": str(tmp_path_factory.mktemp("home")),
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN": "0" * 64,
        "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
    }
    command = [sys.executable, "-c", CLUSTER]
    with Run(command, env=environ, text=True, stdin=PIPE, stdout=PIPE) as process:
        address = there(process.stdout).readline().strip()
        yield {**environ, "RAY_ADDRESS": address, "SOME_API_KEY": "of the driver"}
        process.communicate()


def begun(suite: Suite, environ: Mapping[str, str], url: str, *options: str) -> Run:
    """Begin to record what a server at ``url`` replies."""
    suite.file("bias_models.toml", ROSTER.format(url))
    line = ["-m", "pytest_bias.cli.entry", "record", "game-coin", "--model", "game/even"]
    line += ["--replicates", str(TRIALS // 2), "--concurrency", str(CONCURRENCY), *options]
    line = [sys.executable, *line]
    return Run(line, cwd=suite.path, env=environ, text=True, stdout=PIPE, stderr=STDOUT)


def ended(process: Run) -> tuple[int, str]:
    said = process.communicate()[0]
    return process.returncode, said


def cassette(suite: Suite, folder: str = "cassettes") -> bytes:
    """What stands in a cassette but for times, and the sums of lines that hold them."""
    path = suite.path / folder / "game-coin/game--even.jsonl"
    return OF_THE_MOMENT.sub(rb'"\1":0', path.read_bytes())


def test_a_killed_worker_is_replaced_and_the_cassette_is_that_of_one_process(
    suite: Suite, cluster: dict[str, str]
) -> None:
    suite.change(MODULE, "    return reply.value", DIES_ONCE)
    endpoint = Endpoint(SAY)
    with serving(endpoint) as server:
        status, said = ended(begun(suite, cluster, server.url, *ON_RAY))
        assert status == 0, said
        # Paid twice are at most those that were in flight in the one that was killed.
        assert TRIALS <= endpoint.answered.total() <= TRIALS + CONCURRENCY // 2
        assert ended(begun(suite, cluster, server.url, "--cassettes", "one"))[0] == 0
    assert "SOME_API_KEY" not in (suite.path / "died").read_text()
    assert cassette(suite) == cassette(suite, "one")
    assert not list(suite.path.glob("cassettes.*"))


@pytest.mark.parametrize("killed", [False, True])
def test_cap_and_pace_hold_over_all_shards(
    suite: Suite, cluster: dict[str, str], *, killed: bool
) -> None:
    if killed:
        suite.change(MODULE, "    return reply.value", DIES_ONCE)
    cap, qpm = 36, 900
    options = (*ON_RAY, "--max-calls", str(cap), "--qpm", str(qpm))
    with serving(SAY) as server:
        status, said = ended(begun(suite, cluster, server.url, *options))
        arrived = [each.at for each in server.served]
    # Each shard begins at once, and later keeps its part of the pace.
    assert len(arrived) <= 3 + (arrived[-1] - arrived[0]) * qpm / 60
    recorded = cassette(suite).count(b'{"key":')
    if killed:  # with a cap no other worker goes on
        assert (status, 0 < recorded <= len(arrived) < cap) == (2, True), said
        assert re.search(r"shard \d/2 with ray: its worker ended \(WorkerCrashedErr", said)
    else:
        assert (status, recorded, len(arrived)) == (0, cap, cap), said
        assert said.count("a shard's share of --max-calls=18 is reached; ") == 2


def test_interrupted_the_replies_in_flight_are_kept_and_the_same_command_goes_on(
    suite: Suite, cluster: dict[str, str]
) -> None:
    endpoint = Endpoint(SAY, limit=12)
    with serving(endpoint) as server:
        process = begun(suite, cluster, server.url, *ON_RAY)
        endpoint.wait_for_arrivals(13)
        process.send_signal(signal.SIGINT)
        assert any("stopping: calls in flight" in line for line in there(process.stdout))
        endpoint.release()
        assert ended(process)[0] == 130
        kept = cassette(suite).count(b'{"key":')
        assert 12 < kept == endpoint.answered.total() < TRIALS
        assert ended(begun(suite, cluster, server.url, *ON_RAY))[0] == 0
        assert endpoint.answered.total() == TRIALS


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ((*ON_RAY, "--address", "local"), r"ray is not installed; .* 'pytest-bias\[ray\]'"),
        ((*ON_RAY, "--shards", "0"), "must be 1 or more"),
        ((*ON_RAY, "--record", "all"), "--record=all is for one process"),
        (("--shards", "2"), "needs --engine ray"),
    ],
)
def test_what_is_refused(suite: Suite, options: tuple[str, ...], words: str) -> None:
    shutil.rmtree(suite.cassettes)
    suite.monkeypatch.setattr(os, "environ", {**os.environ})
    suite.monkeypatch.setitem(sys.modules, "ray", None)
    done = command(suite.path, "record", "game-coin", *options)
    assert done.returncode == 2
    assert re.search(words, done.stderr)


def test_what_a_killed_process_left_is_joined_unless_another_records(suite: Suite) -> None:
    suite.monkeypatch.setitem(sys.modules, "ray", None)
    place = suite.cassettes / "game-coin/simulated--even.jsonl"
    whole, shards = place.read_bytes(), suite.path / "cassettes.shards"
    ours, others = (shards / "1-of-2" / name / place.name for name in ("game-coin", "game-card"))
    for path in (ours, others):
        path.parent.mkdir(parents=True)
        path.write_bytes(whole)
    place.unlink()
    with recording_lock(place):
        done = command(suite.path, "record", "game-coin", *ON_RAY)
    assert (done.returncode, ours.exists(), place.exists()) == (2, True, False)
    assert "is being recorded by another process" in done.stderr
    assert command(suite.path, "record", "game-coin", *ON_RAY).returncode == 0
    assert place.read_bytes() == whole
    assert [path for path in shards.rglob("*") if path.is_file()] == [others]


def test_a_damaged_line_is_skipped_first(suite: Suite) -> None:
    suite.monkeypatch.setitem(sys.modules, "ray", None)
    place = suite.cassettes / "game-coin/simulated--even.jsonl"
    whole = place.read_bytes()
    place.write_bytes(whole + whole.splitlines(keepends=True)[-1])
    done = command(suite.path, "record", "game-coin", *ON_RAY)
    assert (done.returncode, place.read_bytes()) == (0, whole), done.stderr
    assert "stand twice" in done.stdout + done.stderr
