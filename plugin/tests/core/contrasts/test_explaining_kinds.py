"""What verdicts on all kinds of findings say of themselves."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from pytest_bias.contrasts.declared import Claim
from pytest_bias.contrasts.findings import Null
from pytest_bias.contrasts.groups import GroupContrast, TotalGap
from pytest_bias.contrasts.interactions import Interaction
from pytest_bias.contrasts.pairs import MeanDifference, RateDifference, RateRatio
from pytest_bias.contrasts.published import ChiSquareTest
from pytest_bias.experiments.design import Factor
from pytest_bias.verdicts.explanation import explanation, settling_words

from .designs import recorded, study
from .judging import NAMED, OF, flags, judged, of_names, tones


def test_a_population() -> None:
    question = MeanDifference(
        "score",
        "tone",
        high="high",
        low="low",
        margin=0.02,
        target="population",
        unit="seed",
        scope="prompts",
    )
    verdict = judged(of_names(NAMED, question))
    text = explanation(verdict)
    assert "for prompts (taken as a sample of others like them)." in text
    assert "From 12 units (seed), each the average of its replies (864 in all)." in text
    assert settling_words(verdict).startswith(
        f"{verdict.settle} seeds would clear it if there were no effect (there are 12), if"
    )
    nested = MeanDifference(
        "score", "group", high="white", low="black", margin=0.1, target="population"
    )
    verdict = judged(of_names(NAMED, nested))
    assert settling_words(verdict).startswith(
        f"{verdict.settle} exemplars of group per group would clear it if there were no effect"
    )


def test_rates_and_ratios() -> None:
    question = RateDifference("yes", "tone", high="high", low="low", margin=0.1)
    text = explanation(judged(question.analyse(OF, flags(20, 18))))
    assert "Asked about yes: high − low (rate difference)" in text
    assert "Found: +0.050, with 90 % confidence between -0.13 and +0.23, with 95 %" in text
    ratio = RateRatio("yes", "tone", high="high", low="low", margin=1.25)
    verdict = judged(ratio.analyse(OF, flags(20, 18)))
    text = explanation(verdict)
    assert "Asked about yes: high / low (rate ratio)" in text
    assert "Ratios from 0.80 to 1.25 do not matter." in text
    assert "Found: 1.11, with 90 % confidence between 0." in text
    assert settling_words(verdict) == "It takes more replies than the 40 there are per group."


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
