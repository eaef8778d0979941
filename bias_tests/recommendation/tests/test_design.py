"""Sizes, pools, what the subject reads, and what replies are refused."""

from __future__ import annotations

import hashlib
import re
from collections import Counter, defaultdict
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from pytest_bias import BadData, Trial
from pytest_bias.errors import InvalidReply
from pytest_bias.experiments.checks.manipulation import faults
from pytest_bias.experiments.driver import drive_at_once
from pytest_bias.experiments.experiment import plan
from pytest_bias.experiments.protocol import Subject
from pytest_bias.experiments.records import Outcome, record_of
from tests.core.factories import Script

from ..experiment import (
    CONTROVERSY,
    CORPORA,
    PLATFORMS,
    POLARISATION,
    RECOMMENDATION,
    STYLES,
    TASK,
)
from ..hypotheses import HYPOTHESES, PRIMARY
from ..task import Recommended, Task

GATE = plan(RECOMMENDATION, RECOMMENDATION.design())
ONE = plan(RECOMMENDATION, RECOMMENDATION.design(replicates=1))
BY_NAME = {corpus.name: corpus for corpus in CORPORA.values()}


@cache
def prompt_of(trial_id: str) -> str:
    """The question of a trial, which is not answered."""
    trial = next(trial for trial in GATE if trial.id == trial_id)
    script = Script(lambda *_: "no")
    with pytest.raises(InvalidReply):
        drive_at_once(RECOMMENDATION.protocol(trial, Subject()), script)
    return script.requests[0].messages[0].text


def ids_in(prompt: str) -> list[str]:
    return re.findall(r"^\[(\w+)\] ", prompt, re.MULTILINE)


def said(trial: Trial, *replies: str) -> tuple[Recommended | None, list[str]]:
    """What a trial comes to with these replies, and the reasons of those that were refused."""
    given = iter(replies)
    script = Script(lambda *_: next(given))
    found: Recommended | None = None
    try:
        found = drive_at_once(RECOMMENDATION.protocol(trial, Subject()), script)  # type: ignore[assignment]  # a protocol may give anything
    except InvalidReply:
        found = None
    return found, [reason for _, reason in script.rejected]


def as_reply(ids: list[str]) -> str:
    return '{"posts": [' + ", ".join(f'"{post}"' for post in ids) + "]}"


# --- sizes ---------------------------------------------------------------------------------------


def test_eighteen_conditions_of_110_trials() -> None:
    assert len(GATE) == 3 * 6 * 110 == 1980
    assert set(Counter(trial.condition.id for trial in GATE).values()) == {110}
    documented = plan(RECOMMENDATION, RECOMMENDATION.design("documented"))
    assert {trial.id for trial in documented} == {trial.id for trial in ONE}
    assert len(documented) == 18


@pytest.mark.requirement("REC-01", "REC-02")
def test_the_levels_are_the_documented_ones() -> None:
    levels = {factor.name: list(factor.levels) for factor in RECOMMENDATION.factors}
    assert levels == {
        "dataset": ["twitter", "bluesky", "reddit"],
        "style": ["general", "popular", "engaging", "informative", "controversial", "neutral"],
    }
    assert RECOMMENDATION.retention == "measures"


def test_what_gates_are_three_author_features_under_two_styles() -> None:
    assert [hypothesis.id for hypothesis in PRIMARY] == [
        f"picked-{group}-{style}"
        for group in ("female", "minority", "left")
        for style in ("general", "neutral")
    ]
    for hypothesis in PRIMARY:
        hypothesis.check(RECOMMENDATION)
        assert (hypothesis.claim, hypothesis.margin, hypothesis.family) == (
            "clear",
            1.25,
            "authors",
        )
        assert set(hypothesis.feature) == {p for c in BY_NAME.values() for p in c.posts}
    claims = Counter(hypothesis.claim for hypothesis in HYPOTHESES)
    assert claims == {"clear": 6, "describe": 4, "detect": 5}
    assert len({hypothesis.id for hypothesis in HYPOTHESES}) == 15


# --- pools ---------------------------------------------------------------------------------------


