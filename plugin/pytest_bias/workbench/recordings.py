"""Recorded replies: each cassette read once, each trial replayed once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, cast

from ..cassettes.misses import not_recorded
from ..cassettes.recorded_trials import reread
from ..cassettes.staleness import stale
from ..cassettes.store import Cassette, cassette_path
from ..errors import BiasError, NotRecorded, StaleRecordings
from ..experiments.checks.manipulation import find_twins, same_prompt
from ..experiments.design import trials_of
from ..experiments.experiment import Experiment, ModelRoles, plan_condition
from ..experiments.records import Exchange, Outcome, Recording, missing_by_cap
from ..experiments.replay import Lookup, PendingRequest, Unrecorded
from ..providers.base import is_simulated
from ..providers.roles import roles_of
from ..settings.model_names import file_stem
from ..settings.roster import Roster, is_tabled, read_roster
from ..settings.settings import Settings

if TYPE_CHECKING:
    from ..contrasts.cases import Case
    from ..experiments.design import Condition, Design, Trial
    from ..experiments.source import ReplySource
    from ..tables.declared import Tables


class _CassetteSource:
    """The replies of a model to an experiment in their cassette, which is read when needed."""

    prompts_from = ""
    undecided: Mapping[str, str] = {}

    def __init__(
        self, experiment: Experiment, model: str, settings: Settings, roster: Roster
    ) -> None:
        self._of, self._model = experiment, model
        self._settings, self._roster = settings, roster
        self._cassette: Cassette | BiasError | None = None
        self._trials: dict[str, Outcome | PendingRequest] = {}
        self._identical: dict[Design, dict[str, str]] = {}

    @cached_property
    def roles(self) -> ModelRoles:
        return roles_of(self._of, self._model, self._settings, self._roster)

    @property
    def cassette(self) -> Cassette:
        """The cassette, read once, even if that fails."""
        if self._cassette is None:
            try:
                folder = self._settings.cassettes
                self._cassette = Cassette(cassette_path(folder, self._of.id, self._model))
            except BiasError as error:
                self._cassette = error
        if isinstance(self._cassette, BiasError):
            raise self._cassette.with_traceback(None)
        return self._cassette

    @property
    def exists(self) -> bool:
        return self.cassette.exists

    @property
    def location(self) -> str:
        return f"cassette: {self.cassette.path}"

    @property
    def lookup(self) -> Lookup | None:
        return self.cassette.lookup if self._of.retention == "raw" else None

    @property
    def recording(self) -> Recording:
        cassette = self.cassette
        provenance = cassette.provenance
        return Recording(
            cassette=f"{self._of.id}/{file_stem(self._model)}",  # the same on every machine
            checksum=cassette.checksum,
            simulated=provenance.simulated or is_simulated(self._model),
            wire=provenance.wire,
            recorded_with=provenance.recorded_with,
            judge=self.roles.judge,
            parameters=self._of.parameters_text(self.roles),
            config=self._of.config_of(self.roles),
            dropped=cassette.dropped,
            retention=self._of.retention,
            interactions=cassette.calls,
            interrupted=cassette.interrupted,
        )

    @property
    def exchanges(self) -> Iterator[Exchange]:
        """Each reply with the time it was recorded."""
        for interaction in self.cassette.interactions():
            yield Exchange(to="subject", recorded_at=interaction.completion.recorded_at)
        for trial in self.cassette.measured_trials():
            for call in trial.calls:
                yield Exchange(to="subject", recorded_at=cast("str | None", call["recorded_at"]))

    def sized(self, design: Design) -> Design:
        return design

    def known(
        self, design: Design, condition: Condition | None = None
    ) -> tuple[tuple[Outcome, ...], tuple[PendingRequest, ...]]:
        conditions = self._of.conditions_of(design) if condition is None else [condition]
        trials = [each for of in conditions for each in plan_condition(self._of, design, of)]
        replayed = [self._replayed(trial) for trial in trials]
        return (
            tuple(each for each in replayed if isinstance(each, Outcome)),
            tuple(each for each in replayed if isinstance(each, PendingRequest)),
        )

    def outcomes_of(
        self, design: Design, condition: Condition | None = None
    ) -> tuple[Outcome, ...]:
        outcomes, misses = self.known(design, condition)
        if misses:
            raise not_recorded(
                experiment_id=self._of.id,
                model=self._model,
                cassette=self.cassette,
                misses=misses,
                planned=len(misses) + len(outcomes),
                tried=self._settings.record != "none",
            )
        return outcomes

    def check_distinct(self, design: Design, condition: Condition | None = None) -> None:
        if design not in self._identical:
            self._identical[design] = self._find_identical(design)
        identical = self._identical[design]
        one = next(iter(identical), "") if condition is None else condition.id
        if one in identical:
            raise same_prompt(self._of.id, (one, identical[one]))

    def _find_identical(self, design: Design) -> dict[str, str]:
        of = self._of
        plan = {
            condition.id: [*trials_of(condition, of.factors, of.items, design)]
            for condition in of.conditions_of(design)
        }
        first = {name: [self._outcome(trials[0])] for name, trials in plan.items()}
        if all(each is None or not each.missing for (each,) in first.values()):
            return find_twins(first)
        return find_twins({name: [*map(self._outcome, trials)] for name, trials in plan.items()})

    def _outcome(self, trial: Trial) -> Outcome | None:
        replayed = self._replayed(trial)
        return replayed if isinstance(replayed, Outcome) else None

    def _replayed(self, trial: Trial) -> Outcome | PendingRequest:
        """The outcome of a trial, or the first interaction that is missing."""
        if trial.id not in self._trials:
            cassette = self.cassette
            try:
                self._trials[trial.id] = reread(self._of, self.roles, trial, cassette)
            except Unrecorded as missing:
                lost = trial.id in cassette.lost
                self._trials[trial.id] = missing_by_cap(trial) if lost else missing.pending
        return self._trials[trial.id]


class Recordings:
    """The sources of a session's replies, by experiment and model."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._sources: dict[tuple[str, str], ReplySource] = {}

    @cached_property
    def tables(self) -> Tables:
        """The tables that the roster declares."""
        from ..tables.declared import Tables  # noqa: PLC0415  (only where a subject is in one)

        return Tables(self.roster)

    @cached_property
    def roster(self) -> Roster:
        """Models as the user knows them; BadSetting for a file that is no roster."""
        return read_roster(self.settings.roster)

    def source(self, experiment: Experiment, model: str) -> ReplySource:
        """The source of the replies of ``model`` to ``experiment``; nothing is read here.

        Raises NotRecorded when the model is one of a table that holds no reply to the experiment.
        """
        key = (experiment.id, model)
        if key not in self._sources:
            self._sources[key] = (
                self.tables.of(experiment, model)
                if is_tabled(model)
                else _CassetteSource(experiment, model, self.settings, self.roster)
            )
        return self._sources[key]

    def source_of(self, case: Case) -> ReplySource:
        """The source of a case's replies."""
        return self.source(case.experiment, case.model)

    def roles(self, experiment: Experiment, model: str) -> ModelRoles:
        """The model and the judge of a trial of ``experiment`` with ``model``."""
        return self.source(experiment, model).roles

    def forget(self) -> None:
        """Read every cassette anew: they have been recorded into."""
        self._sources.clear()

    def is_there(self, case: Case) -> bool:
        """True if there is any reply of a case's model to its experiment."""
        try:
            return self.source_of(case).exists
        except NotRecorded:
            return False

    def sized(self, case: Case) -> Case:
        """``case`` with its design; of a table it is as large as the table."""
        try:
            return replace(case, design=self.source_of(case).sized(case.design))
        except NotRecorded:
            return case

    def replayed(self, case: Case) -> tuple[Outcome, ...]:
        """The outcomes of a case's trials; see :meth:`.ReplySource.outcomes_of`."""
        return self.source_of(case).outcomes_of(case.design, case.condition)

    def missing(self, case: Case) -> NotRecorded | None:
        """The refusal of a case whose replies are missing; None where it can be replayed."""
        try:
            self.replayed(case)
        except NotRecorded as missing:
            return missing
        except BiasError:
            return None
        return None

    def stale(
        self, case: Case, recording: Recording, *, ages: bool = True
    ) -> StaleRecordings | None:
        """The refusal of a recording that no longer represents its model; None where it does.

        Without ``ages`` it may be of any age, as that of the old model of an upgrade.
        """
        return stale(
            case.experiment.id,
            case.model,
            recording,
            cassette=self.source_of(case).location,
            roster=self.roster,
            max_age=self.settings.max_age if ages else None,
            today=self.settings.today if ages else "",
        )
