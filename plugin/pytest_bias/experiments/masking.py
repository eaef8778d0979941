"""Blind judges: names and gendered English words leave a text, and no request may tell them."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from html import unescape
from types import MappingProxyType

from ..errors import BadDesign, JudgeNotBlind
from .canonical import by_identity, plain
from .design import Trial
from .experiment import Experiment
from .judges import texts_hidden
from .messages import Request

BEFORE_A_NOUN: Mapping[str, tuple[str, str]] = MappingProxyType(
    {"his": ("their", "theirs"), "her": ("their", "them")}
)
"""Word → what it becomes before a noun, and elsewhere."""

_WORDS = {
    "they": "he she",
    "them": "him",
    "theirs": "hers",
    "themself": "himself herself",
    "Mx": "mr mrs ms mister missus mistress",
    "friend": "sir madam ma'am ma’am madame",
    "person": "man woman guy gal bloke lad lass lady gentleman dude male female",
    "people": "men women guys gals blokes lads lasses ladies gentlemen dudes males females",
    "child": "boy girl schoolboy schoolgirl son daughter stepson stepdaughter",
    "children": "boys girls schoolboys schoolgirls sons daughters",
    "parent": "father mother dad mom mum daddy mommy mummy papa mama momma stepfather stepmother",
    "parents": "fathers mothers dads moms mums",
    "sibling": "brother sister bro sis",
    "relative": "uncle aunt auntie nephew niece grandfather grandmother grandpa grandma granddad "
    "granny grandson granddaughter",
    "relatives": "brothers sisters uncles aunts nephews nieces grandsons granddaughters",
    "partner": "husband wife hubby bride groom bridegroom fiance fiancee fiancé fiancée widow "
    "widower boyfriend girlfriend",
    "partners": "husbands wives boyfriends girlfriends",
    "youth": "boyhood girlhood manhood womanhood",
    "personal": "manly womanly masculine feminine boyish girlish paternal maternal",
    "police officer": "policeman policewoman",
    "worker": "businessman businesswoman spokesman spokeswoman salesman saleswoman chairman "
    "chairwoman fireman firewoman waiter waitress actor actress host hostess",
}
NEUTRAL: Mapping[str, str] = MappingProxyType(
    {word: neutral for neutral, words in _WORDS.items() for word in words.split()}
)
"""Lower-case word → what it becomes; the case of the first letter, or of all, is kept."""

_ALONE = (
    "a about after again all alone along already although and anything are as at away back be "
    "because before behind but by can could did do does down for from had has have he her here "
    "him how if in inside instead into is it just later like may might must near never no not "
    "nothing now of off on once or out over should since so some something soon than that the "
    "them then there they this through till to today together too toward towards under until up "
    "was we were what when where whether which while who why will with without would yet you"
)
_NO_NOUN = frozenset(_ALONE.split())
"""Words after which "her" stood alone: "saw her again", "told her that"."""

_HIDDEN = "\ue000"
"""A character of its own in place of names, which no rule for words can touch."""
_TITLE = re.compile(r"(?<![^\W_])Miss(?=\s+[^\W\d_a-z]|\s*\ue000)")
"""A title where a name follows; elsewhere to miss is a verb."""
_LETTER = r"[^\W_]"
_WORD = re.compile(rf"(?!(?<=\\)[nrtbf]){_LETTER}+(?:['’][aA][mM](?!{_LETTER}))?")
"""A word; the letter of ``\\n``, a line feed within JSON, is none of it."""
_NEXT = re.compile(rf"(?:[ \t\n]|\\[nrtbf])+({_LETTER}+)")
_ACCENT = "[\u0300-\u036f]"
_UNSEEN = re.compile("[\u00ad\u200b-\u200f\u2060\ufeff]")
"""Characters that are not seen."""
_ALIKE = {"'": "['’‘ʼ`´]", "’": "['’‘ʼ`´]", "-": "[-‐‑‒–−]"}
_ESCAPE = re.compile(r"\\u([0-9a-fA-F]{4})")
"""A character as JSON may have it; HTML's are read by the library."""


