"""Numbers that a text states, held against those that an analysis has.

The digits that are printed decide what is close enough: ``4.97`` is any value that rounds to it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

_ONES = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
_TEENS = (
    *("ten", "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen"),
    *("eighteen", "nineteen"),
)
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_VALUES = {word: number for number, word in enumerate((*_ONES, *_TEENS), 1)}
_VALUES |= {word: 10 * number for number, word in enumerate(_TENS, 2)}
_PARTS = {"half": 2, "halves": 2, "third": 3, "thirds": 3, "quarter": 4, "quarters": 4}
_ONE = "|".join(_ONES)
_SMALL = rf"(?:{'|'.join(_TENS)})(?:[-\s](?:{_ONE}))?|{'|'.join((*_ONES[2:], *_TEENS))}"
_SHARE = rf"(?:an?|{_ONE})[-\s](?:{'|'.join(_PARTS)})|(?<!first\s)(?<!second\s)half"
_HUNDREDS = rf"(?:(?:a|{_ONE})[-\s])?hundred(?:(?:\sand)?\s(?:{_SMALL}))?"
_APART = r"(?<![^\W_])(?<![^\W_]_)"
"""Behind no letter or digit, nor an underscore that is no emphasis, as in a name."""
_NUMBER = re.compile(
    rf"(?P<sign>±\s?|{_APART}(?<![.,)\]%$])[-−–+])?"
    rf"{_APART}(?<!\.)(?<![\w)\]}}\[]\^)"
    r"(?P<digits>(?:\d{1,3}(?:[,\u202f\u00a0]\d{3})+(?!\d)|\d+)(?:\.\d+)?|\.\d+)"
    r"(?:[eE](?P<e>[-−+]?\d{1,3})|\s?[×x]\s?10(?:\^\{?(?P<ten>[-−]?\d{1,3})\}?|(?P<high>[⁻⁰¹²³⁴-⁹]+)))?"
    r"(?P<percent>\s?\\?(?:%|per\s?cent\b|percentage points?\b))?"
    rf"|{_APART}(?<!-)(?P<word>{_SHARE}|{_HUNDREDS}|{_SMALL})(?![^\W_]|_[^\W_])",
    re.IGNORECASE,
)
_DIGEST = re.compile(r"(?<![\w.])(?=\d*[a-f])[0-9a-f]{7,}(?!\w)")
"""A commit or checksum, whose digits are numbers of nothing."""
_PLAIN = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹−–", "-0123456789--", ",\u202f\u00a0")

_IS = r"\s*(?:=|:|of|was|is|were)?"
_CUES: Mapping[str, tuple[str, str]] = {
    "p-value": (
        r"\bp(?:[- ]?values?)?\s*(?:=|<|>|≤|≥|:|of|was|is)",
        "p p_alarm p_clear p_adjusted p_lower p_upper",
    ),
    "number of observations": (
        r"\bn\s*[=:]",
        "n units replies fewest planned ok trials valid settle rows replicates",
    ),
    "standard deviation": (rf"\b(?:sds?|standard deviations?){_IS}", "sd"),
    "standard error": (rf"\b(?:se|standard errors?){_IS}", "se"),
    "median": (rf"\bmedians?{_IS}", "median"),
    "mean": (
        r"\b(?:m\s*=|means?\s*(?:=|:|of|was|is)?)",
        "mean low_mean high_mean estimate difference",
    ),
    "effect size": (r"\b[dg]\s*=", "d g"),
    "t statistic": (r"\bt(?:\s?\([^)]*\))?\s*=", "t t_lower t_upper"),
    "number of degrees of freedom": (r"(?:\bt\s?\(|\bdf\s*=)", "df"),
}
"""What a number is said to be → the words before it, and its names in an analysis."""

_REACH = 30
"""Characters before a number that may say what it is."""
_ROUGHLY = re.compile(r"(?:\b(?:about|around|approximately|roughly|nearly|almost|over)|[≈~])$")
_LOWER = re.compile(
    r"\b(?:lower|less|fewer|shorter|smaller|below|decreas\w*|reduc\w*|dropp?\w*|f[ae]ll\w*|negative"
    r"|minus|magnitude|absolute|in size)\b"
)
_BOUNDS = frozenset({0.1, 0.05, 0.01, 0.005, 0.001, 0.0005, 0.0001})
"""Values that p-values may be said to lie below or above."""
_TWO_SIDED = frozenset({"margin", "similar_within"})
_ENDS = (("low", "high"), ("minimum", "maximum"), ("q1", "q3"), ("low_mean", "high_mean"))
_INTERVAL = re.compile(r"(?:\bCI|\binterval)s?\b[^.;\n]{0,20}$|\[\s*$")
_BETWEEN = re.compile(r"\s*(?:,|;|to|and|–|-|−)\s*")


@dataclass(frozen=True, slots=True)
class Stated:
    """A number in a text: its value, half a unit of its last digit, and where it stands.

    ``sign`` is ``+``, ``-``, ``±`` or empty; of a ``percent`` the value is the share.
    """

    value: float
    tolerance: float
    sign: str
    percent: bool
    whole: bool
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Facts:
    """All that an analysis says in numbers: each with its name, and the ends of its intervals.

    A number that a text of it states has no name, or that of what the text says it is. ``ends``
    are low, high and confidence level, which is None where there is none.
    """

    numbers: tuple[tuple[float, str], ...]
    ends: tuple[tuple[float, float, float | None], ...]


def stated_in(text: str) -> list[Stated]:
    """Return the numbers of ``text`` in their order: digits, and words: three and more, shares."""
    return [_stated(match) for match in _NUMBER.finditer(text)]


def _stated(match: re.Match[str]) -> Stated:
    word = (match["word"] or "").casefold()
    digits = _digits(word) if word else match["digits"].translate(_PLAIN)
    power = int((match["e"] or match["ten"] or match["high"] or "0").translate(_PLAIN))
    decimals = len(digits.partition(".")[2])
    percent = match["percent"] is not None
    scale = power - 2 * percent
    return Stated(
        value=float(f"{digits}e{scale}"),
        tolerance=float(f"0.5e{scale - decimals}"),
        sign=(match["sign"] or "").strip().translate(_PLAIN),
        percent=percent,
        whole=decimals == 0 and power == 0,
        start=match.start(),
        end=match.end(),
    )


def _digits(word: str) -> str:
    """``three`` → 3, ``one hundred and twenty-six`` → 126, ``two thirds`` → 0.67."""
    *before, last = re.split(r"[-\s]+", word)
    if parts := _PARTS.get(last):
        return f"{(_VALUES.get(before[0], 1) if before else 1) / parts:.2f}"
    times, _, rest = word.rpartition("hundred")
    hundreds = _VALUES.get(times.strip(" -"), 1) if "hundred" in word else 0
    return str(100 * hundreds + sum(_VALUES.get(each, 0) for each in re.split(r"[-\s]+", rest)))


def facts_of(value: object) -> Facts:
    """Return the facts of JSON data; what its texts state are facts too."""
    numbers: list[tuple[float, str]] = []
    ends: list[tuple[float, float, float | None]] = []
    for name, inner in _walk(value, ""):
        if isinstance(inner, Mapping):
            known = {key: each for key, each in inner.items() if isinstance(each, int | float)}
            ends += [
                (known[a], known[b], known.get("level")) for a, b in _ENDS if {a, b} <= {*known}
            ]
            ends += [(-known[each], known[each], None) for each in _TWO_SIDED & {*known}]
            numbers += [(-known[each], each) for each in _TWO_SIDED & {*known}]
        elif isinstance(inner, str):
            text = _DIGEST.sub("", inner)
            said = stated_in(text)
            numbers += [((-1 if s.sign == "-" else 1) * s.value, _cue(text, s)) for s in said]
            ends += [(a.value, b.value, None) for a, b in pairwise(said) if _joined(text, a, b)]
        elif isinstance(inner, int | float) and not isinstance(inner, bool):
            numbers.append((float(inner), name))
    return Facts(tuple(numbers), tuple(ends))


def _walk(value: object, name: str) -> Iterator[tuple[str, object]]:
    yield name, value
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield "", str(key)
            yield from _walk(inner, str(key))
    elif isinstance(value, Sequence) and not isinstance(value, str):
        for inner in value:
            yield from _walk(inner, name)


def _joined(text: str, one: Stated, two: Stated) -> bool:
    return _BETWEEN.fullmatch(text[one.end : two.start]) is not None


def _before(text: str, at: int) -> str:
    return re.sub(r"[*_$\\]", "", text[max(0, at - _REACH) : at]).casefold().rstrip()


def _cue(text: str, stated: Stated) -> str:
    """What the words before a number say it is; empty where they say nothing."""
    before = _before(text, stated.start)
    return next((what for what, (cue, _) in _CUES.items() if re.search(f"{cue}$", before)), "")


def number_problem(text: str, stated: Stated, facts: Facts) -> tuple[str, str] | None:
    """Return what is wrong with a number of ``text``: a kind and words; None where nothing is."""
    before, cue = _before(text, stated.start), _cue(text, stated)
    names = {cue, *_CUES[cue][1].split()} if cue else set()
    roughly = _ROUGHLY.search(before) is not None
    near = [fact for fact in facts.numbers if _is_near(stated, fact[0], roughly=roughly)]
    bounds = cue == "p-value" and before[-1] in "<>≤≥"
    if not near and not (bounds and stated.value in _BOUNDS):
        return "invented number", "is not in the analysis"
    if bounds:
        below = before[-1] in "<≤"
        ps = [value for value, name in facts.numbers if name in names]
        if not any(p < stated.value if below else p > stated.value for p in ps):
            return (
                "wrong statistic",
                f"has no p-value of the analysis {'below' if below else 'above'}",
            )
        return None
    sentence = re.split(r"(?<=[.!?])\s", text[: stated.start])[-1] + text[stated.end :][:80]
    lower = _LOWER.search(sentence.casefold()) is not None
    if not any(_has_sign(stated, value) or (lower and not stated.sign) for value, _ in near):
        found = sorted({f"{value:+.4g}" for value, _ in near})
        return "wrong sign", f"is {' or '.join(found[:3])} in the analysis"
    if cue and not any(name in names for _, name in near):
        return "wrong statistic", f"is no {cue} of the analysis"
    return None


def _is_near(stated: Stated, value: float, *, roughly: bool = False) -> bool:
    """Return whether a value, of either sign, is what is stated; it is known to six digits.

    One digit is too coarse to be held against a fraction, unless it is said to be rough.
    """
    size = abs(value)
    if (stated.percent and size > 1) or stated.tolerance == 0:  # or less than any float
        return False
    if stated.whole and not roughly and not size.is_integer():
        few = stated.value < 10 and not stated.percent  # noqa: PLR2004  (one digit)
        if few or stated.value == 0:
            return False
    return abs(stated.value - size) <= stated.tolerance * (1 + 1e-9) + 5e-6 * size


def _has_sign(stated: Stated, value: float) -> bool:
    return value == 0 or stated.sign == "±" or (value < 0) == (stated.sign == "-")


def wrong_intervals(
    text: str, numbers: Sequence[Stated], facts: Facts
) -> Iterator[tuple[Stated, Stated, str]]:
    """Pairs that are written as an interval and are none of the analysis, and words for each."""
    for place, (low, high) in enumerate(pairwise(numbers)):
        before = text[max(0, low.start - _REACH) : low.start]
        if not (_joined(text, low, high) and _INTERVAL.search(before.rstrip(" ("))):
            continue
        levels = {
            level
            for a, b, level in facts.ends
            if _is_near(low, a) and _is_near(high, b)
            if _has_sign(low, a) and _has_sign(high, b)
        }
        said = (
            numbers[place - 1] if place and low.start - numbers[place - 1].end < _REACH else None
        )
        known = sorted(level for level in levels if level is not None)
        if not levels:
            yield low, high, "these are not the ends of one interval of the analysis"
        elif said and said.percent and known and not any(_is_near(said, each) for each in known):
            names = " or ".join(f"{100 * level:.4g} %" for level in known)
            yield low, high, f"this is its interval at {names}"
