from __future__ import annotations

import json
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field

from pytest_bias.errors import BadDesign, InvalidReply
from pytest_bias.experiments.canonical import dumps
from pytest_bias.experiments.messages import Message
from pytest_bias.experiments.replies import accept_object, accept_text, reply_schema


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
    "filtered": ("", "content_filter", "content_filter"),
    "filtered in the middle": (GOOD, "content_filter", "content_filter"),
    "refusal in words": ("I'm sorry, but I can't help with that.", "stop", "refusal"),
    "refusing words around a number of its own": (
        "As an AI language model, I give no 5 months.",
        "stop",
        "not_json",
    ),
    "refusal, typographic": ("I cannot decide on a sentence.", "stop", "refusal"),
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
    "comment": (GOOD.replace("}", "// done\n}"), "stop", "not_json"),
    "byte order mark": (f"\ufeff{GOOD}", "stop", "not_json"),
    "list": (f"[{GOOD}]", "stop", "wrong_type"),
    "bare number": ("5", "stop", "wrong_type"),
    "bare text": ('"five"', "stop", "wrong_type"),
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
    "same key twice": (GOOD.replace("}", ', "sentenceMonths": 5}'), "stop", "duplicate_field"),
    "whole float": (with_months("5.0"), "stop", "wrong_type"),
    "float": (with_months("5.5"), "stop", "wrong_type"),
    "exponent": (with_months("1e1"), "stop", "wrong_type"),
    "number as text": (with_months('"5"'), "stop", "wrong_type"),
    "flag": (with_months("true"), "stop", "wrong_type"),
    "nothing as value": (with_months("null"), "stop", "wrong_type"),
    "list as value": (with_months("[5]"), "stop", "wrong_type"),
    "NaN": (with_months("NaN"), "stop", "not_json"),
    "Infinity": (with_months("-Infinity"), "stop", "not_json"),
    "too large a float": (with_months("1e999"), "stop", "out_of_range"),
    "below": (with_months("-1"), "stop", "out_of_range"),
    "above": (with_months("13"), "stop", "out_of_range"),
    "huge": (with_months("9" * 4000), "stop", "out_of_range"),
    "too huge to read": (with_months("9" * 5000), "stop", "not_json"),
    "nested": (with_months("[" * NESTED + "]" * NESTED), "stop", "not_json"),
    "nested and open": ("[" * NESTED, "stop", "not_json"),
    "unknown option": (GOOD.replace("too low", "just right"), "stop", "unknown_option"),
    "option in capitals": (GOOD.replace("too low", "Too low"), "stop", "unknown_option"),
    "lone surrogate": (GOOD.replace("too low", "\ud83d"), "stop", "not_json"),
    "escaped lone surrogate": (GOOD.replace("too low", "\\ud83d"), "stop", "not_json"),
    "control character": (GOOD.replace("too", "t\x00o"), "stop", "not_json"),
    "infinite share": (GOOD.replace("}", ', "share": 1e999}'), "stop", "out_of_range"),
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


def test_the_reason_names_the_field_and_not_what_was_said() -> None:
    with pytest.raises(InvalidReply) as caught:
        accept_object(with_months("13"), "stop", Ruling)
    assert str(caught.value) == "out_of_range: sentenceMonths"


def test_check_comes_last_and_gives_its_own_reason() -> None:
    def refuse(ruling: Ruling) -> None:
        raise InvalidReply("wrong_echo", f"{ruling.months}")

    with pytest.raises(InvalidReply, match=r"^wrong_echo: 5$"):
        accept_object(GOOD, "stop", Ruling, refuse)
    with pytest.raises(InvalidReply, match=r"^empty$"):
        accept_object("", "stop", Ruling, refuse)


def test_validators_of_the_reply_give_theirs() -> None:
    from bias_tests.anchoring.experiment import SENTENCING  # noqa: PLC0415

    text = '{"defenseAttorneyEvaluation": "too low", "sentenceMonths": 13}'
    with pytest.raises(InvalidReply, match=r"^out_of_range: sentenceMonths$"):
        accept_object(text, "stop", SENTENCING.unanchored)


def test_free_text_is_taken_as_it_is() -> None:
    text = " I'm sorry. \ud83d\n"
    assert accept_text(text, "stop") is text
    assert accept_text("cut off he", "length") == "cut off he"


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
        None,
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
    told = Message("assistant", "6 months"), Message("user", "It is her 12th offence.")
    with pytest.raises(InvalidReply) as caught:
        accept_object(text, "stop", Ruling, told=told)
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
