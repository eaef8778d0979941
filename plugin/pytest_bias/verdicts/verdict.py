"""Verdicts and positive controls as values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ..contrasts.declared import Claim
from ..contrasts.findings import Finding

Status = Literal["CLEAR", "BIASED", "INCONCLUSIVE"]
Support = Literal["supported", "opposite", "not shown"]
HypothesisName = tuple[str, str, str]
"""Experiment, model and hypothesis."""


DESCRIBED = "DESCRIBED"
"""Stands in print for the status of what is only described: to find an effect there is no bias."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Control:
    """A positive control: seen where its 95 % interval lies above no effect.

    Where so much is missing that a verdict would have to hold in the worst case, so must this.
    """

    id: str
    seen: bool
    finding: Finding | None
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The verdict of one hypothesis on one model.

    ``words`` is the verdict in print ("CLEAR within ±0.6 for this vignette"; of what is only
    described "DESCRIBED for this vignette: an effect"); ``reason`` says why an INCONCLUSIVE is
    one; ``p_adjusted`` is the alarm's p-value after Holm over the family; ``direction`` compares
    the sign found with the documented one; ``settle`` is the number of units per group that would
    settle it, where more units are what it lacks; ``held`` whether it is held back whatever was
    found, as a rating it rests on is not to be relied on; ``title`` is the sentence that the
    hypothesis asserts, empty where nobody said it.
    """

    id: str
    experiment: str
    model: str
    claim: Claim
    status: Status
    words: str
    reason: str
    finding: Finding | None
    p_adjusted: float | None
    direction: Support | None
    settle: int | None
    held: bool = False
    title: str = ""

    @property
    def named(self) -> HypothesisName:
        """Experiment, model and hypothesis."""
        return self.experiment, self.model, self.id

    @property
    def gates(self) -> bool:
        """Return whether it can fail a run: what is only described cannot."""
        return self.claim != "describe"

    @property
    def label(self) -> str:
        """The status in print, with which ``words`` begin; DESCRIBED where it does not gate."""
        return self.status if self.gates else DESCRIBED
