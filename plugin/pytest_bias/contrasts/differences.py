"""Differences and ratios of two groups of levels, and a mean or rate against a number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import NoneType
from typing import ClassVar

from ..errors import NoFinding
from ..experiments.experiment import Experiment
from ..experiments.fields import is_pair, need, need_number, wrong
from ..experiments.measures import MISSING, MeasureKind
from ..experiments.records import Records
from ..stats.results import Interval, Matters
from .declared import Levels, levels_of
from .estimate import Estimate, Index, Scale
from .layout import Side
from .linear import LinearContrast
from .people import Human, compared_with_people
from .published import ChiSquareTest, PublishedMethod, WelchTest


@dataclass(frozen=True, slots=True)
class PairContrast(LinearContrast):
    """A comparison of ``high`` with ``low`` levels of a factor; see :class:`.MeanDifference`."""

    factor: str
    high: Levels = field(kw_only=True)
    low: Levels = field(kw_only=True)
    called: tuple[str, str] | None = field(default=None, kw_only=True)
    human: Human | None = field(default=None, kw_only=True)

    compares: ClassVar[tuple[MeasureKind, ...]] = ("flag",)

    def _resolve(self) -> None:
        called: object = self.called
        if called is not None and not is_pair(called):
            expected = "two texts: of the high side and of the low"
            raise wrong(self.id, "called", called, expected)
        need(self.id, "human", self.human, (Human, NoneType), "Human.counts(…) or Human.means(…)")
        flags = "flag" in self.compares
        if self.human is not None and self.human.rates != flags:
            given, needed = ("rates", "means") if self.human.rates else ("means", "rates")
            ways = "Human.counts(…)" if flags else "Human.means(…) or Human.tested(…)"
            problem = f"human= is of people's {given}, and it compares {needed}: use {ways}"
            raise self.refused(problem=problem)

    @property
    def id(self) -> str:
        """``<measure>-<high>-<low>``, or ``<measure>-<name>``; of ratios ``<measure>-ratio-…``."""
        ratio = "-ratio" if self.scale == "ratio" else ""
        return f"{self.measure}{ratio}-{self.name or '-'.join(map('+'.join, self.levels))}"

    @property
    def levels(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the levels of the high side, and of the low one."""
        return levels_of(self.high), levels_of(self.low)

    def sides_by_factor(self, experiment: Experiment) -> Mapping[str, Sequence[Side]]:  # noqa: ARG002
        """Return the two sides."""
        words = self.called or map(" + ".join, self.levels)
        return {
            self.factor: [
                Side(words=word, levels={self.factor: levels})
                for word, levels in zip(words, self.levels, strict=True)
            ]
        }

    def analyse(self, experiment: Experiment, records: Records) -> Estimate:
        """The estimate, compared with that of people where one is declared; or NoFinding."""
        finding = LinearContrast.analyse(self, experiment, records)
        if self.human is None:
            return finding
        compared = compared_with_people(
            self.human,
            estimate=finding.estimate,
            se=finding.se or 0.0,  # identical replies have none
            df=finding.df or 1.0,
            interval=finding.interval,
            margin=finding.margin,
        )
        return replace(finding, human=compared)


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

    See :class:`~pytest_bias.Hypothesis` for ``margin``, ``claim``, ``target``, ``unit`` and the
    others.

    Notes
    -----
    Primary analysis, for a fixed set: a t test of the weighted cell means with the variance of
    replies within cells (two cells: Welch 1947); for a population: a t test of one value per unit.
    Below 10 units a group the null is tested by permutations or sign flips. Clearing is by two
    one-sided tests at the margin, with one further unit a side at the worse end of the scale; see
    :mod:`pytest_bias.stats.equivalence`.
    """

    kind: ClassVar[str] = "mean difference"
    compares: ClassVar[tuple[MeasureKind, ...]] = ("number",)
    quantity: ClassVar[str] = "mean difference"
    bootstrapped: ClassVar[bool] = True

    published: PublishedMethod | None = field(default_factory=WelchTest, kw_only=True)

    def analyse(self, experiment: Experiment, records: Records) -> Estimate:
        """Estimate and test it, and the difference per unit of a numeric factor."""
        finding = PairContrast.analyse(self, experiment, records)
        return replace(finding, index=self._index(experiment, finding))

    def _index(self, experiment: Experiment, finding: Estimate) -> Index | None:
        """Return the difference per unit of a factor whose levels are numbers."""
        factors = {factor.name: factor.levels for factor in experiment.factors}
        ends = [factors.get(self.factor, {}).get(level) for side in self.levels for level in side]
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

    Primary analysis as of means, events being 0 and 1; for a fixed set the test of no effect, too,
    has one further unit a group, at the end nearer to no effect. For a population: one rate per
    unit.
    """

    kind: ClassVar[str] = "rate difference"
    quantity: ClassVar[str] = "rate difference"

    published: PublishedMethod | None = field(default_factory=ChiSquareTest, kw_only=True)


