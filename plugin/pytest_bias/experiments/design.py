"""Designs: factors, items, conditions, trials, and their crossing."""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from types import MappingProxyType, NoneType
from typing import TYPE_CHECKING, TypeVar, cast

from ..errors import BadDesign, UnknownName
from .fields import need_labelled, need_mapping, need_several, need_text, shortened, wrong

K = TypeVar("K")
V = TypeVar("V")

LABEL = re.compile(r"[a-z0-9]+(?:_[a-z0-9]+)*")
"""Labels of levels and names of factors: they become parts of case ids and of column names."""

_IN_IDS = str.maketrans({"/": "%2F", "#": "%23", "%": "%25"})


def frozen_mapping(mapping: Mapping[K, V]) -> Mapping[K, V]:
    """A read-only copy, so that no caller keeps a handle on a value's inside."""
    return mapping if type(mapping) is MappingProxyType else MappingProxyType(dict(mapping))


def frozen(value: object) -> object:
    """``value`` read-only all the way down: mappings as read-only ones, lists as tuples."""
    if type(value) in (str, int, float, bool, NoneType):
        return value  # most are: asking whether each is a mapping would take longer than crossing
    if isinstance(value, Mapping):
        return frozen_mapping({key: frozen(item) for key, item in value.items()})
    if type(value) in (list, tuple):
        return tuple(frozen(item) for item in cast("Sequence[object]", value))
    return frozenset(value) if type(value) is set else value


def check_label(label: object, what: str) -> None:
    """Raise BadDesign unless ``label`` can stand in a case id."""
    if not isinstance(label, str) or not LABEL.fullmatch(label):
        raise BadDesign(
            what=what,
            problem=(
                f"{shortened(label)} is not a label (lower-case letters and digits, joined by '_')"
            ),
        )


@dataclass(frozen=True, slots=True)
class Factor:
    """A manipulated variable.

    Parameters
    ----------
    name
        Label of the factor, also its column in the records.
    levels
        Label of each level → its value, the thing the protocol puts before the subject. Lists and
        dicts among the values are kept as tuples and read-only mappings. Of a list of labels each
        is its own value.
    unit
        Unit of numeric level values, for print ("months on probation").
    exemplars
        For levels that stand for a group, level → the members that sample it (five names for one
        group). Each member is crossed like a replicate, and is a unit of analysis of its own.
    controls
        Further levels, label → value, for positive controls alone: no contrast knows them that
        does not name them. They are met with the first level of every other factor.
    """

    name: str
    levels: Mapping[str, object] = field(repr=False)
    unit: str = ""
    exemplars: Mapping[str, Sequence[str]] = field(default_factory=dict, repr=False)
    controls: Mapping[str, object] = field(default_factory=dict, repr=False)

    if TYPE_CHECKING:  # what may be given is more than what is kept

        def __init__(
            self,
            name: str,
            levels: Mapping[str, object] | Sequence[str],
            unit: str = "",
            exemplars: Mapping[str, Sequence[str]] = ...,
            controls: Mapping[str, object] | Sequence[str] = ...,
        ) -> None: ...

    def __post_init__(self) -> None:
        what = f"Factor({shortened(self.name)})"
        check_label(self.name, what)
        levels = _labelled(what, "levels", self.levels)
        need_text(what, unit=self.unit)
        expected = "a mapping, level → list of names"
        need_mapping(what, "exemplars", self.exemplars, expected)
        if len(levels) < 2:  # noqa: PLR2004  (a factor varies: two levels at least)
            raise BadDesign(what=what, problem="needs at least two levels")
        if self.exemplars and set(self.exemplars) != set(levels):
            raise BadDesign(what=what, problem="exemplars must be given for every level or none")
        exemplars = {}
        for level, members in self.exemplars.items():
            of = f"exemplars of {level!r}"
            names = need_several(what, of, members, str, "distinct names")
            if not names or not all(names) or len(set(names)) != len(names):
                raise BadDesign(what=what, problem=f"{of} must be a list of distinct names")
            exemplars[level] = names
        controls = _labelled(what, "controls", self.controls, known=levels)
        if controls and exemplars:
            problem = "levels that exemplars stand for have no control levels beside them"
            raise BadDesign(what=what, problem=problem)
        object.__setattr__(self, "levels", frozen(levels))
        object.__setattr__(self, "exemplars", frozen_mapping(exemplars))
        object.__setattr__(self, "controls", frozen(controls))


