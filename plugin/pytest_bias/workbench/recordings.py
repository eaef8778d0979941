"""Recordings as one process reads them: each cassette once, each trial replayed once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from ..cassettes.misses import not_recorded
from ..cassettes.places import cassette_path
from ..cassettes.recorded_trials import reread
from ..cassettes.staleness import dated, stale
from ..cassettes.store import Cassette
from ..contrasts.cases import Case, Recorded
from ..errors import BiasError, NotRecorded, SamePrompt, StaleRecordings
from ..experiments.checks.manipulation import find_twins
from ..experiments.design import trials_of
from ..experiments.experiment import Experiment, Players, plan_condition
from ..experiments.records import Outcome, Recording, lost_to_cap
from ..experiments.replay import Lookup, Unrecorded, Wanted
from ..providers.base import is_simulated
from ..providers.players import players_of
from ..settings.model_names import file_stem
from ..settings.published import is_tabled
from ..settings.roster import Roster, read_roster
from ..settings.settings import Settings

if TYPE_CHECKING:
    from ..experiments.design import Condition, Trial
    from ..tables.subjects import Replies, Tables


class Recordings:
    """The recordings of a session, and who speaks in them."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._players: dict[tuple[str, str], Players] = {}
        self._cassettes: dict[tuple[str, str], Cassette | BiasError] = {}
        self._outcomes: dict[tuple[str, str, str], tuple[Recorded, tuple[Wanted, ...]]] = {}
        self._held: dict[tuple[str, str, str], Outcome | Wanted] = {}
        self._twins: dict[tuple[str, str], dict[str, str]] = {}

    @cached_property
    def tables(self) -> Tables:
        """The tables of published replies."""
        from ..tables.subjects import Tables  # noqa: PLC0415  (only where a subject is in one)

        return Tables(self.roster)

    @cached_property
    def roster(self) -> Roster:
        """Models as the user knows them; BadSetting for a file that is no roster."""
        return read_roster(self.settings.roster)

    def players(self, experiment: Experiment, model: str) -> Players:
        """Return who answers in a trial of ``experiment`` with ``model`` as its subject."""
        key = (experiment.id, model)
        if key not in self._players:
            self._players[key] = (
                Players(model, self.tables.of(experiment, model).entry.judge)
                if is_tabled(model)
                else players_of(experiment, model, self.settings, self.roster)
            )
        return self._players[key]

    def forget(self) -> None:
        """Read every cassette anew: they have been recorded into."""
        self._cassettes.clear()
        self._outcomes.clear()
        self._held.clear()
        self._twins.clear()

    def cassette(self, case: Case) -> Cassette:
        """The cassette of a case, loaded once per process, be it to no avail."""
        key = (case.experiment.id, case.model)
        if key not in self._cassettes:
            try:
                self._cassettes[key] = Cassette(cassette_path(self.settings.cassettes, *key))
            except BiasError as error:
                self._cassettes[key] = error.with_traceback(None)
        found = self._cassettes[key]
        if isinstance(found, BiasError):
            raise found.with_traceback(None)
        return found

    def published(self, case: Case) -> Replies | None:
        """The published replies a case is about; None where it is about a recording of ours.

        Raises NotCovered when its subject is published, with nothing of the case's experiment.
        """
        return self.tables.of(case.experiment, case.model) if is_tabled(case.model) else None

    def is_there(self, case: Case) -> bool:
        """Return whether there is any reply of a case's model to its experiment."""
        if is_tabled(case.model):
            return self.tables.covers(case.experiment, case.model)
        return self.cassette(case).exists

    def sized(self, case: Case) -> Case:
        """``case`` with its design; of published replies it is as large as they are."""
        if not is_tabled(case.model) or not self.is_there(case):
            return case
        return replace(case, design=self.tables.of(case.experiment, case.model).design)

    def source(self, case: Case) -> str:
        """Words on how others published a case's replies; empty where we recorded them."""
        found = self.published(case)
        return found.source if found is not None else ""

    def place(self, case: Case) -> str:
        """Where a case's replies stand, in words."""
        found = self.published(case)
        return found.place if found is not None else f"cassette: {self.cassette(case).path}"

    def lookup(self, case: Case) -> Lookup | None:
        """The replies of a case's cassette by key; None where no text is kept."""
        return self.cassette(case).lookup if case.experiment.retention == "raw" else None

    def replayed(self, case: Case) -> Recorded:
        """The outcomes of a case's trials, in the plan's order.

        Raises NotRecorded when any of them is not recorded; all that are missing are named at
        once. Raises DamagedCassette when the cassette is not what was written.
        """
        found = self.published(case)
        if found is not None:
            return found.of(case.condition)
        outcomes, misses = self.known(case)
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

    def known(self, case: Case) -> tuple[Recorded, tuple[Wanted, ...]]:
        """The outcomes of what is recorded of a case, and the first miss of each other trial."""
        whole = case.experiment.conditions_of(case.design)
        conditions = whole if case.condition is None else [case.condition]
        parts = [self._replayed(case, condition) for condition in conditions]
        outcomes = tuple(outcome for found, _ in parts for outcome in found)
        return outcomes, tuple(wanted for _, missing in parts for wanted in missing)

    def _replayed(self, case: Case, condition: Condition) -> tuple[Recorded, tuple[Wanted, ...]]:
        """Outcomes of one condition, and the first miss of each trial that has one; done once."""
        key = (case.experiment.id, case.model, condition.id)
        if key not in self._outcomes:
            trials = plan_condition(case.experiment, case.design, condition)
            found = [self._replay(case, trial) for trial in trials]
            self._outcomes[key] = (
                tuple(each for each in found if isinstance(each, Outcome)),
                tuple(each for each in found if isinstance(each, Wanted)),
            )
        return self._outcomes[key]

    def _replay(self, case: Case, trial: Trial) -> Outcome | Wanted:
        """The outcome of a trial, or the first interaction that is missing; kept for twins."""
        key = (case.experiment.id, case.model, trial.id)
        if key not in self._held:
            cassette, players = self.cassette(case), self.players(case.experiment, case.model)
            try:
                self._held[key] = reread(case.experiment, players, trial, cassette)
            except Unrecorded as missing:
                lost = trial.id in cassette.lost
                self._held[key] = lost_to_cap(trial) if lost else missing.wanted
        return self._held[key]

    def check_manipulated(self, case: Case) -> None:
        """Raise SamePrompt when two conditions tell the subject the very same.

        Of a condition's case, when another condition tells what its own does.
        """
        if is_tabled(case.model):
            return  # nobody knows what it was told
        key = (case.experiment.id, case.model)
        if key not in self._twins:
            self._twins[key] = self._find_twins(case)
        twins = self._twins[key]
        one = next(iter(twins), "") if case.condition is None else case.condition.id
        if one in twins:
            pair = one, twins[one]
            raise SamePrompt(
                experiment=case.experiment.id, conditions=pair, item=None, exemplars=((), ())
            )

    def _find_twins(self, case: Case) -> dict[str, str]:
        """Condition → another in which the subject is told the very same."""

        def told(condition: Condition) -> Iterator[Outcome | None]:
            of = case.experiment
            for trial in trials_of(condition, of.factors, of.items, case.design):
                found = self._replay(case, trial)
                yield found if isinstance(found, Outcome) else None

        return find_twins(case.experiment.conditions_of(case.design), told)

    def recording(self, case: Case) -> Recording:
        """Return where the replies to a case's experiment come from."""
        found = self.published(case)
        if found is not None:
            return dated(found.recording, (at for each in found.outcomes for at in each.origins))
        cassette = self.cassette(case)
        provenance = cassette.provenance
        players = self.players(case.experiment, case.model)
        return Recording(
            cassette=f"{case.experiment.id}/{file_stem(case.model)}",  # the same on every machine
            checksum=cassette.checksum,
            simulated=provenance.simulated or is_simulated(case.model),
            wire=provenance.wire,
            recorded_with=provenance.recorded_with,
            judge=players.judge,
            asked=case.experiment.asked_with(players),
            config=case.experiment.config_of(players),
            dropped=cassette.dropped,
            retention=case.experiment.retention,
            interactions=cassette.calls,
            interrupted=cassette.interrupted,
        )

    def stale(
        self, case: Case, recording: Recording, *, ages: bool = True
    ) -> StaleRecordings | None:
        """Return why what a case rests on represents its model no longer; None where it does.

        Without ``ages`` it may be however old, as that of a model that others are held against.
        """
        return stale(
            case.experiment.id,
            case.model,
            recording,
            cassette=self.place(case),
            roster=self.roster,
            max_age=self.settings.max_age if ages else None,
            today=self.settings.today if ages else "",
        )

    def missing(self, case: Case) -> NotRecorded | None:
        """Return why a case cannot be replayed, if recordings are missing; runs no body."""
        try:
            self.replayed(case)
        except NotRecorded as missing:
            return missing
        except BiasError:
            return None
        return None
