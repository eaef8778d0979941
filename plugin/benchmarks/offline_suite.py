"""What the whole offline suite costs, beside as many bare pytest cases.

    python plugin/benchmarks/offline_suite.py [--rounds 5] [--as-installed]

Every row is a pytest process of its own, ``pytest bias_tests`` from the top of the repository for
its default subject with all reports, at ``-n 0``, ``-n 2`` and ``-n 8``, and ``--collect-only``;
beside each stand as many parametrized cases that do nothing, run alike. Rounds are interleaved, so
that a noisy neighbour disturbs all rows alike; processor seconds, those of workers included, say
more than wall seconds where there is one. The goals are 4 times the processor seconds of bare
cases at ``-n 8`` and no longer than ``-n 0``, and 25 times at ``-n 0``.

Both see no plugin but xdist, and the suite ours. With ``--as-installed`` both see every plugin
that is installed, as pytest does for who types the command that README.md prints: run it so in an
environment that its first command has made.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.common import PYTEST, Spent, median_and_spread, run, say, write

ROUNDS = 5
WAYS = {
    "-n 0": ("-n", "0"),
    "-n 2": ("-n", "2"),
    "-n 8": ("-n", "8"),
    "--collect-only": ("--collect-only",),
}
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
    parser.add_argument("--as-installed", action="store_true")
    given = parser.parse_args()
    plugins = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": ""} if given.as_installed else {}
    with tempfile.TemporaryDirectory(prefix="pytest-bias-benchmark-") as name:
        folder = Path(name)
        cases = _cases()
        bare = folder / "bare"
        bare.mkdir()
        (bare / "pytest.ini").write_text("[pytest]\n")
        write(bare, test_case=_BARE.format(cases=cases))
        spent: dict[tuple[str, str], list[Spent]] = {}
        for number in range(given.rounds):
            say(f"round {number + 1} of {given.rounds} …")
            for way, how in WAYS.items():
                for row, place, arguments in (
                    ("bare cases", bare, ()),
                    ("the suite", ROOT, _suite(folder)),
                ):
                    command = [*PYTEST, "-p", "xdist", *how, *arguments]
                    found = run(row, command, place, variables=plugins)
                    spent.setdefault((row, way), []).append(found)
    _report(spent, cases)
    return 0


def _suite(folder: Path) -> Sequence[str]:
    """The arguments of the suite, with its reports out of the way."""
    return (
        *("-p", "pytest-bias"),  # as pytest itself names it, or it would be there twice
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


def _report(spent: dict[tuple[str, str], list[Spent]], cases: int) -> None:
    say(f"\n{cases} cases, median of {len(next(iter(spent.values())))} rounds")
    titles = ("seconds", "± range", "× bare", "processor", "± range", "× bare")
    say(f"{'':28}" + "".join(f"{title:>10}" for title in titles))
    for (row, way), found in spent.items():
        line = f"{f'{row}, {way}':28}"
        for values, floor in (
            ([each.wall for each in found], [each.wall for each in spent["bare cases", way]]),
            ([each.cpu for each in found], [each.cpu for each in spent["bare cases", way]]),
        ):
            (median, spread), (least, _) = median_and_spread(values), median_and_spread(floor)
            line += f"{median:10.2f}{spread:10.2f}{median / least:10.2f}"
        say(line)


if __name__ == "__main__":
    sys.exit(main())
