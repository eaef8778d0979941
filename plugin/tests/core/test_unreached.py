"""The statistics define nothing that neither the plugin nor the suite reaches."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]


def test_every_definition_of_the_statistics_is_reached(tmp_path: Path) -> None:
    """A definition that nothing reaches, in a file beside them, is found."""
    (tmp_path / "stats").mkdir()
    (tmp_path / "stats" / "own.py").write_text("def forgotten(): pass\n", encoding="utf-8")
    places = (f"{ROOT}/plugin/pytest_bias", f"{ROOT}/bias_tests", str(tmp_path))
    look = [sys.executable, "-m", "vulture", *places]
    look += ["--exclude", "*/tests/*", "--ignore-names", "__*__"]
    found = subprocess.run(look, capture_output=True, text=True, check=False)  # noqa: S603
    assert found.returncode == 3, found.stderr  # something is found, here and in other packages
    (line,) = [line for line in found.stdout.splitlines() if "/stats/" in line]
    assert "unused function 'forgotten'" in line
