"""The English manipulation: errors that learners make, the same every time.

The rules are a word list of the 25 seeds: verbs and prepositions that stand in them, each with
what it becomes. In another text most errors that a learner would make are not made, and some that
are made are none.

Only words are exchanged, each for one other: agreement of subject and verb, prepositions, tense.
Agreement errs in one direction, as one writer's does: the third person loses its -s, and nothing
gains one. No article is touched or looked at, so that this manipulation and that of articles can
be made in either order; nor is a letter's case, punctuation or code.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from types import MappingProxyType

from .articles import ARTICLE, outside_code
from .edits import Edit, Edited, edited

DROPPED_S: Mapping[str, str] = MappingProxyType(
    {
        **{
            f"{verb}s": verb
            for verb in (
                *("arrive", "ask", "belong", "come", "cost", "curl", "depend", "eat", "end"),
                *("expect", "feel", "get", "hate", "heat", "hide", "hold", "hurt", "jump", "keep"),
                *("know", "last", "lie", "like", "live", "look", "lose", "make", "mean", "need"),
                *("open", "read", "retire", "return", "rise", "say", "see", "show", "start"),
                *("stick", "suit", "take", "think", "understand", "want", "win", "work"),
            )
        },
        "reaches": "reach",
        "has": "have",
    }
)
"""Third person without its -s: "she like", "it have"."""

TENSE: Mapping[str, str] = MappingProxyType(
    {"asked": "ask", "given": "give", "lived": "live", "sent": "send", "spilled": "spill"}
)
"""Past forms and participles as base forms: "has send"."""

AFTER: Mapping[tuple[str, str], str] = MappingProxyType(
    {
        ("depends", "on"): "of",
        ("interested", "in"): "on",
        ("arrives", "at"): "to",
        ("post", "as"): "like",
        ("notice", "of"): "from",
        ("explanation", "with"): "to",
        ("history", "at"): "on",
    }
)
"""A preposition by the word before it: "depends of"."""

_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_MONTHS = ("march", "may", "june", "august", "october", "november", "december")

BEFORE: Mapping[tuple[str, str], str] = MappingProxyType(
    {
        **{("on", day): "in" for day in _DAYS},
        **{("in", month): "on" for month in _MONTHS},
        ("in", "morning"): "at",
        ("in", "evening"): "at",
        ("at", "night"): "in",
        ("at", "home"): "in",
        ("at", "nine"): "in",
        ("at", "edges"): "in",
        ("at", "edge"): "in",
        ("in", "canteen"): "on",
        ("in", "middle"): "on",
        ("by", "train"): "with",
        ("by", "car"): "with",
        ("on", "left"): "in",
        ("on", "carpet"): "to",
        ("on", "third"): "in",
        ("on", "hill"): "at",
        ("on", "which"): "at",
    }
)
"""A preposition by the word after it: "in Monday"."""

_WORD = re.compile(r"(?<![\w'’-])[A-Za-z]+(?:['’][a-z]+)?(?![\w'’-])")
_ENDS = re.compile(r"[.!?;:]")


@lru_cache(maxsize=1024)  # a prompt is asked in every replicate
def l2_english(text: str) -> Edited:
    """``text`` with a learner's errors; what no rule knows stays as it is."""
    return edited(text, _errors(text))


def _errors(text: str) -> Iterator[Edit]:
    words = [match for match in outside_code(_WORD, text) if not ARTICLE.fullmatch(match.group())]
    before = None
    for place, match in enumerate(words):
        after = words[place + 1] if place + 1 < len(words) else None
        found = _error(
            _beside(text, before, match), match.group().lower(), _beside(text, match, after, 1)
        )
        if found is not None:
            rule, word = found
            yield Edit(match.start(), match.group(), _cased(word, like=match.group()), rule)
        before = match


def _cased(word: str, *, like: str) -> str:
    """``word`` in the case of the word it stands for."""
    if like.isupper():
        return word.upper()
    return word.capitalize() if like[0].isupper() else word


def _beside(
    text: str, one: re.Match[str] | None, two: re.Match[str] | None, which: int = 0
) -> str:
    """The first or second of two words that follow each other; empty across a sentence's end."""
    if one is None or two is None or _ENDS.search(text, one.end(), two.start()):
        return ""
    return (one, two)[which].group().lower()


def _error(before: str, word: str, after: str) -> tuple[str, str] | None:
    """The rule that changes a word between two others, and what it becomes; None for most."""
    if word in DROPPED_S:
        return "agreement", DROPPED_S[word]
    if word in TENSE:
        return "tense", TENSE[word]
    other = AFTER.get((before, word)) or BEFORE.get((word, after))
    return None if other is None else ("preposition", other)
