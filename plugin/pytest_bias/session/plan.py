"""The plan of a session's recording: from its selected cases to what it would do."""

from __future__ import annotations

from collections.abc import Iterable

from ..contrasts.cases import Case, wanted_of
from ..contrasts.power import Prospect, prospect_of
from ..errors import BiasError
from ..recording.plan.data import RecordingPlan
from ..recording.plan.planner import PlanJob, plan_recording
from .outdated import why_outdated
from .run import Run


def make_plan(run: Run, cases: Iterable[Case]) -> RecordingPlan:
    """Plan what recording the selected ``cases`` would do.

    Raises
    ------
    BadSetting
        When the roster is none.
    """
    settings = run.settings
    return plan_recording(
        [
            PlanJob(case.experiment, case.model, case.design, trials, *_prospects(run, case))
            for case, trials in wanted_of(cases)
        ],
        folder=settings.cassettes,
        roster=run.roster,
        limits=settings.limits,
        mode="all" if settings.record == "all" else "missing",
        players_of=run.players,
    )


def _prospects(run: Run, case: Case) -> tuple[tuple[Prospect, ...], str, tuple[str, ...]]:
    """Return what the design gives each hypothesis, at the spread that is recorded where any is.

    And why its trials cannot be carried out, where the author's own code fails; and why what is
    recorded of them no longer represents the model.
    """
    experiment = case.experiment
    problem = ""
    registered = run.registry[experiment.id]
    hypotheses, controlled = registered.hypotheses, registered.control is not None
    try:
        found = {verdict.id: verdict.finding for verdict in run.analysis(case)[0].verdicts}
    except BiasError:
        found = {}  # not recorded, or not as a whole: the plan says what of it
    except Exception as error:  # noqa: BLE001  (the author's code: its cases show the traceback)
        found = {}
        problem = f"its protocol fails with {type(error).__name__}: {error}"
    prospects = tuple(
        prospect_of(hypothesis, experiment, case.design, found.get(name), controlled=controlled)
        for name, hypothesis in sorted(hypotheses.items())
    )
    return prospects, problem, why_outdated(run, case)
