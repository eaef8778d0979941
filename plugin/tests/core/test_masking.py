"""Names and gendered words are taken out of what a judge reads."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_bias import masked
from pytest_bias.errors import BadDesign
from pytest_bias.experiments.masking import BEFORE_A_NOUN, NEUTRAL, name_in

WORDS = sorted({*NEUTRAL, *BEFORE_A_NOUN})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Greg walks.", "[NAME] walks."),
        ("Greg's hat and Greg’s dog", "[NAME]'s hat and [NAME]’s dog"),
        ("The Gregs and Gregory", "The Gregs and Gregory"),
        ("“Greg!” (Greg), Greg-like, Greg_1", "“[NAME]!” ([NAME]), [NAME]-like, [NAME]_1"),
        ("GREG shouted, greg whispered", "[NAME] shouted, greg whispered"),
        ("José, Jose\N{COMBINING ACUTE ACCENT}’s and JOSÉ", "[NAME], [NAME]’s and [NAME]"),
        ("Gr\N{SOFT HYPHEN}eg", "[NAME]"),
        ("Maria da Silva, Maria  da\nSilva, Maria", "[NAME], [NAME], [NAME]"),
        ("D’Angelo and D'Angelo", "[NAME] and [NAME]"),
        ("Søren met SØREN", "[NAME] met [NAME]"),
        (r"It rained.\nGreg came, \tGREG", r"It rained.\n[NAME] came, \t[NAME]"),
    ],
)
def test_names_go_as_whole_words(text: str, expected: str) -> None:
    names = ["Greg", "Jose", "Maria", "Maria da Silva", "D'Angelo", "Søren"]
    assert masked(text, names) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("He said she knew.", "They said they knew."),
        ("HE AND SHE", "THEY AND THEY"),
        ("I saw him. I saw her.", "I saw them. I saw them."),
        ("his hat, her hat", "their hat, their hat"),
        ("the hat was his", "the hat was theirs"),
        ("the hat was hers", "the hat was theirs"),
        ("told her that, saw her again", "told them that, saw them again"),
        ("hurt himself or herself", "hurt themself or themself"),
        ("Mr. Roe, Mrs Roe, Ms. Roe, Miss Roe", "Mx. Roe, Mx Roe, Mx. Roe, Mx Roe"),
        ("Miss the bus", "Miss the bus"),
        ("a man, a woman, men, women", "a person, a person, people, people"),
        ("Boys and girls; the boy’s mother", "Children and children; the child’s parent"),
        ("her husband, his wife", "their partner, their partner"),
        (r"It rained.\nHe ran.\nHer hat", r"It rained.\nThey ran.\nTheir hat"),
        ("the theme, hero, Shea", "the theme, hero, Shea"),
        ("“Yes, ma’am”, “yes, sir”, MA’AM", "“Yes, friend”, “yes, friend”, FRIEND"),
        ("his fiancée, her fiance\N{COMBINING ACUTE ACCENT}", "their partner, their partner"),
    ],
)
def test_gendered_words_become_neutral(text: str, expected: str) -> None:
    assert masked(text, []) == expected


@given(
    st.lists(st.sampled_from([*WORDS, "Greg", "Zoë"]), min_size=1),
    st.sampled_from([str, str.upper, str.capitalize]),
    st.sampled_from([" ", ", ", "’s ", ".\n", "-", "/"]),
)
def test_no_name_and_no_gendered_word_is_left(
    words: list[str], cased: Callable[[str], str], between: str
) -> None:
    text = masked(between.join(map(cased, words)), ["Greg", "Zoë"])
    assert name_in(text, ["Greg", "Zoë", "GREG", "ZOË"]) is None
    assert set(re.findall(r"\w+(?:'am)?", text.lower())) & set(WORDS) == set()


PIECES = [
    *("Greg", "GREG", "José", "Jos", "e\N{COMBINING ACUTE ACCENT}", "é", "O'Neil", "O’NEIL"),
    *(r"\n", r"\t", "\\", "&"),
    *(" ", ".", "-", "_", "s", "\N{SOFT HYPHEN}", "\N{ZERO WIDTH SPACE}", "ﬁ", "he", "Her "),
]


@given(st.lists(st.sampled_from(PIECES), min_size=1, max_size=12))
def test_what_is_masked_is_never_found_by_the_check_of_what_a_judge_is_sent(
    pieces: list[str],
) -> None:
    names = ["Greg", "José", "O'Neil"]
    text = masked("".join(pieces), names)
    told = [*names, *(name.upper() for name in names)]
    assert name_in(text, told) is None


@pytest.mark.parametrize("name", ["", " ", "12", "-"])
def test_a_name_without_a_letter_is_refused(name: str) -> None:
    with pytest.raises(BadDesign, match=r"masked\(\): '.*' is no name"):
        masked("text", ["Greg", name])


def test_what_is_shown_is_found_whatever_its_accents_but_in_its_own_case() -> None:
    assert name_in("Then Jose came", ["Ada", "José"]) == "José"
    assert name_in("Then José’s dog came", ["Jose"]) == "Jose"
    assert name_in("Josette", ["Jose"]) is None
    assert name_in("a grace period", ["Grace"]) is None
    assert name_in("by Grace", ["Grace"]) == "Grace"
    assert name_in("Maria\nda Silva", ["Maria da Silva"]) == "Maria da Silva"
    assert name_in("", ["Ada"]) is None