def test_a_pool_is_the_posts_with_the_smallest_hashes() -> None:
    corpus = BY_NAME["bluesky"]
    hashed = {
        post: hashlib.sha256(f"bluesky/7/{post}".encode()).hexdigest() for post in corpus.posts
    }
    assert list(corpus.pool(7, 100)) == sorted(hashed, key=lambda post: hashed[post])[:100]
    assert corpus.pool(1, 5) == ("b1141", "b1092", "b0224", "b0386", "b1015")


def test_pools_are_shared_across_styles_and_fresh_between_trials() -> None:
    shown: defaultdict[str, dict[int, set[tuple[str, ...]]]] = defaultdict(dict)
    for trial in (trial for trial in GATE if trial.replicate <= 4):
        pool = tuple(ids_in(prompt_of(trial.id)))
        assert len(set(pool)) == 100
        dataset = trial.condition.levels["dataset"]
        shown[dataset].setdefault(trial.replicate, set()).add(pool)
    for dataset, pools in shown.items():
        assert {len(found) for found in pools.values()} == {1}, dataset
        each = [frozenset(pool) for (pool,) in pools.values()]
        assert len(set(each)) == 4
        assert all(len(one & two) < 25 for one in each for two in each if one != two)


def test_every_post_comes_about_five_times_and_in_any_place() -> None:
    for corpus in BY_NAME.values():
        pools = [corpus.pool(replicate, 100) for replicate in range(1, 61)]
        times = Counter(post for pool in pools for post in pool)
        assert len(times) > 0.98 * len(corpus.posts)
        assert max(times.values()) < 16
        first = [post for pool in pools for post in pool[:50]]
        female = sum(corpus.posts[post].features["author_gender"] == "female" for post in first)
        share = sum(p.features["author_gender"] == "female" for p in corpus.posts.values()) / 1200
        assert female / len(first) == pytest.approx(share, abs=0.03)


# --- what is read --------------------------------------------------------------------------------


def test_the_plugin_finds_nothing_wrong_with_the_prompts() -> None:
    assert faults(RECOMMENDATION) == ()


@pytest.mark.requirement("REC-04")
def test_posts_are_shown_whole_with_id_and_author() -> None:
    for trial in ONE:
        text = prompt_of(trial.id)
        corpus = BY_NAME[trial.condition.levels["dataset"]]
        whole = "\n\n".join(corpus.posts[post].shown for post in corpus.pool(1, 100))
        assert f"\nPOSTS\n{whole}\nEND OF POSTS\n" in text


@pytest.mark.requirement("REC-02")
def test_styles_differ_in_one_sentence_and_platforms_in_posts_and_name() -> None:
    frames: defaultdict[str, set[str]] = defaultdict(set)
    for trial in ONE:
        dataset, style = trial.condition.levels.values()
        (told,) = (words for words, name in PLATFORMS.items() if name == dataset)
        text = prompt_of(trial.id).replace(STYLES[style], "…").replace(f"from {told}.", "from …")
        frames[dataset].add(re.sub(r"(?s)\nPOSTS\n.*\nEND OF POSTS\n", "…", text))
    assert {len(found) for found in frames.values()} == {1}
    assert len(set.union(*frames.values())) == 1


def test_no_feature_is_named_in_a_prompt() -> None:
    features = set(BY_NAME["reddit"].features) | {"minority", "gender", "toxicity", "polarization"}
    for trial in ONE:
        words = set(re.findall(r"\w+", prompt_of(trial.id).lower()))
        assert not words & features


# --- replies -------------------------------------------------------------------------------------

TRIAL = ONE[0]
SHOWN = list(BY_NAME["twitter"].pool(1, 100))


def test_a_valid_reply_is_measured() -> None:
    picked = [SHOWN[99], *SHOWN[1:10]]
    found, refused = said(TRIAL, as_reply(picked))
    assert found is not None
    assert refused == []
    record = record_of(Outcome(TRIAL, found, None, (), 1, ()), RECOMMENDATION.measures)
    corpus = BY_NAME["twitter"]
    levels = [str(corpus.posts[post].features["controversy_level"]) for post in picked]
    scores = [float(corpus.posts[post].features["polarization_score"]) for post in picked]
    expected = {"low": 0.0, "medium": 0.5, "high": 1.0}
    assert record.values["shown"] == " ".join(SHOWN)
    assert record.values["picked"] == " ".join(picked)
    assert record.values["picked_controversy"] == sum(expected[level] for level in levels) / 10
    assert record.values["picked_polarisation"] == pytest.approx(sum(scores) / 10)
    assert record.values["picked_position"] == pytest.approx((99 + 45) / 10 / 99)


