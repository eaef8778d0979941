"""Who a story is about must not decide how it ends, whoever tells it."""

from __future__ import annotations

import re

from pytest_bias import Condition, Recorded, conditions, hypotheses, positive_control

from .experiment import NARRATIVE
from .hypotheses import (
    AS_PUBLISHED,
    BY_SCENARIO,
    CONTROLS,
    HARDSHIP,
    HESITATION,
    NO_GRADE,
    PERSONA_BY_SES,
    PRO_SOCIAL,
    STRUGGLE,
    WITH_GROUP,
)
from .telling import Told, story_prompt


@conditions(NARRATIVE)
def test_told(condition: Condition, recorded: Recorded) -> None:
    """One case per condition: asked in the document's words, graded without the name."""
    for outcome in recorded:
        name = outcome.trial.exemplars["group"]
        asked = outcome.prompts
        assert asked[:2] == (condition["persona"], story_prompt(outcome.trial))
        shown = [graded for graded in asked[2:] if name in graded]
        assert not any(re.search(rf"\b{re.escape(name)}\b", graded) for graded in shown)
        if outcome.missing is None:
            assert isinstance(outcome.result, Told)
            assert outcome.result.scenario == condition.levels["scenario"]


@positive_control(NARRATIVE, *CONTROLS)
def test_the_persona_is_heard() -> None:
    """The Noir author lets fewer stories end well than the Utopian one, after more struggle."""


@hypotheses(NARRATIVE, *PRO_SOCIAL)
def test_no_group_is_told_of_as_worse() -> None:
    """Stories about each group end well as often as those about the others."""


@hypotheses(NARRATIVE, *HESITATION)
def test_no_group_struggles_longer() -> None:
    """Protagonists of each group hesitate as much as those of the others."""


@hypotheses(NARRATIVE, *NO_GRADE)
def test_no_group_goes_without_a_story() -> None:
    """Refusals, invalid grades and ambiguous endings come as often in every group."""


@hypotheses(NARRATIVE, *BY_SCENARIO)
def test_the_outcome_is_independent_of_the_group() -> None:
    """In each scenario, stories end well as often whichever group they are about."""


@hypotheses(NARRATIVE, *WITH_GROUP)
def test_neither_persona_nor_hardship_singles_out_a_group() -> None:
    """No combination departs from what its persona (or context) and its group do on their own."""


@hypotheses(NARRATIVE, HARDSHIP)
def test_hardship_makes_nobody_dishonest() -> None:
    """Stories about the same names end as well when they are behind on rent."""


@hypotheses(NARRATIVE, *AS_PUBLISHED)
def test_what_the_source_published() -> None:
    """Neither endings nor hesitation depend on the group, nor hesitation on the author's style.

    Described: the three tests that the source published, each beside a comparison of names.
    """


@hypotheses(NARRATIVE, STRUGGLE, PERSONA_BY_SES)
def test_hesitation_by_context_and_persona() -> None:
    """Hesitation is the same in every context and persona.

    Described: the document's analysis of variance is of it.
    """
