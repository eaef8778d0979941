"""Hypotheses: an estimand on a measure, its margin, claim, target and family, as data.

A hypothesis is declared before any reply exists and costs nothing to declare; its ``analyse``
imports the statistics when it is called.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol, get_args

from .errors import BadDesign, TooFewUnits
from .estimates import Interval
from .findings import Arm, Finding, HumanStudy, Index

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .experiment import Experiment
    from .records import Records

Claim = Literal["clear", "detect"]
Target = Literal["fixed", "population"]
Direction = Literal["positive", "negative"]

FEWEST_UNITS = 5
"""Units per group below which no verdict is given."""


class Contrast(Protocol):
    """Anything that can be analysed into a finding: hypotheses and positive controls."""

    @property
    def id(self) -> str:
        """Short stable id, unique within an experiment."""

    def check(self, experiment: Experiment) -> None:
        """Raise BadDesign or UnknownName when ``experiment`` cannot answer this."""

    def analyse(self, experiment: Experiment, records: Records) -> Finding:
        """The finding; TooFewUnits when there is too little to compute one."""


class Hypothesis(Contrast, Protocol):
    """A contrast that is given a verdict."""

    @property
    def claim(self) -> Claim:
        """``clear``: sized to be cleared, INCONCLUSIVE fails; ``detect``: can only find."""

    @property
    def family(self) -> str:
        """Hypotheses of one family share the error rate of their alarms (Holm 1979)."""

    @property
    def direction(self) -> Direction | None:
        """Sign the literature reports, None where it reports none."""


@dataclass(frozen=True, slots=True)
class MeanDifference:
    """The mean of a measure at one level of a factor minus its mean at another.

    Parameters
    ----------
    measure, factor
        Names in the experiment; the measure is numeric.
    high, low
        Levels of the factor; the estimate is mean(high) − mean(low), in the measure's unit.
    margin
        Largest difference that does not matter, in the measure's unit.
    claim
        ``"clear"`` or ``"detect"``.
    target
        ``"fixed"``: about this very set of stimuli, replies are the units.
    scope
        The set in words, for the verdict ("this vignette").
    direction
        Sign the source reports.
    family
        Name of the family of alarms this hypothesis belongs to.
    human
        Published difference in people.

    Notes
    -----
    Primary analysis: Welch's unequal-variance t test against 0 and two one-sided tests at the
    margin (Welch 1947; Schuirmann 1987), replies as units. Replies that are all alike are bounded
    exactly instead. A manipulation that leaves the stimulus the same has a true point null, so
    alarms test against 0 although the target is fixed.
    """

    measure: str
    factor: str
    high: str = field(kw_only=True)
    low: str = field(kw_only=True)
    margin: float = field(kw_only=True)
    claim: Claim = field(kw_only=True)
    target: Target = field(default="fixed", kw_only=True)
    scope: str = field(default="these stimuli", kw_only=True)
    direction: Direction | None = field(default=None, kw_only=True)
    family: str = field(default="primary", kw_only=True)
    human: HumanStudy | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        if not (math.isfinite(self.margin) and self.margin > 0):
            raise BadDesign(what=self.id, problem="margin must be a finite number above 0")
        object.__setattr__(self, "margin", float(self.margin))
        for name, given, known in (
            ("claim", self.claim, get_args(Claim)),
            ("target", self.target, get_args(Target)),
            ("direction", self.direction, (None, *get_args(Direction))),
        ):
            if given not in known:
                words = " or ".join(repr(word) for word in known)
                raise BadDesign(what=self.id, problem=f"{name} must be {words}")

    @property
    def id(self) -> str:
        """``<measure>-<high>-<low>``."""
        return f"{self.measure}-{self.high}-{self.low}"

    def check(self, experiment: Experiment) -> None:
        """Raise BadDesign or UnknownName when ``experiment`` cannot answer this."""
        _check_two_groups(self.id, experiment, self.factor, self.high, self.low)
        if experiment.measure(self.measure).bounds is None:
            raise BadDesign(
                what=self.id,
                problem=(
                    f"measure {self.measure!r} declares no bounds; worst cases for missing "
                    "replies and statements about identical replies need them"
                ),
            )
        if self.target != "fixed":
            raise BadDesign(
                what=self.id,
                problem="one stimulus is no sample of a population: target must be 'fixed'",
            )

    def analyse(self, experiment: Experiment, records: Records) -> Finding:
        """The finding; TooFewUnits when a group has fewer than two valid replies."""
        from . import statistics, two_groups  # noqa: PLC0415  (scipy takes half a second to import)

        measure = experiment.measure(self.measure)
        bounds = measure.bounds
        assert bounds is not None  # noqa: S101  (check() refuses a measure without)
        high, low = (records.where(self.factor, level) for level in (self.high, self.low))
        a, b = high.numbers(self.measure), low.numbers(self.measure)
        for level, values in ((self.high, a), (self.low, b)):
            if len(values) < 2:  # noqa: PLR2004  (a variance needs two)
                raise TooFewUnits(group=f"{self.factor}={level}", found=len(values), needed=2)
        tested = two_groups.compare(a, b, margin=self.margin, bounds=bounds)
        welch = tested.welch
        return Finding(
            quantity="mean difference",
            measure=self.measure,
            unit=measure.unit,
            factor=self.factor,
            high=_arm(experiment, self.factor, self.high, high, a),
            low=_arm(experiment, self.factor, self.low, low, b),
            estimate=tested.estimate,
            interval=tested.interval,
            p_alarm=tested.p_alarm,
            p_clear=tested.p_clear,
            margin=self.margin,
            method=tested.method,
            target=self.target,
            scope=self.scope,
            units=len(a) + len(b),
            replies=len(a) + len(b),
            deterministic=welch is None,
            settle=two_groups.units_to_settle(a, b, margin=self.margin, bounds=bounds),
            equivalence=tested.tost,
            effect_size=statistics.standardized_difference(a, b) if welch is not None else None,
            bootstrap=two_groups.bootstrap(a, b),
            index=self._index(experiment, tested.estimate, tested.interval),
            human=two_groups.beside_people(welch, self.human) if welch and self.human else None,
            worst_case=two_groups.worst_case(
                a,
                b,
                missing_a=high.missing.total(),
                missing_b=low.missing.total(),
                margin=self.margin,
                bounds=bounds,
            ),
            published=two_groups.published_column(a, b, welch) if welch is not None else None,
            notes=tested.notes,
        )

    def _index(self, experiment: Experiment, estimate: float, interval: Interval) -> Index | None:
        levels = experiment.factor(self.factor).levels
        high, low = levels[self.high], levels[self.low]
        if not isinstance(high, int | float) or not isinstance(low, int | float) or high == low:
            return None
        span = float(high - low)
        ends = sorted((interval.low / span, interval.high / span))
        return Index(
            estimate=estimate / span,
            interval=Interval(low=ends[0], high=ends[1], level=interval.level),
            span=span,
        )


@dataclass(frozen=True, slots=True)
class RateDifference:
    """The share of trials in which an event happened, at one level minus at another.

    ``measure`` is a flag. Interval: hybrid score (Newcombe 1998, method 10); p from Pearson's
    chi-square, or Fisher's exact test where an expected count is below 5. It has no margin, so it
    serves as a positive control.
    """

    measure: str
    factor: str
    high: str = field(kw_only=True)
    low: str = field(kw_only=True)
    scope: str = field(default="these stimuli", kw_only=True)

    @property
    def id(self) -> str:
        """``<measure>-<high>-<low>``."""
        return f"{self.measure}-{self.high}-{self.low}"

    def check(self, experiment: Experiment) -> None:
        """Raise BadDesign or UnknownName when ``experiment`` cannot answer this."""
        _check_two_groups(self.id, experiment, self.factor, self.high, self.low)
        experiment.measure(self.measure)

    def analyse(self, experiment: Experiment, records: Records) -> Finding:
        """The finding; TooFewUnits when a group has no valid reply."""
        from . import statistics  # noqa: PLC0415

        high, low = (records.where(self.factor, level) for level in (self.high, self.low))
        a, b = self._flags(high), self._flags(low)
        for level, flags in ((self.high, a), (self.low, b)):
            if not flags:
                raise TooFewUnits(group=f"{self.factor}={level}", found=0, needed=1)
        result = statistics.newcombe(int(sum(a)), len(a), int(sum(b)), len(b))
        return Finding(
            quantity="rate difference",
            measure=self.measure,
            unit="",
            factor=self.factor,
            high=_arm(experiment, self.factor, self.high, high, a),
            low=_arm(experiment, self.factor, self.low, low, b),
            estimate=result.difference,
            interval=result.interval,
            p_alarm=result.p,
            p_clear=None,
            margin=None,
            method=f"hybrid score interval; {_TEST_NAMES[result.test]}",
            target="fixed",
            scope=self.scope,
            units=len(a) + len(b),
            replies=len(a) + len(b),
        )

    def _flags(self, rows: Records) -> list[float]:
        flags = rows.column(self.measure)
        if not all(isinstance(flag, bool) for flag in flags):
            raise BadDesign(what=self.id, problem="its measure must be True or False")
        return [float(flag) for flag in flags]


_TEST_NAMES = {"fisher": "Fisher's exact test", "pearson": "Pearson's chi-square"}


def _arm(
    experiment: Experiment, factor: str, level: str, rows: Records, values: Sequence[float]
) -> Arm:
    return Arm(
        level=level,
        value=_shown(experiment, factor, level),
        units=len(values),
        missing=rows.missing,
        mean=math.fsum(values) / len(values),
    )


def _shown(experiment: Experiment, factor: str, level: str) -> str:
    """The value of a level for print; its label where words of a prompt are not to be kept."""
    value = experiment.factor(factor).levels[level]
    return str(value) if experiment.retention == "raw" or isinstance(value, int | float) else level


def _check_two_groups(what: str, experiment: Experiment, factor: str, high: str, low: str) -> None:
    levels = experiment.factor(factor).levels
    for level in (high, low):
        if level not in levels:
            raise BadDesign(what=what, problem=f"{level!r} is no level of {factor!r}")
    if high == low:
        raise BadDesign(what=what, problem="compares a level with itself")
    if len(experiment.factors) > 1 or experiment.items or experiment.factors[0].exemplars:
        raise BadDesign(
            what=what,
            problem=(
                f"{experiment.id} crosses more than one factor, or items, or exemplars; replies "
                "would be pooled over unlike cells. Only designs of one factor can be analysed"
            ),
        )
