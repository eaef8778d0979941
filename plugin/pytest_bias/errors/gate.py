"""Failures by the gate, and reports that could not be written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .base import BiasError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


class ReportNotWritten(BiasError):
    """A report could not be written where it was asked for."""

    def __init__(self, *, path: Path | str, problem: str) -> None:
        self.path = str(path)
        super().__init__(f"{path} was not written: {problem}")


class DamagedResults(BiasError):
    """A file of results is not what a run has written."""

    def __init__(self, *, path: Path | str, problem: str) -> None:
        self.path = str(path)
        self.problem = problem
        super().__init__(f"{path}: {problem}. Run the part again that has written it.")


class DamagedReport(BiasError):
    """What a case found did not arrive as it was sent, or was sent by another version."""

    def __init__(self, *, problem: str) -> None:
        self.problem = problem
        super().__init__(
            f"what it found cannot be read: {problem}. All processes of a run need the same "
            "pytest-bias, and no other plugin may change what its reports say."
        )


class NotMerged(BiasError):
    """Results that do not belong together: they are of different runs, versions or designs."""

    def __init__(self, *, parts: Iterable[str], problem: str) -> None:
        self.parts = tuple(parts)
        self.problem = problem
        super().__init__(f"cannot merge {' and '.join(self.parts)}: {problem}")


class NotExported(BiasError):
    """The files an experiment declares could not be made."""

    def __init__(self, *, experiment: str, problem: str) -> None:
        self.experiment = experiment
        self.problem = problem
        super().__init__(f"no exports of {experiment} were written: {problem}")


class BiasFound(BiasError, AssertionError):
    """The gate stops a BIASED verdict."""


class Inconclusive(BiasError, AssertionError):
    """The gate stops an INCONCLUSIVE verdict of a hypothesis that claims to be clear."""


class ControlNotSeen(BiasError, AssertionError):
    """A positive control was not seen, so the instrument may be unable to show any bias."""


class NotJudged(BiasError):
    """A decorated function was called, and nobody is going to judge what it found."""

    def __init__(self, *, function: str) -> None:
        self.function = function
        super().__init__(
            f"{function} was called without the pytest-bias plugin judging it, so a bias would "
            "pass unseen. Enable the plugin (-p pytest-bias, and no -p no:pytest-bias); give "
            "every decorator above it functools.wraps; keep it out of a unittest.TestCase."
        )
