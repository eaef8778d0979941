"""No reply of another host is handed on, and none without end, whatever the wire."""

from __future__ import annotations

import gzip
import tracemalloc
from contextlib import ExitStack
from functools import partial
from http.server import BaseHTTPRequestHandler

import pytest

from pytest_bias.errors import CallFailed
from pytest_bias.providers.base import WIRES, Endpoint, open_wire
from pytest_bias.providers.transport import LONGEST_REPLY

from ..helpers import answering, saying
from . import mocker
from .mocker import SECRET

PIECE = b"x" * 2**16
BOMB = gzip.compress(bytes(8 * LONGEST_REPLY), 1)


def failed(wire: str, url: str) -> CallFailed:
    """The failure of one call at an endpoint of the user's own."""
    return mocker.failed(partial(open_wire, wire, Endpoint("mine", SECRET, url)))


@pytest.mark.parametrize(
    ("wire", "status"),
    [*((wire, 307) for wire in WIRES), *(("openai-chat", each) for each in (301, 302, 303, 308))],
)
def test_no_prompt_follows_a_redirect_to_another_host(wire: str, status: int) -> None:
    with ExitStack() as stack:
        elsewhere, seen = stack.enter_context(answering(saying(200, {}, b"{}")))
        signed = elsewhere.replace("//", "//joe:pass-of-joe@")
        location = {"Location": f"{signed}/v1?key={SECRET}"}
        url, asked = stack.enter_context(answering(saying(status, location)))
        failure = failed(wire, url)
    assert (len(asked), seen) == (1, [])
    assert failure.kind == "fatal"
    said = str(failure)
    assert f"HTTP {status}: the endpoint sends its callers on to {elsewhere};" in said
    assert said.endswith("name it in [endpoints.mine] base_url")
    assert "joe" not in said
    assert "?" not in said


@pytest.mark.parametrize(
    ("location", "place"),
    [
        ("/other", "to another path, /other; nothing was sent there"),
        ("http://[::1", "what is no URL"),
        ("ftp://a", "no URL"),
    ],
)
def test_a_redirect_to_the_same_host_or_to_nowhere_is_none_either(
    location: str, place: str
) -> None:
    with answering(saying(307, {"Location": location})) as (url, asked):
        failure = failed("openai-chat", url)
    assert len(asked) == 1
    assert failure.kind == "fatal"
    assert place in str(failure)


@pytest.mark.parametrize("wire", WIRES)
def test_a_small_reply_does_not_become_a_large_one(wire: str) -> None:
    assert len(BOMB) < LONGEST_REPLY / 20
    with answering(saying(200, {"Content-Encoding": "gzip"}, BOMB)) as (url, asked):
        failed(wire, url)  # what is imported at first is not counted
        tracemalloc.start()
        try:
            failure = failed(wire, url)
            _, most = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert len(asked) == 2
    # Nobody knows that a reply that is none was not paid.
    assert (failure.kind, failure.answered) == ("reply", True)
    assert f"the reply is longer than {LONGEST_REPLY:,} bytes" in str(failure)
    assert most < 3 * LONGEST_REPLY


@pytest.mark.parametrize("wire", WIRES)
def test_a_reply_without_end_is_not_read_to_it(wire: str) -> None:
    written = 0

    def endless(handler: BaseHTTPRequestHandler) -> None:
        nonlocal written
        handler.send_response(200)
        handler.end_headers()
        while written < 8 * LONGEST_REPLY:
            try:
                written += handler.wfile.write(PIECE)
            except OSError:
                return

    with answering(endless) as (url, _):
        failure = failed(wire, url)
    assert failure.kind == "reply"
    assert LONGEST_REPLY < written < 4 * LONGEST_REPLY  # what is under way counts as well


@pytest.mark.parametrize(
    ("wire", "status"), [*((wire, 429) for wire in WIRES), ("openai-chat", 500)]
)
def test_an_endless_error_keeps_what_its_status_says(wire: str, status: int) -> None:
    headers = {"Content-Encoding": "gzip", "Retry-After": "7"}
    with answering(saying(status, headers, BOMB)) as (url, _):
        failure = failed(wire, url)
    assert failure.kind == ("rate_limit" if status == 429 else "transient")
    assert failure.retry_after == 7
    assert len(str(failure)) < 1000


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize(
    ("encoding", "said", "kind"),
    [
        ("zstd", "packed as 'zstd', which was not asked for", "fatal"),
        ("gzip, gzip", "packed as 'gzip, gzip', which was not asked for", "fatal"),
        ("gzip", "not packed as it says (gzip)", "reply"),
    ],
)
def test_what_cannot_be_unpacked_here_is_no_reply(
    wire: str, encoding: str, said: str, kind: str
) -> None:
    with answering(saying(200, {"Content-Encoding": encoding}, b"Five.")) as (url, _):
        failure = failed(wire, url)
    assert failure.kind == kind
    assert said in str(failure)
    # Of an error the status says enough.
    with answering(saying(502, {"Content-Encoding": encoding}, b"Gone.")) as (url, _):
        failure = failed(wire, url)
    assert failure.kind == "transient"
    assert "HTTP 502: " in str(failure)
