from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

from benchmarks import foreign, pseudo_replication
from benchmarks.common import Share

SCRIPTS = sorted(Path(foreign.__file__).parent.glob("*.py"))


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_what_a_script_and_its_texts_import_is_there(script: Path) -> None:
    """No type checker sees the imports of texts that are run as modules."""
    text = script.read_text(encoding="utf-8")
    for module, names in re.findall(r"^from (pytest_bias\S*) import (\w.*)$", text, re.MULTILINE):
        for name in re.findall(r"(\w+)(?: as \w+)?(?:, )?", names):
            if not hasattr(importlib.import_module(module), name):
                importlib.import_module(f"{module}.{name}")


def test_a_share_and_its_errors() -> None:
    share = Share(hits=50, runs=1_000)
    assert share.value == 0.05
    assert share.error == pytest.approx((0.05 * 0.95 / 1_000) ** 0.5)
    assert share.error_beside(0.05, 1_000) == pytest.approx(share.error * 2**0.5)
    assert share.error_beside(0.05, 10**9) == pytest.approx(share.error, rel=1e-3)
    assert str(share) == "0.050 ± 0.007"


def test_all_rows_of_the_table_of_false_alarms() -> None:
    found = pseudo_replication.column((2, 3, 2))
    assert list(found) == [*pseudo_replication.PUBLISHED, *pseudo_replication.primaries()]
    ours = [share.runs for name, share in found.items() if name.startswith("ours")]
    assert ours == [2, 2, 2]
    assert all(0 <= share.hits <= share.runs for share in found.values())
    assert pseudo_replication.column((2, 3, 2)) == found
