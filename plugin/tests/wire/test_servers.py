"""Several hosts or builds behind one model name: counted, and no verdict of a mixture."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from pytest_bias.cassettes.recorded_trials import reread
from pytest_bias.cassettes.servers import Servers, servers_of
from pytest_bias.cassettes.store import Cassette, cassette_path
from pytest_bias.experiments.experiment import Experiment, plan
from pytest_bias.settings.model_entry import ModelEntry
from pytest_bias.settings.roster import Roster

from ..core.factories import experiment
from ..support.server import Outgoing, Served, Server, over_http, running
from .processes import MODEL
from .test_collection import recorded

TRIALS = 80


class Router(Server):
    """A gateway: ``named`` gives fields of the reply to a prompt, by its number and text."""

    def __init__(self, named: Callable[[int, str], Mapping[str, str]]) -> None:
        super().__init__((lambda _: '{"score": 5}',))
        self.named = named
        self.headers: Callable[[int], Mapping[str, str]] = lambda _: {}

    def reply(self, asked: Served, body: Mapping[str, Any]) -> Outgoing | None:
        fresh = super().reply(asked, body)
        assert fresh is not None
        fields = self.named(asked.number, str(body))
        data = json.dumps(json.loads(fresh.data) | fields).encode()
        return Outgoing(200, data, self.headers(asked.number))


def by_turns(number: int, _: str) -> dict[str, str]:
    return {"provider": ("Alpha", "Beta")[number % 2]}


def game() -> Experiment:
    return experiment(replicates=TRIALS // 2)


def servers(folder: Path, **entry: Any) -> Servers:
    cassette, of = Cassette(cassette_path(folder, "tiny", MODEL)), game()
    outcomes = (reread(of, MODEL, trial, cassette) for trial in plan(of, of.design()))
    return servers_of(outcomes, MODEL, ModelEntry(**entry))


def record(folder: Path, named: Callable[[int, str], Mapping[str, str]], **given: Any) -> Any:
    with running(Router(named)) as server:
        providers = over_http(server.url)
        return recorded(game(), folder, None, providers=providers, concurrency=1, **given)[0]


def test_a_recording_stops_where_another_host_answers(tmp_path: Path) -> None:
    report = record(tmp_path, by_turns)
    (problem,) = report.problems
    assert problem.startswith(f"2 hosts answered as {MODEL}: Alpha, Beta. ")
    assert 'request = { provider = { only = ["Alpha"] } }' in problem
    assert report.calls == 2
    allowed = Roster({MODEL: ModelEntry(hosts=frozenset({"Alpha", "Beta", "Gamma"}))})
    report = record(tmp_path, by_turns, roster=allowed)
    assert (report.problems, report.recorded) == ([], TRIALS - 2)
    assert servers(tmp_path).mixture == problem
    found = servers(tmp_path, hosts=frozenset({"Alpha", "Beta"}))
    assert found.mixture == ""
    assert [line.partition(":")[0] for line in found.counts] == ["host, a", "host, b"]
    named = [int(n) for line in found.counts for n in re.findall(r"\b\d+\b", line)]
    assert sum(named) == TRIALS


@pytest.mark.parametrize("retention", ["raw", "measures"])
def test_a_recording_stops_where_a_gateway_passes_requests_to_another_model(
    tmp_path: Path, retention: Any
) -> None:
    router = Router(lambda *_: {})
    router.headers = lambda number: {
        "x-litellm-model-name": f"openai/{('big', 'small')[number % 2]}"
    }
    of = experiment(replicates=TRIALS // 2, retention=retention)
    with running(router) as server:
        report, _ = recorded(of, tmp_path, None, providers=over_http(server.url), concurrency=1)
    (problem,) = report.problems
    assert problem.startswith(f"2 hosts answered as {MODEL}: openai/big, openai/small. ")
    assert "LiteLLM: request a name with one model behind it" in problem
    assert report.calls == 2
    cassette = Cassette(cassette_path(tmp_path, of.id, MODEL))
    assert cassette.path.read_text().count('"routed":"openai/') == 2


BUILDS: dict[str, tuple[Callable[[int, str], Mapping[str, str]], int, bool]] = {
    "one": (lambda *_: {"system_fingerprint": "fp_1"}, 0, False),
    "none": (lambda *_: {}, 0, False),
    "in turns": (lambda n, _: {"system_fingerprint": f"fp_{n % 2}"}, 2, False),
    "one a condition": (
        lambda _, text: {"system_fingerprint": "fp_a" if "Ada" in text else "fp_b"},
        2,
        True,
    ),
}


@pytest.mark.parametrize(("named", "lines", "mixed"), BUILDS.values(), ids=BUILDS)
def test_builds_are_a_mixture_only_where_conditions_differ(
    tmp_path: Path,
    named: Callable[[int, str], Mapping[str, str]],
    lines: int,
    mixed: bool,  # noqa: FBT001
) -> None:
    assert record(tmp_path, named).problems == []
    found = servers(tmp_path)
    assert len(found.counts) == lines
    assert found.mixture.startswith("2 builds of the model") == mixed
