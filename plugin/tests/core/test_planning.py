from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from pytest_bias.cassettes.format import Provenance
from pytest_bias.experiments.design import Trial
from pytest_bias.experiments.experiment import Experiment, ModelRoles, plan
from pytest_bias.experiments.messages import Parameters
from pytest_bias.experiments.protocol import Subject
from pytest_bias.experiments.simulated import SimulatedPrompt
from pytest_bias.recording.estimate import SAMPLE, Calls
from pytest_bias.recording.plan import PlanJob, PlanRow, RecordingPlan, plan_recording
from pytest_bias.settings.model_entry import ModelEntry, Price
from pytest_bias.settings.roster import Roster
from pytest_bias.settings.settings import Limits, RecordMode

from . import factories, test_measured
from .factories import MODEL, Score, ask_twice, experiment, record

OTHER = "openai/other"
PRICED = Roster({MODEL: ModelEntry(price=Price(2.0, 10.0)), OTHER: ModelEntry()})


def planned(
    folder: Path,
    *experiments: Experiment,
    models: Sequence[str] = (MODEL,),
    roster: Roster = PRICED,
    mode: RecordMode = "missing",
    judge: str | None = None,
    trials: Callable[[Trial], bool] = lambda _: True,
    design: str = "gate",
    **limits: Any,
) -> RecordingPlan:
    return plan_recording(
        [
            PlanJob(
                of, model, of.design(design), tuple(filter(trials, plan(of, of.design(design))))
            )
            for model in models
            for of in experiments
        ],
        folder=folder,
        roster=roster,
        limits=Limits(**limits),
        mode=mode,
        roles_of=lambda _, model: ModelRoles(model, judge),
    )


def only(found: RecordingPlan) -> PlanRow:
    (row,) = found.rows
    assert found.problems == ()
    return row


def first_replicates(of: Experiment, number: int) -> list[Trial]:
    return [trial for trial in plan(of, of.design()) if trial.replicate <= number]


def test_all_recorded_leaves_nothing_to_do(tmp_path: Path) -> None:
    of = experiment(ask_twice)
    record(tmp_path, of)
    row = only(planned(tmp_path, of))
    assert (row.trials, row.recorded_trials, row.missing_trials) == (6, 6, 0)
    assert row.subject == row.judge == Calls(0, 0, 0)
    assert (row.cost, row.minutes) == (0.0, 0.0)
    assert (row.estimate.mark, row.estimate.basis) == ("exact", "nothing to record")


def test_missing_trials_are_like_the_recorded_ones_of_the_cassette(tmp_path: Path) -> None:
    of = experiment(ask_twice)
    record(tmp_path, of, trials=first_replicates(of, 1))
    row = only(planned(tmp_path, of))
    assert (row.trials, row.recorded_trials, row.missing_trials) == (6, 2, 4)
    # Every recorded reply counted 3 tokens in and 1 out.
    assert row.subject == Calls(8, 24, 8)
    assert row.cost == pytest.approx((24 * 2 + 8 * 10) / 1e6)
    estimate = row.estimate
    assert (estimate.mark, estimate.basis, estimate.trials) == ("estimate", "this cassette", 2)


def cut_short(path: Path, lines: int) -> None:
    """Leave out the last lines of a journal."""
    journal = path.with_name(f"{path.name}.recording")
    kept = journal.read_bytes().splitlines(keepends=True)
    assert all(each.startswith(b'{"key"') for each in kept[-lines:])
    journal.write_bytes(b"".join(kept[:-lines]))


def test_of_a_trial_recorded_in_part_only_the_rest_is_to_do(tmp_path: Path) -> None:
    of = experiment(ask_twice)
    cut_short(record(tmp_path, of, trials=first_replicates(of, 2), merge=False), 1)
    row = only(planned(tmp_path, of))
    assert row.recorded_trials == 3
    # Two trials of two calls, and the second turn of the one that was cut short.
    assert row.subject == Calls(5, 15, 5)


def test_without_recordings_another_models_cassette_is_the_guide(tmp_path: Path) -> None:
    of = experiment(ask_twice)
    record(tmp_path, of)
    row = only(planned(tmp_path, of, models=[OTHER]))
    assert (row.recorded_trials, row.missing_trials, row.cost) == (0, 6, None)
    assert row.subject == Calls(12, 36, 12)
    estimate = row.estimate
    assert (estimate.basis, estimate.trials, estimate.model) == ("another cassette", 6, MODEL)


