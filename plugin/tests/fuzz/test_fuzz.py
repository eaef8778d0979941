"""A bounded share of the damage in every run; plugin/benchmarks/fuzz.py does more of it."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest

from .harness import Target, fuzzed, judged, origin_of
from .mutations import LARGEST, mutate
from .targets import TARGETS

SEED = 20_261_122


@pytest.fixture(params=TARGETS, ids=lambda kind: kind.name)
def target(request: pytest.FixtureRequest, tmp_path: Path) -> Target[Any]:
    kind: type[Target[Any]] = request.param
    return kind(tmp_path)


def test_what_is_whole_is_read_and_what_once_failed_does_no_more(target: Target[Any]) -> None:
    assert target.corpus
    for name, data in target.corpus.items():
        assert judged(target, name, data) == "same"
    for name, data in target.once_wrong.items():
        assert judged(target, origin_of(name), data)


def test_damage_gives_the_same_or_an_error_of_ours(target: Target[Any]) -> None:
    found = fuzzed(target, seed=SEED, mutations=target.in_gate)
    assert [why for _, _, why in found.wrong] == []
    # Not all of it is refused before anything is looked at, and not all of it is harmless.
    assert min(found.same, found.refused) > target.in_gate / 200


def test_one_seed_does_the_same_damage_and_another_does_other() -> None:
    first, again, other = (
        [mutate(b'{"a": 1}\n' * 9, b"[2]\n", rng) for _ in range(50)]
        for rng in (Random("1"), Random("1"), Random("2"))  # noqa: S311  (no secret)
    )
    assert first == again != other
    assert all(len(data) <= LARGEST for data in first)
