"""Several groups: each against the rest, whether any differs, and totals of their gaps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from ..experiments.design import Design
from ..experiments.experiment import Experiment
from ..experiments.fields import need_number, need_several, wrong
from ..experiments.measures import MISSING, kind_of
from ..experiments.records import Records
from .declared import Declared, Levels, levels_of
from .findings import Finding
from .linear import Asked, Engine, Found, Side, analyse_linear, corrected_engine, standard_engine
from .published import GroupsTest, PublishedMethod, SumOfGaps
from .reach import Reach, check_compared, is_event
from .units import Layout

if TYPE_CHECKING:
    from .estimation.cells import Grid
    from .estimation.groups import WeightedGap
    from .estimation.largest import Linear

REST = "rest"
ANY = "any"

Gap = tuple[Levels, Levels, float]

MOST_SIGNED = 6
"""Gaps in a sum with a margin: 32 ways to give them signs."""


@dataclass(frozen=True, slots=True)
class GroupContrast(Declared):
    """One group against the mean of all others, or (without ``group``) whether any differs.

    Parameters
    ----------
    measure, factor
        Names in the experiment; the measure is numeric or a flag (then rates are compared).
    group
        Level that is held against the rest; None for the omnibus question: whether any differs
        or, with a margin, how far the farthest group is from the mean of all groups.
    among
        The levels that are groups; by default all of the factor.

    See :class:`~.declared.Declared` for the other parameters. One hypothesis per group is
    ``GroupContrast.each(…, over=[{"group": name} for name in groups])``.

    Notes
    -----
    For a population whose units are the groups' exemplars: permutation of the exemplars' labels,
    studentised, and intervals and clearing with every group's own variance. For a fixed set:
    stratified cell means, or score statistics for rates, against the margin where groups have
    exemplars. The omnibus p permutes labels of exemplars, of means within units, or of replies
    within strata; with a margin it is clear where every group is within it, each at .05
    (intersection–union: Berger 1982).

    A group that is biased is in the rest of all others. So the one that is surest to differ is set
    aside where it is not clear and its p, times the number of groups, is at most .05; then the
    next, with what is left, fewer than half in all. Each group is held against the others that are
    not set aside. Where no group differs, none is set aside in .95 of all cases (Bonferroni).
    """

    measure: str
    factor: str
    group: str | None = field(default=None, kw_only=True)
    among: Sequence[str] = field(default=(), kw_only=True)
    published: PublishedMethod | None = field(default_factory=GroupsTest, kw_only=True)

    def __post_init__(self) -> None:
        self.settle_fields()
        among = need_several(self.id, "among", self.among, str, "levels")
        object.__setattr__(self, "among", among)

    @property
    def id(self) -> str:
        """``<measure>-<group>-rest``, or ``<measure>-<factor>-any``."""
        if self.name:
            return f"{self.measure}-{self.name}"
        if self.group is None:
            return f"{self.measure}-{self.factor}-{ANY}"
        return f"{self.measure}-{self.group}-{REST}"

    def check(self, experiment: Experiment) -> None:
        """Raise BadDesign or UnknownName when ``experiment`` cannot answer this."""
        self.check_measure(experiment, self.measure)
        groups = self._groups(experiment)
        self.check_levels(experiment, self.factor, groups)
        sides = [{self.factor: [group]} for group in groups]
        check_compared(self, experiment, sides, flips=self.group is not None)
        if len(set(groups)) < len(groups) or len(groups) < 3:  # noqa: PLR2004  (or a pair)
            raise self.refused(problem="needs three groups or more, each named once")
        if self.group is None:
            self.check_undirected("whether any group differs")
        elif self.group not in groups:
            raise self.refused(problem=f"{self.group!r} is not among the groups")
        if self.target == "fixed" and is_event(self, experiment):
            self.check_share(1.0 if self.group is not None else 1 - 1 / len(groups))

    def analyse(self, experiment: Experiment, records: Records) -> Finding:
        """The finding; NoFinding when a group has too few units, or a condition no reply."""
        from .estimation.cells import Weights  # noqa: PLC0415  (numpy)
        from .estimation.groups import any_group  # noqa: PLC0415
        from .estimation.largest import LARGEST_AT  # noqa: PLC0415

        groups = self._groups(experiment)
        if self.group is not None:
            return self._against_rest(self.group, groups, experiment, records)
        unit = self.sampled_units(experiment, [self.factor])
        asked = Asked(
            declared=self,
            measure=self.measure,
            quantity="spread of groups" if self.margin is None else "largest departure of a group",
            scale="size",
            weights=Weights({self.factor: dict.fromkeys(groups, 1.0)}),
            sides=tuple(Side(words=g, levels={self.factor: [g]}) for g in groups),
            contrasts=lambda grid: self._each_group(experiment, groups, event=grid.flags),
        )
        finding = analyse_linear(
            asked, experiment, records, lambda grid, _: any_group(grid, self.factor, groups, unit)
        ).finding
        at = finding.extras.get(LARGEST_AT)
        words = f"any {self.factor}, largest at {at}" if at else f"any {self.factor}"
        return replace(finding, contrast=words)

    def _against_rest(
        self, group: str, groups: Sequence[str], experiment: Experiment, records: Records
    ) -> Finding:
        """One group against the others; those that alarm themselves are no measure of it."""
        from .estimation.cells import level_against_rest  # noqa: PLC0415
        from .estimation.groups import set_aside  # noqa: PLC0415

        def analysed(rest: Sequence[str], words: str) -> Found:
            asked = Asked(
                declared=self,
                measure=self.measure,
                quantity="group against the rest",
                weights=level_against_rest(self.factor, group, [group, *rest]),
                sides=(
                    Side(words=group, levels={self.factor: [group]}),
                    Side(words=words, levels={self.factor: rest}),
                ),
            )
            among = [each for each in groups if each == group or each in rest]
            engine = self._engine(experiment, group, among)
            return analyse_linear(asked, experiment, records, engine)

        others = [each for each in groups if each != group]
        found = analysed(others, REST)
        aside = set_aside(
            found.grid,
            self.factor,
            groups,
            lambda each, kept: corrected_engine(
                self._engine(experiment, each, kept),
                self,
                self.measure,
                experiment,
                [self.factor],
            ),
            key=(self.target, self.unit, self.margin, self.null),
        )
        rest = [each for each in others if each not in aside]
        if rest == others:
            return found.finding
        without = ", ".join(each for each in others if each in aside)
        finding = analysed(rest, f"{REST} without {without}").finding
        note = f"rest: the {len(rest)} of {len(others)} that do not alarm themselves"
        return replace(finding, published=found.finding.published, notes=(*finding.notes, note))

    def layout(self, experiment: Experiment, design: Design) -> Layout | None:
        """Return the observations ``design`` gives one group; None for the omnibus question.

        These are given where they are too few for any verdict.
        """
        if self.group is None:
            sides = [{self.factor: [group]} for group in self._groups(experiment)]
            return Reach(self, experiment, design, sides).of_many()
        rest = [group for group in self._groups(experiment) if group != self.group]
        sides = [{self.factor: [self.group]}, {self.factor: rest}]
        reach = Reach(self, experiment, design, sides)
        event = is_event(self, experiment)
        return reach.layout(within=self._is_number(experiment), pooled=event)

    def _is_number(self, experiment: Experiment) -> bool:
        """Whether the measure declares to be one: an event has no bounds."""
        if self.measure == MISSING:
            return False
        measure = experiment.measure(self.measure)
        return bool(measure.bounds) or kind_of(measure, experiment.protocol) in (int, float)

    def _engine(self, experiment: Experiment, group: str, groups: Sequence[str]) -> Engine:
        from .estimation.groups import group_against_rest  # noqa: PLC0415

        if self.sampled_units(experiment, [self.factor]) == (self.factor,):
            return lambda grid, _: group_against_rest(
                grid, self.factor, group, groups, margin=self.margin
            )
        return lambda grid, weights: standard_engine(
            self, experiment, [self.factor], rates=grid.flags
        )(grid, weights)

    def _each_group(
        self, experiment: Experiment, groups: Sequence[str], *, event: bool
    ) -> dict[str, Linear]:
        """Every group's departure from the mean of all: so much of that from the rest."""
        from .estimation.cells import level_against_rest  # noqa: PLC0415
        from .estimation.largest import Linear  # noqa: PLC0415

        share = 1 - 1 / len(groups)
        if event and self.target == "fixed":
            self.check_share(share)
        margin = None if self.margin is None else self.margin / share
        found = {}
        for group in groups:
            one: GroupContrast = replace(self, group=group, margin=margin, within={})
            weights = level_against_rest(self.factor, group, groups)
            engine = one._engine(experiment, group, groups)
            test = corrected_engine(engine, one, self.measure, experiment, [self.factor])
            found[group] = Linear(weights, test, share)
        return found

    def _groups(self, experiment: Experiment) -> tuple[str, ...]:
        return tuple(self.among) or experiment.levels(self.factor)


