"""Effects as they are held beside each other: an estimate, and what each unit gives to it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from ..experiments.design import frozen_mapping
from ..statistics.results import Interval

Scale = Literal["difference", "ratio", "size"]
"""What an estimate is: a difference around 0, a ratio around 1, or a size that has no sign."""

How = Literal["same replies", "paired", "independent", "intervals", "exchange", "not comparable"]
"""How two effects were held beside each other; see :mod:`pytest_bias.baselines.noninferiority`."""

_STRICT: Mapping[str, object] = {"extra": "forbid", "allow_inf_nan": False}


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitGroup:
    """The unit-level contrasts of one group: ``weight`` × their mean is its part of the estimate.

    ``values`` maps the unit (an item, an exemplar, a block or a pool, by a name that is the same
    for every model) to its contrast, in the measure's unit; of ratios, on the log scale. Of a
    "size", groups are what is compared and carry no weight (0); ``gaps`` then holds what the mean
    of the group weighs in each of the gaps whose absolute values are added up, and is empty where
    the size is the standard deviation of the groups' means.
    """

    __pydantic_config__: ClassVar[Mapping[str, object]] = _STRICT

    group: str
    weight: float
    values: Mapping[str, float] = field(repr=False)
    gaps: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", frozen_mapping(self.values))


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """An estimate with all that holding another model's beside it needs.

    ``se`` and ``df`` are on the scale of the estimate, of ratios on the log scale; None where the
    quantity has none. ``by_unit`` is empty where replies are the units: replicates never pair.
    ``cassette`` is the checksum of the replies it rests on.
    """

    __pydantic_config__: ClassVar[Mapping[str, object]] = _STRICT

    estimate: float
    interval: Interval | None
    se: float | None
    df: float | None
    scale: Scale
    cassette: str
    by_unit: tuple[UnitGroup, ...] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """A candidate's effect beside a baseline's.

    ``bound`` is the upper bound of |candidate| − |baseline| (of ratios, of the sizes of their
    logarithms) that must lie below ``margin`` (of ratios the logarithm of their limit); None where
    there is none. ``units`` are those that were paired, 0 where nothing pairs. ``no_worse`` is
    what decides; ``words`` say why not, or what a "no worse" that is no proof rests on.
    """

    how: How
    bound: float | None
    margin: float | None
    units: int
    no_worse: bool
    words: str = ""
