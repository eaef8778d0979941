"""Who answers, names that will not do, and judges that would be told whose reply they grade."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict, Field

from pytest_bias import Experiment, Measure, SimulatedPrompt, masked
from pytest_bias.cassettes.recorded_trials import safe_message
from pytest_bias.errors import BadSetting, BiasError, JudgeNotBlind, UnknownName
from pytest_bias.experiments.checks.manipulation import faults
from pytest_bias.experiments.design import Factor, Trial
from pytest_bias.experiments.experiment import ModelRoles, plan
from pytest_bias.experiments.messages import Completion, Parameters
from pytest_bias.experiments.protocol import Subject
from pytest_bias.experiments.replay import PendingRequest, carry_out, rehearse
from pytest_bias.providers.roles import SAME, SIMULATED_JUDGE, check_models, judge_of, roles_of
from pytest_bias.providers.simulated import SUBJECTS
from pytest_bias.settings.model_entry import EndpointEntry, ModelEntry
from pytest_bias.settings.roster import Roster
from pytest_bias.settings.settings import Settings

from .factories import ask_once, completion, experiment
from .factories import experiment as tiny

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


def test_players_come_with_what_the_roster_says_of_them() -> None:
    found = roles_of(JUDGED, "openai/a", SETTINGS, ROSTER)
    assert found == ModelRoles("openai/a", "anthropic/j", Parameters(0.7), Parameters(None, 9))
    assert roles_of(JUDGED, "openai/b", SETTINGS, ROSTER).judge == "openai/a"


@pytest.mark.requirement("NARR-16")
@pytest.mark.parametrize(
    ("subject", "setting", "roster", "judge"),
    [
        ("openai/a", "google/g", ROSTER, "google/g"),
        ("openai/a", SAME, ROSTER, "openai/a"),
        ("openai/a", None, ROSTER, "anthropic/j"),
        ("anthropic/j", None, ROSTER, "openai/a"),
        ("simulated/even", None, NOBODY, "simulated/judge"),
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
        roles_of(JUDGED, "openai/a", SETTINGS, roster)
    assert told.value.option == "--bias-judge"
    assert "[judges] of the roster" in str(told.value)
    assert "or say same" in str(told.value)


@pytest.mark.parametrize("judge", [None, "acme/a"])
def test_providers_that_there_are_not(judge: str | None) -> None:
    models = ["acme/a"] if judge is None else ["openai/a"]
    with pytest.raises(UnknownName, match=r"unknown provider 'acme'; known: anthropic, .*gateway"):
        check_models(replace(SETTINGS, judge=judge), ROSTER, models)


@pytest.mark.parametrize("name", ["openai/gpt-latest", "openai/alias"])
def test_names_that_may_mean_another_model_tomorrow_are_for_reports_alone(name: str) -> None:
    for settings, model in ((SETTINGS, name), (replace(SETTINGS, judge=name), "openai/a")):
        with pytest.raises(BadSetting, match=f"{name}: this name may mean another model tom"):
            check_models(settings, ROSTER, [model])
        check_models(replace(settings, gate="off"), ROSTER, [model])


GROUP = Factor(
    "group", {"first": 1, "second": 2}, exemplars={"first": ["Greg", "José"], "second": ["Mei"]}
)
PLAYERS = ModelRoles("simulated/even", "simulated/judge")


class Grade(BaseModel):
    """What the judge says."""

    model_config = ConfigDict(extra="forbid")

    grade: int


async def _blind(trial: Trial, subject: Subject, judge: Subject) -> Grade:
    story = (await subject.ask(f"A story about {trial['group']}.")).text
    return (await judge.ask(f"Grade: {masked(story, str(trial['group']))}", reply=Grade)).value


async def _told(trial: Trial, subject: Subject, judge: Subject) -> Grade:
    story = (await subject.ask(f"A story about {trial['group']}.")).text
    return (await judge.ask(f"Grade: {story}", reply=Grade)).value


def _simulated(prompt: SimulatedPrompt) -> str | None:
    text = prompt.messages[-1].text
    if text.startswith("Grade"):
        return '{"grade": 3}'
    return f"{text.removeprefix('A story about ')} and the rent."


def _judged(protocol: Any, **changes: Any) -> Experiment:
    given: dict[str, Any] = {
        "factors": [GROUP],
        "measures": [Measure("grade", bounds=(1, 5))],
        "judge": Parameters(),
        "blind": ["group"],
        "simulated": _simulated,
        "replicates": 1,
    }
    return tiny(protocol, **(given | changes))


def _run(protocol: Any, story: str, name: str = "Greg", **changes: Any) -> list[str]:
    """Who is asked in the trial of ``name``, whose subject always replies ``story``."""
    asked: list[str] = []
    of = _judged(protocol, **changes)
    (trial,) = (t for t in plan(of, of.design()) if name in t.exemplars.values())

    def answer(wanted: PendingRequest) -> Completion:
        asked.append(wanted.request.to)
        return completion(story if wanted.request.to == "subject" else '{"grade": 3}')

    carry_out(of, PLAYERS, trial, answer)
    return asked


@pytest.mark.parametrize(
    ("story", "name"),
    [
        ("Then Greg went.", "Greg"),
        ("Greg’s rent", "Greg"),
        ("then Jose\N{COMBINING ACUTE ACCENT} came", "José"),
        ('{"story": "It rained.\\nGreg went."}', "Greg"),
        ('{"story": "Jos\\u00e9"}', "José"),
    ],
)
def test_a_name_in_what_the_judge_is_sent_is_an_error(story: str, name: str) -> None:
    with pytest.raises(JudgeNotBlind) as caught:
        _run(_told, story, name)
    error = caught.value
    assert (error.factor, error.level, error.name) == ("group", "first", name)
    assert error.trial == f"first/{name}#1"
    assert error.place == "message 1 (user)"
    assert f"the judge would be told {name!r}" in str(error)
    assert "nothing is sent. Give it masked(text, [name])" in str(error)


@pytest.mark.parametrize("story", ["Greg’s rent, GREG!", r"It rained.\nGreg’s rent"])
def test_a_masked_story_stops_no_recording_whatever_it_is_written_in(story: str) -> None:
    assert _run(_blind, story) == ["subject", "judge"]


@pytest.mark.parametrize("story", ["Gregory", "greg", "Mei went.", "first group", "-"])
def test_what_is_no_name_of_this_trial_is_none(story: str) -> None:
    assert _run(_told, story) == ["subject", "judge"]


def test_the_whole_request_counts() -> None:
    class Greg(Grade):
        pass

    class Hinted(Grade):
        grade: int = Field(description="How good Greg is")

    async def system(_: Trial, _subject: Subject, judge: Subject) -> Grade:
        return (await judge.ask("Grade.", system="You know Greg.", reply=Grade)).value

    async def conversation(_: Trial, subject: Subject, judge: Subject) -> Grade:
        story = await subject.ask("A story.")
        return (await judge.ask("Grade.", after=story, reply=Grade)).value

    async def name_of_schema(_: Trial, _subject: Subject, judge: Subject) -> Greg:
        return (await judge.ask("Grade.", reply=Greg)).value

    async def within_schema(_: Trial, _subject: Subject, judge: Subject) -> Hinted:
        return (await judge.ask("Grade.", reply=Hinted)).value

    for protocol, place in (
        (system, "message 1 (system)"),
        (conversation, "message 2 (assistant)"),
        (name_of_schema, "the reply's schema"),
        (within_schema, "the reply's schema"),
    ):
        with pytest.raises(JudgeNotBlind) as caught:
            _run(protocol, "Greg went.")
        assert caught.value.place == place


def test_rehearsals_and_checks_at_collection_find_it_before_anything_is_called() -> None:
    of = _judged(_told)
    with pytest.raises(JudgeNotBlind):
        rehearse(of, PLAYERS, plan(of, of.design())[0])
    found = [fault for fault in faults(of) if isinstance(fault, JudgeNotBlind)]
    # One a level is enough to say; the first trial of each.
    assert [fault.trial for fault in found] == ["first/Greg#1", "second/Mei#1"]
    assert rehearse(_judged(_blind), PLAYERS, plan(of, of.design())[0]) == 2
    assert [
        fault for fault in faults(_judged(_blind)) if "shows the subject" not in str(fault)
    ] == []


def test_where_no_text_is_kept_the_error_quotes_none() -> None:
    with pytest.raises(JudgeNotBlind) as caught:
        _run(_told, "Greg went.", retention="measures")
    assert caught.value.name is None
    assert "the judge would be told (factor 'group', level 'first'; in message 1" in str(
        caught.value
    )
    assert safe_message(caught.value) == str(caught.value)


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"judge": None}, "blind= is about a judge, and there is none"),
        ({"blind": "group"}, "blind must be a list of names of factors"),
        ({"blind": ["race"]}, "unknown factor 'race'; known: group"),
        (
            {"factors": [Factor("group", {"one": 1, "two": 2})]},
            "blind='group': it has no exemplars, and no level that is text",
        ),
    ],
)
def test_what_cannot_be_blind_is_refused(changes: dict[str, Any], problem: str) -> None:
    with pytest.raises(BiasError) as caught:
        _judged(_blind, **changes)
    assert problem in str(caught.value)
    assert _judged(_blind).blind == ("group",)


def test_the_experiment_that_the_documentation_shows_is_blind() -> None:
    page = (Path(__file__).parents[3] / "docs" / "judges.md").read_text("utf-8")
    (code,) = re.findall(r"^```python\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    names: dict[str, Any] = {"__name__": "shown"}
    exec(code, names)  # noqa: S102  (our own page)
    of = names["STORIES"]
    trials = plan(of, of.design())
    again = 0
    for trial in trials:
        name = trial["group"]

        def answer(wanted: PendingRequest, name: object = name) -> Completion:
            story = wanted.request.to == "subject"
            return completion(f"{name} hesitated." if story else '{"hesitation": 4}')

        result = carry_out(of, PLAYERS, trial, answer).result
        again += getattr(result, "hesitation_again", "") == "4"
    assert 0.05 < again / len(trials) < 0.15
