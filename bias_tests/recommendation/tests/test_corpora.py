"""The shipped corpora: reproducible, consistent, and with authors that content says nothing of."""

from __future__ import annotations

import csv
import re
import statistics
from collections import Counter

import pytest

from ..corpus import Corpus, Post
from ..experiment import CORPORA, RECOMMENDATION
from ..generate import (
    COLUMNS,
    FEATURES,
    POSTS,
    STIMULI,
    corpora,
    text_features,
)
from ..published.features import FEATURES as DOCUMENTED
from .simulating import ROOT

README = (ROOT / "bias_tests" / "recommendation" / "README.md").read_text("utf-8")
BY_NAME = {corpus.name: corpus for corpus in CORPORA.values()}
EACH = pytest.mark.parametrize("corpus", BY_NAME.values(), ids=BY_NAME)
AUTHOR = ("author_gender", "author_political_leaning", "author_is_minority")


def posts(corpus: Corpus) -> list[Post]:
    return list(corpus.posts.values())


def numbers(corpus: Corpus, feature: str) -> list[float]:
    return [float(post.features[feature]) for post in posts(corpus)]


def shares(corpus: Corpus, feature: str) -> dict[str, float]:
    counts = Counter(str(post.features[feature]) for post in posts(corpus))
    return {category: count / len(corpus.posts) for category, count in counts.items()}


def test_the_generator_makes_the_shipped_files_byte_for_byte() -> None:
    made = corpora()
    assert set(made) == set(BY_NAME) == {"twitter", "bluesky", "reddit"}
    for name, text in made.items():
        assert (STIMULI.folder / f"{name}.csv").read_bytes() == text.encode()


def test_the_corpora_are_small() -> None:
    assert sum((STIMULI.folder / f"{name}.csv").stat().st_size for name in BY_NAME) < 2_000_000


@pytest.mark.requirement("REC-06", "REC-07", "REC-08")
def test_the_features_are_the_documented_sixteen() -> None:
    assert dict(FEATURES) == {feature.name: feature.kind for feature in DOCUMENTED}
    for name in BY_NAME:
        with (STIMULI.folder / f"{name}.csv").open(encoding="utf-8", newline="") as file:
            assert tuple(next(csv.reader(file))) == COLUMNS


@EACH
def test_ids_are_numbers_in_an_order_that_says_nothing(corpus: Corpus) -> None:
    ids = list(corpus.posts)
    assert ids == [f"{corpus.name[0]}{n:04}" for n in range(1, POSTS + 1)]
    for feature in ("author_gender", "author_is_minority", "controversy_level", "primary_topic"):
        for category, share in shares(corpus, feature).items():
            half = [str(post.features[feature]) == category for post in posts(corpus)[:600]]
            assert sum(half) / 600 == pytest.approx(share, abs=0.045)


@EACH
def test_features_of_a_text_are_those_of_the_text(corpus: Corpus) -> None:
    for post in posts(corpus):
        found = text_features(post.text)
        assert {name: post.features[name] for name in found} == found


@pytest.mark.requirement("REC-08")
def test_text_features_count_what_they_say() -> None:
    found = text_features("Hi, you! 😊 #tea @ada https://x.example/1")
    assert found["text_length"] == 40
    # Letters and digits of: Hi, you! #tea @ada https://x.example/1
    assert found["avg_word_length"] == pytest.approx((2 + 3 + 3 + 3 + 14) / 5)
    assert [found[f"has_{what}"] for what in ("emoji", "hashtag", "mention", "url")] == [True] * 4
    plain = text_features("a#b c@d")
    assert not any(plain[f"has_{what}"] for what in ("emoji", "hashtag", "mention", "url"))
    assert text_features("…")["avg_word_length"] == 0.0


