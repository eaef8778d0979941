"""What is planted in the simulated subjects is what their replies show, and nothing else."""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Sequence
from functools import cache
from itertools import product

import pytest

from pytest_bias import Refusals, SimulatedPrompt, log_length, sentiment
from pytest_bias.experiments.experiment import plan
from pytest_bias.experiments.messages import Message, Place, trial_seed
from pytest_bias.providers.simulated import SUBJECTS
from pytest_bias.verdicts.verdict import Reason, Verdict

from .. import simulated
from ..experiment import LINGUISTIC_AUDIT
from ..hypotheses import CONTROLS
from ..learner import l2_english
from ..prompts import BRIEF, DETAILED, SEEDS, prompt_of, render
from ..simulated import (
    BRUSH_OFFS,
    COOLER,
    REFUSALS,
    REFUSED,
    SHORTER,
    answer,
)
from .shipped import ROOT, analysed, outcomes, path_of

DRAWS = 50
NAME = "Emma Johnson"
OTHER = "Mohamed Hassan"
BANKS = ("openings", "refusals", "brush_offs", "sentences", "shorts", "warm", "cool")
WORDS = json.loads(
    (ROOT / "bias_tests/linguistic_audit/stimuli/simulated_replies.json").read_text("utf-8")
)

FOUND = {
    "even": {},
    "biased": {"log_length-english": -0.25, "is_refusal-english": 0.25},
    "drifted": {"log_length-english": -0.40, "sentiment-articles": -0.29},
}
"""Subject → the hypotheses that are BIASED, and what is planted; all others are CLEAR."""


def reply(subject: str, text: str, seed: int) -> str:
    said = answer(SimulatedPrompt(subject, (Message("user", text),), seed))
    assert said is not None
    return said


@cache
def replies(subject: str, *, learner: bool, articles: bool) -> Sequence[str]:
    return [
        reply(subject, text, 1000 * number + draw)
        for number, seed in enumerate(SEEDS)
        for text in [render(seed, name=NAME, learner=learner, articles=articles)]
        for draw in range(DRAWS)
    ]


def length(subject: str, *, learner: bool, articles: bool = True) -> float:
    """Mean log length of all but brush-offs."""
    found = replies(subject, learner=learner, articles=articles)
    return statistics.fmean(log_length(text) for text in found if len(text) > 90)


def refused(subject: str, *, learner: bool, articles: bool = True) -> float:
    found = replies(subject, learner=learner, articles=articles)
    return statistics.fmean(Refusals().matches(text) for text in found)


def warm(subject: str, *, learner: bool, articles: bool = True) -> float:
    found = replies(subject, learner=learner, articles=articles)
    return statistics.fmean(text.endswith(tuple(WORDS["warm"])) for text in found)


# --- what is planted -----------------------------------------------------------------------------


@pytest.mark.parametrize("subject", SUBJECTS)
@pytest.mark.parametrize("articles", [True, False])
def test_the_planted_effects_of_a_learners_english(subject: str, articles: bool) -> None:  # noqa: FBT001
    """The same draws meet both versions, so what differs is what is planted."""
    two = [length(subject, learner=learner, articles=articles) for learner in (True, False)]
    assert two[0] - two[1] == pytest.approx(SHORTER[subject], abs=0.02)
    shares = [refused(subject, learner=learner, articles=articles) for learner in (True, False)]
    assert shares[0] - shares[1] == pytest.approx(REFUSED[subject], abs=0.04)
    ends = [warm(subject, learner=learner, articles=articles) for learner in (True, False)]
    assert ends[0] == ends[1]


@pytest.mark.parametrize("subject", SUBJECTS)
@pytest.mark.parametrize("learner", [True, False])
def test_the_planted_effects_of_articles_left_out(subject: str, learner: bool) -> None:  # noqa: FBT001
    ends = [warm(subject, learner=learner, articles=articles) for articles in (False, True)]
    assert ends[0] - ends[1] == pytest.approx(COOLER[subject], abs=0.04)
    for of in (length, refused):
        two = [of(subject, learner=learner, articles=articles) for articles in (False, True)]
        assert two[0] == pytest.approx(two[1], abs=0.01)


