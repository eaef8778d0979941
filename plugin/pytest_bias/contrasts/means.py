"""Differences of means."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from types import NoneType
from typing import TYPE_CHECKING

from ..errors import BadDesign
from ..experiments.fields import is_pair, need, wrong
from ..statistics.results import Interval
from .declared import (
    Declared,
    Levels,
    check_at,
    check_levels,
    check_measure,
    check_units,
    gates,
    levels_of,
    null_of,
    settle_fields,
)
from .findings import Finding, HumanStudy, Index
from .layout import Layout
from .linear import Asked, Side, analyse_linear, require_kind, standard_engine
from .published import PublishedMethod, WelchTest
from .reach import check_reach, layout_of

if TYPE_CHECKING:
    from ..experiments.design import Design
    from ..experiments.experiment import Experiment
    from ..experiments.records import Records
    from .estimation.cells import Grid
    from .estimation.tested import Tested
    from .estimation.weights import Weights


@dataclass(frozen=True, slots=True)
class MeanDifference(Declared):
    """The mean of a measure at one level of a factor minus its mean at another.

    Parameters
    ----------
    measure, factor
        Names in the experiment; the measure is numeric. The factor may be the items' name.
    high, low
        Levels, or several on a side (then the mean of their means); the estimate is
        mean(high) − mean(low), in the measure's unit.
    called
        Words for both sides, where the levels' own are too long.
    human
        Published difference in people; for two groups of one factor only.

    See :class:`~pytest_bias.contrasts.declared.Declared` for ``margin``, ``claim``, ``target``,
    ``unit`` and the others.

    Notes
    -----
    Primary analysis, for a fixed set: Welch's unequal-variance t test of two cells, or a t test of
    the weighted cell means with the variance within cells; for a population: t tests of one value
    per unit. All with two one-sided tests at the margin (Welch 1947; Schuirmann 1987), and exact
    permutations or sign flips below 10 units. Replies that are all alike are bounded exactly.
    """

    measure: str
    factor: str
    high: Levels = field(kw_only=True)
    low: Levels = field(kw_only=True)
    called: tuple[str, str] | None = field(default=None, kw_only=True)
    human: HumanStudy | None = field(default=None, kw_only=True)
    published: PublishedMethod | None = field(default_factory=WelchTest, kw_only=True)

    def __post_init__(self) -> None:
        settle_fields(self, self.id)
        check_called(self.id, self.called)
        need(self.id, "human", self.human, (HumanStudy, NoneType), "HumanStudy(…)")

    @property
    def id(self) -> str:
        """``<measure>-<high>-<low>``, or ``<measure>-<name>``."""
        return pair_id(self.measure, self.name, self.high, self.low)

    def check(self, experiment: Experiment) -> None:
        """Raise BadDesign or UnknownName when ``experiment`` cannot answer this."""
        check_measure(self.id, experiment, self.measure, bounded=gates(self))
        check_pair(self, self.id, experiment, self.factor, self.high, self.low)
        problem = self.layout(experiment, experiment.design()).problem
        if problem and gates(self):
            raise BadDesign(what=self.id, problem=problem)

    def analyse(self, experiment: Experiment, records: Records) -> Finding:
        """The finding; NoFinding when there are too few replies, or a condition has none."""
        from .estimation import people, two_groups  # noqa: PLC0415

        asked = pair_asked(
            self, self.measure, self.factor, self.high, self.low, self.called, "mean difference"
        )
        engine = standard_engine(self, experiment, [self.factor], rates=False)

        def numeric(grid: Grid, weights: Weights) -> Tested:
            require_kind(self.id, grid.flags, flags=False)
            return engine(grid, weights)

        found = analyse_linear(asked, experiment, records, numeric)
        finding, tested = found.finding, found.tested
        cells = asked.weights.used(found.grid).cells
        if self.target == "fixed" and len(cells) == 2:  # noqa: PLR2004  (two groups)
            high, low = cells if asked.weights.of(cells[0]) > 0 else reversed(cells)
            finding = replace(finding, bootstrap=two_groups.bootstrap(high.values, low.values))
        if tested.welch is not None and self.human is not None:
            finding = replace(finding, human=people.beside_people(tested.welch, self.human))
        return replace(finding, index=self._index(experiment, finding))

    def layout(self, experiment: Experiment, design: Design) -> Layout:
        """Return the observations ``design`` gives it."""
        return pair_layout(self, experiment, design, self.factor, self.high, self.low)

    def _index(self, experiment: Experiment, finding: Finding) -> Index | None:
        factors = {factor.name: factor for factor in experiment.factors}
        levels = factors[self.factor].levels if self.factor in factors else {}
        ends = [levels.get(level) for level in (*levels_of(self.high), *levels_of(self.low))]
        if len(ends) != 2 or finding.interval is None:  # noqa: PLR2004  (one level on each side)
            return None
        high, low = ends
        if not isinstance(high, int | float) or not isinstance(low, int | float) or high == low:
            return None
        span = float(high - low)
        bounds = sorted((finding.interval.low / span, finding.interval.high / span))
        return Index(
            estimate=finding.estimate / span,
            interval=Interval(low=bounds[0], high=bounds[1], level=finding.interval.level),
            span=span,
        )


def pair_id(measure: str, name: str, high: Levels, low: Levels) -> str:
    """The id of a comparison of two sides."""
    sides = ("+".join(levels_of(high)), "+".join(levels_of(low)))
    return f"{measure}-{name}" if name else f"{measure}-{sides[0]}-{sides[1]}"


def check_called(what: str, called: object) -> None:
    """Refuse words for two sides that are not two."""
    if called is not None and not is_pair(called):
        raise wrong(what, "called", called, "two texts: of the high side and of the low")


def pair_asked(
    declared: Declared,
    measure: str,
    factor: str,
    high: Levels,
    low: Levels,
    called: tuple[str, str] | None,
    quantity: str,
) -> Asked:
    """A comparison of two sides of one factor, as the analysis needs it."""
    from .estimation.weights import pairwise  # noqa: PLC0415  (numpy)

    sides = (levels_of(high), levels_of(low))
    words = called or tuple(" + ".join(levels) for levels in sides)
    return Asked(
        declared=declared,
        measure=measure,
        quantity=quantity,
        weights=pairwise(factor, *sides),
        sides=tuple(
            Side(words=word, levels={factor: levels})
            for word, levels in zip(words, sides, strict=True)
        ),
    )


def pair_layout(
    declared: Declared,
    experiment: Experiment,
    design: Design,
    factor: str,
    high: Levels,
    low: Levels,
    *,
    within: bool = True,
) -> Layout:
    """Return the observations ``design`` gives a comparison of two sides."""
    sides = [{factor: levels_of(high)}, {factor: levels_of(low)}]
    return layout_of(declared, experiment, design, sides, within=within)


def check_pair(
    declared: Declared,
    what: str,
    experiment: Experiment,
    factor: str,
    high: Levels,
    low: Levels,
) -> None:
    """Refuse a comparison of two sides that the experiment cannot answer."""
    sides = [levels_of(high), levels_of(low)]
    check_levels(what, experiment, factor, [*sides[0], *sides[1]])
    if not all(sides):
        raise BadDesign(what=what, problem="a side has no level")
    if set(sides[0]) & set(sides[1]) or any(len(set(side)) < len(side) for side in sides):
        raise BadDesign(what=what, problem="compares a level with itself")
    check_at(what, experiment, declared, {factor})
    check_units(what, declared, experiment, [factor])
    check_reach(what, declared, experiment, [{factor: side} for side in sides])
    null_of(declared, experiment, [factor])
