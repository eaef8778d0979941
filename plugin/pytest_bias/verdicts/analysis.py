"""Analysis of one experiment with one model: outcomes to records, findings and verdicts."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import cast

from ..contrasts.declared import Hypothesis, PositiveControl
from ..contrasts.estimate import (
    ALPHA,
    CategorySummary,
    Estimate,
    MeasureSummary,
    PublishedColumn,
)
from ..contrasts.layout import items_of, names_of
from ..errors import NoFinding
from ..experiments.design import Design, Trial, frozen_mapping
from ..experiments.experiment import Experiment
from ..experiments.figures import Illustration
from ..experiments.records import (
    CellCount,
    Outcome,
    Recording,
    Records,
    known_sum,
    records_of,
)
from ..stats.results import Allocation, Interval
from .controls import NOT_ASKED, judged_control, validation_of, with_needed
from .decide import clears, decide, is_shown, rejection_interval
from .judge_agreement import (
    AgreementResult,
    Labels,
    agreement_with_itself,
    agreement_with_people,
    with_errors,
    withheld,
)
from .verdict import Control, Reason, Verdict
from .wording import (
    INVALID_STEP,
    estimated,
    reason_sentence,
    replicates_step,
    units_step,
    verdict_text,
)

NONE = Records(())
"""The records of a condition that has none."""

_BY_REPLICATES = (Reason.UNDECIDED, Reason.TOO_FEW_TO_CLEAR)
"""Reasons that more replicates mend."""

_MOST_TIMES = 10
"""So many times the replicates that were recorded are worth recording, and no more."""

_HARDLY = "even ten times as many replicates would hardly decide it"

_TOLERATED_CUT = 0.05
"""Share of a condition's replies that the limit may end before nothing is cleared."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Analysis:
    """All that one experiment with one model gave."""

    experiment: str
    name: str
    source: str
    metadata: Mapping[str, object]
    model: str
    simulated: bool
    design: str
    replicates: int
    trials: int
    recording: Recording
    counts: tuple[CellCount, ...]
    numbers: tuple[MeasureSummary, ...] = field(repr=False)
    categories: tuple[CategorySummary, ...] = field(repr=False)
    controls: tuple[Control, ...]
    verdicts: tuple[Verdict, ...]
    figures: tuple[Illustration, ...] = field(default=(), repr=False)
    agreements: tuple[AgreementResult, ...] = ()
    allocation: Allocation = field(default_factory=Allocation)

    def __post_init__(self) -> None:
        object.__setattr__(self, "metadata", frozen_mapping(self.metadata))

    def verdict(self, hypothesis_id: str) -> Verdict:
        """Return the verdict of the hypothesis with that id; KeyError if it was not analysed."""
        return {verdict.id: verdict for verdict in self.verdicts}[hypothesis_id]

    def control(self, contrast_id: str) -> Control:
        """Return the positive control with that id; KeyError if there is none."""
        return {control.id: control for control in self.controls}[contrast_id]

    @property
    def not_seen(self) -> tuple[Control, ...]:
        """Return the positive controls that were asked for and needed, and not seen."""
        return tuple(c for c in self.controls if c.recorded and c.needed and not c.seen)


@contextmanager
def _one_thread() -> Iterator[None]:
    """Have numpy's linear algebra work in this thread alone; as a decorator, during a function.

    Products of the small tables here take many times as long on several threads as on one, and
    how they are split over threads changes their last bits: one gives the same result everywhere.
    """
    import numpy as np  # noqa: F401, PLC0415  (only what is loaded can be limited)
    import threadpoolctl  # type: ignore[import-untyped, unused-ignore] # noqa: PLC0415

    with threadpoolctl.threadpool_limits(1, user_api="blas"):
        yield


