"""The table that divides a suite's false alarms: what it gives, and what it refuses."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest
from bias_tests.anchoring import test_all_in_one, test_anchoring
from bias_tests.cv_screening import test_cv_screening
from bias_tests.linguistic_audit import test_linguistic_audit
from bias_tests.narrative import test_narrative
from bias_tests.recommendation import test_recommendation

from pytest_bias.contrasts.cases import Registered, Registry, declared_in
from pytest_bias.errors import BadSetting
from pytest_bias.experiments.allocation import Allocation
from pytest_bias.settings.budget import Budget, read_budget
from pytest_bias.verdicts.analysis import gating_families
from pytest_bias.verdicts.verdict import allocation_words

ROOT = Path(__file__).parents[3]
MODULES = (
    *(test_all_in_one, test_anchoring, test_cv_screening, test_linguistic_audit),
    *(test_narrative, test_recommendation),
)

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


def shipped() -> list[Registered]:
    """What the six experiments declare."""
    registry = Registry()
    for module in MODULES:
        for declared in declared_in(module):
            registry.add(declared)
    return list(registry)


def test_the_shipped_table_gives_each_experiment_the_same_share() -> None:
    budget = read_budget(ROOT / "bias_budget.toml")
    given = [
        budget.of(each.experiment.id, gating_families(each.hypotheses.values()))
        for each in shipped()
    ]
    assert len(given) == len(budget.shares) == 6
    assert {Fraction(each.share).limit_denominator(1000) for each in given} == {Fraction(1, 6)}
    assert sum(each.alpha for each in given) == pytest.approx(0.05)


@pytest.mark.parametrize("registered", shipped(), ids=lambda each: each.experiment.id)
def test_every_margin_of_the_shipped_experiments_that_gates_says_why(
    registered: Registered,
) -> None:
    gating = [each for each in registered.hypotheses.values() if each.claim != "describe"]
    assert gating
    silent = [
        each.id for each in gating if getattr(each, "margin", 0) and not getattr(each, "why", "")
    ]
    assert silent == []
