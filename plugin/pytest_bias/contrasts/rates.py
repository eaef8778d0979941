"""Differences and ratios of rates of an event."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from ..errors import BadDesign
from .declared import check_measure, null_of
from .findings import Finding
from .linear import analyse_linear
from .pairs import PairContrast
from .published import ChiSquareTest, PublishedMethod

if TYPE_CHECKING:
    from ..experiments.experiment import Experiment
    from ..experiments.records import Records


@dataclass(frozen=True, slots=True)
class RateDifference(PairContrast):
    """The share of trials in which an event happened, at one level minus at another.

    ``measure`` is a flag, or :data:`~pytest_bias.MISSING`: whether a trial gave no valid reply, so
    that refusals are an outcome of their own. Other parameters are those of
    :class:`MeanDifference`; the margin is a share (0.1 is ten points).

    Primary analysis, for a fixed set: hybrid score interval (Newcombe 1998, method 10) with
    Pearson's chi-square or, where an expected count is below 5, Fisher's exact test; over several
    strata the stratified score interval and test (Miettinen & Nurminen 1985), with a permutation
    within strata for rare events. Clearing is by score tests at the margin. For a population: one
    rate per unit, compared like means.
    """

    published: PublishedMethod | None = field(default_factory=ChiSquareTest, kw_only=True)

    def check(self, experiment: Experiment) -> None:
        """Raise BadDesign or UnknownName when ``experiment`` cannot answer this."""
        check_measure(self, experiment, self.measure)
        if self.margin is not None and self.margin >= 1:
            raise BadDesign(what=self.id, problem="margin is a share, below 1")
        PairContrast.check(self, experiment)

    def analyse(self, experiment: Experiment, records: Records) -> Finding:
        """The finding; NoFinding when a group has no valid reply."""
        return analyse_linear(self.asked("rate difference"), experiment, records).finding


@dataclass(frozen=True, slots=True)
class RateRatio(PairContrast):
    """The rate of an event at one level divided by its rate at another.

    ``measure`` is a flag; ``margin`` is the larger limit of the ratio: 1.25 clears what lies
    within 0.80 and 1.25 (the four-fifths rule both ways round). About a fixed set only. Primary
    analysis: stratified score interval and tests of a ratio (Miettinen & Nurminen 1985).
    """

    published: PublishedMethod | None = field(default_factory=ChiSquareTest, kw_only=True)

    @property
    def id(self) -> str:
        """``<measure>-ratio-<high>-<low>``, or ``<measure>-ratio-<name>``."""
        return self.id_of(f"{self.measure}-ratio")

    def check(self, experiment: Experiment) -> None:
        """Raise BadDesign or UnknownName when ``experiment`` cannot answer this."""
        check_measure(self, experiment, self.measure)
        if self.margin is not None and self.margin <= 1:
            raise BadDesign(what=self.id, problem="margin is the larger limit of a ratio, above 1")
        if self.target != "fixed":
            raise BadDesign(what=self.id, problem="a ratio is of a fixed set: target is 'fixed'")
        PairContrast.check(self, experiment)

    def analyse(self, experiment: Experiment, records: Records) -> Finding:
        """The finding; NoFinding when a group has no valid reply, NoVariance without any event."""
        from .estimation.events import rate_ratio  # noqa: PLC0415

        null = null_of(self, experiment, [self.factor])
        finding = analyse_linear(
            self.asked("rate ratio", scale="ratio"),
            experiment,
            records,
            lambda grid, weights: rate_ratio(grid, weights, margin=self.margin, null=null),
        ).finding
        return replace(finding, contrast=finding.contrast.replace(" − ", " / "))