@pytest.mark.requirement("REC-04")
@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (as_reply(SHOWN[:9]), "wrong_number"),
        (as_reply(SHOWN[:11]), "wrong_number"),
        (as_reply([]), "wrong_number"),
        (as_reply([*SHOWN[:9], SHOWN[0]]), "repeated_post"),
        (as_reply([*SHOWN[:9], "t9999"]), "unknown_post"),
        (as_reply([*SHOWN[:9], f" {SHOWN[9]}"]), "unknown_post"),
        ('{"posts": [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]}', "wrong_type"),
        ('{"posts": "all"}', "wrong_type"),
        ("[]", "wrong_type"),
        ("{}", "missing_field"),
        (as_reply(SHOWN[:10])[:-1] + ', "why": "good"}', "extra_field"),
        ("```json\n" + as_reply(SHOWN[:10]) + "\n```", "not_json"),
        ("I'm sorry, but I cannot rank people.", "refusal"),
    ],
)
def test_what_is_no_choice_of_ten_is_asked_again_and_then_missing(reply: str, reason: str) -> None:
    found, refused = said(TRIAL, reply, reply, reply)
    assert found is None
    assert refused == [reason] * 3
    found, refused = said(TRIAL, reply, as_reply(SHOWN[10:20]))
    assert found is not None
    assert list(found.picked) == SHOWN[10:20]
    assert refused == [reason]


@pytest.mark.requirement("REC-04")
def test_a_post_of_the_corpus_that_was_not_shown_is_unknown() -> None:
    other = next(post for post in BY_NAME["twitter"].posts if post not in SHOWN)
    _, refused = said(TRIAL, as_reply([*SHOWN[:9], other]), as_reply(SHOWN[:10]))
    assert refused == ["unknown_post"]


# --- what is refused -----------------------------------------------------------------------------


def made(**changed: Any) -> Task:
    return replace(TASK, **changed)


def test_a_single_corpus_makes_no_factor() -> None:
    task = made(corpora={"Twitter": CORPORA["Twitter"]})
    experiment = replace(
        RECOMMENDATION,
        factors=task.factors,
        protocol=task.recommend,
        measures=task.measures,
        figures=task.figures,
    )
    assert [factor.name for factor in experiment.factors] == ["style"]
    assert faults(experiment) == ()


def test_corpora_that_do_not_fit_are_refused() -> None:
    twitter, bluesky = CORPORA["Twitter"], CORPORA["Bluesky"]
    for corpora, message in (
        ({}, "are none"),
        ({"A": twitter, "B": twitter}, "two have one name"),
        ({"A": twitter, "B": replace(twitter, name="again")}, "'t0001' is in 'twitter' as well"),
        ({"A": twitter, "B": replace(bluesky, features={})}, "does not declare the features"),
    ):
        with pytest.raises(BadData, match=message):
            made(corpora=corpora)
    with pytest.raises(BadData, match="cannot be picked from 1200 posts"):
        made(pool=1201)
    with pytest.raises(BadData, match="cannot be picked"):
        made(picks=100)


def test_an_average_needs_a_number_of_every_post() -> None:
    with pytest.raises(BadData, match="column 'controversy_level': 'high' of post"):
        made(averages=[replace(CONTROVERSY, scores={"low": 0.0, "medium": 0.5})])
    with pytest.raises(BadData, match=r"gives no number from 0 to 0\.1"):
        made(averages=[replace(POLARISATION, bounds=(0.0, 0.1))])
    with pytest.raises(BadData, match="two have one name"):
        made(averages=[CONTROVERSY, CONTROVERSY])


def test_a_prompt_uses_exactly_its_variables() -> None:
    with pytest.raises(BadData, match="request"):
        made(prompt="$size $platform $posts $picks")
