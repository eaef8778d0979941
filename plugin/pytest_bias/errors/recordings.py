"""Recordings that are missing, damaged, or not what was asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .base import BiasError

if TYPE_CHECKING:
    from pathlib import Path


class DamagedCassette(BiasError):
    """A cassette file is not what was written: truncated, edited or of another format."""

    def __init__(self, *, path: Path | str, line: int, problem: str) -> None:
        self.path = str(path)
        self.line = line
        self.problem = problem
        super().__init__(
            f"{path}, line {line}: {problem}. Restore the file from version control, or remove it "
            "and record it again (--bias-record=missing)."
        )


class KeepsText(BiasError):
    """Raw text stands in the cassette of an experiment that keeps none."""

    def __init__(self, *, path: Path | str, retention: str) -> None:
        self.path = str(path)
        super().__init__(
            f"{path} holds requests and replies as text, and its experiment has "
            f'retention="{retention}"; move the file to where text may stand, then record again'
        )


class NotKept(BiasError):
    """A reply could not be written."""

    def __init__(self, *, path: Path | str, problem: str) -> None:
        self.path = str(path)
        super().__init__(f"{path} cannot be written to: {problem}; nothing more is called")


class CassetteBusy(BiasError):
    """Another process is recording into the same cassette."""

    def __init__(self, *, path: Path | str) -> None:
        self.path = str(path)
        super().__init__(
            f"{path} is being recorded by another process; wait for it to end, then run again"
        )


class NotRecorded(BiasError):
    """Interactions that an offline run needs are not in the cassette."""

    def __init__(self, summary: str, explanation: str) -> None:
        self.summary = summary
        self.explanation = explanation
        super().__init__(summary)
