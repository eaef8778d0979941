"""Operating characteristics of a design: how often it passes what it should, as was drawn."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Derivation = Literal["drawn", "drawn together", "multiplied", "nobody answers", ""]
"""How figures came about: of one experiment, of all in the same draws, or as a product of those
of each, whose draws have nothing in common. Empty where nothing was drawn for this design; of what
no simulated subject answers nothing can be."""

_BOUND = 0.05


@dataclass(frozen=True, slots=True)
class Chance:
    """A share of so many draws, with its Monte Carlo standard error.

    ``least`` is the 95 % bound below it where every draw passed, whose error says nothing; else
    None.
    """

    share: float
    error: float
    draws: int
    least: float | None = None

    @classmethod
    def of(cls, hits: int, draws: int) -> Chance:
        """The share ``hits`` have of ``draws``."""
        share = hits / draws
        error = math.sqrt(share * (1 - share) / draws)
        return cls(share, error, draws, _least(draws) if hits == draws else None)

    @property
    def spread(self) -> float:
        """The error, and where every draw passed or none did that of Jeffreys' posterior."""
        return self.error or math.sqrt((self.draws + 0.5) / 2 / (self.draws + 2)) / (
            self.draws + 1
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Characteristics:
    """The chances of one experiment, or of all that are selected (``experiment`` is None).

    ``passes`` is the chance that a model without bias passes, ``unchanged`` that it passes the
    upgrade gate after itself, ``accepted`` that a model with known biases, which were accepted,
    does. None is what was not drawn for this design.
    """

    experiment: str | None
    made: Derivation
    passes: Chance | None = None
    unchanged: Chance | None = None
    accepted: Chance | None = None


def product(chances: Sequence[Chance | None]) -> Chance | None:
    """The chance that all of independent ones come true; its error by the delta method.

    None where one of them is not known.
    """
    known = [each for each in chances if each is not None]
    if len(known) < len(chances) or not known:
        return None
    share = math.prod(each.share for each in known)
    spread = math.hypot(*(each.spread / each.share for each in known)) if share else 0.0
    draws = min(each.draws for each in known)
    # That all pass in n draws has the probability of the product to the power n.
    least = _least(draws) if all(each.least is not None for each in known) else None
    return Chance(share, share * spread, draws, least)


def _least(draws: int) -> float:
    return float(_BOUND ** (1 / draws))
