"""What a recording keeps of a trial: every reply as it comes, or the measures once it is over."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from .cassettes.format import interaction_of, texts_of
from .cassettes.measured import measured_trial
from .cassettes.recorder import Recorder
from .cassettes.sealing import Seal
from .errors import BiasError, CallFailed
from .measures import Measure
from .messages import Completion
from .records import Outcome, record_of
from .replay import Lookup, Wanted, place_order

_SILENT = "this experiment keeps no text, so no more is said"


class Keeping(Protocol):
    """Keeps the replies of a job; one :class:`Kept` per trial."""

    def begin(self) -> Kept:
        """Begin a trial."""


class Kept(Protocol):
    """What is kept of one trial while it is carried out."""

    @property
    def whole(self) -> bool:
        """Whether a trial that has begun must end, because a part of it cannot be kept."""

    def lookup(self, key: str) -> Completion | None:
        """The reply under ``key``, recorded before or just now."""

    async def keep(self, wanted: Wanted, completion: Completion) -> None:
        """Take a reply."""

    async def end(self, outcome: Outcome) -> None:
        """Take the outcome of the whole trial, replayed."""

    def words(self, error: Exception) -> str:
        """What may be said of an error in the trial, for it may quote a reply."""


@dataclass(frozen=True, slots=True)
class KeepsReplies:
    """Keeps every reply, on disk before the next is counted. Begins itself: it has no state."""

    recorder: Recorder
    recorded: Lookup
    whole: bool = field(default=False, init=False)

    def begin(self) -> Kept:
        """See :class:`Keeping`."""
        return self

    def lookup(self, key: str) -> Completion | None:
        """See :class:`Kept`."""
        return self.recorded(key)

    async def keep(self, wanted: Wanted, completion: Completion) -> None:
        """See :class:`Kept`."""
        await self.recorder.keep(wanted, completion)

    async def end(self, outcome: Outcome) -> None:
        """See :class:`Kept`: there is nothing left to keep."""

    def words(self, error: Exception) -> str:
        """See :class:`Kept`."""
        return str(error) if isinstance(error, BiasError) else f"{type(error).__name__}: {error}"


@dataclass(frozen=True, slots=True)
class KeepsMeasures:
    """Keeps the measures of whole trials; of the text nothing, or what is sealed."""

    recorder: Recorder
    measures: Sequence[Measure]
    seal: Seal | None
    secret: bytes | None

    def begin(self) -> Kept:
        """See :class:`Keeping`."""
        return _InMemory(self)


@dataclass(slots=True)
class _InMemory:
    """The replies of one trial, which never reach the disk as they are."""

    keeping: KeepsMeasures
    whole: bool = field(default=True, init=False)
    _replies: dict[str, tuple[Wanted, Completion]] = field(default_factory=dict, repr=False)

    def lookup(self, key: str) -> Completion | None:
        found = self._replies.get(key)
        return None if found is None else found[1]

    async def keep(self, wanted: Wanted, completion: Completion) -> None:
        self._replies[wanted.key] = wanted, completion

    async def end(self, outcome: Outcome) -> None:
        keeping = self.keeping
        ordered = sorted(self._replies.values(), key=lambda pair: place_order(pair[0].place))
        first = ordered[0][0]
        measured = measured_trial(
            first.key,
            outcome,
            record_of(outcome, keeping.measures),
            keeping.measures,
            [completion for _, completion in ordered],
            keeping.secret,
        )
        token = None
        if keeping.seal is not None:
            texts = {
                name: text for wanted, _ in ordered for name, text in texts_of(wanted).items()
            }
            token = keeping.seal.sealed([interaction_of(*pair) for pair in ordered], texts)
        await keeping.recorder.keep_measured(measured, token)

    def words(self, error: Exception) -> str:
        """Words of our own: a provider's may quote what was asked, a protocol's what it got."""
        if isinstance(error, CallFailed):
            return f"{error.model}: a call failed ({error.kind}); {_SILENT}"
        if isinstance(error, BiasError):
            return str(error)
        return f"{type(error).__name__}; {_SILENT}"
