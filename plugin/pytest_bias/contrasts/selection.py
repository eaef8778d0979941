"""Selection from a pool by a model: recommended against shown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar

from ..experiments.design import Design, frozen_mapping
from ..experiments.experiment import Experiment
from ..experiments.fields import need_mapping, shortly
from ..experiments.records import Records
from .declared import Hypothesis, Levels, levels_of
from .estimate import Arm, Estimate, MissingReplies, PublishedColumn, UnitGroup
from .published import bracketed, column_of, keep_published
from .reach import POOLS_TO_CLEAR, cells_of, items_of
from .units import Group, Layout, Units

if TYPE_CHECKING:
    from .estimation.selection import Pools


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

    def _settle(self) -> None:
        what = f"Selection({shortly(self.selected)})"
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
        from .estimation.cells import once  # noqa: PLC0415  (numpy)
        from .estimation.selection import selection_ratio  # noqa: PLC0415

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
        from .estimation.selection import Pools  # noqa: PLC0415  (numpy)

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
        from ..stats.counts import chi_square  # noqa: PLC0415

        shown, selected = Counter[str](), Counter[str]()
        for groups, items in zip((selected, shown), counts, strict=True):
            for item, n in items.items():
                groups[self.feature[item]] += n

        def tested() -> dict[str, float]:
            found = chi_square([[shown[group], selected[group]] for group in sorted(shown)])
            return {"chi2": found.chi2, "df": found.df, "p": found.p, "V": found.cramers_v}

        return column_of("chi-square test of pool against recommended, Cramér's V", tested)
