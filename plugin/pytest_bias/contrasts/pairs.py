"""Two sides of one factor, as differences of means and rates of them are declared."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from ..errors import BadDesign
from ..experiments.fields import is_pair, wrong
from .declared import Declared, Levels, check_levels, levels_of, settle_fields
from .linear import Asked, Side
from .reach import check_compared, layout_of

if TYPE_CHECKING:
    from ..experiments.design import Design
    from ..experiments.experiment import Experiment
    from .effects import Scale
    from .layout import Layout


@dataclass(frozen=True, slots=True)
class PairContrast(Declared):
    """A comparison of ``high`` with ``low`` levels of a factor; see :class:`.MeanDifference`."""

    measure: str
    factor: str
    high: Levels = field(kw_only=True)
    low: Levels = field(kw_only=True)
    called: tuple[str, str] | None = field(default=None, kw_only=True)

    flags: ClassVar[bool] = True
    """Whether its measure is an event; else it is a number."""

    def __post_init__(self) -> None:
        settle_fields(self)
        called: object = self.called
        if called is not None and not is_pair(called):
            expected = "two texts: of the high side and of the low"
            raise wrong(self.id, "called", called, expected)

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
        check_levels(self, experiment, self.factor, [*high, *low])
        if not high or not low:
            raise BadDesign(what=self.id, problem="a side has no level")
        if len({*high, *low}) < len(high) + len(low):
            raise BadDesign(what=self.id, problem="compares a level with itself")
        check_compared(self, experiment, [{self.factor: side} for side in self.levels])

    def asked(self, quantity: str, scale: Scale = "difference") -> Asked:
        """Return the comparison as the analysis needs it."""
        from .estimation.weights import pairwise  # noqa: PLC0415  (numpy)

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
            flags=self.flags,
        )

    def layout(self, experiment: Experiment, design: Design) -> Layout:
        """Return the observations ``design`` gives it."""
        sides = [{self.factor: levels} for levels in self.levels]
        return layout_of(self, experiment, design, sides, within=not self.flags)
