"""Selection from pools: how often a group's items are taken, compared with the others'."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from ..errors import NoVariance
from ..experiments.canonical import compact, digest
from ..experiments.design import Design, frozen_mapping
from ..experiments.experiment import Experiment
from ..experiments.fields import need_mapping, shortened
from ..experiments.records import Records
from ..stats.checks import Floats, enough
from ..stats.classical import chi_square
from ..stats.equivalence import beyond_p, clearing_interval, clearing_p
from ..stats.resampling import label_shuffle_ratio
from ..stats.results import LEVEL, Interval
from .cells import once
from .declared import Hypothesis, Levels, levels_of
from .estimate import ALPHA, Arm, Estimate, MissingReplies, PublishedColumn, UnitGroup
from .estimator import SEED
from .layout import FEWEST_TO_CLEAR, POOLS_TO_CLEAR, Group, Layout, Null, Units, cells_of, items_of
from .published import bracketed, column_of, keep_published

DIGITS = 16
"""Hexadecimal digits of a digest that names a pool."""


class Pools:
    """The pools of trials, in their order: the items that each showed, and those selected from it.

    ``texts`` are both of each trial, words separated by spaces. ``counts`` are how often each item
    was selected, and how often shown. ``names`` are those of the pools by the items shown, the
    same for every model: where several trials show the very same items they are numbered in the
    plan's order, and pools drawn afresh for a model pair only where they are the same.
    """

    def __init__(self, texts: Sequence[tuple[str, str]]) -> None:
        distinct = {each: place for place, each in enumerate(dict.fromkeys(texts))}
        self.n = len(texts)
        self._kinds = np.array([distinct[each] for each in texts], dtype=np.intp)
        pools = [(selected.split(), shown.split()) for shown, selected in distinct]
        every = dict.fromkeys(item for _, shown in pools for item in shown)
        self._items = {item: place for place, item in enumerate(every)}
        self._tables = np.zeros((2, len(pools), len(every)))  # of those selected, and shown
        for row, both in enumerate(pools):
            for table, names in zip(self._tables, both, strict=True):
                np.add.at(table[row], [self._items[name] for name in names], 1)
        times = np.bincount(self._kinds, minlength=len(pools))
        self.counts = [
            dict(zip(self._items, map(int, (times @ table).tolist()), strict=True))
            for table in self._tables
        ]
        digests = [digest(compact(sorted(shown)))[:DIGITS] for _, shown in pools]
        seen, self.names = Counter[str](), list[str]()
        for name in map(digests.__getitem__, self._kinds.tolist()):
            seen[name] += 1
            self.names.append(name if seen[name] == 1 else f"{name} #{seen[name]}")

    def sums(self, group: Collection[str]) -> Floats:
        """Return a row per pool: selected and shown of the group, and of the others."""
        inside = np.array([item in group for item in self._items])
        columns = [table[:, of].sum(axis=1) for of in (inside, ~inside) for table in self._tables]
        return np.column_stack(columns)[self._kinds]


def selection_ratio(
    pools: Pools, group: Collection[str], *, margin: float | None, null: Null
) -> tuple[Estimate, list[float]]:
    """Selection rate of the items in ``group`` divided by that of all others.

    With it comes its logarithm as each pool gives it, in the order of the pools.

    p is that of a permutation of the group's labels over the items, which keeps how often each was
    shown and selected; interval and clearing are by t tests of the pools' linearised values, with
    one further pool at the worse end. Of the ``null`` "margin" p, too, is that of such a t test.
    A side that was never selected has half a selection added, as the other has (Haldane 1956).
    Raises TooFewUnits below 10 pools; NoVariance where a side was never shown.
    """
    n = pools.n
    enough(n, "pools", FEWEST_TO_CLEAR)
    sums = pools.sums(group)
    selected, shown, others, shown_others = sums.sum(axis=0)
    if not (shown and shown_others and selected + others):
        raise NoVariance(statistic="the selection ratio")
    if not (selected and others):  # half a selection among one further item of each side
        sums = sums + np.array([0.5, 1, 0.5, 1]) / n
    log_ratio, by_pool = linearised(sums)
    further = _further(sums, -1), _further(sums, 1)
    limit = None if margin is None else math.log(margin)
    if null == "margin" and limit is not None:
        p_alarm, method = beyond_p(further, log_ratio, beyond=limit, df=n), "t test at the margin"
    else:
        items = sorted(pools.counts[1])
        taken, seen = ([count[item] for item in items] for count in pools.counts)
        inside = [item in group for item in items]
        p_alarm = label_shuffle_ratio(taken, seen, inside, seed=SEED).p
        method = "permutation of labels over items"
    p_clear = None
    if limit is not None:
        few = n < POOLS_TO_CLEAR
        p_clear = 1.0 if few else clearing_p(further, low=-limit, high=limit, df=n)

    def at_level(level: float) -> Interval | None:
        return clearing_interval(further, df=n, level=level, ratio=True)

    return Estimate(
        estimate=math.exp(log_ratio),
        interval=at_level(LEVEL),
        clearing=at_level(1 - 2 * ALPHA),
        p_alarm=p_alarm,
        p_clear=p_clear,
        margin=margin,
        null=null,
        scale="ratio",
        method=f"{method}; t tests of the log ratio over pools, with one further pool",
        units=n,
        fewest=n,
        needed=POOLS_TO_CLEAR,
        unit_name=Units("pools"),
        extras={
            "selection rate in the group": float(sums[:, 0].sum() / sums[:, 1].sum()),
            "selection rate of the others": float(sums[:, 2].sum() / sums[:, 3].sum()),
        },
        se=float(by_pool.std(ddof=1)) / math.sqrt(n) or None,
        df=float(n - 1),
        at_level=at_level,
    ), by_pool.tolist()


def _further(sums: Floats, sign: int) -> tuple[float, float]:
    """Return log ratio and standard error with one more pool that moves it by ``sign``.

    It shows what pools show on average, and has as many selected: of the group as many as there
    are, or of the others.
    """
    selected, shown, others, shown_others = sums.mean(axis=0)
    taken = selected + others
    of_group = min(taken, shown) if sign > 0 else max(0.0, taken - shown_others)
    more = [of_group, shown, taken - of_group, shown_others]
    log_ratio, by_pool = linearised(np.vstack([sums, more]))
    return log_ratio, float(by_pool.std(ddof=1)) / math.sqrt(len(by_pool))


def linearised(sums: Floats) -> tuple[float, Floats]:
    """Return the log ratio of two selection rates, and it as the mean of one value per pool.

    ``sums`` has a row per pool: selected and shown of the group (A, a), of the others (B, b), each
    with a sum above 0. Pool i gives log ratio + n (A_i / ΣA − a_i / Σa − B_i / ΣB + b_i / Σb), the
    first-order change of the log ratio as the pool's weight grows. The mean of these values is the
    log ratio, and their sd / √n its standard error (Davison & Hinkley 1997, section 2.7).
    """
    totals = sums.sum(axis=0)
    signs = np.array([1.0, -1.0, -1.0, 1.0])
    log_ratio = float(signs @ np.log(totals))
    by_pool: Floats = log_ratio + len(sums) * (sums / totals @ signs)
    return log_ratio, by_pool


@dataclass(frozen=True, slots=True)
class Selection(Hypothesis):
    """The selection rate of a group's items from a pool, beside that of all others.

    Parameters
    ----------
    selected, shown
        Measures that hold the ids of the items a trial selected, and was shown, as one text of
        words separated by spaces.
    feature
        Id of every item → its group ("female", "male", …).
    group
        The group or groups whose selection rate is divided by that of all others.
    margin
        Larger limit of the ratio: 1.25 clears what lies within 0.80 and 1.25.

    Each trial's pool is a unit. p is that of a permutation of the group's labels over the items,
    keeping how often each was shown and selected; interval and clearing are by t tests of the
    pools' linearised log ratios, with one further pool at the worse end. See
    :class:`~pytest_bias.Hypothesis` for the other parameters.
    """

    kind: ClassVar[str] = "selection"

    selected: str
    shown: str
    feature: Mapping[str, str] = field(kw_only=True, repr=False)
    group: Levels = field(kw_only=True)

    def _resolve(self) -> None:
        what = f"Selection({shortened(self.selected)})"
        need_mapping(what, "feature", self.feature, "a mapping, item → group")
        self._set(feature=frozen_mapping(self.feature))

    @property
    def id(self) -> str:
        """``<selected>-<group>-others``, or ``<selected>-<name>``."""
        return f"{self.selected}-{self.name or '+'.join(levels_of(self.group)) + '-others'}"

    @property
    def outcome(self) -> str:
        """Return the measure of the items selected."""
        return self.selected

    @property
    def measures(self) -> frozenset[str]:
        """Those of the items selected, and shown."""
        return frozenset({self.selected, self.shown})

    def check(self, experiment: Experiment) -> None:
        """Raise BadDesign or UnknownName when ``experiment`` cannot answer this."""
        for measure in (self.selected, self.shown):
            experiment.measure(measure)
        groups, group = set(self.feature.values()), set(levels_of(self.group))
        unknown = sorted(group - groups)
        self.require(group, "group= names nothing")
        self.require(not unknown, f"no item has {', '.join(map(repr, unknown))}")
        self.require(groups > group, "there are no other items")
        above = self.margin is None or self.margin > 1
        self.require(above, "margin is the larger limit of a ratio, above 1")
        pools = self.target == "fixed" and self.unit is None and self.null != "zero"
        self.require(pools, "its units are pools: leave target and unit")
        self.require(self.eligible is None, "eligible= is of a comparison of levels")
        self.check_levels(experiment)
        self.check_answered(experiment)

    def layout(self, experiment: Experiment, design: Design) -> Layout:
        """Return the pools ``design`` gives it.

        To first order a pool's part of the log ratio is a/E(a) - b/E(b) of those it selects of the
        group and of others, and that of one that selects no others (or only these) is its end.
        """
        at = {name: levels_of(levels) for name, levels in self.at.items()}
        pools = design.replicates * cells_of(experiment, design, at)
        share = len(self._members)
        return Layout(
            groups=(Group(weight=1.0, cells=1, size=pools),),
            unit_name=Units("pools"),
            low=-len(self.feature) / (len(self.feature) - share),
            high=len(self.feature) / share,
            ratio=True,
            needed=POOLS_TO_CLEAR,
        )

    @property
    def _members(self) -> frozenset[str]:
        """Return the items of the group."""
        groups = levels_of(self.group)
        return frozenset(item for item, group in self.feature.items() if group in groups)

    def analyse(self, experiment: Experiment, records: Records) -> Estimate:
        """Return the finding; NoFinding below ten pools, BadDesign for items of no known group."""
        # The groups of a question are selected from the same pools.
        at = {name: levels_of(levels) for name, levels in self.at.items()}
        source = (*at.items(), self.shown, self.selected, frozenset(self.feature))
        rows, pools = once(records.memo, source, lambda: self._pools(experiment, records, at))
        published = self._published(pools.counts) if pools.n else None
        with keep_published(published):
            finding, by_pool = selection_ratio(
                pools, self._members, margin=self.margin, null=self.null or "zero"
            )
        words = (" + ".join(levels_of(self.group)), "others")
        missing = sum(rows.missing.values())
        shares = (missing / len(rows.rows),)
        lost = MissingReplies(shares=shares, p_beyond=1.0) if missing else None
        rates = finding.extras.values()
        n, values = finding.units, dict(zip(pools.names, by_pool, strict=True))
        return replace(
            finding,
            quantity="selection ratio",
            contrast=" / ".join(map(bracketed, words)),
            measure=self.selected,
            arms=tuple(  # both sides are of the same trials: what is missing counts once
                Arm(level=word, value=word, units=n, replies=n, missing=counts, mean=float(rate))
                for word, rate, counts in zip(words, rates, (rows.missing, {}), strict=True)
            ),
            target=self.target,
            scope=self.scope,
            replies=n,
            lost=lost,
            published=published,
            by_unit=(UnitGroup(group="pools", weight=1.0, values=values),),
        )

    def _pools(
        self, experiment: Experiment, records: Records, at: Mapping[str, tuple[str, ...]]
    ) -> tuple[Records, Pools]:
        """Return the rows at some levels, and of some items, and the pools of those that count."""
        items = items_of(experiment)
        rows = records.at({name: levels for name, levels in at.items() if name not in items})
        for kept in (at[name] for name in items if name in at):
            rows = Records(tuple(row for row in rows.rows if row.trial.item in kept))
        texts, known = [], set[tuple[str, str]]()
        for row in rows.rows:
            if row.missing is None:
                texts.append((str(row.values[self.shown]), str(row.values[self.selected])))
                if texts[-1] not in known:
                    known.add(texts[-1])
                    shown, selected = map(set, map(str.split, texts[-1]))
                    if unknown := shown - self.feature.keys() | selected - shown:
                        problem = f"{min(unknown)!r} was not shown, or has no group"
                        raise self.refused(problem=f"{row.trial.id}: {problem}")
        return rows, Pools(texts)

    def _published(self, counts: Sequence[Mapping[str, int]]) -> PublishedColumn:
        """Chi-square of group × (pool, recommended) on all posts, as if they were independent."""
        shown, selected = Counter[str](), Counter[str]()
        for groups, items in zip((selected, shown), counts, strict=True):
            for item, n in items.items():
                groups[self.feature[item]] += n

        def tested() -> dict[str, float]:
            found = chi_square([[shown[group], selected[group]] for group in sorted(shown)])
            return {"chi2": found.chi2, "df": found.df, "p": found.p, "V": found.cramers_v}

        return column_of("chi-square test of pool against recommended, Cramér's V", tested)
