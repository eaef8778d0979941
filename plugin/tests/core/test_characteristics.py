"""What a suite passes, from draws: of one design, of all together, and of a part of them."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_bias.calibration.committed import Summary
from pytest_bias.calibration.summary import SUITE
from pytest_bias.recording.characteristics import Chance, product


def _rates(experiment: str, passes: int, stopped: int, draws: int = 400) -> list[dict[str, Any]]:
    about = {"experiment": experiment, "subject": "even", "accepted": "even", "draws": draws}
    return [
        about | {"what": "passes", "hits": passes},
        about | {"what": "unchanged, stopped", "hits": stopped},
        about | {"what": "unchanged, stopped", "hits": 399, "hypothesis": "one"},
    ]


SUMMARY = Summary(
    {"a": "1", "b": "2", "c": "3"},
    [*_rates("a", 396, 8), *_rates("b", 380, 4), *_rates("c", 400, 0), *_rates(SUITE, 377, 11)],
)


def test_all_experiments_are_told_as_they_were_drawn_together() -> None:
    whole, *each = SUMMARY.of({"c": "3", "a": "1", "b": "2"})
    assert (whole.experiment, whole.made) == (None, "drawn together")
    assert whole.passes == Chance.of(377, 400)
    assert whole.unchanged == Chance.of(389, 400)
    assert whole.accepted is None
    assert [(one.experiment, one.made) for one in each] == [(n, "drawn") for n in ("c", "a", "b")]
    assert each[1].unchanged == Chance.of(392, 400)


def test_a_part_of_them_is_told_as_a_product() -> None:
    whole, *_ = SUMMARY.of({"a": "1", "b": "2"})
    assert whole.made == "multiplied"
    assert whole.passes is not None
    assert whole.passes.share == pytest.approx(0.99 * 0.95)
    first, second = (p * (1 - p) / 400 for p in (0.99, 0.95))
    assert whole.passes.error**2 == pytest.approx(0.95**2 * first + 0.99**2 * second)


def test_what_another_design_was_drawn_for_has_no_figure() -> None:
    whole, first, second, third = SUMMARY.of({"a": "1", "b": "0", "c": ""})
    assert (whole.made, whole.passes) == ("", None)
    assert (first.made, second.made, third.made) == ("drawn", "", "nobody answers")
    assert second.passes is None
    (alone,) = Summary({"a": "1"}, []).of({"a": "1"})
    assert (alone.made, alone.passes) == ("", None)


def test_where_all_passed_a_bound_is_told() -> None:
    every = Chance.of(400, 400)
    assert every.least is not None
    assert every.least**400 == pytest.approx(0.05)
    together = product([every, Chance.of(100, 100)])
    assert together is not None
    assert (together.share, together.draws) == (1.0, 100)
    assert together.least == pytest.approx(0.05 ** (1 / 100))
    assert product([every, None]) is None
