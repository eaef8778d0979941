"""Who answers: subjects, judges, and names that will not do."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from pytest_bias.errors import BadSetting, UnknownName
from pytest_bias.experiments.experiment import Players
from pytest_bias.experiments.messages import Parameters
from pytest_bias.providers.players import SAME, SIMULATED_JUDGE, check_models, judge_of, players_of
from pytest_bias.providers.simulated import SUBJECTS
from pytest_bias.settings.roster import EndpointEntry, ModelEntry, Roster
from pytest_bias.settings.settings import Settings

from .factories import ask_once, experiment

SETTINGS = Settings(models=("openai/a",), cassettes=Path("cassettes"), report=None, results=None)
NOBODY = Roster()
ROSTER = Roster(
    {
        "openai/a": ModelEntry(temperature=0.7),
        "anthropic/j": ModelEntry(max_output_tokens=9),
        "openai/alias": ModelEntry(alias=True),
    },
    {"gateway": EndpointEntry("openai-chat", "http://127.0.0.1:1/v1")},
    ("openai/a", "anthropic/j"),
)
JUDGED = experiment(ask_once, judge=Parameters(temperature=0.0))


def test_without_a_judge_the_subject_is_all_there_is() -> None:
    found = players_of(experiment(), "openai/a", replace(SETTINGS, judge="openai/j"), ROSTER)
    assert found == Players("openai/a", subject_defaults=Parameters(0.7))
    assert found.judge is None


def test_players_come_with_what_the_roster_says_of_them() -> None:
    found = players_of(JUDGED, "openai/a", SETTINGS, ROSTER)
    assert found == Players("openai/a", "anthropic/j", Parameters(0.7), Parameters(None, 9))
    assert players_of(JUDGED, "openai/b", SETTINGS, ROSTER).judge == "openai/a"


@pytest.mark.requirement("NARR-16")
@pytest.mark.parametrize(
    ("subject", "setting", "roster", "judge"),
    [
        ("openai/a", "google/g", ROSTER, "google/g"),
        ("openai/a", SAME, ROSTER, "openai/a"),
        ("openai/a", None, ROSTER, "anthropic/j"),
        ("anthropic/j", None, ROSTER, "openai/a"),
        ("simulated/even", None, NOBODY, "simulated/judge"),
        ("simulated/biased", None, NOBODY, "simulated/judge"),
        ("simulated/drifted", None, ROSTER, "simulated/judge"),
        ("simulated/even", SAME, NOBODY, "simulated/even"),
        ("simulated/even", "openai/a", NOBODY, "openai/a"),
    ],
)
def test_the_judge_is_the_one_named_or_the_rosters_first_other(
    subject: str, setting: str | None, roster: Roster, judge: str
) -> None:
    assert judge_of(subject, setting, roster) == judge


def test_one_program_grades_all_simulated_subjects_and_is_none_itself() -> None:
    named = (f"simulated/{subject}" for subject in SUBJECTS)
    assert {judge_of(subject, None, NOBODY) for subject in named} == {SIMULATED_JUDGE}
    check_models(replace(SETTINGS, judge=SIMULATED_JUDGE), NOBODY, ["simulated/even"])
    with pytest.raises(BadSetting, match="this program grades simulated subjects and is") as told:
        check_models(replace(SETTINGS, gate="off"), NOBODY, [SIMULATED_JUDGE])
    assert told.value.option == "--bias-model"
    assert "test one of simulated/even, simulated/biased, simulated/drifted" in str(told.value)


@pytest.mark.requirement("NARR-16")
@pytest.mark.parametrize("roster", [NOBODY, Roster(judges=("openai/a",))])
def test_a_model_grades_itself_only_where_that_is_asked_for(roster: Roster) -> None:
    with pytest.raises(BadSetting, match="the replies of openai/a are graded by a model") as told:
        players_of(JUDGED, "openai/a", SETTINGS, roster)
    assert told.value.option == "--bias-judge"
    assert "[judges] of the roster" in str(told.value)
    assert "or say same" in str(told.value)


def test_names_that_will_do() -> None:
    check_models(SETTINGS, ROSTER, ["openai/a", "gateway/b", "simulated/even", "codex/c"])
    check_models(replace(SETTINGS, judge=SAME), ROSTER, ["openai/a"])
    check_models(replace(SETTINGS, judge="gateway/j"), ROSTER, ["openai/a"])


@pytest.mark.parametrize("judge", [None, "acme/a"])
def test_providers_that_there_are_not(judge: str | None) -> None:
    models = ["acme/a"] if judge is None else ["openai/a"]
    with pytest.raises(UnknownName, match=r"unknown provider 'acme'; known: anthropic, .*gateway"):
        check_models(replace(SETTINGS, judge=judge), ROSTER, models)


@pytest.mark.parametrize("name", ["", "/", "openai", "openai/", "/a", " openai/a", "openai/a "])
def test_names_that_are_none(name: str) -> None:
    with pytest.raises(BadSetting, match="write it as provider/model"):
        check_models(SETTINGS, ROSTER, [name])


@pytest.mark.parametrize(
    "name", ["openai/gpt-latest", "openai/latest", "google/Gemini-Latest-2", "openai/alias"]
)
def test_names_that_may_mean_another_model_tomorrow_are_for_reports_alone(name: str) -> None:
    with pytest.raises(BadSetting, match=f"{name}: this name may mean another model tomorrow"):
        check_models(SETTINGS, ROSTER, [name])
    with pytest.raises(BadSetting, match=f"{name}: this name may mean another model tomorrow"):
        check_models(replace(SETTINGS, judge=name), ROSTER, ["openai/a"])
    check_models(replace(SETTINGS, gate="off"), ROSTER, [name])
    check_models(replace(SETTINGS, gate="off", judge=name), ROSTER, ["openai/a"])


@pytest.mark.parametrize("name", ["openai/latestgreatest", "openai/translatest-1"])
def test_latest_within_a_word_is_no_alias(name: str) -> None:
    check_models(SETTINGS, ROSTER, [name])
