"""What is wrong with a written paper: sections, numbers, citations, comparison with people."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

from .stated import Facts, Stated, number_problem, stated_in, wrong_intervals

SECTIONS = (
    *("Abstract", "Methods", "Results", "Discussion", "Limitations", "Conclusion", "References"),
)
"""Sections that a paper must have after its title."""

_SYNONYMS = {"method": "methods", "conclusions": "conclusion"}
_HEADING = re.compile(r"\s{0,3}#{1,6}\s+(.*?)[\s#:]*|\s*\*\*((?:(?!\*\*).)+)\*\*:?\s*")
_NUMBERED = re.compile(r"[\s#*]*(?:\d+(?:\.\d+)*[.):]?|[IVX]+\.)\s+")
_LISTED = re.compile(r"^\s*(?:[-*+]|\[?\d{1,2}[.)\]])\s+")
_ROW = re.compile(r"\s*\|")
_ALONE = re.compile(r"\s{0,3}#{1,6}\s|\s*(?:\||(?:[-*+]|\[?1[.)\]])\s)")
_LABEL = re.compile(
    r"\b(?:section|table|figure|fig\.|hypothesis|step|appendix)\s+$", re.IGNORECASE
)
_LINK = re.compile(r"https?://[^\s)>\]]+|\b10\.\d{4,9}/[^\s)>\]]+")
_CAPITALS = "".join(filter(str.isupper, map(chr, range(0x2000))))
_NAME = rf"[{_CAPITALS}][\w\u0300-\u036f’'-]+"
_CITED = re.compile(
    rf"(?P<first>{_NAME})(?P<more>(?:,?\s(?:and|&)\s{_NAME}|,\s{_NAME})*(?:,?\set\sal\.?)?)"
    r"(?P<mid>(?:’s|'s)?,?\s*\(?)(?P<year>(?:1[89]|20)\d\d)[a-z]?\b"
)
_MONTHS = frozenset(
    (
        *("January", "February", "March", "April", "May", "June", "July", "August", "September"),
        *("October", "November", "December"),
    )
)
_OPENINGS = frozenset(
    (
        *("Accordingly", "Additionally", "Again", "Also", "Consequently", "Conversely", "Earlier"),
        *("Finally", "First", "Furthermore", "Hence", "Here", "However", "Indeed", "Instead"),
        *("Later", "Likewise", "Meanwhile", "Moreover", "Nevertheless", "Nonetheless", "Notably"),
        *("Overall", "Recently", "Second", "Similarly", "Still", "Then", "Third", "Thus", "Yet"),
    )
)
"""Words with which sentences begin, before a comma and an author."""
_PEOPLE = (
    r"[^.;]{0,30}\b(?:than|to|that of)\b[^.;]{0,40}\b(?:people|humans?|participants|professionals)"
)
_CLAIMS = {
    name: re.compile(rf"\b{name}\b|\b(?i:(?:{words})\b{_PEOPLE})")
    for name, words in (
        ("LESS", "less|smaller|weaker|lower"),
        ("SIMILAR", "similar"),
        ("GREATER", "greater|larger|stronger|higher|more"),
    )
} | {name: re.compile(rf"\b{name}\b") for name in ("CLEAR", "BIASED", "INCONCLUSIVE")}
_DENIED = re.compile(
    r"\b(?:not|no|nor|neither|never|cannot|n[’']t|whether|or)\b[^.;]{0,40}$", re.IGNORECASE
)
_IS_NOT = re.compile(r"\b(?:is|are|was|were|judged|found) (?:not|never)\s$", re.IGNORECASE)
_ALIKE = 0.6
"""Share of its words that an entry of References has in common with the source it is of."""


@dataclass(frozen=True, slots=True, order=True)
class PaperMark:
    """Something wrong with a paper: its line and column (0: of the whole), kind, and words."""

    line: int
    column: int
    kind: str
    words: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """All that a paper may rest on: ``text`` is all that the writer was given.

    ``sources`` are full citations, ``people`` the effects in people, ``relations`` how the
    analysis has the model's beside them (both empty without a comparison), ``statuses`` its
    verdicts; ``simulated`` is whether the subject is.
    """

    facts: Facts
    text: str
    sources: tuple[str, ...]
    people: tuple[float, ...]
    relations: frozenset[str]
    statuses: frozenset[str]
    simulated: bool


def marks_of(text: str, known: Known) -> list[PaperMark]:
    """Return all that is wrong with a paper, by line."""
    lines = text.split("\n")
    sections = _sections(lines)
    found = [*_missing(sections, lines, known)]
    if "discussion" in sections and known.relations:
        found += _uncompared(sections["discussion"], lines, known)
    references = sections.get("references", range(0))
    found += _reference_marks(references, lines, known)
    for span in _texts(lines):
        if span.start not in references:
            found += _text_marks(span, lines, known)
    return sorted(dict.fromkeys(found))


def _texts(lines: Sequence[str]) -> Iterator[range]:
    """The lines of each paragraph, item of a list, heading and row of a table.

    As in Markdown, of numbered lines only one with 1 ends a paragraph: others are wrapped text.
    """
    begin = 0
    for at, line in enumerate(lines[1:], start=1):
        first, before = lines[begin], lines[at - 1]
        if (
            not (line.strip() and before.strip())
            or _ALONE.match(line)
            or (_LISTED.match(line) and _LISTED.match(first))
            or _HEADING.fullmatch(first)
            or _ROW.match(first)
        ):
            yield range(begin, at)
            begin = at
    yield range(begin, len(lines))


def _text_marks(span: range, lines: Sequence[str], known: Known) -> Iterator[PaperMark]:
    """What is wrong with a text, at the lines that its words end on."""
    margins = [len(lines[at]) - len(lines[at].lstrip(" \t>")) for at in span]
    parts = [lines[at][margin:].rstrip() for at, margin in zip(span, margins, strict=True)]
    starts = [*accumulate((len(part) + 1 for part in parts[:-1]), initial=0)]
    for column, *mark in _line_marks(" ".join(parts), known):
        of = bisect_left(starts, column) - 1
        yield PaperMark(span[of] + 1, column - starts[of] + margins[of], *mark)


def _sections(lines: Sequence[str]) -> dict[str, range]:
    """Section → its lines from its heading on; the title is the first heading, if it is none."""
    starts: list[tuple[str, int]] = []
    for at, line in enumerate(lines):
        if match := _HEADING.fullmatch(line):
            name = _NUMBERED.sub("", (match[1] or match[2]).strip(" *_")).casefold().strip(": ")
            name = _SYNONYMS.get(name, name)
            if name.capitalize() in SECTIONS or (name and not starts):
                starts.append((name if name.capitalize() in SECTIONS else "title", at))
    ends = [at for _, at in starts[1:]] + [len(lines)]
    return {
        name: range(at, end) for (name, at), end in reversed([*zip(starts, ends, strict=False)])
    }


def _missing(
    sections: Mapping[str, range], lines: Sequence[str], known: Known
) -> Iterator[PaperMark]:
    for name in ("Title", *SECTIONS):
        span = sections.get(name.casefold())
        if span is None:
            yield PaperMark(0, 0, "missing section", f"there is no {name}")
            continue
        below = "\n".join(line for line in lines[span.start + (name != "Title") : span.stop])
        if not re.search(r"\w", re.sub(r"(?m)^#{2,}.*$", "", below)):
            yield _behind(span, lines, "empty section", f"{name} says nothing")
        elif name == "Results" and not stated_in(below):
            yield _behind(span, lines, "empty section", "Results holds no number")
    if known.simulated and not any("simulated" in line.casefold() for line in lines):
        yield PaperMark(0, 0, "not named", "the paper does not say that the subject is simulated")


def _uncompared(span: range, lines: Sequence[str], known: Known) -> Iterator[PaperMark]:
    """What a comparison with people lacks."""
    text = "\n".join(lines[span.start + 1 : span.stop])
    said, cited = stated_in(text), [(c["first"], c["year"]) for c in _CITED.finditer(text)]
    if not any(relation in text for relation in known.relations):
        words = f"Discussion does not say {' or '.join(sorted(known.relations))}"
        yield _behind(span, lines, "missing comparison", words)
    if not any(abs(s.value - abs(gap)) <= s.tolerance for s in said for gap in known.people):
        yield _behind(
            span, lines, "missing comparison", "Discussion does not state people's effect"
        )
    if not any(
        name in source and year in source for name, year in cited for source in known.sources
    ):
        yield _behind(span, lines, "missing citation", "Discussion cites no source")


def _behind(span: range, lines: Sequence[str], kind: str, words: str) -> PaperMark:
    """A mark behind the heading of a section."""
    return PaperMark(span.start + 1, len(lines[span.start]), kind, words)


def _line_marks(line: str, known: Known) -> Iterator[tuple[int, str, str]]:
    """What is wrong in a text, as one line: column, kind and words."""
    passed = []  # what is a number in form alone
    if match := (_NUMBERED if _HEADING.fullmatch(line) else _LISTED).match(line):
        passed.append(range(match.end()))
    for link in _LINK.finditer(line):
        passed.append(range(*link.span()))
        if link[0].rstrip(".,;*_") not in known.text:
            yield link.end(), "invented citation", f"{link[0]} is of no known source"
    for cited in _CITED.finditer(line):
        told = cited["more"] or {"(", ","} & {*cited["mid"]}
        names = [re.sub(r"[’']s?$", "", each) for each in re.findall(_NAME, cited[0])]
        joint = re.search(r"\sand\s|&", cited[0])  # a comma alone joins no authors
        names = names[names[0] in _OPENINGS :] if joint else names[-1:]
        if told and not {*names[-2:]} <= _MONTHS:
            passed.append(range(*cited.span("year")))
            for name in names:
                source = rf"\b{re.escape(name)}\b[^\"]{{0,80}}\b{cited['year']}\b"
                if not re.search(source, known.text):
                    words = f"{name} {cited['year']} is no known source"
                    yield cited.end(), "invented citation", words
    yield from _number_marks(line, known, passed)
    yield from _claim_marks(line, known)


def _claim_marks(line: str, known: Known) -> Iterator[tuple[int, str, str]]:
    for word, claim in _CLAIMS.items():
        for match in claim.finditer(line):
            status = word in ("CLEAR", "BIASED", "INCONCLUSIVE")
            has = known.statuses if status else known.relations
            before = line[: match.start()]
            if status and {*has} == {word} and _IS_NOT.search(before):
                words = f"not {word} contradicts the analysis, which has {word} alone"
                yield match.end(), "wrong claim", words
            elif word not in has and not _DENIED.search(before):
                instead = " or ".join(sorted(has)) or "no comparison with people"
                words = f"{word} contradicts the analysis, which has {instead}"
                yield match.end(), "wrong claim", words


def _number_marks(
    line: str, known: Known, passed: Sequence[range]
) -> Iterator[tuple[int, str, str]]:
    numbers = [n for n in stated_in(line) if not any(n.start in span for span in passed)]
    wrong = set()
    for each in numbers:
        if _is_name(line, each, known.text) or (each.whole and _LABEL.search(line[: each.start])):
            continue
        if problem := number_problem(line, each, known.facts):
            wrong.add(each)
            yield each.end, problem[0], f"{line[each.start : each.end].strip()} {problem[1]}"
    for low, high, words in wrong_intervals(line, numbers, known.facts):
        if not wrong & {low, high}:
            yield high.end, "wrong interval", words


def _is_name(line: str, number: Stated, text: str) -> bool:
    """Return whether a number is part of a name that the writer was given: a model, a day."""
    begin = line.rfind(" ", 0, number.start) + 1
    token = line[begin:].split(" ", 1)[0].strip("*_`()[]{}.,;:\"'!?")
    named = re.search(r"[A-Za-z-].*\d|\d.*[-.].*[-.]", token)
    return (
        named is not None and re.search(rf"(?<![\w.]){re.escape(token)}(?!\w)", text) is not None
    )


def _reference_marks(span: range, lines: Sequence[str], known: Known) -> Iterator[PaperMark]:
    """What is wrong with the list of references: unknown ones, altered ones, missing ones."""
    sources = {source: _counted(source) for source in known.sources}
    cited: set[str] = set()
    entries: list[tuple[int, str]] = []
    for at in span[1:]:
        if not lines[at].strip():
            continue
        if _LISTED.match(lines[at]) or not lines[at - 1].strip() or not entries:
            entries.append((at, ""))
        entries[-1] = (entries[-1][0], f"{entries[-1][1]} {_LISTED.sub('', lines[at])}")
    for at, entry in entries:
        words = _counted(entry)
        shared = {s: (words & w).total() / (words | w).total() for s, w in sources.items()}
        best = max(shared, key=shared.__getitem__, default="")
        if shared.get(best, 0) < _ALIKE:
            problem = "invented citation", "this is none of the sources that were given"
            yield PaperMark(at + 1, len(lines[at]), *problem)
            continue
        cited.add(best)
        if other := ", ".join(word for word in words - sources[best] if word.isdigit()):
            problem = "invented citation", f"{other} is not in the source"
            yield PaperMark(at + 1, len(lines[at]), *problem)
    for source in known.sources if span else ():
        if source not in cited:
            yield _behind(span, lines, "missing citation", f"References lack: {source}")


def _counted(text: str) -> Counter[str]:
    return Counter(re.findall(r"[^\W_]+", text.casefold()))
