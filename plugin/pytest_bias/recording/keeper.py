"""Keeping a trial: every reply as it comes, or the measures once it is over."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from ..cassettes.format import interaction_of, text_digest
from ..cassettes.measured import measured_trial
from ..cassettes.recorded_trials import own_words
from ..cassettes.recorder import Recorder
from ..cassettes.seals import Seal, check_key
from ..errors import BiasError
from ..experiments.measures import Measure
from ..experiments.messages import Completion
from ..experiments.records import Outcome
from ..experiments.replay import Lookup, Wanted, place_order


@dataclass(frozen=True, slots=True)
class KeepsReplies:
    """Keeps every reply of a trial, on disk before the next is counted.

    ``whole`` is whether a trial that has begun must end, because a part of it cannot be kept. One
    serves for all trials: it has no state.
    """

    recorder: Recorder
    recorded: Lookup
    whole: ClassVar[bool] = False

    def begin(self) -> Kept:
        """Begin a trial."""
        return self

    def lookup(self, key: str) -> Completion | None:
        """The reply under ``key``, recorded before or just now."""
        return self.recorded(key)

    async def keep(self, wanted: Wanted, completion: Completion) -> None:
        """Take a reply."""
        await self.recorder.keep(wanted, completion)

    async def end(self, outcome: Outcome) -> None:
        """Take the outcome of the whole trial, replayed; there is nothing left to keep."""

    @property
    def unkept(self) -> int:
        """Number of replies that are paid, and kept only if the trial comes to its end."""
        return 0

    def words(self, error: BaseException) -> str:
        """Return an error of the trial in words that may be said, for it may quote a reply."""
        return str(error) if isinstance(error, BiasError) else f"{type(error).__name__}: {error}"


@dataclass(frozen=True, slots=True)
class KeepsMeasures:
    """Keeps the measures of whole trials; of the text nothing, or what is sealed.

    ``secret`` is the user's key for keyed hashes; None where there is none.

    Raises BadSetting when it is no key: the hashes would be worth as little as it is.
    """

    recorder: Recorder
    measures: Sequence[Measure]
    seal: Seal | None
    secret: bytes | None = field(repr=False)
    judge: str = ""

    def __post_init__(self) -> None:
        if self.secret is not None:
            check_key(self.secret)

    def begin(self) -> Kept:
        """Begin a trial."""
        return _InMemory(self)


@dataclass(slots=True)
class _InMemory:
    """The replies of one trial, which never reach the disk as they are."""

    keeping: KeepsMeasures
    whole: ClassVar[bool] = True
    _replies: dict[str, tuple[Wanted, Completion]] = field(default_factory=dict, repr=False)

    def lookup(self, key: str) -> Completion | None:
        found = self._replies.get(key)
        return None if found is None else found[1]

    async def keep(self, wanted: Wanted, completion: Completion) -> None:
        self._replies[wanted.key] = wanted, completion

    async def end(self, outcome: Outcome) -> None:
        keeping = self.keeping
        seal = keeping.seal
        ordered = sorted(self._replies.values(), key=lambda pair: place_order(pair[0].place))
        measured = measured_trial(
            outcome,
            keeping.measures,
            ordered,
            keeping.secret,
            judge=keeping.judge,
            sealed=seal is not None,
        )
        token = None
        if seal is not None:
            token = seal.sealed([interaction_of(*pair) for pair in ordered], _texts(ordered))
        self._replies.clear()  # from here on the recorder has them
        await keeping.recorder.keep_measured(measured, token)

    @property
    def unkept(self) -> int:
        return len(self._replies)

    def words(self, error: BaseException) -> str:
        """Words of our own: a provider's may quote what was asked, a protocol's what it got."""
        return own_words(error)


Kept = KeepsReplies | _InMemory
"""What is kept of one trial while it is carried out."""

Keeping = KeepsReplies | KeepsMeasures
"""What becomes of the replies of a job; one :data:`Kept` per trial."""


def _texts(exchanges: Sequence[tuple[Wanted, Completion]]) -> dict[str, str]:
    """Digest → text of all that was sent, but for the replies, which are sealed beside it."""
    replies = {text_digest(completion.text) for _, completion in exchanges}
    texts = {
        text_digest(message.text): message.text
        for wanted, _ in exchanges
        for message in wanted.request.messages
    }
    return {name: text for name, text in texts.items() if name not in replies}
