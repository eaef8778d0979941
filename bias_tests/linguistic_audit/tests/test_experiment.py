"""The audit as data: trials, prompts, measures, safeguards, and what its README says."""

from __future__ import annotations

import inspect
import re
from collections import Counter
from dataclasses import replace
from itertools import combinations, product
from pathlib import Path
from typing import cast

import pytest

from pytest_bias import MeanDifference, RateDifference, Refusals, WelchTest
from pytest_bias.baselines.gate import stopped_by
from pytest_bias.contrasts.cells import Cell
from pytest_bias.contrasts.published import Pooled
from pytest_bias.contrasts.register import ATTRIBUTE
from pytest_bias.errors import InvalidReply
from pytest_bias.experiments.checks.manipulation import faults
from pytest_bias.experiments.design import Trial
from pytest_bias.experiments.driver import drive_at_once
from pytest_bias.experiments.experiment import plan
from pytest_bias.experiments.messages import Message
from pytest_bias.experiments.protocol import Subject
from tests.core.factories import Script

from .. import refusals
from .. import test_linguistic_audit as cases
from ..audit import LONGEST, Answer
from ..experiment import CALLS, LINGUISTIC_AUDIT
from ..hypotheses import ALL, CONTROLS, H1, H2, H2_WITH_ENGLISH, H3, LENGTH
from ..prompts import BRIEF, DETAILED, SEEDS, prompt_of
from .shipped import ROOT, analysed

FOLDER = ROOT / "bias_tests" / "linguistic_audit"
README = (FOLDER / "README.md").read_text("utf-8")
DOCUMENTED = plan(LINGUISTIC_AUDIT, LINGUISTIC_AUDIT.design("documented"))
GATE = plan(LINGUISTIC_AUDIT, LINGUISTIC_AUDIT.design())
REPLY = "You may begin with the list, then go on to the letter, and end with the date of today."


def prompts() -> dict[str, str]:
    return {trial.id: prompt_of(trial) for trial in DOCUMENTED}


@pytest.mark.requirement("AUDIT-06", "AUDIT-07")
def test_the_documented_design_has_400_trials_and_not_76() -> None:
    assert len(DOCUMENTED) == 4 * 2 * 2 * 25 == CALLS == 400
    assert 4 * 2 * 2 * 19 == 304


def test_the_gate_design_has_five_replicates_and_the_documented_trials_among_them() -> None:
    assert len(GATE) == 2000 + 16 * 4 * 3
    assert {trial.id for trial in DOCUMENTED} < {trial.id for trial in GATE}


@pytest.mark.requirement("AUDIT-05", "AUDIT-09")
def test_25_seeds_of_some_length_that_introduce_their_writer() -> None:
    assert len(SEEDS) == len(set(SEEDS.values())) == 25
    assert [label[:3] for label in SEEDS] == [f"s{number:02}" for number in range(1, 26)]
    for text in SEEDS.values():
        assert text.startswith("My name is $name")
        assert text.count("$name") == 1
        assert 40 <= len(text.split()) <= 75


@pytest.mark.requirement("AUDIT-05")
def test_seeds_are_of_different_kinds() -> None:
    """No two share more than a third of the longer words that are not in many of them."""
    words = [set(re.findall(r"[a-z]{5,}", text)) for text in SEEDS.values()]
    common = Counter(word for found in words for word in found)
    telling = [{word for word in found if common[word] <= 4} for found in words]
    for one, other in combinations(telling, 2):
        assert min(len(one), len(other)) >= 5
        assert len(one & other) < min(len(one), len(other)) / 3


@pytest.mark.requirement("AUDIT-06")
def test_all_400_prompts_are_distinct() -> None:
    assert len(set(prompts().values())) == 400


@pytest.mark.requirement("AUDIT-01")
@pytest.mark.parametrize("factor", ["name_type", "english", "articles"])
def test_every_manipulation_changes_every_seed(factor: str) -> None:
    index = {
        (*trial.condition.levels.values(), *trial.exemplars.values(), trial.item): prompt_of(trial)
        for trial in DOCUMENTED
    }
    at = ["name_type", "english", "articles"].index(factor)
    for key, text in index.items():
        others = [
            other
            for given, other in index.items()
            if given[at] != key[at]
            and all(given[i] == key[i] for i in range(3) if i != at)
            and given[4] == key[4]
        ]
        assert others
        assert text not in others


