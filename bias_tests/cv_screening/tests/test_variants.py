"""The file of variants: what it holds, and what is refused in a user's own."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from pytest_bias import BadData

from ..screening import STIMULI, VARIANTS
from ..variants import Variants, read_variants

SHIPPED: list[dict[str, Any]] = json.loads((STIMULI.folder / "variants.json").read_text("utf-8"))


def read(path: Path, entries: object) -> Variants:
    file = path / "variants.json"
    file.write_text(json.dumps(entries), encoding="utf-8")
    return read_variants(file)


def entry(**changes: Any) -> dict[str, Any]:
    identity = {"name": "N", "email": "n@mail.example", "profile": "p"}
    given = {"id": "v", "set": 1, "race": "white", "gender": "male", "identities": [identity]}
    return given | changes


@pytest.mark.requirement("CV-01", "CV-02", "CV-45")
def test_there_are_21_variants_of_three_cvs() -> None:
    assert len(VARIANTS.variants) == 21
    assert VARIANTS.sets == {1, 2, 3}
    for variant in VARIANTS.variants:
        expected = "neutral" if variant.race == "neutral" else f"{variant.race}_{variant.gender}"
        assert variant.group == expected
        assert variant.id == f"set{variant.set}_{expected}"


@pytest.mark.requirement("CV-02")
def test_every_group_has_three_name_sets_and_no_name_stands_twice() -> None:
    named = [variant for variant in VARIANTS.variants if variant.race != "neutral"]
    assert {len(variant.identities) for variant in named} == {3}
    identities = [identity for variant in named for identity in variant.identities]
    for part in ("name", "email", "profile"):
        counts = Counter(getattr(identity, part) for identity in identities)
        assert set(counts.values()) == {1}
        assert len(counts) == 54


def test_links_and_addresses_belong_to_nobody() -> None:
    for variant in VARIANTS.variants:
        for identity in variant.identities:
            if variant.race != "neutral":
                assert identity.email.endswith("@mail.example")
                assert identity.profile.startswith("https://profiles.example/in/")


def test_men_and_women_of_a_race_share_their_family_names() -> None:
    """So that the contrast of genders is one of first names alone."""
    family = {
        (v.set, v.race, v.gender): [i.name.split()[-1] for i in v.identities]
        for v in VARIANTS.variants
    }
    for (number, race, _), names in family.items():
        if race != "neutral":
            assert names == family[number, race, "male"] == family[number, race, "female"]


def test_groups_by_race_and_gender() -> None:
    assert VARIANTS.groups(race="black") == ("black_male", "black_female")
    assert VARIANTS.groups(gender="female") == ("white_female", "black_female", "asian_female")
    assert VARIANTS.groups(race="asian", gender="male") == ("asian_male",)
    assert len(VARIANTS.groups()) == 6


@pytest.mark.requirement("CV-45")
@pytest.mark.parametrize(
    ("entries", "problem"),
    [
        ([], "at least 1 item"),
        ([entry(set="1")], "valid integer"),
        ([entry(set=0)], "greater than or equal to 1"),
        ([entry(race="White")], "pattern"),
        ([entry(race="neutral")], "neutral together"),
        ([entry(gender="neutral")], "neutral together"),
        ([entry(identities=[])], "at least 1 item"),
        ([entry(identities=entry()["identities"] * 2)], "stands twice in a variant"),
        ([entry(id="a b")], "pattern"),
        ([entry(note="x")], "Extra inputs"),
        ([entry(), entry(gender="female")], "id v stands twice"),
        ([entry(), entry(id="w")], "w repeats a group"),
        ([entry(), entry(id="w", set=2, race="black")], "not in every set"),
        (
            [entry(identities=[{"name": "A\nB", "email": "e", "profile": "p"}])],
            "pattern",
        ),
        ([entry(identities=[{"name": "", "email": "e", "profile": "p"}])], "at least 1 char"),
        ([entry(identities=[{"name": "A", "email": "e"}])], "Field required"),
    ],
)
def test_what_is_refused(tmp_path: Path, entries: object, problem: str) -> None:
    with pytest.raises(BadData, match=problem):
        read(tmp_path, entries)


def test_a_group_needs_as_many_name_sets_in_every_set(tmp_path: Path) -> None:
    changed = json.loads(json.dumps(SHIPPED))
    del changed[0]["identities"][0]
    with pytest.raises(BadData, match="white_male"):
        read(tmp_path, changed)


@pytest.mark.requirement("CV-45")
def test_further_races_may_be_added(tmp_path: Path) -> None:
    added = [
        entry(id=f"set{number}_hispanic_female", set=number, race="hispanic", gender="female")
        for number in (1, 2, 3)
    ]
    found = read(tmp_path, [*SHIPPED, *added])
    assert found.groups(race="hispanic") == ("hispanic_female",)
    assert list(found.by_group())[-1] == "hispanic_female"
