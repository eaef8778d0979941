"""The table of an upgrade, as values: what each hypothesis showed before, and shows now."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..contrasts.declared import Claim
from ..contrasts.findings import Compared, Scale
from ..stats.results import Interval
from ..verdicts.verdict import NOTHING_FOUND, HypothesisName, Status, Verdict
from ..verdicts.wording import interval_words, number_form, range_words, with_interval
from .gate import Change
from .noninferiority import grown_words

if TYPE_CHECKING:
    from ..contrasts.findings import Estimate
    from .entries import Entry
    from .gate import Comparison

WORST_FIRST: tuple[Change, ...] = (
    *("worse", "new", "expired", "undecided", "known", "not in the baseline"),
    *("improved", "as before"),
)
"""Outcomes in the order in which rows are shown."""
OPEN: tuple[Change, ...] = ("worse", "new", "expired", "undecided")
"""Outcomes of what may have got worse: whether they stop or not, they stand first, unfolded."""
COUNTED: tuple[Change, ...] = (
    *("improved", "as before", "known", "undecided", "new", "worse", "expired"),
    "not in the baseline",
)
"""Outcomes in the order in which they are counted; the first six are said even where none is."""
_ALWAYS = 6


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
    where there is nothing to hold it against. ``said`` says in a sentence how the two compare.
    ``decides`` what would decide what is undecided. ``stops`` is whether the gate stops it,
    ``tolerated`` whether it passes all the same.
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
    said: str
    stops: bool
    tolerated: bool
    decides: str = ""

    @property
    def named(self) -> HypothesisName:
        """Experiment, model and hypothesis."""
        return self.experiment, self.model, self.hypothesis

    @property
    def passes(self) -> bool:
        """Return whether the gate stops it and it passes all the same."""
        return self.stops and self.tolerated

    @property
    def fails(self) -> bool:
        """Return whether it stops the upgrade."""
        return self.stops and not self.tolerated

    @property
    def is_open(self) -> bool:
        """Return whether it may have got worse: nothing shows that it did not."""
        return self.fails or self.outcome in OPEN

    @property
    def moved(self) -> float:
        """How much the size of the estimate grew, in margins where there is one."""
        before = None if self.before is None else self.before.estimate
        now = self.now.estimate
        if before is None or now is None:
            return math.inf
        if self.scale == "ratio":
            before, now = (math.log(e) if e > 0 else math.inf for e in (before, now))
        margin = None if self.compared is None else self.compared.margin
        grown = abs(now) - abs(before)
        return 0.0 if math.isnan(grown) else grown / (margin or 1.0)


Claimed = tuple[str, str]
"""An experiment and a hypothesis on it; '' for whatever is asked there."""


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
    simulated: tuple[str, ...] = field(default=())

    @property
    def held_against(self) -> str:
        """What the new models are held against, in print."""
        return f"{self.old}, as accepted" if self.file else self.old

    @property
    def counts(self) -> tuple[tuple[Change, int], ...]:
        """Count each outcome: the six that matter always, others where there are any."""
        found = Counter(row.outcome for row in self.rows)
        return tuple(
            (outcome, found[outcome])
            for place, outcome in enumerate(COUNTED)
            if place < _ALWAYS or found[outcome]
        )

    @property
    def stopped(self) -> tuple[UpgradeRow, ...]:
        """The rows that stop the upgrade."""
        return tuple(row for row in self.rows if row.fails)

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
    new: Entry,
    old: Entry | None,
    compared: Comparison,
    *,
    stops: bool,
    verdict: Verdict | None = None,
) -> UpgradeRow:
    """The row of what a hypothesis shows beside what it is held against (None: there is nothing).

    ``verdict`` is that of this run, None of what is read from a file of baselines.
    """
    finding = None if verdict is None else verdict.finding
    experiment, model, hypothesis = named
    scale, margin = (None, None) if new.effect is None else (new.effect.scale, new.effect.margin)
    form = number_form(margin, scale or "difference")
    return UpgradeRow(
        experiment=experiment,
        model=model,
        hypothesis=hypothesis,
        title="" if verdict is None else verdict.title,
        claim=new.claim,
        measure=finding.measure if finding is not None else "",
        contrast=finding.contrast if finding is not None else "",
        margin="" if margin is None else range_words(margin, scale),
        scale=scale,
        before=None if old is None else _shown(old, form),
        now=_shown(new, form, finding),
        outcome=compared.outcome,
        compared=compared.compared,
        said=compared.words,
        stops=stops,
        tolerated=compared.tolerated,
        decides=compared.decides,
    )


def _shown(entry: Entry, form: str, finding: Estimate | None = None) -> Observed:
    """Show an entry; an estimate that was accepted as finely as the one found now."""
    effect = entry.effect
    estimate, interval = (None, None) if effect is None else (effect.estimate, effect.interval)
    shown = ""
    if finding is not None:
        shown = interval_words(finding)
    elif effect is not None:
        shown = with_interval(effect.estimate, interval, form)
    return Observed(
        status=entry.status, words=entry.words, shown=shown, estimate=estimate, interval=interval
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
                -r.moved if r.is_open else 0.0,
                r.named,
            ),
        )
    )


def counts_words(upgrade: Upgrade) -> str:
    """``3 improved, 60 as before, 9 known, 0 undecided, 2 new, 1 worse``."""
    return ", ".join(f"{count} {outcome}" for outcome, count in upgrade.counts)


def shipping_words(upgrade: Upgrade, but: str = "") -> str:
    """Say if anything stops the upgrade, in a sentence without its full stop.

    ``but`` says what else keeps it from passing: no table is a reason to ship where that is more
    than nothing.
    """
    number = len(upgrade.stopped)
    if number:
        return f"{number} hypothes{'is stops' if number == 1 else 'es stop'} this upgrade"
    if not upgrade.rows:
        return "Nothing was compared"
    if but:
        return f"No hypothesis stops this upgrade, but {but}"
    if number := len(upgrade.open):
        is_ = "is" if number == 1 else "are"
        return f"Nothing stops this upgrade, but {number} {is_} not shown to be no worse"
    return "Nothing stops this upgrade"


def hint_words(upgrade: Upgrade) -> str:
    """Say how to hold the next version to what is improved; '' where it is too early for that."""
    improved = {row.model for row in upgrade.rows if row.outcome == "improved"}
    if upgrade.stopped or not improved:
        return ""
    models = " and ".join(model for model in upgrade.new if model in improved)
    after = f" --bias-accept-after={upgrade.old}"
    said = f"to hold the next version to what is improved, accept {models}"
    own = not upgrade.file or upgrade.old in upgrade.new
    return f"{said}: --bias-accept{'' if own else after}"


def notes_words(upgrade: Upgrade) -> tuple[str, ...]:
    """Give what else is to be said: the hint, then its notes."""
    hint = hint_words(upgrade)
    return (*((hint,) if hint else ()), *upgrade.notes)


def side_words(side: Observed) -> str:
    """``BIASED -0.25 [-0.29, -0.20]``."""
    return f"{side.label} {side.shown}".rstrip()


def bound_words(row: UpgradeRow) -> tuple[str, str]:
    """Word the most an effect is larger by, and how much is allowed; of ratios as factors.

    Below 0, or a factor below 1, it is shown to be smaller. Both are empty where there is no
    bound.
    """
    compared = row.compared
    if compared is None or compared.bound is None or compared.margin is None:
        return "", ""
    if row.scale == "ratio":
        bound, margin = grown_words(compared.bound, compared.margin, ratio=True)
        return f"a factor of {bound}", margin
    return grown_words(compared.bound, compared.margin, ratio=False)


def to_ask(
    claimed: Iterable[Claimed], tested: Collection[str], *, elsewhere: bool
) -> Iterator[Claimed]:
    """Select the claims that a whole suite should have asked.

    Where there may be others (``elsewhere``) only of the experiments it tests: their hypotheses
    stand in one module.
    """
    return (named for named in claimed if named[0] in tested or not elsewhere)


def unasked_words(found: Iterable[Claimed], old: str, where: str) -> tuple[str, ...]:
    """Name what was accepted or recorded of ``old`` and is not asked again, by experiment."""
    by_experiment: dict[str, list[str]] = {}
    for experiment, name in found:
        by_experiment.setdefault(experiment, []).append(name)
    return tuple(
        f"{experiment}: accepted of {old} and not in {where}: {', '.join(claims)}. Nothing shows "
        f"that there it is no worse: ask it again, or accept {old} anew with this suite "
        f"(--bias-model={old} --bias-accept)"
        if (claims := [name for name in names if name])
        else f"{experiment}: recorded of {old} and not in {where}. Nothing shows that there it is "
        "no worse: check the experiment out, or, where it is retired or another suite's, move its "
        "recordings elsewhere"
        for experiment, names in by_experiment.items()
    )


def uncompared_words(upgrade: Upgrade) -> tuple[str, ...]:
    """That nothing was held against anything, where it was not: to judge is not to compare."""
    if any(row.before is not None for row in upgrade.rows):
        return ()
    return (f"nothing could be compared: {upgrade.old} has no verdict on what is asked here",)