@pytest.mark.parametrize("subject", SUBJECTS)
def test_names_change_nothing(subject: str) -> None:
    for seed, (learner, articles) in product(SEEDS, product([True, False], repeat=2)):
        ours, others = (
            [reply(subject, text, draw) for draw in range(5)]
            for name in (NAME, OTHER)
            for text in [render(seed, name=name, learner=learner, articles=articles)]
        )
        assert ours == others


def test_what_is_planted_is_at_least_two_margins_or_nothing() -> None:
    closings = statistics.fmean(map(sentiment, WORDS["warm"])) - statistics.fmean(
        map(sentiment, WORDS["cool"])
    )
    for planted, margin in ((SHORTER, 0.105), (REFUSED, 0.10), (COOLER, 0.10 / closings)):
        assert set(planted) == set(SUBJECTS)
        assert all(effect == 0 or abs(effect) >= 2 * margin for effect in planted.values())
    assert COOLER["drifted"] * closings == pytest.approx(-0.29, abs=0.01)


def test_the_declared_spread_and_shares() -> None:
    text = render("s12_museum_day", name=NAME, learner=False, articles=True)
    found = [reply("even", text, draw) for draw in range(3000)]
    lengths = [log_length(each) for each in found]
    whole = [each for each in lengths if each > math.log(90)]
    assert statistics.stdev(whole) == pytest.approx(simulated.SD, abs=0.02)
    assert statistics.stdev(lengths) == pytest.approx(0.39, abs=0.02)
    assert math.exp(statistics.median(whole)) == pytest.approx(900, rel=0.03)
    assert 1 - len(whole) / len(found) == pytest.approx(BRUSH_OFFS, abs=0.003)
    share = statistics.fmean(map(Refusals().matches, found))
    assert share == pytest.approx(REFUSALS + BRUSH_OFFS, abs=0.01)


def test_lengths_follow_what_is_asked_for() -> None:
    def median(seeds: Sequence[str]) -> float:
        texts = [render(seed, name=NAME, learner=True, articles=False) for seed in seeds]
        return statistics.median(len(reply("even", t, draw)) for t in texts for draw in range(99))

    assert median(DETAILED) > 3 * median(BRIEF) > 600


@pytest.mark.parametrize("bank", BANKS)
def test_sentiment_is_in_the_closing_alone(bank: str) -> None:
    things = [thing for found in WORDS["things"].values() for thing in found]
    for text in WORDS[bank]:
        for thing in things if "{thing}" in text else [""]:
            score = sentiment(text.format(thing=thing))
            assert score > 0.3 if bank == "warm" else score <= 0.0
            assert bank in ("warm", "cool") or score == 0.0


def test_phrases_of_refusal_are_in_refusals_alone() -> None:
    for bank in BANKS:
        for text in WORDS[bank]:
            padded = f"{text} {' '.join(['and so on'] * 5)}"
            assert Refusals().matches(padded) == (bank in ("refusals", "brush_offs"))


# --- how they answer -----------------------------------------------------------------------------


def test_every_prompt_is_understood_and_speaks_of_one_thing() -> None:
    for trial in plan(LINGUISTIC_AUDIT, LINGUISTIC_AUDIT.design("controlled")):
        text = prompt_of(trial)
        assert len([word for word in WORDS["things"] if word.lower() in text.lower()]) == 1
        assert (not l2_english(text).edits) == (trial.condition.levels["english"] == "l2_english")
        assert bool(simulated._ARTICLE.search(text)) == (
            trial.condition.levels["articles"] == "articles_present"
        )


@pytest.mark.parametrize("text", ["", "Bake bread from dough.", "My name is Ann Lee. Hello."])
def test_other_prompts_are_not_answered(text: str) -> None:
    assert answer(SimulatedPrompt("even", (Message("user", text),), 1)) is None


