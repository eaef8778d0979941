"""Trials and replies that are not what they must be."""

from __future__ import annotations

from .base import BiasError


class InvalidReply(BiasError):
    """A reply that cannot be measured; ``reason`` is the word under which the trial is missing."""

    def __init__(self, reason: str, detail: str = "") -> None:
        self.reason = reason
        self.detail = detail
        super().__init__(f"{reason}: {detail}" if detail else reason)


class ForeignAwait(BiasError):
    """A protocol awaited something else than ``ask()`` and ``together()``."""

    def __init__(self, *, protocol: str, where: str, what: str) -> None:
        self.protocol = protocol
        self.where = where
        self.what = what
        super().__init__(
            f"the protocol {protocol}() awaits {what} at {where}; a protocol may await only "
            "subject.ask() and together(), because nothing else can be replayed"
        )


class ReplayDiffers(BiasError):
    """A trial replayed straight after it was carried out did not give the same outcome."""

    def __init__(self, *, experiment: str, trial: str, problem: str) -> None:
        self.experiment = experiment
        self.trial = trial
        self.problem = problem
        super().__init__(
            f"{experiment}, trial {trial}: replaying it straight away differs "
            f"({problem}). The protocol depends on something that is not recorded (a clock, "
            "randomness, state kept between trials, an await other than ask() and together()). "
            "Nothing more is called; what was recorded is kept."
        )
