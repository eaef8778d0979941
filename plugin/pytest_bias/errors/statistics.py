"""Numbers that cannot be computed, and arguments outside their domain."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .base import BiasError

if TYPE_CHECKING:
    from collections.abc import Iterable


class NoFinding(BiasError):
    """A contrast cannot be computed from the replies there are."""


class TooFewUnits(NoFinding):
    """A statistic was asked of fewer units than it can be computed from."""

    def __init__(self, *, group: str, found: int, needed: int) -> None:
        self.group = group
        self.found = found
        self.needed = needed
        super().__init__(f"{group}: {found} unit(s), at least {needed} needed")


class IncompleteDesign(NoFinding):
    """Cells a contrast pools over have no valid reply at all."""

    def __init__(self, *, cells: Iterable[str]) -> None:
        self.cells = tuple(cells)
        shown = ", ".join(self.cells[:3])
        more = f" and {len(self.cells) - 3} more" if len(self.cells) > 3 else ""  # noqa: PLR2004
        super().__init__(
            f"incomplete design: no valid reply in {shown}{more}, so nothing is pooled over it"
        )


class NoVariance(NoFinding):
    """A statistic that divides by a standard deviation was asked of constant data."""

    def __init__(self, *, statistic: str = "") -> None:
        self.statistic = statistic
        super().__init__(
            f"{statistic}: every value within each group is the same, so it is not defined"
        )

    def refused_by(self, function: str) -> None:
        """Name the function that could not compute it, unless one is named already."""
        if not self.statistic:
            NoVariance.__init__(self, statistic=function)


class BadTable(BiasError):
    """A table of data is not what a published analysis needs.

    ``row`` counts from 1 without the header; None where no single row is at fault.
    """

    def __init__(self, *, table: str, column: str, problem: str, row: int | None = None) -> None:
        self.table = table
        self.column = column
        self.problem = problem
        self.row = row
        where = f"column {column!r}" if row is None else f"row {row}, column {column!r}"
        super().__init__(f"{table}, {where}: {problem}")


class BadStatisticInput(BiasError):
    """An argument of a statistical function is outside its domain."""

    def __init__(self, *, argument: str, problem: str, function: str = "") -> None:
        self.function = function
        self.argument = argument
        self.problem = problem
        super().__init__(f"{function}({argument}=…): {problem}")

    def refused_by(self, function: str) -> None:
        """Name the function whose argument it is, unless one is named already."""
        if not self.function:
            BadStatisticInput.__init__(
                self, argument=self.argument, problem=self.problem, function=function
            )
