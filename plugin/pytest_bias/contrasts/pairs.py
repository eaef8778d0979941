"""Two sides of one factor: differences of means, and differences and ratios of rates."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from types import NoneType
from typing import ClassVar

from ..experiments.design import Design
from ..experiments.experiment import Experiment
from ..experiments.fields import is_pair, need, wrong
from ..experiments.records import Records
from ..stats.results import Interval
from .declared import Declared, Levels, levels_of
from .findings import Estimate, Human, Index, Scale
from .linear import Asked, Side, analyse_linear
from .published import ChiSquareTest, PublishedMethod, WelchTest
from .reach import check_compared, layout_of, weights_between
from .units import Layout


@dataclass(frozen=True, slots=True)
class PairContrast(Declared):
    """A comparison of ``high`` with ``low`` levels of a factor; see :class:`.MeanDifference`."""

    measure: str
    factor: str
    high: Levels = field(kw_only=True)
    low: Levels = field(kw_only=True)
    called: tuple[str, str] | None = field(default=None, kw_only=True)
    human: Human | None = field(default=None, kw_only=True)

    flags: ClassVar[bool] = True
    """Whether its measure is an event; else it is a number."""
    ratio: ClassVar[bool] = False
    """Whether it is a ratio of two rates."""

    def __post_init__(self) -> None:
        self.settle_fields()
        called: object = self.called
        if called is not None and not is_pair(called):
            expected = "two texts: of the high side and of the low"
            raise wrong(self.id, "called", called, expected)
        need(self.id, "human", self.human, (Human, NoneType), "Human.counts(…) or Human.means(…)")
        if self.human is not None and self.human.rates != self.flags:
            given, needed = ("rates", "means") if self.human.rates else ("means", "rates")
            ways = "Human.counts(…)" if self.flags else "Human.means(…) or Human.tested(…)"
            problem = f"human= is of people's {given}, and it compares {needed}: use {ways}"
            raise self.refused(problem=problem)

    @property
    def id(self) -> str:
        """``<measure>-<high>-<low>``, or ``<measure>-<name>``."""
        return self.id_of(self.measure)

    def id_of(self, measure: str) -> str:
        """Return the id of this comparison of what is called ``measure``."""
        return f"{measure}-{self.name or '-'.join(map('+'.join, self.levels))}"

    @property
    def levels(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The levels of the high side, and of the low one."""
        return levels_of(self.high), levels_of(self.low)

    def check(self, experiment: Experiment) -> None:
        """Raise BadDesign or UnknownName when ``experiment`` cannot answer this."""
        high, low = self.levels
        self.check_levels(experiment, self.factor, [*high, *low])
        if not high or not low:
            raise self.refused(problem="a side has no level")
        if len({*high, *low}) < len(high) + len(low):
            raise self.refused(problem="compares a level with itself")
        check_compared(self, experiment, weights_between(self.factor, *self.levels))

    def asked(self, quantity: str, scale: Scale = "difference") -> Asked:
        """Return the comparison as the analysis needs it."""
        from .estimation.cells import pairwise  # noqa: PLC0415  (numpy)

        words = self.called or map(" + ".join, self.levels)
        return Asked(
            declared=self,
            measure=self.measure,
            quantity=quantity,
            weights=pairwise(self.factor, *self.levels),
            sides=tuple(
                Side(words=word, levels={self.factor: levels})
                for word, levels in zip(words, self.levels, strict=True)
            ),
            scale=scale,
        )

    def beside_people(self, finding: Estimate) -> Estimate:
        """Return the finding with people's difference beside it, where one is given."""
        if self.human is None:
            return finding
        from .estimation.people import compared_with_people  # noqa: PLC0415  (numpy)

        return replace(finding, human=compared_with_people(finding, self.human))

    def layout(self, experiment: Experiment, design: Design) -> Layout:
        """Return the observations ``design`` gives it."""
        parts = weights_between(self.factor, *self.levels)
        return layout_of(self, experiment, design, parts)


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
        Published difference in people, as counts or as means (:class:`.Human`). The two are
        compared by the difference of the differences, with both standard errors.

    See :class:`~pytest_bias.contrasts.declared.Declared` for ``margin``, ``claim``, ``target``,
    ``unit`` and the others.

    Notes
    -----
    Primary analysis, for a fixed set: a t test of the weighted cell means with the variance of
    replies within cells (two cells: Welch 1947); for a population: a t test of one value per unit.
    Below 10 units a side an alarm is that of permutations or sign flips. Clearing is by two
    one-sided tests at the margin, with one further unit a side at the worse end of the scale; see
    :mod:`pytest_bias.stats.equivalence`.
    """

    kind: ClassVar[str] = "mean difference"

    published: PublishedMethod | None = field(default_factory=WelchTest, kw_only=True)

    flags: ClassVar[bool] = False

    def check(self, experiment: Experiment) -> None:
        """Raise BadDesign or UnknownName when ``experiment`` cannot answer this."""
        self.check_measure(experiment, self.measure, "number", bounded=self.gates)
        PairContrast.check(self, experiment)

    def analyse(self, experiment: Experiment, records: Records) -> Estimate:
        """The finding; NoFinding when there are too few replies, or a condition has none."""
        from .estimation.people import bootstrap  # noqa: PLC0415

        asked = self.asked("mean difference")
        finding = self.beside_people(analyse_linear(asked, experiment, records))
        if not records.lean and self.target == "fixed":
            finding = replace(finding, bootstrap=bootstrap(asked, experiment, records))
        return replace(finding, index=self._index(experiment, finding))

    def _index(self, experiment: Experiment, finding: Estimate) -> Index | None:
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


@dataclass(frozen=True, slots=True)
class RateDifference(PairContrast):
    """The share of trials in which an event happened, at one level minus at another.

    ``measure`` is a flag, or :data:`~pytest_bias.MISSING`: whether a trial gave no valid reply, so
    that refusals are an outcome of their own. Other parameters are those of
    :class:`MeanDifference`; the margin is a share (0.1 is ten points).

    Primary analysis as of means, events being 0 and 1; for a fixed set the alarm, too, has one
    further unit a side, at the end nearer to no effect. For a population: one rate per unit.
    """

    kind: ClassVar[str] = "rate difference"

    published: PublishedMethod | None = field(default_factory=ChiSquareTest, kw_only=True)

    def check(self, experiment: Experiment) -> None:
        """Raise BadDesign or UnknownName when ``experiment`` cannot answer this."""
        self.check_measure(experiment, self.measure, "flag")
        self.check_share(1.0)
        PairContrast.check(self, experiment)

    def analyse(self, experiment: Experiment, records: Records) -> Estimate:
        """The finding; NoFinding when a group has no valid reply."""
        asked = self.asked("rate difference")
        return self.beside_people(analyse_linear(asked, experiment, records))


@dataclass(frozen=True, slots=True)
class RateRatio(PairContrast):
    """The rate of an event at one level divided by its rate at another.

    ``measure`` is a flag; ``margin`` is the larger limit of the ratio: 1.25 clears what lies
    within 0.80 and 1.25 (the four-fifths rule both ways round). About a fixed set only. Primary
    analysis: t tests of the log ratio of the mean rates of cells (delta method), with one further
    unit a side.
    """

    kind: ClassVar[str] = "rate ratio"

    published: PublishedMethod | None = field(default_factory=ChiSquareTest, kw_only=True)

    @property
    def id(self) -> str:
        """``<measure>-ratio-<high>-<low>``, or ``<measure>-ratio-<name>``."""
        return self.id_of(f"{self.measure}-ratio")

    ratio: ClassVar[bool] = True

    def check(self, experiment: Experiment) -> None:
        """Raise BadDesign or UnknownName when ``experiment`` cannot answer this."""
        self.check_measure(experiment, self.measure, "flag")
        if self.margin is not None and self.margin <= 1:
            raise self.refused(problem="margin is the larger limit of a ratio, above 1")
        if self.human is not None:
            raise self.refused(problem="people are compared by differences: RateDifference(…)")
        if self.target != "fixed":
            raise self.refused(problem="a ratio is of a fixed set: target is 'fixed'")
        PairContrast.check(self, experiment)

    def analyse(self, experiment: Experiment, records: Records) -> Estimate:
        """The finding; NoFinding when a group has no valid reply, NoVariance without any event."""
        asked = self.asked("rate ratio", scale="ratio")
        finding = analyse_linear(asked, experiment, records)
        return replace(finding, contrast=finding.contrast.replace(" − ", " / "))
