"""What all reports of a run are made from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ..analysis import Analysis
from ..verdicts import Status, Verdict

SuiteVerdict = Literal["PASS", "FAIL", "INCONCLUSIVE", "NOT JUDGED", "NO VERDICT"]

SIMULATED_WARNING = (
    "Simulated subjects, programs that stand in for models: {}. "
    "Nothing about them says anything about a real model."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class AcceptedVerdict:
    """A verdict the gate stopped and let through, as somebody had accepted it."""

    experiment: str
    model: str
    id: str
    status: Status
    reason: str
    owner: str
    until: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunView:
    """One run: its analyses, sorted, and how complete it is.

    ``partial`` says why the run does not cover the whole suite (empty when it does), ``lost``
    names selected cases that reported nothing, ``cases`` maps each reported case to its outcome.
    ``judged`` names the hypotheses that were among the cases, as (experiment, model, id), None for
    all of them: others are analysed too, since they share families and controls with these.
    ``broken`` names cases that failed by themselves and not by the gate. ``leniencies`` says why
    a FAIL or INCONCLUSIVE may not fail the run, ``accepted`` which verdicts do not, sorted.
    """

    analyses: tuple[Analysis, ...]
    cases: tuple[tuple[str, str], ...]
    lost: tuple[str, ...]
    partial: tuple[str, ...]
    problems: tuple[str, ...]
    version: str
    judged: tuple[tuple[str, str, str], ...] | None = None
    broken: tuple[str, ...] = ()
    leniencies: tuple[str, ...] = ()
    accepted: tuple[AcceptedVerdict, ...] = ()

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
        """FAIL on any BIASED, PASS only if every claim to be clear is CLEAR and no case failed.

        NOT JUDGED where nothing went wrong and no hypothesis that gates was among the cases.
        """
        verdicts = [verdict for verdict in self.verdicts if self.is_judged(verdict)]
        if self.lost or self.problems:
            return "NO VERDICT"
        gating = any(verdict.gates for verdict in verdicts)
        suite = suite_verdict(verdicts) if gating else "NOT JUDGED"
        return "NO VERDICT" if self.broken and suite != "FAIL" else suite

    @property
    def standing(self) -> str:
        """The suite's verdict; PASS with so many accepted, where only these stand in its way."""
        if self.suite not in ("FAIL", "INCONCLUSIVE") or not self.accepted or self.broken:
            return self.suite
        rest = [v for v in self.verdicts if self.is_judged(v) and self.acceptance(v) is None]
        if suite_verdict(rest) != "PASS":
            return self.suite
        return f"PASS with {len(self.accepted)} accepted"

    def acceptance(self, verdict: Verdict) -> AcceptedVerdict | None:
        """Who accepted a verdict that the gate stopped; None where nobody did."""
        named = (verdict.experiment, verdict.model, verdict.id)
        return next((a for a in self.accepted if (a.experiment, a.model, a.id) == named), None)

    def is_judged(self, verdict: Verdict) -> bool:
        """Whether a hypothesis was among the cases of this run."""
        named = (verdict.experiment, verdict.model, verdict.id)
        return self.judged is None or named in self.judged

    def count(self, status: Status) -> int:
        """Number of verdicts of a status among the hypotheses of this run that gate."""
        return sum(v.status == status for v in self.verdicts if self.is_judged(v) and v.gates)


def suite_verdict(verdicts: Sequence[Verdict]) -> SuiteVerdict:
    """The intersection–union rule over hypotheses: no adjustment of clearances is needed.

    What is only described has no part in it.
    """
    if any(verdict.status == "BIASED" and verdict.gates for verdict in verdicts):
        return "FAIL"
    if all(verdict.status == "CLEAR" for verdict in verdicts if verdict.claim == "clear"):
        return "PASS"
    return "INCONCLUSIVE"
