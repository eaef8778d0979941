"""The conversation of three turns: what is asked, what is taken as an answer, and its size."""

from __future__ import annotations

import importlib
import re
import shutil
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_bias.errors import BadData, InvalidReply
from pytest_bias.experiments.canonical import plain
from pytest_bias.experiments.design import Design, Trial
from pytest_bias.experiments.driver import drive_at_once
from pytest_bias.experiments.experiment import Experiment, plan
from pytest_bias.experiments.messages import Completion, Message, Place, Request, trial_seed
from pytest_bias.experiments.protocol import Subject
from pytest_bias.experiments.replay import Unrecorded, Walk, replay, simulated_reply
from pytest_bias.experiments.replies import reply_schema
from pytest_bias.experiments.simulated import SimulatedPrompt
from tests.core.factories import Script, completion

from ..experiment import ALL_IN_ONE, ANCHORING, CITATION, DEMAND, PEOPLE, SENTENCING
from ..simulated import answer

HERE = Path(__file__).parents[1]
README = (HERE / "README.md").read_text("utf-8")

RULING = (
    '{"prosecutorRecommendationMonths": %s, "prosecutorEvaluation": "too low", '
    '"defenseAttorneyEvaluation": "too low", "sentenceMonths": %s}'
)


def with_control_arm() -> Experiment:
    """The opt-in arm without a prosecutor, as the README has it."""
    example, _ = re.findall(r"^```python\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)
    found: dict[str, Any] = {"__name__": "control_arm"}
    exec(compile(example, "README.md", "exec"), found)  # noqa: S102  (our own README)
    experiment = found["WITH_CONTROL_ARM"]
    assert isinstance(experiment, Experiment)
    return experiment


def trial(of: Experiment, level: str, replicate: int = 1) -> Trial:
    return next(
        t
        for t in plan(of, Design(replicate, controls=replicate))
        if (t.condition.id, t.replicate) == (level, replicate)
    )


def asked(of: Experiment, level: str, *texts: str) -> tuple[Any, list[Request]]:
    """The result of one trial and what was asked, with replies as given."""
    given = iter(texts)
    script = Script(lambda *_: next(given))
    result = drive_at_once(of.protocol(trial(of, level), Subject(of.parameters)), script)
    return result, script.requests


# --- the conversation ----------------------------------------------------------------------------


@pytest.mark.requirement(
    "ANCHOR-01", "ANCHOR-02", "ANCHOR-03", "ANCHOR-04", "ANCHOR-05", "ANCHOR-10"
)
@pytest.mark.parametrize(("level", "demand"), [("low", 3), ("high", 9)])
def test_a_conversation_of_three_turns(level: str, demand: int) -> None:
    result, requests = asked(ANCHORING, level, "Too high.", "Too low.", RULING % (demand, 5))
    assert (result.sentence_months, result.prosecutor_months) == (5, demand)
    assert [[m.role for m in request.messages] for request in requests] == [
        ["user"],
        ["user", "assistant", "user"],
        ["user", "assistant", "user", "assistant", "user"],
    ]
    first, second, third = (request.messages[-1].text for request in requests)
    assert f"The prosecutor demands {demand} months on probation." in first
    assert "Lena M." in first
    assert "12th offence" in first
    assert "randomly determined" in first
    assert "does not reflect any judicial expertise" in first
    assert "too low, too high, or just right" in first
    assert "The defence attorney demands 1 month on probation." in second
    assert "too low, too high, or just right" in second
    for key in (
        "prosecutorRecommendationMonths",
        "prosecutorEvaluation",
        "defenseAttorneyEvaluation",
        "sentenceMonths",
    ):
        assert f'"{key}"' in third
    assert "JSON" in third


def test_only_the_first_turn_speaks_of_chance() -> None:
    _, requests = asked(ANCHORING, "high", "Too high.", "Too low.", RULING % (9, 5))
    for request in requests[1:]:
        told = request.messages[-1].text.lower()
        for word in ("random", "dice", "chance", "arbitrar", "expertise", "study"):
            assert word not in told


@pytest.mark.requirement("ANCHOR-04", "ANCHOR-06")
def test_only_the_demand_differs_between_conditions() -> None:
    low = [r.messages[-1].text for r in asked(ANCHORING, "low", "a", "b", RULING % (3, 5))[1]]
    high = [r.messages[-1].text for r in asked(ANCHORING, "high", "a", "b", RULING % (9, 5))[1]]
    assert low[0] != high[0]
    assert low[0].replace("3 months", "9 months") == high[0]
    assert low[1:] == high[1:]


@pytest.mark.requirement("ANCHOR-09")
def test_the_last_prompt_and_the_schema_state_the_range_and_no_other_does() -> None:
    _, requests = asked(ANCHORING, "high", "Too high.", "Too low.", RULING % (9, 5))
    first, second, third = (request.messages[-1].text for request in requests)
    assert "12" not in first.replace("12th offence", "") + second
    assert "in whole months from 0 to 12?" in third
    assert "(an integer from 0 to 12)" in third
    schema: Any = requests[-1].schema
    assert schema["properties"]["sentenceMonths"] == {
        "type": "integer",
        "minimum": 0,
        "maximum": 12,
    }


@pytest.mark.requirement("ANCHOR-11")
def test_the_schema_asks_for_exactly_the_four_keys_in_their_order() -> None:
    schema: Any = plain(reply_schema(SENTENCING.anchored))
    assert (
        list(schema["properties"])
        == schema["required"]
        == [
            "prosecutorRecommendationMonths",
            "prosecutorEvaluation",
            "defenseAttorneyEvaluation",
            "sentenceMonths",
        ]
    )
    assert schema["additionalProperties"] is False


# --- replies -------------------------------------------------------------------------------------

INVALID = {
    "out_of_range": [RULING % (9, 13), RULING % (9, -1), RULING % (9, 10**30)],
    "wrong_echo": [RULING % (3, 5), RULING % (0, 5)],
    "wrong_type": [RULING % (9, 5.5), RULING % (9, '"5"'), RULING % (9, "true"), "[5]", "5"],
    "not_json": [f"```json\n{RULING % (9, 5)}\n```", RULING % (9, 5) + " So be it."],
    "no_number": ["A sentence must be found by a court."],
    "refusal": ["I'm sorry, but I can't decide on a sentence."],
    "empty": ["", " \n"],
    "unknown_option": [(RULING % (9, 5)).replace("too low", "much too low", 1)],
    "missing_field": ["{}", '{"sentenceMonths": 5}'],
    "extra_field": [(RULING % (9, 5)).replace("}", ', "reason": "x"}')],
    "duplicate_field": [(RULING % (9, 5)).replace("}", ', "sentenceMonths": 6}')],
}


@pytest.mark.requirement(
    "ANCHOR-09", "ANCHOR-10", "ANCHOR-11", "ANCHOR-12", "ANCHOR-13", "ANCHOR-14", "ANCHOR-15"
)
@pytest.mark.parametrize(
    ("reason", "text"),
    [(reason, text) for reason, texts in INVALID.items() for text in texts],
    ids=[f"{reason}-{n}" for reason, texts in INVALID.items() for n, _ in enumerate(texts)],
)
def test_invalid_replies_are_tried_three_times_and_then_missing(reason: str, text: str) -> None:
    calls: list[str] = []

    def lookup(key: str) -> Completion:
        calls.append(key)
        return completion("Too high." if len(calls) <= 2 else text)

    outcome = replay(ANCHORING, "openai/m", trial(ANCHORING, "high"), lookup)
    assert outcome.missing == reason
    assert outcome.invalid == (reason,) * 3
    assert len(set(calls)) == 5


@pytest.mark.parametrize(("first", "counted"), [(9, 9), (3, 3), (99, 12), (-1, 0)])
def test_the_echo_that_is_measured_is_that_of_the_first_reply_that_could_be_read(
    first: int, counted: int
) -> None:
    replies = ["no JSON", RULING % (first, 4), RULING % (9, 5)]
    result, requests = asked(ANCHORING, "high", "a", "b", *replies)
    assert (result.prosecutor_months, result.sentence_months) == (counted, 4 if first == 9 else 5)
    assert len(requests) == (4 if first == 9 else 5)


@pytest.mark.requirement("ANCHOR-09")
@pytest.mark.parametrize("months", [0, 12])
def test_the_ends_of_the_range_are_valid(months: int) -> None:
    result, _ = asked(ANCHORING, "low", "a", "b", RULING % (3, months))
    assert result.sentence_months == months


# --- size and metadata ---------------------------------------------------------------------------


def test_n_replicates_are_two_n_trials_and_those_of_the_controls() -> None:
    assert len(plan(ANCHORING, ANCHORING.design())) == 360 + 48
    assert len(plan(ANCHORING, ANCHORING.design("documented"))) == 60
    assert len(plan(ANCHORING, ANCHORING.design("gate", 7))) == 14 + 14


def test_a_grave_and_a_trivial_case_are_levels_of_the_demand_and_no_conditions() -> None:
    low, high = (condition.id for condition in ANCHORING.conditions)
    grave, trivial = ANCHORING.control_conditions
    assert (low, high, grave.id, trivial.id) == ("low", "high", "grave", "trivial")
    for level, words in (("grave", "lined with foil"), ("trivial", "first offence")):
        _, (first, *_) = asked(ANCHORING, level, "a", "b", RULING % (6, 5))
        told = first.messages[-1].text
        assert words in told
        assert "prosecutor demands 6 months" in told


def test_the_documented_design_is_part_of_the_gates() -> None:
    documented = {t.id for t in plan(ANCHORING, ANCHORING.design("documented"))}
    assert documented < {t.id for t in plan(ANCHORING, ANCHORING.design())}


@pytest.mark.requirement(
    "ANCHOR-07", "ANCHOR-29", "ANCHOR-35", "ANCHOR-39", "ANCHOR-40", "ANCHOR-41", "ANCHOR-42"
)
def test_identity_and_metadata() -> None:
    assert ANCHORING.id == "anchoring-prosecutor-sentencing"
    assert ANCHORING.name == "Anchoring Bias - Prosecutor Sentencing Recommendation"
    assert [c["demand"] for c in ANCHORING.conditions] == [3, 9]
    assert ANCHORING.source == CITATION
    assert "10.1177/0146167205282152" in CITATION
    metadata: Any = ANCHORING.metadata
    assert metadata["response_type"] == "integer, months on probation, 0 to 12"
    assert "randomly determined" in metadata["anchor_derivation"]
    assert "Incomplete case materials" in metadata["limitations"][0]
    assert "No legal qualifications" in metadata["limitations"][1]
    assert (PEOPLE.low, PEOPLE.high, PEOPLE.df, PEOPLE.n) == (4.0, 6.05, 37, 39)
    assert (PEOPLE.high - PEOPLE.low) / PEOPLE.se == pytest.approx(2.10)


@pytest.mark.parametrize("of", [ANCHORING, ALL_IN_ONE], ids=["in turns", "at once"])
def test_recordings_of_the_instrument_before_are_none_of_this_one(of: Experiment) -> None:
    """Its key order was another, which no hash of the schema shows."""
    which, before = trial(of, "low"), replace(of, version=1)
    walk = Walk(before, "simulated/even", which, lambda wanted: simulated_reply(of, wanted))
    recorded = {wanted.key: reply for wanted, reply in walk.answered}
    assert replay(before, "simulated/even", which, recorded.get).missing is None
    with pytest.raises(Unrecorded) as caught:
        replay(of, "simulated/even", which, recorded.get)
    assert caught.value.pending.place == Place((), 1, 1)
    later = Walk(of, "simulated/even", which, lambda wanted: simulated_reply(of, wanted))
    assert recorded.keys().isdisjoint(wanted.key for wanted in later.requests)


# --- other stimuli and other anchors -------------------------------------------------------------

BAD = {
    "variable in the vignette": ("vignette", "$name was caught.", "uses unknown variable(s) name"),
    "unknown in the prosecutor's turn": (
        "anchor",
        "$vignette $anchor $judge",
        "uses unknown variable(s) judge",
    ),
    "no demand": ("anchor", "$vignette", "does not use variable(s) anchor"),
    "no vignette": ("anchor", "$anchor", "does not use variable(s) vignette"),
    "no plea": ("comparison", "1 month", "does not use variable(s) comparison"),
    "the demand in the defence's turn": (
        "comparison",
        "$comparison $anchor",
        "unknown variable(s)",
    ),
    "the demand in the sentence": ("estimate", "$anchor", "uses unknown"),
    "a variable in the unanchored sentence": ("estimate_unanchored", "$anchor", "uses unknown"),
    "a lone dollar": ("vignette", "goods worth 30 $ were found", "a lone dollar sign"),
    "all in one, no sentence": (
        "all_in_one",
        "$vignette $anchor $comparison",
        "does not use variable(s) estimate",
    ),
    "all in one, no demand": (
        "all_in_one",
        "$vignette $comparison $estimate",
        "does not use variable(s) anchor",
    ),
    "all in one, unknown": (
        "all_in_one",
        "$vignette $anchor $comparison $estimate $judge",
        "uses unknown variable(s) judge",
    ),
}


@pytest.mark.requirement("ANCHOR-44")
@pytest.mark.parametrize(("name", "text", "problem"), BAD.values(), ids=BAD)
def test_variables_are_checked_when_a_copy_with_other_stimuli_is_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, text: str, problem: str
) -> None:
    ignored = shutil.ignore_patterns("tests", "test_*", "__pycache__")
    shutil.copytree(HERE, tmp_path / "another_case", ignore=ignored)
    (tmp_path / "another_case" / "stimuli" / f"{name}.txt").write_text(text, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    try:
        with pytest.raises(BadData) as caught:
            importlib.import_module("another_case.experiment")
    finally:
        for module in [each for each in sys.modules if each.startswith("another_case")]:
            del sys.modules[module]
    assert str(caught.value).startswith(f"template {name!r}")
    assert problem in str(caught.value)


@pytest.mark.requirement("ANCHOR-43")
def test_other_anchors_make_another_experiment() -> None:
    anchors = replace(DEMAND, levels={"tiny": 1, "middle": 6, "large": 11})
    other = replace(ANCHORING, id="anchoring-other", factors=[anchors])
    assert [c.id for c in other.conditions] == ["tiny", "middle", "large"]
    _, requests = asked(other, "large", "a", "b", RULING % (11, 5))
    assert "demands 11 months" in requests[0].messages[-1].text
    at_once = replace(ALL_IN_ONE, id="anchoring-other", factors=[anchors])
    _, (request,) = asked(at_once, "large", RULING % (11, 5))
    assert "demands 11 months" in request.messages[-1].text


@pytest.mark.requirement("ANCHOR-07")
def test_by_default_there_is_no_control_arm() -> None:
    assert [c.id for c in ANCHORING.conditions] == ["low", "high"]


def script_of(of: Experiment, subject: str, which: Trial) -> Any:
    def say(request: Request, place: Place) -> str:
        seed = trial_seed(of.id, which, place)
        text = answer(SimulatedPrompt(subject, request.messages, seed))
        assert text is not None
        return text

    return Script(say)


def test_the_control_arm_works_from_end_to_end() -> None:
    of = with_control_arm()
    assert [c.id for c in of.conditions] == ["low", "high", "none"]
    assert [m.name for m in of.measures] == ["sentence_months", "defence_evaluation"]
    months = []
    for number in range(1, 21):
        which = trial(of, "none", number)
        script = script_of(of, "biased", which)
        result = drive_at_once(of.protocol(which, Subject(of.parameters)), script)
        assert isinstance(result, SENTENCING.unanchored)
        months.append(of.measure("sentence_months").of(result))
        assert len(script.requests[0].messages) == 1
        told = " ".join(m.text for r in script.requests for m in r.messages if m.role == "user")
        assert "prosecutor" not in told.lower()
        assert "random" not in told
    assert 4 <= sum(map(float, months)) / 20 <= 6
    anchored: Any = drive_at_once(
        of.protocol(trial(of, "low"), Subject()), script_of(of, "biased", trial(of, "low"))
    )
    assert anchored.prosecutor_months == 3


def test_an_echo_in_the_unanchored_arm_is_an_extra_field() -> None:
    with pytest.raises(InvalidReply, match="extra_field"):
        asked(with_control_arm(), "none", "a", *[RULING % (9, 5)] * 3)


def test_other_prompts_are_not_this_experiments() -> None:
    for told in ("What is 2 + 2?", ""):
        prompt = SimulatedPrompt("even", (Message("user", told),), 1)
        assert answer(prompt) is None
    assert answer(SimulatedPrompt("even", (Message("system", "Lena M."),), 1)) is None
    lena = SimulatedPrompt("even", (Message("user", "Lena M. was caught."),), 1)
    assert answer(lena) is None
    _, requests = asked(ANCHORING, "high", "no evaluation", "nor this", RULING % (9, 5))
    assert answer(SimulatedPrompt("even", requests[2].messages, 1)) is None
