"""A random sentencing demand must not move the sentence when all is asked in one prompt."""

from __future__ import annotations

from pytest_bias import Condition, Recorded, conditions, hypotheses, positive_control

from .experiment import ALL_IN_ONE, case_of
from .hypotheses import CONTROLS, REFUSALS, SENTENCE


@conditions(ALL_IN_ONE)
def test_ruling_at_once(condition: Condition, recorded: Recorded) -> None:
    """One case per condition: its trials are recorded, and the demand is in their one prompt.

    What others recorded and published was asked in prompts that are not known.
    """
    _, demand = case_of(condition["demand"])
    for outcome in recorded:
        if outcome.published:
            assert outcome.prompts == ()
            continue
        (prompt,) = outcome.prompts
        assert f"The prosecutor demands {demand} months on probation." in prompt
        assert prompt.count("randomly determined") == 1
        assert "does not reflect any judicial expertise" in prompt
        assert "The defence attorney demands 1 month on probation." in prompt
        assert "sentenceMonths" in prompt


@positive_control(ALL_IN_ONE, *CONTROLS)
def test_the_demand_is_read_at_once() -> None:
    """Sentences follow the gravity of a case, and the demand is evaluated for what it is."""


@hypotheses(ALL_IN_ONE, SENTENCE)
def test_random_demand_does_not_move_the_sentence_given_at_once() -> None:
    """The mean sentence in one prompt with a random demand of nine months is that with three."""


@hypotheses(ALL_IN_ONE, REFUSALS)
def test_demand_does_not_move_refusals_given_at_once() -> None:
    """A high demand leaves the question unanswered no more often than a low one."""
