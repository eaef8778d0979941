"""What a recording through LiteLLM's caching proxy, before a server on loopback, comes to.

    python -m venv gateway && gateway/bin/pip install 'litellm[proxy]'
    python plugin/benchmarks/caching_gateway.py gateway/bin/litellm

The server gives each reply an id of its own, and a number from 0 to 9 by chance. Each row of
``ROWS`` is a run of pytest with a suite of 60 trials; one that comes out otherwise than stands
there makes the exit status 1. What pytest prints at 80 columns goes to stderr.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from email.message import Message as Headers
from pathlib import Path
from typing import Any
from uuid import uuid4

from benchmarks.common import EXPERIMENT, HYPOTHESIS, PYTEST, note, say, write
from tests.support.server import Outgoing, Served, Server, running

RECORD, REPLAY, UNGATED = "--bias-record=missing", "--bias-record=none", "--bias-gate=off"
ROWS = (
    ("recorded through the cache", "first", True, (RECORD,), 2, 1, "Switch the cache of"),
    ("the same with the cache off", "first", False, (RECORD,), 59, 0, "59/59 trials, 59 calls"),
    ("replayed", "first", None, (REPLAY,), 0, 0, "PASS: 1 hypothesis"),
    (
        "through the cache, gate off",
        "second",
        True,
        (RECORD, UNGATED),
        60,
        0,
        "1 INCONCLUSIVE, of recordings",
    ),
    ("its copies replayed", "second", None, (REPLAY,), 0, 1, "NO RESULT"),
)
"""Name, suite, LiteLLM's ``cache:`` (None: no proxy), options; calls at the proxy, exit status,
words of pytest."""
COMMAND = (*PYTEST, "-p", "pytest_bias.pytest_plugin", "--bias-report=off", "test_case.py")
MODULE = EXPERIMENT.format(levels=2, replicates=30)
NUMBER = lambda _: f'{{"number": {random.randint(0, 9)}}}'  # noqa: E731, S311
STARTS = 180  # seconds that the proxy may take to start
CONFIG = """
model_list:
  - model_name: even
    litellm_params: {{model: openai/even, api_base: "{url}/v1", api_key: none}}
litellm_settings: {{cache: {cache}, cache_params: {{type: local}}}}
"""
ROSTER = """
[endpoints.gateway]
wire = "openai-chat"
base_url = "http://127.0.0.1:{port}/v1"
api_key_env = "LITELLM_MASTER_KEY"
"""
KEY = {"LITELLM_MASTER_KEY": f"sk-{uuid4().hex}"}  # without one the proxy does not start
CALL = '"POST /v1/chat/completions HTTP/1.1" 200'


class Numbers(Server):
    """A server whose replies differ, and have ids and times of their own as vendors' do."""

    def __init__(self, latency: float = 0.0) -> None:
        super().__init__((NUMBER,), latency=latency)
        self.ids: set[object] = set()

    def respond(self, path: str, headers: Headers, data: bytes) -> Outgoing | None:
        """A reply; the proxy's GET of a list of models finds none."""
        return super().respond(path, headers, data) if data else Outgoing(404, b"{}")

    def reply(self, asked: Served, body: Mapping[str, Any]) -> Outgoing | None:
        """A reply with an id."""
        sent = super().reply(asked, body)
        assert sent is not None  # noqa: S101  (a Server's own reply is one)
        name: dict[str, object] = {"id": f"chatcmpl-{uuid4().hex}", "created": int(time.time())}
        self.ids.add(name["id"])
        return Outgoing(200, json.dumps(json.loads(sent.data) | name).encode())


def free_port() -> int:
    """Return a port of loopback that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])


@contextmanager
def proxy(
    litellm: Path, log: Path, url: str, port: int, *, cached: bool
) -> Iterator[subprocess.Popen[bytes]]:
    """Run LiteLLM's proxy before ``url``, with or without its cache."""
    config = log.with_suffix(".yaml")
    config.write_text(CONFIG.format(url=url, cache=str(cached).lower()))
    options = {"config": config, "host": "127.0.0.1", "port": port, "telemetry": False}
    command = [str(litellm), *(f"--{name}={value}" for name, value in options.items())]
    own = KEY | {"LITELLM_LOCAL_MODEL_COST_MAP": "True"}  # it fetches a list of prices else
    with log.open("w") as file:
        process = subprocess.Popen(command, env=os.environ | own, stdout=file, stderr=file)  # noqa: S603
        try:
            _wait(process, log, port)
            yield process
        finally:
            process.terminate()
            process.wait()


def _wait(process: subprocess.Popen[bytes], log: Path, port: int) -> None:
    url = f"http://127.0.0.1:{port}/health/liveliness"
    until = time.monotonic() + STARTS
    while process.poll() is None and time.monotonic() < until:
        with suppress(OSError), urllib.request.urlopen(url, timeout=5):
            return
        time.sleep(0.5)
    sys.exit(f"the proxy does not start:\n{log.read_text()[-3000:]}")


def tested(folder: Path, *options: str) -> tuple[int, str]:
    """Run the suite as a terminal of 80 columns would: exit status, and what it prints."""
    ran = subprocess.run(  # noqa: S603  (our own command)
        [*COMMAND, "--bias-model=gateway/even", *options],
        cwd=folder,
        env=os.environ | KEY | {"COLUMNS": "80", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "CI": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    return ran.returncode, ran.stdout


def main(arguments: Sequence[str] | None = None) -> int:
    """Run every row; 1 where one came out otherwise than it should."""
    parser = argparse.ArgumentParser(description="A recording through LiteLLM's caching proxy.")
    parser.add_argument("litellm", type=Path, help="the proxy's program")
    litellm = parser.parse_args(arguments).litellm
    wrong: list[str] = []
    say("| run | calls at the proxy | at the server | exit status |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory() as name, running(Numbers()) as server:
        folder, port = Path(name), free_port()
        for row, suite, cached, options, calls, status, words in ROWS:
            (folder / suite).mkdir(exist_ok=True)
            write(folder / suite, experiment=MODULE, test_case=HYPOTHESIS)
            (folder / suite / "bias_models.toml").write_text(ROSTER.format(port=port))
            served = len(server.served)
            log = folder / f"{row}.log"
            log.touch()
            with ExitStack() as before:
                if cached is not None:
                    before.enter_context(proxy(litellm, log, server.url, port, cached=cached))
                ended, printed = tested(folder / suite, *options)
            came, reached = log.read_text().count(CALL), len(server.served) - served
            say(f"| {row} | {came} | {reached} | {ended} |")
            note(f"--- {row}\n{printed}")
            right = (came, ended) == (calls, status) and words in " ".join(printed.split())
            wrong += [row] * (not right)
    say(f"\nOtherwise than expected: {', '.join(wrong) or 'none'}.")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
