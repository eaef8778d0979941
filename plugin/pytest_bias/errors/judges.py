"""Judges that are told what they must not know, and labels of people that cannot be read."""

from __future__ import annotations

from .base import BiasError

_LONGEST = 60


class JudgeNotBlind(BiasError):
    """The judge would be sent a name, or a level, that it must not know.

    Parameters
    ----------
    factor, level
        Whose name it is, in the trial in hand.
    name
        The words that are told; None where no text may be kept.
    place
        Where: ``message 2 (user)``, ``the reply's schema``.
    """

    def __init__(
        self, *, experiment: str, trial: str, factor: str, level: str, name: str | None, place: str
    ) -> None:
        self.experiment = experiment
        self.trial = trial
        self.factor = factor
        self.level = level
        self.name = name
        self.place = place
        quoted = "" if name is None else f" {name if len(name) <= _LONGEST else name[:_LONGEST]!r}"
        super().__init__(
            f"{experiment}, trial {trial}: the judge would be told{quoted} (factor {factor!r}, "
            f"level {level!r}; in {place}), to which it must be blind; nothing is sent. Give it "
            "masked(text, [name]), or take the factor out of the experiment's blind="
        )


class BadLabels(BiasError):
    """A file of labels that people gave is not what it must be.

    Parameters
    ----------
    path
        The file.
    line
        Its line, from 1; 0 where it is none in particular.
    column
        Name of the column; empty where it is none in particular.
    """

    def __init__(self, *, path: str, line: int, column: str = "", problem: str) -> None:
        self.path = path
        self.line = line
        self.column = column
        self.problem = problem
        where = path + (f", line {line}" if line else "") + (f", column {column!r}" * bool(column))
        super().__init__(f"{where}: {problem}")