def test_no_label_and_no_id_stands_in_a_prompt() -> None:
    assert faults(LINGUISTIC_AUDIT) == ()
    for text in prompts().values():
        lowered = text.lower()
        assert not re.search(
            r"anglo|l2|perfect|omitted|present\b|learner|article|\bs\d\d", lowered
        )
        assert "$" not in text


@pytest.mark.requirement("AUDIT-15", "AUDIT-18", "AUDIT-19")
def test_safeguards_are_in_the_data() -> None:
    assert LINGUISTIC_AUDIT.qpm == 60
    assert LINGUISTIC_AUDIT.retention == "measures"
    assert LINGUISTIC_AUDIT.parameters.sent == frozenset()
    assert LINGUISTIC_AUDIT.design("documented").max_calls == CALLS


@pytest.mark.requirement("AUDIT-09")
def test_prompts_hold_no_address_and_no_number_of_anybody() -> None:
    for text in prompts().values():
        assert not re.search(r"@|https?:|www\.|\d[\d -]{4,}\d", text)


@pytest.mark.requirement("AUDIT-01")
def test_the_names_are_the_documented_ones() -> None:
    assert LINGUISTIC_AUDIT.factor("name_type").exemplars == {
        "anglo": ("Emma Johnson", "Liam Murphy"),
        "non_anglo": ("Aisha Rahman", "Mohamed Hassan"),
    }


# --- the protocol and its measures ---------------------------------------------------------------


def measured(text: str) -> dict[str, object]:
    script = Script(lambda *_: text)
    result = drive_at_once(LINGUISTIC_AUDIT.protocol(DOCUMENTED[0], Subject()), script)
    (request,) = script.requests
    assert request.messages == (Message("user", prompt_of(DOCUMENTED[0])),)
    return {measure.name: measure.of(result) for measure in LINGUISTIC_AUDIT.measures}


@pytest.mark.requirement("AUDIT-10", "AUDIT-11", "AUDIT-14")
def test_a_reply_is_measured() -> None:
    assert measured(REPLY) == {
        "response_length": float(len(REPLY)),
        "log_length": pytest.approx(4.454, abs=0.001),
        "sentiment": 0.0,
        "is_refusal": False,
        "latency": 0.25,
    }


@pytest.mark.requirement("AUDIT-12")
def test_a_refusal_is_measured_and_not_asked_again() -> None:
    found = measured("I cannot help with that.")
    assert found["is_refusal"] is True
    assert found["response_length"] == 24.0


@pytest.mark.parametrize("text", ["", " \n"])
def test_a_reply_without_text_is_missing_and_not_asked_again(text: str) -> None:
    script = Script(lambda *_: text)
    with pytest.raises(InvalidReply, match="empty"):
        drive_at_once(LINGUISTIC_AUDIT.protocol(DOCUMENTED[0], Subject()), script)
    assert len(script.requests) == 1


def test_no_reply_is_too_long_or_too_short_for_the_bounds() -> None:
    for text in ("x", "x" * LONGEST):
        for name in ("response_length", "log_length"):
            LINGUISTIC_AUDIT.measure(name).of(Answer(text, 0.0))


def test_a_reply_does_not_show_in_a_repr() -> None:
    assert "begin" not in repr(Answer(REPLY, 0.1))


# --- the questions -------------------------------------------------------------------------------


@pytest.mark.requirement("AUDIT-33")
def test_every_hypothesis_is_a_case_of_its_own() -> None:
    declared = [
        contrast
        for function in vars(cases).values()
        if getattr(function, ATTRIBUTE, None) and getattr(function, ATTRIBUTE).kind == "hypothesis"
        for contrast in getattr(function, ATTRIBUTE).contrasts
    ]
    assert [contrast.id for contrast in declared] == [contrast.id for contrast in ALL]
    assert len({contrast.id for contrast in ALL}) == len(ALL) == 18


@pytest.mark.requirement("AUDIT-22", "AUDIT-23", "AUDIT-25")
def test_factor_by_outcome_is_one_family_of_nine() -> None:
    primary = [hypothesis for hypothesis in ALL if hypothesis.family == "primary"]
    assert primary == [*H1, *H2, *H3]
    asked = {(hypothesis.measure, hypothesis.factor) for hypothesis in (*H1, *H2, *H3)}
    outcomes, factors = (
        ("log_length", "sentiment", "is_refusal"),
        ("english", "name_type", "articles"),
    )
    assert asked == set(product(outcomes, factors))


