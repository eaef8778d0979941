"""The gate's own look for definitions of the statistics that nothing reaches."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from benchmarks import unreached

if TYPE_CHECKING:
    from pathlib import Path

FILES = {
    "plugin/pytest_bias/__init__.py": "from .statistics.rates import published\n",
    "plugin/pytest_bias/statistics/__init__.py": "",
    "plugin/pytest_bias/statistics/_sums.py": "HALF = 0.5\nLEFT = 3\ndef total(x): return HALF\n",
    "plugin/pytest_bias/statistics/rates.py": """
from . import _sums
class Rate:
    def excludes(self): return 1
    def forgotten(self): return unused
    def __post_init__(self): check()
def check(): pass
def wilson(x): return _sums.total(x)
def unused():
    return alone()
def alone(): pass
def hidden(): pass
def published(): pass
""",
    "plugin/pytest_bias/report.py": """
def row(hidden):
    from .statistics.rates import Rate, wilson
    print(wilson, hidden, 'hidden')
    return Rate().excludes()
""",
}


def test_what_is_not_reached_is_named_with_its_lines(tmp_path: Path) -> None:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    found = {
        "_sums.LEFT": 1,
        "rates.Rate.forgotten": 1,
        "rates.unused": 2,
        "rates.alone": 1,
        "rates.hidden": 1,
    }
    assert unreached.unreached(tmp_path) == found
    example = "```python\nfrom pytest_bias.statistics import rates\nrates.unused()\n```\n"
    (tmp_path / "README.md").write_text(example, encoding="utf-8")
    assert unreached.unreached(tmp_path).keys() == found.keys() - {"rates.unused", "rates.alone"}


def test_every_definition_of_the_statistics_is_reached(capsys: pytest.CaptureFixture[str]) -> None:
    assert unreached.main() == 0, capsys.readouterr().out