@EACH
def test_marks_go_together(corpus: Corpus) -> None:
    by_level: dict[str, list[float]] = {"low": [], "medium": [], "high": []}
    for post in posts(corpus):
        values = {name: float(post.features[name]) for name in ("toxicity", "severe_toxicity")}
        assert 0 <= values["severe_toxicity"] < values["toxicity"] <= 1
        polarization = float(post.features["polarization_score"])
        assert 0 <= polarization <= 1
        by_level[str(post.features["controversy_level"])].append(polarization)
    low, medium, high = (statistics.fmean(found) for found in by_level.values())
    assert low < medium < high


def test_platforms_differ() -> None:
    lengths = [statistics.fmean(numbers(c, "text_length")) for c in BY_NAME.values()]
    assert lengths[0] < lengths[1] < lengths[2]
    tags = [statistics.fmean(numbers(c, "has_hashtag")) for c in BY_NAME.values()]
    assert tags[0] > 2 * tags[1] > 10 * tags[2]


@EACH
def test_content_says_nothing_of_the_author(corpus: Corpus) -> None:
    """Authors come at even distances in the order of content; chance alone would give .06."""
    members = {
        "female": [post.features["author_gender"] == "female" for post in posts(corpus)],
        "yes": [post.features["author_is_minority"] == "yes" for post in posts(corpus)],
        "left": [post.features["author_political_leaning"] == "left" for post in posts(corpus)],
    }
    for flags in members.values():
        for feature in ("polarization_score", "has_url", "text_length"):
            r = statistics.correlation([float(flag) for flag in flags], numbers(corpus, feature))
            assert abs(r) < 0.05, feature


@EACH
def test_an_author_line_names_no_category(corpus: Corpus) -> None:
    labels = {category for feature in AUTHOR for category in shares(corpus, feature)}
    labels |= {"gender", "woman", "man", "minority", "majority", "leaning", "centre", "white"}
    for post in posts(corpus):
        words = set(re.findall(r"[a-z]+", post.author.lower()))
        assert not words & (labels - {"no", "yes"}), post.author


@EACH
def test_an_author_line_shows_its_author_s_features(corpus: Corpus) -> None:
    """Each feature can be read from the line: the same words never stand for two categories."""
    for feature, place in (("author_gender", 0), ("author_political_leaning", 1)):
        told: dict[str, set[str]] = {}
        for post in posts(corpus):
            name, _, about = post.author.partition(": ")
            parts = [name] if place == 0 else about.split("; ")
            for part in parts:
                told.setdefault(part, set()).add(str(post.features[feature]))
        telling = [part for part, found in told.items() if len(found) == 1]
        assert len(telling) >= 8
        for post in posts(corpus):
            assert any(part in post.author for part in telling)


def test_no_text_names_a_platform_or_a_style() -> None:
    labels = {label for factor in RECOMMENDATION.factors for label in factor.levels}
    for corpus in BY_NAME.values():
        for post in posts(corpus):
            assert not set(re.findall(r"\w+", post.shown.lower())) & labels


def test_the_readme_states_what_the_corpora_are_like() -> None:
    def row(words: str) -> list[list[int]]:
        (cells,) = re.findall(rf"^\| {re.escape(words)} \|(.*)\|$", README, re.MULTILINE)
        return [[int(n) for n in re.findall(r"\d+", cell)] for cell in cells.split("|")]

    each = list(BY_NAME.values())
    assert row("characters of a post, mean") == [
        [round(statistics.fmean(numbers(c, "text_length")))] for c in each
    ]
    for words, feature in (("with a tag", "has_hashtag"), ("with a link", "has_url")):
        assert row(words) == [[round(100 * statistics.fmean(numbers(c, feature)))] for c in each]
    for words, feature, order in (
        ("women / men / undisclosed", "author_gender", ("female", "male", "undisclosed")),
        ("left / center / right", "author_political_leaning", ("left", "center", "right")),
        ("minorities", "author_is_minority", ("yes",)),
    ):
        found = [[round(100 * shares(c, feature)[category]) for category in order] for c in each]
        assert row(words) == found
