"""Totals of absolute gaps between groups, as published scores of bias add them up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from ..errors import BadDesign
from ..experiments.fields import need_number, need_several, wrong
from .declared import (
    Declared,
    Levels,
    check_levels,
    check_measure,
    check_undirected,
    levels_of,
    settle_fields,
    units_of,
)
from .findings import Finding, PublishedColumn
from .linear import Asked, Side, analyse_linear, bracketed
from .reach import check_compared

if TYPE_CHECKING:
    from ..experiments.experiment import Experiment
    from ..experiments.records import Records

Gap = tuple[Levels, Levels, float]


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
    strata, or within the units of a population) that reach it. It has no margin and can only be
    detected. See :class:`~pytest_bias.contrasts.declared.Declared` for the other parameters.
    """

    measure: str
    factor: str
    gaps: Sequence[Gap] = field(default=(), kw_only=True)
    called: str = field(default="", kw_only=True)

    def __post_init__(self) -> None:
        settle_fields(self)
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

    @property
    def id(self) -> str:
        """``<measure>-total-gap``, or ``<measure>-<name>``."""
        return f"{self.measure}-{self.name or 'total-gap'}"

    def check(self, experiment: Experiment) -> None:
        """Raise BadDesign or UnknownName when ``experiment`` cannot answer this."""
        check_measure(self, experiment, self.measure)
        if not self.gaps:
            raise BadDesign(what=self.id, problem="names no gap")
        for high, low, weight in self.gaps:
            check_levels(self, experiment, self.factor, [*high, *low])
            if not weight > 0 or set(high) & set(low):
                raise BadDesign(what=self.id, problem="a gap needs two sides and a weight above 0")
        check_undirected(self, "a sum of absolute gaps")
        sides = [
            {self.factor: levels_of(side)} for high, low, _ in self.gaps for side in (high, low)
        ]
        check_compared(self, experiment, sides, flips=False)

    def analyse(self, experiment: Experiment, records: Records) -> Finding:
        """The finding; NoFinding when a cell has no valid reply."""
        from .estimation.gaps import total_gap  # noqa: PLC0415  (scipy takes half a second)
        from .estimation.weights import Weights, pairwise  # noqa: PLC0415

        levels = dict.fromkeys(
            level for high, low, _ in self.gaps for level in (*levels_of(high), *levels_of(low))
        )
        asked = Asked(
            declared=self,
            measure=self.measure,
            quantity="sum of absolute gaps",
            scale="size",
            weights=Weights({self.factor: dict.fromkeys(levels, 1.0)}),
            sides=tuple(Side(words=level, levels={self.factor: [level]}) for level in levels),
        )
        gaps = [
            (dict(pairwise(self.factor, levels_of(h), levels_of(low)).parts[self.factor]), weight)
            for h, low, weight in self.gaps
        ]
        population = self.target == "population"
        unit = units_of(self, experiment, [self.factor]) if population else None
        finding = analyse_linear(
            asked, experiment, records, lambda grid, _: total_gap(grid, self.factor, gaps, unit)
        ).finding
        means = {arm.level: arm.mean for arm in finding.arms}
        published: dict[str, float | str] = {"total": finding.estimate}
        for high, low, _ in self.gaps:
            sides = [levels_of(high), levels_of(low)]
            gap = [sum(means[level] for level in side) / len(side) for side in sides]
            words = " − ".join(bracketed(" + ".join(side)) for side in sides)
            published[words] = gap[0] - gap[1]
        return replace(
            finding,
            contrast=self.called or f"all gaps of {self.factor}",
            settle=None,
            published=PublishedColumn(method="sum of absolute gaps", statistics=published),
        )
