"""Tables of replies as the roster declares them: ``[published.NAME]``, others', ``[table.NAME]``.

Both are one thing but for what must be known of them: where others published the replies and under
which licence, or who collected them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, ClassVar, Final, Literal

from pydantic import ConfigDict, Field

CLOSED = ConfigDict(extra="forbid")
"""Configuration of a table whose keys are known."""

PUBLISHED: Final = "published"
"""Stands before the slash in the names of subjects whose replies others published."""

TABLE: Final = "table"
"""Stands before the slash in the names of subjects whose replies the user holds as a table."""

Section = Literal["published", "table"]

NEEDED: Mapping[Section, tuple[str, ...]] = {
    PUBLISHED: ("source", "licence"),
    TABLE: ("collected_by",),
}
"""What the roster must say of a table, by the section that declares it."""

_Text = Annotated[str, Field(pattern=r"^\S(?:.*\S)?$")]
_Texts = dict[_Text, _Text]


@dataclass(frozen=True, slots=True, kw_only=True)
class TableEntry:
    """The declaration of one table; its columns are found by it, and nothing is guessed.

    ``path`` is relative to the roster, ``experiment`` the id of the one experiment the replies
    belong to, ``model`` the column that says who answered (where it is None and no column is
    called ``model``, all rows are of one subject, called like the table). ``columns`` maps what
    our own data sets have as columns (factors, ``item``, measures, ``replicate``, ``missing``,
    ``collected_at``, ``served``) to the source's names; ``values`` maps, by column of the source,
    its words to ours. ``layout`` is one of the experiment's, where a row is no trial.

    ``missing`` is why a row without measures has none, where no column says it; ``collected_at``
    and ``served`` hold for all rows of which no column says them. ``judge`` is who graded, where
    the experiment has a judge. ``note`` is what must be said with every verdict on the table,
    ``notes`` the same of one model, by the name we give it.
    """

    path: _Text
    experiment: _Text
    model: _Text | None = None
    source: _Text | None = None
    licence: _Text | None = None
    collected_by: _Text | None = None
    collected_at: _Text | None = None
    served: _Text | None = None
    missing: _Text | None = None
    layout: _Text | None = None
    columns: _Texts = field(default_factory=dict)
    values: dict[_Text, dict[_Text, str]] = field(default_factory=dict)
    judge: _Text | None = None
    note: _Text | None = None
    notes: _Texts = field(default_factory=dict)
    __pydantic_config__: ClassVar = CLOSED

    def word(self, column: str, cell: object) -> str:
        """Return a cell of the source in our words."""
        text = cell_text(cell)
        return self.values.get(column, {}).get(text, text)

    def noted(self, model: str) -> str:
        """Return what is to be said of a model's replies, by its name in our words."""
        return "; ".join(filter(None, (self.notes.get(model), self.note)))


_LONGEST_WHOLE = 1e15


def cell_text(cell: object) -> str:
    """A cell as the text it would be in a CSV; empty where there is none.

    Truths are ``true`` and ``false``, whole numbers stand without a point.
    """
    if isinstance(cell, str):
        return cell
    if cell is None or isinstance(cell, bool):
        return "" if cell is None else str(cell).lower()
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < _LONGEST_WHOLE:
        return str(int(cell))
    return str(cell)


def is_tabled(model: str) -> bool:
    """Return whether ``provider/model`` names rows of a table, and nobody who can be asked."""
    return model.startswith((f"{PUBLISHED}/", f"{TABLE}/"))