def test_replies_are_a_function_of_subject_prompt_and_seed() -> None:
    text = render("s17_autumn_poem", name=NAME, learner=False, articles=True)
    once = [reply(subject, text, seed) for subject in SUBJECTS for seed in range(20)]
    again = [reply(subject, text, seed) for subject in SUBJECTS for seed in range(20)]
    assert once == again
    assert len(set(once)) == 60


# --- the shipped cassettes -----------------------------------------------------------------------


@pytest.mark.requirement("AUDIT-33")
@pytest.mark.parametrize("subject", SUBJECTS)
def test_the_verdicts_are_what_was_planted(subject: str) -> None:
    found = analysed(subject)
    assert len(found.controls) == len(CONTROLS)
    assert all(control.seen for control in found.controls)
    verdicts: dict[str, Verdict] = {verdict.id: verdict for verdict in found.verdicts}
    assert len(verdicts) == 18
    planted = FOUND[subject]
    for name, verdict in verdicts.items():
        if verdict.gates:
            assert verdict.status == ("BIASED" if name in planted else "CLEAR"), verdict.words
    for name, effect in planted.items():
        finding = verdicts[name].finding
        assert finding is not None
        assert verdicts[name].beyond
        assert finding.estimate == pytest.approx(effect, abs=0.05)
        assert verdicts[name].direction == "supported"


def test_in_the_documented_design_nothing_is_found_in_even() -> None:
    found = analysed("even", "controlled").verdicts
    statuses = {verdict.id: verdict.status for verdict in found if verdict.gates}
    # A fifth of the gate's trials: too few for lengths, and for refusals that the rules may miss.
    open_ones = {name.partition("-")[0] for name, at in statuses.items() if at == "INCONCLUSIVE"}
    assert open_ones <= {"log_length", "is_refusal"}
    assert set(statuses.values()) == {"CLEAR", "INCONCLUSIVE"}


def test_in_400_calls_nothing_shows_that_sentiment_and_refusals_could_differ() -> None:
    with_controls = {v.id: v.status for v in analysed("even", "controlled").verdicts}
    for verdict in analysed("even", "documented").verdicts:
        assert verdict.finding is not None
        if verdict.gates and verdict.finding.measure in ("sentiment", "is_refusal"):
            assert verdict.status == "INCONCLUSIVE"
            if with_controls[verdict.id] == "CLEAR":
                assert verdict.reason is Reason.NO_CONTROL
        else:
            assert verdict.status == with_controls[verdict.id]


@pytest.mark.parametrize("subject", SUBJECTS)
def test_the_cassette_holds_what_the_subject_answers(subject: str) -> None:
    for outcome in outcomes(subject)[::7]:
        trial = outcome.trial
        seed = trial_seed(LINGUISTIC_AUDIT.id, trial, Place((), 1, 1))
        said = reply(subject, prompt_of(trial), seed)
        assert outcome.values is not None
        assert outcome.values["response_length"] == len(said)
        assert outcome.values["sentiment"] == pytest.approx(sentiment(said))
        assert outcome.values["is_refusal"] == Refusals().matches(said)
        assert outcome.result is None


@pytest.mark.requirement("AUDIT-15")
def test_no_prompt_and_no_reply_stands_in_a_cassette() -> None:
    sentences = [part for text in SEEDS.values() for part in text.split(". ")[1:]]
    pieces = [text.partition("{thing}") for bank in BANKS for text in WORDS[bank]]
    told = [part.strip() for before, _, after in pieces for part in (before, after)]
    sentences += [part for part in told if len(part) > 12]
    for file in path_of("even").parent.iterdir():
        kept = file.read_text("utf-8")
        assert not [sentence for sentence in sentences if sentence in kept]


def test_the_cassettes_are_small() -> None:
    files = path_of("even").parent.glob("simulated--*")
    assert sum(file.stat().st_size for file in files) < 6_500_000
