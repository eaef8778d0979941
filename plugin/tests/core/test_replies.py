"""Replies: valid, or invalid for a reason; and what is taken off before they are read."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field

from pytest_bias import MeanDifference
from pytest_bias.baselines.fingerprints import fingerprint_of
from pytest_bias.cassettes.recorded_trials import reread
from pytest_bias.cassettes.store import Cassette
from pytest_bias.errors import BadDesign, InvalidReply
from pytest_bias.experiments.canonical import dumps
from pytest_bias.experiments.design import Trial
from pytest_bias.experiments.experiment import Experiment, ModelRoles, plan
from pytest_bias.experiments.measures import FORMAT_KEPT, Measure
from pytest_bias.experiments.messages import Message, Place, Request
from pytest_bias.experiments.protocol import Subject
from pytest_bias.experiments.records import Outcome, record_of
from pytest_bias.experiments.replay import Unrecorded, carry_out
from pytest_bias.experiments.replies import (
    accept_object,
    accept_text,
    bare_json,
    reply_schema,
    spoken,
)
from pytest_bias.providers.roles import roles_of
from pytest_bias.report.dataset import dataset_of
from pytest_bias.settings.roster import parse_roster

from .factories import MODEL, Score, completion, experiment, outcomes_of, record
from .in_memory import NOTHING_KEPT
from .test_casting import SETTINGS
from .test_measured import explained, kept, read
from .test_measured import record as record_measures


class Ruling(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    months: int = Field(alias="sentenceMonths", ge=0, le=12)
    opinion: Literal["too low", "too high"]
    share: float = 0.5


GOOD = '{"sentenceMonths": 5, "opinion": "too low"}'


def with_months(months: str) -> str:
    return GOOD.replace("5", months)


NESTED = 100_000

# each text and finish with the reason it is invalid for
INVALID: dict[str, tuple[str, str, str]] = {
    "nothing": ("", "stop", "empty"),
    "white space": (" \n\t\u00a0", "stop", "empty"),
    "nothing for want of room": ("", "length", "truncated"),
    "refused by the provider": (GOOD, "refusal", "refusal"),
    "ended by no end of the model's": (GOOD, "pause_turn", "unknown_end_pause_turn"),
    "filtered": ("", "content_filter", "content_filter"),
    "refusal in words": ("I'm sorry, but I can't help with that.", "stop", "refusal"),
    "policy in words": ("This request violates our usage policies.", "stop", "refusal"),
    "refusing words around a number of its own": (
        "As an AI language model, I give no 5 months.",
        "stop",
        "not_json",
    ),
    "lecture": ("A sentence must be found by a court.", "stop", "no_number"),
    "prose with a number": ("I would give her 5 months.", "stop", "not_json"),
    "fenced": (f"```json\n{GOOD}\n```", "stop", "not_json"),
    "text before": (f"Here it is: {GOOD}", "stop", "not_json"),
    "text after": (f"{GOOD} That is all.", "stop", "not_json"),
    "two objects": (f"{GOOD}{GOOD}", "stop", "not_json"),
    "cut off": (GOOD[:-1], "length", "truncated"),
    "cut off, unsaid": (GOOD[:-1], "stop", "not_json"),
    "single quotes": (GOOD.replace('"', "'"), "stop", "not_json"),
    "trailing comma": (GOOD.replace("}", ",}"), "stop", "not_json"),
    "byte order mark": (f"\ufeff{GOOD}", "stop", "not_json"),
    "list": (f"[{GOOD}]", "stop", "wrong_type"),
    "bare number": ("5", "stop", "wrong_type"),
    "null": ("null", "stop", "wrong_type"),
    "no keys": ("{}", "stop", "missing_field"),
    "missing key": ('{"opinion": "too low"}', "stop", "missing_field"),
    "field's name for its alias": (
        GOOD.replace("sentenceMonths", "months"),
        "stop",
        "missing_field",
    ),
    "extra key": (GOOD.replace("}", ', "reason": "x"}'), "stop", "extra_field"),
    "key twice": (GOOD.replace("}", ', "sentenceMonths": 6}'), "stop", "duplicate_field"),
    "whole float": (with_months("5.0"), "stop", "wrong_type"),
    "exponent": (with_months("1e1"), "stop", "wrong_type"),
    "number as text": (with_months('"5"'), "stop", "wrong_type"),
    "flag": (with_months("true"), "stop", "wrong_type"),
    "nothing as value": (with_months("null"), "stop", "wrong_type"),
    "NaN": (with_months("NaN"), "stop", "not_json"),
    "too large a float": (with_months("1e999"), "stop", "out_of_range"),
    "below": (with_months("-1"), "stop", "out_of_range"),
    "above": (with_months("13"), "stop", "out_of_range"),
    "huge": (with_months("9" * 4000), "stop", "out_of_range"),
    "too huge to read": (with_months("9" * 5000), "stop", "not_json"),
    "nested": (with_months("[" * NESTED + "]" * NESTED), "stop", "not_json"),
    "unknown option": (GOOD.replace("too low", "just right"), "stop", "unknown_option"),
    "lone surrogate": (GOOD.replace("too low", "\ud83d"), "stop", "not_json"),
    "escaped lone surrogate": (GOOD.replace("too low", "\\ud83d"), "stop", "not_json"),
    "control character": (GOOD.replace("too", "t\x00o"), "stop", "not_json"),
}


@pytest.mark.parametrize(("text", "finish", "reason"), INVALID.values(), ids=INVALID)
def test_every_invalid_reply_has_its_reason(text: str, finish: str, reason: str) -> None:
    with pytest.raises(InvalidReply) as caught:
        accept_object(text, finish, Ruling)
    assert caught.value.reason == reason
    assert "\n" not in caught.value.detail


VALID = {
    "as asked": GOOD,
    "white space around": f"\n {GOOD} \n",
    "pretty": json.dumps(json.loads(GOOD), indent=2),
    "escapes": GOOD.replace("too low", "too\\u0020low"),
    "other order": '{"opinion": "too low", "sentenceMonths": 5}',
}


@pytest.mark.parametrize("text", VALID.values(), ids=VALID)
def test_valid_replies(text: str) -> None:
    assert accept_object(text, "stop", Ruling).months == 5


def test_a_valid_reply_is_no_refusal_whatever_its_words() -> None:
    class Story(BaseModel):
        model_config = ConfigDict(extra="forbid")

        text: str

    words = "I'm sorry, I cannot come, she said."
    assert accept_object(json.dumps({"text": words}), "stop", Story).text == words


def test_validators_of_the_reply_give_theirs() -> None:
    from bias_tests.anchoring.experiment import SENTENCING  # noqa: PLC0415

    text = '{"defenseAttorneyEvaluation": "too low", "sentenceMonths": 13}'
    with pytest.raises(InvalidReply, match=r"^out_of_range: sentenceMonths$"):
        accept_object(text, "stop", SENTENCING.unanchored)


def test_free_text_is_taken_as_it_is() -> None:
    text = " I'm sorry. \ud83d\n"
    assert accept_text(text, "stop") is text
    assert accept_text("cut off he", "length") == "cut off he"


def test_free_text_that_the_model_did_not_end_is_no_reply() -> None:
    """A canned sentence of a guardrail, half a turn: measured, they would make a bias."""
    with pytest.raises(InvalidReply, match=r"^unknown_end_guardrail_x$"):
        accept_text("Sorry, the model cannot answer this question.", "guardrail_x")


def reason_of(text: str, finish: str) -> str | None:
    try:
        ruling = accept_object(text, finish, Ruling)
    except InvalidReply as invalid:
        return invalid.reason
    assert 0 <= ruling.months <= 12
    return None


@given(st.text(st.characters(codec=None)), st.sampled_from(["stop", "length", "other"]))
def test_any_text_is_valid_or_has_a_reason(text: str, finish: str) -> None:
    assert reason_of(text, finish) in {
        None, "unknown_end_other",
            "empty", "truncated", "refusal", "no_number", "not_json", "wrong_type", "missing_field"
        } | {"extra_field", "duplicate_field"}  # fmt: skip


json_objects = st.dictionaries(
    st.sampled_from(["sentenceMonths", "opinion", "share", "other"]),
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
        max_leaves=4,
    ),
)


@given(json_objects)
def test_any_object_is_valid_or_has_a_reason(value: object) -> None:
    text = json.dumps(value)
    reason = reason_of(text, "stop")
    assert reason is None or reason.replace("_", "").isalpha()


def test_schemas_are_those_of_the_aliases_and_cannot_be_changed() -> None:
    schema = reply_schema(Ruling)
    assert schema is reply_schema(Ruling)
    assert set(schema["properties"]) == {"sentenceMonths", "opinion", "share"}  # type: ignore[call-overload]
    assert schema["additionalProperties"] is False
    with pytest.raises(TypeError):
        schema["properties"]["sentenceMonths"]["maximum"] = 99  # type: ignore[index]


def test_a_reply_has_exactly_its_fields() -> None:
    class Loose(BaseModel):
        months: int

    with pytest.raises(BadDesign, match=r'Loose: .*extra="forbid"'):
        reply_schema(Loose)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("I\u2019m sorry, but I can\u2019t help with that.", "refusal"),
        ("A 12th offence calls for a court, not for me.", "no_number"),
        ("I cannot ignore the earlier convictions: 6 months.", "not_json"),
        ('\ufeff{"months": 6}', "not_json"),
    ],
)
def test_a_number_of_the_prompt_is_no_answer(text: str, reason: str) -> None:
    before = Message("assistant", "6 months"), Message("user", "It is her 12th offence.")
    with pytest.raises(InvalidReply) as caught:
        accept_object(text, "stop", Ruling, conversation=before)
    assert caught.value.reason == reason


def test_the_schema_says_only_what_the_author_wrote_for_the_model() -> None:
    class Inner(BaseModel):
        """For readers of the code."""

        model_config = ConfigDict(extra="forbid")
        title: str = Field(description="the name of the book")

    class Outer(BaseModel):
        """For readers of the code, too."""

        model_config = ConfigDict(extra="forbid")
        books: list[Inner]
        sold_copies: int

    schema = dumps(reply_schema(Outer))
    assert "For readers" not in schema
    assert "Sold Copies" not in schema
    assert '"title":{"description":"the name of the book","type":"string"}' in schema
    assert '"additionalProperties":false' in schema


BARE, FENCED = '{"score": 5}', '```json\n{"score": 7}\n```'


# what stands around one JSON value, which takes the place of %
WRAPPED = {
    "fence": "```json\n%\n```",
    "fence without a word": "```\n%\n```",
    "fence with white space": " \r\n```JSON\r\n%\r\n```\r\n",
    "long fence": "````json\n%\n````",
    "tildes": "~~~json\n%\n~~~",
    "fence on one line": "```%```",
    "inline code": "`%`",
    "opened fence": "```json\n%",
    "byte order mark": "\ufeff%",
    "byte order mark and fence": "\ufeff```json\n%\n```",
    "zero-width space": "%\u200b",
    "words and fence": "Sure! Here it is:\n```json\n%\n```\nHope it helps!",
    "words before": "Here is the JSON: %",
    "words after": "%\nNote: at sea level, 9 of 10 times.",
    "tags": "<answer>%</answer>",
    "bold": "**%**",
}


@pytest.mark.parametrize("around", WRAPPED.values(), ids=WRAPPED)
@pytest.mark.parametrize("value", ['{"a": 1}', '{\n  "a": {"b": "```, [1}"}\n}', "[1, 2]"])
def test_what_stands_around_one_json_value_is_taken_off(around: str, value: str) -> None:
    assert bare_json(around.replace("%", value)) == value


def test_spaces_that_json_does_not_know_are_spaces() -> None:
    assert bare_json('{\u00a0"a":\u00a01}') == '{ "a": 1}'


NOT_WRAPPED = {
    "bare": BARE,
    "nothing": "",
    "no value": "```json\n```",
    "two values": '{"a": 1}\n{"a": 1}',
    "two values in a fence": '```json\n{"a": 1} {"a": 2}\n```',
    "two fences": '```json\n{"a": 1}\n```\n```json\n{"a": 2}\n```',
    "another, which is no JSON": "{'a': 1} or rather {\"a\": 2}",
    "in a list that does not end": '[{"a": 1}',
    "a bracket more": '{"a": 1}}',
    "a placeholder": 'Of the form {a}: {"a": 1}',
    "trailing comma": '```json\n{"a": 1,}\n```',
    "single quotes": "Here: {'a': 1}",
    "no JSON": "```\nI cannot say.\n```",
    "bare number": "It is 8/10, or 8 to 10.",
    "quoted": '"{\\"a\\": 1}"',
    "a refusal": 'I\'m sorry, but I cannot answer as {"a": 1}.',
    "nested": "```json\n" + "[" * 100_000 + "\n```",
}


@pytest.mark.parametrize("text", NOT_WRAPPED.values(), ids=NOT_WRAPPED)
def test_nothing_else_is(text: str) -> None:
    assert bare_json(text) is None


REST = "About nine.\n\n<b>Ten</b> <|end up in the hills."
# a thought, or a mark of the end; the reply stands for %
SPOKEN = {
    "thought": "<think>\nNine? Yes.\n</think>\n\n%",
    "empty thought": "\ufeff\n<think>\n\n</think>\n\n%",
    "capitals": "<Thinking>Hm.</Thinking>%",
    "closing tag alone": "Nine? Yes.\n</think>\n\n%",
    "thoughts": "<think>Nine.</think><think>Or ten.</think>%",
    "closing tag in a thought": "<think>I end with </think>, then.</think>%",
    "Magistral": "[THINK]Hm.[/THINK]%",
    "Kimi": "◁think▷Hm.◁/think▷%",
    "Seed": "<seed:think>Hm.</seed:think>%",
    "MiniMax": "<mm:think>Hm.</mm:think>%",
    "MedGemma": "<unused94>thought\nHm.<unused95>%",
    "Apertus": "<|inner_prefix|>Hm.<|inner_suffix|>%",
    "words": "<reasoning>\nHm {so}.</reasoning>\n%",
    "Claude": "<antThinking>Hm.</antThinking>%",
    "Cohere": "<|START_THINKING|>Hm.<|END_THINKING|>%",
    "Gemma": "<|channel>thought\nHm.<channel|>%<turn|>",
    "gpt-oss": "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final"
    "<|message|>%<|return|>",
    "gpt-oss, schema": "<|channel|>final <|constrain|>json<|message|>%",
    "gpt-oss, marks taken off": "analysisHm.assistantfinal%",
    "end of a turn": "%<|im_end|>",
    "ends": "%</s>\n<|eot_id|> \n",
    "both": "<think>Hm.</think>\n%<end_of_turn>",
}


@pytest.mark.parametrize("around", SPOKEN.values(), ids=SPOKEN)
@pytest.mark.parametrize("reply", [REST, GOOD, '{"a": "</think>"}'])
def test_thoughts_and_marks_of_the_end_are_taken_off(around: str, reply: str) -> None:
    assert spoken(around.replace("%", reply)) == reply


@pytest.mark.parametrize("begun", ["<think>\nNine", "[THINK]", "<|channel|>analysis<|message|>So"])
def test_a_thought_that_does_not_end_is_no_reply(begun: str) -> None:
    for finish, reason in (("length", "truncated"), ("stop", "empty")):
        with pytest.raises(InvalidReply, match=f"^{reason}$"):
            accept_text(spoken(begun), finish)


def test_json_in_words_that_the_limit_ended_may_be_a_thought(tmp_path: Path) -> None:
    of = lenient(experiment())

    def say(_request: Request, place: Place) -> Any:
        words = "" if place.attempt == 3 else "Perhaps "
        return completion(words + BARE, "length")

    (reasons,) = {each.invalid for each in outcomes_of(of, record(tmp_path, of, say))}
    assert reasons == ("truncated", "truncated")


@pytest.mark.parametrize(
    "text",
    [
        *(REST, " analysis of eggs\n", "I <think> so", "\ufeffNine.\n"),
        "Nine. <reasoning>As usual.</reasoning>",
    ],
)
def test_other_text_is_left_as_it_is(text: str) -> None:
    assert spoken(text) is text


def test_tags_that_the_experiment_asks_for_are_its_own() -> None:
    text = "<thinking>Nine.</thinking>So nine."
    assert spoken(text, ["Think in <thinking> tags first."]) == text


def lenient(of: Experiment) -> Experiment:
    return replace(of, replies="lenient")


def said(*replies: str) -> Any:
    """Say so at each attempt; the last also ever after."""

    def say(_request: Request, place: Place) -> str:
        return replies[min(place.attempt, len(replies)) - 1]

    return say


def scores(of: Experiment, outcomes: list[Outcome]) -> set[tuple[object, object]]:
    rows = [record_of(outcome, of.measures).values for outcome in outcomes]
    return {(row.get("score"), row.get(FORMAT_KEPT)) for row in rows}


def test_a_strict_recording_is_read_leniently_without_a_call(tmp_path: Path) -> None:
    of = experiment()
    path = record(tmp_path, of, said(FENCED, BARE))
    before = path.read_bytes()
    assert scores(of, outcomes_of(of, path)) == {(5.0, None)}
    outcomes = outcomes_of(lenient(of), path)
    assert scores(lenient(of), outcomes) == {(7.0, False)}
    assert {(each.invalid, each.interactions) for each in outcomes} == {((), 1)}
    assert path.read_bytes() == before
    path = record(tmp_path / "bare", of, said("no", BARE))
    assert scores(lenient(of), outcomes_of(lenient(of), path)) == {(5.0, True)}


def test_a_lenient_recording_read_strictly_lacks_what_was_not_asked_again(tmp_path: Path) -> None:
    of = experiment()
    path = record_measures(tmp_path, lenient(of), said(FENCED))
    assert scores(lenient(of), outcomes_of(lenient(of), path)) == {(7.0, False)}
    with pytest.raises(Unrecorded) as unrecorded:
        outcomes_of(of, path)
    assert unrecorded.value.pending.place.attempt == 2
    assert 'read leniently and are not now: replies = "lenient"' in explained(of, path)


async def rated_and_asked_why(trial: Trial, subject: Subject) -> Score:
    first = await subject.ask(f"Rate {trial['group']}.", reply=Score)
    await subject.ask("Why?", after=first)
    return first.value


def test_a_conversation_that_went_on_from_another_reply_is_refused_in_words(
    tmp_path: Path,
) -> None:
    of = experiment(rated_and_asked_why)
    path = record(tmp_path, of, lambda r, p: said(FENCED, BARE)(r, p) if r.schema else "So.")
    with pytest.raises(Unrecorded):
        outcomes_of(lenient(of), path)
    words = explained(lenient(of), path)
    assert "message 2 (assistant) has changed:" in words


def test_a_thought_is_counted_kept_and_neither_measured_nor_said_again(tmp_path: Path) -> None:
    of = experiment(rated_and_asked_why)
    thought = f"<think>\nFour? No.\n</think>\n{BARE}"
    heard: list[str] = []

    def say(request: Request, _place: Place) -> str:
        heard.extend(each.text for each in request.messages if each.role == "assistant")
        return (thought if len(heard) < 1 else BARE) if request.schema else "So."

    path = record(tmp_path, of, say)
    assert set(heard) == {BARE}
    outcomes = outcomes_of(of, path)
    assert scores(of.as_read(outcomes), outcomes) == {(5.0, True), (5.0, False)}
    said = {each.completion.text for each in Cassette(path).interactions()}
    assert said == {thought, BARE, "So."}


def test_measures_of_a_strict_recording_serve_where_no_reply_can_have_been_fenced(
    tmp_path: Path,
) -> None:
    of = kept()
    path = record_measures(tmp_path, of, said('{"score": "no"}', BARE))
    assert scores(lenient(of), read(lenient(of), path)) == {(5.0, True)}
    path = record_measures(tmp_path / "fenced", of, said(FENCED, BARE))
    with pytest.raises(Unrecorded):
        read(lenient(of), path)
    assert "how replies are read has changed since" in explained(lenient(of), path)
    record_measures(tmp_path / "fenced", lenient(of), said(FENCED))
    assert scores(lenient(of), read(lenient(of), path)) == {(7.0, False)}
    assert scores(of, read(of, path)) == {(5.0, None)}, "both lines stand beside each other"


def test_the_roster_has_an_endpoint_or_a_model_read_leniently(tmp_path: Path) -> None:
    roster = parse_roster(
        '[endpoints.ours]\nwire = "openai-chat"\nbase_url = "http://h/v1"\nreplies = "lenient"\n'
        '[models."ours/strict"]\nreplies = "strict"\n[models."openai/x"]\nreplies = "lenient"\n',
        tmp_path / "bias_models.toml",
    )
    of = experiment()
    path = record_measures(tmp_path, of, said(FENCED, BARE))
    expected = {"ours/any": 7.0, "openai/x": 7.0, "ours/strict": 5.0, "openai/y": 5.0}
    for model, score in expected.items():
        roles = roles_of(of, model, SETTINGS, roster)
        outcome = carry_out(of, roles, plan(of, of.design())[0], replies(FENCED, BARE))
        assert record_of(outcome, of.measured_with(roles)).values["score"] == score
        assert ("stands around" in of.parameters_text(roles)) == (score == 7.0)
    told = ModelRoles(MODEL, lenient=frozenset({"subject"}))
    strict = reread(of, MODEL, plan(of, of.design())[0], Cassette(path))
    assert strict.format_kept is None
    assert reread(of, told, plan(of, of.design())[0], Cassette(path)).format_kept is False


def replies(*texts: str) -> Any:
    return lambda wanted: completion(texts[wanted.place.attempt - 1])


SCORE = MeanDifference("score", "group", high="a", low="b", margin=1, claim="clear")


def test_the_policy_is_in_fingerprints_and_strict_ones_do_not_know_it() -> None:
    of = experiment()
    strict = fingerprint_of(of, of.design(), SCORE, "")
    assert "replies" not in strict
    assert fingerprint_of(lenient(of), of.design(), SCORE, "")["replies"] == "lenient"
    assert fingerprint_of(of, of.design(), SCORE, "", lenient=True)["replies"] == "lenient"
    assert replace(lenient(of), replies="strict").measures == of.measures
    assert [each.name for each in replace(lenient(of), replicates=9).measures][1:] == [FORMAT_KEPT]


@pytest.mark.parametrize("policy", ["loose", None, True, ["lenient"]])
def test_another_policy_and_a_measure_of_that_name_are_refused(policy: object) -> None:
    with pytest.raises(BadDesign, match="replies must be strict or lenient"):
        experiment(replies=policy)
    with pytest.raises(BadDesign, match="has a measure of this name"):
        Measure(FORMAT_KEPT)


def test_a_data_set_says_it_of_every_trial() -> None:
    of = experiment()
    told = ModelRoles(MODEL, lenient=frozenset({"subject"}))
    outcomes = [carry_out(of, told, trial, replies(FENCED)) for trial in plan(of, of.design())]
    data = dataset_of(
        *(of, of.design(), MODEL, outcomes), recording=NOTHING_KEPT, version="1", licence="none"
    )
    names = [column.name for column in data.about.columns]
    assert {row[names.index(FORMAT_KEPT)] for row in data.rows} == {False}
