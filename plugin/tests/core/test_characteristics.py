"""What a suite passes, from draws: of one design, of all together, and of a part of them."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from scipy.stats import beta  # type: ignore[import-untyped, unused-ignore]  # no types

from pytest_bias.calibration.committed import Summary, read_summary
from pytest_bias.calibration.file import DamagedCalibration
from pytest_bias.calibration.summary import SUITE
from pytest_bias.cli.calibrate import declared_by
from pytest_bias.errors import BadSetting
from pytest_bias.recording.characteristics import Chance, product


def _rates(experiment: str, passes: int, stopped: int, draws: int = 400) -> list[dict[str, Any]]:
    about = {"experiment": experiment, "subject": "even", "accepted": "even", "draws": draws}
    return [
        about | {"what": "passes", "hits": passes},
        about | {"what": "unchanged, stopped", "hits": stopped},
        about | {"what": "unchanged, stopped", "hits": 399, "hypothesis": "one"},
    ]


RATES = [*_rates("a", 396, 8), *_rates("b", 380, 4), *_rates("c", 400, 0), *_rates(SUITE, 377, 11)]


@pytest.fixture
def summary(tmp_path: Path) -> Summary:
    """Three experiments, as a file has them."""
    return _read(tmp_path, json.dumps(_written()))


def _written(**other: object) -> dict[str, object]:
    return {"format": 1, "designs": {"a": "1", "b": "2", "c": "3"}, "rates": RATES} | other


def _read(folder: Path, text: str) -> Summary:
    path = folder / "calibration.json"
    path.write_text(text, encoding="utf-8")
    return read_summary(path)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        "[" * 10_000,
        json.dumps(_written(format=2)),
        json.dumps(_written(designs=["ax"])),
        *(
            json.dumps(_written(rates=[RATES[0] | wrong]))
            for wrong in (
                {"hits": 401},
                {"hits": -1},
                {"hits": 0, "draws": 0},
                {"hits": 9.7},
                {"hits": float("inf")},
                {"draws": -10},
            )
        ),
    ],
)
def test_what_is_no_summary_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(DamagedCalibration, match=r"calibration\.json, line 1"):
        _read(tmp_path, text)


def test_a_summary_that_cannot_be_read_is_a_setting_to_mend(tmp_path: Path) -> None:
    with pytest.raises(BadSetting, match="bias_calibration"):
        read_summary(tmp_path)


def test_where_there_is_none_yet_nothing_was_drawn(tmp_path: Path) -> None:
    (alone,) = read_summary(tmp_path / "none.json").of({"a": "1"})
    assert (alone.made, alone.passes) == ("", None)


def test_all_experiments_are_told_as_they_were_drawn_together(summary: Summary) -> None:
    whole, *each = summary.of({"c": "3", "a": "1", "b": "2"})
    assert (whole.experiment, whole.made) == (None, "drawn together")
    assert whole.passes == Chance.of(377, 400)
    assert whole.unchanged == Chance.of(389, 400)
    assert whole.accepted is None
    assert [(one.experiment, one.made) for one in each] == [(n, "drawn") for n in ("c", "a", "b")]
    assert each[1].unchanged == Chance.of(392, 400)


def test_a_part_of_them_is_told_as_a_product(summary: Summary) -> None:
    whole, *_ = summary.of({"a": "1", "b": "2"})
    assert whole.made == "multiplied"
    assert whole.passes is not None
    assert whole.passes.share == pytest.approx(0.99 * 0.95)
    first, second = (p * (1 - p) / 400 for p in (0.99, 0.95))
    assert whole.passes.error**2 == pytest.approx(0.95**2 * first + 0.99**2 * second)


def test_what_another_design_was_drawn_for_has_no_figure(summary: Summary) -> None:
    whole, first, second, third = summary.of({"a": "1", "b": "0", "c": ""})
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


def test_one_of_which_every_draw_passed_is_not_known_for_certain() -> None:
    often, few = Chance.of(380, 400), Chance.of(30, 30)
    together = product([often, few])
    assert together is not None
    posterior = beta(30.5, 0.5).std()
    assert together.error == pytest.approx(math.hypot(often.error, 0.95 * posterior))


def test_the_shipped_calibration_is_of_the_shipped_designs() -> None:
    """A plan has no figures of a design with another digest, whatever changed it."""
    shipped = read_summary(Path(__file__).parents[3] / "bias_tests" / "calibration.json")
    assert declared_by("bias_tests").digests == shipped.designs
