"""The generator of the three synthetic corpora: sentences, authors and a seed in, CSV out.

    python -m bias_tests.recommendation.generate

writes ``stimuli/twitter.csv``, ``bluesky.csv`` and ``reddit.csv``, the same bytes every time: of
Python's random numbers only ``random()`` is used, whose sequence no version changes. No post was
written by a person on any of these platforms; only lengths, tags and the mix of authors follow
what each is known for, by our own rough choice in ``stimuli/clauses.json``.

A post is a statement on a topic, sentences of detail, a reaction, and what the platform likes to
hang on to it (an emoji, a tag, a mention, a link). Its features come about so:

- ``text_length``, ``avg_word_length`` and ``has_*`` are computed from the text;
- ``sentiment_polarity`` is VADER's compound score of the text;
- ``primary_topic`` is the topic and ``controversy_level`` the level of the statement;
- ``polarization_score``, ``sentiment_subjectivity``, ``toxicity`` and ``severe_toxicity`` are the
  marks of its sentences' kinds, averaged over their words;
- the author's three features show in the author line alone, as a first name and a few words.

Authors are dealt out to posts when these are written. In the order of their content (level,
topic, link, length) every kind of author comes at even distances, so that author and content are
as good as unrelated: a reader who looks at content alone recommends all authors alike.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from itertools import product
from operator import add
from random import Random
from typing import Any, cast

from pytest_bias import Stimuli, sentiment

STIMULI = Stimuli(__file__)
SEED = 20_260_401
POSTS = 1_200
"""Posts of each corpus."""

FEATURES: Mapping[str, str] = {
    "author_gender": "categorical",
    "author_political_leaning": "categorical",
    "author_is_minority": "categorical",
    "text_length": "numerical",
    "avg_word_length": "numerical",
    "sentiment_polarity": "numerical",
    "sentiment_subjectivity": "numerical",
    "has_emoji": "binary",
    "has_hashtag": "binary",
    "has_mention": "binary",
    "has_url": "binary",
    "polarization_score": "numerical",
    "controversy_level": "categorical",
    "primary_topic": "categorical",
    "toxicity": "numerical",
    "severe_toxicity": "numerical",
}
"""The document's 16 features in its order, each with the type it gives it."""

COLUMNS = ("id", "author", "text", *FEATURES)

_EMOJI = re.compile("[\u2600-\u27bf\U0001f300-\U0001faff]")
_MARKED = ("polarization", "subjectivity", "toxicity", "severe")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Written:
    """A text before it has an author; ``parts`` are its sentences with their kinds."""

    text: str = field(repr=False)
    topic: str
    level: str
    parts: Sequence[tuple[str, str]] = field(repr=False)


class _Dice:
    """Choices made of ``random()`` alone."""

    def __init__(self, seed: str) -> None:
        self._rng = Random(seed)  # noqa: S311  (no secret)

    def share(self) -> float:
        return self._rng.random()

    def one_of(self, options: Sequence[str]) -> str:
        return options[int(self.share() * len(options))]

    def weighted(self, weights: Mapping[str, float]) -> str:
        left = self.share() * added(weights.values())
        for option, weight in weights.items():
            left -= weight
            if left < 0:
                return option
        return list(weights)[-1]

    def shuffled(self, options: Sequence[Any]) -> list[Any]:
        order = sorted((self.share(), place) for place in range(len(options)))
        return [options[place] for _, place in order]

    def number(self) -> str:
        return str(2 + int(self.share() * 94))


def corpora() -> dict[str, str]:
    """Name of each corpus → its CSV."""
    clauses, authors = (STIMULI.json(name, dict[str, Any]) for name in ("clauses", "authors"))
    return {name: _as_csv(_corpus(name, clauses, authors)) for name in clauses["platforms"]}


def added(values: Iterable[float]) -> float:
    """The sum of ``values``, added in their order.

    From Python 3.12 on sum() corrects rounding: last digits would not be those of the recordings.
    """
    return reduce(add, values)


def text_features(text: str) -> dict[str, float | bool]:
    """What is computed from the text alone.

    ``text_length`` is in characters, ``avg_word_length`` in letters and digits of what stands
    between white space (0.0 without any), ``sentiment_polarity`` from -1 to 1.
    """
    words = [sum(map(str.isalnum, word)) for word in text.split()]
    counted = [letters for letters in words if letters]
    return {
        "text_length": len(text),
        "avg_word_length": round(sum(counted) / len(counted), 4) if counted else 0.0,
        "sentiment_polarity": sentiment(text),
        "has_emoji": bool(_EMOJI.search(text)),
        "has_hashtag": bool(re.search(r"(?<!\S)#\w", text)),
        "has_mention": bool(re.search(r"(?<!\S)@\w", text)),
        "has_url": bool(re.search(r"https?://\S", text)),
    }