def simulated(prompt: SimulatedPrompt) -> str | None:
    assert prompt.subject == "even"
    return '{"score": 5}' if "rate" in prompt.messages[-1].text else "Well."


def test_without_any_recording_the_simulated_subject_answers_in_memory(tmp_path: Path) -> None:
    row = only(planned(tmp_path, experiment(ask_twice, simulated=simulated)))
    estimate = row.estimate
    assert (estimate.mark, estimate.basis, estimate.trials) == ("estimate", "dry run", 6)
    opening = len("Be brief.") + len("What of Ada?")
    second = opening + len("Well.") + len("Now rate.")
    said = len("Well.") + len('{"score": 5}')
    assert row.subject.calls == 12
    assert row.subject.input_tokens == -(-6 * (opening + second) // 4)
    assert row.subject.output_tokens == -(-6 * said // 4)
    of = experiment(ask_twice, simulated=simulated)
    row = only(planned(tmp_path, of, models=["simulated/biased"], roster=Roster()))
    assert (row.simulated, row.cost, row.subject.calls) == (True, 0.0, 12)


def refuses(_: SimulatedPrompt) -> str | None:
    return None


def breaks(_: SimulatedPrompt) -> str | None:
    raise RuntimeError


@pytest.mark.parametrize("answer", [None, refuses, breaks])
def test_else_the_opening_request_is_a_lower_bound(tmp_path: Path, answer: Any) -> None:
    row = only(planned(tmp_path, experiment(ask_twice, simulated=answer)))
    assert (row.estimate.mark, row.estimate.basis) == ("at least", "opening request")
    opening = len("Be brief.") + len("What of Ada?")
    assert row.subject == Calls(6, -(-6 * opening // 4), 0)


@pytest.mark.parametrize(
    ("qpm", "own", "entry", "minutes"),
    [
        (None, None, ModelEntry(), None),
        (None, 2, ModelEntry(), 6.0),
        (6, 2, ModelEntry(), 2.0),
        (6, None, ModelEntry(requests_per_minute=4), 3.0),
        (3, None, ModelEntry(tokens_per_minute=6), 8.0),
    ],
)
def test_minutes_at_the_limits(
    tmp_path: Path, qpm: int | None, own: int | None, entry: ModelEntry, minutes: float | None
) -> None:
    of = experiment(ask_twice, qpm=own)
    record(tmp_path, of)
    roster = Roster({OTHER: entry})
    assert only(planned(tmp_path, of, models=[OTHER], roster=roster, qpm=qpm)).minutes == minutes


async def graded(trial: Trial, subject: Subject, judge: Subject) -> Score:
    said = await subject.ask(f"Tell of {trial['group']}.")
    return (await judge.ask(f"Rate: {said.text}", reply=Score)).value


@pytest.mark.requirement("NARR-28")
def test_judge_calls_stand_apart_and_have_their_own_price(tmp_path: Path) -> None:
    of = experiment(
        graded,
        judge=Parameters(),
        simulated=lambda prompt: (
            '{"score": 5}' if prompt.messages[-1].text.startswith("Rate") else "Good."
        ),
    )
    roster = Roster({MODEL: ModelEntry(price=Price(0, 0)), OTHER: ModelEntry(price=Price(4, 4))})
    row = only(planned(tmp_path, of, roster=roster, judge=OTHER))
    assert (row.subject.calls, row.judge.calls, row.judge_model) == (6, 6, OTHER)
    assert row.cost == pytest.approx(4 * (row.judge.input_tokens + row.judge.output_tokens) / 1e6)
    assert only(planned(tmp_path, of, judge="openai/unpriced")).cost is None
    # The model grades itself: both kinds of call count against its limits.
    assert only(planned(tmp_path, of, judge=MODEL, qpm=12)).minutes == 1.0


@pytest.mark.requirement("NARR-28")
def test_replies_that_another_judge_graded_are_no_guide(tmp_path: Path) -> None:
    """Of them those alone would count that nobody graded: refusals, which cost hardly anything."""

    async def told(trial: Trial, subject: Subject) -> str:
        return (await subject.ask(f"Tell of {trial['group']}.")).text

    async def graded_if_told(trial: Trial, subject: Subject, judge: Subject) -> Score:
        if trial["group"] == "Bob":
            return await graded(trial, subject, judge)
        await told(trial, subject)
        return Score(score=1)

    record(tmp_path, experiment(told), lambda *_: "Good.")
    of = experiment(
        graded_if_told,
        judge=Parameters(),
        simulated=lambda prompt: (
            '{"score": 5}' if prompt.messages[-1].text.startswith("Rate") else "Good."
        ),
    )
    row = only(planned(tmp_path, of, models=[OTHER], judge=OTHER))
    assert (row.estimate.basis, row.subject.calls, row.judge.calls) == ("dry run", 6, 3)


def test_damage_is_a_problem_of_the_plan_and_hides_no_other_row(tmp_path: Path) -> None:
    of = experiment(ask_twice)
    other = experiment(ask_twice, id="other")
    path = record(tmp_path, of)
    record(tmp_path, other)
    path.write_bytes(path.read_bytes()[:-20])
    unjudged = experiment(graded, judge=Parameters(), simulated=lambda _: "Good.", id="unjudged")
    found = planned(tmp_path, of, unjudged, other)
    assert [row.experiment for row in found.rows] == ["other"]
    problem, nobody = found.problems
    assert problem.startswith(f"tiny × {MODEL}: {path}, line ")
    assert nobody == f"unjudged × {MODEL}: judge: no model is named that grades replies"


@pytest.mark.requirement("NARR-28")
def test_totals(tmp_path: Path) -> None:
    of, other = experiment(ask_twice), experiment(ask_twice, id="other")
    record(tmp_path, of)
    record(tmp_path, other, trials=first_replicates(other, 1))
    totals = planned(tmp_path, of, other, models=[MODEL, OTHER], qpm=4).totals
    assert (totals.trials, totals.recorded_trials, totals.missing_trials) == (24, 8, 16)
    assert totals.subject.calls == 8 + 12 + 12
    assert totals.cost == pytest.approx(128 / 1e6)
    assert totals.unpriced == (OTHER,)
    # Models are recorded side by side: six minutes for the one with more to do.
    assert (totals.minutes, totals.mark) == (6.0, "estimate")


def test_the_plan_is_plain_json_and_always_the_same(tmp_path: Path) -> None:
    of = experiment(ask_twice, simulated=simulated)
    found = planned(tmp_path, of, max_calls=5, budget=0.5)
    text = found.to_json()
    assert text == planned(tmp_path, of, max_calls=5, budget=0.5).to_json()
    value = json.loads(text)
    assert (value["version"], value["mode"], value["max_calls"]) == (1, "missing", 5)
    assert value["rows"][0]["subject"]["calls"] == 12
    assert value["rows"][0]["cassette"] == "tiny/openai--tiny"
    assert value["totals"]["missing_trials"] == 6
    assert str(tmp_path) not in text


def test_thousands_of_trials_are_sampled_and_not_carried_out(tmp_path: Path) -> None:
    asked = []

    def counting(prompt: SimulatedPrompt) -> str | None:
        asked.append(prompt)
        return simulated(prompt)

    of = experiment(ask_twice, replicates=1000, simulated=counting)
    row = only(planned(tmp_path, of))
    assert (row.missing_trials, row.subject.calls) == (2_000, 4_000)
    assert len(asked) <= 2 * SAMPLE
    assert {"Ada" in prompt.messages[1].text for prompt in asked} == {True, False}


def test_a_real_models_cassette_is_the_guide_before_a_simulated_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    of = experiment(ask_twice)
    record(tmp_path, of)
    monkeypatch.setattr(factories, "MODEL", "aaa/simulated")
    monkeypatch.setattr(
        factories, "PROVENANCE", Provenance(simulated=True, wire="", recorded_with="")
    )
    record(tmp_path, of)
    assert only(planned(tmp_path, of, models=[OTHER])).estimate.model == "openai/tiny"


def test_measured_trials_are_recorded_and_tell_what_the_others_use(tmp_path: Path) -> None:
    of = test_measured.kept(protocol=ask_twice)
    test_measured.record(tmp_path, of, trials=first_replicates(of, 2))
    row = only(planned(tmp_path, of))
    assert (row.trials, row.recorded_trials, row.missing_trials) == (6, 4, 2)
    assert row.subject == Calls(4, 12, 4)
    assert row.estimate.basis == "this cassette"
    test_measured.record(
        tmp_path, of, trials=[t for t in plan(of, of.design()) if t.replicate == 3]
    )
    assert only(planned(tmp_path, of)).subject == Calls()


def test_text_in_the_cassette_is_a_problem_of_the_plan(tmp_path: Path) -> None:
    record(tmp_path, experiment())
    found = planned(tmp_path, test_measured.kept())
    assert found.rows == ()
    assert "holds requests and replies as text" in found.problems[0]