@dataclass(frozen=True, slots=True)
class Items:
    """Blocks that every condition is crossed with (prompt seeds, CVs), never manipulated.

    ``items`` maps the label of each item to its value; of a list of labels each is its own value.
    ``controls`` are further items for positive controls alone, crossed with every condition too:
    no contrast knows them that does not name them.
    """

    name: str
    items: Mapping[str, object] = field(repr=False)
    controls: Mapping[str, object] = field(default_factory=dict, repr=False)

    if TYPE_CHECKING:  # what may be given is more than what is kept

        def __init__(
            self,
            name: str,
            items: Mapping[str, object] | Sequence[str],
            controls: Mapping[str, object] | Sequence[str] = ...,
        ) -> None: ...

    def __post_init__(self) -> None:
        what = f"Items({shortened(self.name)})"
        check_label(self.name, what)
        items = _labelled(what, "items", self.items)
        if not items:
            raise BadDesign(what=what, problem="needs at least one item")
        controls = _labelled(what, "controls", self.controls, known=items)
        object.__setattr__(self, "items", frozen(items))
        object.__setattr__(self, "controls", frozen(controls))


def _labelled(
    what: str, name: str, given: object, known: Collection[str] = ()
) -> Mapping[str, object]:
    """Levels or items by label; BadDesign for a label that is none, or is ``known`` already."""
    labelled = need_labelled(what, name, given)
    for label in labelled:
        check_label(label, what)
        if label in known:
            raise BadDesign(what=what, problem=f"{label!r} is also a control's label")
    return labelled


@dataclass(frozen=True, slots=True)
class Condition:
    """One combination of levels: ``levels`` maps factor → label, ``values`` factor → value."""

    levels: Mapping[str, str]
    values: Mapping[str, object] = field(repr=False)
    id: str = field(init=False, repr=False, compare=False)
    """Short stable id: the labels in the factors' order."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "levels", frozen_mapping(self.levels))
        object.__setattr__(self, "values", frozen_mapping(self.values))
        object.__setattr__(self, "id", "-".join(self.levels.values()))

    def __getitem__(self, factor: str) -> object:
        """Value of this condition's level of ``factor``.

        Raises UnknownName where the experiment has no such factor.
        """
        try:
            return self.values[factor]
        except KeyError:
            hint = "an item's value is trial.item_value"
            raise UnknownName(kind="factor", name=factor, known=self.values, hint=hint) from None


@dataclass(frozen=True, slots=True)
class Trial:
    """One run of the protocol: condition × exemplar × item × replicate.

    ``exemplars`` maps each factor that has them to the chosen member; ``item`` is the label of the
    item (None without items) and ``item_value`` its value; ``replicate`` counts from 1.
    """

    condition: Condition
    exemplars: Mapping[str, str] = field(default_factory=dict)
    item: str | None = None
    item_value: object = field(default=None, repr=False)
    replicate: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "exemplars", frozen_mapping(self.exemplars))

    def __getitem__(self, factor: str) -> object:
        """Return what the subject sees of ``factor``: the exemplar, or else the level's value."""
        if factor in self.exemplars:
            return self.exemplars[factor]
        return self.condition[factor]

    @property
    def identity(self) -> dict[str, object]:
        """The part of the trial that enters keys: labels only, JSON types only."""
        return {
            "condition": dict(self.condition.levels),
            "exemplars": dict(self.exemplars),
            "item": self.item,
            "replicate": self.replicate,
        }

    @property
    def cell(self) -> tuple[str | None, ...]:
        """Condition, exemplars and item: all that it shares with its replicates alone."""
        return (self.condition.id, *self.exemplars.values(), self.item)

    @property
    def id(self) -> str:
        """The trial in words for messages: ``high/recipe#12``; no two trials have the same.

        In exemplars, which may be any words, ``/``, ``#`` and ``%`` stand as in a URL.
        """
        return f"{_in_text(self.cell)}#{self.replicate}"


