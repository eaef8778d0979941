"""Every fault of the simulator's server in every wire format, and how faults are chosen."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any

import httpx2
import openai
import pytest

from pytest_bias.errors import BadSetting, UnknownName
from pytest_bias.experiments.experiment import SimulatedPrompt
from pytest_bias.providers.simulator.exchange import FINGERPRINT
from pytest_bias.providers.simulator.faults import (
    Fault,
    Faults,
    RequestFacts,
    chooser,
)
from pytest_bias.providers.simulator.server import SimulatorServer

from .. import helpers
from ..helpers import PATIENCE

TEXT = "Seven months, all things considered."
KEY = "sk-" + "s3cret" * 4

PATHS = {
    "openai-chat": "/v1/chat/completions",
    "openai-responses": "/v1/responses",
    "anthropic": "/v1/messages",
    "google": "/v1beta/models/even:generateContent",
}
MESSAGES = [{"role": "user", "content": "How long?"}]
BODIES: dict[str, dict[str, Any]] = {
    "openai-chat": {"model": "even", "messages": MESSAGES},
    "openai-responses": {"model": "even", "input": "How long?"},
    "anthropic": {"model": "even", "messages": MESSAGES, "max_tokens": 9},
    "google": {"contents": [{"parts": [{"text": "How long?"}]}]},
}
KEYS = {
    "openai-chat": {"Authorization": f"Bearer {KEY}"},
    "openai-responses": {"Authorization": f"Bearer {KEY}"},
    "anthropic": {"x-api-key": KEY},
    "google": {"x-goog-api-key": KEY},
}
WIRES = tuple(PATHS)


def say(_: SimulatedPrompt) -> str:
    return TEXT


def serving(faults: Faults = None, **settings: Any) -> AbstractContextManager[SimulatorServer]:
    return helpers.serving(say, faults=faults, **settings)


@contextmanager
def client_of(server: SimulatorServer) -> Iterator[httpx2.Client]:
    with httpx2.Client(base_url=server.url, trust_env=False, timeout=PATIENCE) as client:
        yield client


def post(server: SimulatorServer, wire: str, **more: Any) -> httpx2.Response:
    with client_of(server) as client:
        return client.post(PATHS[wire], json=BODIES[wire] | more, headers=KEYS[wire])


def once(fault: Fault, wire: str, **more: Any) -> httpx2.Response:
    """A first request under ``fault``; the next one is answered."""
    with serving([fault]) as server:
        reply = post(server, wire, **more)
        assert post(server, wire).status_code == 200
    return reply


STATUSES: Mapping[Fault, Mapping[str, int]] = {
    "rate_limit": dict.fromkeys(WIRES, 429),
    "rate_limit_retry_after": dict.fromkeys(WIRES, 429),
    "server_error": dict.fromkeys(WIRES, 500),
    "overloaded": dict.fromkeys(WIRES, 503) | {"anthropic": 529},
    "quota": dict.fromkeys(WIRES, 429) | {"anthropic": 402},
    "unauthorised": dict.fromkeys(WIRES, 401),
}
OPENAI: Mapping[Fault, tuple[str, str | None]] = {
    "rate_limit": ("requests", "rate_limit_exceeded"),
    "rate_limit_retry_after": ("requests", "rate_limit_exceeded"),
    "server_error": ("server_error", None),
    "overloaded": ("server_error", None),
    "quota": ("insufficient_quota", "insufficient_quota"),
    "unauthorised": ("invalid_request_error", "invalid_api_key"),
}
ANTHROPIC: Mapping[Fault, str] = {
    "rate_limit": "rate_limit_error",
    "rate_limit_retry_after": "rate_limit_error",
    "server_error": "api_error",
    "overloaded": "overloaded_error",
    "quota": "billing_error",
    "unauthorised": "authentication_error",
}
GOOGLE: Mapping[Fault, str] = {
    "rate_limit": "RESOURCE_EXHAUSTED",
    "rate_limit_retry_after": "RESOURCE_EXHAUSTED",
    "server_error": "INTERNAL",
    "overloaded": "UNAVAILABLE",
    "quota": "RESOURCE_EXHAUSTED",
    "unauthorised": "UNAUTHENTICATED",
}


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("fault", STATUSES)
def test_errors_have_the_vendors_status_and_shape(fault: Fault, wire: str) -> None:
    reply = once(fault, wire)
    status = STATUSES[fault][wire]
    assert reply.status_code == status
    assert reply.headers.get("Retry-After") == ("1" if fault.endswith("retry_after") else None)
    body = reply.json()
    error = body["error"]
    assert error.pop("message")
    error.pop("details", None)
    if wire == "anthropic":
        assert body == {"type": "error", "error": {"type": ANTHROPIC[fault]}}
    elif wire == "google":
        assert error == {"code": status, "status": GOOGLE[fault]}
    else:
        kind, code = OPENAI[fault]
        assert error == {"type": kind, "param": None, "code": code}


@pytest.mark.parametrize(("seconds", "header"), [(1, "1"), (0.25, "0.25"), (30, "30")])
def test_how_long_to_wait_is_said_where_google_says_it(seconds: float, header: str) -> None:
    with serving(["rate_limit_retry_after"], retry_after=seconds) as server:
        reply = post(server, "google")
    assert reply.headers["Retry-After"] == header
    assert reply.json()["error"]["details"] == [
        {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": f"{header}s"}
    ]


@pytest.mark.parametrize("wire", WIRES)
def test_a_wrong_key_is_quoted_back(wire: str) -> None:
    assert KEY in once("unauthorised", wire).json()["error"]["message"]


def test_a_key_in_the_query_is_quoted_back_and_not_logged() -> None:
    with serving(["unauthorised"]) as server, client_of(server) as client:
        reply = client.post(f"{PATHS['google']}?key={KEY}", json=BODIES["google"])
        assert KEY in reply.json()["error"]["message"]
        assert KEY not in repr(server.served)


TEMPERATURES: dict[str, dict[str, Any]] = {w: {"temperature": 0.0} for w in WIRES} | {
    "google": {"generationConfig": {"temperature": 0.0}}
}


@pytest.mark.parametrize("wire", WIRES)
def test_a_temperature_is_refused_only_where_one_is_sent(wire: str) -> None:
    with serving(lambda _number, _facts: "refused_parameter") as server:
        refused = post(server, wire, **TEMPERATURES[wire])
        assert post(server, wire).status_code == 200
        assert [entry.fault for entry in server.served] == ["refused_parameter", None]
    assert refused.status_code == 400
    error = refused.json()["error"]
    assert "'temperature' is not supported" in error.pop("message")
    assert error in (
        {"type": "invalid_request_error", "param": "temperature", "code": "unsupported_value"},
        {"type": "invalid_request_error"},
        {"code": 400, "status": "INVALID_ARGUMENT"},
    )
    assert ("param" in error) is wire.startswith("openai")


HALF = TEXT[: len(TEXT) // 2]


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("fault", ["content_filter", "refusal", "length", "slow"])
def test_whatever_was_answered_is_marked_as_simulated(fault: Fault, wire: str) -> None:
    with serving([fault], slow=0.0) as server:
        reply = post(server, wire)
        assert server.answered == 1
    assert reply.status_code == 200
    assert reply.json()["system_fingerprint"] == FINGERPRINT


@pytest.mark.parametrize(
    ("fault", "last", "part"),
    [
        ("content_filter", "response.incomplete", None),
        ("length", "response.incomplete", "response.output_text.done"),
        ("refusal", "response.completed", "response.refusal.done"),
    ],
)
def test_streams_end_likewise(fault: Fault, last: str, part: str | None) -> None:
    with (
        serving([fault]) as server,
        openai.OpenAI(base_url=f"{server.url}/v1", api_key=KEY, max_retries=0) as client,
        client.responses.create(model="even", input="How long?", stream=True) as stream,
    ):
        kinds = [event.type for event in stream]
    assert kinds[-1] == last
    done = {"response.output_text.done", "response.refusal.done"}
    assert done & set(kinds) == ({part} if part else set())


def test_slow_replies_come_later_than_the_others() -> None:
    with serving(["slow"], slow=0.05) as server:
        for wire in WIRES:
            assert post(server, wire).status_code == 200
        slow = server.served[0]
    assert slow.answered_at is not None
    assert slow.fault == "slow"
    assert slow.answered_at - slow.at >= 0.05


@contextmanager
def asking(server: SimulatorServer, wire: str) -> Iterator[socket.socket]:
    """A connection over which a request has been sent."""
    address = httpx2.URL(server.url)
    body = json.dumps(BODIES[wire])
    request = f"POST {PATHS[wire]} HTTP/1.1\r\nContent-Length: {len(body)}\r\n\r\n{body}"
    with socket.create_connection((address.host, address.port or 0), PATIENCE) as connection:
        connection.sendall(request.encode())
        yield connection


@pytest.mark.parametrize("wire", WIRES)
def test_a_request_that_is_never_answered_ends_when_its_client_goes(wire: str) -> None:
    with serving(["timeout"]) as server:
        with asking(server, wire) as connection:
            connection.shutdown(socket.SHUT_WR)
            assert connection.recv(1) == b""
        (hanging,) = server.served
        assert (hanging.status, hanging.answered_at) == (None, None)
        assert hanging.fault == "timeout"
        assert post(server, wire).status_code == 200
        assert server.answered == 1


@pytest.mark.parametrize("settings", [{"faults": ["timeout"] * 8}, {"latency": 10 * PATIENCE}])
def test_stopping_ends_what_still_hangs(settings: dict[str, Any]) -> None:
    server = SimulatorServer([say], **settings)
    server.start()
    with ExitStack() as open_connections:
        connections = [open_connections.enter_context(asking(server, wire)) for wire in WIRES * 2]
        stopper = threading.Thread(target=server.stop)
        stopper.start()
        stopper.join(PATIENCE)
        assert not stopper.is_alive()
        for connection in connections:
            assert ended(connection)


def ended(connection: socket.socket) -> bool:
    """Whether the other side has closed it without a word."""
    try:
        return connection.recv(1) == b""
    except ConnectionResetError:  # it was not taken up any more
        return True


FACTS = RequestFacts(wire="openai-chat", path="/", model="even", seed=0)


def test_a_sequence_is_met_in_turn_and_then_nothing() -> None:
    choose = chooser(["drop", None, "quota"])
    assert [choose(number, FACTS) for number in range(1, 6)] == [
        "drop",
        None,
        "quota",
        None,
        None,
    ]


def test_a_function_is_told_number_and_facts() -> None:
    told: list[tuple[int, RequestFacts]] = []

    def choose(number: int, facts: RequestFacts) -> Fault | None:
        told.append((number, facts))
        return "server_error" if facts.wire == "google" else None

    with serving(choose) as server:
        assert post(server, "anthropic", pytest_bias_seed=5).status_code == 200
        assert post(server, "google").status_code == 500
    assert told == [
        (1, RequestFacts("anthropic", "/v1/messages", "even", 5)),
        (2, RequestFacts("google", PATHS["google"], "even", 0)),
    ]


def test_faults_are_replaced_while_it_runs_and_count_anew() -> None:
    with serving() as server:
        assert post(server, "openai-chat").status_code == 200
        server.faults = ["overloaded"]
        assert server.faults == ["overloaded"]
        assert post(server, "openai-chat").status_code == 503
        assert post(server, "openai-chat").status_code == 200
        server.faults = lambda _number, _facts: "server_error"
        assert post(server, "openai-chat").status_code == 500
        server.faults = None
        assert post(server, "openai-chat").status_code == 200


def test_what_is_not_served_meets_no_fault() -> None:
    with serving(["quota"]) as server, client_of(server) as client:
        assert client.post("/v1/embeddings", json={}).status_code == 404
        assert client.get("/v1/models").status_code == 200
        assert post(server, "openai-chat").status_code == 429


@pytest.mark.parametrize(
    ("faults", "problem"),
    [
        (["explosion"], "unknown fault 'explosion'; known: content_filter, drop"),
        ("drop", "faults=drop: give a list of faults"),
        ("explosion", "unknown fault 'explosion'"),
    ],
)
def test_faults_that_are_none(faults: Any, problem: str) -> None:
    with pytest.raises((UnknownName, BadSetting), match=problem):
        chooser(faults)