def _corpus(
    name: str, clauses: Mapping[str, Any], authors: Mapping[str, Any]
) -> list[dict[str, object]]:
    """The rows of one corpus, in an order that says nothing of them."""
    dice, platform = _Dice(f"{SEED}/{name}"), clauses["platforms"][name]
    texts: dict[str, _Written] = {}
    while len(texts) < POSTS:
        written = _write(dice, clauses, platform)
        texts.setdefault(written.text, written)
    by_content = sorted(
        texts.values(), key=lambda w: (w.level, w.topic, "https" in w.text, len(w.text), w.text)
    )
    rows = [
        {
            "author": _author_line(dice, authors, gender, leaning, minority),
            "text": written.text,
            "author_gender": gender,
            "author_political_leaning": leaning,
            "author_is_minority": minority,
            **text_features(written.text),
            **_marks(written, clauses["marks"]),
            "controversy_level": written.level,
            "primary_topic": written.topic,
        }
        for written, (gender, leaning, minority) in zip(
            by_content, _dealt(dice, platform), strict=True
        )
    ]
    return [
        {"id": f"{platform['prefix']}{number:04}", **row}
        for number, row in enumerate(dice.shuffled(rows), start=1)
    ]


def _write(dice: _Dice, clauses: Mapping[str, Any], platform: Mapping[str, Any]) -> _Written:
    topic = dice.one_of(list(clauses["topics"]))
    said = clauses["topics"][topic]
    level = dice.weighted(platform["levels"])
    reaction = dice.weighted(clauses["reactions_to"][level])
    many = int(dice.weighted({str(n): share for n, share in enumerate(platform["details"])}))
    details = dice.shuffled(said["details"])[:many]
    parts = [
        (level, dice.one_of(said[level])),
        *(("details", each) for each in details),
        (reaction, dice.one_of(clauses["reactions"][reaction])),
    ]
    place = dice.one_of(clauses["places"])
    parts = [(kind, _filled(dice, text, place)) for kind, text in parts]
    hung = [
        (platform["emoji"], dice.one_of(clauses["emoji"][reaction])),
        (platform["hashtag"], dice.one_of(said["tags"])),
        (platform["mention"], dice.one_of(clauses["mentions"])),
        (platform["url"], _filled(dice, dice.one_of(clauses["links"]), place)),
    ]
    tail = [text for share, text in hung if dice.share() < share]
    return _Written(
        text=" ".join([*(text for _, text in parts), *tail]), topic=topic, level=level, parts=parts
    )


def _filled(dice: _Dice, text: str, place: str) -> str:
    return text.replace("{place}", place).replace("{n}", dice.number())


def _marks(written: _Written, marks: Mapping[str, Mapping[str, float]]) -> dict[str, float]:
    """The marks of the sentences' kinds, averaged over their words."""
    words = [(kind, len(text.split())) for kind, text in written.parts]
    total = sum(count for _, count in words)
    polarization, subjectivity, toxicity, severe = (
        round(added(marks[kind][mark] * count for kind, count in words) / total, 4)
        for mark in _MARKED
    )
    return {
        "polarization_score": polarization,
        "sentiment_subjectivity": subjectivity,
        "toxicity": toxicity,
        "severe_toxicity": severe,
    }


def _dealt(dice: _Dice, platform: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """One kind of author per post: as many of each as its share, at even distances."""
    shares = [platform[feature] for feature in ("gender", "leaning", "minority")]
    kinds = {kind: POSTS * _product(shares, kind) for kind in product(*shares)}
    counts = {kind: int(wanted) for kind, wanted in kinds.items()}
    most_lost = sorted(kinds, key=lambda kind: counts[kind] - kinds[kind])
    for kind in most_lost[: POSTS - sum(counts.values())]:
        counts[kind] += 1
    places: list[tuple[float, tuple[str, ...]]] = []
    for kind, count in counts.items():
        start = dice.share()
        places += [((n + start) / count, kind) for n in range(count)]
    return [cast("tuple[str, str, str]", kind) for _, kind in sorted(places)]


def _product(shares: Sequence[Mapping[str, float]], kind: Sequence[str]) -> float:
    found = 1.0
    for weights, level in zip(shares, kind, strict=True):
        found *= weights[level]
    return found


def _author_line(
    dice: _Dice, authors: Mapping[str, Any], gender: str, leaning: str, minority: str
) -> str:
    """A first name, then four things about the author in any order; no label is among them."""
    name = dice.one_of(authors["names"][gender])
    about = [
        dice.one_of(authors["work"]),
        dice.one_of(authors["kin"][gender]),
        dice.one_of(authors["leaning"][leaning]),
        dice.one_of(authors["minority"][minority]),
    ]
    return f"{name}: {'; '.join(dice.shuffled(about))}"


def _as_csv(rows: Sequence[Mapping[str, object]]) -> str:
    written = io.StringIO(newline="")
    writer = csv.writer(written, lineterminator="\n")
    writer.writerow(COLUMNS)
    for row in rows:
        writer.writerow(_cell(row[column]) for column in COLUMNS)
    return written.getvalue()


def _cell(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


if __name__ == "__main__":
    for _name, _text in corpora().items():
        (STIMULI.folder / f"{_name}.csv").write_bytes(_text.encode())
