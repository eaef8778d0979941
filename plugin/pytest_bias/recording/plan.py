"""The plan of a recording, as data: calls, tokens, money, minutes. Calls nothing, needs no key.

What is recorded is counted; what is not is estimated (:mod:`.estimate`).
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass
from functools import partial
from pathlib import Path

from ..cassettes.files import refuse_links
from ..cassettes.recorded_trials import measured_in
from ..cassettes.store import Cassette, cassette_path, journals_of, packed_path
from ..contrasts.power import Prospect, passes
from ..errors import BiasError
from ..experiments.canonical import plain
from ..experiments.design import Design, Trial, frozen_mapping
from ..experiments.experiment import Experiment, ModelRoles, plan_all
from ..providers.base import is_simulated
from ..providers.destinations import destinations
from ..settings.model_names import file_stem
from ..settings.roster import Roster
from ..settings.settings import Limits, RecordMode
from .estimate import (
    NO_USE,
    Calls,
    CostEstimate,
    Mark,
    Use,
    measured_use,
    rest_of,
    total,
    use_of_reply,
    use_of_trial,
    walked,
    whole_calls,
    worst,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanCounts:
    """Trials of a plan, the calls of subject and judge still to be made, what they take.

    ``cost`` is in US dollars, without that of ``unpriced`` models, which have no price in the
    roster (None where nothing else is left), ``minutes`` the shortest time that the limits allow
    (None without limits). ``mark`` is what these rest on.
    """

    trials: int
    recorded_trials: int
    missing_trials: int
    subject: Calls
    judge: Calls
    cost: float | None
    unpriced: tuple[str, ...]
    minutes: float | None
    mark: Mark


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanRow(PlanCounts):
    """The plan of recording one experiment with one model.

    ``prospects`` say what the design gives each hypothesis, ``passes`` are the chances that a
    model without bias passes, with all replies and with 5 % missing (None: not known).
    """

    experiment: str
    model: str
    design: str
    cassette: str
    simulated: bool
    judge_model: str | None
    estimate: CostEstimate
    prospects: tuple[Prospect, ...] = ()
    passes: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordingPlan:
    """The plan of a recording; ``problems`` name what could not be planned, and why.

    ``mode`` is what ``--bias-record`` would be; ``max_calls`` and ``budget`` (US dollars) are the
    caps that would stop the recording; ``endpoints`` say which host is sent which key.
    """

    mode: RecordMode
    rows: tuple[PlanRow, ...]
    totals: PlanCounts
    problems: tuple[str, ...]
    max_calls: int | None
    budget: float | None
    endpoints: tuple[str, ...] = ()
    version: int = 1

    def to_json(self) -> str:
        """The plan as indented JSON text, the same for the same plan."""
        return json.dumps(plain(self, "plan"), sort_keys=True, indent=1)


def totals_of(rows: Sequence[PlanRow]) -> PlanCounts:
    """The sums over ``rows``: models are recorded side by side, the experiments of one in turn."""
    costs = [row.cost for row in rows if row.cost is not None]
    minutes: dict[str, float] = {}
    for row in rows:
        minutes[row.model] = minutes.get(row.model, 0.0) + (row.minutes or 0.0)
    unpriced = tuple(dict.fromkeys(model for row in rows for model in row.unpriced))
    return PlanCounts(
        trials=sum(row.trials for row in rows),
        recorded_trials=sum(row.recorded_trials for row in rows),
        missing_trials=sum(row.missing_trials for row in rows),
        subject=_sum_of(row.subject for row in rows),
        judge=_sum_of(row.judge for row in rows),
        cost=None if unpriced and not any(costs) else math.fsum(costs),
        unpriced=unpriced,
        minutes=None
        if any(row.minutes is None for row in rows)
        else max(minutes.values(), default=0.0),
        mark=worst(row.estimate.mark for row in rows),
    )


def _sum_of(calls: Iterable[Calls]) -> Calls:
    return Calls(*map(sum, zip(*map(astuple, calls), strict=True)))


RolesOf = Callable[[Experiment, str], ModelRoles]
"""From an experiment and ``provider/model`` to who answers in its trials."""


@dataclass(frozen=True, slots=True)
class PlanJob:
    """Trials of one experiment that are wanted of one model under one design."""

    experiment: Experiment
    model: str
    design: Design
    trials: Sequence[Trial]
    prospects: tuple[Prospect, ...] = ()
    problem: str = ""


def plan_recording(
    jobs: Iterable[PlanJob],
    *,
    folder: Path,
    roster: Roster,
    limits: Limits,
    mode: RecordMode,
    roles_of: RolesOf,
    environ: Mapping[str, str] = frozen_mapping({}),
) -> RecordingPlan:
    """Plan to record ``jobs`` into ``folder``; damage becomes a problem of the plan."""
    planner = _Planner(folder, roster, limits, mode, roles_of)
    rows: list[PlanRow] = []
    problems: list[str] = []
    for job in jobs:
        if job.problem:
            problems.append(f"{job.experiment.id} × {job.model}: {job.problem}")
        try:
            rows.append(planner.row(job))
        except BiasError as error:
            problems.append(f"{job.experiment.id} × {job.model}: {error}")
        except OSError as error:
            problems.append(f"{job.experiment.id} × {job.model}: {error.strerror or error}")
    return RecordingPlan(
        mode=mode,
        rows=tuple(rows),
        totals=totals_of(rows),
        problems=tuple(problems),
        max_calls=limits.max_calls,
        budget=limits.budget,
        endpoints=destinations(
            (m for r in rows for m in (r.model, r.judge_model) if m), roster, environ
        ),
    )


def recorded_use(
    experiment: Experiment, roles: ModelRoles, trial: Trial, cassette: Cassette, *, anew: bool
) -> tuple[Use, bool]:
    """The use of what ``cassette`` has of ``trial``, and whether that is all of it.

    ``anew``: of what the recording that goes on has stored. Raises FileProblem where text stands
    that may not.
    """
    if experiment.retention != "raw":
        measured = measured_in(experiment, roles, trial, cassette, anew=anew)
        return (NO_USE, False) if measured is None else (measured_use(measured), True)
    lookup = cassette.lookup_new if anew else cassette.lookup
    walk = walked(experiment, roles, trial, lambda wanted: lookup(wanted.key))
    return total(use_of_reply(*each) for each in walk.answered), walk.missing is None


@dataclass(frozen=True, slots=True)
class _Planner:
    folder: Path
    roster: Roster
    limits: Limits
    mode: RecordMode
    roles_of: RolesOf

    def row(self, job: PlanJob) -> PlanRow:
        """Plan one job."""
        experiment, model = job.experiment, job.model
        path = cassette_path(self.folder, experiment.id, model)
        cassette = Cassette(path, anew=self.mode == "all")
        roles = self.roles_of(experiment, model)
        trials = plan_all(experiment, job.design) if cassette.exists else ()
        found = {t.id: recorded_use(experiment, roles, t, cassette, anew=False) for t in trials}
        stored = found
        if self.mode == "all":
            stored = {
                t.id: recorded_use(experiment, roles, t, cassette, anew=True) for t in trials
            }
        missing = [t for t in job.trials if not stored.get(t.id, (NO_USE, False))[1]]
        estimate = CostEstimate("exact", "nothing to record")
        use = NO_USE
        if missing:
            refuse_links(path, packed_path(path), *journals_of(path))
            complete = [each for each, is_whole in found.values() if is_whole]
            estimate, per_trial = use_of_trial(
                experiment, missing, complete, roles, path, partial(self.roles_of, experiment)
            )
            done = (stored.get(trial.id, (NO_USE, False))[0] for trial in missing)
            use = total(rest_of(per_trial, each) for each in done)
        subject, judge = whole_calls(use)
        calls = {roles.subject: subject}
        if roles.judge is not None and judge.calls:  # a judge may be the subject itself
            calls[roles.judge] = _sum_of([calls.get(roles.judge, Calls()), judge])
        unpriced = tuple(
            name
            for name, each in calls.items()
            if each.calls and self.roster.entry(name).price is None and not is_simulated(name)
        )
        return PlanRow(
            experiment=experiment.id,
            model=model,
            design=job.design.name,
            cassette=f"{experiment.id}/{file_stem(model)}",
            simulated=is_simulated(model),
            trials=len(job.trials),
            recorded_trials=len(job.trials) - len(missing),
            missing_trials=len(missing),
            subject=subject,
            judge=judge,
            judge_model=roles.judge,
            cost=None if unpriced else self._cost(calls),
            unpriced=unpriced,
            minutes=self._minutes(experiment, calls),
            mark=estimate.mark,
            estimate=estimate,
            prospects=job.prospects,
            passes=passes(job.prospects) if job.prospects else None,
        )

    def _cost(self, calls: Mapping[str, Calls]) -> float:
        prices = ((self.roster.entry(name).price, each) for name, each in calls.items())
        return sum(
            (p.cost(each.input_tokens, each.output_tokens) for p, each in prices if p is not None),
            0.0,
        )

    def _minutes(self, experiment: Experiment, calls: Mapping[str, Calls]) -> float | None:
        """The longest that the limits of any model make the job take."""
        if not any(each.calls for each in calls.values()):
            return 0.0
        times = []
        for model, each in calls.items():
            entry = self.roster.entry(model)
            limits = (self.limits.qpm or experiment.qpm, entry.requests_per_minute)
            requests = min((limit for limit in limits if limit is not None), default=None)
            tokens = each.input_tokens + each.output_tokens
            times += [each.calls / requests] if requests else []
            times += [tokens / entry.tokens_per_minute] if entry.tokens_per_minute else []
        return max(times, default=None)
