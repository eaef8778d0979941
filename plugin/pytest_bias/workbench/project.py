"""A suite's experiments and the replies of models to them: the project that all faces stand on."""

from __future__ import annotations

import shlex
import sys
from dataclasses import replace
from functools import cache, cached_property, partial
from os.path import relpath
from typing import TYPE_CHECKING

from ..cassettes.misses import all_capped
from ..cassettes.servers import servers_of
from ..cassettes.staleness import copied_text, cut_text, dated, long_replies
from ..contrasts.cases import Case, Registry
from ..errors import BadSetting, NotRecorded
from ..experiments.experiment import plan
from ..experiments.records import Records, carried_out, records_of
from ..providers.roles import check_models
from ..settings.options import OPTIONS
from ..settings.roster import is_tabled
from ..settings.settings import Settings
from ..stats.results import Allocation
from ..verdicts.analysis import Analysis, analyse, gating_families
from .recordings import Recordings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from ..experiments.records import Outcome
    from ..report.replies import TrialBlock
    from ..verdicts.judge_agreement import Labels

_LEFT_OUT = (None, OPTIONS["design"].default, OPTIONS["cassettes"].default)
"""Values that a command need not name."""

_SAMPLED = 100
"""Trials from which the cost of a replicate is estimated."""

_LEAST_PART = 5e-5
"""The smallest α of an experiment: below it almost nothing could be BIASED."""


def divided(alpha: float, number: int, parts: Mapping[str, float | None]) -> dict[str, float]:
    """The share of ``alpha`` that each experiment has: of its own part, or else 1 / ``number``.

    Raises BadSetting for more experiments than ``number``, and parts that do not fit.
    """
    alphas = {name: alpha / number if part is None else part for name, part in parts.items()}
    if len(alphas) > number:
        problem = f"the suite has {len(alphas)}: {', '.join(sorted(alphas))}; set it to that many"
        problem += " in the ini file"
        raise BadSetting(option="bias_experiments", value=number, problem=problem)
    least = min(alphas.values(), default=alpha)
    if sum(alphas.values()) > alpha * (1 + 1e-9) or least < _LEAST_PART * (1 - 1e-9):
        named = ", ".join(f"{name} {part:.2g}" for name, part in sorted(alphas.items()))
        problem = f"each part must be {_LEAST_PART:.5f} or more, and their sum no more than this: "
        problem += f"{named}; change Experiment(alpha=…) or bias_experiments"
        raise BadSetting(option="bias_alpha", value=f"{alpha:g}", problem=problem)
    return {name: 1 / number if parts[name] is None else alphas[name] / alpha for name in alphas}


