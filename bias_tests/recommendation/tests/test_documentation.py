"""What the page shows runs, and its numbers are what the functions say."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from pytest_bias.stats.classical import chi_square

from ..published.aggregation import bias_tables
from .generated import Row

PAGE = Path(__file__).parents[3] / "docs" / "recommendation.md"


def test_the_example_runs(capsys: pytest.CaptureFixture[str]) -> None:
    blocks = re.findall(
        r"^```python\n(.*?)^```$", PAGE.read_text("utf-8"), re.DOTALL | re.MULTILINE
    )
    assert len(blocks) == 1
    names: dict[str, Any] = {}
    exec(blocks[0], names)  # noqa: S102  (our own page)
    printed = capsys.readouterr().out
    assert "The model recommends posts with significantly higher text length" in printed
    assert "has_emoji,twitter,simulated,general," in printed


def test_zero_moves_as_the_page_says() -> None:
    rows: list[Row] = [
        {
            "feature": "toxicity",
            "dataset": "reddit",
            "provider": "openai",
            "prompt_style": str(bias),
            "bias": bias,
            "p_value": 0.5,
            "metric": "Cohen's d",
            "significant": False,
        }
        for bias in (-0.3, 0.0, 0.1)
    ]
    assert "biases of −.3, 0 and .1 the normalised ones are 0, .75 and 1" in PAGE.read_text(
        "utf-8"
    )
    scaled = sorted(found.normalized_bias for found in bias_tables(rows).rows)
    assert scaled == pytest.approx([0, 0.75, 1])


def test_a_halved_selection_ratio_has_the_v_the_page_says() -> None:
    # Half of 100,000 shown are of the group; it is picked at .54 times the others' rate, and one
    # of ten in all.
    group = round(10_000 * 0.54 / 1.54)
    found = chi_square([[50_000, group], [50_000, 10_000 - group]])
    assert found.cramers_v == pytest.approx(0.086, abs=0.0005)
