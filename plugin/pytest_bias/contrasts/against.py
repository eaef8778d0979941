"""A measure against a number: a rate or a mean of all trials, such as first choices against .5."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

from ..errors import NoFinding
from ..experiments.experiment import Experiment
from ..experiments.fields import need_number
from ..experiments.measures import MISSING, MeasureKind
from ..experiments.records import Records
from ..stats.results import Matters
from .estimate import Estimate
from .linear import LinearContrast, Side

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

    def _settle(self) -> None:
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

    def _check_own(self, experiment: Experiment) -> None:
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
