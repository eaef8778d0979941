"""The table of an upgrade, as values: what each hypothesis showed before, and shows now."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ..baselines.gate import Change
from ..baselines.noninferiority import Compared
from ..contrasts.declared import Claim
from ..contrasts.estimate import Scale
from ..stats.results import Interval
from ..verdicts.verdict import NOTHING_FOUND, HypothesisName, Status, Verdict
from ..verdicts.wording import interval_text, number_form, range_text, with_interval

if TYPE_CHECKING:
    from ..baselines.entries import Entry, Past
    from ..baselines.gate import Comparison

WORST_FIRST: tuple[Change, ...] = (
    *("worse", "new", "expired", "undecided", "known", "not in the baseline"),
    *("improved", "as before"),
)
"""Outcomes in the order in which rows are shown."""
OPEN: tuple[Change, ...] = ("worse", "new", "expired", "undecided")
"""Outcomes of what may have got worse: whether they stop or not, they stand first, unfolded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """A hypothesis with one model: its verdict in print, and its estimate, if any.

    ``shown`` is the estimate with its 95 % interval, in print.
    """

    status: Status
    words: str
    shown: str
    estimate: float | None
    interval: Interval | None

    @property
    def label(self) -> str:
        """The status in print: NOTHING FOUND of what could only have been found."""
        return NOTHING_FOUND if self.words.startswith(NOTHING_FOUND) else self.status


@dataclass(frozen=True, slots=True, kw_only=True)
class UpgradeRow:
    """One hypothesis, before and now.

    ``title`` is what it asserts, empty where nobody said it; ``measure`` and ``contrast`` say
    what it is about, ``margin`` is in print; ``before`` is None
    where there is nothing to compare with. ``summary`` says in a sentence how the two compare.
    ``stops`` is whether the gate stops it, ``tolerated`` whether it passes all the same.
    """

    experiment: str
    model: str
    hypothesis: str
    title: str
    claim: Claim
    measure: str
    contrast: str
    margin: str
    scale: Scale | None
    before: Observed | None
    now: Observed
    outcome: Change
    compared: Compared | None
    summary: str
    stops: bool
    tolerated: bool

    @property
    def named(self) -> HypothesisName:
        """Experiment, model and hypothesis."""
        return self.experiment, self.model, self.hypothesis

    @property
    def passes(self) -> bool:
        """True if the gate stops it and it passes all the same."""
        return self.stops and self.tolerated

    @property
    def fails(self) -> bool:
        """True if it stops the upgrade."""
        return self.stops and not self.tolerated

    @property
    def is_open(self) -> bool:
        """True if it may have got worse: nothing shows that it did not."""
        return self.fails or self.outcome in OPEN

    @property
    def grown(self) -> float:
        """By how many margins it may have grown; infinite where nothing tells."""
        compared = self.compared
        if compared is None or compared.bound is None:
            return math.inf
        return compared.bound / (compared.margin or 1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Upgrade:
    """From ``old`` (a model; ``file`` is whether its accepted verdicts) to the ``new`` models.

    ``rows`` stand worst first; ``notes`` say of which experiments there is nothing to hold
    against, and what could not be compared.
    """

    old: str
    new: tuple[str, ...]
    file: bool = False
    rows: tuple[UpgradeRow, ...] = ()
    notes: tuple[str, ...] = ()
    simulated: tuple[str, ...] = ()

    @property
    def compared_with(self) -> str:
        """What the new models are compared with, in print."""
        return f"{self.old}, as accepted" if self.file else self.old

    @property
    def stopped(self) -> tuple[UpgradeRow, ...]:
        """The rows that stop the upgrade."""
        return tuple(row for row in self.rows if row.fails)

    @property
    def against(self) -> tuple[UpgradeRow, ...]:
        """The rows for which it should not ship: those that stop it, or would with the gate on."""
        ungated = (r for r in self.rows if not r.stops and r.outcome in ("new", "worse"))
        return self.stopped or tuple(row for row in ungated if row.now.status == "BIASED")

    @property
    def open(self) -> tuple[UpgradeRow, ...]:
        """The rows that may have got worse, those that stop the upgrade first."""
        return tuple(row for row in self.rows if row.is_open)

    @property
    def apart(self) -> tuple[UpgradeRow, ...]:
        """The rows that are not as before."""
        return tuple(row for row in self.rows if row.outcome != "as before")


def row_of(
    named: HypothesisName,
    entry: Entry,
    comparison: Comparison,
    *,
    stops: bool,
    verdict: Verdict | None = None,
) -> UpgradeRow:
    """The row of what a hypothesis shows (``entry``) beside what it is held against.

    ``verdict`` is that of this run, None of what is read from a file of baselines.
    """
    finding = None if verdict is None else verdict.finding
    experiment, model, hypothesis = named
    effect = entry.effect
    scale, margin = (None, None) if effect is None else (effect.scale, effect.margin)
    form = number_form(margin, scale or "difference")
    now = _observed(entry, form)
    return UpgradeRow(
        experiment=experiment,
        model=model,
        hypothesis=hypothesis,
        title="" if verdict is None else verdict.title,
        claim=entry.claim,
        measure="" if finding is None else finding.measure,
        contrast="" if finding is None else finding.contrast,
        margin="" if margin is None else range_text(margin, scale),
        scale=scale,
        before=None if comparison.before is None else _observed(comparison.before, form),
        now=now if finding is None else replace(now, shown=interval_text(finding)),
        outcome=comparison.outcome,
        compared=comparison.compared,
        summary=comparison.words,
        stops=stops,
        tolerated=comparison.tolerated,
    )


def _observed(past: Past, form: str) -> Observed:
    """Show a verdict of a baseline; an estimate that was accepted as finely as that found now."""
    effect = past.effect
    return Observed(
        status=past.status,
        words=past.words,
        shown="" if effect is None else with_interval(effect.estimate, effect.interval, form),
        estimate=None if effect is None else effect.estimate,
        interval=None if effect is None else effect.interval,
    )


def worst_first(rows: Iterable[UpgradeRow]) -> tuple[UpgradeRow, ...]:
    """``rows`` as they are shown; of what may have got worse what grew most stands first."""
    rank = {outcome: place for place, outcome in enumerate(WORST_FIRST)}
    return tuple(
        sorted(
            rows,
            key=lambda r: (
                not r.fails,
                rank.get(r.outcome, len(rank)),
                -r.grown if r.is_open else 0.0,
                r.named,
            ),
        )
    )
