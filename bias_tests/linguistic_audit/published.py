"""The document's own methods on its own measure: lengths in characters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pytest_bias import PublishedMethod

if TYPE_CHECKING:
    from pytest_bias.contrasts.estimation.cells import Cell
    from pytest_bias.contrasts.published import Pooled


@dataclass(frozen=True, slots=True)
class InCharacters:
    """A published method on lengths in characters, where the hypothesis is on their logarithm.

    The document compares mean numbers of characters; the primary analysis compares ratios,
    because a detailed reply varies by more characters than a brief one.
    """

    method: PublishedMethod

    @property
    def words(self) -> str:
        """The method in print."""
        return f"{self.method.words}, of the number of characters"

    def statistics(self, pooled: Pooled) -> Mapping[str, float | str]:
        """The method's statistics; NoFinding where it is not defined."""
        return self.method.statistics(
            replace(
                pooled,
                cells=_characters(pooled.cells),
                sides={words: _characters(cells) for words, cells in pooled.sides.items()},
            )
        )


def _characters(cells: Sequence[Cell]) -> tuple[Cell, ...]:
    import numpy as np  # noqa: PLC0415  (loaded by then: an analysis is running)

    # A logarithm's last bits are lost, a character is not: lengths are whole numbers again.
    return tuple(replace(cell, values=np.rint(np.exp(cell.values))) for cell in cells)
