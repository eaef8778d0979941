"""Tables of replies that others recorded, as the roster declares them: ``[published.NAME]``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, ClassVar

from pydantic import ConfigDict, Field

from ..experiments.design import frozen_mapping

PUBLISHED = "published"
"""Stands before the slash in the names of subjects that are rows of a table."""

_Text = Annotated[str, Field(strict=True, pattern=r"^\S(?:.*\S)?$")]
_Texts = Annotated[dict[_Text, _Text], Field(strict=True)]


@dataclass(frozen=True, slots=True, kw_only=True)
class TableEntry:
    """The roster's declaration of one table; its columns are found by it, and nothing is guessed.

    ``path`` is relative to the roster, ``experiment`` the id of the one experiment the replies
    belong to, ``model`` the column that says who answered. ``columns`` maps what our own data sets
    have as columns (factors, ``item``, measures, ``replicate``, ``missing``, ``collected_at``) to
    the source's names; ``values`` maps, by column of the source, its words to ours. ``judge`` is
    who graded, where the experiment has a judge. ``note`` is what must be said with every verdict
    on the table, ``notes`` the same of one model, by the name we give it.
    """

    path: _Text
    experiment: _Text
    model: _Text
    source: _Text
    licence: _Text
    columns: _Texts = field(default_factory=dict)
    values: Annotated[dict[_Text, _Texts], Field(strict=True)] = field(default_factory=dict)
    judge: _Text | None = None
    note: _Text | None = None
    notes: _Texts = field(default_factory=dict)
    __pydantic_config__: ClassVar = ConfigDict(extra="forbid")

    def __post_init__(self) -> None:
        ours: Mapping[str, Mapping[str, str]] = {
            column: frozen_mapping(words) for column, words in self.values.items()
        }
        object.__setattr__(self, "columns", frozen_mapping(self.columns))
        object.__setattr__(self, "values", frozen_mapping(ours))
        object.__setattr__(self, "notes", frozen_mapping(self.notes))

    def word(self, column: str, cell: str) -> str:
        """Return a cell of the source in our words."""
        return self.values.get(column, {}).get(cell, cell)

    def noted(self, model: str) -> str:
        """Return what is to be said of a model's replies, by its name in our words."""
        return "; ".join(filter(None, (self.notes.get(model), self.note)))


def is_published(model: str) -> bool:
    """Return whether ``published/model`` names rows of a table that others recorded."""
    return model.startswith(f"{PUBLISHED}/")
