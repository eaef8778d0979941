"""One session's run: what is declared, recorded and analysed, and what each case found."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from .accepting import Baselines
from .analysis import Analysis, Recording, analyse
from .canonical import dumps
from .cases import Case, Declared, Recorded, Registry, cases_of
from .cassettes.misses import all_capped, not_recorded
from .cassettes.store import Cassette, cassette_path, file_stem
from .casting import check_models, players_of
from .errors import BiasError, NotManipulated, NotRecorded
from .experiment import Experiment, Players, first_trial, plan_condition
from .gate import properties_of, stopped_by, stopped_by_control
from .labels import read_labels
from .providers.base import is_simulated
from .records import Outcome, carried_out, lost_to_cap
from .replay import Unrecorded, Wanted
from .rereading import reread
from .roster import Roster, read_roster
from .settings import Settings
from .twins import find_twins
from .workspace import Workspace

if TYPE_CHECKING:
    from .design import Condition, Trial
    from .judging import Labels


@dataclass(frozen=True, slots=True)
class CaseResult:
    """What a case found, and what the gate says to it (None when it passes).

    ``tolerated`` says who accepted what is stopped; empty when nobody did.
    """

    payload: str
    stopped: BiasError | None
    properties: tuple[tuple[str, str], ...] = ()
    tolerated: str = ""


class Run:
    """Holds the state of one process of a session."""

    def __init__(self, settings: Settings, workspace: Workspace) -> None:
        self.settings = settings
        check_models(settings, self.roster, settings.models)
        self.workspace = workspace
        self.registry = Registry()
        self._baselines = Baselines(settings)
        self._players: dict[tuple[str, str], Players] = {}
        self._cassettes: dict[tuple[str, str], Cassette] = {}
        self._outcomes: dict[tuple[str, str, str], tuple[Recorded, tuple[Wanted, ...]]] = {}
        self._held: dict[tuple[str, str, str, int], Outcome | Wanted] = {}
        self._twins: dict[tuple[str, str], dict[str, str]] = {}

    def cases(self, declared: Declared) -> list[Case]:
        """Register a declaration and give its cases."""
        self.registry.add(declared)
        settings = self.settings
        design = declared.experiment.design(settings.design, settings.replicates)
        return cases_of(declared, settings.models, design)

    # --- recordings ---------------------------------------------------------------------------

    @cached_property
    def roster(self) -> Roster:
        """What the user knows of models; BadSetting for a file that is no roster."""
        return read_roster(self.settings.roster)

    def players(self, experiment: Experiment, model: str) -> Players:
        """Who answers in a trial of ``experiment`` with ``model`` as its subject."""
        key = (experiment.id, model)
        if key not in self._players:
            self._players[key] = players_of(experiment, model, self.settings, self.roster)
        return self._players[key]

    def forget(self) -> None:
        """Read every cassette anew: they have been recorded into."""
        self._cassettes.clear()
        self._outcomes.clear()
        self._held.clear()
        self._twins.clear()

    def cassette(self, case: Case) -> Cassette:
        """The cassette of a case, loaded once per process."""
        key = (case.experiment.id, case.model)
        if key not in self._cassettes:
            path = cassette_path(self.settings.cassettes, *key)
            self._cassettes[key] = Cassette(path)
        return self._cassettes[key]

    def replayed(self, case: Case) -> Recorded:
        """The outcomes of a case's trials, in the plan's order.

        Raises
        ------
        NotRecorded
            When any of them is not recorded; all that are missing are named at once.
        DamagedCassette
            When the cassette is not what was written.
        """
        conditions = [case.condition] if case.condition is not None else case.experiment.conditions
        parts = [self._replayed(case, condition) for condition in conditions]
        misses = [wanted for _, missing in parts for wanted in missing]
        outcomes = tuple(outcome for found, _ in parts for outcome in found)
        if misses:
            raise not_recorded(
                experiment_id=case.experiment.id,
                model=case.model,
                cassette=self.cassette(case),
                misses=misses,
                planned=len(misses) + len(outcomes),
                tried=self.settings.record != "none",
            )
        return outcomes

    def _replayed(self, case: Case, condition: Condition) -> tuple[Recorded, tuple[Wanted, ...]]:
        """Outcomes of one condition, and the first miss of each trial that has one; done once."""
        key = (case.experiment.id, case.model, condition.id)
        if key not in self._outcomes:
            trials = plan_condition(case.experiment, case.design, condition)
            found = [self._at(case, condition, 0)]
            found += [self._replay(case, trial) for trial in trials[1:]]
            self._outcomes[key] = (
                tuple(each for each in found if isinstance(each, Outcome)),
                tuple(each for each in found if isinstance(each, Wanted)),
            )
        return self._outcomes[key]

    def _replay(self, case: Case, trial: Trial) -> Outcome | Wanted:
        """The outcome of a trial, or the first interaction that is missing."""
        cassette = self.cassette(case)
        players = self.players(case.experiment, case.model)
        try:
            return reread(case.experiment, players, trial, cassette)
        except Unrecorded as missing:
            return lost_to_cap(trial) if trial.id in cassette.lost else missing.wanted

    def _at(self, case: Case, condition: Condition, position: int) -> Outcome | Wanted:
        """The trial of a condition at a place of its plan; kept, as others are held against it."""
        key = (case.experiment.id, case.model, condition.id, position)
        if key not in self._held:
            trial = (
                first_trial(case.experiment, condition)
                if position == 0
                else plan_condition(case.experiment, case.design, condition)[position]
            )
            self._held[key] = self._replay(case, trial)
        return self._held[key]

    def _check_manipulated(self, case: Case) -> None:
        """Raise NotManipulated when another condition tells the subject the very same."""
        assert case.condition is not None  # noqa: S101  (only condition cases come here)
        key = (case.experiment.id, case.model)
        if key not in self._twins:
            self._twins[key] = self._find_twins(case)
        twin = self._twins[key].get(case.condition.id)
        if twin is not None:
            raise NotManipulated(
                experiment=case.experiment.id, first=case.condition.id, second=twin
            )

    def _find_twins(self, case: Case) -> dict[str, str]:
        """Condition → another in which the subject is told the very same."""

        def look(condition: Condition, place: int) -> Outcome | None:
            found = self._at(case, condition, place)
            return found if isinstance(found, Outcome) else None

        return find_twins(
            case.experiment.conditions,
            look,
            lambda condition: len(plan_condition(case.experiment, case.design, condition)),
        )

    # --- analyses -----------------------------------------------------------------------------

    def analysis(self, case: Case) -> tuple[Analysis, str]:
        """The analysis of a case's experiment with its model, and its digest."""
        return self.workspace.analysis(case.experiment.id, case.model, lambda: self._analyse(case))

    def _analyse(self, case: Case) -> Analysis:
        registered = self.registry[case.experiment.id]
        whole = Case("hypothesis", case.experiment, case.model, case.design)
        outcomes = self.replayed(whole)
        return analyse(
            case.experiment,
            case.design,
            case.model,
            outcomes,
            hypotheses=tuple(registered.hypotheses.values()),
            control=registered.control,
            recording=self.recording(case),
            labels=self._labels(case),
        )

    def _labels(self, case: Case) -> Labels | None:
        """What people said of a case's experiment with its model; BadLabels for a bad file."""
        folder = self.settings.labels
        return read_labels(folder, case.experiment, case.design, case.model)

    def recording(self, case: Case) -> Recording:
        """Where the replies to a case's experiment come from."""
        cassette = self.cassette(case)
        provenance = cassette.provenance
        return Recording(
            cassette=self.cassette_name(case),
            checksum=cassette.checksum,
            simulated=provenance.simulated or is_simulated(case.model),
            wire=provenance.wire,
            recorded_with=provenance.recorded_with,
            judge=self.players(case.experiment, case.model).judge,
            dropped=cassette.dropped,
            retention=case.experiment.retention,
            interactions=cassette.calls,
            interrupted=cassette.interrupted,
        )

    def cassette_name(self, case: Case) -> str:
        """The cassette as ``<experiment>/<provider>--<model>``, the same on every machine."""
        return f"{case.experiment.id}/{file_stem(case.model)}"

    # --- cases --------------------------------------------------------------------------------

    def finish(self, case: Case) -> CaseResult:
        """What a case found, after its body has run.

        Raises
        ------
        NotRecorded, DamagedCassette, NotManipulated
            When there is nothing to judge.
        DamagedBaseline, BaselineDiffers
            When there is an accepted verdict that cannot be compared.
        """
        if case.kind == "condition":
            outcomes = self.replayed(case)
            if not carried_out(outcomes):
                raise all_capped(case.experiment.id, case.model, case.condition, len(outcomes))
            self._check_manipulated(case)
            payload = {"kind": case.kind, "trials": len(outcomes), "stopped": False}
            return CaseResult(dumps(payload), None)
        analysis, digest = self.analysis(case)
        facts: dict[str, object] = {
            "kind": case.kind,
            "experiment": case.experiment.id,
            "model": case.model,
            "analysis": digest,
        }
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
        tolerated = beside.words if stopped is not None and beside.accepted else ""
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

    def missing(self, case: Case) -> NotRecorded | None:
        """Why a case cannot be replayed, if recordings are missing; looks without its body."""
        try:
            self.replayed(case)
        except NotRecorded as missing:
            return missing
        except BiasError:
            return None
        return None
