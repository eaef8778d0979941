"""The simulator's server over loopback, called by the real SDK and by clients that misbehave."""

from __future__ import annotations

import asyncio
import gc
import http.client
import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import httpx2
import openai
import pytest
from bias_tests.anchoring.experiment import ANCHORING
from bias_tests.anchoring.simulated import answer

from pytest_bias.experiments.experiment import SimulatedPrompt, plan
from pytest_bias.experiments.messages import Message
from pytest_bias.experiments.replay import Unrecorded, replay
from pytest_bias.providers.simulator.exchange import FINGERPRINT, SUBJECTS
from pytest_bias.providers.simulator.server import SimulatorServer

from ..helpers import PATIENCE, serving

PATH = "/v1/chat/completions"


def first_prompt() -> str:
    """What a trial of the anchoring experiment begins with."""
    try:
        replay(ANCHORING, "m", plan(ANCHORING, ANCHORING.design())[0], lambda _: None)
    except Unrecorded as asked:
        return asked.wanted.request.messages[0].text
    raise AssertionError


PROMPT = first_prompt()
GOOD: dict[str, Any] = {
    "model": "even",
    "messages": [{"role": "user", "content": PROMPT}],
    "pytest_bias_seed": 1,
}


@pytest.fixture(scope="module")
def server() -> Iterator[SimulatorServer]:
    with serving(answer) as running:
        yield running


def expected(seed: int, subject: str = "even") -> str | None:
    return answer(SimulatedPrompt(subject, (Message("user", PROMPT),), seed))


def test_it_listens_on_loopback_only(server: SimulatorServer) -> None:
    assert server.url.startswith("http://127.0.0.1:")
    assert server._http.server_address[0] == "127.0.0.1"


@pytest.mark.parametrize("subject", SUBJECTS)
def test_a_reply_is_that_of_the_subject_for_the_seed(
    openai_sdk: openai.OpenAI, subject: str
) -> None:
    for seed in (0, 1, 2**60 - 1):
        reply = openai_sdk.chat.completions.create(
            model=subject,
            messages=[{"role": "user", "content": PROMPT}],
            extra_body={"pytest_bias_seed": seed},
        )
        assert reply.choices[0].message.content == expected(seed, subject)
        assert reply.choices[0].finish_reason == "stop"
        assert reply.model == subject
        assert reply.created == 0
        assert reply.system_fingerprint == FINGERPRINT == "pytest-bias-simulated"
        assert reply.usage is not None
        assert reply.usage.total_tokens == (
            reply.usage.prompt_tokens + reply.usage.completion_tokens
        )


def test_without_a_seed_it_is_0(openai_sdk: openai.OpenAI) -> None:
    reply = openai_sdk.chat.completions.create(
        model="even", messages=[{"role": "user", "content": PROMPT}]
    )
    assert reply.choices[0].message.content == expected(0)


def test_thirty_two_at_once_are_not_mixed_up(server: SimulatorServer) -> None:
    async def call() -> list[str | None]:
        async with openai.AsyncOpenAI(
            base_url=f"{server.url}/v1", api_key="x", max_retries=0
        ) as client:
            replies = await asyncio.gather(
                *(
                    client.chat.completions.create(
                        model="biased",
                        messages=[{"role": "user", "content": PROMPT}],
                        extra_body={"pytest_bias_seed": seed},
                    )
                    for seed in range(32)
                )
            )
        return [reply.choices[0].message.content for reply in replies]

    assert asyncio.run(call()) == [expected(seed, "biased") for seed in range(32)]
    gc.collect()


def test_the_same_request_gives_the_same_bytes(raw: httpx2.Client) -> None:
    first = raw.post(PATH, json=GOOD).content
    assert first == raw.post(PATH, json=GOOD).content
    assert first != raw.post(PATH, json=GOOD | {"pytest_bias_seed": 2}).content