@lru_cache(maxsize=2**12)
def _in_text(cell: tuple[str | None, ...]) -> str:
    """A cell as ids begin; many trials are of one."""
    condition, *members, item = cell
    parts = [condition, *(member and member.translate(_IN_IDS) for member in members), item]
    return "/".join(part for part in parts if part is not None)


@dataclass(frozen=True, slots=True)
class Design:
    """The size of an experiment's run: one of its named ones.

    Parameters
    ----------
    replicates
        Repetitions of every condition × exemplar × item.
    name
        What it is called; an experiment names those it is given itself.
    exemplars
        Only so many exemplars of every level are met, in the order in which they are declared;
        None is all of them. A level that has fewer has what it has. The trials of a smaller
        design are those of a larger one, with the same keys.
    max_calls
        Calls of one model that recording it may make in one run, every attempt counted; None
        leaves it to the user. It is enforced where all that a run records has one.
    controls
        Repetitions of every control level, and of every control item under every condition; 0
        leaves them out.
    """

    replicates: int
    name: str = "gate"
    exemplars: int | None = None
    max_calls: int | None = None
    controls: int = 0

    def __post_init__(self) -> None:
        what = f"Design({self.name!r})"
        for name in ("replicates", "controls", "exemplars", "max_calls"):
            number, least = getattr(self, name), 0 if name == "controls" else 1
            if number is None and name in ("exemplars", "max_calls"):
                continue
            if type(number) is not int:
                raise wrong(what, name, number, "an integer")
            if number < least:
                raise BadDesign(what=what, problem=f"{name} must be at least {least}")

    def members(self, factor: Factor, level: str) -> tuple[str, ...]:
        """The exemplars of a level that this design meets; none where the factor has none."""
        return tuple(factor.exemplars.get(level, ())[: self.exemplars])


def cross(factors: Sequence[Factor]) -> tuple[Condition, ...]:
    """Every combination of levels, in the order in which factors and levels are declared."""
    every = itertools.product(*(factor.levels.items() for factor in factors))
    return tuple(_condition(factors, levels) for levels in every)


def control_conditions(factors: Sequence[Factor]) -> tuple[Condition, ...]:
    """The conditions at control levels, in the order in which these are declared."""
    first = [next(iter(factor.levels.items())) for factor in factors]
    return tuple(
        _condition(factors, [*first[:place], level, *first[place + 1 :]])
        for place, factor in enumerate(factors)
        for level in factor.controls.items()
    )


def _condition(factors: Sequence[Factor], levels: Sequence[tuple[str, object]]) -> Condition:
    """The condition at ``levels``, one of each factor: label and value."""
    names = [factor.name for factor in factors]
    labels, values = zip(*levels, strict=True)
    return Condition(dict(zip(names, labels, strict=True)), dict(zip(names, values, strict=True)))


def is_control(condition: Condition, factors: Sequence[Factor]) -> bool:
    """Return whether a condition stands at a control level."""
    return any(condition.levels[factor.name] in factor.controls for factor in factors)


def trials_of(
    condition: Condition, factors: Sequence[Factor], items: Items | None, design: Design
) -> Iterator[Trial]:
    """The trials of one condition: its exemplars × items × replicates, in declared order.

    Then those at the control items. A condition at a control level has its first exemplars and
    first item alone.
    """
    sampled = [factor for factor in factors if factor.exemplars]
    members = [design.members(factor, condition.levels[factor.name]) for factor in sampled]
    names = [factor.name for factor in sampled]
    plain: list[tuple[str | None, object]] = list(items.items.items()) if items else [(None, None)]
    extra: list[tuple[str | None, object]] = list(items.controls.items()) if items else []
    parts = [(members, plain, design.replicates), (members, extra, design.controls)]
    if is_control(condition, factors):
        parts = [([level[:1] for level in members], plain[:1], design.controls)]
    for exemplars, blocks, replicates in parts:
        for chosen in itertools.product(*exemplars):
            met = dict(zip(names, chosen, strict=True))
            for item, value in blocks:
                for replicate in range(1, replicates + 1):
                    yield Trial(condition, met, item, value, replicate)