@dataclass(frozen=True, slots=True)
class TotalGap(Declared):
    """The sum of absolute gaps between groups, each times a weight.

    Parameters
    ----------
    measure, factor
        Names in the experiment; the measure is numeric or a flag.
    gaps
        Each as (high, low, weight): weight × |mean(high) − mean(low)|. A score that adds the mean
        of three racial gaps and one of gender has weights 1/3, 1/3, 1/3 and 1.
    called
        What the sum is called in print ("total bias").

    Such a sum is above 0 for a model without any bias, the more so the fewer its replies: what it
    comes to by chance stands beside it, and p is the share of permutations of the labels (within
    strata, or within the units of a population) that reach it. With a margin it is clear where the
    sum is below it whatever signs the gaps have: each such contrast by two one-sided tests at .05
    (intersection–union: Berger 1982). See :class:`~pytest_bias.contrasts.declared.Declared` for
    the other parameters.
    """

    measure: str
    factor: str
    gaps: Sequence[Gap] = field(default=(), kw_only=True)
    called: str = field(default="", kw_only=True)

    def __post_init__(self) -> None:
        self.settle_fields()
        expected = "(high, low, weight)"
        given: tuple[Sequence[Any], ...] = need_several(
            self.id, "gaps", self.gaps, (tuple, list), expected
        )
        if wrongly := [gap for gap in given if len(gap) != 3]:  # noqa: PLR2004
            raise wrong(self.id, "a gap", wrongly[0], expected)
        gaps = tuple(
            (levels_of(high), levels_of(low), need_number(self.id, "a weight", weight))
            for high, low, weight in given
        )
        object.__setattr__(self, "gaps", gaps)
        if self.published is None:
            object.__setattr__(self, "published", SumOfGaps(gaps))

    @property
    def id(self) -> str:
        """``<measure>-total-gap``, or ``<measure>-<name>``."""
        return f"{self.measure}-{self.name or 'total-gap'}"

    def check(self, experiment: Experiment) -> None:
        """Raise BadDesign or UnknownName when ``experiment`` cannot answer this."""
        self.check_measure(experiment, self.measure)
        if not self.gaps:
            raise self.refused(problem="names no gap")
        for high, low, weight in self.gaps:
            self.check_levels(experiment, self.factor, [*high, *low])
            if not (high and low and weight > 0) or set(high) & set(low):
                raise self.refused(problem="a gap needs two sides and a weight above 0")
        self.check_undirected("a sum of absolute gaps")
        if self.margin is not None and len(self.gaps) > MOST_SIGNED:
            raise self.refused(problem=f"with a margin it has at most {MOST_SIGNED} gaps")
        check_compared(self, experiment, self._sides, flips=False)

    @property
    def _sides(self) -> list[dict[str, tuple[str, ...]]]:
        ends = [end for high, low, _ in self.gaps for end in (high, low)]
        return [{self.factor: levels_of(end)} for end in ends]

    def layout(self, experiment: Experiment, design: Design) -> Layout | None:
        """Return the observations ``design`` gives it where they are too few for any verdict."""
        from .estimation.largest import signed_sums  # noqa: PLC0415  (numpy)

        sums = {} if self.margin is None else signed_sums(self.factor, self._weighted())
        return Reach(self, experiment, design, self._sides).of_many(w for w, _ in sums.values())

    def _weighted(self) -> list[WeightedGap]:
        from .estimation.cells import pairwise  # noqa: PLC0415  (numpy)

        return [
            (dict(pairwise(self.factor, levels_of(h), levels_of(low)).parts[self.factor]), weight)
            for h, low, weight in self.gaps
        ]

    def analyse(self, experiment: Experiment, records: Records) -> Finding:
        """The finding; NoFinding when a cell has no valid reply."""
        from .estimation.cells import Weights  # noqa: PLC0415
        from .estimation.groups import total_gap  # noqa: PLC0415  (numpy)
        from .estimation.largest import Linear, signed_sums  # noqa: PLC0415

        levels = dict.fromkeys(
            level for high, low, _ in self.gaps for level in (*levels_of(high), *levels_of(low))
        )
        gaps = self._weighted()
        unit = self.sampled_units(experiment, [self.factor])

        def signed(_: Grid) -> dict[str, Linear]:
            found = {}
            for words, (part, reach) in signed_sums(self.factor, gaps).items():
                margin = None if self.margin is None else self.margin / reach
                like = replace(self, margin=margin, within={})
                test = standard_engine(like, experiment, [self.factor], rates=False)
                test = corrected_engine(test, like, self.measure, experiment, [self.factor])
                found[words] = Linear(part, test, reach)
            return found

        asked = Asked(
            declared=self,
            measure=self.measure,
            quantity="sum of absolute gaps",
            scale="size",
            weights=Weights({self.factor: dict.fromkeys(levels, 1.0)}),
            sides=tuple(Side(words=level, levels={self.factor: [level]}) for level in levels),
            contrasts=signed,
        )
        finding = analyse_linear(
            asked, experiment, records, lambda grid, _: total_gap(grid, self.factor, gaps, unit)
        ).finding
        return replace(finding, contrast=self.called or f"all gaps of {self.factor}")
