"""Operating characteristics of a design: how often it passes what it should, as was measured.

The committed table is made by ``plugin/benchmarks/error_rates.py``; a plan leads with it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ..errors import BiasError, NotAsWritten
from ..experiments.canonical import parsed_as

Derivation = Literal["drawn", "drawn together", "multiplied", "nobody answers", ""]
"""How figures came about: of one experiment, of all in the same draws, or as a product of those
of each, whose draws have nothing in common. Empty where nothing was drawn for this design; of what
no simulated subject answers nothing can be."""

_BOUND = 0.05


class DamagedTable(BiasError):
    """The file of error rates is not what was written."""

    def __init__(self, *, path: Path, problem: str) -> None:
        super().__init__(f"{path}: it is no table of error rates ({problem}); restore the file")


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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rate:
    experiment: str
    subject: str
    what: str
    hits: int
    draws: int
    hypothesis: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredRates:
    """The table: experiment → the digest of its design, and the rates of all draws."""

    format: Literal[1]
    designs: Mapping[str, str]
    rates: Sequence[_Rate]

    def of(self, wanted: Mapping[str, str]) -> tuple[Characteristics, ...]:
        """The characteristics of experiments, each ``wanted`` with the digest of its design.

        The digest is empty where no simulated subject answers. First, of several, those of all
        together: measured in the same draws where they are all that were drawn together, else
        multiplied.
        """
        each = [
            self._drawn(name, "drawn")
            if self.designs.get(name) == digest
            else Characteristics(experiment=name, made="" if digest else "nobody answers")
            for name, digest in wanted.items()
        ]
        if len(each) < 2:  # noqa: PLR2004
            return tuple(each)
        whole = Characteristics(experiment=None, made="")
        if all(one.passes for one in each):
            whole = self._drawn(None, "drawn together")
            if wanted.keys() != self.designs.keys() or not whole.made:
                whole = Characteristics(
                    experiment=None,
                    made="multiplied",
                    passes=product([one.passes for one in each]),
                    unchanged=product([one.unchanged for one in each]),
                    accepted=product([one.accepted for one in each]),
                )
        return (whole, *each)

    def _drawn(self, experiment: str | None, made: Derivation) -> Characteristics:
        passes = self._chance(experiment, "even", "passes")
        return Characteristics(
            experiment=experiment,
            made=made if passes is not None else "",
            passes=passes,
            unchanged=self._chance(experiment, "even", "unchanged, stopped"),
            accepted=self._chance(experiment, "biased", "unchanged, stopped"),
        )

    def _chance(self, experiment: str | None, subject: str, what: str) -> Chance | None:
        """Of several rates that of most draws; of what is stopped the chance that it is not."""
        found = [
            Chance.of(rate.hits if what == "passes" else rate.draws - rate.hits, rate.draws)
            for rate in self.rates
            if (rate.experiment, rate.subject) == (experiment or "suite", subject)
            if rate.what == what and not rate.hypothesis
        ]
        return max(found, key=lambda chance: chance.draws, default=None)


def read_error_rates(path: Path) -> MeasuredRates | None:
    """The table in a file; None where there is none. Raises DamagedTable for any other file."""
    try:
        table = parsed_as(MeasuredRates, path.read_bytes(), strict=True)
    except FileNotFoundError:
        return None
    except (OSError, NotAsWritten) as error:
        raise DamagedTable(path=path, problem=str(error)) from None
    for each in table.rates:
        if not 0 <= each.hits <= each.draws or not each.draws:
            raise DamagedTable(path=path, problem=f"{each.hits} of {each.draws} draws is no rate")
    return table


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
