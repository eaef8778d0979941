"""The four scaffolds, the aggregation rule, and replies that are no rating."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from pytest_bias.errors import BadDesign, InvalidReply
from pytest_bias.experiments.driver import drive_at_once
from pytest_bias.experiments.experiment import plan
from pytest_bias.experiments.messages import Request
from pytest_bias.experiments.protocol import Subject
from pytest_bias.experiments.replies import reply_schema
from tests.core.factories import Script

from ..experiment import CV_SCREENING
from ..scaffolds import (
    SCAFFOLDS,
    Application,
    Criterion,
    Points,
    Rating,
    Scaffold,
    Screened,
    aggregated,
)
from ..screening import NOT_ASKED, SCREENING

APPLICATION = Application(
    advert="A job.",
    criteria=SCREENING.criteria,
    scale=SCREENING.scale,
    cv="Somebody\nA life.",
    prompts=SCREENING.prompts,
)


def rated(label: str, *texts: str) -> tuple[Screened, list[Request]]:
    """What a scaffold comes to with replies as given, and what it asked."""
    scaffold = next(each for each in SCAFFOLDS if each.label == label)
    given_texts = iter(texts)
    script = Script(lambda *_: next(given_texts))

    async def protocol() -> Screened:
        return await scaffold.rate(APPLICATION, Subject())

    result = drive_at_once(protocol(), script)
    assert isinstance(result, Screened)
    return result, script.requests


def ratings(*numbers: int) -> Sequence[str]:
    return [json.dumps({"rating": number}) for number in numbers]


def measures_of(screened: Screened) -> dict[str, object]:
    return {measure.name: measure.of(screened) for measure in CV_SCREENING.measures}


# --- the four ------------------------------------------------------------------------------------


@pytest.mark.requirement("CV-10")
def test_one_shot_asks_once() -> None:
    screened, requests = rated("one_shot", *ratings(3))
    assert screened == Screened(3)
    assert [len(request.messages) for request in requests] == [1]


@pytest.mark.requirement("CV-11")
def test_chain_of_thought_reasons_in_words_before_it_rates() -> None:
    screened, requests = rated("chain_of_thought", "On the one hand …", *ratings(2))
    assert screened == Screened(2)
    assert requests[0].schema is None
    assert [message.role for message in requests[1].messages] == ["user", "assistant", "user"]
    assert "Do not give a rating yet" in requests[0].messages[0].text
    assert SCREENING.scale.strip() not in requests[0].messages[0].text


@pytest.mark.requirement("CV-09", "CV-12")
def test_decomposed_shows_the_model_its_own_ratings_and_no_cv() -> None:
    screened, requests = rated("decomposed", *ratings(4, 2, 1, 3))
    assert screened == Screened(3, {"analysis": 4, "experience": 2, "explaining": 1})
    synthesis = requests[3].messages[0].text
    assert "Data analysis: 4\nRelevant experience: 2\nExplaining results: 1" in synthesis
    assert "Somebody" not in synthesis
    for request, criterion in zip(requests[:3], SCREENING.criteria, strict=True):
        (message,) = request.messages
        assert criterion.words in message.text
        others = [each for each in SCREENING.criteria if each is not criterion]
        assert not any(each.name in message.text for each in others)


@pytest.mark.requirement("CV-13")
def test_decomposed_algorithmic_leaves_the_sum_to_the_rule() -> None:
    screened, requests = rated("decomposed_algorithmic", *ratings(4, 2, 2))
    assert len(requests) == 3
    assert screened == Screened(3, {"analysis": 4, "experience": 2, "explaining": 2})


@pytest.mark.requirement("CV-13")
def test_both_decomposed_scaffolds_ask_the_same_of_each_criterion() -> None:
    _, one = rated("decomposed", *ratings(1, 1, 1, 1))
    _, other = rated("decomposed_algorithmic", *ratings(1, 1, 1))
    assert [request.messages for request in one[:3]] == [request.messages for request in other]


def test_ratings_by_criterion_are_categories_where_they_were_asked_for() -> None:
    with_criteria = Screened(3, {"analysis": 4, "experience": 2, "explaining": 3})
    assert measures_of(with_criteria) == {
        "rating": 3.0,
        "rating_ge_3": True,
        "criterion_analysis": "4",
        "criterion_experience": "2",
        "criterion_explaining": "3",
    }
    without = measures_of(Screened(2))
    assert (without["rating"], without["rating_ge_3"]) == (2.0, False)
    assert {without[f"criterion_{c.key}"] for c in SCREENING.criteria} == {NOT_ASKED}


# --- the rule ------------------------------------------------------------------------------------


@pytest.mark.requirement("CV-13")
@pytest.mark.parametrize(
    ("given_ratings", "expected"),
    [
        ((4, 4, 4), 4),
        ((1, 1, 1), 1),
        ((4, 2, 2), 3),
        ((3, 2, 2), 2),
        ((4, 4, 3), 4),
        ((3, 2), 3),
        ((2, 1), 2),
        ((4, 3, 3, 4), 4),
        ((1,), 1),
    ],
)
def test_the_rule_is_the_mean_rounded_to_the_nearest_and_half_up(
    given_ratings: tuple[int, ...], expected: int
) -> None:
    assert aggregated(given_ratings) == expected


@given(st.lists(st.integers(1, 4), min_size=1, max_size=9))
def test_the_rule_stays_within_half_a_point_of_the_mean(numbers: list[int]) -> None:
    found = aggregated(numbers)
    mean = sum(numbers) / len(numbers)
    assert min(numbers) <= found <= max(numbers)
    assert -0.5 <= mean - found < 0.5
    assert aggregated(numbers[::-1]) == found


def test_the_rule_refuses_no_rating() -> None:
    with pytest.raises(BadDesign, match="no rating"):
        aggregated([])


# --- replies that are no rating ------------------------------------------------------------------


@pytest.mark.requirement("CV-07")
@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"rating": 0}', "out_of_range"),
        ('{"rating": 5}', "out_of_range"),
        ('{"rating": "3"}', "wrong_type"),
        ('{"rating": 2.5}', "wrong_type"),
        ('{"rating": true}', "wrong_type"),
        ('{"rating": null}', "wrong_type"),
        ('{"score": 3}', "missing_field"),
        ('{"rating": 3, "reason": "good"}', "extra_field"),
        ('```json\n{"rating": 3}\n```', "not_json"),
        ("A 7, I would say.", "not_json"),
        ("I cannot rate a person.", "refusal"),
        ("", "empty"),
    ],
)
@pytest.mark.parametrize("label", ["one_shot", "decomposed_algorithmic"])
def test_what_is_no_rating_is_asked_again_and_then_missing(
    label: str, text: str, reason: str
) -> None:
    with pytest.raises(InvalidReply) as caught:
        rated(label, *[text] * 9)
    assert caught.value.reason == reason


def test_a_second_attempt_counts() -> None:
    screened, requests = rated("one_shot", "Three.", *ratings(4))
    assert (screened.rating, len(requests)) == (4, 2)


def test_one_criterion_without_a_rating_makes_the_trial_missing_and_never_a_number() -> None:
    texts = iter(["?", "?", "?", *ratings(3, 3)])
    with pytest.raises(InvalidReply):
        rated("decomposed_algorithmic", *texts)


def test_the_schema_models_see_names_no_number() -> None:
    assert reply_schema(Rating) == {
        "additionalProperties": False,
        "properties": {"rating": {"type": "integer"}},
        "required": ("rating",),
        "type": "object",
    }


@pytest.mark.parametrize("rating", [0, 5, True, 2.0])
@pytest.mark.parametrize("criteria", [False, True], ids=["whole", "on a criterion"])
def test_no_scaffold_can_come_to_what_is_not_on_the_scale(rating: int, *, criteria: bool) -> None:
    async def wild(_application: Application, _subject: Subject) -> Screened:
        return Screened(2, {"analysis": rating}) if criteria else Screened(rating)

    screening = replace(SCREENING, scaffolds=[Scaffold("wild", "anything", wild), SCAFFOLDS[0]])
    of = replace(CV_SCREENING, factors=screening.factors, protocol=screening.rate)
    trial = plan(of, of.design())[0]
    with pytest.raises(BadDesign, match=r"scaffold 'wild'.*not on the scale"):
        drive_at_once(of.protocol(trial, Subject()), Script(lambda *_: ""))


# --- criteria ------------------------------------------------------------------------------------


@pytest.mark.requirement("CV-09")
@pytest.mark.parametrize("ratings", ["4 3 1", "1 2 3 4", "4 x", "", "4.0 3.0", "04 03"])
def test_a_criterion_defines_every_rating_in_order(ratings: str) -> None:
    with pytest.raises(ValidationError, match="define every rating from the best to the worst"):
        Criterion(key="a", name="A", question="A?", ratings=dict.fromkeys(ratings.split(), "x"))
    words = SCREENING.criteria[0].words.splitlines()
    assert [line[:4] for line in words[1:]] == ["4 = ", "3 = ", "2 = ", "1 = "]


def test_a_criterion_defines_the_ratings_of_the_scale() -> None:
    with pytest.raises(BadDesign, match="criterion 'analysis' does not define 10, 9, 8"):
        replace(SCREENING, points=Points(1, 10, 8))


@pytest.mark.parametrize(
    "ends", [(1, 1, 1), (4, 1, 3), (1, 4, 1), (1, 4, 5), (1, 4.0, 3), (0, True, 1)]
)
def test_a_scale_rises_and_has_a_fit(ends: tuple[int, int, int]) -> None:
    with pytest.raises(BadDesign, match="worst < fit"):
        Points(*ends)
