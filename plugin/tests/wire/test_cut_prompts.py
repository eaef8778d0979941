"""Prompts that a server cuts to its context: the recording stops, and no verdict is given."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from pytest_bias.cassettes.recorded_trials import reread
from pytest_bias.cassettes.staleness import cut_text
from pytest_bias.cassettes.store import Cassette, cassette_path
from pytest_bias.experiments.design import Trial
from pytest_bias.experiments.experiment import Experiment, plan
from pytest_bias.experiments.protocol import Subject
from pytest_bias.experiments.records import Exchange, Outcome
from pytest_bias.providers.base import WIRES

from ..core.factories import Score, experiment
from ..support.server import Outgoing, Served, Server, over_http, running
from .processes import MODEL
from .test_collection import recorded

WINDOW = 2_050
COUNTED = {"prompt_tokens", "input_tokens", "promptTokenCount"}


class Window(Server):
    """A server that counts no more tokens than fit its context."""

    def reply(self, asked: Served, body: Mapping[str, Any]) -> Outgoing | None:
        fresh = super().reply(asked, body)
        assert fresh is not None
        said = json.loads(fresh.data)
        usage = next(said[name] for name in ("usage", "usageMetadata") if name in said)
        for name in COUNTED & usage.keys():
            usage[name] = min(usage[name], WINDOW)
        return Outgoing(200, json.dumps(said).encode())


async def long(trial: Trial, subject: Subject) -> Score:
    return (await subject.ask(f"Rate {trial['group']}.\n{'a word ' * 5_000}", reply=Score)).value


def words(of: Experiment, folder: Path) -> str:
    cassette = Cassette(cassette_path(folder, of.id, MODEL))
    return cut_text(reread(of, MODEL, trial, cassette) for trial in plan(of, of.design()))


@pytest.mark.parametrize("wire", WIRES)
def test_a_recording_stops_where_the_server_cuts_prompts(tmp_path: Path, wire: str) -> None:
    of = experiment(long)
    with running(Window((lambda _: '{"score": 5}',))) as server:
        given: dict[str, Any] = {"providers": over_http(server.url, wire)}
        report = recorded(of, tmp_path / "gates", None, **given)[0]
        (problem,) = report.problems
        assert "does not get the whole prompt: the server counts 2,050 tokens in 35," in problem
        assert len(server.served) == 1
        report = recorded(of, tmp_path / "off", None, gates=False, **given)[0]
        assert (report.problems, report.recorded) == ([], 6)
    found = words(of, tmp_path / "off")
    assert found.startswith("6 of 6 long prompts were cut by the server: in trial a#1 it ")
    assert "Ollama: num_ctx" in found


def sent(*sizes: tuple[int, int]) -> Sequence[Outcome]:
    each = [Exchange(to="subject", size=size, counted=counted) for size, counted in sizes]
    trial, *_ = plan(experiment(), experiment().design())
    return [Outcome(trial, None, None, (), len(each), (), exchanges=tuple(each))]


@pytest.mark.parametrize(
    ("sizes", "cut"),
    [
        ([(1_999, 1)], 0),  # too short to be cut
        ([(9_000, 0)], 0),  # nothing is counted
        ([(24_000, 2_000), (24_001, 2_000)], 1),
        # All fill the window, and one is much longer than another.
        ([(8_000, 2_048), (10_001, 2_048), (6_000, 1_500)], 2),
        ([(8_000, 2_048), (9_999, 2_048)], 0),
        ([(8_000, 2_000), (16_000, 4_000)], 0),
    ],
)
def test_prompts_are_cut_where_counts_cannot_be_theirs(
    sizes: list[tuple[int, int]], cut: int
) -> None:
    found = cut_text(sent(*sizes))
    assert found.startswith(f"{cut} of ") if cut else found == ""
