"""Sources of replies: a cassette that we recorded, or a table that others did."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

from .design import Condition, Design
from .experiment import ModelRoles
from .records import Exchange, Outcome, Recording
from .replay import Lookup, PendingRequest


class ReplySource(Protocol):
    """The replies of one model to one experiment, wherever they are stored."""

    @property
    def roles(self) -> ModelRoles:
        """The model under test, and the judge."""

    @property
    def location(self) -> str:
        """The file, for messages."""

    @property
    def recording(self) -> Recording:
        """All that is known of where the replies come from."""

    @property
    def exchanges(self) -> Iterable[Exchange]:
        """Each stored reply, without its text."""

    @property
    def lookup(self) -> Lookup | None:
        """From a key to its reply; None where no text is stored."""

    @property
    def prompts_from(self) -> str:
        """The author of other prompts than the experiment's, and theirs; else empty."""

    @property
    def undecided(self) -> Mapping[str, str]:
        """Measure → why nothing is decided of it."""

    @property
    def exists(self) -> bool:
        """True if there is any reply."""

    def sized(self, design: Design) -> Design:
        """Return ``design``, or the one that the replies have whatever is requested."""

    def known(
        self, design: Design, condition: Condition | None = None
    ) -> tuple[tuple[Outcome, ...], tuple[PendingRequest, ...]]:
        """The outcomes of a condition, or of all, and the first miss of each other trial."""

    def outcomes_of(
        self, design: Design, condition: Condition | None = None
    ) -> tuple[Outcome, ...]:
        """The outcomes of a condition, or of all, in the plan's order.

        Raises NotRecorded when any of them is missing; all that are missing are named at once.
        """

    def check_distinct(self, design: Design, condition: Condition | None = None) -> None:
        """Raise BadDesign when the prompts of two conditions are identical.

        With a ``condition``, when another one tells what it does.
        """