class Project:
    """The declarations, recordings and analyses of one process."""

    def __init__(self, settings: Settings, registry: Registry | None = None) -> None:
        self.settings = settings
        self.recordings = Recordings(settings)
        check_models(settings, self.recordings.roster, settings.models)
        if any(map(is_tabled, (*settings.models, settings.baseline or ""))):
            self.recordings.tables.check(settings)
        self.registry = registry or Registry()
        self.cases: list[Case] = []
        """One for each experiment and model that were chosen, without pytest."""
        self._analyses: dict[tuple[str, str], Analysis | NotRecorded] = {}
        self._records: dict[tuple[str, str], Records] = {}

    def outcomes(self, case: Case) -> tuple[Outcome, ...]:
        """The outcomes of a case's trials, some of each of its conditions carried out.

        Raises NotRecorded when one is not recorded, or a cap has cost a condition all of them.
        Raises BadDesign when the prompts of two conditions are identical.
        """
        experiment, outcomes = case.experiment, self.recordings.replayed(case)
        conditions = experiment.conditions_of(case.design)
        for condition in conditions if case.condition is None else [case.condition]:
            of = [each for each in outcomes if each.trial.condition.id == condition.id]
            if (of or case.condition) and not carried_out(of):
                raise all_capped(experiment.id, case.model, condition, len(of))
        self.recordings.source_of(case).check_distinct(case.design, case.condition)
        return outcomes

    def analysed(self, case: Case) -> Analysis:
        """The analysis of a case's experiment with its model, made once.

        Raises BadDesign when the prompts of two conditions are identical, and NotRecorded, worked
        out once as well, when a trial is not recorded.
        """
        key = (case.experiment.id, case.model)
        if key not in self._analyses:
            try:
                self._analyses[key] = self._analysis(case)
            except NotRecorded as missing:
                self._analyses[key] = missing
        analysis = self._analyses[key]
        if isinstance(analysis, NotRecorded):
            raise analysis.with_traceback(None)
        return analysis

    def forget(self) -> None:
        """Read every cassette anew: they have been recorded into."""
        self.recordings.forget()
        self._analyses.clear()
        self._records.clear()

    def records(self, case: Case) -> Records:
        """The rows of all trials of a case's experiment with its model, made once."""
        key = (case.experiment.id, case.model)
        if key not in self._records:
            outcomes = self.recordings.source_of(case).outcomes_of(case.design)
            measures = case.experiment.as_read(outcomes).measures
            self._records[key] = records_of(outcomes, tuple(measures))
        return self._records[key]

    def _analysis(self, case: Case) -> Analysis:
        recordings = self.recordings
        case = recordings.sized(case)  # an old model's, whatever the size of the new one's
        registered = self.registry[case.experiment.id]
        source = recordings.source_of(case)
        outcomes = source.outcomes_of(case.design)
        source.check_distinct(case.design)
        exchanges = [each for outcome in outcomes for each in outcome.exchanges]
        recording = dated(source.recording, exchanges, copied_text(outcomes), cut_text(outcomes))
        entry = recordings.roster.entry(case.model)
        servers = servers_of(outcomes, case.model, entry)
        recording = replace(recording, servers=servers.counts, mixture=servers.mixture)
        long, distinct = long_replies(outcomes)
        return analyse(
            case.experiment,
            case.design,
            case.model,
            outcomes,
            records=self.records(case),
            hypotheses=tuple(registered.hypotheses.values()),
            controls=tuple(registered.controls.values()),
            recording=replace(recording.attempted(outcomes), long_replies=long, distinct=distinct),
            labels=self._labels(case, outcomes),
            allocation=self.allocation(case.experiment.id),
            unsaid=source.undecided,
            recorded_by=partial(self._recorded_by, case, cache(partial(self._dollars, case))),
        )

    def _recorded_by(self, case: Case, dollars: Callable[[], float], replicates: int) -> str:
        """Cost and command, from the current folder, of recording a case with more replicates."""
        of, module = self.settings, sys.modules.get(self.registry[case.experiment.id].module or "")
        file = getattr(module, "__file__", None)  # a notebook has none
        options: dict[str, object] = {
            "model": case.model,
            "design": of.design,
            "judge": of.judge,
            "cassettes": relpath(of.cassettes),
            "env_file": of.env_file and relpath(of.env_file),
            "replicates": replicates,
            "record": "missing",
        }
        typed = [f"{OPTIONS[n].option}={v}" for n, v in options.items() if v not in _LEFT_OUT]
        command = shlex.join(["pytest", *([relpath(file)] if file else []), *typed])
        cost = dollars() * (replicates - case.design.replicates)
        return f", about ${cost:,.2f}: {command}" if cost else f": {command}"

    def _dollars(self, case: Case) -> float:
        """US dollars that a replicate costs, by some of its trials; 0 without a price."""
        recordings = self.recordings
        if recordings.roster.entry(case.model).price is None:
            return 0.0
        from ..recording.plan import PlanJob, plan_recording  # noqa: PLC0415  (with a price only)

        trials = plan(case.experiment, replace(case.design, controls=0))
        few = trials[:: max(1, len(trials) // _SAMPLED)]
        planned = plan_recording(
            [PlanJob(case.experiment, case.model, case.design, few)],
            folder=self.settings.cassettes,
            roster=recordings.roster,
            limits=self.settings.limits,
            mode="all",
            roles_of=recordings.roles,
        )
        cost = planned.totals.cost or 0.0
        return cost / len(few) * len(trials) / case.design.replicates

    def replies(self, case: Case) -> TrialBlock:
        """The trials of a case's experiment with its model, for the page."""
        from ..report.replies import replies_of  # noqa: PLC0415  (only where a page is written)

        case = self.recordings.sized(case)
        outcomes = self.recordings.source_of(case).outcomes_of(case.design)
        return replies_of(case.experiment, case.model, outcomes, rows=self.records(case).rows)

    def allocation(self, experiment_id: str) -> Allocation:
        """The part of the suite's α that an experiment has."""
        families = gating_families(self.registry[experiment_id].hypotheses.values())
        return Allocation(
            alarms=self.settings.alpha,
            share=self.shares[experiment_id],
            families=tuple(sorted(families)),
        )

    @cached_property
    def shares(self) -> Mapping[str, float]:
        """The share of the suite's α that each experiment has.

        Raises BadSetting where the parts of all do not fit into ``bias_alpha``.
        """
        parts = {of.experiment.id: of.experiment.alpha for of in self.registry}
        return divided(self.settings.alpha, self.settings.experiments, parts)

    def _labels(self, case: Case, outcomes: Iterable[Outcome]) -> Labels | None:
        """Human labels of an experiment with a model; BadData for a bad file."""
        folder = self.settings.labels
        if folder is None:
            return None
        from .datasets import read_labels  # noqa: PLC0415  (only where people labelled)

        keys = {each.trial.id: each.reply_key for each in outcomes}
        return read_labels(folder, case.experiment, case.design, case.model, keys)
