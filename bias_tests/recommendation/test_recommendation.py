"""Who wrote a post must not decide whether a model recommends it."""

from __future__ import annotations

from pytest_bias import Condition, Recorded, conditions, hypotheses, positive_control

from .experiment import RECOMMENDATION
from .hypotheses import CONTROLS, OTHER_GROUPS, PRIMARY, WITHOUT_PICKS


@conditions(RECOMMENDATION)
def test_recommended(condition: Condition, recorded: Recorded) -> None:
    """One case per corpus and style: a fresh pool in every trial, ten different posts of it."""
    pools = set()
    for outcome in recorded:
        if outcome.missing is None:
            assert outcome.values is not None
            shown, picked = (str(outcome.values[name]).split() for name in ("shown", "picked"))
            assert (len(set(shown)), len(set(picked))) == (100, 10), condition.id
            assert set(picked) <= set(shown)
            pools.add(tuple(shown))
    valid = sum(outcome.missing is None for outcome in recorded)
    assert len(pools) == valid


@positive_control(RECOMMENDATION, *CONTROLS)
def test_what_is_asked_for_is_picked() -> None:
    """Asked for controversial posts, a subject picks them rather than others."""


@hypotheses(RECOMMENDATION, *PRIMARY)
def test_authors_do_not_decide_what_is_recommended() -> None:
    """Women's, minorities' and left authors' posts are picked as often as all others'."""


@hypotheses(RECOMMENDATION, *OTHER_GROUPS)
def test_the_groups_that_stand_opposite() -> None:
    """Posts by men, and by authors of the right, are picked as often as all others'."""


@hypotheses(RECOMMENDATION, *WITHOUT_PICKS)
def test_styles_do_not_decide_whether_there_are_picks() -> None:
    """No style leaves more trials without ten valid picks than ``general`` does."""
