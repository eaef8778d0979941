"""The declaration of a table of replies, as it stands in the roster."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, ConfigDict, Field, StrictBool

CLOSED = ConfigDict(extra="forbid")
"""Configuration of a table whose keys are known."""

Name = Annotated[str, Field(pattern=r"^\S(?:.*\S)?$")]
"""A text that does not begin or end with a blank."""

Tool = Literal["batch", "deepeval", "inspect", "lm-eval", "promptfoo"]
"""Programs whose results are read as they are."""

_PART = re.compile(r"\{(\w*)\}([^{}]*)")
_FORM = re.compile(r"[^{}]*(?:\{\w*\}[^{}]+)*(?:\{\w*\})?")


def parts_of(form: str) -> re.Pattern[str]:
    """The pattern of ``"{demand}-{}.txt"``, each of whose parts is as short as may be.

    Raises ValueError where there is no column in it, or two are not told apart.
    """

    def part(found: re.Match[str]) -> str:
        name, text = found.groups()
        column = f"(?P<{name}>.+?)" if name else ".+?"
        end = r"\Z" if found.end() == len(found.string) else ""
        return f"(?>{column}{re.escape(text)}{end})"  # sought but once

    first, columns, rest = form.partition("{")
    with suppress(re.error):
        if columns and _FORM.fullmatch(form):
            return re.compile(re.escape(first) + _PART.sub(part, columns + rest), re.DOTALL)
    message = (
        "must name columns in braces, each once and with a text between two of them, as "
        "{demand}-{run}"
    )
    raise ValueError(message)


def _checked(form: str) -> str:
    parts_of(form)
    return form


@dataclass(frozen=True, slots=True)
class Join:
    """A second ``file`` whose rows add their columns to those with the same word in ``on``."""

    file: Name
    on: Name
    __pydantic_config__: ClassVar = CLOSED


@dataclass(frozen=True, slots=True, kw_only=True)
class TableEntry:
    """The declaration of one table of replies.

    ``path`` is relative to the roster, and ``experiment`` the id of the one replied to; what the
    other keys are for stands in docs/tables.md. ``columns`` maps ours to the source's, ``values``
    cells of the source to ours, by its column; ``parts`` splits cells of a column into columns.
    """

    path: Name
    experiment: Name
    model: Name | None = None
    reply: Name | None = None
    tool: Tool | None = None
    rows: Name | None = None
    join: Join | None = None
    source: Name | None = None
    licence: Name | None = None
    collected_by: Name | None = None
    collected_at: Name | None = None
    served: Name | None = None
    missing: Name | None = None
    layout: Name | None = None
    parts: dict[Name, Annotated[str, AfterValidator(_checked)]] = field(default_factory=dict)
    columns: dict[Name, Name] = field(default_factory=dict)
    values: dict[Name, dict[Name, str]] = field(default_factory=dict)
    unread: frozenset[Name] = frozenset()
    repeats: StrictBool = False
    judge: Name | None = None
    note: Name | None = None
    notes: dict[Name, Name] = field(default_factory=dict)
    __pydantic_config__: ClassVar = CLOSED

    @property
    def reply_column(self) -> str | None:
        """The column of the replies' texts; None where the measures are columns."""
        return self.reply or (REPLY if self.tool else None)

    def word(self, column: str, cell: object) -> str:
        """A cell of the source with our label."""
        text = cell_text(cell)
        return self.values.get(column, {}).get(text, text)

    def noted(self, model: str) -> str:
        """The notes on a model's replies, by our name of it."""
        return "; ".join(filter(None, (self.notes.get(model), self.note)))


REPLY = "reply"
"""Column of replies in the results of a tool."""

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
