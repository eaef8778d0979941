"""Verdicts and positive controls as values: what is asked, what is decided, and why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal

from ..contrasts.declared import Claim, Direction
from ..contrasts.estimate import Estimate, PublishedColumn
from ..experiments.canonical import KEPT, TextValue
from ..stats.results import Interval

Status = Literal["CLEAR", "BIASED", "INCONCLUSIVE"]
Support = Literal["supported", "opposite", "not shown"]


class Reason(TextValue, StrEnum):
    """Why an INCONCLUSIVE is one, or a BIASED that its average does not show."""

    NONE = ""
    COPIES = "copies"
    NO_ESTIMATE = "no estimate"
    UNRELIABLE = "unreliable"
    TOO_FEW_UNITS = "too few units"
    TOO_FEW_VALID = "too few valid replies"
    TOO_FEW_TO_CLEAR = "too few units to clear"
    MISSING_UNEQUALLY = "missing unequally"
    CUT_OFF = "cut off"
    CELL_OPEN = "cell open"
    CELL_BIASED = "cell biased"
    NO_CONTROL = "no control"
    NO_MARGIN = "no margin"
    MISREAD = "misread"
    UNDECIDED = "undecided"


@dataclass(frozen=True, slots=True, kw_only=True)
class Control:
    """A positive control: seen where no effect is rejected at .05, in the right direction.

    It is about the replies there are. ``licenses`` are the measures of which nothing can be CLEAR
    without it; ``meaning`` says what it means for this model that it is not seen. ``recorded`` is
    whether the design has trials for it; ``needed`` is False where it is not seen and another of
    every measure that it licenses is.
    """

    id: str
    seen: bool
    finding: Estimate | None
    reason: str = ""
    licenses: tuple[str, ...] = ()
    meaning: str = ""
    recorded: bool = True
    needed: bool = True


HypothesisName = tuple[str, str, str]
"""Experiment, model and hypothesis."""

DESCRIBED = "DESCRIBED"
"""Stands in print for the status of what is only described: to find an effect there is no bias."""

NOTHING_FOUND = "NOTHING FOUND"
"""Stands in print for the INCONCLUSIVE of what can only be found, and was not."""


_ASKED = {KEPT: False}
"""Of a field of the question: no verdict that was read has it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """Verdict of one hypothesis on one model; until it is decided, the question.

    ``family`` and ``documented``, the direction its source reports, are as declared. ``against``
    is what speaks against deciding or clearing it whatever the estimate, each reason with its
    words; of the others :mod:`.decide` knows by itself.

    ``reason`` is why an INCONCLUSIVE is one, ``detail`` what only the replies or the files say of
    it; ``words`` is the verdict in print, ``reason_text`` why it is open, ``estimated`` the
    estimate with what decided and the margin, as :mod:`.wording` words them. ``p_adjusted`` is the
    p-value of its null after Holm over the experiment, on the scale of its ``share`` of the
    suite's α; ``biased_cells`` lie beyond their margin; ``direction`` compares
    the sign with the documented one. ``title`` is the sentence that it asserts, ``why`` why its
    margin is that, each empty where none is declared; ``validated_by`` is what is to be known of
    the positive control that lets it be CLEAR; ``cut`` is why nothing is cleared, as a limit ended
    too many replies.

    ``shown`` are the intervals to print: of what is cleared that of the two one-sided tests
    (90 %), of a rejection that at its adjusted level, of what is neither both; empty where
    none goes with the tests. ``replicates`` is with how many replicates in all an effect like this
    one is decided with probability .90; None where it is decided, none would do, or it is
    unknown. ``next_step`` would help to decide it, with its command and its cost; empty where
    nothing is known to. ``published`` is what the published method gives of the replies there
    are, where there is no estimate.
    """

    id: str
    experiment: str
    model: str
    claim: Claim
    finding: Estimate | None
    family: str = field(default="", repr=False, compare=False, metadata=_ASKED)
    documented: Direction | None = field(default=None, repr=False, compare=False, metadata=_ASKED)
    against: Mapping[Reason, str] = field(
        default_factory=dict, repr=False, compare=False, metadata=_ASKED
    )
    status: Status = "INCONCLUSIVE"
    reason: Reason = Reason.NONE
    p_adjusted: float | None = None
    direction: Support | None = None
    detail: str = ""
    words: str = ""
    reason_text: str = ""
    estimated: str = ""
    cut: str = ""
    biased_cells: tuple[str, ...] = ()
    title: str = ""
    why: str = ""
    share: float = 1.0
    shown: tuple[Interval, ...] = ()
    replicates: int | None = None
    next_step: str = ""
    validated_by: str = ""
    published: PublishedColumn | None = None

    @property
    def named(self) -> HypothesisName:
        """Experiment, model and hypothesis."""
        return self.experiment, self.model, self.id

    @property
    def gates(self) -> bool:
        """True if it can fail a run: what is only described cannot."""
        return self.claim != "describe"

    @property
    def label(self) -> str:
        """Return the status in print.

        DESCRIBED where it does not gate; NOTHING FOUND of an INCONCLUSIVE that no reply could have
        cleared, as it has no margin.
        """
        if not self.gates:
            return DESCRIBED
        return NOTHING_FOUND if self.reason == Reason.NO_MARGIN else self.status

    @property
    def beyond(self) -> bool:
        """True if a bias is shown to lie beyond its margin."""
        finding = self.finding
        if finding is None or self.status != "BIASED" or finding.margin is None:
            return False
        shown = finding.beyond(self.shown[0] if self.shown else None)
        return bool(self.biased_cells) or finding.null == "margin" or shown
