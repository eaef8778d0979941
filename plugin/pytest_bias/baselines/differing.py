"""That an accepted verdict was reached otherwise, and how."""

from __future__ import annotations

from collections.abc import Sequence

from ..errors import BiasError
from ..verdicts.verdict import Verdict

_SHOWN = 12
"""Differences that are listed."""


class BaselineDiffers(BiasError):
    """The accepted verdict of a hypothesis was reached with another design."""

    def __init__(self, *, verdict: Verdict, differences: Sequence[str]) -> None:
        self.differences = tuple(differences)
        listed = [f"  {difference}" for difference in self.differences[:_SHOWN]]
        if more := len(self.differences) - len(listed):
            listed.append(f"  and {more} more")
        super().__init__(
            "\n".join(
                [
                    f"{verdict.experiment} × {verdict.model}, {verdict.id}: the accepted verdict",
                    "was reached with another design, other prompts or another judge, so this",
                    "one cannot be held against it:",
                    *listed,
                    "Accept the verdict of the new design (--bias-accept), or run without",
                    "baselines (--bias-baselines=off).",
                ]
            )
        )
