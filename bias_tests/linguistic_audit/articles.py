"""The article manipulation: every ``a``, ``an`` and ``the`` is left out, and nothing else."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from .edits import Edit, Edited, edited

CODE = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)
"""Code, which no transformation touches."""

ARTICLE = re.compile(r"(?<![\w'’&/`-])(?<!\w\.)(?:an?|the)(?![\w'’&/`-]|\.\w)", re.IGNORECASE)
"""An article as a word of its own: no part of a word, "a.m.", "a/c" or "the-", nor beside code."""

_STARTS = re.compile(r"(?:\A|[.!?:]['\"”’)]*\s+|\n)['\"“‘(]*\Z")
"""What stands before the first word of a sentence."""

_SPACES = re.compile(r"[^\S\n]+\Z")
"""The spaces at the end of a line."""


def outside_code(pattern: re.Pattern[str], text: str) -> Iterator[re.Match[str]]:
    """The matches of ``pattern`` that do not touch code."""
    code = [match.span() for match in CODE.finditer(text)]
    for match in pattern.finditer(text):
        if not any(start < match.end() and match.start() < end for start, end in code):
            yield match


@lru_cache(maxsize=1024)  # a prompt is asked in every replicate
def omit_articles(text: str) -> Edited:
    """``text`` without its articles; a sentence that began with one begins with a capital again.

    An article goes with the spaces after it, or, where none follow (before punctuation or at the
    end of a line), with those before it. Lines stay as they are: joining them could open or close
    code.
    """
    return edited(text, _omissions(text))


def _omissions(text: str) -> Iterator[Edit]:
    capital = False  # whether what is left out began a sentence with one
    upto = -1
    code = {match.start() for match in CODE.finditer(text)}
    for match in outside_code(ARTICLE, text):
        start, end = match.span()
        if upto != start:
            capital = match.group()[0].isupper() and bool(_STARTS.search(text[:start]))
        after = re.compile(r"[^\S\n]+").match(text, end)
        if after is None:
            # Nothing to go with but the white space before it, unless an article took that along.
            space = len(text[:start]) - len(_SPACES.sub("", text[:start]))
            start -= space if start - space >= upto else start - upto
            yield Edit(start, text[start:end], "", "article")
            upto = end
            continue
        upto = after.end()
        first = text[upto : upto + 1]
        if capital and first.islower() and upto not in code and not ARTICLE.match(text, upto):
            upper = first.upper()
            yield Edit(start, text[start : upto + 1], upper, "article at the start of a sentence")
        else:
            yield Edit(start, text[start:upto], "", "article")