@pytest.mark.parametrize(
    ("fails", "words"),
    [
        (lambda: 1 / 0, "ZeroDivisionError: division"),
        (dict, "simulated=broken: gave a dict; text"),
    ],
)
def test_a_simulated_subject_that_fails_says_so(fails: Callable[[], Any], words: str) -> None:
    def broken(_: SimulatedPrompt) -> Any:
        return fails()

    with serving(broken) as server, httpx2.Client(trust_env=False) as client:
        reply = client.post(f"{server.url}{PATH}", json=GOOD)
    assert reply.status_code == 500
    assert words in reply.json()["error"]["message"]


def test_the_first_experiment_that_recognises_a_prompt_answers() -> None:
    with (
        serving(lambda _: None, lambda _: "second", lambda _: "third") as server,
        httpx2.Client(trust_env=False) as client,
    ):
        reply = client.post(f"{server.url}{PATH}", json=GOOD).json()
        assert [each.status for each in server.served] == [200]
    assert reply["choices"][0]["message"]["content"] == "second"


@pytest.mark.parametrize(
    ("length", "status"), [("-5", 411), ("x", 411), ("1_0", 411), (str(10**9), 413)]
)
def test_lengths_that_cannot_be(server: SimulatorServer, length: str, status: int) -> None:
    host, port = server._http.server_address[:2]
    with socket.create_connection((str(host), int(port))) as connection:
        head = f"POST {PATH} HTTP/1.1\r\nHost: x\r\nContent-Length: {length}\r\n\r\n"
        connection.sendall(head.encode())
        with connection.makefile("rb") as file:
            reply = file.read()  # to the end: the connection is closed
    assert reply.startswith(f"HTTP/1.1 {status} ".encode())


def test_a_connection_is_kept_for_the_next_request(server: SimulatorServer) -> None:
    host, port = server._http.server_address[:2]
    connection = http.client.HTTPConnection(str(host), int(port))
    ports = []
    for body in (json.dumps(GOOD), "nonsense", json.dumps(GOOD)):
        connection.request("POST", PATH, body)
        reply = connection.getresponse()
        reply.read()
        assert connection.sock is not None
        ports.append(connection.sock.getsockname()[1])
    connection.close()
    assert len(set(ports)) == 1


def test_a_client_that_hangs_up_disturbs_nobody(
    server: SimulatorServer, raw: httpx2.Client, capfd: pytest.CaptureFixture[str]
) -> None:
    host, port = server._http.server_address[:2]
    with socket.create_connection((str(host), int(port))) as connection:
        connection.setsockopt(
            socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\x00\x00\x00\x00\x00\x00\x00"
        )
        connection.sendall(f"POST {PATH} HTTP/1.1\r\nContent-Length: 99\r\n\r\n{{".encode())
    assert raw.post(PATH, json=GOOD).status_code == 200
    assert capfd.readouterr().err == ""


def test_one_that_was_never_started_is_stopped_at_once() -> None:
    stopping = threading.Thread(target=SimulatorServer([answer]).stop, daemon=True)
    stopping.start()
    stopping.join(PATIENCE)
    assert not stopping.is_alive()


def test_stopping_ends_what_still_hangs() -> None:
    server = SimulatorServer([answer], latency=10 * PATIENCE)
    server.start()
    host, port = server._http.server_address[:2]
    body = json.dumps(GOOD)
    request = f"POST {PATH} HTTP/1.1\r\nContent-Length: {len(body)}\r\n\r\n{body}"
    with ExitStack() as open_connections:
        connections = [
            open_connections.enter_context(socket.create_connection((str(host), int(port))))
            for _ in range(8)
        ]
        for connection in connections:
            connection.sendall(request.encode())
        stopper = threading.Thread(target=server.stop)
        stopper.start()
        stopper.join(PATIENCE)
        assert not stopper.is_alive()
        for connection in connections:
            connection.settimeout(PATIENCE)
            assert ended(connection)


def ended(connection: socket.socket) -> bool:
    """Whether the other side has closed it without a word."""
    try:
        return connection.recv(1) == b""
    except ConnectionResetError:  # it was not taken up any more
        return True