@_one_thread()
def analyse(  # noqa: PLR0913  (what is analysed, by what, and under whose budget)
    experiment: Experiment,
    design: Design,
    model: str,
    outcomes: Iterable[Outcome],
    *,
    hypotheses: Sequence[Hypothesis],
    controls: Sequence[PositiveControl],
    recording: Recording,
    records: Records | None = None,
    labels: Labels | None = None,
    allocation: Allocation | None = None,
    unsaid: Mapping[str, str] = frozen_mapping({}),
    recorded_by: Callable[[int], str] = ": --bias-replicates={}".format,
) -> Analysis:
    """Analyse ``outcomes``, one per planned trial, in the plan's order.

    All hypotheses of an experiment are analysed together, whatever was selected to run: their
    adjustment and positive controls do not depend on it. Without an ``allocation`` the
    experiment has the whole of a suite's α. ``records`` are the rows of ``outcomes``, where they
    are known already. ``unsaid`` is measure → why nothing on it is decided, of what a table leaves
    open. ``recorded_by`` gives the command that records so many replicates, after its cost.
    """
    allocation = allocation or Allocation(families=gating_families(hypotheses))
    outcomes = tuple(outcomes)
    experiment = experiment.as_read(outcomes)
    records = records or records_of(outcomes, tuple(experiment.measures))
    records = replace(records, contrasts=hypotheses)
    plain = without_controls(experiment, records)
    agreed = (
        *agreement_with_itself(experiment, plain),
        *agreement_with_people(experiment, plain, labels),
    )
    experiment = with_errors(experiment, plain, labels, records, agreed)
    by_condition = records.by_condition()
    conditions = experiment.conditions_of(design)
    counts = tuple(by_condition.get(c.id, NONE).count(c.id) for c in conditions)
    held, cut = {**withheld(agreed), **unsaid}, ended_by_limit(experiment, counts)
    judged = []
    for control in controls:
        asked = control.contrast
        there = control.is_in(experiment, design)
        rows = without_controls(experiment, records, asked)
        finding = _estimate(asked, experiment, rows) if there else NoFinding(NOT_ASKED)
        why = _reason_withheld(held, asked.measures)
        judged.append(judged_control(control, finding, why, asked=there))
    drafts: list[Verdict] = []
    claimed: set[str] = set()
    for hypothesis in sorted(hypotheses, key=lambda h: h.id):
        rows = without_controls(experiment, records, hypothesis)
        finding = _estimate(hypothesis, experiment, rows)
        rests = hypothesis.measures
        against = {
            Reason.COPIES: recording.copied or recording.cut or recording.mixture,
            Reason.UNRELIABLE: _reason_withheld(held, rests),
            Reason.CUT_OFF: _reason_withheld(cut, rests),
        }
        claim, licence = hypothesis.claim or "detect", ""
        if isinstance(finding, NoFinding):
            against[Reason.NO_ESTIMATE] = str(finding)
        elif claim != "describe":
            claimed.add(hypothesis.outcome)
            against[Reason.NO_CONTROL], licence = validation_of(
                hypothesis.outcome, finding, judged
            )
        draft = Verdict(
            id=hypothesis.id,
            experiment=experiment.id,
            model=model,
            claim=claim,
            family=hypothesis.family,
            documented=hypothesis.direction,
            finding=None if isinstance(finding, NoFinding) else finding,
            against={reason: words for reason, words in against.items() if words},
            title=hypothesis.title,
            why=hypothesis.why,
            share=allocation.scale,
            validated_by=licence,
            published=_published(finding),
        )
        drafts.append(draft)
    from .summaries import illustrated, summaries  # noqa: PLC0415  (numpy)

    numbers, categories = summaries(experiment, plain.by_condition())
    figures: tuple[Illustration, ...] = ()
    if experiment.figures:
        figures = tuple(illustrated(figure, experiment, plain) for figure in experiment.figures)
    decided = decide(drafts, scale=allocation.scale)
    again = {condition.id for condition in experiment.conditions}  # not at control levels
    calls = known_sum([count.interactions for count in counts if count.condition in again])
    known = None if recording.published else calls
    return Analysis(
        experiment=experiment.id,
        name=experiment.name,
        source=experiment.source,
        metadata=experiment.metadata,
        model=model,
        simulated=recording.simulated,
        design=design.name,
        replicates=design.replicates,
        trials=len(records.rows),
        recording=recording,
        counts=counts,
        numbers=tuple(numbers),
        categories=tuple(categories),
        controls=tuple(with_needed(judged, claimed)),
        figures=figures,
        agreements=agreed,
        verdicts=tuple(
            _with_replicates(worded(each), design, known, recorded_by) for each in decided.values()
        ),
        allocation=allocation,
    )


def gating_families(hypotheses: Iterable[Hypothesis]) -> tuple[str, ...]:
    """Return the families that share an experiment's α: of all that can fail a run."""
    gating = (each for each in hypotheses if each.claim in ("clear", "detect"))
    return tuple(sorted({each.family for each in gating}))


def without_controls(
    experiment: Experiment, records: Records, contrast: Hypothesis | None = None
) -> Records:
    """The rows at no control level and no control item but those that ``contrast`` names."""
    items = "".join(items_of(experiment))
    hidden = frozenset(
        (name, level)
        for name in names_of(experiment)
        for level in experiment.control_levels(name)
        if contrast is None or level not in contrast.names_control(experiment, name)
    )
    if not hidden:
        return records

    def stays(trial: Trial) -> bool:
        return hidden.isdisjoint((*trial.condition.levels.items(), (items, trial.item)))

    if hidden not in records.memo:  # most contrasts name no control, and share what is left
        rows = tuple(row for row in records.rows if stays(row.trial))
        records.memo[hidden] = replace(records, rows=rows)
    return cast("Records", records.memo[hidden])


