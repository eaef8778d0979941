"""Conditions in which the subject was told the very same, as a recording shows it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..design import Condition
from ..records import CAP, Outcome

Look = Callable[[Condition, int], Outcome | None]
"""The outcome of a condition's trial at a place of its plan; None where it is not recorded."""


def find_twins(
    conditions: Sequence[Condition], look: Look, trials: Callable[[Condition], int]
) -> dict[str, str]:
    """Condition → another in which the subject is told the same, in the first trial of both.

    ``trials`` is the number of trials of a condition. What is not recorded fails by itself.
    """
    told: dict[tuple[str, ...], list[str]] = {}
    capped: list[Condition] = []
    for condition in conditions:
        first = look(condition, 0)
        if first is not None and first.missing == CAP:
            capped.append(condition)
        elif first is not None:
            told.setdefault(first.prompts, []).append(condition.id)
    twins: dict[str, str] = {}
    for alike in told.values():
        if len(alike) > 1:
            twins |= dict.fromkeys(alike[1:], alike[0]) | {alike[0]: alike[1]}
    # Of a trial that a cap kept from being carried out nobody knows what it tells; the first that
    # both conditions have says it.
    for condition in capped:
        for other in conditions:
            shared = min(trials(condition), trials(other))
            if other.id != condition.id and _same(condition, other, look, shared):
                twins |= {condition.id: other.id, other.id: condition.id}
    return twins


def _same(condition: Condition, other: Condition, look: Look, trials: int) -> bool:
    for place in range(trials):
        one, two = look(condition, place), look(other, place)
        if one is None or two is None:
            return False
        if CAP not in (one.missing, two.missing):
            return one.prompts == two.prompts
    return False
