"""Copies that a cache gives for replies: a recording through one stops, a cassette is repaired."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from pytest_bias.cassettes.recorded_trials import reread
from pytest_bias.cassettes.staleness import Copies, copied_text
from pytest_bias.cassettes.store import Cassette, cassette_path
from pytest_bias.experiments.experiment import Experiment, plan
from pytest_bias.experiments.messages import ModelRole, identity_of
from pytest_bias.experiments.records import Exchange
from pytest_bias.providers.base import WIRES
from pytest_bias.providers.sdk import cache_header
from pytest_bias.recording.job import JobReport, replicates_first

from ..core.factories import ask_once, experiment
from ..support.server import Outgoing, Served, Server, over_http, running
from .processes import MODEL
from .test_collection import recorded as recorded_over

TRIALS = 24
LITELLM = {"x-litellm-cache-key": "37d4e758"}


class Gateway(Server):
    """A server, and a cache before it that gives replies again from the request ``since`` on.

    ``hit`` are the headers it says so with; ``ids`` make the id of the reply to each request,
    where it is none made at random.
    """

    def __init__(
        self, *, since: int | None = 1, hit: Mapping[str, str] = LITELLM, ids: str | None = None
    ) -> None:
        super().__init__((lambda _: '{"score": 5}',))
        self.since, self.hit, self.ids = since, hit, ids
        self.cache: dict[str, Outgoing] = {}
        self.fresh = 0

    def reply(self, asked: Served, body: Mapping[str, Any]) -> Outgoing | None:
        caches = self.since is not None and asked.number >= self.since
        key = json.dumps({**body, "model": ""})
        if caches and key in self.cache:
            return Outgoing(200, self.cache[key].data, self.hit)
        self.fresh += 1
        fresh = super().reply(asked, body)
        assert fresh is not None
        name = "responseId" if asked.wire == "google" else "id"
        ids = f"reply-{uuid4()}" if self.ids is None else self.ids.format(asked.number)
        said = json.loads(fresh.data) | {name: ids}
        self.cache[key] = Outgoing(200, json.dumps(said).encode())
        return self.cache[key]


@contextmanager
def gateway(**given: Any) -> Iterator[Gateway]:
    """A running gateway."""
    server = Gateway(**given)
    with running(server):
        yield server


def recorded(of: Experiment, folder: Path, server: Gateway, **given: Any) -> JobReport:
    wire = given.pop("wire", "openai-chat")
    return recorded_over(of, folder, None, providers=over_http(server.url, wire), **given)[0]


def words(of: Experiment, folder: Path) -> str:
    """What is said of copies in the cassette."""
    cassette = Cassette(cassette_path(folder, of.id, MODEL))
    return copied_text(reread(of, MODEL, trial, cassette) for trial in plan(of, of.design()))


def game(**changes: Any) -> Experiment:
    return experiment(ask_once, **{"replicates": TRIALS // 2, **changes})


@pytest.mark.parametrize("retention", ["raw", "measures"])
@pytest.mark.parametrize(
    ("wire", "hit", "calls", "why"),
    [
        *((wire, LITELLM, 2, "as the header x-litellm-cache-key came with it") for wire in WIRES),
        # By the id alone a third call, which asks otherwise, shows it.
        ("openai-chat", {}, 3, "as it has the id and creation time of a reply in "),
    ],
)
def test_a_recording_through_a_cache_stops_and_goes_on_without_it(
    tmp_path: Path, wire: str, hit: Mapping[str, str], calls: int, why: str, retention: str
) -> None:
    of = game(retention=retention)
    with gateway(hit=hit) as server:
        report = recorded(of, tmp_path, server, wire=wire)
        assert len(server.served) == calls
        (problem,) = report.problems
        assert problem.startswith(f"{MODEL} (")
        assert f" at {server.url}) is answered from a cache: the reply in trial " in problem
        assert why in problem
    with gateway(since=None) as server:
        report = recorded(of, tmp_path, server, wire=wire)
        assert (report.problems, len(server.served)) == ([], TRIALS - calls + 1)
        (said,) = report.salvaged
        assert said.startswith(f"1 trial in {report.cassette.name} rests on copies")
    assert words(of, tmp_path) == ""


@pytest.mark.parametrize("ids", ["r1-9fc", "", "chatcmpl-7", "chatcmpl-{0}"])
def test_a_server_without_ids_of_its_own_is_recorded(tmp_path: Path, ids: str) -> None:
    of = game()
    with gateway(since=None, ids=ids) as server:
        report = recorded(of, tmp_path, server)
        assert (report.problems, len(server.served)) == ([], TRIALS)
    assert words(of, tmp_path) == ""


@pytest.mark.parametrize("retention", ["raw", "measures"])
@pytest.mark.parametrize("hit", [LITELLM, {}], ids=["header", "id"])
def test_what_was_recorded_of_copies_is_counted_and_only_that_recorded_again(
    tmp_path: Path, retention: str, hit: Mapping[str, str]
) -> None:
    of = game(retention=retention)
    with gateway(hit=hit) as server:
        report = recorded(of, tmp_path, server, gates=False, concurrency=1)
        assert (report.problems, server.fresh) == ([], 2)
    assert words(of, tmp_path).startswith(f"{TRIALS - 2} of {TRIALS} replies are copies")
    with gateway(since=None) as server:
        assert recorded(of, tmp_path, server).problems == []
        assert len(server.served) == TRIALS - 2
    assert words(of, tmp_path) == ""


def test_two_replicates_come_first_and_then_another_cell() -> None:
    trials = plan(experiment(replicates=3), experiment(replicates=3).design())
    a, b = trials[:3], trials[3:]
    assert replicates_first([a[0], b[0], b[1], a[1]]) == [b[0], b[1], a[0], a[1]]
    assert replicates_first([a[2], b[0]]) == [a[2], b[0]]
    assert replicates_first(a) == list(a)


@pytest.mark.parametrize(
    ("headers", "found"),
    [
        ({"X-Cache": "MISS, HIT"}, "x-cache"),
        ({"X-Cache": "TCP_HIT"}, "x-cache"),
        ({"cf-aig-cache-status": "HIT"}, "cf-aig-cache-status"),
        ({"Cache-Status": "gateway; hit"}, "cache-status"),
        ({"X-Cache": "MISS", "x-litellm-cache-key": "", "x-prompt-cache": "hit"}, ""),
    ],
)
def test_headers_of_caches(headers: Mapping[str, str], found: str) -> None:
    assert cache_header(headers) == found


def test_what_identifies_a_reply() -> None:
    name = {"id": "chatcmpl-B9MHDbslfk", "created": 1741569952}
    assert identity_of(name) == identity_of({**name, "choices": []})
    assert len({identity_of(name), identity_of({**name, "created": 1}), ("", "")}) == 3
    assert identity_of({"responseId": "mAitaLmkHPPlz7IPvtfUqQ4"})[0]
    for other in (None, 7, "", "chatcmpl-842", "chatcmpl-1741569952", "stub"):
        assert identity_of({"id": other, "created": 1741569952}) == ("", "")


def test_turns_of_a_conversation_may_share_an_id_and_a_second_rating_may_not() -> None:
    def origins(to: ModelRole, *names: str) -> list[Exchange]:
        return [Exchange(to=to, id=name, created="1") for name in names]

    copies = Copies()
    for trial, *said in (("a", "id1", "id1"), ("b", "id2", "id2")):
        for origin in (*origins("subject", *said), *origins("judge", f"judge-{trial}")):
            copies.add(trial, origin)
    assert copies.found == []
    copies.add("c", *origins("subject", "id1"))
    copies.add("a", *origins("judge", "judge-a"))
    assert [(copy.to, copy.trial) for copy in copies.found] == [("subject", "c"), ("judge", "a")]
    assert [copy.trial for copy in copies.of("judge")] == ["a"]
