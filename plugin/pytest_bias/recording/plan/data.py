"""The plan of a recording as data."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass

from ...contrasts.power import Prospect
from ...experiments.canonical import plain
from ...settings.settings import RecordMode
from .estimate import Estimate, Mark, worst
from .use import Calls, Use, total

FORMAT = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanCounts:
    """Trials and interactions of a plan, and what is still to be called.

    ``recorded_trials`` need no call, ``recorded_interactions`` are those of the planned trials;
    ``subject`` and ``judge`` are the calls still to be made of each, in whole numbers;
    ``stale_interactions`` stand in the cassette and no design of the experiment asks for them.
    """

    trials: int
    recorded_trials: int
    missing_trials: int
    recorded_interactions: int
    stale_interactions: int
    subject: Calls
    judge: Calls


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanRow(PlanCounts):
    """The plan of recording one experiment with one model.

    ``cost`` is in US dollars (None where one of the ``unpriced`` models has no price in the
    roster), ``unbounded`` is whether no limit of a reply's tokens bounds it, ``minutes`` the
    shortest time the limits allow (None without limits). ``estimate`` says what these rest on.
    ``prospects`` say what the design gives each hypothesis, ``outdated`` why what is recorded no
    longer represents the model (empty where it does).
    """

    experiment: str
    model: str
    design: str
    cassette: str
    simulated: bool
    unpinned: bool
    unfinished: bool
    judge_model: str | None
    cost: float | None
    unpriced: tuple[str, ...]
    unbounded: bool
    minutes: float | None
    estimate: Estimate
    prospects: tuple[Prospect, ...] = ()
    outdated: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanTotals(PlanCounts):
    """Sums over rows; models are recorded side by side, the experiments of one model in turn.

    ``cost`` leaves out rows of ``unpriced`` models, ``minutes`` rows of ``unlimited`` ones;
    ``unbounded`` names experiments with models that a budget refuses.
    """

    cost: float | None
    unpriced: tuple[str, ...]
    unbounded: tuple[str, ...]
    minutes: float | None
    unlimited: tuple[str, ...]
    mark: Mark


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordingPlan:
    """The plan of a recording; ``problems`` name what could not be planned, and why.

    ``mode`` is what ``--bias-record`` would be; ``max_calls`` and ``budget`` (US dollars) are the
    caps that would stop the recording.
    """

    version: int
    mode: RecordMode
    rows: tuple[PlanRow, ...]
    totals: PlanTotals
    problems: tuple[str, ...]
    max_calls: int | None
    budget: float | None

    def to_json(self) -> str:
        """The plan as indented JSON text, the same for the same plan."""
        value = plain(self, "plan")
        return f"{json.dumps(value, sort_keys=True, indent=1, ensure_ascii=True)}\n"


def totals_of(rows: Sequence[PlanRow]) -> PlanTotals:
    """The sums over ``rows``."""
    costs = [row.cost for row in rows if row.cost is not None]
    minutes: dict[str, float] = {}
    for row in rows:
        if row.minutes is not None:
            minutes[row.model] = minutes.get(row.model, 0.0) + row.minutes
    unpriced = tuple(dict.fromkeys(model for row in rows for model in row.unpriced))
    unlimited = tuple(dict.fromkeys(row.model for row in rows if row.minutes is None))
    use = total(Use(row.subject, row.judge) for row in rows).whole()
    return PlanTotals(
        trials=sum(row.trials for row in rows),
        recorded_trials=sum(row.recorded_trials for row in rows),
        missing_trials=sum(row.missing_trials for row in rows),
        recorded_interactions=sum(row.recorded_interactions for row in rows),
        stale_interactions=sum(row.stale_interactions for row in rows),
        subject=use.subject,
        judge=use.judge,
        cost=None if unpriced and not any(costs) else math.fsum(costs),
        unpriced=unpriced,
        unbounded=tuple(f"{row.experiment} × {row.model}" for row in rows if row.unbounded),
        minutes=None
        if unlimited and not any(minutes.values())
        else max(minutes.values(), default=0.0),
        unlimited=unlimited,
        mark=worst(row.estimate.mark for row in rows),
    )
