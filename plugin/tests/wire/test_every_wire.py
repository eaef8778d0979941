"""One experiment over every wire: the real SDKs record what is recorded in process."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from bias_tests.anchoring import test_anchoring as suite_of_cases
from bias_tests.anchoring.experiment import ANCHORING

from pytest_bias.cassettes.store import Cassette
from pytest_bias.contrasts.cases import Case, Declaration
from pytest_bias.contrasts.register import ATTRIBUTE
from pytest_bias.experiments.canonical import dumps
from pytest_bias.experiments.design import Design
from pytest_bias.experiments.experiment import Experiment, plan
from pytest_bias.experiments.messages import Parameters, Place, trial_seed
from pytest_bias.experiments.records import Outcome
from pytest_bias.experiments.simulated import SimulatedPrompt
from pytest_bias.recording.job import JobReport
from pytest_bias.settings.settings import Settings
from pytest_bias.verdicts.analysis import Analysis
from pytest_bias.workbench.project import Project

from ..core.factories import ask_once, experiment
from ..support.server import Fault, Faults, Server, over_http, serving
from .test_collection import files, outcomes
from .test_collection import recorded as recorded_over

SHIPPED = Path(__file__).parents[3] / "cassettes"
DESIGN = Design(20)
"""A sixth of what is shipped: that wires are alike does not depend on how much they carry."""

APIS = {
    "openai-chat": "chat completions",
    "openai-responses": "responses",
    "anthropic": "messages",
    "google": "generateContent",
}


def recorded(of: Experiment, folder: Path, server: Server, wire: str, **given: Any) -> JobReport:
    """Record trials of ``of`` over ``wire``, a hundred at once."""
    given = {"concurrency": 100, "providers": over_http(server.url, wire), **given}
    return recorded_over(of, folder, None, **given)[0]


def analysed(folder: Path, model: str) -> Analysis:
    """The analysis of what is recorded in ``folder``, by the cases that the suite declares."""
    settings = Settings(cassettes=folder, models=(model,), report=None, results=None)
    project = Project(settings)
    for function in vars(suite_of_cases).values():
        declared = getattr(function, ATTRIBUTE, None)
        if isinstance(declared, Declaration):
            project.registry.add(declared)
    return project.analysed(Case("hypothesis", ANCHORING, model, DESIGN))


def replies(path: Path) -> dict[str, tuple[object, ...]]:
    """Key of each interaction → what was asked, what was said, and the words of both."""
    return {
        each.key: (each.messages, each.completion.text, each.completion.usage)
        for each in Cassette(path).interactions()
    }


@pytest.mark.requirement("AUDIT-08", "CV-15")
@pytest.mark.parametrize("wire", APIS)
def test_the_anchoring_experiment_is_the_same_over_every_wire(tmp_path: Path, wire: str) -> None:
    model, trials = "simulated/drifted", plan(ANCHORING, DESIGN)
    assert ANCHORING.simulated is not None
    given: dict[str, Any] = {"model": model, "trials": trials}
    in_process = {**given, "answers": [ANCHORING.simulated]}
    own = recorded_over(ANCHORING, tmp_path / "own", None, **in_process)[0]
    with serving(ANCHORING.simulated) as server:
        job = recorded(ANCHORING, tmp_path / "cassettes", server, wire, **given)
        served = server.served
    assert (job.problems, job.recorded) == ([], len(trials))
    assert {each.status for each in served} == {200}
    assert set(Counter(each.seed for each in served).values()) == {1}  # each call was made once

    # The server is gone: what follows is offline.
    assert replies(job.cassette) == replies(own.cassette)
    found = analysed(tmp_path / "cassettes", model)
    shipped = analysed(SHIPPED, model)
    assert f"{APIS[wire]} at {server.url}" in found.recording.wire
    # Three turns a trial, and those asked again because the reply was invalid.
    assert job.calls == found.recording.interactions
    assert job.calls >= 3 * len(trials)
    assert found.recording.simulated
    assert {verdict.id for verdict in found.verdicts} == {
        "missing-high-low",
        "sentence_months-high-low",
    }
    # Verdict, estimate, interval, p-values, counts, values: all but where the replies come from.
    same = dumps(replace(found, recording=shipped.recording))
    assert re.sub(r" --bias-cassettes=\S+", "", same) == dumps(shipped)


PASSING: dict[Fault, int | None] = {
    "rate_limit": 429,
    "rate_limit_retry_after": 429,
    "server_error": 500,
    "overloaded": 503,
    "drop": None,
    "malformed": 200,
    "slow": 200,
}
"""Faults after which the call is answered in the end → the status that was met first."""

INVALID: dict[Fault, str] = {
    "content_filter": "content_filter",
    "refusal": "refusal",
    "length": "truncated",
    "flagged": "content_filter",
    "too_long": "prompt_too_long",
}
"""Faults that are a reply, which is kept → why it cannot be measured."""

PROBLEMS: dict[Fault, str] = {
    "quota": "You exceeded your current quota",
    "unauthorised": "HTTP 401: Incorrect API key provided",
    "refused_parameter": "the model refuses temperature",
}
"""Faults that trying again does not mend → how they are named."""


REASONS = {
    # These have one mark for what a filter and for what a model will not say.
    "anthropic": {"refusal": 2, "truncated": 1, "content_filter": 1, "prompt_too_long": 1},
    "google": {"content_filter": 3, "truncated": 1, "prompt_too_long": 1},
}


def five(_: SimulatedPrompt) -> str:
    return '{"score": 5}'


def tiny(**changes: Any) -> Experiment:
    return experiment(ask_once, **({"replicates": 2} | changes))


def under(faults: Faults = ()) -> AbstractContextManager[Server]:
    return serving(five, faults=faults, slow=0.01, retry_after=0.01)


def kept(of: Experiment, folder: Path) -> Sequence[Outcome]:
    """Every trial, replayed."""
    found = outcomes(of, folder)
    assert {outcome.missing for outcome in found} == {None}
    return found


def answers(server: Server) -> Counter[int | None]:
    """How often each call was answered with a reply, by its seed."""
    whole = [each for each in server.served if server.met[each.number] != "malformed"]
    return Counter(each.seed for each in whole if each.status == 200)


@pytest.mark.parametrize("wire", APIS)
def test_what_passes_is_recorded_once_in_the_end(tmp_path: Path, wire: str) -> None:
    of = tiny(replicates=4)
    with under(list(PASSING)) as server:
        job = recorded(of, tmp_path, server, wire)
        assert list(answers(server).values()) == [1] * 8
        met = {server.met[each.number]: each.status for each in server.served[: len(PASSING)]}
        assert len(server.served) == 8 + len(PASSING) - 1  # what is slow is answered at once
    assert (job.problems, job.recorded, job.calls) == ([], 8, 8)
    assert met == PASSING | ({"overloaded": 529} if wire == "anthropic" else {})
    kept(of, tmp_path)


@pytest.mark.parametrize("wire", APIS)
def test_a_reply_that_cannot_be_measured_is_kept_and_asked_again(
    tmp_path: Path, wire: str
) -> None:
    of = tiny(replicates=3)
    # Each meets another trial, whose second attempt then is as it should be.
    firsts = [trial_seed(of.id, trial, Place((), 1, 1)) for trial in plan(of, of.design())]
    met = dict(zip(firsts[1:], INVALID, strict=True))
    with under(lambda asked: met.get(asked.seed or 0)) as server:
        job = recorded(of, tmp_path, server, wire)
        assert {*answers(server).values()} == {1}
    assert (job.problems, job.recorded, job.calls) == ([], 6, 6 + len(INVALID))
    reasons = Counter(word for outcome in kept(of, tmp_path) for word in outcome.invalid)
    assert reasons == REASONS.get(wire, Counter(INVALID.values()))


@pytest.mark.parametrize(
    ("wire", "fault"), [*zip(APIS, PROBLEMS, strict=False), ("google", "refused_parameter")]
)
def test_what_no_later_call_can_mend_stops_the_job_and_the_next_run_records_it(
    tmp_path: Path, wire: str, fault: Fault
) -> None:
    of = tiny(parameters=Parameters(temperature=0.5))
    with under([fault]) as server:
        job = recorded(of, tmp_path, server, wire)
        (problem,) = job.problems
        assert PROBLEMS[fault] in problem
        assert (job.recorded, len(server.served), files(tmp_path)) == (0, 1, set())
        server.plant(())
        job = recorded(of, tmp_path, server, wire)
        assert (job.problems, job.recorded) == ([], 4)
        well = [each.seed for each in server.served if each.status == 200]
    assert len(well) == len(set(well)) == 4
    kept(of, tmp_path)
