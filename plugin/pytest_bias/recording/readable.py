"""Replies that cannot be read: a recording of which no reply can stops before it is paid for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from ..cassettes.staleness import CUT_HINT
from ..experiments.fields import shortened
from ..experiments.messages import TRUNCATED, ModelRole

MOST_UNREADABLE = 20
"""Replies in a row of a model of which none could be read so far."""
_MOST_LATER = 200
"""The same of a model of which some could be read: a server may break under way."""

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
    """Counts the replies of each model in a row that cannot be read.

    ``known`` is whether trials are recorded already: then the user has seen their replies.
    ``quotes`` is whether texts of replies may be quoted.
    """

    known: bool
    quotes: bool
    _rows: dict[ModelRole, list[tuple[str, str]]] = field(default_factory=dict)
    _read: set[ModelRole] = field(default_factory=set)

    def read(self, role: ModelRole) -> None:
        """Take note of a reply that could be read."""
        self._read.add(role)
        self._rows.pop(role, None)

    def not_read(self, role: ModelRole, reason: str, text: str) -> str:
        """Take note of a reply that could not; why nothing more is called, or ''."""
        if reason in _OUTCOMES:
            return ""
        row = self._rows.setdefault(role, [])
        row.append((reason, text if len(row) < 1 and self.quotes else ""))
        started = self.known or role in self._read
        if len(row) != (_MOST_LATER if started else MOST_UNREADABLE):
            return ""
        reasons = Counter(each for each, _ in row).most_common()
        counts = ", ".join(f"{each} {n}" for each, n in reasons)
        which = "the last" if started else "the first"
        begins = f"; the first of them begins {shortened(row[0][1])}" if row[0][1] else ""
        hint = _HINTS.get(reasons[0][0], "")
        return (
            f"none of {which} {len(row)} replies can be read ({counts}){begins}. Nothing more is "
            f"called{f'; {hint}' if hint else ''}. To record the rest all the same, run the same "
            "command again"
        )
