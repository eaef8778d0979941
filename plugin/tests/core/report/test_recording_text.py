from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from bias_tests.anchoring.experiment import ANCHORING

from pytest_bias.experiments.experiment import ModelRoles, plan
from pytest_bias.experiments.messages import Parameters
from pytest_bias.experiments.simulated import SimulatedPrompt
from pytest_bias.recording.plan import PlanJob, RecordingPlan, plan_recording
from pytest_bias.report.recording_text import plan_lines
from pytest_bias.settings.model_entry import ModelEntry, Price
from pytest_bias.settings.roster import Roster, read_roster
from pytest_bias.settings.settings import Limits, RecordMode

from ..factories import MODEL, ask_twice, experiment, record

BOUNDED = Parameters(max_output_tokens=50)
PRICE = Price(1000.0, 2000.0)
ROSTER = Roster({MODEL: ModelEntry(price=PRICE, requests_per_minute=5)})


def simulated(prompt: SimulatedPrompt) -> str | None:
    return '{"score": 5}' if "rate" in prompt.messages[-1].text else "Well."


def planned(
    folder: Path,
    *models: str,
    mode: RecordMode = "missing",
    answers: bool = True,
    parameters: Parameters = BOUNDED,
    **limits: Any,
) -> RecordingPlan:
    answered = simulated if answers else None
    of = experiment(ask_twice, simulated=answered, parameters=parameters)
    jobs = [PlanJob(of, model, of.design(), plan(of, of.design())) for model in models]
    return plan_of(jobs, folder, mode=mode, limits=Limits(**limits))


def plan_of(
    jobs: Sequence[PlanJob], folder: Path, roster: Roster = ROSTER, **changed: Any
) -> RecordingPlan:
    """A plan of what is missing, without limits unless some are given."""
    given: dict[str, Any] = {"limits": Limits(), "mode": "missing"} | changed
    return plan_recording(
        jobs,
        folder=folder,
        roster=roster,
        roles_of=lambda _, model: ModelRoles(model, subject_defaults=roster.defaults(model)),
        **given,
    )


@pytest.mark.parametrize(
    ("model", "given", "words", "times"),
    [
        (MODEL, {"budget": 0.1}, "--bias-budget=0.1 would stop the recording before its end.", 1),
        (MODEL, {"budget": 0.2}, "--bias-budget", 0),
        (MODEL, {"answers": False}, "≥ 6", 1),
        (MODEL, {"answers": False}, "a lower bound, without replies.", 1),
        (MODEL, {"mode": "all"}, "tiny × openai/tiny (gate design, everything anew)", 1),
        (MODEL, {"mode": "all"}, " --bias-record=all", 1),
    ],
)  # fmt: skip
def test_limits_and_bounds_are_printed(
    tmp_path: Path, model: str, given: dict[str, Any], words: str, times: int
) -> None:
    assert "\n".join(plan_lines(planned(tmp_path, model, **given))).count(words) == times


def test_what_is_recorded_already_has_no_estimate(tmp_path: Path) -> None:
    record(tmp_path, experiment(ask_twice, parameters=BOUNDED))
    lines = plan_lines(planned(tmp_path, MODEL, max_calls=0, budget=0.0))
    assert lines[-3:] == [
        "       6         6        0      0      0          0           0    $0        0",
        "",
        "Everything is recorded: there is nothing to record.",
    ]
    assert "≈" not in "".join(lines)
    damaged = replace(planned(tmp_path, MODEL), problems=("tiny × a/b: damaged",))
    assert "Everything is recorded" not in "\n".join(plan_lines(damaged))
    assert plan_lines(replace(damaged, rows=()))[1:] == ["", "problem: tiny × a/b: damaged"]
    assert plan_lines(planned(tmp_path))[-1].startswith("No bias case is selected")


def test_the_plan_in_the_documentation_is_what_is_printed() -> None:
    root = Path(__file__).parents[4]
    model = "openai/gpt-5.1-2025-11-13"
    roster = read_roster(root / "bias_models.toml")
    job = PlanJob(ANCHORING, model, ANCHORING.design(), plan(ANCHORING, ANCHORING.design()))
    found = plan_of([job], root / "cassettes", roster)
    page = (root / "docs" / "recording.md").read_text(encoding="utf-8")
    assert "\n".join(["```text", *plan_lines(found), "```"]) in page
