"""Names and gendered words taken out of a text, so that who grades it does not read a group.

The rules are for English. They stand here as data: :data:`NEUTRAL` is every word that is replaced
by another, :data:`BEFORE_A_NOUN` those whose replacement depends on what follows.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping
from functools import cache, lru_cache
from types import MappingProxyType

from ..errors import BadDesign

NAME = "[NAME]"
"""What stands in place of a name, unless another token is asked for."""

BEFORE_A_NOUN: Mapping[str, tuple[str, str]] = MappingProxyType(
    {"his": ("their", "theirs"), "her": ("their", "them")}
)
"""Word → what it becomes before a noun, and elsewhere."""

NEUTRAL: Mapping[str, str] = MappingProxyType(
    {
        word: neutral
        for neutral, words in {
            "they": "he she",
            "them": "him",
            "theirs": "hers",
            "themself": "himself herself",
            "Mx": "mr mrs ms mister missus mistress",
            "friend": "sir madam ma'am madame",
            "person": "man woman guy gal bloke lad lass lady gentleman dude male female",
            "people": "men women guys gals blokes lads lasses ladies gentlemen dudes males "
            "females",
            "child": "boy girl schoolboy schoolgirl",
            "children": "boys girls schoolboys schoolgirls",
            "parent": "father mother dad mom mum daddy mommy mummy papa mama momma",
            "step-parent": "stepfather stepmother stepdad stepmom stepmum",
            "godparent": "godfather godmother",
            "parents": "fathers mothers dads moms mums",
            "grandparent": "grandfather grandmother grandpa grandma granddad granny",
            "grandparents": "grandfathers grandmothers grandpas grandmas granddads grannies",
            "grandchild": "grandson granddaughter",
            "grandchildren": "grandsons granddaughters",
            "offspring": "son sons daughter daughters stepson stepdaughter",
            "sibling": "brother sister bro sis",
            "siblings": "brothers sisters",
            "spouse": "husband wife hubby",
            "homemaker": "housewife househusband",
            "spouses": "husbands wives",
            "partner": "boyfriend girlfriend",
            "partners": "boyfriends girlfriends",
            "betrothed": "fiance fiancee bride groom bridegroom",
            "bereaved": "widow widower",
            "relative": "uncle aunt auntie nephew niece",
            "relatives": "uncles aunts nephews nieces",
            "parenthood": "fatherhood motherhood",
            "parental": "fatherly motherly paternal maternal",
            "siblinghood": "brotherhood sisterhood",
            "childhood": "boyhood girlhood",
            "adulthood": "manhood womanhood",
            "personal": "manly womanly masculine feminine boyish girlish ladylike",
            "businessperson": "businessman businesswoman",
            "businesspeople": "businessmen businesswomen",
            "spokesperson": "spokesman spokeswoman",
            "salesperson": "salesman saleswoman",
            "chairperson": "chairman chairwoman",
            "police officer": "policeman policewoman",
            "police officers": "policemen policewomen",
            "firefighter": "fireman firewoman",
            "craftsperson": "craftsman craftswoman",
            "server": "waiter waitress",
            "servers": "waiters waitresses",
            "performer": "actor actress",
            "performers": "actors actresses",
            "hero": "heroine",
            "heroes": "heroines",
            "host": "hostess",
        }.items()
        for word in words.split()
    }
)
"""Lower-case word → what it becomes; the case of the first letter, or of all, is kept."""

_TITLE = re.compile(r"(?<![^\W_])Miss(?=\s+[^\W\d_a-z]|\s*\ue000)")
"""A title where a name follows; elsewhere to miss is a verb."""

_ALONE = (
    "a about after again against all alone along already although always am an and any anymore "
    "anyone anything anyway are around as aside at away back be because been before behind being "
    "beside but by can could did do does down during either even ever every everything for from "
    "had has have he her here him his how i if in inside instead into is it just later like may "
    "maybe me might more must near never no nor not nothing now of off on once one or out outside "
    "over perhaps quickly quietly right she should since slowly so some something soon still than "
    "that the their them then there these they this those through till to today together tomorrow "
    "tonight too toward towards under unless until up upon was we well were what whatever when "
    "where whether which while who whom whose why will with within without would yes yet you "
    "your"
)
_NO_NOUN = frozenset(_ALONE.split())
"""Words after which "her" stood alone: "saw her again", "told her that"."""

_HIDDEN = "\ue000"
"""A character of its own in place of names, which no rule for words can touch."""

_LETTER = r"[^\W_]"
_WORD = re.compile(rf"(?!(?<=\\)[nrtbf]){_LETTER}+(?:['’‘ʼ][aA][mM](?!{_LETTER}))?")
"""A word; the letter of ``\\n``, a line feed within JSON, is none of it."""
_NEXT = re.compile(rf"(?:[ \t\n]|\\[nrtbf])+({_LETTER}+)")

_ALIKE = str.maketrans(
    {
        **dict.fromkeys("’‘ʼ＇`´′", "'"),
        **dict.fromkeys("‐‑‒–−", "-"),
        "ø": "o", "Ø": "O", "ł": "l", "Ł": "L", "đ": "d", "Đ": "D", "ı": "i",
        "ß": "ss", "æ": "ae", "Æ": "Ae", "œ": "oe", "Œ": "Oe",
    }
)  # fmt: skip


def masked(text: str, names: str | Iterable[str], *, name: str = NAME) -> str:
    """``text`` with ``names`` replaced by ``name`` and gendered English words made neutral.

    Names are found as whole words, as they are written or all in capitals, whatever their
    accents, apostrophes and hyphens; a possessive stays one
    ("Greg's" becomes "[NAME]'s"). Longer names go before shorter ones. "he" and "she" become
    "they", "him" becomes "them", "her" and "his" "their" before a noun and "them" and "theirs"
    elsewhere, titles "Mx", and nouns those of :data:`NEUTRAL`. Two texts that differ only by
    names and gender come out the same but where "her" is misread.

    Verbs stay ("they walks"): their form tells no gender. Of what else tells a group (a nickname
    nobody gave, a place, a dish, a language, a word that is not among the rules) nothing is
    known: who grades may still guess. Where a name is a word, too, written with a capital
    ("Will", "Grace"), that word goes as well.

    Raises BadDesign for a name without a letter.

    Parameters
    ----------
    text
        What is to be graded.
    names
        The names to take out, one or several.
    name
        What stands in their place.
    """
    given = (names,) if isinstance(names, str) else tuple(names)
    text = unicodedata.normalize("NFC", text).replace(_HIDDEN, " ")
    text = _WORD.sub(_neutral, _without(given, text))
    return _TITLE.sub("Mx", text).replace(_HIDDEN, name)


def name_in(text: str, names: Iterable[str]) -> str | None:
    """The first of ``names`` that ``text`` tells, None where it tells none.

    Each is looked for as whole words in the case in which it is written, whatever its accents.
    """
    plain = folded(text)
    return next((name for name in names if _tells(plain, folded(name))), None)


def _tells(plain: str, name: str) -> bool:
    words = name.split()
    return bool(words) and words[0] in plain and bool(_pattern(name).search(plain))


@lru_cache(maxsize=64)  # a story is looked through for several names
def folded(text: str) -> str:
    """``text`` without accents and characters that are not seen, with plain apostrophes."""
    return text if text.isascii() else "".join(map(_folded, text))


@cache
def _folded(character: str) -> str:
    """Fold a character to its plain form; accents, and what is not seen, to nothing."""
    if unicodedata.category(character) in ("Mn", "Cf"):
        return ""
    apart = unicodedata.normalize("NFKD", character.translate(_ALIKE))
    return "".join(c for c in apart if unicodedata.category(c) != "Mn").translate(_ALIKE)


@cache
def _pattern(*names: str) -> re.Pattern[str]:
    """Any of ``names`` (already folded) as whole words, whatever white space is between them."""
    patterns = []
    for name in names:
        first, *others = map(re.escape, name.split())
        # What stands before is looked at last: a pattern that begins with letters is sooner found.
        # The letter of a line feed within JSON (``\n``) is none of the word behind it.
        begins = rf"{first}(?:(?<!{_LETTER}{first})|(?<=\\[nrtbf]{first}))"
        words = r"\s+".join([begins, *others])
        patterns.append(rf"{words}(?!{_LETTER})")
    return re.compile("|".join(patterns))


@lru_cache(maxsize=1024)
def _names_pattern(names: tuple[str, ...]) -> re.Pattern[str]:
    """The pattern of ``names``, longest first, each as it is written and in capitals."""
    for each in names:
        if not any(map(str.isalpha, each)):
            raise BadDesign(what="masked()", problem=f"{each!r} is no name")
    # "Æ" folds to "Ae": what is in capitals is not the capitals of what is folded.
    written = [folded(each) for each in names]
    forms = {*written, *map(str.upper, written), *(folded(each.upper()) for each in names)}
    return _pattern(*sorted(forms, key=lambda form: (-len(form), form)))


def _without(names: tuple[str, ...], text: str) -> str:
    """``text`` with ``names`` hidden; the rest stays as it is."""
    if not names:
        return text
    pattern = _names_pattern(names)
    if text.isascii():
        return pattern.sub(_HIDDEN, text)
    plain = [*map(_folded, text)]
    places = [place for place, piece in enumerate(plain) for _ in piece]
    places.append(len(text))
    parts: list[str] = []
    end = 0
    for found in pattern.finditer("".join(plain)):
        parts += [text[end : places[found.start()]], _HIDDEN]
        end = places[found.end()]
    return "".join([*parts, text[end:]])


def _neutral(found: re.Match[str]) -> str:
    """Neutral word for a gendered one; the word itself if it is not gendered."""
    word = found[0]
    key = (word if word.isascii() else folded(word)).lower()
    if key in BEFORE_A_NOUN:
        following = _NEXT.match(found.string, found.end())
        noun = following is not None and following[1].lower() not in _NO_NOUN
        neutral = BEFORE_A_NOUN[key][not noun]
    elif key in NEUTRAL:
        neutral = NEUTRAL[key]
    else:
        return word
    if len(word) > 1 and word.isupper():
        return neutral.upper()
    return neutral[0].upper() + neutral[1:] if word[0].isupper() else neutral
