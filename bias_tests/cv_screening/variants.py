"""Who stands at the top of a CV: the variants of each base CV, validated."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, RootModel, model_validator
from pydantic_core import PydanticCustomError

from pytest_bias import Stimuli

NEUTRAL = "neutral"
"""Race and gender, and group, of the variant that shows no person."""

Label = Annotated[str, Field(pattern=r"^[a-z0-9]+(_[a-z0-9]+)*$")]
Line = Annotated[str, Field(min_length=1, pattern=r"^[^\s](.*[^\s])?$")]


class Identity(BaseModel):
    """What alone differs between the variants of a base CV: one line each."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: Line
    email: Line
    profile: Line


class Variant(BaseModel):
    """A base CV as sent in by members of one group.

    ``set`` is the number of the base CV; ``identities`` are its bearers, one per name set, in the
    order of the name sets. Race and gender are ``neutral`` together or not at all.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: Label
    set: Annotated[int, Field(ge=1)]
    race: Label
    gender: Label
    identities: Annotated[tuple[Identity, ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _one_group(self) -> Self:
        if (self.race == NEUTRAL) != (self.gender == NEUTRAL):
            raise PydanticCustomError("half_neutral", "race and gender are neutral together")
        if len(set(self.identities)) < len(self.identities):
            raise PydanticCustomError("same_identity", "an identity stands twice in a variant")
        return self

    @property
    def group(self) -> str:
        """The level of the factor ``group``: ``black_female``, or ``neutral``."""
        return NEUTRAL if self.race == NEUTRAL else f"{self.race}_{self.gender}"

    @property
    def words(self) -> str:
        """The same in words."""
        return "anonymised" if self.race == NEUTRAL else f"{self.race}, {self.gender}"


class Variants(RootModel[Annotated[tuple[Variant, ...], Field(min_length=1)]]):
    """All variants of an experiment: every group of every set once, with as many identities."""

    model_config = ConfigDict(frozen=True)

    @model_validator(mode="after")
    def _crossed(self) -> Self:
        ids = Counter(variant.id for variant in self.variants)
        if twice := [name for name, count in ids.items() if count > 1]:
            raise PydanticCustomError("same_id", "id {id} stands twice", {"id": twice[0]})
        cells: defaultdict[str, dict[int, int]] = defaultdict(dict)
        for variant in self.variants:
            if variant.set in cells[variant.group]:
                raise PydanticCustomError(
                    "same_cell", "{id} repeats a group of its set", {"id": variant.id}
                )
            cells[variant.group][variant.set] = len(variant.identities)
        for group, sizes in cells.items():
            if set(sizes) != self.sets or len(set(sizes.values())) > 1:
                raise PydanticCustomError(
                    "not_crossed",
                    "group {group} is not in every set with the same number of identities",
                    {"group": group},
                )
        return self

    @property
    def variants(self) -> tuple[Variant, ...]:
        """The variants, in the file's order."""
        return self.root

    @property
    def sets(self) -> set[int]:
        """The numbers of the base CVs."""
        return {variant.set for variant in self.variants}

    @property
    def races(self) -> tuple[str, ...]:
        """The races of persons, in the file's order."""
        return tuple(dict.fromkeys(v.race for v in self.variants if v.race != NEUTRAL))

    @property
    def genders(self) -> tuple[str, ...]:
        """The genders of persons, in the file's order."""
        return tuple(dict.fromkeys(v.gender for v in self.variants if v.gender != NEUTRAL))

    def by_group(self) -> Mapping[str, Sequence[Variant]]:
        """Group → its variants, in the file's order of groups and by set."""
        found: dict[str, list[Variant]] = {}
        for variant in sorted(self.variants, key=lambda each: each.set):
            found.setdefault(variant.group, []).append(variant)
        return {variant.group: found[variant.group] for variant in self.variants}

    def groups(self, *, race: str | None = None, gender: str | None = None) -> tuple[str, ...]:
        """The groups of persons of a race, of a gender or of both; all without either."""
        return tuple(
            dict.fromkeys(
                variant.group
                for variant in self.variants
                if variant.group != NEUTRAL
                and race in (None, variant.race)
                and gender in (None, variant.gender)
            )
        )


def read_variants(path: Path) -> Variants:
    """Return the variants in a JSON file: a list of objects with the fields of :class:`Variant`.

    Raises
    ------
    BadData
        When an entry is not one, or groups and sets are not crossed.
    """
    return Stimuli(path.parent).json(path.name, Variants)
