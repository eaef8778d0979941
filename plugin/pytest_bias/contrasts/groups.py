"""Several groups: each against the rest, or whether any differs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from ..errors import BadDesign
from ..experiments.fields import need_several
from .declared import (
    Declared,
    check_levels,
    check_measure,
    check_undirected,
    settle_fields,
    units_of,
)
from .findings import Finding
from .layout import Layout
from .linear import Asked, Engine, Side, analyse_linear, standard_engine
from .published import GroupsTest, PublishedMethod
from .reach import check_compared, layout_of

if TYPE_CHECKING:
    from ..experiments.design import Design
    from ..experiments.experiment import Experiment
    from ..experiments.records import Records

REST = "rest"
ANY = "any"


@dataclass(frozen=True, slots=True)
class GroupContrast(Declared):
    """One group against the mean of all others, or (without ``group``) whether any differs.

    Parameters
    ----------
    measure, factor
        Names in the experiment; the measure is numeric or a flag (then rates are compared).
    group
        Level that is held against the rest; None for the omnibus question, which has no margin
        and can only be detected.
    among
        The levels that are groups; by default all of the factor.

    See :class:`~.declared.Declared` for the other parameters. One hypothesis per group is
    ``GroupContrast.each(…, over=[{"group": name} for name in groups])``.

    Notes
    -----
    For a population whose units are the groups' exemplars: permutation of the exemplars' labels,
    with the variance pooled over all groups for interval and clearing. For a fixed set: stratified
    cell means, or score statistics for rates, against the margin where groups have exemplars. The
    omnibus p permutes labels of exemplars, of means within units, or of replies within strata.
    """

    measure: str
    factor: str
    group: str | None = field(default=None, kw_only=True)
    among: Sequence[str] = field(default=(), kw_only=True)
    published: PublishedMethod | None = field(default_factory=GroupsTest, kw_only=True)

    def __post_init__(self) -> None:
        settle_fields(self)
        among = need_several(self.id, "among", self.among, str, "levels")
        object.__setattr__(self, "among", among)

    @property
    def id(self) -> str:
        """``<measure>-<group>-rest``, or ``<measure>-<factor>-any``."""
        if self.name:
            return f"{self.measure}-{self.name}"
        if self.group is None:
            return f"{self.measure}-{self.factor}-{ANY}"
        return f"{self.measure}-{self.group}-{REST}"

    def check(self, experiment: Experiment) -> None:
        """Raise BadDesign or UnknownName when ``experiment`` cannot answer this."""
        what = self.id
        check_measure(self, experiment, self.measure)
        groups = self._groups(experiment)
        check_levels(self, experiment, self.factor, groups)
        sides = [{self.factor: [group]} for group in groups]
        check_compared(self, experiment, sides, pooled=True, flips=self.group is not None)
        if len(set(groups)) < len(groups) or len(groups) < 3:  # noqa: PLR2004  (or a pair)
            raise BadDesign(what=what, problem="needs three groups or more, each named once")
        if self.group is None:
            check_undirected(self, "whether any group differs")
        elif self.group not in groups:
            raise BadDesign(what=what, problem=f"{self.group!r} is not among the groups")

    def analyse(self, experiment: Experiment, records: Records) -> Finding:
        """The finding; NoFinding when a group has too few units, or a condition no reply."""
        from .estimation import weights as of  # noqa: PLC0415  (numpy)

        groups = self._groups(experiment)
        if self.group is None:
            weights = of.Weights({self.factor: dict.fromkeys(groups, 1.0)})
            sides = tuple(Side(words=g, levels={self.factor: [g]}) for g in groups)
        else:
            weights = of.level_against_rest(self.factor, self.group, groups)
            rest = [group for group in groups if group != self.group]
            sides = (
                Side(words=self.group, levels={self.factor: [self.group]}),
                Side(words=REST, levels={self.factor: rest}),
            )
        asked = Asked(
            declared=self,
            measure=self.measure,
            quantity="group against the rest" if self.group else "spread of groups",
            scale="difference" if self.group else "size",
            weights=weights,
            sides=sides,
        )
        finding = analyse_linear(
            asked, experiment, records, self._engine(experiment, groups)
        ).finding
        if self.group is None:
            return replace(finding, contrast=f"any {self.factor}", settle=None)
        return finding

    def layout(self, experiment: Experiment, design: Design) -> Layout | None:
        """Return the observations ``design`` gives one group; None for the omnibus question."""
        if self.group is None:
            return None
        rest = [group for group in self._groups(experiment) if group != self.group]
        sides = [{self.factor: [self.group]}, {self.factor: rest}]
        return layout_of(self, experiment, design, sides, within=False, pooled=True)

    def _engine(self, experiment: Experiment, groups: Sequence[str]) -> Engine:
        from .estimation.groups import any_group, group_against_rest  # noqa: PLC0415

        population = self.target == "population"
        unit = units_of(self, experiment, [self.factor]) if population else None
        group = self.group
        if group is None:
            return lambda grid, _: any_group(grid, self.factor, groups, unit)
        if unit == (self.factor,):
            return lambda grid, _: group_against_rest(
                grid, self.factor, group, groups, margin=self.margin
            )
        return lambda grid, weights: standard_engine(
            self, experiment, [self.factor], rates=grid.flags
        )(grid, weights)

    def _groups(self, experiment: Experiment) -> tuple[str, ...]:
        return tuple(self.among) or experiment.levels(self.factor)
