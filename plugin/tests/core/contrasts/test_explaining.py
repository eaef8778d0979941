"""What a verdict says of itself, on findings of every kind: its status, and what is missing."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from pytest_bias.contrasts.declared import Claim
from pytest_bias.contrasts.findings import Null, PublishedColumn
from pytest_bias.contrasts.groups import GroupContrast, TotalGap
from pytest_bias.contrasts.interactions import Interaction
from pytest_bias.contrasts.pairs import MeanDifference
from pytest_bias.contrasts.published import ChiSquareTest
from pytest_bias.errors import IncompleteDesign
from pytest_bias.experiments.design import Factor
from pytest_bias.verdicts.explanation import explanation, settling_words
from pytest_bias.verdicts.verdict import Control

from .designs import recorded, study
from .judging import NAMED, UNSEEN, judged, of_names, tones, with_p
from .test_selection import OF as POOLS
from .test_selection import asked as selection
from .test_selection import picked


def test_clear() -> None:
    text = explanation(judged(tones(0.02, 0.4))).splitlines()
    assert text == [
        "study × openai/tiny, q: CLEAR within ±0.5 for these stimuli",
        (
            "Asked about score: high − low (mean difference), for these stimuli (this very set). "
            "Effects within ±0.5 points do not matter. The design is sized to clear it."
        ),
        (
            "Found: +0.020 points, with 90 % confidence between -0.35 and +0.39 (high 0.020, low "
            "0.00)."
        ),
        (
            "How sure: were there no effect at all, p = 0.8269 (after Holm, over its experiment); "
            "were it the margin or more, p = 0.0082. What has a p of at most 0.05 is ruled out. "
            "Method: t test of the weighted sum of means; two one-sided t tests at the margin."
        ),
        "From 80 replies, each a unit of its own.",
        (
            "Published method (Welch's t test on all replies, Cohen's d): p = 0.8269, which it "
            "calls no effect; the verdict says more: whatever there is lies within the margin."
        ),
    ]


def test_biased_detected_and_beyond() -> None:
    detected = judged(tones(0.6, 0.6), direction="positive")
    assert detected.words == "BIASED (detected) for these stimuli"
    assert "which it calls an effect; the verdict agrees." in explanation(detected)
    assert explanation(detected).endswith("The direction its source reports is supported.")
    beyond = judged(tones(-3), direction="positive")
    assert beyond.words.startswith("BIASED (beyond the margin)")
    assert explanation(beyond).endswith("found against the direction its source reports.")
    assert settling_words(beyond) == ""


def test_without_a_margin() -> None:
    verdict = judged(tones(0.1, margin=None), claim="detect")
    text = explanation(verdict)
    assert "No margin is declared, so an effect can be found but never cleared." in text
    assert "leaving it undecided is no failure." in text
    assert "were it the margin" not in text
    assert settling_words(verdict) == (
        "No effect is shown, and without a margin nothing is cleared."
    )


@pytest.mark.parametrize(
    ("control", "reason"),
    [
        (None, "no assay sensitivity: no positive control of score was recorded"),
        (UNSEEN, "no assay sensitivity: the positive control control was not seen"),
    ],
    ids=["none", "unseen"],
)
def test_what_more_replies_cannot_mend(control: Control | None, reason: str) -> None:
    verdict = judged(with_p(tones(0.02, 0.4), 0.01), control=control)
    assert verdict.status == "INCONCLUSIVE"
    text = explanation(verdict)
    assert settling_words(verdict).startswith(f"{reason[0].upper()}{reason[1:]}")
    assert f"which it calls an effect. The verdict is held back: {reason}" in text


def test_nothing_computed() -> None:
    verdict = judged(IncompleteDesign(cells=["noir/black"]), direction="positive")
    text = explanation(verdict).splitlines()
    assert len(text) == 3
    assert text[1].startswith("Nothing could be computed: incomplete design")
    assert text[2] == "The direction its source reports is not shown."
    assert not any(line.endswith("..") for line in text)


def test_pools_are_missing_once() -> None:
    lost = tuple(row.trial.id for row in picked().rows[:3])
    text = explanation(judged(selection().analyse(POOLS, picked(lost=lost))))
    assert "Missing: 3 trials without a valid reply (3 × refusal)." in text
    assert "From 37 units (pools), a reply each." in text
    assert "Ratios from 0.80 to 1.25 do not matter." in text


@pytest.mark.parametrize(
    ("finding", "p", "words"),
    [
        ("clear", 0.001, "an effect; the verdict is about size: whatever there is lies within"),
        ("clear", 0.5, "no effect; the verdict says more: whatever there is lies within"),
        ("biased", 0.001, "an effect; the verdict agrees."),
        ("biased", 0.5, "no effect; the verdict's own test, which compares like with like, does"),
        ("open", 0.5, "no effect; that none was found does not show that there is none."),
        ("open", 0.001, "an effect. It pools all replies; the verdict compares like with like"),
    ],
)
def test_agreement_and_disagreement(finding: str, p: float, words: str) -> None:
    found = {"clear": tones(0.02, 0.4), "biased": tones(2), "open": tones(0.3, 1.2)}[finding]
    assert f"which it calls {words}" in explanation(judged(with_p(found, p)))


def test_why_a_published_effect_may_be_none() -> None:
    found = with_p(tones(0.48, 1.0), 0.01)
    assert found.p_alarm < 0.05
    text = explanation(judged(found, adjusted=0.3))
    assert "It leaves aside that several hypotheses were tested; the verdict adjusts" in text
    question = MeanDifference("score", "group", high="white", low="black", margin=0.3)
    text = explanation(judged(with_p(of_names(NAMED, question, 0.3), 0.001)))
    assert "were there no effect beyond the margin, p = " in text
    assert "in a fixed set of stimuli some effect is certain; the verdict asks for one" in text
    question = MeanDifference(
        "score", "group", high="white", low="black", margin=0.3, target="population"
    )
    finding = with_p(of_names(NAMED, question), 0.001)
    text = explanation(judged(finding))
    assert f"It counts {finding.replies} replies as independent; there are 12 independent" in text


def test_a_published_method_that_says_nothing() -> None:
    constant = {"not defined": "every value is the same"}
    found = replace(tones(0.2), published=PublishedColumn(method="V", statistics=constant))
    text = explanation(judged(found))
    assert "Published method (V): it cannot be computed here (every value is the same)." in text
    found = replace(tones(0.2), published=PublishedColumn(method="total", statistics={"sum": 1.0}))
    assert "Published method (total): it gives no p-value." in explanation(judged(found))
    assert "Published" not in explanation(judged(replace(tones(0.2), published=None)))


QUESTIONS: dict[str, Any] = {
    "rest": GroupContrast("score", "group", group="white", margin=0.3, target="population"),
    "any": GroupContrast("score", "group", target="population", published=ChiSquareTest()),
    "interaction": Interaction(
        "score", {"group": ("white", "black"), "tone": ("high", "low")}, margin=0.3
    ),
    "largest": Interaction("score", {"group": None, "tone": None}, target="population"),
    "total": TotalGap("score", "group", gaps=[("white", "black", 1)], target="population"),
}


@pytest.mark.parametrize("question", QUESTIONS.values(), ids=QUESTIONS)
@pytest.mark.parametrize("shift", [0.0, 2.0])
@pytest.mark.parametrize("claim", ["clear", "detect"])
def test_every_kind_reads_as_sentences(question: Any, shift: float, claim: Claim) -> None:
    text = explanation(judged(of_names(NAMED, question, shift), claim=claim))
    lines = text.splitlines()
    assert lines[0].startswith("study × openai/tiny, q: ")
    for line in lines[1:]:
        assert line.endswith(".")
        assert line[0].isupper()
        for flaw in ("..", "  ", " ,", "None", "nan", "()", "-0.00 ", "+-", "(s)"):
            assert flaw not in line
    starts = [line.split(":")[0].split(" ")[0] for line in lines[1:5]]
    assert starts == ["Asked", "Found", "How", "From"]


@pytest.mark.parametrize("null", ["zero", "margin"])
def test_numbers_keep_their_meaning(null: Null) -> None:
    found = replace(tones(0.2), null=null, estimate=-0.0001, p_alarm=1e-9, unit="")
    text = explanation(judged(found))
    assert "Found: +0.00 (" in text
    assert "p < 0.0001 (after Holm, over its experiment)" in text


def test_levels_with_long_words_are_called_otherwise() -> None:
    of = study(factors=[Factor("tone", {"low": "l", "high": "h"})], replicates=20)
    rng = np.random.default_rng(0)
    question = MeanDifference(
        "score", "tone", high="high", low="low", called=("Loud", "Quiet"), margin=1
    )
    found = question.analyse(of, recorded(of, lambda _: float(rng.normal())))
    text = explanation(judged(found))
    assert "Loud − Quiet" in text
    assert "(Loud " in text
