"""Figures an experiment asks for, as data: what is declared, and the numbers that are drawn.

A figure describes: nothing in it is tested, and it never has a part in a verdict. The numbers are
worked out in ``contrasts.estimation.figures`` and drawn by the page's script (``report/assets``).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from ..errors import BadDesign
from ..stats.results import Interval
from .design import frozen_mapping
from .fields import need_several
from .measures import MISSING


class Shown(Protocol):
    """The subject of a figure: an experiment's measures and levels, by name."""

    @property
    def id(self) -> str:
        """The experiment's id."""

    def measure(self, name: str) -> object:
        """The measure called ``name``; UnknownName if there is none."""

    def levels(self, name: str) -> Sequence[str]:
        """The levels of the factor ``name``, or the items' labels; UnknownName if none is."""


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
        per = f", per {self.by}" if self.by is not None else ""
        return self.title or f"{self.measure}: {self.y} by {self.x}{per}"


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
        per = f", per {self.by}" if self.by is not None else ""
        return self.title or f"{self.measure} by {self.over}{per}"


Figure = Heatmap | Means
"""What can be drawn in the report."""


def checked_figures(figures: Iterable[Figure], experiment: Shown) -> tuple[Figure, ...]:
    """``figures`` of ``experiment``, each looked at.

    Raises BadDesign or UnknownName for what is no figure, or shows what the experiment does not
    have.
    """
    what = f"Experiment({experiment.id!r})"
    found = need_several(what, "figures", figures, (Heatmap, Means), "Heatmap(…) or Means(…)")
    for figure in found:
        across = (figure.x, figure.y) if isinstance(figure, Heatmap) else (figure.over,)
        given = [name for name in (*across, figure.by) if name is not None]
        if figure.measure != MISSING:
            experiment.measure(figure.measure)
        for name in given:
            experiment.levels(name)
        if len(set(given)) < len(given):
            shown = f"{type(figure).__name__}({figure.measure!r})"
            raise BadDesign(what=shown, problem="shows one factor in two ways")
    return found


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
