"""What the whole offline suite costs, beside as many bare pytest cases.

    python plugin/benchmarks/offline_suite.py [--rounds 3]

Every row is a pytest process of its own, ``pytest bias_tests`` from the top of the repository for
its default subject with all reports, at ``-n 0``, ``-n 2`` and ``-n 8``; beside each stand as many
parametrized cases that do nothing, with as many workers. Rounds are interleaved, so that a noisy
neighbour disturbs all rows alike.
"""

from __future__ import annotations

import argparse
import os
import re
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.common import PYTEST, median_and_spread, run, say, write

ROUNDS = 3
WORKERS = (0, 2, 8)
ROOT = Path(__file__).parents[2]

_BARE = """
import pytest


@pytest.mark.parametrize("number", range({cases}))
def test_case(number):
    pass
"""


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="pytest-bias-benchmark-") as name:
        folder = Path(name)
        cases = _cases()
        bare = folder / "bare"
        bare.mkdir()
        (bare / "pytest.ini").write_text("[pytest]\n")
        write(bare, test_case=_BARE.format(cases=cases))
        seconds: dict[tuple[str, int], list[float]] = {}
        for number in range(given.rounds):
            say(f"round {number + 1} of {given.rounds} …")
            for workers in WORKERS:
                for row, place, arguments in (
                    ("bare cases", bare, ()),
                    ("the suite", ROOT, _suite(folder)),
                ):
                    command = [*PYTEST, "-p", "xdist", "-n", str(workers), *arguments]
                    spent = run(row, command, place)
                    seconds.setdefault((row, workers), []).append(spent.wall)
    _report(seconds, cases)
    return 0


def _suite(folder: Path) -> Sequence[str]:
    """The arguments of the suite, with its reports out of the way."""
    return (
        "-p",
        "pytest_bias.pytest_plugin",
        "bias_tests",
        f"--bias-report={folder / 'report.html'}",
        f"--bias-results={folder / 'results.json'}",
    )


def _cases() -> int:
    """How many cases the suite has."""
    command = [*PYTEST, "-p", "pytest_bias.pytest_plugin", "bias_tests", "--co"]
    alone = os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(  # noqa: S603  (our own interpreter)
        command, cwd=ROOT, capture_output=True, text=True, check=False, env=alone
    )
    found = re.search(r"^(\d+) tests collected", done.stdout, re.MULTILINE)
    if found is None:
        sys.exit(f"no number of cases in:\n{done.stdout[-2000:]}")
    return int(found[1])


def _report(seconds: dict[tuple[str, int], list[float]], cases: int) -> None:
    say(f"\n{cases} cases, median of {len(next(iter(seconds.values())))} rounds")
    say(f"{'':24}{'seconds':>9}{'± range':>9}{'× bare':>8}")
    for (row, workers), found in seconds.items():
        median, spread = median_and_spread(found)
        floor = statistics.median(seconds["bare cases", workers])
        say(f"{f'{row}, -n {workers}':24}{median:9.2f}{spread:9.2f}{median / floor:8.2f}")


if __name__ == "__main__":
    sys.exit(main())