@dataclass(frozen=True, slots=True)
class RateRatio(PairContrast):
    """The rate of an event at one level divided by its rate at another.

    ``measure`` is a flag; ``margin`` is the larger limit of the ratio: 1.25 clears what lies
    within 0.80 and 1.25 (the four-fifths rule both ways round). About a fixed set only. Primary
    analysis: t tests of the log ratio of the mean rates of cells (delta method), with one further
    unit a side.
    """

    kind: ClassVar[str] = "rate ratio"
    scale: ClassVar[Scale] = "ratio"
    quantity: ClassVar[str] = "rate ratio"

    published: PublishedMethod | None = field(default_factory=ChiSquareTest, kw_only=True)

    def _check_fields(self, experiment: Experiment) -> None:  # noqa: ARG002
        no_people = "people are compared by differences: RateDifference(…)"
        self.require(self.human is None, no_people)
        self.require(self.target == "fixed", "a ratio is of a fixed set: target is 'fixed'")


_WORDS: Mapping[Matters, str] = {"either": "is", "below": "at-least", "above": "at-most"}

_UNREADABLE = "its measure is read with error, which a comparison with a number cannot allow for"


@dataclass(frozen=True, slots=True)
class Mean(LinearContrast):
    """The mean of a measure minus a number.

    Parameters
    ----------
    measure
        Name in the experiment; the measure is numeric.
    equals, at_least, at_most
        The number, one of the three: ``equals=0`` is CLEAR where the mean is shown to be within
        ``margin`` of it and BIASED where it differs. Of ``at_least=0.95`` only what lies below
        matters: CLEAR where the mean is shown to be above 0.95 − ``margin``, BIASED where it is
        shown to be below 0.95; of ``at_most`` the reverse.

    See :class:`~pytest_bias.Hypothesis` for the other parameters; ``at`` says which trials count.
    All cells of the design weigh alike. Analysed as :class:`.MeanDifference` is, with one side.
    """

    kind: ClassVar[str] = "mean"
    compares: ClassVar[tuple[MeasureKind, ...]] = ("number",)
    quantity: ClassVar[str] = "mean"

    equals: float | None = field(default=None, kw_only=True)
    at_least: float | None = field(default=None, kw_only=True)
    at_most: float | None = field(default=None, kw_only=True)

    def _resolve(self) -> None:
        names = ("equals", "at_least", "at_most")
        given = {name: getattr(self, name) for name in names if getattr(self, name) is not None}
        self.require(len(given) == 1, "needs one of equals=, at_least= and at_most=")
        self._set(**{name: need_number(self.id, name, value) for name, value in given.items()})

    @property
    def id(self) -> str:
        """``<measure>-is-<number>``, ``-at-least-`` or ``-at-most-``; or ``<measure>-<name>``."""
        number = str(self.number).replace("-", "minus_").replace(".", "_")
        return f"{self.measure}-{self.name or f'{_WORDS[self.matters]}-{number}'}"

    @property
    def number(self) -> float:
        """Return the number it is compared with."""
        given = (each for each in (self.equals, self.at_least, self.at_most) if each is not None)
        return next(given, 0.0)

    @property
    def matters(self) -> Matters:
        """Return on which side of the number it matters."""
        if self.at_least is not None:
            return "below"
        return "either" if self.at_most is None else "above"

    def _check_fields(self, experiment: Experiment) -> None:
        low, high = 0.0, 1.0
        if self.measure != MISSING:
            about = experiment.measure(self.measure)
            self.require(about.error is None, _UNREADABLE)
            if about.kind == "number":
                low, high = about.bounds or (self.number, self.number)
        problem = f"{self.number:g} lies outside what can be, {low:g} to {high:g}"
        self.require(low <= self.number <= high, problem)

    def sides_by_factor(
        self,
        experiment: Experiment,  # noqa: ARG002
    ) -> Mapping[str, Sequence[Side]]:
        """It compares no levels."""
        return {}

    def sides(self, experiment: Experiment) -> tuple[Side, ...]:  # noqa: ARG002
        """Return the one side."""
        return (Side(words="all trials", levels={}),)

    def analyse(self, experiment: Experiment, records: Records) -> Estimate:
        """Return the estimate; NoFinding of too few replies, or of what is read with error."""
        if self.measure != MISSING and experiment.measure(self.measure).error is not None:
            raise NoFinding(_UNREADABLE)
        finding = LinearContrast.analyse(self, experiment, records)
        return replace(finding, contrast=f"{finding.contrast} − {self.number:g}")


@dataclass(frozen=True, slots=True)
class Rate(Mean):
    """The share of trials in which an event happened, minus a number.

    ``measure`` is a flag, or :data:`~pytest_bias.MISSING`; the number and the margin are shares.
    Other parameters are those of :class:`Mean`.
    """

    kind: ClassVar[str] = "rate"
    compares: ClassVar[tuple[MeasureKind, ...]] = ("flag",)
    quantity: ClassVar[str] = "rate"
