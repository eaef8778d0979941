"""One session's run: what is declared, recorded and analysed, and what each case found."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

from ..baselines.accepted import Baselines
from ..baselines.gate import stopped_by, stopped_by_control
from ..contrasts.cases import Case, Declaration, cases_of
from ..errors import BiasError
from ..report.run import properties_of
from ..settings.settings import Settings
from ..verdicts.analysis import Analysis
from ..workbench.project import Project
from .workspace import CaseReport, Made, Workspace

if TYPE_CHECKING:
    from ..experiments.experiment import ModelRoles


@dataclass(frozen=True, slots=True)
class CaseResult:
    """Report of what a case found, and what the gate says to it (None when it passes).

    ``tolerated`` says who accepted what is stopped; empty when nobody did.
    """

    report: CaseReport
    stopped: BiasError | None
    properties: tuple[tuple[str, str], ...] = ()
    tolerated: str = ""


class Run:
    """One process of a session: its project, and what each case found."""

    def __init__(self, settings: Settings, workspace: Workspace) -> None:
        self.settings = settings
        self.project = Project(settings)
        self.workspace = workspace
        recordings = self.project.recordings
        self._baselines = Baselines(settings, recordings.source_of, self._old_analysis)
        self._results: dict[tuple[str, str, str, str], CaseResult] = {}

    def _old_analysis(self, case: Case) -> tuple[Analysis, str, ModelRoles] | None:
        """An old model's analysis, its digest, and who answers; None without a recording."""
        recordings = self.project.recordings
        if not recordings.is_there(case):
            return None
        analysis, digest = self.analysis(case)
        others = recordings.stale(case, analysis.recording, ages=False)
        if others is not None and self.settings.gate != "off":
            raise others
        return analysis, digest, recordings.roles(case.experiment, case.model)

    def cases(self, declared: Declaration) -> list[Case]:
        """Register a declaration and give its cases.

        Raises UnknownName where its experiment has no design of the name that is asked for.
        """
        self.project.registry.add(declared)
        settings = self.settings
        design = declared.experiment.design(settings.design, settings.replicates)
        cases = map(self.project.recordings.sized, cases_of(declared, settings.models, design))
        return [case for case in cases if case.is_planned]

    # --- analyses -----------------------------------------------------------------------------

    def analysis(self, case: Case) -> Made:
        """The analysis of a case's experiment with its model, and its digest."""
        return self.workspace.analysis(
            case.experiment.id, case.model, lambda: self._analysed(case)
        )

    def _analysed(self, case: Case) -> Analysis:
        """Analyse a case's experiment with its model, and leave what the controller asks for.

        Here, where the trials have been read: nobody else has to read them again.
        """
        analysis, settings = self.project.analysed(case), self.settings
        named = [case.experiment.id, case.model]
        if settings.report is not None:
            self.workspace.leave("replies", named, lambda: asdict(self.project.replies(case)))
        return analysis

    # --- cases --------------------------------------------------------------------------------

    def result(self, case: Case) -> CaseResult:
        """Return what a case found, and what the gate says to it; worked out once in a process.

        Raises NotRecorded, DamagedCassette, BadDesign or StaleRecordings when there is
        nothing to judge. Raises NotReadable or BaselineDiffers when there is an accepted
        verdict that cannot be compared.
        """
        about = case.condition or case.contrast
        key = (case.experiment.id, case.model, case.kind, about.id if about else "")
        if key not in self._results:
            self._results[key] = self._result(case)
        return self._results[key]

    def tolerated(self, case: Case) -> str:
        """Return the acceptance under which the gate lets a case through that it stops, or "".

        What cannot be judged is tolerated by nobody: it is raised when the body has run.
        """
        if case.kind != "hypothesis" or not self._baselines.may_tolerate(case.model):
            return ""
        try:
            return self.result(case).tolerated
        except BiasError:
            return ""

    def _result(self, case: Case) -> CaseResult:
        recordings = self.project.recordings
        report = CaseReport(
            kind=case.kind, experiment=case.experiment.id, model=case.model, stopped=False
        )
        if case.kind == "condition":
            self.project.outcomes(case)
            return CaseResult(report, None)
        analysis, digest = self.analysis(case)
        outdated = recordings.stale(case, analysis.recording)
        if outdated is not None and self.settings.gate != "off":
            raise outdated
        stale = "" if outdated is None else outdated.explanation
        report = replace(report, analysis=digest, stale=stale)
        if case.kind == "control":
            return self._of_control(case, report, analysis)
        return self._of_hypothesis(case, report, analysis)

    def _of_control(self, case: Case, report: CaseReport, analysis: Analysis) -> CaseResult:
        assert case.contrast is not None  # noqa: S101  (controls have one)
        control = analysis.control(case.contrast.id)
        stopped = stopped_by_control(
            control, self.project.recordings.source_of(case).location, gate=self.settings.gate
        )
        return CaseResult(replace(report, id=control.id, stopped=stopped is not None), stopped)

    def _of_hypothesis(self, case: Case, report: CaseReport, analysis: Analysis) -> CaseResult:
        assert case.contrast is not None  # noqa: S101  (hypotheses have one)
        verdict = analysis.verdict(case.contrast.id)
        recordings = self.project.recordings
        roles = recordings.roles(case.experiment, case.model)
        comparison = self._baselines.compare(case, roles, analysis, verdict)
        stopped = stopped_by(
            verdict,
            recordings.source_of(case).location,
            gate=self.settings.gate,
            inconclusive=self.settings.inconclusive,
            comparison=comparison,
        )
        report = replace(
            report,
            id=verdict.id,
            status=verdict.status,
            stopped=stopped is not None,
            comparison=comparison,
        )
        tolerated = comparison.words if stopped is not None and comparison.tolerated else ""
        return CaseResult(report, stopped, properties_of(verdict, comparison.words), tolerated)
