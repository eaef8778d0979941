"""Differences of means."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from types import NoneType
from typing import TYPE_CHECKING, ClassVar

from ..errors import BadDesign
from ..experiments.fields import need
from ..statistics.results import Interval
from .declared import check_measure, gates
from .findings import Finding, HumanStudy, Index
from .linear import analyse_linear
from .pairs import PairContrast
from .published import PublishedMethod, WelchTest

if TYPE_CHECKING:
    from ..experiments.experiment import Experiment
    from ..experiments.records import Records


@dataclass(frozen=True, slots=True)
class MeanDifference(PairContrast):
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

    human: HumanStudy | None = field(default=None, kw_only=True)
    published: PublishedMethod | None = field(default_factory=WelchTest, kw_only=True)

    flags: ClassVar[bool] = False

    def __post_init__(self) -> None:
        PairContrast.__post_init__(self)
        need(self.id, "human", self.human, (HumanStudy, NoneType), "HumanStudy(…)")

    def check(self, experiment: Experiment) -> None:
        """Raise BadDesign or UnknownName when ``experiment`` cannot answer this."""
        check_measure(self, experiment, self.measure, bounded=gates(self))
        PairContrast.check(self, experiment)
        problem = self.layout(experiment, experiment.design()).problem
        if problem and gates(self):
            raise BadDesign(what=self.id, problem=problem)

    def analyse(self, experiment: Experiment, records: Records) -> Finding:
        """The finding; NoFinding when there are too few replies, or a condition has none."""
        from .estimation import people, two_groups  # noqa: PLC0415

        asked = self.asked("mean difference")
        found = analyse_linear(asked, experiment, records)
        finding, tested = found.finding, found.tested
        cells = asked.weights.used(found.grid).cells
        if self.target == "fixed" and len(cells) == 2:  # noqa: PLR2004  (two groups)
            high, low = cells if asked.weights.of(cells[0]) > 0 else reversed(cells)
            finding = replace(finding, bootstrap=two_groups.bootstrap(high.values, low.values))
        if tested.welch is not None and self.human is not None:
            finding = replace(finding, human=people.beside_people(tested.welch, self.human))
        return replace(finding, index=self._index(experiment, finding))

    def _index(self, experiment: Experiment, finding: Finding) -> Index | None:
        factors = {factor.name: factor for factor in experiment.factors}
        levels = factors[self.factor].levels if self.factor in factors else {}
        ends = [levels.get(level) for side in self.levels for level in side]
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
