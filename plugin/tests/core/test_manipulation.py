"""Prompts that manipulate nothing, and prompts that show a label, are told before a recording."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from pytest_bias.errors import BadDesign
from pytest_bias.experiments.checks.manipulation import faults, format_faults
from pytest_bias.experiments.design import Factor, Items, Trial
from pytest_bias.experiments.experiment import Experiment
from pytest_bias.experiments.measures import Measure
from pytest_bias.experiments.messages import Parameters
from pytest_bias.experiments.protocol import Protocol, Subject
from pytest_bias.experiments.simulated import SimulatedAnswer, SimulatedPrompt

from .factories import experiment as tiny

GROUPS = {"f": ["Ada", "Eve"], "m": ["Bob", "Tom"]}


def agree(prompt: SimulatedPrompt) -> str:
    """A simulated subject that answers everything."""
    return f"Yes, {prompt.seed % 7}."


def design(protocol: Protocol, *factors: Factor, **changes: Any) -> Experiment:
    """An experiment whose simulated subject answers all, unless told otherwise."""
    built: dict[str, Any] = {"measures": [Measure("length", len)], "simulated": agree}
    return tiny(protocol, factors=list(factors), **(built | changes))


def template(text: str) -> Protocol:
    """Asks once: of the ``{trial}``, and the ``{level}`` and ``{value}`` of its first factor."""

    async def ask(trial: Trial, subject: Subject) -> str:
        name, level = next(iter(trial.condition.levels.items()))
        return (await subject.ask(text.format(trial=trial, level=level, value=trial[name]))).value

    return ask


def levels(values: Mapping[str, object], text: str, **changes: Any) -> Experiment:
    """An experiment of one factor, ``cue``, and one prompt."""
    return design(template(text), Factor("cue", values), **changes)


def leaks(of: Experiment) -> list[tuple[str, str]]:
    """What labels are shown, and of what."""
    pattern = r"shows the subject '(.+?)', a label of ([^:]+): "
    return [(each[1], each[2]) for each in _matched(pattern, of)]


def _matched(pattern: str, of: Experiment) -> list[re.Match[str]]:
    """The faults of an experiment, which are all of one kind."""
    found = [(fault, re.search(pattern, str(fault))) for fault in faults(of)]
    assert all(isinstance(fault, BadDesign) and match for fault, match in found), found
    return [match for _, match in found if match]


def twins(of: Experiment) -> list[tuple[tuple[str, str], str | None, int]]:
    """The pairs of conditions that are alike, the first such item, and how many more."""
    pattern = (
        r"conditions '(\w+)' and '(\w+)' put the same prompt before the subject"
        r"(?: \(item '(\w+)'\))?.*?(?:; (\d+) more|$)"
    )
    return [((m[1], m[2]), m[3], int(m[4] or 0)) for m in _matched(pattern, of)]


def test_conditions_of_one_prompt() -> None:
    (fault,) = faults(levels({"low": 3, "mid": 5, "high": 3}, "How long, after {value} months?"))
    assert str(fault) == (
        "tiny: conditions 'low' and 'high' put the same prompt before the subject, so nothing is "
        "manipulated between them"
    )


@pytest.mark.parametrize("simulated", [agree, None])
def test_a_condition_that_asks_nothing(simulated: SimulatedAnswer | None) -> None:
    async def ask(trial: Trial, subject: Subject) -> str:
        return "Yes." if trial["cue"] == 1 else (await subject.ask(f"How {trial['cue']}?")).value

    of = design(ask, Factor("cue", {"a": "long", "b": 1, "c": "far"}), simulated=simulated)
    assert [str(fault) for fault in faults(of)] == ["tiny: trial b#1 asks nothing of the subject"]


def test_exemplars_of_one_level_that_do_not_differ() -> None:
    factor = Factor("group", {"f": "woman", "m": "man"}, exemplars=GROUPS)
    found = faults(design(template("Rate this {trial.condition[group]}."), factor))
    same = "put the same prompt before the subject, so they are no two units"
    assert [str(fault) for fault in found] == [
        f"tiny: in condition 'f' the exemplars 'Ada' and 'Eve' {same}",
        f"tiny: in condition 'm' the exemplars 'Bob' and 'Tom' {same}",
    ]


@dataclass(frozen=True)
class Later:
    """A conversation whose first question is the same in every condition."""

    second: str

    async def __call__(self, trial: Trial, subject: Subject) -> str:
        heard = await subject.ask("What do you think of dogs?")
        said = await subject.ask(f"{self.second.format(trial['cue'])} {heard.text}", after=heard)
        return said.value


CUE = Factor("cue", {"x": "cats", "y": "birds"})


def test_a_later_turn_may_differ() -> None:
    assert faults(design(Later("And of {}?"), CUE)) == ()
    assert twins(design(Later("And of cats?"), CUE)) == [(("x", "y"), None, 0)]


@pytest.mark.parametrize(
    "simulated",
    [None, lambda _: None, lambda _: 1 / 0, lambda _: ""],
    ids=["none", "silent", "broken", "never valid"],
)
def test_nothing_is_said_of_what_cannot_be_carried_out(simulated: Any) -> None:
    assert faults(design(Later("And of cats?"), CUE, simulated=simulated)) == ()


def test_a_protocol_that_never_ends_is_given_up() -> None:
    async def insist(trial: Trial, subject: Subject) -> str:
        asked = trial.id
        while asked:
            asked = (await subject.ask("Well?")).value
        return asked

    assert faults(design(insist, CUE)) == ()


def test_turns_that_only_some_replies_lead_to() -> None:
    async def press(trial: Trial, subject: Subject) -> str:
        heard = await subject.ask("Yes or no?")
        if heard.text == "No.":
            return (await subject.ask(f"And with {trial['cue']}?", after=heard)).value
        return heard.value

    def reluctant(prompt: SimulatedPrompt) -> str:
        return "No." if prompt.seed % 2 else "Yes."

    assert faults(design(press, CUE, simulated=reluctant)) == ()


def test_what_a_judge_is_asked_does_not_count() -> None:
    async def graded(trial: Trial, subject: Subject, judge: Subject) -> str:
        heard = await subject.ask("Dogs?")
        return (await judge.ask(f"Grade {heard.text} for {trial['cue']}.")).value

    assert twins(design(graded, CUE, judge=Parameters())) == [(("x", "y"), None, 0)]


def test_a_label_in_the_prompt() -> None:
    values = {"set1_white_male": {"name": "Greg"}, "set1_black_male": {"name": "Jamal"}}
    (first, second) = faults(levels(values, "Rate {level}, {value[name]}, please."))
    assert "'set1_black_male', a label of factor" in str(second)
    assert str(first) == (
        "tiny: condition 'set1_white_male' shows the subject 'set1_white_male', a label of factor "
        "'cue': 'Rate set1_white_male, Greg, please.'. It tells what is being tested: take it out "
        "of the prompt; words meant to be read belong into the level's value"
    )


def test_no_text_is_shown_where_none_is_kept() -> None:
    values = {"set_a": {"name": "Greg"}, "set_b": {"name": "Jamal"}}
    found = faults(levels(values, "Secret {level}, {value[name]}.", retention="measures"))
    assert len(found) == 2
    said = format_faults(found)
    assert "set_a" in said
    assert "Secret" not in said
    assert "Greg" not in said


def test_a_label_in_a_later_turn_and_in_a_system_prompt() -> None:
    values = {"set_a": 1, "set_b": 2}

    async def ask(trial: Trial, subject: Subject) -> str:
        heard = await subject.ask(f"Number {trial['cue']}?")
        return (await subject.ask(f"Is it {trial.condition.id}?", after=heard)).value

    async def instruct(trial: Trial, subject: Subject) -> str:
        told = f"You are in {trial.condition.id}."
        return (await subject.ask(f"Number {trial['cue']}?", system=told)).value

    of_cue = [("set_a", "factor 'cue'"), ("set_b", "factor 'cue'")]
    assert leaks(design(ask, Factor("cue", values))) == of_cue
    assert leaks(design(instruct, Factor("cue", values), simulated=None)) == of_cue


def test_the_label_of_an_item() -> None:
    items = Items("job", {"senior_nurse": {"title": "Nurse"}, "chef": {"title": "Chef"}})
    text = "Rate {value} as {trial.item}."
    of = levels({"x": "Ada", "y": "Bob"}, text, items=items)
    assert leaks(of) == [("senior_nurse", "items 'job'")]


NAMED = Factor(
    "group", {"set_a": {}, "set_b": {}}, exemplars={"set_a": ["set_a", "Ada"], "set_b": ["Bob"]}
)
HONEST = {
    "words of the question": levels({"low": 3, "high": 9}, "Is {value} months low, or high?"),
    "a declared identifier": levels(
        {"snake_case": " Use\nsnake_case. ", "camel": "Use camelCase."}, "Name a variable. {value}"
    ),
    "a part of a longer identifier": levels({"set_a": 1, "set_b": 2}, "my_set_a {value} set_bb"),
    "an identifier in every prompt": levels(
        {"option_a": {"cv": "Ada's"}, "option_b": {"cv": "Bob's"}},
        "Look at {value[cv]}. Reply option_a or option_b.",
    ),
    "unicode": levels({"greek": "αβγ", "odd": "\udc80 \x1b[0m"}, "{value}"),
    "an exemplar": design(template("Rate {value}."), NAMED),
    "a word of an item": levels(
        {"snake_case": 1, "other": 2},
        "{value}: {trial.item_value}",
        items=Items("job", {"code": "Explain snake_case.", "prose": "Explain prose."}),
    ),
}


@pytest.mark.parametrize("of", HONEST.values(), ids=HONEST)
def test_honest_designs_are_left_alone(of: Experiment) -> None:
    assert faults(of) == ()
