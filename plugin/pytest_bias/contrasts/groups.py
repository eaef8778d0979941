"""Several groups: each against the rest, whether any differs, totals of gaps, interactions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from ..experiments.design import frozen_mapping
from ..experiments.experiment import Experiment
from ..experiments.fields import is_pair, need_mapping, need_number, need_several, shortened, wrong
from .declared import Levels, levels_of
from .layout import Parts, Scaled, Side, WeightedGap, signed_sums, weights_between
from .linear import LinearContrast
from .published import ChiSquareTest, PublishedMethod, SumOfGaps, bracketed

Gap = tuple[Levels, Levels, float]

MOST_SIGNED = 6
"""Gaps in a sum with a margin: 32 ways to give them signs."""


@dataclass(frozen=True, slots=True)
class GroupContrast(LinearContrast):
    """One group against the mean of all others, or (without ``group``) whether any differs.

    Parameters
    ----------
    measure, factor
        Names in the experiment; the measure is numeric or a flag (then rates are compared).
    group
        Level that is held against the rest; None for the omnibus question: whether any differs
        or, with a margin, how far the farthest group is from the mean of all groups.
    among
        The levels that are groups; by default all of the factor.

    See :class:`~pytest_bias.Hypothesis` for the other parameters. One hypothesis per group is
    ``GroupContrast.each(…, over=[{"group": name} for name in groups])``.

    Notes
    -----
    One group against the mean of the others is a contrast like any other: see
    :class:`.MeanDifference`. Whether any differs is judged by the group farthest from the mean of
    all: p by the joint distribution of all of them (max-T), against a margin by Bonferroni; it is
    clear where every group is within the margin, each at .05 (intersection–union: Berger 1982).
    """

    kind: ClassVar[str] = "group contrast"
    quantity: ClassVar[str] = "group against the rest"
    quantity_of_largest: ClassVar[str] = "largest departure of a group"

    factor: str
    group: str | None = field(default=None, kw_only=True)
    among: Sequence[str] = field(default=(), kw_only=True)
    published: PublishedMethod | None = field(default_factory=ChiSquareTest, kw_only=True)

    def _resolve(self) -> None:
        self._set(among=need_several(self.id, "among", self.among, str, "levels"))

    @property
    def id(self) -> str:
        """``<measure>-<group>-rest``, or ``<measure>-<factor>-any``."""
        words = f"{self.factor}-any" if self.group is None else f"{self.group}-rest"
        return f"{self.measure}-{self.name or words}"

    @property
    def largest(self) -> bool:
        """True if any group may differ, so that the farthest is judged."""
        return self.group is None

    def _check_fields(self, experiment: Experiment) -> None:
        groups = self._groups(experiment)
        several = len(groups) == len({*groups}) and len(groups) > 2  # noqa: PLR2004  (or a pair)
        self.require(several, "needs three groups or more, each named once")
        among = self.group is None or self.group in groups
        self.require(among, f"{self.group!r} is not among the groups")

    def _groups(self, experiment: Experiment) -> tuple[str, ...]:
        return tuple(self.among) or experiment.levels(self.factor)

    def sides_by_factor(self, experiment: Experiment) -> Mapping[str, Sequence[Side]]:
        """Return the group and the rest, or every group."""
        groups = self._groups(experiment)
        sides = {each: [each] for each in groups}
        if self.group is not None:
            rest = [each for each in groups if each != self.group]
            sides = {self.group: [self.group], "rest": rest}
        return {self.factor: [Side(words=w, levels={self.factor: at}) for w, at in sides.items()]}

    def contrast_text(self, experiment: Experiment, at: str) -> str:
        """Return the group and the rest, or the group that is the farthest of any."""
        if self.group is not None:
            return LinearContrast.contrast_text(self, experiment, at)
        return f"any {self.factor}, largest at {at}"


@dataclass(frozen=True, slots=True)
class TotalGap(LinearContrast):
    """The sum of absolute gaps between groups, each times a weight.

    Parameters
    ----------
    measure, factor
        Names in the experiment; the measure is numeric or a flag.
    gaps
        Each as (high, low, weight): weight × |mean(high) − mean(low)|. A score that adds the mean
        of three racial gaps and one of gender has weights 1/3, 1/3, 1/3 and 1.
    called
        What the sum is called in print ("total bias").

    Such a sum is above 0 for a model without any bias, the more so the fewer its replies. It is
    the largest of the sums whatever signs the gaps have: p by the joint distribution of these
    (max-T), and clear where each is, at .05 (intersection–union: Berger 1982). See
    :class:`~pytest_bias.Hypothesis` for the other parameters.
    """

    kind: ClassVar[str] = "total gap"
    quantity_of_largest: ClassVar[str] = "sum of absolute gaps"

    factor: str
    gaps: Sequence[Gap] = field(default=(), kw_only=True)
    called: str = field(default="", kw_only=True)

    def _resolve(self) -> None:
        what, expected = self.id, "(high, low, weight)"
        given: tuple[Sequence[Any], ...] = need_several(
            what, "gaps", self.gaps, (tuple, list), expected
        )
        if wrongly := [gap for gap in given if len(gap) != 3]:  # noqa: PLR2004
            raise wrong(what, "a gap", wrongly[0], expected)
        gaps = tuple(
            (levels_of(high), levels_of(low), need_number(what, "a weight", weight))
            for high, low, weight in given
        )
        self._set(gaps=gaps, published=self.published or SumOfGaps(gaps))

    @property
    def id(self) -> str:
        """``<measure>-total-gap``, or ``<measure>-<name>``."""
        return f"{self.measure}-{self.name or 'total-gap'}"

    @property
    def largest(self) -> bool:
        """True: a sum of absolute values is the largest of the sums with any signs."""
        return True

    def _check_fields(self, experiment: Experiment) -> None:  # noqa: ARG002
        self.require(self.gaps, "names no gap")
        for high, low, weight in self.gaps:
            two = high and low and weight > 0 and {*high}.isdisjoint(low)
            self.require(two, "a gap needs two sides and a weight above 0")
        few = self.margin is None or len(self.gaps) <= MOST_SIGNED
        self.require(few, f"with a margin it has at most {MOST_SIGNED} gaps")

    def sides_by_factor(self, experiment: Experiment) -> Mapping[str, Sequence[Side]]:  # noqa: ARG002
        """Every level that a gap names."""
        levels = dict.fromkeys(at for gap in self.gaps for side in gap[:2] for at in side)
        return {self.factor: [Side(words=at, levels={self.factor: [at]}) for at in levels]}

    def _weighted(self) -> list[WeightedGap]:
        """Return the weights of each gap, and what it is multiplied by."""
        return [
            (weights_between(self.factor, levels_of(high), levels_of(low))[self.factor], weight)
            for high, low, weight in self.gaps
        ]

    def parts(self, experiment: Experiment) -> Parts:  # noqa: ARG002
        """Return the sum of all gaps, each with the sign it is declared with."""
        part: dict[str, float] = {}
        for weights, times in self._weighted():
            for level, weight in weights.items():
                part[level] = part.get(level, 0.0) + times * weight
        return {self.factor: part}

    def contrasts(self, experiment: Experiment) -> dict[str, Scaled]:  # noqa: ARG002
        """Return the sums with every combination of signs."""
        return signed_sums(self.factor, self._weighted())

    def contrast_text(self, experiment: Experiment, at: str) -> str:  # noqa: ARG002
        """Return the name of the sum."""
        return self.called or f"all gaps of {self.factor}"


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

    def _resolve(self) -> None:
        what, expected = f"Interaction({shortened(self.measure)})", "factor → (high, low) or None"
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
        """True if all combinations are asked of, so that the largest is judged."""
        return None in self.factors.values()

    def _check_fields(self, experiment: Experiment) -> None:  # noqa: ARG002
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

    def contrast_text(self, experiment: Experiment, at: str) -> str:
        """The difference of the two effects, or the combination that is the farthest out."""
        if self.largest:
            return f"{' × '.join(self.factors)}, largest at {at}"
        (high, low), (upper, lower) = (
            [bracketed(side.words) for side in sides]
            for sides in self.sides_by_factor(experiment).values()
        )
        return f"({high} − {low}) at {upper} − at {lower}"
