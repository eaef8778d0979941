"""What an experiment tells before anybody has replied: digests that change with it alone."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict

from pytest_bias.experiments.checks.prompts import PromptDigests, prompt_digests
from pytest_bias.experiments.design import Design, Factor, Items, Trial
from pytest_bias.experiments.experiment import Experiment, ModelRoles
from pytest_bias.experiments.messages import Completion, Parameters
from pytest_bias.experiments.protocol import Subject
from pytest_bias.experiments.simulated import SimulatedPrompt

from .factories import experiment

PLAYERS = ModelRoles("openai/one", "openai/judge")
OTHERS = ModelRoles(
    "openai/two", "openai/other", Parameters(temperature=1.0), Parameters(0.5), "Be fair."
)


class Grade(BaseModel):
    """A grade."""

    model_config = ConfigDict(extra="forbid")
    score: int


class Other(BaseModel):
    """Another form of a grade."""

    model_config = ConfigDict(extra="forbid")
    points: int


def asking(
    prompt: str = "What of {}?",
    *,
    system: str | None = None,
    then: str = "And then?",
    form: type[BaseModel] | None = None,
) -> Any:
    async def ask(trial: Trial, subject: Subject) -> object:
        text = prompt.format(trial["group"])
        if form is None:
            reply: Any = await subject.ask(text, system=system)
        else:
            reply = await subject.ask(text, reply=form, system=system)
        return await subject.ask(f"{then} You said {reply.text}.", after=reply)

    return ask


def told(of: Experiment, *, roles: ModelRoles = PLAYERS, replicates: int = 3) -> PromptDigests:
    return prompt_digests(of, Design(replicates), roles)


def test_every_condition_has_a_digest_whoever_is_asked_and_however_often() -> None:
    of = experiment(asking())
    found = told(of)
    assert sorted(found.subject) == [condition.id for condition in of.conditions]
    assert len(set(found.subject.values())) == 2
    assert found == told(of, roles=OTHERS) == told(of, replicates=9)
    assert found.judge == {}


@pytest.mark.parametrize(
    "changed",
    [
        asking("Now what of {}?"),
        asking(system="Be brief."),
        asking(form=Grade),
    ],
    ids=["words", "system message", "form of the reply"],
)
def test_what_is_told_first_counts(changed: Any) -> None:
    one, two = told(experiment(asking())).subject, told(experiment(changed)).subject
    assert len({*one.values(), *two.values()}) == 4


def test_every_exemplar_and_item_counts() -> None:
    async def ask(trial: Trial, subject: Subject) -> object:
        return await subject.ask(f"{trial.exemplars['group']} of {trial.item_value}")

    def of(member: str, last: str) -> Experiment:
        levels = {"a": "A", "b": "B"}
        group = Factor("group", levels, exemplars={"a": ["Ann", member], "b": ["Bo", "Ben"]})
        items = Items("cv", {"one": "first", "two": last})
        return experiment(ask, factors=[group], items=items)

    found = told(of("Al", "second"))
    assert found != told(of("Abe", "second"))
    assert found != told(of("Al", "third"))
    fewer = prompt_digests(of("Al", "second"), Design(3, exemplars=1), PLAYERS)
    assert fewer != found


def test_parameters_count_where_a_protocol_sets_its_own() -> None:
    def warm(temperature: float) -> Experiment:
        async def ask(trial: Trial, subject: Subject) -> object:
            warmer = Subject(Parameters(temperature=temperature))
            return await warmer.ask(f"Of {trial['group']}, {subject.role}?")

        return experiment(ask)

    assert told(warm(0.5)) == told(warm(0.5), roles=OTHERS)
    assert told(warm(0.5)) != told(warm(0.7))


def judged(
    *,
    form: type[BaseModel] = Grade,
    system: str = "You grade.",
    answer: str | None = '{"score": 7}',
    grading: Any = None,
    **changes: Any,
) -> Experiment:
    async def ask(trial: Trial, subject: Subject, judge: Subject) -> object:
        said = await subject.ask(f"Of {trial['group']}?", reply=Grade)
        grade = await judge.ask(f"Grade: {said.text}", reply=form, system=system)
        return await judge.ask(f"Again: {grade.text}")

    def simulated(prompt: SimulatedPrompt) -> str | None:
        assert prompt.messages[-1].text.startswith("Of ")  # never asked to grade
        return answer

    return experiment(
        grading or ask, judge=Parameters(temperature=0.0), simulated=simulated, **changes
    )


def test_the_judge_counts_with_what_no_reply_changes() -> None:
    found = told(judged())
    assert sorted(found.judge) == sorted(found.subject)
    assert found == told(judged(answer='{"score": 3}'))
    assert found.judge != told(judged(system="You grade mildly.")).judge
    assert found.judge != told(judged(form=Other)).judge
    assert found.subject == told(judged(form=Other)).subject


def test_recorded_replies_lead_to_the_judge_where_nobody_simulates() -> None:
    of = replace(judged(), simulated=None)
    assert prompt_digests(of, Design(3), PLAYERS).judge == {}
    reply = Completion(json.dumps({"score": 1}), "stop", "openai/one")
    found = prompt_digests(of, Design(3), PLAYERS, lambda _: reply)
    assert found == told(judged())
