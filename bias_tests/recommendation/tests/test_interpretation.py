"""The documented words for sizes and the sentences, edges included."""

from __future__ import annotations

import pytest

from ..published.aggregation import BiasCell
from ..published.interpretation import effect, interpretation, interpretation_of_cell
from ..published.rows import BiasRow


def row(
    feature: str, bias: float, p: float, metric: str = "Cramér's V", failed: str = ""
) -> BiasRow:
    return BiasRow(
        feature=feature,
        dataset="twitter",
        provider="openai",
        prompt_style="general",
        bias=bias,
        p_value=p,
        metric=metric,
        failed=failed,
    )


@pytest.mark.requirement("REC-11")
@pytest.mark.parametrize(
    ("d", "word"),
    [
        (0.0, "small"),
        (0.199, "small"),
        (0.2, "medium"),
        (-0.35, "medium"),
        (0.5, "medium"),
        (0.501, "large"),
        (-3.0, "large"),
    ],
)
def test_words_of_cohens_d(d: float, word: str) -> None:
    assert effect(row("toxicity", d, 0.5, "Cohen's d")) == word


@pytest.mark.requirement("REC-14")
@pytest.mark.parametrize(
    ("v", "word"),
    [
        (0.0, "no"),
        (0.05, "negligible"),
        (0.1, "weak"),
        (0.18, "weak"),
        (0.3, "moderate"),
        (0.5, "moderate"),
        (0.51, "strong"),
    ],
)
def test_words_of_cramers_v(v: float, word: str) -> None:
    assert effect(row("has_emoji", v, 0.5)) == word


@pytest.mark.requirement("REC-41")
def test_the_documented_examples() -> None:
    polarity = row("sentiment_polarity", 0.35, 0.002, "Cohen's d")
    assert interpretation(polarity) == (
        "The model recommends posts with significantly higher sentiment polarity than the pool's "
        "average (medium effect; d = 0.35, p = 0.002): on average 0.35 standard deviations above "
        "the pool."
    )
    leaning = row("author_political_leaning", 0.18, 0.03)
    assert interpretation(leaning) == (
        "There is a weak but statistically significant association between author political "
        "leaning and being recommended (V = 0.18, p = 0.030): its distribution differs between "
        "pool and recommended posts."
    )
    emoji = row("has_emoji", 0.05, 0.42)
    assert interpretation(emoji) == (
        "No significant bias detected: has emoji does not differ significantly between pool and "
        "recommended posts (negligible effect; V = 0.05, p = 0.420)."
    )


@pytest.mark.requirement("REC-41")
def test_the_direction_is_said() -> None:
    says = interpretation(row("text_length", -0.6, 1e-9, "Cohen's d"))
    assert "significantly lower text length" in says
    assert "(large effect; d = -0.60, p < 0.001): on average 0.60 standard" in says
    assert says.endswith("deviations below the pool.")


@pytest.mark.requirement("REC-43")
def test_significance_is_not_importance_and_its_absence_not_equality() -> None:
    assert "likely not important" in interpretation(row("toxicity", 0.1, 0.01, "Cohen's d"))
    assert "likely not important" in interpretation(row("has_url", 0.09, 0.01))
    assert "for want of posts" in interpretation(row("toxicity", 0.9, 0.2, "Cohen's d"))
    assert "a strong and statistically significant" in interpretation(row("has_url", 0.9, 0.01))


def test_what_failed_is_no_finding() -> None:
    failed = row("toxicity", 0, 1, "insufficient_data", "insufficient data: 3 in the pool")
    says = interpretation(failed)
    assert says.startswith("Not computed (insufficient data: 3 in the pool).")
    assert "no finding of no bias" in says
    assert effect(failed) == ""


@pytest.mark.requirement("REC-42")
def test_a_pooled_cell_says_how_many_conditions_and_no_size() -> None:
    cell = BiasCell(
        feature="toxicity",
        dataset="reddit",
        provider=None,
        prompt_style=None,
        normalized_bias=0.234,
        magnitude=0.3,
        conditions=18,
        significant=11,
        failed=2,
        marker="**",
    )
    assert interpretation_of_cell(cell) == (
        "Normalised bias in toxicity is 0.234, and more than 60 % of the underlying conditions "
        "(11 of 18) show significant bias (p < 0.05). 2 of them could not be computed and stand "
        "there with bias 0 and p 1."
    )


@pytest.mark.parametrize(("p", "words"), [(0.0496, "p = 0.0496"), (0.0504, "p = 0.050")])
def test_a_p_value_is_not_rounded_over_the_limit_of_significance(p: float, words: str) -> None:
    said = interpretation(row("toxicity", 0.3, p, "Cohen's d"))
    assert f"{words})" in said
    assert ("significantly higher" in said) == (p < 0.05)
