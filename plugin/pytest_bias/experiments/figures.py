"""Figures an experiment asks for, as data: what is declared, and the numbers that are drawn.

A figure describes: nothing in it is tested, and it never has a part in a verdict. The numbers are
worked out in ``verdicts.summaries`` and drawn by the page's script (``report/assets``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from ..stats.results import Interval
from .design import frozen_mapping

FigureKind = Literal["heatmap", "means"]
"""What a figure is drawn as: coloured cells, or points with intervals."""


@dataclass(frozen=True, slots=True)
class Heatmap:
    """The mean of a measure (of a flag: the rate) in every cell of two factors, as colours.

    Parameters
    ----------
    measure
        A number, a flag, or :data:`~pytest_bias.MISSING`.
    x, y
        What the columns and the rows are: a factor, or the items by their name.
    by
        One panel per level of this factor, or per item; None for a single panel.
    title
        Heading in the report; by default it says what is shown.
    """

    measure: str
    x: str
    y: str
    by: str | None = None
    title: str = ""

    @property
    def heading(self) -> str:
        """The title, or what stands in for one."""
        return self.title or f"{self.measure}: {self.y} by {self.x}{_per(self.by)}"

    @property
    def factor_names(self) -> list[str]:
        """Names of all factors, and of the items, that it shows."""
        return [name for name in (self.x, self.y, self.by) if name is not None]


@dataclass(frozen=True, slots=True)
class Means:
    """The mean of a measure (of a flag: the rate) at every level, each with its 95 % interval.

    The units are replies, so an interval is about this very set of stimuli. For numbers it is
    Student's, from the variance within the cells of condition, exemplar and item; for flags it is
    Wilson's score interval (1927).

    Parameters
    ----------
    measure
        A number, a flag, or :data:`~pytest_bias.MISSING`.
    over
        The factor, or the items by their name, whose levels are shown.
    by
        One series per level of this factor, or per item; None for a single series.
    title
        Heading in the report; by default it says what is shown.
    """

    measure: str
    over: str
    by: str | None = None
    title: str = ""

    @property
    def heading(self) -> str:
        """The title, or what stands in for one."""
        return self.title or f"{self.measure} by {self.over}{_per(self.by)}"

    @property
    def factor_names(self) -> list[str]:
        """Names of all factors, and of the items, that it shows."""
        return [name for name in (self.over, self.by) if name is not None]


def _per(by: str | None) -> str:
    return f", per {by}" if by is not None else ""


Figure = Heatmap | Means
"""What can be drawn in the report."""


@dataclass(frozen=True, slots=True)
class Axis:
    """A factor, or the items, with the levels in declared order."""

    name: str
    levels: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Spot:
    """One cell of a heatmap, or one point of means.

    ``value`` is the mean of the ``replies`` that are valid (of a flag: their rate, a share), None
    where there are none: that is no value, and never 0. ``missing`` counts the trials without a
    valid reply, by reason. ``interval`` is at 95 %, None where there is none, and ``why`` then
    says for what reason, where one was asked for. ``y`` and ``by`` are None in figures that have
    none.
    """

    x: str
    y: str | None = None
    by: str | None = None
    value: float | None
    replies: int
    missing: Mapping[str, int]
    interval: Interval | None = None
    why: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "missing", frozen_mapping(dict(sorted(self.missing.items()))))


@dataclass(frozen=True, slots=True, kw_only=True)
class Illustration:
    """A figure's numbers: every spot of x × y × by, in declared order, ``x`` running fastest.

    ``flag`` says that values are rates; ``bounds`` are those of the measure, None where it has
    none. ``y`` is None for means.
    """

    kind: FigureKind
    title: str
    measure: str
    unit: str
    flag: bool
    bounds: tuple[float, float] | None
    x: Axis
    y: Axis | None
    by: Axis | None
    spots: tuple[Spot, ...]
