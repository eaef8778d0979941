"""Measures (dependent variables): what is taken from a trial's result, and of a reply's text.

What is of a text is a plain function of it, to be given to a :class:`Measure` as ``take=``, or
called from one. It keeps or quotes nothing.
"""

from __future__ import annotations

import functools
import math
import operator
import re
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol, cast, get_args, get_origin, get_type_hints

from ..errors import BadDesign, InvalidReply
from ..stats.results import Misclassified, Reliability
from .design import check_label
from .fields import is_pair, need, need_function, need_number, need_text, shortened, wrong
from .replies import refusal_phrases

MeasureValue = float | str | bool

MeasureKind = Literal["number", "flag", "category"]
"""What a measure's values are: numbers, True or False, or words of a closed set."""

COMPARABLE: tuple[MeasureKind, ...] = ("number", "flag")
"""The kinds that contrasts compare."""

MISSING = "missing"
"""A measure every experiment has: whether a trial gave no valid reply (mostly a refusal)."""

FORMAT_KEPT = "format_kept"
"""A measure of how replies came: whether those of a trial came bare, as asked."""

LONGEST_REASON = 40
"""Characters of a reason for which a trial is missing, where no text may be kept."""

LONGEST_CATEGORY = 80
"""Characters of the longest category: what is longer may be a reply's text."""

_KEPT = (
    "whether every reply of the subject came bare, without a thought, a fence or words around it"
)

_APOSTROPHES = str.maketrans(dict.fromkeys("’‘ʼ＇`´′", "'"))

_COUNTED = re.compile(r"[^\W_]\S*")  # a word, from its first letter or digit on
_MARKS = dict.fromkeys(
    code for code in range(128) if not (chr(code).isalnum() or chr(code).isspace())
)

_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff]"
)
"""Characters of scripts that put no spaces between words."""


