"""A measure against a number: a rate or a mean of all trials, such as first choices against .5."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import ClassVar

from ..errors import NoFinding
from ..experiments.design import Design
from ..experiments.experiment import Experiment
from ..experiments.fields import need_number, need_text
from ..experiments.measures import MISSING, MeasureKind
from ..experiments.records import Records
from .declared import Declared
from .findings import Estimate, Matters
from .linear import Asked, Side, analyse_linear
from .reach import check_compared, layout_of
from .units import Layout

_UNREADABLE = "its measure is read with error, which a comparison with a number cannot allow for"


@dataclass(frozen=True, slots=True)
class _Against(Declared):
    """A measure's mean minus a number; see :class:`.Mean`."""

    measure: str
    equals: float | None = field(default=None, kw_only=True)
    at_least: float | None = field(default=None, kw_only=True)
    at_most: float | None = field(default=None, kw_only=True)
    called: str = field(default="all trials", kw_only=True)

    flags: ClassVar[bool] = False
    """Whether its measure is an event; else it is a number."""
    quantity: ClassVar[str] = "mean"

    def __post_init__(self) -> None:
        self.settle_fields()
        need_text(self.id, called=self.called)
        for name in ("equals", "at_least", "at_most"):
            if (given := getattr(self, name)) is not None:
                object.__setattr__(self, name, need_number(self.id, name, given))
        if sum(each is not None for each in (self.equals, self.at_least, self.at_most)) != 1:
            raise self.refused(problem="needs one of equals=, at_least= and at_most=")

    @property
    def id(self) -> str:
        """``<measure>-is-<number>``, ``-at-least-`` or ``-at-most-``; or ``<measure>-<name>``."""
        if self.name:
            return f"{self.measure}-{self.name}"
        words = {"either": "is", "below": "at-least", "above": "at-most"}[self.matters]
        number = str(self.number).replace("-", "minus_").replace(".", "_")
        return f"{self.measure}-{words}-{number}"

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

    def check(self, experiment: Experiment) -> None:
        """Raise BadDesign or UnknownName when ``experiment`` cannot answer this."""
        kind: MeasureKind = "flag" if self.flags else "number"
        bounded = self.gates and not self.flags
        self.check_measure(experiment, self.measure, kind, bounded=bounded)
        bounds = (0.0, 1.0)
        if self.measure != MISSING:
            about = experiment.measure(self.measure)
            bounds = bounds if self.flags else about.bounds or (self.number, self.number)
            if about.error is not None:
                raise self.refused(problem=_UNREADABLE)
        if not bounds[0] <= self.number <= bounds[1]:
            problem = f"{self.number:g} lies outside what can be, {bounds[0]:g} to {bounds[1]:g}"
            raise self.refused(problem=problem)
        check_compared(self, experiment, {})

    def layout(self, experiment: Experiment, design: Design) -> Layout:
        """Return the observations ``design`` gives it."""
        return layout_of(self, experiment, design, {})

    def analyse(self, experiment: Experiment, records: Records) -> Estimate:
        """The finding; NoFinding when there are too few replies, or a condition has none."""
        from .estimation.cells import Weights  # noqa: PLC0415  (numpy)

        if self.measure != MISSING and experiment.measure(self.measure).error is not None:
            raise NoFinding(_UNREADABLE)
        asked = Asked(
            declared=self,
            measure=self.measure,
            quantity=self.quantity,
            weights=Weights({}),
            sides=(Side(words=self.called, levels={}),),
            number=self.number,
            matters=self.matters,
        )
        finding = analyse_linear(asked, experiment, records)
        return replace(finding, contrast=f"{finding.contrast} − {self.number:g}")


@dataclass(frozen=True, slots=True)
class Mean(_Against):
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
    called
        What it is the mean of, in print.

    See :class:`~pytest_bias.contrasts.declared.Declared` for the other parameters; ``at`` says
    which trials count. All cells of the design weigh alike. Analysed as :class:`.MeanDifference`
    is, with one side.
    """

    kind: ClassVar[str] = "mean"


@dataclass(frozen=True, slots=True)
class Rate(_Against):
    """The share of trials in which an event happened, minus a number.

    ``measure`` is a flag, or :data:`~pytest_bias.MISSING`; the number and the margin are shares.
    Other parameters are those of :class:`Mean`.
    """

    kind: ClassVar[str] = "rate"

    flags: ClassVar[bool] = True
    quantity: ClassVar[str] = "rate"
