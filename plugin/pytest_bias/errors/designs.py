"""Declarations that cannot be run or analysed, and numbers that cannot be computed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from .base import BiasError


class BadDesign(BiasError):
    """An experiment, factor or hypothesis is declared in a way that cannot be run or analysed."""

    def __init__(self, *, what: str, problem: str) -> None:
        self.problem = problem
        super().__init__(f"{what}: {problem}")


class NoControl(BiasError):
    """Hypotheses claim to be clear of measures of which there is no positive control."""

    def __init__(
        self, *, experiment: str, hypotheses: Iterable[str], measures: Iterable[str]
    ) -> None:
        self.hypotheses = tuple(hypotheses)
        self.measures = tuple(measures)
        first, *others = self.hypotheses
        which = f"{first} and {len(others)} more claim" if others else f"{first} claims"
        of = f" of {', '.join(self.measures)}" if self.measures else ""
        super().__init__(
            f"{experiment}: {which} to be clear, and without a positive control{of} nothing can "
            "be CLEAR there: declare one (@positive_control), or claim='detect'"
        )


class UnknownFactor(BiasError, KeyError):
    """A condition or trial is asked for a factor that its experiment does not have."""

    def __init__(self, *, factor: str, factors: Iterable[str]) -> None:
        self.factors = tuple(factors)
        known = ", ".join(self.factors)
        super().__init__(
            f"no factor {factor!r}; there are: {known} (an item's value is trial.item_value)"
        )

    def __str__(self) -> str:
        """The message itself; KeyError would quote it."""
        return str(self.args[0])


class BadStimuli(BiasError):
    """A file of stimuli, or of somebody's own data in their place, is not what it must be.

    ``line`` counts from 1; it and ``column`` are there where a single one is at fault.
    """

    def __init__(
        self, *, source: str, problem: str, line: int | None = None, column: str | None = None
    ) -> None:
        where = [source]
        where += [f"line {line}"] if line is not None else []
        where += [f"column {column!r}"] if column is not None else []
        super().__init__(f"{', '.join(where)}: {problem}")


class BadTemplate(BiasError):
    """A stimulus template names a variable nobody gives it, or is given one it does not use."""

    def __init__(self, *, name: str, unknown: Iterable[str], unused: Iterable[str]) -> None:
        self.unknown = tuple(sorted(unknown))
        self.unused = tuple(sorted(unused))
        parts = []
        if self.unknown:
            parts.append(f"uses unknown variable(s) {', '.join(self.unknown)}")
        if self.unused:
            parts.append(f"does not use variable(s) {', '.join(self.unused)}")
        super().__init__(f"template {name!r} {' and '.join(parts)}")


class Unserialisable(BiasError):
    """A value that has to travel or be stored as JSON is of a type JSON does not have."""

    def __init__(self, *, where: str, kind: str) -> None:
        self.where = where
        self.kind = kind
        super().__init__(
            f"{where} is a {kind}, which cannot be written as JSON; "
            "give a str, int, finite float, bool, None, list, dict or dataclass of these"
        )


class NotAsWritten(BiasError):
    """JSON is not that of the value it should be; names the first place where it is none."""

    def __init__(self, *, place: str, problem: str) -> None:
        super().__init__(f"{place}: {problem}" if place else problem)


class NoFinding(BiasError):
    """A contrast cannot be computed from the replies there are.

    ``published`` is the method its source names with the statistics it gives of them all the same;
    None where none is named.
    """

    published: tuple[str, Mapping[str, float | str]] | None = None


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
        self.column = column
        self.row = row
        self.problem = problem
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
