"""Several groups: each against the rest, whether any differs, and totals of their gaps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

from ..experiments.design import Design
from ..experiments.experiment import Experiment
from ..experiments.fields import need_number, need_several, wrong
from ..experiments.records import Records
from .declared import Declared, Levels, levels_of
from .findings import Estimate
from .linear import Asked, Side, analyse_linear
from .published import GroupsTest, PublishedMethod, SumOfGaps
from .reach import Parts, check_compared, departing, is_event, layout_of, weights_between
from .units import Layout

if TYPE_CHECKING:
    from .estimation.largest import WeightedGap

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
    One group against the mean of the others is a contrast like any other: see
    :class:`.MeanDifference`. Whether any differs is judged by the group farthest from the mean of
    all: p by the joint distribution of all of them (max-T), against a margin by Bonferroni; it is
    clear where every group is within the margin, each at .05 (intersection–union: Berger 1982).
    """

    kind: ClassVar[str] = "group contrast"

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
        if len(set(groups)) < len(groups) or len(groups) < 3:  # noqa: PLR2004  (or a pair)
            raise self.refused(problem="needs three groups or more, each named once")
        if self.group is None:
            self.check_undirected("whether any group differs")
        elif self.group not in groups:
            raise self.refused(problem=f"{self.group!r} is not among the groups")
        check_compared(self, experiment, self._parts(groups), largest=self.group is None)
        if self.target == "fixed" and is_event(self, experiment):
            self.check_share(1.0 if self.group is not None else 1 - 1 / len(groups))

    def analyse(self, experiment: Experiment, records: Records) -> Estimate:
        """The finding; NoFinding when a group has too few units, or a condition no reply."""
        from .estimation.cells import Weights, level_against_rest  # noqa: PLC0415  (numpy)
        from .estimation.largest import LARGEST_AT, departures  # noqa: PLC0415

        groups = self._groups(experiment)
        if self.group is not None:
            rest = [each for each in groups if each != self.group]
            asked = Asked(
                declared=self,
                measure=self.measure,
                quantity="group against the rest",
                weights=level_against_rest(self.factor, self.group, groups),
                sides=(
                    Side(words=self.group, levels={self.factor: [self.group]}),
                    Side(words=REST, levels={self.factor: rest}),
                ),
            )
            return analyse_linear(asked, experiment, records)
        asked = Asked(
            declared=self,
            measure=self.measure,
            quantity="largest departure of a group",
            scale="size",
            weights=Weights({self.factor: dict.fromkeys(groups, 1.0)}),
            sides=tuple(Side(words=g, levels={self.factor: [g]}) for g in groups),
            contrasts=departures({self.factor: groups}),
        )
        finding = analyse_linear(asked, experiment, records)
        at = finding.extras.get(LARGEST_AT)
        return replace(finding, contrast=f"any {self.factor}, largest at {at}")

    def layout(self, experiment: Experiment, design: Design) -> Layout:
        """Return the observations ``design`` gives one group."""
        parts = self._parts(self._groups(experiment))
        return layout_of(self, experiment, design, parts, largest=self.group is None)

    def _parts(self, groups: Sequence[str]) -> Parts:
        """One group against the rest; of the omnibus question the first against all."""
        if self.group is None:
            return departing({self.factor: groups})
        return weights_between(
            self.factor, [self.group], [each for each in groups if each != self.group]
        )

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
    comes to by chance is an extra of the finding. It is the largest of the sums whatever signs the
    gaps have: p by the joint distribution of these (max-T), and clear where each is, at .05
    (intersection–union: Berger 1982). See :class:`~pytest_bias.contrasts.declared.Declared` for
    the other parameters.
    """

    kind: ClassVar[str] = "total gap"

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
        check_compared(self, experiment, self._parts, largest=True)

    def layout(self, experiment: Experiment, design: Design) -> Layout:
        """Return the observations ``design`` gives the sum of all gaps."""
        return layout_of(self, experiment, design, self._parts, largest=True)

    @property
    def _parts(self) -> Parts:
        """The sum of all gaps, each with the sign it is declared with."""
        part: dict[str, float] = {}
        for high, low, times in self.gaps:
            for level, weight in weights_between(self.factor, levels_of(high), levels_of(low))[
                self.factor
            ].items():
                part[level] = part.get(level, 0.0) + times * weight
        return {self.factor: part}

    def _weighted(self) -> list[WeightedGap]:
        from .estimation.cells import pairwise  # noqa: PLC0415  (numpy)

        return [
            (dict(pairwise(self.factor, levels_of(h), levels_of(low)).parts[self.factor]), weight)
            for h, low, weight in self.gaps
        ]

    def analyse(self, experiment: Experiment, records: Records) -> Estimate:
        """The finding; NoFinding when a cell has no valid reply."""
        from .estimation.cells import Weights, grid_of  # noqa: PLC0415  (numpy)
        from .estimation.largest import signed_sums, with_chance  # noqa: PLC0415
        from .estimation.sample import sample_of  # noqa: PLC0415

        levels = dict.fromkeys(
            level for high, low, _ in self.gaps for level in (*levels_of(high), *levels_of(low))
        )
        gaps = self._weighted()
        asked = Asked(
            declared=self,
            measure=self.measure,
            quantity="sum of absolute gaps",
            scale="size",
            weights=Weights({self.factor: dict.fromkeys(levels, 1.0)}),
            sides=tuple(Side(words=level, levels={self.factor: [level]}) for level in levels),
            contrasts=signed_sums(self.factor, gaps),
        )
        finding = analyse_linear(asked, experiment, records)
        at = self.where(experiment, {self.factor: levels})
        grid = grid_of(experiment, records, self.measure, at, self.eligible)
        names = self.sampled_units(experiment, [self.factor])
        samples = [
            (sample_of(grid, Weights({self.factor: part}), names), times) for part, times in gaps
        ]
        contrast = self.called or f"all gaps of {self.factor}"
        return replace(with_chance(finding, samples), contrast=contrast)
