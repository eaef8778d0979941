"""The table that divides a suite's false alarms: what it gives, and what it refuses."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_bias.errors import BadSetting
from pytest_bias.experiments.allocation import Allocation
from pytest_bias.settings.budget import Budget, read_budget
from pytest_bias.verdicts.verdict import allocation_words

TABLE = """
alarms = 0.04
[shares.coin]
share = "1/6"
families = ["b", "a"]
[shares."card game"]
share = 0.5
families = ["primary"]
"""


def budget(tmp_path: Path, text: str = TABLE) -> Budget:
    path = tmp_path / "bias_budget.toml"
    path.write_text(text, encoding="utf-8")
    return read_budget(path)


def test_a_share_is_a_fraction_of_the_alarms(tmp_path: Path) -> None:
    found = budget(tmp_path).of("coin", ["a", "b"])
    assert found.alpha == pytest.approx(0.04 / 6)
    assert found.scale == pytest.approx(0.04 / 6 / 0.05)
    assert found.families == ("a", "b")
    assert allocation_words(found) == (
        "False alarms: at most 0.0067 in 2 families, 1/6 of the suite's 0.04"
    )


def test_without_a_table_each_experiment_has_them_all() -> None:
    found = read_budget(None).of("coin", ["b", "a"])
    assert found == Allocation(alarms=0.05, share=1.0, families=("a", "b"))
    assert found.scale == 1
    assert "no error budget divides" in allocation_words(found)


@pytest.mark.parametrize(
    ("experiment", "families", "words"),
    [
        ("dice", ["a"], '[shares."dice"]: there is none; the table names: coin, card game'),
        ("coin", ["a", "b", "c"], "[shares.\"coin\"] families: lacks 'c', which its hypotheses"),
        ("coin", ["a"], "[shares.\"coin\"] families: names 'b', which no hypothesis that gates"),
    ],
)
def test_what_it_does_not_name(
    tmp_path: Path, experiment: str, families: list[str], words: str
) -> None:
    with pytest.raises(BadSetting) as raised:
        budget(tmp_path).of(experiment, families)
    assert words in str(raised.value)
    assert str(tmp_path / "bias_budget.toml") in str(raised.value)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('share = "1/6"', 'share = "2/3"', "[shares]: all shares come to 7/6, which is more"),
        ('share = "1/6"', 'share = "1/0"', '[shares."coin"] share: must be above 0 and at most 1'),
        ('share = "1/6"', 'share = "-1/6"', '[shares."coin"] share: must be above 0'),
        ('share = "1/6"', "share = true", '[shares."coin"] share: must be above 0'),
        ('share = "1/6"', "", '[shares."coin"]: needs share = "1/6"'),
        ('["b", "a"]', '"b"', '[shares."coin"] families: must be a list of names'),
        ("alarms = 0.04", "alarms = 0.1", "alarms: must be a number above 0, at most 0.05"),
        ("alarms = 0.04", "alarm = 0.04", "alarm: is not known here"),
        (TABLE, "", "[shares]: needs a table for each experiment"),
        ("alarms = 0.04", "alarms = ", "not TOML: Invalid value (at line 2, column 10)"),
    ],
)
def test_what_it_refuses(tmp_path: Path, old: str, new: str, words: str) -> None:
    with pytest.raises(BadSetting) as raised:
        budget(tmp_path, TABLE.replace(old, new))
    assert words in str(raised.value)


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(BadSetting, match="the file: cannot be read"):
        read_budget(tmp_path)
