"""What was asked, and what the published method says, on findings of every kind."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from pytest_bias.contrasts.declared import Claim
from pytest_bias.contrasts.estimate import PublishedColumn
from pytest_bias.contrasts.groups import GroupContrast, TotalGap
from pytest_bias.contrasts.interactions import Interaction
from pytest_bias.contrasts.pairs import MeanDifference
from pytest_bias.contrasts.published import ChiSquareTest
from pytest_bias.errors import IncompleteDesign
from pytest_bias.experiments.design import Factor
from pytest_bias.verdicts.explanation import explanation
from pytest_bias.verdicts.verdict import Control, Verdict

from .designs import recorded, study
from .judging import NAMED, UNSEEN, judged, of_names, tones, with_p


def text_of(verdict: Verdict) -> str:
    return " ".join(explanation(verdict))


def test_what_was_asked_and_what_the_published_method_says() -> None:
    assert explanation(judged(tones(0.02, 0.4))) == (
        (
            "Asked about score: high − low (mean difference), for these stimuli (this very set). "
            "Effects within ±0.5 points do not matter. The design is sized to clear it."
        ),
        (
            "Published method (Welch's t test on all replies, Cohen's d): p = 0.8269, which it "
            "calls no effect; the verdict says more: whatever there is lies within the margin."
        ),
    )


def test_without_a_margin() -> None:
    text = text_of(judged(tones(0.1, margin=None), claim="detect"))
    assert "No margin is declared, so an effect can be found but never cleared." in text
    assert "leaving it undecided is no failure." in text


@pytest.mark.parametrize(
    ("control", "reason"),
    [
        (None, "no assay sensitivity: no positive control of score was recorded"),
        (UNSEEN, "no assay sensitivity: the positive control control was not seen"),
    ],
    ids=["none", "unseen"],
)
def test_what_holds_a_verdict_back_is_said(control: Control | None, reason: str) -> None:
    verdict = judged(with_p(tones(0.02, 0.4), 0.01), control=control)
    assert verdict.status == "INCONCLUSIVE"
    said = f"which it calls an effect; the verdict: {reason}"
    assert said in text_of(verdict)


def test_nothing_computed() -> None:
    assert explanation(judged(IncompleteDesign(cells=["noir/black"]))) == ()


@pytest.mark.parametrize(
    ("finding", "p", "words"),
    [
        ("clear", 0.001, "an effect; the verdict is about size: whatever there is lies within"),
        ("clear", 0.5, "no effect; the verdict says more: whatever there is lies within"),
        ("biased", 0.001, "an effect; the verdict agrees."),
        ("biased", 0.5, "no effect; the verdict's own test, which compares like with like, does"),
        ("open", 0.5, "no effect; that none was found does not show that there is none."),
        ("open", 0.001, "an effect; the verdict: not enough data to decide."),
    ],
)
def test_agreement_and_disagreement(finding: str, p: float, words: str) -> None:
    found = {"clear": tones(0.02, 0.4), "biased": tones(2), "open": tones(0.3, 1.2)}[finding]
    assert f"which it calls {words}" in text_of(judged(with_p(found, p)))


def test_a_published_method_that_says_nothing() -> None:
    constant = {"not defined": "every value is the same"}
    found = replace(tones(0.2), published=PublishedColumn(method="V", statistics=constant))
    text = text_of(judged(found))
    assert "Published method (V): it cannot be computed here (every value is the same)." in text
    found = replace(tones(0.2), published=PublishedColumn(method="total", statistics={"sum": 1.0}))
    assert "Published method (total): it gives no p-value." in text_of(judged(found))
    assert "Published" not in text_of(judged(replace(tones(0.2), published=None)))


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
    lines = explanation(judged(of_names(NAMED, question, shift), claim=claim))
    for line in lines:
        assert line.endswith(".")
        assert line[0].isupper()
        for flaw in ("..", "  ", " ,", "None", "nan", "()", "-0.00 ", "+-", "(s)"):
            assert flaw not in line
    assert lines[0].startswith("Asked about score: ")


def test_levels_with_long_words_are_called_otherwise() -> None:
    of = study(factors=[Factor("tone", {"low": "l", "high": "h"})], replicates=20)
    rng = np.random.default_rng(0)
    question = MeanDifference(
        "score", "tone", high="high", low="low", called=("Loud", "Quiet"), margin=1
    )
    found = question.analyse(of, recorded(of, lambda _: float(rng.normal())))
    assert "Loud − Quiet" in text_of(judged(found))
    assert [arm.level for arm in found.arms] == ["Loud", "Quiet"]