@dataclass(frozen=True, slots=True)
class Measure:
    """A number, category or flag taken from the result of a trial.

    Parameters
    ----------
    name
        Label of the measure, its column in the records.
    take
        From the protocol's result to the value; by default its attribute called ``name``. It may
        raise ``InvalidReply(reason)`` where the reply has none: the trial is missing then. Any
        other error of it, NaN, and a value of another type stay errors, for it is to blame.
    unit
        Unit in print ("months on probation").
    bounds
        Smallest and largest possible value of a numeric measure. Worst cases for missing replies
        and statements about deterministic replies need them. A trial whose value lies outside is
        missing, as ``out_of_bounds_<name>``, and is not asked again; put limits into the reply's
        schema or ``check=`` where it should be.
    version
        Raise it when ``take`` comes to measure something else: recordings that keep only measures
        cannot be measured again, and are then not taken for what they no longer are.
    meaning
        What it is, in words, for the data dictionary of a published data set.
    kind
        ``"number"``, ``"flag"`` (True or False) or ``"category"``. It need not be said where
        bounds, unit, categories, or the annotation of ``take`` or of the protocol's result say
        it; a hypothesis compares means of numbers and rates of flags.
    whole
        Whether it says nothing of a reply that the limit on tokens ended, such as its length:
        where that is more than one reply in twenty, nothing on it is cleared.
    integer
        Whether it counts: its values are whole numbers, and integers in a published data set. A
        trial with another is missing, as ``not_whole_<name>``.
    categories
        The closed set of a measure that is text: a value is one of these, or several with a space
        between. Where no text is kept, and in published data sets, there is no other text.
    unless
        Name of a flag among the experiment's measures. A reply in which it happened is left out
        of this measure: it is neither a value of it nor missing. So the length of replies is that
        of answers where refusals are a measure of their own.
    missing_as
        What a missing reply counts as, of a flag: ``False`` where what did not come did not
        happen, as a story without an ending is not pro-social. By default claims are about the
        valid replies.
    optional
        Whether a table of replies may lack it: positive controls on it then count as not recorded.
    error
        How often an event is read as one, and anything else as none: differences of its rates
        are corrected for it. Of a judge's flags it is taken from the records.
    spread
        Standard deviation of its values within a condition, of an event its rate, that a plan
        counts on before there are replies. Of what is selected: that of a pool's log ratio.
    """

    name: str
    take: Callable[[Any], MeasureValue] | None = field(default=None, repr=False)
    unit: str = ""
    bounds: tuple[float, float] | None = None
    version: int = 1
    meaning: str = ""
    categories: Iterable[str] = field(default=(), repr=False)
    complete: bool = False
    integer: bool = False
    unless: str = ""
    missing_as: bool | None = None
    optional: bool = False
    error: Misclassified | Reliability | None = None
    kind: MeasureKind | None = None
    spread: float | None = None

    def __post_init__(self) -> None:
        what = f"Measure({shortened(self.name)})"
        check_label(self.name, what)
        need_function(what, "take", self.take)
        need_text(what, unit=self.unit, meaning=self.meaning, unless=self.unless)
        need(what, "complete", self.complete, bool, "True or False")
        need(what, "integer", self.integer, bool, "True or False")
        need(what, "optional", self.optional, bool, "True or False")
        expected = "Misclassified(…), or None"
        need(what, "error", self.error, (Misclassified, Reliability, type(None)), expected)
        if type(self.version) is not int:
            raise wrong(what, "version", self.version, "a whole number")
        if self.name == MISSING or (self.name == FORMAT_KEPT and self.meaning != _KEPT):
            raise BadDesign(what=what, problem="every experiment has a measure of this name")
        if self.spread is not None and need_number(what, "spread", self.spread) < 0:
            raise wrong(what, "spread", self.spread, "a number, 0 or above")
        if self.bounds is not None:
            bounds: object = self.bounds
            ends = self.bounds if is_pair(bounds) else (0.0, 0.0)
            low, high = (need_number(what, "each of bounds", end) for end in ends)
            if not low < high:
                raise wrong(what, "bounds", bounds, "two finite numbers, rising")
        listed: object = self.categories
        several = isinstance(listed, Iterable) and not isinstance(listed, str)
        given = tuple(self.categories) if several else ()
        if (listed and not given) or not all(map(_is_category, given)):
            problem = f"texts of one line, {LONGEST_CATEGORY} characters at most"
            raise wrong(what, "categories", listed, problem)
        object.__setattr__(self, "categories", frozenset(given))
        self._derive_kind(what)

    def _derive_kind(self, what: str) -> None:
        """Take the kind from the other fields where none is given; refuse one they contradict."""
        if self.kind not in (None, *get_args(MeasureKind)):
            raise wrong(what, "kind", self.kind, "'number', 'flag' or 'category'")
        counted = self.bounds is not None or self.integer or self.unit
        derived: tuple[tuple[MeasureKind, object, str], ...] = (
            ("category", self.categories, "categories"),
            ("number", counted, "bounds, unit or integer"),
            ("flag", isinstance(self.error, Misclassified), "rates of misclassification"),
            ("flag", self.missing_as is not None, "what missing replies count as"),
        )
        for kind, given, fields in derived:
            if given and self.kind not in (None, kind):
                raise BadDesign(what=what, problem=f"{fields} belong to a {kind}")
            if given:
                object.__setattr__(self, "kind", kind)

    def of(self, result: object) -> MeasureValue:
        """The value of this measure in ``result``.

        Raises InvalidReply when it lies outside the bounds, is not whole where it must be, is a
        whole number too large for any, or a text that is no category, and BadDesign when it is no
        value at all, or one of another kind.
        """
        value: Any = self._taken(result)
        if hasattr(value, "tolist"):  # of numpy
            value = value.tolist()
        kind = _kind(type(value))
        if None not in (kind, self.kind) and kind != self.kind:
            raise BadDesign(
                what=f"Measure({self.name!r})",
                problem=f"is a {self.kind} and gave a {type(value).__name__}",
            )
        if kind == "flag":
            return bool(value)
        if kind == "category":
            value = str.__str__(value)  # of an enum its value, and no enum travels on
            self.check_range(value)
            return str(value)
        self.check_range(value)
        number = finite_number(value)
        if number is not None:
            return number
        if isinstance(value, int):
            raise self._outside()
        raise BadDesign(
            what=f"Measure({self.name!r})",
            problem=f"gave a {type(value).__name__}; a finite number, str or bool is needed",
        )

    def has_value(self, values: Mapping[str, MeasureValue]) -> bool:
        """Return whether a valid trial with these measures is one that this measure is about."""
        return values.get(self.unless) is not True

    def check_range(self, value: object) -> None:
        """Raise InvalidReply for a number that cannot be, and for a text that is no category.

        NaN is on neither side of any bounds.
        """
        if isinstance(value, str) and self.categories and not self.declares(value):
            raise self._outside("undeclared")
        if isinstance(value, bool) or not isinstance(value, int | float):
            return
        if self.integer and value % 1 > 0:
            raise self._outside("not_whole")
        if self.bounds is None:
            return
        if value < self.bounds[0] or value > self.bounds[1]:
            raise self._outside()

    def _outside(self, how: str = "out_of_bounds") -> InvalidReply:
        return InvalidReply(f"{how}_{self.name}"[:LONGEST_REASON].rstrip("_"))

    def declares(self, text: str) -> bool:
        """Return whether ``text`` is one of the categories, or several of them."""
        known = cast("frozenset[str]", self.categories)
        return text in known or known.issuperset(text.split(" "))

    @property
    def listed(self) -> list[str]:
        """The categories in order; numbers within them count by size."""

        def placed(text: str) -> tuple[list[str | int], str]:
            parts = re.split(r"(\d+)", text)
            return [int(part) if n % 2 else part for n, part in enumerate(parts)], text

        return sorted(self.categories, key=placed)

    @property
    def undeclared(self) -> BadDesign:
        """Return the error for text that would be kept or published, and may be a reply's."""
        problem = "gives text, and of text only declared categories are kept or published: say "
        return BadDesign(what=f"Measure({self.name!r})", problem=f"{problem}categories=[…]")

    def _taken(self, result: object) -> object:
        if self.take is not None:
            return self.take(result)
        try:
            return cast("object", getattr(result, self.name))
        except AttributeError:
            raise BadDesign(
                what=f"Measure({self.name!r})",
                problem=(
                    f"the protocol's result, a {type(result).__name__}, has no attribute of this "
                    "name; give take="
                ),
            ) from None