def ended_by_limit(experiment: Experiment, counts: Sequence[CellCount]) -> Mapping[str, str]:
    """Measure → why it cannot be CLEAR, where the token limit ended too many replies.

    That is more than one in 20 valid replies of a condition. Replies that end at the limit have
    the same length, so they hide a difference; one that is found all the same remains.
    """
    if all(count.cut <= _TOLERATED_CUT * count.ok for count in counts):
        return {}
    cut, ok = sum(count.cut for count in counts), sum(count.ok for count in counts)
    why = (
        f"the limit on tokens ended {cut} of {ok} replies, whose full length is "
        "unknown; raise max_output_tokens"
    )
    return {measure.name: why for measure in experiment.measures if measure.complete}


def _reason_withheld(held: Mapping[str, str], measures: frozenset[str]) -> str:
    """Return why nothing is decided that rests on ``measures``; '' where something may be."""
    return next((why for measure, why in held.items() if measure in measures), "")


def _estimate(
    contrast: Hypothesis, experiment: Experiment, records: Records
) -> Estimate | NoFinding:
    try:
        return contrast.estimate(experiment, records)
    except NoFinding as none:
        return none


def worded(verdict: Verdict) -> Verdict:
    """A verdict as it was decided, with its words and the intervals that go with it."""
    finding, p = verdict.finding, verdict.p_adjusted
    verdict = replace(
        verdict,
        cut=verdict.against.get(Reason.CUT_OFF, "") if finding is not None else "",
        p_adjusted=None if p is None else min(1.0, p),
        shown=() if finding is None else _intervals_displayed(finding, p),
        validated_by=verdict.validated_by if verdict.status == "CLEAR" else "",
        next_step=INVALID_STEP if verdict.reason is Reason.TOO_FEW_VALID else "",
    )
    return replace(
        verdict,
        words=verdict_text(verdict),
        reason_text=reason_sentence(verdict),
        estimated=estimated(verdict),
    )


def _with_replicates(
    verdict: Verdict, design: Design, calls: int | None, recorded_by: Callable[[int], str]
) -> Verdict:
    """Add how many replicates would decide what is open, or that none would.

    ``calls`` are those of all replicates there are; None of replies that are not recorded again.
    """
    finding, p = verdict.finding, verdict.p_adjusted
    if finding is None or verdict.reason not in _BY_REPLICATES:
        return verdict
    if finding.unit_name.kind not in ("replies", "pools"):
        return replace(verdict, next_step=units_step(finding))
    if calls is None:
        return verdict
    from ..contrasts.power import replicates_needed  # noqa: PLC0415  (numpy)

    alpha = ALPHA * finding.p_alarm / p if p else ALPHA
    needed = replicates_needed(finding, design.replicates, alpha=min(alpha, ALPHA))
    more = 0 if needed is None else needed - design.replicates
    if needed is None or more <= 0:
        return verdict
    if more > _MOST_TIMES * design.replicates:
        return replace(verdict, reason_text=f"{verdict.reason_text}; {_HARDLY}")
    further = math.ceil(calls * more / design.replicates)
    step = replicates_step(needed, further, recorded_by(needed))
    return replace(verdict, replicates=needed, next_step=step)


def _published(finding: Estimate | NoFinding) -> PublishedColumn | None:
    """What the published method gives where there is no finding that has it."""
    if isinstance(finding, Estimate) or finding.published is None:
        return None
    method, statistics = finding.published
    return PublishedColumn(method=method, statistics=statistics)


def _intervals_displayed(finding: Estimate, p_adjusted: float | None) -> tuple[Interval, ...]:
    """Return the intervals that say what the p-values do: the one that decides, or else both.

    One that a test of another kind (a permutation, a bound) contradicts says nothing of it.
    """
    rejected = is_shown(p_adjusted)
    shown: list[Interval] = []
    if finding.margin is not None and (clears(finding) or not rejected):
        clearing = finding.clearing
        if clearing is not None and finding.inside(clearing) == clears(finding):
            shown.append(clearing)
    outer = None if clears(finding) else rejection_interval(finding, p_adjusted)
    if outer is not None:
        beyond = finding.beyond(outer)
        outside = beyond if finding.null == "margin" else outer.excludes(finding.no_effect)
        shown += [outer] if outside == rejected else []
    return tuple(dict.fromkeys(shown))
