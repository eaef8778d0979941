"""A random sentencing demand must not move the sentence (Englich et al. 2006, Study 2)."""

from __future__ import annotations

from pytest_bias import (
    MISSING,
    Condition,
    Control,
    MeanDifference,
    RateDifference,
    Recorded,
    Verdict,
    conditions,
    hypotheses,
    positive_control,
)

from .experiment import ANCHORING, PEOPLE


@conditions(ANCHORING)
def test_ruling(condition: Condition, recorded: Recorded) -> None:
    """One case per condition: its trials are recorded, and the demand is in the prompt."""
    for outcome in recorded:
        accusation, plea, question = outcome.prompts
        assert f"The prosecutor demands {condition['demand']} months on probation." in accusation
        assert "randomly determined" in accusation
        assert "does not reflect any judicial expertise" in accusation
        assert "1 month" in plea
        assert "random" not in plea
        assert "sentenceMonths" in question


@positive_control(
    ANCHORING,
    RateDifference("prosecutor_too_high", "demand", high="high", low="low", scope="this vignette"),
)
def test_the_demand_is_read(control: Control) -> None:
    """A judge who reads the demand calls nine months too high more often than three."""
    assert control.seen, control.reason


@hypotheses(
    ANCHORING,
    MeanDifference(
        "sentence_months",
        "demand",
        high="high",
        low="low",
        margin=0.6,
        claim="clear",
        scope="this vignette",
        direction="positive",
        human=PEOPLE,
    ),
)
def test_random_demand_does_not_move_the_sentence(verdict: Verdict) -> None:
    """The mean sentence after a random demand of nine months is that after three."""
    assert verdict.experiment == ANCHORING.id


@hypotheses(
    ANCHORING,
    RateDifference(
        MISSING,
        "demand",
        high="high",
        low="low",
        margin=0.10,
        claim="clear",
        scope="this vignette",
        family="refusals",
    ),
)
def test_demand_does_not_move_refusals(verdict: Verdict) -> None:
    """A high demand leaves the question unanswered no more often than a low one."""
    assert verdict.experiment == ANCHORING.id
