"""What a step of a run leaves to be told when it is done."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Said:
    """Files a step wrote, what the user is to know of it, and what is wrong.

    With a problem a run gives no verdict; a note changes nothing. Steps return it, and one place
    adds them up.
    """

    written: tuple[Path, ...] = ()
    notes: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()

    def __add__(self, later: Said) -> Said:
        """Both, each thing once: reports are written again where a problem came after them."""
        return Said(
            tuple(dict.fromkeys(self.written + later.written)),
            tuple(dict.fromkeys(self.notes + later.notes)),
            tuple(dict.fromkeys(self.problems + later.problems)),
        )
