"""Interactions: whether one factor's effect depends on another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from ..experiments.design import frozen_mapping
from ..experiments.experiment import Experiment
from ..experiments.fields import is_pair, need_mapping, shortly, wrong
from .declared import Levels, levels_of
from .linear import LinearContrast, Side
from .published import bracketed

Pair = tuple[Levels, Levels]


@dataclass(frozen=True, slots=True)
class Interaction(LinearContrast):
    """A difference of one factor's effect between levels of another.

    Parameters
    ----------
    measure
        Name in the experiment; numeric or a flag.
    factors
        Two factors, each with its (high, low) levels: the estimate is the difference of
        differences (high − low of the first, at the high level of the second minus at its low).
        With None for a factor all its levels are crossed: the question is then whether any
        combination departs from what its levels do on their own, judged as the largest of all
        (max-T). With a margin it is clear where every combination is within it, each at .05
        (intersection–union: Berger 1982).

    See :class:`~pytest_bias.Hypothesis` for the other parameters.
    """

    kind: ClassVar[str] = "interaction"
    quantity: ClassVar[str] = "difference of differences"
    quantity_of_largest: ClassVar[str] = "largest interaction"

    factors: Mapping[str, Pair | None] = field(default_factory=dict)

    def _settle(self) -> None:
        what, expected = f"Interaction({shortly(self.measure)})", "factor → (high, low) or None"
        need_mapping(what, "factors", self.factors, f"a mapping, {expected}")
        for name, pair in self.factors.items():
            if pair is not None and not is_pair(pair):
                raise wrong(what, f"factors[{name!r}]", pair, "(high, low) or None")
        self._set(factors=frozen_mapping(self.factors))

    @property
    def id(self) -> str:
        """``<measure>-<factor>-x-<factor>``, or ``<measure>-<name>``."""
        return f"{self.measure}-{self.name or '-x-'.join(self.factors)}"

    @property
    def largest(self) -> bool:
        """Return whether all combinations are asked of, so that the largest is judged."""
        return None in self.factors.values()

    def _check_own(self, experiment: Experiment) -> None:  # noqa: ARG002
        self.require(len(self.factors) == 2, "an interaction is of two factors")  # noqa: PLR2004

    def sides_by_factor(self, experiment: Experiment) -> Mapping[str, Sequence[Side]]:
        """Return the two sides of each factor, or all levels that are crossed."""
        found: dict[str, list[Side]] = {}
        for name, pair in self.factors.items():
            sides = [experiment.levels(name)] if pair is None else [levels_of(at) for at in pair]
            if self.largest:
                sides = [(level,) for side in sides for level in side]
            found[name] = [Side(words=" + ".join(at), levels={name: at}) for at in sides]
        return found

    def contrast_words(self, experiment: Experiment, at: str) -> str:
        """The difference of the two effects, or the combination that is the farthest out."""
        if self.largest:
            return f"{' × '.join(self.factors)}, largest at {at}"
        (high, low), (upper, lower) = (
            [bracketed(side.words) for side in sides]
            for sides in self.sides_by_factor(experiment).values()
        )
        return f"({high} − {low}) at {upper} − at {lower}"
