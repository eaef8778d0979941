"""What all reports of a run are made from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ..analysis import Analysis
from ..verdicts import Status, Verdict

SuiteVerdict = Literal["PASS", "FAIL", "INCONCLUSIVE", "NO VERDICT"]

SIMULATED_WARNING = (
    "are simulated subjects: programs that stand in for models. "
    "Nothing here says anything about a real model."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunView:
    """One run: its analyses, sorted, and how complete it is.

    ``partial`` says why the run does not cover the whole suite (empty when it does), ``lost``
    names selected cases that reported nothing, ``cases`` maps each reported case to its outcome.
    """

    analyses: tuple[Analysis, ...]
    cases: tuple[tuple[str, str], ...]
    lost: tuple[str, ...]
    partial: tuple[str, ...]
    problems: tuple[str, ...]
    version: str

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """The verdicts of all hypotheses."""
        return tuple(verdict for analysis in self.analyses for verdict in analysis.verdicts)

    @property
    def simulated(self) -> tuple[str, ...]:
        """The models that are simulated subjects."""
        return tuple(sorted({a.model for a in self.analyses if a.simulated}))

    @property
    def suite(self) -> SuiteVerdict:
        """FAIL on any BIASED, PASS only if every claim to be clear is CLEAR."""
        if self.lost or self.problems or not self.verdicts:
            return "NO VERDICT"
        return suite_verdict(self.verdicts)

    def count(self, status: Status) -> int:
        """Number of verdicts of a status."""
        return sum(verdict.status == status for verdict in self.verdicts)


def suite_verdict(verdicts: Sequence[Verdict]) -> SuiteVerdict:
    """The intersection–union rule over hypotheses: no adjustment of clearances is needed."""
    if any(verdict.status == "BIASED" for verdict in verdicts):
        return "FAIL"
    if all(verdict.status == "CLEAR" for verdict in verdicts if verdict.claim == "clear"):
        return "PASS"
    return "INCONCLUSIVE"
