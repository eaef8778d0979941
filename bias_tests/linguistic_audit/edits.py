"""Texts that remember how they were changed, so that every change can be undone."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Edit:
    """One change: at ``at`` of the text before it, ``before`` became ``after`` by ``rule``."""

    at: int
    before: str = field(repr=False)
    after: str = field(repr=False)
    rule: str


@dataclass(frozen=True, slots=True)
class Edited:
    """A changed text, and the changes that made it, in the order of their places.

    The edits of one transformation do not overlap, and their places are those of the text it was
    given.
    """

    text: str = field(repr=False)
    edits: tuple[Edit, ...] = field(default=(), repr=False)

    def restored(self) -> str:
        """The text before the edits.

        Raises
        ------
        ValueError
            When the text is not the one that the edits made.
        """
        parts: list[str] = []
        here = there = 0  # places in this text and in the one before
        for edit in self.edits:
            kept = edit.at - there
            parts += [self.text[here : here + kept], edit.before]
            here += kept
            if not self.text.startswith(edit.after, here):
                raise ValueError(edit.rule)
            here, there = here + len(edit.after), edit.at + len(edit.before)
        return "".join([*parts, self.text[here:]])


def edited(text: str, edits: Iterable[Edit]) -> Edited:
    """``text`` with every edit made."""
    made = tuple(sorted(edits, key=lambda edit: edit.at))
    parts: list[str] = []
    end = 0
    for edit in made:
        parts += [text[end : edit.at], edit.after]
        end = edit.at + len(edit.before)
    return Edited("".join([*parts, text[end:]]), made)
