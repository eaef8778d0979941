"""Copies among replies: what a cache on the way gave again is no reply of the model's.

A reply is a copy where a header says that a cache gave it, or where its id and creation time came
before. Words that repeat are no copies: short answers do, and those of a model at temperature 0.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from .messages import Player
from .records import Exchange, Outcome

_SHOWN = 3
_LONG = 30  # words of a reply that is hardly given twice by chance


@dataclass(frozen=True, slots=True)
class Copy:
    """A reply of ``to`` in ``trial`` that is a copy; ``sign`` is what shows it."""

    to: Player
    trial: str
    sign: str


@dataclass(slots=True)
class Copies:
    """The copies among replies that are met one after another.

    Ids count where they vary: a server that gives all its replies one id has none.
    """

    replies: int = 0
    _cached: list[Copy] = field(default_factory=list)
    _repeated: dict[Player, list[Copy]] = field(default_factory=lambda: defaultdict(list))
    _ids: dict[Player, set[str]] = field(default_factory=lambda: defaultdict(set))
    _first: dict[tuple[Player, str, str], str] = field(default_factory=dict)

    def add(self, trial: str, said: Exchange) -> None:
        """Take note of one reply of ``trial``."""
        self.replies += 1
        named = (said.to, said.id, said.created)
        if said.cached:
            sign = f"the header {said.cached} came with it"
            self._cached.append(Copy(said.to, trial, sign))
        elif said.id and said.to == "subject" and self._first.get(named) == trial:
            pass  # the id of a conversation, which its turns share
        elif said.id and named in self._first:
            sign = f"it has the id and creation time of a reply in {self._first[named]}"
            self._repeated[said.to].append(Copy(said.to, trial, sign))
        elif said.id:
            self._first[named] = trial
            self._ids[said.to].add(said.id)

    def see(self, outcome: Outcome) -> None:
        """Take note of all replies of a trial."""
        for each in outcome.exchanges:
            self.add(outcome.trial.id, each)

    @property
    def unsure(self) -> bool:
        """Return whether an id came again, and no other one has come yet."""
        return any(len(self._ids[player]) == 1 for player in self._repeated)

    @property
    def found(self) -> list[Copy]:
        """The copies."""
        varied = (player for player, ids in self._ids.items() if len(ids) > 1)
        repeated = (copy for player in varied for copy in self._repeated.get(player, ()))
        return [*self._cached, *repeated]

    def of(self, player: Player) -> list[Copy]:
        """The copies among the replies of one player."""
        return [copy for copy in self.found if copy.to == player]


def copied_words(outcomes: Iterable[Outcome]) -> str:
    """Sentence on how many replies are copies, the evidence, and the trials; '' without any."""
    copies = Copies()
    for outcome in outcomes:
        copies.see(outcome)
    found = copies.found
    if not found:
        return ""
    trials = list(dict.fromkeys(copy.trial for copy in found))
    more = f" and {len(trials) - _SHOWN} more" if len(trials) > _SHOWN else ""
    one = len(found) == 1
    return (
        f"{len(found)} of {copies.replies} replies {'is a copy' if one else 'are copies'} from a "
        f"cache (trial {', '.join(trials[:_SHOWN])}{more}; of the first, {found[0].sign})"
    )


def long_replies(outcomes: Iterable[Outcome]) -> tuple[int, int]:
    """Count the subject's valid replies of 30 words or more, and the different ones of them."""
    replies = [
        said.reply
        for outcome in outcomes
        for said in outcome.exchanges
        if said.to == "subject" and not said.invalid and len(said.reply.split()) >= _LONG
    ]
    return len(replies), len(set(replies))
