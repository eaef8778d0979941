"""Real exports of other tools, mapped as the documentation maps them.

Each is of eight made-up replies, four to either demand, the last of which is no JSON. Inspect's is
what ``samples_df`` gave without the column of paths, promptfoo's what ``-o`` wrote, but for the
traceback of the error.
"""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from pytest_bias.contrasts.cases import Registry
from pytest_bias.settings.roster import read_roster
from pytest_bias.tables.subjects import Tables
from pytest_bias.workbench.suite import declared_for

EXPORTS = Path(__file__).parent / "exports"
PAGE = Path(__file__).parents[3] / "docs" / "tables.md"
ANCHORING = "anchoring-prosecutor-sentencing-all-in-one"


@pytest.fixture(scope="module")
def registry() -> Registry:
    return declared_for([ANCHORING], "bias_tests")[0]


@pytest.mark.parametrize(
    ("name", "model"), [("inspect", "mockllm/model"), ("promptfoo", "mine/subject")]
)
def test_a_tool_s_export_is_read_as_the_page_says(
    registry: Registry, name: str, model: str, tmp_path: Path
) -> None:
    blocks = [each.partition("```")[0] for each in PAGE.read_text("utf-8").split("```toml\n")[1:]]
    (text,) = [each for each in blocks if name in tomllib.loads(each).get("table", {})]
    roster = tmp_path / "bias_models.toml"
    roster.write_text(text.replace('path = "', f'path = "{EXPORTS.as_posix()}/'), "utf-8")
    found = Tables(read_roster(roster)).named(name, registry[ANCHORING].experiment)
    assert found is not None
    (replies,) = found.values()
    assert replies.model == f"table/{model}"
    assert [each.trial.id for each in replies.outcomes] == [
        f"{demand}#{n}" for demand in ("low", "high") for n in range(1, 5)
    ]
    assert [each.missing for each in replies.outcomes] == [None] * 7 + ["unreadable"]
    months = [dict(each.values or {}).get("sentence_months") for each in replies.outcomes]
    assert sorted(month for month in months if month is not None) == [4, 4, 4, 5, 5, 6, 6]
