"""Units as a value: their text in JSON, their words in print, and what they are compared with."""

from __future__ import annotations

import pytest
from pydantic import TypeAdapter

from pytest_bias.contrasts.units import REPLIES, Units
from pytest_bias.experiments.canonical import plain

# units → text, of several, one per group, pair between models
TABLE: dict[Units, tuple[str, str, bool, bool]] = {
    REPLIES: ("replies", "replies", True, False),
    Units("pools"): ("pools", "pools", False, True),
    Units("units"): ("units", "units", False, True),
    Units("groups", ("group",)): ("exemplars of group", "exemplars of group", True, True),
    Units("exemplar", ("group",)): ("exemplar of group", "exemplars of group", False, True),
    Units("block", ("seed",)): ("seed", "seeds", False, True),
    Units("block", ("posts",)): ("posts", "posts", False, True),
    Units("block", ("cv", "style")): ("cv × style", "cv × style blocks", False, True),
}


@pytest.mark.parametrize(("units", "expected"), TABLE.items(), ids=map(str, TABLE))
def test_units_have_one_text_and_their_words(
    units: Units, expected: tuple[str, str, bool, bool]
) -> None:
    assert (str(units), units.several, units.in_groups, units.pair) == expected


@pytest.mark.parametrize("units", TABLE, ids=str)
def test_json_keeps_units_as_their_text(units: Units) -> None:
    kept = plain(units)
    assert kept == str(units)
    assert TypeAdapter(Units).validate_python(kept) == units


def test_only_a_single_name_is_an_exemplar_compared_with_itself() -> None:
    assert Units.within(["group"], exemplars=True) == Units("exemplar", ("group",))
    assert Units.within(["group"], exemplars=False) == Units("block", ("group",))
    assert Units.within(["group", "seed"], exemplars=True).kind == "block"
