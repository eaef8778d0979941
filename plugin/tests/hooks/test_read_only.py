"""A checkout that may only be read ends with its verdict, and says what could not be written."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from .suites import Suite


def read_only(folder: Path) -> None:
    """Let nobody write below ``folder``."""
    for path in (folder, *folder.rglob("*")):
        path.chmod(path.stat().st_mode & ~0o222)


def run(suite: Suite, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run pytest as a process that permissions hold for: root without its capabilities."""
    mortal = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"] if os.geteuid() == 0 else []
    plugins = ["-p", "pytest-bias", "-p", "xdist"]
    return subprocess.run(  # noqa: S603  (our own code)
        [*mortal, sys.executable, "-m", "pytest", *plugins, *arguments],
        cwd=suite.path,
        env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


@pytest.mark.parametrize("workers", ["0", "1"])
def test_it_ends_with_its_verdict(suite: Suite, workers: str) -> None:
    suite.change("pytest.ini", "bias_report = off\n", "")
    read_only(suite.path)
    found = run(suite, "-p", "no:cacheprovider", "-n", workers)
    assert found.returncode == pytest.ExitCode.OK, found.stdout + found.stderr
    assert "Traceback" not in found.stdout + found.stderr
    for name in ("bias-results.json", "bias-report.html"):
        assert f"{name} was not written: Permission denied" in found.stdout
    assert "\nPASS: 1 hypothesis, 1 CLEAR" in found.stdout
