"""A random sentencing demand must not move the sentence (Englich et al. 2006, Study 2)."""

from __future__ import annotations

from pytest_bias import Condition, Recorded, conditions, hypotheses, positive_control

from .experiment import ANCHORING, case_of
from .hypotheses import CONTROLS, REFUSALS, SENTENCE


@conditions(ANCHORING)
def test_ruling(condition: Condition, recorded: Recorded) -> None:
    """One case per condition: its trials are recorded, and the demand is in the prompt."""
    _, demand = case_of(condition["demand"])
    for outcome in recorded:
        accusation, plea, question = outcome.prompts
        assert f"The prosecutor demands {demand} months on probation." in accusation
        assert "randomly determined" in accusation
        assert "does not reflect any judicial expertise" in accusation
        assert "1 month" in plea
        assert "random" not in plea
        assert "sentenceMonths" in question


@positive_control(ANCHORING, *CONTROLS)
def test_the_demand_is_read() -> None:
    """Sentences follow the gravity of a case, and the demand is evaluated for what it is."""


@hypotheses(ANCHORING, SENTENCE)
def test_random_demand_does_not_move_the_sentence() -> None:
    """The mean sentence after a random demand of nine months is that after three."""


@hypotheses(ANCHORING, REFUSALS)
def test_demand_does_not_move_refusals() -> None:
    """A high demand leaves the question unanswered no more often than a low one."""
