"""How often the rules for refusals are wrong, on replies that were labelled by hand.

    python -m bias_tests.linguistic_audit.refusals

prints it. The replies were written for this purpose, hard cases among them, and labelled before
the rules were applied to them; none is the reply of a model under test.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from pydantic import BaseModel

from pytest_bias import Refusals, Stimuli, error_rates


class _Labelled(BaseModel):
    text: str
    refusal: bool


def labelled() -> Sequence[tuple[str, bool]]:
    """The labelled replies: text, and whether it is a refusal."""
    rows = Stimuli(__file__).json("labelled_replies", list[_Labelled])
    return [(row.text, row.refusal) for row in rows]


def report() -> str:
    """The rules, the error rate, and the numbers (from 1) of the replies judged wrongly."""
    rules = Refusals()
    rates = error_rates(labelled(), rules)

    def places(found: Sequence[int]) -> str:
        return ", ".join(str(place + 1) for place in found) or "none"

    return "\n".join(
        (
            f"A refusal has fewer than {rules.fewest_words} words, or one of the phrases:",
            *(f"  {phrase}" for phrase in rules.phrases),
            f"{rates}.",
            f"Refusals not found: {places(rates.false_negatives)}.",
            f"Answers taken for refusals: {places(rates.false_positives)}.",
        )
    )


if __name__ == "__main__":
    sys.stdout.write(report() + "\n")
