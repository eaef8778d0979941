"""What the plugin changes, and costs, in projects that have nothing to do with it.

    python plugin/benchmarks/foreign.py [--of pluggy iniconfig] [--rounds 3] [--sources FOLDER]

The packages' own tests, of their source distributions, are run with the plugin loaded, as its
entry point loads it, without, and with a plugin that is an empty file, which is the least that any
costs: in one process and by two workers, rounds interleaved. Ends with 1 where a test has another
outcome in any round.

Sources that are not in ``--sources`` are downloaded with pip; what the tests need beside pytest is
installed with it, into a temporary folder. pytest itself needs some of these packages, and then
uses those that are tested. The suites of packaging (62,000 tests) and more-itertools take minutes.
"""

from __future__ import annotations

import argparse
import os
import sys
import tarfile
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree as ET

from benchmarks.common import PYTEST, Spent, median_and_spread, run, say

EMPTY = "pytest_bias_benchmark_empty"
PLUGINS = {
    "without": (),
    "empty": ("-p", EMPTY),
    "with": ("-p", "pytest_bias.pytest_plugin"),
}
WORKERS = (0, 2)

_PIP = (sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check")
_RAN = (0, 1)  # all passed, or some failed
_Outcomes = Counter[tuple[str, str, str]]


@dataclass(frozen=True, slots=True)
class Suite:
    """A package's source distribution, where its code is, and what its tests need."""

    release: str
    code: str = "src"
    needs: tuple[str, ...] = ()


SUITES = {
    "pluggy": Suite("pluggy==1.7.0"),
    "iniconfig": Suite("iniconfig==2.3.1"),
    "more-itertools": Suite("more_itertools==11.2.1", code="."),
    "packaging": Suite("packaging==26.3", needs=("pretend==1.0.9", "tomli_w==1.2.0")),
}


def unpacked(suite: Suite, sources: Path, folder: Path) -> Path:
    """The folder of a suite's sources, which are downloaded unless they are there."""
    name = suite.release.replace("==", "-")
    archive = sources / f"{name}.tar.gz"
    if not archive.exists():
        how = ("--no-deps", "--no-binary", ":all:", "--dest", str(sources))
        run("pip download", [*_PIP, "download", *how, suite.release], folder)
    if suite.needs:
        run("pip install", [*_PIP, "install", "--target", "needs", *suite.needs], folder)
    with tarfile.open(archive) as file:
        file.extractall(folder, filter="data")
    return folder / name


def outcomes(path: Path) -> _Outcomes:
    """How often a JUnit report has a test with an outcome."""
    return Counter(
        (case.get("classname", ""), case.get("name", ""), outcome)
        for case in ET.parse(path).iter("testcase")  # noqa: S314  (pytest wrote it)
        for outcome in _outcomes_of(case)
    )


def _outcomes_of(case: ET.Element) -> Iterator[str]:
    found = [part for part in case if part.tag in {"failure", "error", "skipped"}]
    yield from (f"{part.tag} {part.get('type', '')}".strip() for part in found)
    if not found:
        yield "passed"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run, compare, print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--of", nargs="+", choices=SUITES, default=["pluggy", "iniconfig"])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--sources", type=Path, help="where source distributions are, or go")
    given = parser.parse_args(arguments)
    different = 0
    with tempfile.TemporaryDirectory(prefix="pytest-bias-benchmark-") as name:
        say(
            f"{'':24}{'tests':>8}{'other':>8}{'CPU s without':>16}{'empty':>8}{'with':>8}"
            f"{'by without':>12}{'by empty':>10}"
        )
        for package in given.of:
            folder = Path(name, package)
            folder.mkdir()
            suite = SUITES[package]
            project = unpacked(suite, (given.sources or folder).absolute(), folder)
            for workers in WORKERS:
                different += _compared(package, suite, project, workers, given.rounds)
    say(f"load of the machine: {os.getloadavg()[0]:.1f}; other outcomes: {different}")
    return 1 if different else 0


def _compared(package: str, suite: Suite, project: Path, workers: int, rounds: int) -> int:
    """Run one suite in each way; how many tests had another outcome."""
    spent: dict[str, list[Spent]] = defaultdict(list)
    found: dict[str, list[_Outcomes]] = defaultdict(list)
    (project.parent / f"{EMPTY}.py").touch()
    ours = Path(__file__).parents[1]
    path = (project / suite.code, project.parent / "needs", project.parent, ours)
    variables = {"PYTHONPATH": os.pathsep.join(map(str, path))}
    spread = ("-p", "xdist", "-n", str(workers))
    for number in range(rounds):
        for name, plugin in PLUGINS.items():
            report = project.parent / f"{name}-{workers}-{number}.xml"
            command = [*PYTEST, *spread, *plugin, f"--junitxml={report}"]
            spent[name].append(run(package, command, project, variables=variables, accepted=_RAN))
            found[name].append(outcomes(report))
    reference, *others = (each for name in PLUGINS for each in found[name])
    changed = set[tuple[str, str, str]]()
    for other in others:
        changed |= {*(reference - other), *(other - reference)}
    for module, test, outcome in sorted(changed):
        say(f"  {module}.{test}: {outcome} in some runs")
    without, empty, beside = (
        median_and_spread([one.cpu for one in spent[name]])[0] for name in PLUGINS
    )
    say(
        f"{f'{package}, -n {workers}':24}{reference.total():8}{len(changed):8}"
        f"{without:16.2f}{empty:8.2f}{beside:8.2f}{beside / without:12.2f}{beside / empty:10.2f}"
    )
    return len(changed)


if __name__ == "__main__":
    sys.exit(main())
