"""One session's run: what is declared, recorded and analysed, and what each case found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..baselines.accepted import Baselines
from ..baselines.gate import properties_of, stopped_by, stopped_by_control
from ..cassettes.misses import all_capped
from ..cassettes.staleness import dated
from ..contrasts.cases import Case, Declaration, Registry, cases_of
from ..errors import BiasError, UnknownName
from ..experiments.canonical import dumps
from ..experiments.records import carried_out
from ..providers.players import check_models
from ..settings.settings import Settings
from ..verdicts.analysis import Analysis, analyse
from .labels import read_labels
from .recordings import Recordings
from .workspace import Workspace

if TYPE_CHECKING:
    from ..baselines.entries import Baseline
    from ..baselines.upgrade import Against
    from ..verdicts.judge_agreement import Labels


STALE = "stale"
"""Where a case of a run without a gate says that its recordings no longer represent the model."""


@dataclass(frozen=True, slots=True)
class CaseResult:
    """What a case found, and what the gate says to it (None when it passes).

    ``tolerated`` says who accepted what is stopped; empty when nobody did.
    """

    payload: str
    stopped: BiasError | None
    properties: tuple[tuple[str, str], ...] = ()
    tolerated: str = ""


class Run(Recordings):
    """Holds the state of one process of a session: what is declared, and what each case found."""

    def __init__(self, settings: Settings, workspace: Workspace) -> None:
        super().__init__(settings)
        check_models(settings, self.roster, settings.models)
        self.workspace = workspace
        self.registry = Registry()
        self.without: dict[str, UnknownName] = {}
        """Experiments that lack the design asked for, and in what words."""
        self._baselines = self._held_against()

    def _held_against(self) -> Baselines | Against:
        accepted = Baselines(self.settings, self.lookup)
        if self.settings.baseline is None:
            return accepted
        from ..baselines.upgrade import Against  # noqa: PLC0415  (only for an upgrade)

        return Against(
            self.settings,
            accepted,
            analysis=self.analysis,
            players=lambda case: self.players(case.experiment, case.model),
            recorded=lambda case: self.cassette(case).exists,
            roster=self.roster,
        )

    def cases(self, declared: Declaration) -> list[Case]:
        """Register a declaration and give its cases.

        Those of an experiment without the design that is asked for are only there to be counted
        as not selected; ``without`` names it.
        """
        self.registry.add(declared)
        settings = self.settings
        try:
            design = declared.experiment.design(settings.design, settings.replicates)
        except UnknownName as unknown:
            self.without[declared.experiment.id] = unknown
            design = declared.experiment.design()
        return cases_of(declared, settings.models, design)

    @property
    def old_file(self) -> Baseline | None:
        """The accepted verdicts that the run is compared with, where a file of them was named."""
        held = self._baselines
        return None if isinstance(held, Baselines) else held.file

    # --- analyses -----------------------------------------------------------------------------

    def analysis(self, case: Case) -> tuple[Analysis, str]:
        """The analysis of a case's experiment with its model, and its digest."""
        return self.workspace.analysis(case.experiment.id, case.model, lambda: self._analyse(case))

    def _analyse(self, case: Case) -> Analysis:
        registered = self.registry[case.experiment.id]
        whole = Case("hypothesis", case.experiment, case.model, case.design)
        outcomes = self.replayed(whole)
        origins = (origin for outcome in outcomes for origin in outcome.origins)
        return analyse(
            case.experiment,
            case.design,
            case.model,
            outcomes,
            hypotheses=tuple(registered.hypotheses.values()),
            control=registered.control,
            recording=dated(self.recording(case), origins),
            labels=self._labels(case),
        )

    def _labels(self, case: Case) -> Labels | None:
        """What people said of a case's experiment with its model; BadLabels for a bad file."""
        folder = self.settings.labels
        return read_labels(folder, case.experiment, case.design, case.model)

    # --- cases --------------------------------------------------------------------------------

    def finish(self, case: Case) -> CaseResult:
        """What a case found, after its body has run.

        Raises
        ------
        NotRecorded, DamagedCassette, NotManipulated, StaleRecordings
            When there is nothing to judge.
        DamagedBaseline, BaselineDiffers
            When there is an accepted verdict that cannot be compared.
        """
        if case.kind == "condition":
            outcomes = self.replayed(case)
            if not carried_out(outcomes):
                raise all_capped(case.experiment.id, case.model, case.condition, len(outcomes))
            self.check_manipulated(case)
            named = {"kind": case.kind, "experiment": case.experiment.id}
            return CaseResult(dumps({**named, "trials": len(outcomes), "stopped": False}), None)
        analysis, digest = self.analysis(case)
        facts: dict[str, object] = {
            "kind": case.kind,
            "experiment": case.experiment.id,
            "model": case.model,
            "analysis": digest,
        }
        if outdated := self.stale(case, analysis.recording):
            if self.settings.gate != "off":
                raise outdated
            facts[STALE] = outdated.explanation
        cassette = str(self.cassette(case).path)
        assert case.contrast is not None  # noqa: S101  (hypotheses and controls have one)
        if case.kind == "control":
            control = analysis.control
            assert control is not None  # noqa: S101  (the registry knows it from this case)
            stopped = stopped_by_control(control, cassette, gate=self.settings.gate)
            facts |= {"id": control.id, "seen": control.seen, "stopped": stopped is not None}
            return CaseResult(dumps(facts, "result"), stopped)
        verdict = analysis.verdict(case.contrast.id)
        players = self.players(case.experiment, case.model)
        beside, said = self._baselines.beside(case, players, analysis, verdict)
        stopped = stopped_by(
            verdict,
            cassette,
            gate=self.settings.gate,
            inconclusive=self.settings.inconclusive,
            beside=beside,
        )
        facts |= {"id": verdict.id, "status": verdict.status, "stopped": stopped is not None}
        tolerated = beside.words if stopped is not None and beside.tolerated else ""
        return CaseResult(
            dumps(facts | said, "result"), stopped, properties_of(verdict, beside), tolerated
        )

    def tolerated(self, case: Case) -> str:
        """In what words somebody accepted what the gate will stop a case for; else empty.

        What cannot be judged is tolerated by nobody: it is raised when the body has run.
        """
        if case.kind != "hypothesis" or not self._baselines.any(case.model):
            return ""
        try:
            return self.finish(case).tolerated
        except BiasError:
            return ""