def finite_number(value: object) -> float | None:
    """``value`` as a float when it is a finite number, else None."""
    if not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def check_storable(measures: Iterable[Measure], values: Mapping[str, MeasureValue]) -> None:
    """Raise BadDesign where a value is text that its measure does not declare."""
    for measure in measures:
        value = values.get(measure.name)
        if isinstance(value, str) and not measure.declares(value):
            raise measure.undeclared


def check_declared(measures: Iterable[Measure], protocol: Callable[..., object]) -> None:
    """Raise BadDesign for a measure that is text without categories, as far as annotations say."""
    for measure in measures:
        text = measure.kind == "category" or "category" in _kinds(kind_of(measure, protocol))
        if text and not measure.categories:
            raise measure.undeclared


def with_kind(measure: Measure, protocol: Callable[..., object]) -> Measure:
    """The measure with the kind that annotations say, where it has none and they do."""
    if measure.kind is not None:
        return measure
    return replace(measure, kind=_kind(kind_of(measure, protocol)))


def kind_of(measure: Measure, protocol: Callable[..., object]) -> object:
    """The type of a measure's value, as far as annotations say; None where they do not."""
    take = measure.take
    if measure.integer:
        return int
    if measure.kind == "flag":
        return bool
    if take is not None:
        return str if take is str else _hints(take).get("return")
    return _hints(_hints(protocol).get("return")).get(measure.name)


def _hints(of: object) -> Mapping[str, object]:
    try:
        return get_type_hints(of)
    except (AttributeError, NameError, TypeError):  # nothing annotated, or by names not known here
        return {}


_KINDS: Mapping[type, MeasureKind] = {
    bool: "flag",
    int: "number",
    float: "number",
    str: "category",
}


@functools.cache  # every value of every trial is asked for its own
def _kinds(annotated: object) -> frozenset[MeasureKind | None]:
    """The kinds that values of a type may have; None is that of what is no value."""
    if isinstance(annotated, type):
        kinds = (kind for of, kind in _KINDS.items() if issubclass(annotated, of))
        return frozenset({next(kinds, None)})
    parts = get_args(annotated)
    literal = get_origin(annotated) is Literal
    return frozenset().union(*map(_kinds, map(type, parts) if literal else parts))


def _kind(annotated: object) -> MeasureKind | None:
    """The one kind that values of a type have; None of what may be several, or is no value."""
    kinds = _kinds(annotated)
    return next(iter(kinds)) if len(kinds) == 1 else None


def _is_category(given: object) -> bool:
    return isinstance(given, str) and given.isprintable() and 0 < len(given) <= LONGEST_CATEGORY


FORMAT = Measure(
    FORMAT_KEPT, take=lambda o: o.format_kept is not False, meaning=_KEPT, kind="flag"
)
"""Follows the format; taken from the outcome, as no result says it."""


def log_length(text: str) -> float:
    """Natural logarithm of the number of characters; 0 for an empty text, as for one character.

    Characters are Unicode code points, with nothing stripped. Differences of it are ratios of
    lengths: ±0.105 is ±10 %.
    """
    return math.log(max(len(text), 1))


