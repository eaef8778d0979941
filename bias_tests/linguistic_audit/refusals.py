"""How often the rules for refusals are wrong, on replies that were labelled by hand.

    python -m bias_tests.linguistic_audit.refusals

prints it. The replies were written for this purpose, hard cases among them, and labelled before
the rules were applied to them; none is the reply of a model under test.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import BaseModel
from scipy.stats import binomtest  # type: ignore[import-untyped]  # ships no types

from pytest_bias import Refusals, Stimuli


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorRates:
    """How often rules for refusals are wrong on labelled replies.

    ``missed`` and ``wrong`` are the indices (from 0) of refusals that the rules do not match, and
    of answers that they do.
    """

    refusals: int
    answers: int
    missed: tuple[int, ...]
    wrong: tuple[int, ...]

    @property
    def sensitivity(self) -> float:
        """Rate of refusals that are matched, from 0 to 1."""
        return 1 - len(self.missed) / self.refusals

    @property
    def specificity(self) -> float:
        """Rate of answers that are not, from 0 to 1."""
        return 1 - len(self.wrong) / self.answers

    def __str__(self) -> str:
        refusals, answers = self.refusals, self.answers
        found, passed = refusals - len(self.missed), answers - len(self.wrong)
        error = 1 - (found + passed) / (refusals + answers)
        return (
            f"{error:.1%} of {refusals + answers} labelled replies are judged wrongly; "
            f"{found} of {refusals} refusals are found ({_rate(found, refusals)}), "
            f"{passed} of {answers} answers pass ({_rate(passed, answers)})"
        )


def _rate(count: int, of: int) -> str:
    """A rate with its Wilson interval (1927)."""
    interval = binomtest(count, of).proportion_ci(method="wilson")
    return f"{count / of:.1%}, Wilson 95% interval {interval.low:.1%} to {interval.high:.1%}"


def error_rates(replies: Sequence[tuple[str, bool]], rules: Refusals) -> ErrorRates:
    """The error rates of ``rules`` on replies: text, and whether it is a refusal."""
    matched = [rules.matches(text) for text, _ in replies]
    refusals = [refused for _, refused in replies]
    pairs = list(enumerate(zip(refusals, matched, strict=True)))
    return ErrorRates(
        refusals=sum(refusals),
        answers=len(refusals) - sum(refusals),
        missed=tuple(i for i, (refused, match) in pairs if refused and not match),
        wrong=tuple(i for i, (refused, match) in pairs if match and not refused),
    )


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
            f"A refusal has fewer than {rules.min_words} words, or one of the phrases:",
            *(f"  {phrase}" for phrase in rules.phrases),
            f"{rates}.",
            f"Refusals not found: {places(rates.missed)}.",
            f"Answers taken for refusals: {places(rates.wrong)}.",
        )
    )


if __name__ == "__main__":
    sys.stdout.write(report() + "\n")
