"""Differences and ratios of rates of an event."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from ..errors import BadDesign
from .declared import Declared, Levels, check_measure, null_of, settle_fields
from .findings import Finding
from .linear import analyse_linear, require_kind, standard_engine
from .means import check_called, check_pair, pair_asked, pair_id, pair_layout
from .published import ChiSquareTest, PublishedMethod

if TYPE_CHECKING:
    from ..experiments.design import Design
    from ..experiments.experiment import Experiment
    from ..experiments.records import Records
    from .estimation.cells import Grid
    from .estimation.tested import Tested
    from .estimation.weights import Weights
    from .layout import Layout


@dataclass(frozen=True, slots=True)
class RateDifference(Declared):
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

    measure: str
    factor: str
    high: Levels = field(kw_only=True)
    low: Levels = field(kw_only=True)
    called: tuple[str, str] | None = field(default=None, kw_only=True)
    published: PublishedMethod | None = field(default_factory=ChiSquareTest, kw_only=True)

    def __post_init__(self) -> None:
        settle_fields(self, self.id)
        check_called(self.id, self.called)

    @property
    def id(self) -> str:
        """``<measure>-<high>-<low>``, or ``<measure>-<name>``."""
        return pair_id(self.measure, self.name, self.high, self.low)

    def check(self, experiment: Experiment) -> None:
        """Raise BadDesign or UnknownName when ``experiment`` cannot answer this."""
        check_measure(self.id, experiment, self.measure, bounded=False)
        if self.margin is not None and self.margin >= 1:
            raise BadDesign(what=self.id, problem="margin is a share, below 1")
        check_pair(self, self.id, experiment, self.factor, self.high, self.low)

    def analyse(self, experiment: Experiment, records: Records) -> Finding:
        """The finding; NoFinding when a group has no valid reply."""
        asked = pair_asked(
            self, self.measure, self.factor, self.high, self.low, self.called, "rate difference"
        )
        engine = standard_engine(self, experiment, [self.factor], rates=True)

        def events(grid: Grid, weights: Weights) -> Tested:
            require_kind(self.id, grid.flags, flags=True)
            return engine(grid, weights)

        return analyse_linear(asked, experiment, records, events).finding

    def layout(self, experiment: Experiment, design: Design) -> Layout:
        """Return the observations ``design`` gives it."""
        return pair_layout(
            self, experiment, design, self.factor, self.high, self.low, within=False
        )


@dataclass(frozen=True, slots=True)
class RateRatio(Declared):
    """The rate of an event at one level divided by its rate at another.

    ``measure`` is a flag; ``margin`` is the larger limit of the ratio: 1.25 clears what lies
    within 0.80 and 1.25 (the four-fifths rule both ways round). About a fixed set only. Primary
    analysis: stratified score interval and tests of a ratio (Miettinen & Nurminen 1985).
    """

    measure: str
    factor: str
    high: Levels = field(kw_only=True)
    low: Levels = field(kw_only=True)
    called: tuple[str, str] | None = field(default=None, kw_only=True)
    published: PublishedMethod | None = field(default_factory=ChiSquareTest, kw_only=True)

    def __post_init__(self) -> None:
        settle_fields(self, self.id)
        check_called(self.id, self.called)

    @property
    def id(self) -> str:
        """``<measure>-ratio-<high>-<low>``, or ``<measure>-ratio-<name>``."""
        return pair_id(f"{self.measure}-ratio", self.name, self.high, self.low)

    def check(self, experiment: Experiment) -> None:
        """Raise BadDesign or UnknownName when ``experiment`` cannot answer this."""
        check_measure(self.id, experiment, self.measure, bounded=False)
        if self.margin is not None and self.margin <= 1:
            raise BadDesign(what=self.id, problem="margin is the larger limit of a ratio, above 1")
        if self.target != "fixed":
            raise BadDesign(what=self.id, problem="a ratio is of a fixed set: target is 'fixed'")
        check_pair(self, self.id, experiment, self.factor, self.high, self.low)

    def analyse(self, experiment: Experiment, records: Records) -> Finding:
        """The finding; NoFinding when a group has no valid reply, NoVariance without any event."""
        from .estimation.events import rate_ratio  # noqa: PLC0415

        asked = pair_asked(
            self, self.measure, self.factor, self.high, self.low, self.called, "rate ratio"
        )
        null = null_of(self, experiment, [self.factor])

        def events(grid: Grid, weights: Weights) -> Tested:
            require_kind(self.id, grid.flags, flags=True)
            return rate_ratio(grid, weights, margin=self.margin, null=null)

        finding = analyse_linear(
            replace(asked, scale="ratio"), experiment, records, events
        ).finding
        return replace(finding, contrast=finding.contrast.replace(" − ", " / "))

    def layout(self, experiment: Experiment, design: Design) -> Layout:
        """Return the observations ``design`` gives it."""
        return pair_layout(
            self, experiment, design, self.factor, self.high, self.low, within=False
        )
