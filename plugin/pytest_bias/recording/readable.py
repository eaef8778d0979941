"""Replies that cannot be read: a recording of which no reply can stops before it is paid for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from ..cassettes.staleness import CUT_HINT
from ..experiments.fields import shortened
from ..experiments.messages import TRUNCATED
from ..experiments.records import Outcome

MOST_UNREADABLE = 20
"""Replies in a row from the first on."""

_OUTCOMES = frozenset({"content_filter", "refusal"})
"""What a model or its filter decides: such replies are results, and are no fault of the set-up."""

_LENIENT = 'replies = "lenient" in the roster reads JSON in a code fence or between prose'
_HINTS: Mapping[str, str] = {
    TRUNCATED: (
        "raise max_output_tokens in the roster, as a model that thinks may need thousands, or "
        'lower its effort (request = { reasoning_effort = "low" })'
    ),
    "empty": (
        "the server may keep the text back as a thought: check its reasoning parser, and raise "
        "max_output_tokens in the roster"
    ),
    "prompt_too_long": CUT_HINT[0].lower() + CUT_HINT[1:],
    "not_json": _LENIENT,
    "no_number": _LENIENT,
}


@dataclass(slots=True)
class Readability:
    """Counts replies of a model until one can be read.

    ``known`` is whether trials are recorded already: then the user has seen their replies.
    ``first`` is the text of the first reply, where it may be quoted.
    """

    known: bool
    first: str = ""
    _unread: Counter[str] = field(default_factory=Counter)

    def add(self, outcome: Outcome) -> str:
        """Take note of a trial; the problem once too many replies cannot be read, or ''."""
        if self.known or outcome.interactions > len(outcome.invalid):
            self.known = True
            return ""
        self._unread.update(reason for reason in outcome.invalid if reason not in _OUTCOMES)
        if self._unread.total() < MOST_UNREADABLE:
            return ""
        self.known = True
        reasons = ", ".join(f"{reason} {n}" for reason, n in self._unread.most_common())
        begins = f"; the first begins {shortened(self.first)}" if self.first else ""
        hint = _HINTS.get(self._unread.most_common(1)[0][0], "")
        return (
            f"none of the first {self._unread.total()} replies can be read ({reasons}){begins}. "
            f"Nothing more is called{f'; {hint}' if hint else ''}. To record the rest all the "
            "same, run the same command again"
        )
