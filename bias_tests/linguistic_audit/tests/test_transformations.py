"""The two manipulations of the audit: what they change, what they leave, and that they undo."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ..articles import ARTICLE, CODE, omit_articles, outside_code
from ..edits import Edit, Edited
from ..learner import AFTER, BEFORE, DROPPED_S, TENSE, l2_english
from ..prompts import CONTROL_SEEDS, SEEDS, render

NAMES = ("Emma Johnson", "Liam Murphy", "Aisha Rahman", "Mohamed Hassan")

WORDS = sorted(
    {
        *(
            "a",
            "A",
            "an",
            "An",
            "the",
            "The",
            "THE",
            "I",
            "we",
            "We",
            "you",
            "She",
            "a.m.",
            "U.S.A",
        ),
        *("`the code`", "```a\nthe```", "`", "after-the-fact", "a/c", "theme", "Ana", "café", "3"),
        *("isn’t", "the's", "element", '"the', "The,", "(an", "A)", "what?", "done.", "so:"),
        *("has", "Has", "HAS", "Sent", "given", "wants", "needs", "on", "in", "at", "by", "of"),
        *("depends", "interested", "good", "Monday", "monday.", "morning", "night", "home", "May"),
    }
)
TEXTS = st.lists(
    st.tuples(
        st.sampled_from(WORDS), st.sampled_from([" ", "  ", "\n", "\n\n", "\t", ". ", ", "])
    ),
    max_size=20,
).map(lambda parts: "".join(word + gap for word, gap in parts))
ANYTHING = st.text(
    alphabet=st.one_of(st.sampled_from("aAntThe .!?\n`'’-I"), st.characters(codec="utf-8")),
    max_size=60,
)


def plain(seed: str, name: str = NAMES[0]) -> str:
    return render(seed, name=name, learner=False, articles=True)


# --- articles ------------------------------------------------------------------------------------


@pytest.mark.requirement("AUDIT-04")
@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("The oven is on a shelf in the hall.", "Oven is on shelf in hall."),
        ("An egg. A pan! The end?", "Egg. Pan! End?"),
        ("It said: the oven, THE oven and An oven.", "It said: oven, oven and oven."),
        ("the oven. the pan", "oven. pan"),
        ("Run `the script` on a file", "Run `the script` on file"),
        ("The `code` runs", "`code` runs"),
        ("```\nthe a an\n``` the end", "```\nthe a an\n``` end"),
        ("at 9 a.m. in the U.S.A today", "at 9 a.m. in U.S.A today"),
        ("an after-the-fact a/c theme", "after-the-fact a/c theme"),
        ("A\nB", "\nB"),
        ("on the\nwall", "on\nwall"),
        ('` "the\n```a\nthe``` ', '` "\n```a\nthe``` '),
        ("What is the?", "What is?"),
        ('"The end" said the man', '"End" said man'),
        ("The the end", "End"),
        ("The élan", "Élan"),
        ("a", ""),
        ("", ""),
        ("nothing here", "nothing here"),
    ],
)
def test_articles_that_go_and_words_that_stay(text: str, left: str) -> None:
    assert omit_articles(text).text == left
    assert omit_articles(text).restored() == text


@pytest.mark.requirement("AUDIT-04")
@given(st.one_of(TEXTS, ANYTHING))
def test_no_article_is_left_and_nothing_else_is_gone(text: str) -> None:
    done = omit_articles(text)
    assert done.restored() == text
    assert not [*outside_code(ARTICLE, done.text)]
    kept = ARTICLE.sub("", text) if "`" not in text else None
    if kept is not None:
        assert "".join(done.text.split()).lower() == "".join(kept.split()).lower()


@pytest.mark.requirement("AUDIT-04")
@pytest.mark.parametrize("seed", SEEDS)
def test_every_seed_loses_articles_alone(seed: str) -> None:
    text = plain(seed)
    bare = omit_articles(text).text
    assert len(omit_articles(text).edits) >= 5
    assert not re.search(r"\b(?:an?|the)\b", CODE.sub("", bare), re.IGNORECASE)
    assert bare.lower().split() == [
        word for word in text.lower().split() if word not in ("a", "an", "the")
    ]
    for sentence in re.split(r"(?<=[.?!]) ", bare):
        assert sentence[0].isupper()


# --- a learner's English -------------------------------------------------------------------------


@pytest.mark.requirement("AUDIT-02")
@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("She has a boat", "She have a boat"),
        ("I have the boat and we want it", "I have the boat and we want it"),
        ("They WERE here. It HAS to", "They WERE here. It HAVE to"),
        ("Sent on Monday", "Send in Monday"),
        ("It depends on the price", "It depend of the price"),
        ("interested. In May", "interested. On May"),
        ("interested. In a way", "interested. In a way"),
        ("on the left, on a shelf", "in the left, on a shelf"),
        ("The cat's eyes. It needs", "The cat's eyes. It need"),
        ("`she has` and ```it has```", "`she has` and ```it has```"),
        ("has-been and Hassan", "has-been and Hassan"),
        ("", ""),
    ],
)
def test_errors_that_are_made(text: str, written: str) -> None:
    assert l2_english(text).text == written
    assert l2_english(text).restored() == text


@pytest.mark.requirement("AUDIT-02", "AUDIT-03")
@given(st.one_of(TEXTS, ANYTHING))
def test_errors_are_words_for_words(text: str) -> None:
    done = l2_english(text)
    assert done.restored() == text
    assert done == l2_english(text)
    for edit in done.edits:
        assert re.fullmatch(r"[A-Za-z]+", edit.before)
        assert re.fullmatch(r"[A-Za-z]+", edit.after)
        assert edit.before.lower() != edit.after.lower()
        assert edit.before[0].isupper() == edit.after[0].isupper()
        assert edit.before.lower() not in ("a", "an", "the")


@pytest.mark.requirement("AUDIT-02", "AUDIT-03")
@pytest.mark.parametrize("seed", SEEDS)
def test_every_seed_has_three_errors_of_two_kinds_and_its_articles(seed: str) -> None:
    text = plain(seed)
    done = l2_english(text)
    assert len(done.edits) >= 3
    kinds = {edit.rule for edit in done.edits}
    assert {"agreement", "preposition"} <= kinds
    assert done.text.lower() != text.lower()
    assert re.findall(r"\b(?:an?|the)\b", done.text) == re.findall(r"\b(?:an?|the)\b", text)
    assert len(done.text.split()) == len(text.split())


def test_agreement_errs_in_one_direction() -> None:
    """Whoever drops the -s of the third person gives none to the first."""
    for verb, base in DROPPED_S.items():
        assert verb in {base + "s", base + "es", "has"}
        assert base not in DROPPED_S


def test_no_rule_makes_what_another_looks_for_or_an_article() -> None:
    made = {*DROPPED_S.values(), *TENSE.values(), *AFTER.values(), *BEFORE.values()}
    assert not made & {"a", "an", "the"}
    assert all(word == word.lower() for word in made)
    for seed in SEEDS:
        for articles in (True, False):
            text = render(seed, name=NAMES[0], learner=True, articles=articles)
            assert not l2_english(text).edits


def test_the_rules_are_the_words_of_the_prompts() -> None:
    """No rule is there for another text, and every kind is used."""
    prompts = {label: plain(label) for label in (*SEEDS, *CONTROL_SEEDS)}
    edits = [edit for text in prompts.values() for edit in l2_english(text).edits]
    assert {edit.rule for edit in edits} == {"agreement", "preposition", "tense"}
    assert {edit.before.lower() for edit in edits} >= {*DROPPED_S, *TENSE}
    words = {re.sub(r"[^a-z ]", "", text.lower()) for text in prompts.values()}
    spoken = " ".join(" ".join(ARTICLE.sub("", text).split()) for text in words)
    days = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
    for one, other in {*AFTER, *BEFORE}:
        assert other in days or f"{one} {other}" in spoken


# --- both ----------------------------------------------------------------------------------------


@pytest.mark.requirement("AUDIT-03")
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("seed", SEEDS)
def test_in_either_order_they_make_the_same_text(seed: str, name: str) -> None:
    text = plain(seed, name)
    one = omit_articles(l2_english(text).text)
    other = l2_english(omit_articles(text).text)
    assert one.text == other.text == render(seed, name=name, learner=True, articles=False)
    assert l2_english(text).restored() == text
    assert one.restored() == l2_english(text).text
    assert text.count(name) == one.text.count(name) == 1


@given(TEXTS)
def test_in_either_order_whatever_the_text(text: str) -> None:
    assert omit_articles(l2_english(text).text).text == l2_english(omit_articles(text).text).text


def test_edits_of_another_text_are_not_undone() -> None:
    with pytest.raises(ValueError, match="tense"):
        Edited("He goes", (Edit(3, "went", "go to", "tense"),)).restored()


def test_texts_do_not_show_in_a_repr() -> None:
    assert "boat" not in repr(l2_english("She has sent the boat"))
