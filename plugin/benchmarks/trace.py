"""Which modules judging one hypothesis enters, and which of them call each other both ways.

    python plugin/benchmarks/trace.py [--case KEYWORD] [--verbose]

It runs one case offline in a process of its own and follows every call between functions of
``pytest_bias``, imports left out. Printed are the modules entered, the functions, and the pairs of
modules that call both ways: a reader has to hold both in mind at once. Properties and comparisons
that a module of values offers count as calls like any other.
"""

from __future__ import annotations

import argparse
import sys
import threading
from collections import Counter
from pathlib import Path
from types import FrameType

import pytest

from benchmarks.common import say

PACKAGE = Path(__file__).parents[1] / "pytest_bias"
CASE = "random_demand"
SUITE = "bias_tests/anchoring/test_all_in_one.py"


class Trace:
    """Calls between functions of the package: (module, function) → how often, and the edges."""

    def __init__(self) -> None:
        self.functions: Counter[tuple[str, str]] = Counter()
        self.edges: Counter[tuple[str, str]] = Counter()
        self._modules: dict[str, str] = {}

    def __call__(self, frame: FrameType, event: str, _: object) -> None:
        """Note a call; a module that is executed as it is imported is none."""
        if event != "call" or not (module := self._module(frame)):
            return
        name = frame.f_code.co_name
        if name == "<module>":
            return
        self.functions[module, frame.f_code.co_qualname] += 1
        caller, back = "", frame.f_back
        while back is not None and not (caller := self._module(back)):
            back = back.f_back
        importing = back is not None and back.f_code.co_name == "<module>"
        if caller and caller != module and not importing:
            self.edges[caller, module] += 1

    def _module(self, frame: FrameType) -> str:
        """Return the dotted name below the package; '' of any other code."""
        file = frame.f_code.co_filename
        if file not in self._modules:
            path = Path(file)
            inside = path.is_relative_to(PACKAGE) and path.suffix == ".py"  # templates are none
            parts = path.relative_to(PACKAGE).with_suffix("").parts if inside else ()
            self._modules[file] = ".".join(parts)
        return self._modules[file]

    @property
    def both_ways(self) -> list[tuple[str, str]]:
        """Return the pairs of modules that call each other, sorted."""
        return sorted(
            edge for edge in self.edges if edge[0] < edge[1] and edge[::-1] in self.edges
        )


def main() -> int:
    """Run one case and print what it entered."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--case", default=CASE, help="keyword of the case, as for pytest -k")
    parser.add_argument("--suite", default=SUITE, help="path of the tests")
    parser.add_argument("--verbose", action="store_true", help="name modules and pairs")
    given = parser.parse_args()
    trace = Trace()
    threading.setprofile(trace)
    sys.setprofile(trace)
    options = ["-q", "-p", "no:randomly", "--no-header", "--bias-report=off", "--bias-results=off"]
    status = pytest.main([given.suite, "-n", "0", "-k", given.case, *options])
    sys.setprofile(None)
    modules = {module for module, _ in trace.functions}
    say(f"{len(modules)} modules, {len(trace.functions):,} functions, {len(trace.edges)} edges")
    say(f"{len(trace.both_ways)} pairs of modules that call both ways")
    if given.verbose:
        for one, other in trace.both_ways:
            forth, back = trace.edges[one, other], trace.edges[other, one]
            say(f"  {one} ⇄ {other}: {forth:,} and {back:,} calls")
        say(f"  modules: {', '.join(sorted(modules))}")
    return int(status != pytest.ExitCode.OK)


if __name__ == "__main__":
    sys.exit(main())