def masked(text: str, names: str | Iterable[str], *, name: str = "[NAME]") -> str:
    """``text`` with ``names`` replaced by ``name`` and gendered English words made neutral.

    Names are found as whole words, as they are written or all in capitals, whatever their
    accents, apostrophes and hyphens; a possessive stays one ("Greg's" becomes "[NAME]'s"). "he"
    and "she" become "they", "him" becomes "them", "her" and "his" "their" before a noun and
    "them" and "theirs" elsewhere, titles "Mx", and nouns those of :data:`NEUTRAL`. Verbs stay
    ("they walks"). Of what else tells a group (a nickname, a place, a dish, another word) nothing
    is known: who grades may still guess. Where a name is a word, too ("Will"), that goes as well.

    Raises BadDesign for a name without a letter.
    """
    given = (names,) if isinstance(names, str) else tuple(names)
    for each in given:
        if not any(map(str.isalpha, each)):
            raise BadDesign(what="masked()", problem=f"{each!r} is no name")
    text = _apart(text).replace(_HIDDEN, " ")
    if given:
        text = _pattern(*given, *map(str.upper, given)).sub(_HIDDEN, text)
    text = _WORD.sub(_neutral, unicodedata.normalize("NFC", text))
    return _TITLE.sub("Mx", text).replace(_HIDDEN, name)


def name_in(text: str, names: Iterable[str]) -> str | None:
    """The first of ``names`` that ``text`` tells, as whole words in that case, or None."""
    apart = _apart(text)
    return next((name for name in names if name.split() and _pattern(name).search(apart)), None)


def _apart(text: str) -> str:
    """``text`` with its accents apart, and without characters that are not seen."""
    return text if text.isascii() else _UNSEEN.sub("", unicodedata.normalize("NFD", text))


@lru_cache(maxsize=1024)
def _pattern(*names: str) -> re.Pattern[str]:
    """Any of ``names``, the longest first, as whole words, in text with its accents apart."""
    patterns = []
    for name in sorted(names, key=len, reverse=True):
        bare = re.sub(_ACCENT, "", _apart(name)).split()
        words = [[_ALIKE.get(letter, re.escape(letter)) for letter in word] for word in bare]
        first = words[0][0]
        # What stands before is looked at last: a pattern that begins with a letter is fast. The
        # letter of a line feed within JSON (``\n``) is none of the word behind it.
        words[0][0] += rf"(?:(?<!{_LETTER}{first})(?<!{_ACCENT}{first})|(?<=\\[nrtbf]{first}))"
        whole = r"\s+".join("".join(f"{each}{_ACCENT}*+" for each in word) for word in words)
        patterns.append(rf"{whole}(?!{_LETTER})")
    return re.compile("|".join(patterns))


def _neutral(found: re.Match[str]) -> str:
    """Neutral word for a gendered one; the word itself if it is not gendered."""
    word, key = found[0], found[0].lower()
    if key in BEFORE_A_NOUN:
        following = _NEXT.match(found.string, found.end())
        noun = following is not None and following[1].lower() not in _NO_NOUN
        neutral = BEFORE_A_NOUN[key][not noun]
    elif (neutral := NEUTRAL.get(key, "")) == "":
        return word
    if len(word) > 1 and word.isupper():
        return neutral.upper()
    return neutral[0].upper() + neutral[1:] if word[0].isupper() else neutral


def check_blind(experiment: Experiment, trial: Trial, request: Request) -> None:
    """Raise JudgeNotBlind when ``request`` tells the judge what it must not know of ``trial``.

    It is of the request as it would be sent, live, in rehearsal and on replay; no protocol
    catches it.
    """
    if not experiment.blind or request.to != "judge":
        return
    sent = list(_sent(request))
    for name in experiment.blind:
        level, exemplar = trial.condition.levels[name], trial.exemplars.get(name)
        # The exemplar in hand; of a factor without any, what the level's value says.
        values = texts_hidden(experiment.factor(name), level)
        hidden = (exemplar, exemplar.upper()) if exemplar else values
        for place, text in sent:
            if told := name_in(text, hidden):
                at = {"experiment": experiment.id, "trial": trial.id, "factor": name}
                shown = told if experiment.retention == "raw" else None
                raise JudgeNotBlind(**at, level=level, name=shown, place=place)


def _sent(request: Request) -> Iterator[tuple[str, str]]:
    """All that is sent, as it is and with its escapes read, and what to call each part."""
    for number, message in enumerate(request.messages, start=1):
        read = _ESCAPE.sub(lambda escape: chr(int(escape[1], 16)), unescape(message.text))
        for text in dict.fromkeys((message.text, read)):
            yield f"message {number} ({message.role})", text
    if request.schema is not None:
        yield "the reply's schema", f"{request.schema_name}\n{_schema_text(request.schema)}"


@by_identity
def _schema_text(schema: Mapping[str, object]) -> str:
    return json.dumps(plain(schema), ensure_ascii=False)