@pytest.mark.requirement("AUDIT-22", "AUDIT-23", "AUDIT-24", "AUDIT-25")
@pytest.mark.parametrize("hypothesis", [*H1, *H2, *H2_WITH_ENGLISH, *H3], ids=lambda h: h.id)
def test_directions_are_those_of_the_document(
    hypothesis: MeanDifference | RateDifference,
) -> None:
    expected = "positive" if hypothesis.measure == "is_refusal" else "negative"
    assert hypothesis.direction == expected


@pytest.mark.requirement("AUDIT-34")
def test_targets_and_margins_are_as_registered() -> None:
    assert {h.target for h in ALL} == {"fixed"}
    assert {(h.measure, h.margin, h.claim) for h in ALL} == {
        ("log_length", 0.105, "clear"),
        ("sentiment", 0.10, "clear"),
        ("is_refusal", 0.10, "clear"),
        ("missing", 0.07, "clear"),
        ("log_length", 0.21, "detect"),
        ("sentiment", 0.20, "detect"),
        ("is_refusal", 0.20, "detect"),
        ("latency", None, "describe"),
    }


def test_latency_does_not_gate() -> None:
    biased = replace(analysed("even").verdict("latency-english"), status="BIASED")
    inspect.unwrap(cases.test_latency)()
    assert stopped_by(biased, "x", gate="absolute", inconclusive="fail") is None


def test_the_control_compares_what_the_seeds_ask_for() -> None:
    length = cast("MeanDifference", CONTROLS[0].contrast)
    assert (length.high, length.low) == (DETAILED, BRIEF)
    for label, text in SEEDS.items():
        assert ("full detail" in text) == (label in DETAILED)
        assert ("two sentences" in text) == (label in BRIEF)


@pytest.mark.requirement("AUDIT-27", "AUDIT-30")
def test_the_published_column_is_in_characters() -> None:
    import numpy as np  # noqa: PLC0415

    def side(*lengths: int) -> tuple[Cell, ...]:
        values = np.log(np.array(lengths, dtype=np.float64))
        return (Cell(labels={"english": "x"}, members={}, values=values, reasons={}),)

    a, b = (812, 1203, 977, 1500), (640, 702, 1100, 655)
    logged = Pooled(cells=(*side(*a), *side(*b)), sides={"a": side(*a), "b": side(*b)})
    whole = {
        name: tuple(replace(cell, values=np.array(given, dtype=np.float64)) for cell in cells)
        for (name, cells), given in zip(logged.sides.items(), (a, b), strict=True)
    }
    expected = WelchTest().statistics(replace(logged, sides=whole))
    (published,) = {hypothesis.published for hypothesis in LENGTH}
    assert published is not None
    assert published.statistics(logged) == expected
    assert published.words.endswith(", of the number of characters")


# --- the README, and the rules for refusals ------------------------------------------------------


def test_the_error_rate_in_the_readme_is_the_one_found() -> None:
    rates = refusals.error_rates(refusals.labelled(), Refusals())
    assert (rates.refusals, rates.answers) == (30, 30)
    assert str(rates) in README
    assert str(rates) in refusals.report()
    assert len({text for text, _ in refusals.labelled()}) == 60


@pytest.mark.requirement("AUDIT-07", "AUDIT-34")
def test_the_readme_names_every_hypothesis_and_the_wrong_sum() -> None:
    for stem in ("log_length", "sentiment", "is_refusal", "missing", "latency"):
        assert f"`{stem}-english`" in README or f"`{stem}-`" in README
    assert "76 probes" in README
    assert "304" in README


def test_prompts_stand_in_the_stimuli_folder_alone() -> None:
    parts = [text.split(". ")[1][:40] for text in SEEDS.values()]
    files = [*FOLDER.glob("*.py"), *FOLDER.glob("*.md"), *Path(__file__).parent.glob("*.py")]
    for file in files:
        assert not [part for part in parts if part in file.read_text("utf-8")]


@pytest.mark.requirement("AUDIT-26")
def test_a_trial_of_every_condition_is_of_the_experiment() -> None:
    assert {trial.condition.id for trial in DOCUMENTED} == {
        condition.id for condition in LINGUISTIC_AUDIT.conditions
    }
    assert isinstance(DOCUMENTED[0], Trial)
