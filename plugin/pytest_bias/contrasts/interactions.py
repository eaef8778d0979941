"""Interactions: whether one factor's effect depends on another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import TYPE_CHECKING, ClassVar

from ..experiments.design import Design, frozen_mapping
from ..experiments.experiment import Experiment
from ..experiments.fields import is_pair, need_mapping, shortly, wrong
from ..experiments.records import Records
from .declared import Declared, Levels, levels_of
from .findings import Estimate
from .linear import Asked, Side, analyse_linear
from .published import bracketed
from .reach import Parts, check_compared, departing, is_event, layout_of, weights_between
from .units import Layout

if TYPE_CHECKING:
    from .estimation.largest import Scaled

Pair = tuple[Levels, Levels]


@dataclass(frozen=True, slots=True)
class Interaction(Declared):
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
    called
        Factor → words for its high and its low side, where the levels' own are too long.

    See :class:`~pytest_bias.contrasts.declared.Declared` for the other parameters.
    """

    kind: ClassVar[str] = "interaction"

    measure: str
    factors: Mapping[str, Pair | None] = field(default_factory=dict)
    called: Mapping[str, tuple[str, str]] = field(default_factory=dict, kw_only=True)

    def __post_init__(self) -> None:
        what, expected = f"Interaction({shortly(self.measure)})", "factor → (high, low) or None"
        need_mapping(what, "factors", self.factors, f"a mapping, {expected}")
        need_mapping(what, "called", self.called, "a mapping, factor → words of both sides")
        for name, pair in self.factors.items():
            if pair is not None and not is_pair(pair):
                raise wrong(what, f"factors[{name!r}]", pair, "(high, low) or None")
        object.__setattr__(self, "factors", frozen_mapping(self.factors))
        object.__setattr__(self, "called", frozen_mapping(self.called))
        self.settle_fields()

    @property
    def id(self) -> str:
        """``<measure>-<factor>-x-<factor>``, or ``<measure>-<name>``."""
        return f"{self.measure}-{self.name or '-x-'.join(self.factors)}"

    def check(self, experiment: Experiment) -> None:
        """Raise BadDesign or UnknownName when ``experiment`` cannot answer this."""
        self.check_measure(experiment, self.measure)
        if len(self.factors) != 2:  # noqa: PLR2004
            raise self.refused(problem="an interaction is of two factors")
        for name, pair in self.factors.items():
            experiment.levels(name)
            if pair is not None:
                high, low = map(levels_of, pair)
                self.check_levels(experiment, name, [*high, *low])
                if set(high) & set(low) or not high or not low:
                    raise self.refused(problem="compares a level with itself")
        for name in self.called:
            if self.factors.get(name) is None:
                raise self.refused(problem=f"called={name!r} names no two sides")
        if self._largest:
            self.check_undirected("the largest of many contrasts")
        check_compared(self, experiment, self._parts(experiment), largest=self._largest)
        if self.target == "fixed" and not self._largest and is_event(self, experiment):
            self.check_share(2.0)

    def _groups(self, experiment: Experiment, name: str) -> list[tuple[str, ...]]:
        """The levels of each side of a factor; of one that is crossed as a whole, every level."""
        pair = self.factors[name]
        if pair is None:
            return [(level,) for level in experiment.levels(name)]
        return [levels_of(side) for side in pair]

    def analyse(self, experiment: Experiment, records: Records) -> Estimate:
        """The finding; NoFinding when there are too few units, or a condition has no reply."""
        from .estimation.cells import Weights, pairwise  # noqa: PLC0415
        from .estimation.largest import LARGEST_AT  # noqa: PLC0415

        names = list(self.factors)
        parts: dict[str, Mapping[str, float]] = {}
        groups: list[list[Side]] = []
        for name, pair in self.factors.items():
            sides = self._groups(experiment, name)
            words: Sequence[str] = [" + ".join(side) for side in sides]
            if self._largest or pair is None:
                words = [level for side in sides for level in side]
                sides = [(level,) for level in words]
                parts[name] = dict.fromkeys(words, 1.0)
            else:
                parts |= pairwise(name, *sides).parts
                words = self.called.get(name, words)
            groups.append(
                [Side(words=w, levels={name: side}) for w, side in zip(words, sides, strict=True)]
            )
        asked = Asked(
            declared=self,
            measure=self.measure,
            quantity="largest interaction" if self._largest else "difference of differences",
            scale="size" if self._largest else "difference",
            weights=Weights(parts),
            contrasts=self._combinations(experiment) if self._largest else None,
            sides=tuple(
                Side(words=f"{one.words} × {two.words}", levels={**one.levels, **two.levels})
                for one, two in product(*groups)
            ),
        )
        finding = analyse_linear(asked, experiment, records)
        if self._largest:
            at = finding.extras[LARGEST_AT]
            return replace(finding, contrast=f"{' × '.join(names)}, {LARGEST_AT} {at}")
        (high, low), (upper, lower) = (
            [bracketed(side.words) for side in group] for group in groups
        )
        return replace(finding, contrast=f"({high} − {low}) at {upper} − at {lower}")

    def _combinations(self, experiment: Experiment) -> dict[str, Scaled]:
        """Every combination's departure from what its two levels do on their own."""
        from .estimation.largest import departures  # noqa: PLC0415  (numpy)

        return departures(
            {
                name: [level for side in self._groups(experiment, name) for level in side]
                for name in self.factors
            }
        )

    def layout(self, experiment: Experiment, design: Design) -> Layout:
        """Return the observations ``design`` gives it; of the largest those of the first."""
        parts = self._parts(experiment)
        return layout_of(self, experiment, design, parts, largest=self._largest)

    def _parts(self, experiment: Experiment) -> Parts:
        sides = {name: self._groups(experiment, name) for name in self.factors}
        if self._largest:
            return departing(
                {n: [at for side in each for at in side] for n, each in sides.items()}
            )
        return {name: weights_between(name, *each)[name] for name, each in sides.items()}

    @property
    def _largest(self) -> bool:
        return any(pair is None for pair in self.factors.values())
