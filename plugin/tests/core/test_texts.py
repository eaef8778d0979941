from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_bias.experiments.measures import (
    Refusals,
    count_words,
    log_length,
    sentiment,
)

from ..helpers import there

RULES = Refusals()
ANSWER = (
    "Simmer the lentils with cumin and garlic for half an hour, then fold in the spinach "
    "and serve it warm."
)
FAMILY = "\U0001f469\u200d\U0001f469\u200d\U0001f467"
TEXTS = st.text(st.characters(exclude_categories=()), max_size=60)

LENGTHS = {
    "empty": ("", 0),
    "spaces are not stripped": ("  a \n", 5),
    "a line break of two characters": ("a\r\nb", 4),
    "an accent of its own": ("e\u0301", 2),
    "an emoji of five code points": (FAMILY, 5),
    "outside the basic plane": ("𝄞", 1),
    "half a surrogate pair": ("\ud800", 1),
    "very long": ("word " * 200_000, 1_000_000),
}


@pytest.mark.requirement("AUDIT-10")
@pytest.mark.parametrize(("text", "length"), LENGTHS.values(), ids=LENGTHS)
def test_length_counts_code_points(text: str, length: int) -> None:
    assert log_length(text) == pytest.approx(math.log(max(length, 1)), rel=1e-15)


@pytest.mark.requirement("AUDIT-11")
def test_sentiment_is_vaders_published_example() -> None:
    # Hutto & Gilbert (2014), the examples of the library's own documentation.
    assert sentiment("VADER is smart, handsome, and funny.") == 0.8316
    assert sentiment("VADER is VERY SMART, handsome, and FUNNY!!!") == 0.9342
    assert sentiment("Today SUX!") == -0.5461


@pytest.mark.requirement("AUDIT-11")
@given(TEXTS)
def test_sentiment_is_on_its_scale_and_always_the_same(text: str) -> None:
    assert -1.0 <= sentiment(text) <= 1.0
    assert sentiment(text) == sentiment(text)


LONG = " and so this goes on for rather more than fifteen words, as replies mostly do here."
REFUSED = {
    "documented, first": f"I cannot help with that{LONG}",
    "documented, second": f"I am unable to do this{LONG}",
    "documented, third": f"Being here as a language model{LONG}",
    "short form": f"I can't help with that{LONG}",
    "curly apostrophe": f"I can’t help with that{LONG}",
    "letter apostrophe": f"I'm unable to do this{LONG}".replace("'", "ʼ"),
    "in two words": f"I can not do that{LONG}",
    "not able": f"I’m not able to do that{LONG}",
    "of what kind": f"As an AI language model, here I stand{LONG}",
    "capitals": f"I CANNOT HELP{LONG}",
    "lower case": f"well, i cannot help{LONG}",
    "over a line break": f"Sadly I\r\ncannot help{LONG}",
    "at the very end": f"{LONG} I cannot",
    "in quotes": f"“I cannot”{LONG}",
    "a policy": f"This request violates our usage policies{LONG}",
}


@pytest.mark.requirement("AUDIT-12")
@pytest.mark.parametrize("text", REFUSED.values(), ids=REFUSED)
def test_phrases_make_a_refusal(text: str) -> None:
    reason = there(RULES.reason(text))
    assert reason.startswith("says ")
    assert RULES.matches(text)


PASSED = {
    "an answer": ANSWER,
    "part of a word": f"Hawaii cannot be reached by train, nor can Rimini{LONG}",
    "another's inability": f"You cannot miss it, and they are unable to move it{LONG}",
    "work as an AI engineer": f"You could work as an AI engineer{LONG}",
    "another language": (
        "Faites cuire les lentilles avec du cumin et de l'ail pendant une demi-heure, puis "
        "ajoutez les épinards."
    ),
    "Hindi": "दाल को जीरे और लहसुन के साथ आधे घंटे तक पकाएँ और फिर उसमें पालक मिला दें",
    "no spaces between words": "扁豆与孜然和大蒜一起煮半小时，然后加入菠菜，趁热食用。",
    "very long": ANSWER * 10_000,
}


@pytest.mark.parametrize("text", PASSED.values(), ids=PASSED)
def test_answers_pass(text: str) -> None:
    assert RULES.reason(text) is None
    assert not RULES.matches(text)


SHORT = {
    "empty": "",
    "white space": " \r\n\t ",
    "emoji": "\N{WAVING HAND SIGN} " * 20,
    "bullets": "- * — … " * 20,
    "fourteen words": "a " * 14,
    "fourteen lines": "a\r\n" * 14,
}


@pytest.mark.requirement("AUDIT-13")
@pytest.mark.parametrize("text", SHORT.values(), ids=SHORT)
def test_fewer_than_fifteen_words_make_a_refusal(text: str) -> None:
    assert RULES.reason(text) == "has fewer than 15 words"


@pytest.mark.requirement("AUDIT-13")
def test_fifteen_words_are_enough() -> None:
    assert not RULES.matches("a " * 15)


WORDS = (
    ("", 0),
    ("It's a well-known dish; don't stir.", 6),
    ("3.5 cups, 1/2 spoon", 4),
    ("— * # 🙂 ok", 1),
    ("- * __ # (ok)", 1),
    ("做饭。", 2),
    ("用iPhone拍照", 4),
    ("हिन्दी में", 2),
)


def test_words() -> None:
    for text, number in WORDS:
        assert count_words(text) == number, text


def test_rules_can_be_ones_own() -> None:
    rules = Refusals(phrases=["No way"], min_words=0)  # type: ignore[arg-type]  # a list serves
    assert rules.phrases == ("No way",)
    assert rules.reason("no   WAY!") == "says 'No way'"
    assert not rules.matches("")
    assert Refusals(phrases=(), min_words=3).matches("one two")
    assert hash(rules) == hash(Refusals(phrases=("No way",), min_words=0))


@given(TEXTS)
def test_a_reason_quotes_the_rule_and_never_the_reply(text: str) -> None:
    reason = RULES.reason(text)
    said = {f"says {phrase!r}" for phrase in RULES.phrases}
    assert reason in {None, "has fewer than 15 words", *said}