class _Analyser(Protocol):
    def polarity_scores(self, text: str) -> dict[str, float]:
        """``compound``; its parts are not those of the text."""


def sentiment(text: str) -> float:
    """The VADER compound score of ``text``, from -1 (most negative) to +1 (most positive).

    0.0 where no word of it is in the lexicon, as for an empty text. Made for English: words of
    another language count where they look like English ones (the German "die"). The score is that
    of a sum over the words, so that of a long text lies near ±1; the library's time grows with the
    square of the length (half a second at 10,000 characters).
    Source: Hutto & Gilbert (2014).
    """
    compound = float(_analyser().polarity_scores(text)["compound"])
    return min(1.0, max(-1.0, compound))


@functools.cache
def _analyser() -> _Analyser:
    """The one analyser: building it reads a lexicon of 7,500 words."""
    from vaderSentiment.vaderSentiment import (  # type: ignore[import-untyped]  # noqa: PLC0415
        SentimentIntensityAnalyzer,  # ships no types; imported where it is needed
    )

    class Analyser(SentimentIntensityAnalyzer):  # type: ignore[misc]  # has no types
        def score_valence(self, sentiments: list[float], text: str) -> dict[str, float]:
            # Its own sum() corrects rounding from Python 3.12 on: where words cancel each other
            # the score would be 0 there, and .08 before.
            added = [functools.reduce(operator.add, sentiments)] if sentiments else []
            return cast("dict[str, float]", super().score_valence(added, text))

    with warnings.catch_warnings():
        # It opens its lexicon with codecs.open(), which Python 3.14 deprecates.
        warnings.simplefilter("ignore", DeprecationWarning)
        return Analyser()


def count_words(text: str) -> int:
    """Number of words: what stands between white space and holds a letter or digit.

    Emoji, bullets and other marks are none. In scripts that put no spaces between words (Han,
    Kana, Thai, Lao, Khmer, Burmese) each letter counts as one: else every reply would be short.
    """
    if text.isascii():  # a third of the time
        return len(text.translate(_MARKS).split())
    return len(_COUNTED.findall(_UNSPACED.sub(r" \g<0> ", text)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusals:
    """Rules for refusals: one of ``phrases``, or fewer than ``min_words`` words.

    Phrases are looked for as whole words anywhere in the reply, in any case, whatever its
    apostrophes and line breaks. These rules know nothing of meaning ("I cannot recommend it
    enough" is a refusal to them): :func:`error_rates` says how often they are wrong.

    Raises BadDesign for phrases that are no words, for a number of words that is none, and for no
    rule at all.
    """

    phrases: tuple[str, ...] = refusal_phrases("phrases")
    min_words: int = 15

    def __post_init__(self) -> None:
        given = cast("object", self.phrases)
        if isinstance(given, str) or not isinstance(given, Iterable):
            raise BadDesign(what="Refusals", problem="phrases must be a list of texts")
        object.__setattr__(self, "phrases", tuple(given))
        for phrase in cast("tuple[object, ...]", self.phrases):
            if not (isinstance(phrase, str) and count_words(phrase)):
                raise BadDesign(what="Refusals", problem=f"{phrase!r} is no phrase of words")
        if type(self.min_words) is not int or self.min_words < 0:
            raise BadDesign(what="Refusals", problem="min_words must be a whole number from 0 up")
        if not self.phrases and not self.min_words:
            raise BadDesign(what="Refusals", problem="without any rule nothing is a refusal")

    def reason(self, text: str) -> str | None:
        """Say why ``text`` is a refusal, quoting nothing but the rule; None if it is none.

        A phrase is named before the number of words.
        """
        found = _pattern(self.phrases).search(text.translate(_APOSTROPHES))
        if self.phrases and found is not None:
            return f"says {self.phrases[(found.lastindex or 0) - 1]!r}"
        if count_words(text) < self.min_words:
            return f"has fewer than {self.min_words} words"
        return None

    def matches(self, text: str) -> bool:
        """Return whether ``text`` is a refusal."""
        return self.reason(text) is not None


@functools.cache
def _pattern(phrases: tuple[str, ...]) -> re.Pattern[str]:
    """A group for each phrase; any white space may stand between its words."""
    words = (map(re.escape, phrase.translate(_APOSTROPHES).split()) for phrase in phrases)
    groups = "|".join(f"({joined})" for joined in map(r"\s+".join, words))
    return re.compile(rf"(?<!\w)(?:{groups})(?!\w)", re.IGNORECASE)
