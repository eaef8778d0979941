"""A miss says which trial, which file, what differs and the command that records it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict

from pytest_bias.cassettes.misses import _diff, not_recorded
from pytest_bias.cassettes.store import REJOURNAL_SUFFIX, Cassette, cassette_path
from pytest_bias.errors import NotRecorded
from pytest_bias.experiments.design import Trial
from pytest_bias.experiments.experiment import Experiment, plan
from pytest_bias.experiments.messages import Parameters
from pytest_bias.experiments.protocol import Subject
from pytest_bias.experiments.replay import PendingRequest, Unrecorded, replay

from .factories import MODEL, Score, experiment, record

TINY = experiment()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return record(tmp_path, TINY)


def missed(of: Experiment, path: Path, model: str = MODEL) -> NotRecorded:
    cassette = Cassette(path)
    misses: list[PendingRequest] = []
    trials = plan(of, of.design())
    for trial in trials:
        try:
            replay(of, model, trial, cassette.lookup)
        except Unrecorded as unrecorded:
            misses.append(unrecorded.pending)
    return not_recorded(
        experiment_id=of.id, model=model, cassette=cassette, misses=misses, planned=len(trials)
    )


def test_an_interrupted_recording_of_all_is_to_be_finished(tmp_path: Path) -> None:
    path = cassette_path(tmp_path, TINY.id, MODEL)
    path.parent.mkdir()
    path.with_name(path.name + REJOURNAL_SUFFIX).write_bytes(b"begun")
    assert missed(TINY, path).explanation.endswith(f"--bias-model {MODEL} --bias-record=all")


class Rating(BaseModel):
    model_config = ConfigDict(extra="forbid")

    rating: int


def asking(opening: str = "Rate", **how: Any) -> Experiment:
    """An experiment that asks one question otherwise than the recorded one."""

    async def other(trial: Trial, subject: Subject) -> object:
        return (await subject.ask(f"{opening} {trial['group']}.", **how)).value

    return experiment(other)


def more_messages() -> Experiment:
    async def other(trial: Trial, subject: Subject) -> Score:
        asked = await subject.ask(f"Rate {trial['group']}.", reply=Score)
        return (await subject.ask("Again.", reply=Score, after=asked)).value

    return experiment(other)


CHANGES: dict[str, tuple[Experiment, list[str]]] = {
    "prompt": (
        asking("Please rate", reply=Score),
        [
            "6 of 6 trials of tiny with openai/tiny are not recorded: a#1, turn 1, a#2, turn 1,",
            "the same trial and turn, but message 1 (user) has changed:",
            "    -Rate Ada.",
            "    +Please rate Ada.",
        ],
    ),
    "a further turn": (
        more_messages(),
        ["a#1, turn 2", "the same trial, of which 1 interaction(s) are recorded, but not this"],
    ),
    "parameter": (
        experiment(parameters=Parameters(temperature=0.5)),
        ['but a parameter has changed:\n    -{}\n    +{"temperature":0.5}'],
    ),
    "schema": (asking(reply=Rating), ["but the reply's schema has changed:"]),
    "replicate": (
        experiment(replicates=5),
        [
            "4 of 10 trials of tiny with openai/tiny are not recorded: a#4, turn 1, a#5, turn 1,",
            "Nothing is recorded of that trial; recorded are trials of conditions a, b.",
        ],
    ),
}


@pytest.mark.parametrize(("of", "said"), CHANGES.values(), ids=CHANGES)
def test_what_differs_is_said(path: Path, of: Experiment, said: list[str]) -> None:
    explanation = missed(of, path).explanation
    for words in said:
        assert words in explanation
    assert f"Cassette: {path}" in explanation
    command = f"pytest <the same arguments> --bias-model {MODEL} --bias-record=missing"
    assert explanation.endswith(f"To record what is missing: {command}")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("---\nThink.\n-- no\n", "Think.\n", "\n    ----\n    --- no"),
        ("Think.\n", "Think.\r\n", "\n    -Think.\n    +Think.\\r"),
    ],
    ids=["rule and dashes", "line ends"],
)
def test_every_changed_line_is_shown_whatever_it_begins_with(
    old: str, new: str, said: str
) -> None:
    assert _diff(old, new) == said


def test_a_run_that_was_to_record_points_to_its_problems(path: Path) -> None:
    for cassette in (Cassette(path), Cassette(path.with_name("none.jsonl"))):
        error = not_recorded(
            experiment_id=TINY.id,
            model=MODEL,
            cassette=cassette,
            misses=[a_miss()],
            planned=1,
            tried=True,
        )
        assert error.explanation.endswith(
            'could not; the lines that begin with "problem" say why.'
        )
        assert "--bias-record" not in error.explanation


def a_miss() -> PendingRequest:
    """What a changed experiment wants and the recording lacks."""
    trial = plan(TINY, TINY.design())[0]
    with pytest.raises(Unrecorded) as found:
        replay(TINY, MODEL, trial, lambda _: None)
    return found.value.pending
