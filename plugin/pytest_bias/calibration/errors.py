"""Errors that keep a calibration from being carried out or read."""

from __future__ import annotations

from pathlib import Path

from ..errors import BiasError


class Unanswered(BiasError):
    """A simulated subject gives no reply to what an experiment asks of it."""

    def __init__(self, *, experiment: str, trial: str) -> None:
        super().__init__(
            f"{experiment}, trial {trial}: the simulated subject gives no reply, so nothing "
            "can be drawn; its function (simulated=) must answer all that the protocol asks"
        )


class DrawFailed(BiasError):
    """A draw ended in an error of the suite's own code."""

    def __init__(self, *, experiment: str, subject: str, draw: int, problem: str) -> None:
        super().__init__(f"{experiment}, {subject}, draw {draw}: {problem}")


class DamagedCalibration(BiasError):
    """A file of draws is not what was written, or was written for something else."""

    def __init__(self, *, path: Path, line: int, problem: str) -> None:
        self.line = line
        super().__init__(
            f"{path}, line {line}: {problem}. Restore the file, or move it away and draw anew"
        )
