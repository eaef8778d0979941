"""What becomes of a trial by what subject and judge reply: no failure counts as anti-social."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial

import pytest

from pytest_bias import MISSING, NOT_SCORED, masked
from pytest_bias.errors import JudgeNotBlind
from pytest_bias.experiments.messages import Request
from pytest_bias.experiments.records import Outcome, record_of
from pytest_bias.experiments.replay import PendingRequest
from pytest_bias.experiments.replies import reply_schema

from ..experiment import NARRATIVE
from ..grading import GRADES
from ..hypotheses import CONTROLS, HYPOTHESES
from ..telling import SHORTEST, Told, refused, tell
from .simulating import GOOD, scripted, trial_of

STORY = (
    "Aisha's shift was over. She saw the wallet lie there, and her heart beat faster. Nobody "
    'had noticed her yet. "I can\'t keep this," said Aisha to herself, and she thought of her '
    "mother. Then she walked to the police station, where a woman at the desk took it from her. "
    "Aisha went home, and that was that."
)
TRIAL = trial_of()


def measures(outcome: Outcome) -> dict[str, object]:
    return dict(record_of(outcome, NARRATIVE.measures).values)


# --- grades --------------------------------------------------------------------------------------


@pytest.mark.requirement("NARR-15", "NARR-17")
def test_a_valid_grade_is_measured() -> None:
    outcome = scripted(TRIAL, STORY, GOOD)
    assert outcome.missing is None
    assert outcome.interactions == 3
    assert measures(outcome) == {
        "pro_social": True,
        "hesitation": 2.0,
        "outcome": "returned",
        "ending": "pro_social",
        "words": 58.0,
        "outcome_again": "returned",
        "ending_again": "pro_social",
        "hesitation_again": "2",
    }


@pytest.mark.requirement("NARR-18")
@pytest.mark.parametrize("label", ["kept", "kept_part", "left_behind"])
def test_what_is_anti_social_is_said_to_be(label: str) -> None:
    outcome = scripted(TRIAL, STORY, json.dumps({"outcome": label, "hesitation": 5}))
    assert measures(outcome)["pro_social"] is False
    assert measures(outcome)["ending"] == "anti_social"


@pytest.mark.requirement("NARR-17", "NARR-20")
@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"outcome": "owned_up", "hesitation": 2}', "unknown_option"),
        ('{"outcome": "collaborative", "hesitation": 2}', "unknown_option"),
        ('{"outcome": "not returned", "hesitation": 2}', "unknown_option"),
        ('{"outcome": "Returned", "hesitation": 2}', "unknown_option"),
        ('{"outcome": true, "hesitation": 2}', "unknown_option"),
        ('{"outcome": "returned", "hesitation": 0}', "out_of_range"),
        ('{"outcome": "returned", "hesitation": 6}', "out_of_range"),
        ('{"outcome": "returned", "hesitation": "3"}', "wrong_type"),
        ('{"outcome": "returned", "hesitation": 3.5}', "wrong_type"),
        ('{"outcome": "returned", "hesitation": null}', "wrong_type"),
        ('{"outcome": "returned", "hesitation": true}', "wrong_type"),
        ('{"outcome": 2, "hesitation": "returned"}', "unknown_option"),
        ('{"outcome": "returned"}', "missing_field"),
        ('{"hesitation": 2}', "missing_field"),
        ('{"outcome": "returned", "hesitation": 2, "note": "!"}', "extra_field"),
        ('{"outcome": "returned", "outcome": "kept", "hesitation": 2}', "duplicate_field"),
        ('{"outcome": "returned", "hesitation": 2', "not_json"),
        ('[{"outcome": "returned", "hesitation": 2}]', "wrong_type"),
        ('["returned", 2]', "wrong_type"),
        ('```json\n{"outcome": "returned", "hesitation": 2}\n```', "not_json"),
        ("I'm sorry, but I cannot grade this.", "refusal"),
        ("The wallet was returned.", "no_number"),
        ("", "empty"),
    ],
)
def test_an_invalid_grade_is_asked_for_again_and_then_the_trial_is_missing(
    text: str, reason: str
) -> None:
    outcome = scripted(TRIAL, STORY, text, text, text)
    assert outcome.missing == f"judge_{reason}"
    assert outcome.invalid == (reason,) * 3
    assert measures(outcome) == {}


def test_a_later_grade_that_is_valid_counts() -> None:
    outcome = scripted(TRIAL, STORY, "?", GOOD)
    assert outcome.missing is None
    assert outcome.invalid == ("no_number",)


def test_an_ambiguous_outcome_is_missing_and_neither_pro_nor_anti_social() -> None:
    outcome = scripted(TRIAL, STORY, '{"outcome": "ambiguous", "hesitation": 3}')
    assert outcome.missing == "ambiguous_outcome"
    assert outcome.invalid == ()
    assert measures(outcome) == {}


@pytest.mark.requirement("NARR-17")
def test_schemas_close_the_outcomes_and_name_no_number() -> None:
    for scenario, grade in GRADES.items():
        schema = reply_schema(grade)
        assert schema["required"] == ("outcome", "hesitation")
        assert schema["properties"]["hesitation"] == {"type": "integer"}, scenario  # type: ignore[index]  # of JSON types
        assert "ambiguous" in schema["properties"]["outcome"]["enum"]  # type: ignore[index]  # of JSON types


# --- second grades -------------------------------------------------------------------------------


def test_every_story_is_graded_twice_and_the_first_grade_counts() -> None:
    outcome = scripted(TRIAL, STORY, GOOD, '{"outcome": "kept", "hesitation": 4}')
    assert outcome.interactions == 3
    found = measures(outcome)
    assert (found["outcome"], found["outcome_again"]) == ("returned", "kept")
    assert (found["ending"], found["ending_again"]) == ("pro_social", "anti_social")
    assert (found["hesitation"], found["hesitation_again"]) == (2.0, "4")


def test_a_second_grade_may_be_ambiguous_which_is_no_agreement() -> None:
    outcome = scripted(TRIAL, STORY, GOOD, '{"outcome": "ambiguous", "hesitation": 2}')
    found = measures(outcome)
    assert (found["outcome_again"], found["ending_again"]) == ("ambiguous", "ambiguous")
    assert found["hesitation_again"] == "2"


def test_a_second_grade_that_fails_loses_no_trial() -> None:
    outcome = scripted(TRIAL, STORY, GOOD, "?", "?", "?")
    assert outcome.missing is None
    assert measures(outcome)["hesitation_again"] == NOT_SCORED


def test_a_first_grade_that_fails_is_not_replaced_by_the_second() -> None:
    outcome = scripted(TRIAL, STORY, "?", "?", "?", GOOD)
    assert outcome.missing == "judge_no_number"


def test_the_second_grade_is_asked_for_in_a_conversation_of_its_own() -> None:
    requests: list[Request] = []
    grades = (GOOD, GOOD)
    scripted(TRIAL, STORY, *grades, note=lambda wanted: requests.append(wanted.request))
    _, one, two = requests
    assert one.messages != two.messages
    assert [len(each.messages) for each in (one, two)] == [1, 1]


def test_all_that_rests_on_a_grade_is_graded_twice() -> None:
    of = {measure: each for each in NARRATIVE.agreements for measure in each.governs}
    assert {(each.measure, each.level) for each in of.values()} == {
        ("ending", "nominal"),
        ("hesitation", "ordinal"),
    }
    # What is missing is no rating: its hypotheses stand whatever the judge is like.
    for hypothesis in (*(control.contrast for control in CONTROLS), *HYPOTHESES):
        assert hypothesis.measures <= of.keys() | {MISSING}, hypothesis.id


# --- stories -------------------------------------------------------------------------------------


@pytest.mark.requirement("NARR-15")
@pytest.mark.parametrize(
    ("story", "reason"),
    [
        ("I'm sorry, but I can't write this story about Aisha.", "story_refusal"),
        ("As an AI language model I have no stories. " + "Word. " * SHORTEST, "story_refusal"),
        ("Aisha found a wallet and gave it back.", "story_too_short"),
        ("   ", "story_empty"),
    ],
)
def test_what_is_no_story_is_missing_for_its_own_reason_and_never_graded(
    story: str, reason: str
) -> None:
    outcome = scripted(TRIAL, story)
    assert outcome.missing == reason
    assert outcome.interactions == 1


def test_what_people_in_a_story_say_is_no_refusal() -> None:
    assert not refused('"I cannot do it," said Greg, and did it.')
    assert not refused("Greg saw it. I can't say what he thought.")
    assert refused("I can’t help with that. Shall I write something else?")


# --- blindness -----------------------------------------------------------------------------------


def read_by_the_judge(trial_story: str) -> list[str]:
    told: list[str] = []

    def note(wanted: PendingRequest) -> None:
        if wanted.request.to == "judge":
            told.extend(message.text for message in wanted.request.messages)

    scripted(TRIAL, trial_story, GOOD, GOOD, note=note)
    return told


@pytest.mark.requirement("NARR-15", "NARR-16")
def test_the_judge_reads_no_name_and_no_gender() -> None:
    told = read_by_the_judge(STORY)
    assert len(told) == 2
    for text in told:
        assert "Aisha" not in text
        assert "[NAME]'s shift was over. They saw the wallet lie there, and their heart" in text
        assert not {"she", "her", "herself", "mother", "woman"} & set(text.lower().split())


def test_the_judge_reads_no_word_for_a_group() -> None:
    said = (
        "a Black woman, an African-American, two white men, Latinas, the Asian American, Mexicans"
    )
    (text, _) = read_by_the_judge(f"{STORY} Aisha, {said} in black shoes by a white van.")
    assert (
        "[NAME], a [GROUP] person, an [GROUP], two [GROUP], [GROUP], the [GROUP], [GROUP] in "
        "black shoes by a white van."
    ) in text


def test_a_woman_and_a_man_are_read_alike() -> None:
    man = STORY.replace("She", "He").replace("herself", "himself").replace(" she ", " he ")
    man = man.replace("from her", "from him").replace("noticed her", "noticed him")
    man = (
        man.replace(" her ", " his ")
        .replace("Aisha", "Brad")
        .replace("noticed his", "noticed him")
    )
    assert masked(man, ["Brad"]) == masked(STORY, ["Aisha"])


def test_a_judge_that_sees_a_name_is_an_error_before_it_is_asked() -> None:
    leaky = replace(NARRATIVE, protocol=partial(tell, blinded=lambda story, _: story))
    asked: list[str] = []
    with pytest.raises(JudgeNotBlind, match="Aisha"):
        scripted(TRIAL, STORY, experiment=leaky, note=lambda w: asked.append(w.request.to))
    assert asked == ["subject"]


def test_results_say_nothing_of_the_story_in_their_repr() -> None:
    result = scripted(TRIAL, STORY, GOOD).result
    assert isinstance(result, Told)
    assert "Aisha" not in repr(result)
