"""What the simulator's server notes of each request, and the limit it enforces."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

from pytest_bias.experiments.canonical import plain
from pytest_bias.experiments.experiment import SimulatedPrompt
from pytest_bias.providers.simulator.server import Books, Served, SimulatorServer

from ..helpers import serving

KEY = "sk-" + "s3cret" * 4
CHAT = "/v1/chat/completions"
BODY = {
    "model": "biased",
    "messages": [{"role": "user", "content": "Told in confidence"}],
    "pytest_bias_seed": 7,
}


def say(_: SimulatedPrompt) -> str:
    return "Said in confidence"


@contextmanager
def served(**settings: Any) -> Iterator[tuple[SimulatorServer, httpx2.Client]]:
    headers = {"Authorization": f"Bearer {KEY}"}
    with (
        serving(say, **settings) as server,
        httpx2.Client(base_url=server.url, headers=headers, trust_env=False) as client,
    ):
        yield server, client


def test_every_request_is_noted() -> None:
    with served() as (server, client):
        client.post(CHAT, json=BODY)
        client.post("/v1/responses", json={"model": "even", "input": "x"})
        client.post("/v1/messages", content=b"nonsense")
        client.post("/v1/embeddings?key=1", json=BODY)
        client.post(CHAT, json=BODY | {"pytest_bias_seed": "7"})
        entries = server.served
    noted = [(e.number, e.path, e.model, e.seed, e.status) for e in entries]
    assert noted == [
        (1, CHAT, "biased", 7, 200),
        (2, "/v1/responses", "even", 0, 200),
        (3, "/v1/messages", None, None, 400),
        (4, "/v1/embeddings", None, None, 404),
        (5, CHAT, "biased", None, 400),
    ]
    times = [time for e in entries for time in (e.at, e.answered_at) if time is not None]
    assert len(times) == 10
    assert times == sorted(times)  # one after the other


def test_the_log_has_one_line_per_request_and_nothing_that_was_said(tmp_path: Path) -> None:
    log = tmp_path / "served.jsonl"
    log.write_text('{"kept":true}\n', encoding="ascii")
    with served(log=log) as (server, client):
        client.post(f"{CHAT}?key={KEY}", json=BODY)
        client.post(CHAT, content=b"nonsense")
        client.post(CHAT, json=BODY)
        text = log.read_text(encoding="ascii")  # while it runs: every line is flushed
        entries = [plain(entry) for entry in server.served]
    lines = [json.loads(line) for line in text.splitlines()]
    assert lines == [{"kept": True}, *entries]
    assert len(lines) == 4
    assert KEY not in text
    assert "confidence" not in text
    assert "Bearer" not in text


def test_an_unwritable_log_is_told_at_once(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        SimulatorServer([say], log=tmp_path / "missing" / "served.jsonl")


def test_a_server_that_stopped_writes_no_more(tmp_path: Path) -> None:
    log = tmp_path / "served.jsonl"
    books = Books(log)
    entry = Served(1, 0.0, "/", None, None, 200, 0.5)
    books.add(entry)
    books.close()
    books.add(entry)
    assert len(log.read_text(encoding="ascii").splitlines()) == 1
    assert books.entries() == [entry, entry]


def test_many_threads_lose_nothing(tmp_path: Path) -> None:
    log = tmp_path / "served.jsonl"
    with served(log=log) as (server, client):
        threads = [
            threading.Thread(target=lambda: [client.post(CHAT, json=BODY) for _ in range(10)])
            for _ in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert [entry.number for entry in server.served] == list(range(1, 81))
    assert len(log.read_text(encoding="ascii").splitlines()) == 80


def test_latency_is_what_every_reply_takes() -> None:
    with served(latency=0.03) as (server, client):
        assert client.post(CHAT, content=b"nonsense").status_code == 400
        assert client.post(CHAT, json=BODY).status_code == 200
        entries = server.served
    for entry in entries:
        assert entry.answered_at is not None
        assert entry.answered_at - entry.at >= 0.03
