"""Measure the share of seeded faults in verdicts, baselines and statistics that tests notice.

    pip install cosmic-ray
    python plugin/benchmarks/mutation.py                    draw mutants and try the tests on them
    python plugin/benchmarks/mutation.py --compare FILE     try those of an earlier run again

``mutation.jsonl`` beside this script is such a run, of 300 mutants for each package.

A mutant is the code with one operator or constant changed by cosmic-ray's operators. It is killed
when a test fails, an error escapes or its time runs out, and survives otherwise. Outcomes go to
``--out``, a row of JSON each; an interrupted run goes on where it was, unless code has changed.

What is heavy happens once: the tests are collected, and a first pass learns which of them run
which lines. Each mutant is a fork, in which the functions of its module get their mutated code,
so that it runs under every name they were imported by. It sees the tests that reach its
statement, the quickest first, up to ``SECONDS`` of them, until one fails. Not seen are code that
runs at import only, tests that fail unmutated, and sessions in processes of their own.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import functools
import gc
import importlib
import itertools
import json
import math
import os
import resource
import signal
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from types import CodeType, FunctionType

import pytest

from benchmarks.common import note, say
from benchmarks.mutants import ROOT, SEED, Key, Mutant, digest, drawn, found_again

SECONDS = 5.0
FIRST_PASS = 3_600.0
MEMORY = 6 * 2**30
TESTS = ("plugin/tests/core", "bias_tests/*/tests")
CACHED = type(functools.cache(len))
HEAVY = {"jinja2", "numpy", "pandas", "patsy", "scipy", "statsmodels"}

Outcomes = dict[Key, tuple[str, str]]
"""Package and outcome of each mutant."""
Functions = dict[tuple[str, str, int], list[FunctionType]]
"""Functions by file, qualified name and line of their code."""
Edits = list[tuple[FunctionType, CodeType]]


def edits(functions: Functions, code: CodeType, *, every: bool = False) -> Edits:
    """Return the functions whose code differs in a module's new code, with that code."""
    found: Edits = []
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            place = (inner.co_filename, inner.co_qualname, inner.co_firstlineno)
            old = functions.get(place, ())
            found += [(one, inner) for one in old if every or one.__code__ != inner]
            found += edits(functions, inner, every=every)
    return found


def forked(work: Callable[[], None], seconds: float) -> str:
    """Return what becomes of work in a process of its own, with so much processor time."""
    child = os.fork()
    if not child:
        try:
            for stream in (1, 2):
                os.dup2(os.open(os.devnull, os.O_RDWR), stream)
            resource.setrlimit(resource.RLIMIT_CPU, (int(seconds), int(seconds) + 1))
            resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
            # Waiting for ever takes no processor time; a busy machine takes more of the clock.
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.alarm(int(10 * seconds))
            work()
        except BaseException:  # noqa: BLE001  (whatever it is, a test would not have passed)
            os._exit(1)
        os._exit(0)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if status in {-signal.SIGALRM, -signal.SIGXCPU, -signal.SIGKILL}:
        return "timed out"
    return "killed" if status else "survived"


class Trial:
    """A pytest plugin that tries mutants on the tests in place of running them."""

    def __init__(self, mutants: Sequence[Mutant], told: Callable[[Mutant, str], None]) -> None:
        self.mutants = mutants
        self.told = told
        self.items: list[pytest.Item] = []
        self.failed: set[str] | None = None
        self.functions: Functions = defaultdict(list)
        self.clearing: list[Callable[[], None]] = []
        self.seconds: list[float] = []
        self.reached: dict[str, dict[str, list[int]]] = {}

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection(self) -> None:
        """Have generated tests draw the same examples for each mutant, and shrink none."""
        from hypothesis import Phase, settings  # noqa: PLC0415  (after pytest has rewritten it)

        phases = (Phase.explicit, Phase.generate)
        always = settings(derandomize=True, database=None, deadline=None, phases=phases)
        settings.register_profile("mutation", always)
        settings.load_profile("mutation")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """End a mutant's process at its first failure."""
        if report.failed and self.failed is None:
            os._exit(1)
        if report.failed and self.failed is not None:
            self.failed.add(report.nodeid)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Try each mutant on the tests that reach it."""
        if session.testsfailed:
            pytest.exit("The tests cannot be collected.", 1)
        plugin = Path(sys.modules["pytest_bias"].__file__ or "")
        if not plugin.is_relative_to(ROOT):
            pytest.exit(f"The plugin is that of {plugin}: install that of {ROOT}.", 1)
        self.items = session.items
        self._learn()
        for path in {mutant.path for mutant in self.mutants}:
            parts = path.relative_to(ROOT / "plugin").with_suffix("").parts
            importlib.import_module(".".join(parts).removesuffix(".__init__"))
        for thing in gc.get_objects():
            if isinstance(thing, FunctionType):
                code = thing.__code__
                place = (code.co_filename, code.co_qualname, code.co_firstlineno)
                self.functions[place].append(thing)
            elif isinstance(thing, CACHED):
                self.clearing.append(thing.cache_clear)
        gc.freeze()
        self._prove()
        for mutant in self.mutants:
            self.told(mutant, self._outcome(mutant))
        return True

    def _run(self, numbers: Sequence[int], before: Callable[[int], object] = bool) -> None:
        """Run the tests of these numbers."""
        for number, after in itertools.zip_longest(numbers, numbers[1:]):
            before(number)
            item = self.items[number]
            following = None if after is None else self.items[after]
            item.ihook.pytest_runtest_protocol(item=item, nextitem=following)

    def _learn(self) -> None:
        """Run all tests as they are: which lines they reach, how long they take, what fails."""
        note(f"{len(self.items)} tests, once unmutated")
        with tempfile.NamedTemporaryFile("r") as file:

            def work() -> None:
                from coverage import Coverage  # noqa: PLC0415  (in this process only)

                self.failed = set()
                measured = Coverage(
                    data_file=None,
                    config_file=False,
                    messages=False,
                    include=[f"{ROOT}/plugin/pytest_bias/*"],
                )
                times: list[float] = []

                def before(number: int) -> None:
                    times.append(time.process_time())
                    measured.switch_context(str(number))

                measured.start()
                self._run(range(len(self.items)), before)
                measured.stop()
                times.append(time.process_time())
                data = measured.get_data()
                reached = {path: data.contexts_by_lineno(path) for path in data.measured_files()}
                learnt = [sorted(self.failed), times, list(sys.modules), reached]
                Path(file.name).write_text(json.dumps(learnt), encoding="utf-8")

            if (end := forked(work, FIRST_PASS)) != "survived":
                pytest.exit(f"The tests could not be run unmutated: {end}.", 1)
            failed, times, imported, self.reached = json.load(file)
        spent = [last - first for first, last in itertools.pairwise(times)]
        self.seconds = [
            math.inf if item.nodeid in failed else seconds
            for item, seconds in zip(self.items, spent, strict=True)
        ]
        for name in failed:
            note(f"left out, as it fails unmutated: {name}")
        # What tests import only as they run would be imported again for each mutant.
        for name in imported:
            if name.partition(".")[0] in HEAVY and name not in sys.modules:
                with contextlib.suppress(ImportError):
                    importlib.import_module(name)

    def _tests(self, mutant: Mutant) -> list[int]:
        """Return the tests that a mutant is shown."""
        lines = self.reached.get(str(mutant.path), {})
        reaching = {name for line in mutant.lines for name in lines.get(str(line), ()) if name}
        quickest = sorted((self.seconds[int(name)], int(name)) for name in reaching)
        until = itertools.accumulate(seconds for seconds, _ in quickest)
        return [
            number for (_, number), sum_ in zip(quickest, until, strict=True) if sum_ <= SECONDS
        ]

    def _try(self, mutant: Mutant, changed: Edits) -> str:
        """Run the tests of a mutant with functions changed."""
        numbers = self._tests(mutant)

        def work() -> None:
            for function, code in changed:
                function.__code__ = code
            for clear in self.clearing:
                clear()
            self._run(numbers)

        return forked(work, 3 * SECONDS) if numbers else "unreached"

    def _outcome(self, mutant: Mutant) -> str:
        """Return what becomes of a mutant; ``invalid`` is one that changes no function."""
        try:
            changed = edits(self.functions, compile(mutant.source(), mutant.path, "exec"))
        except SyntaxError:
            changed = []
        return self._try(mutant, changed) if changed else "invalid"

    def _prove(self) -> None:
        """Make sure that equal code put in a function's place survives, and raising code not."""
        for mutant in [one for one in self.mutants if self._tests(one)][:3]:
            tree = ast.parse(mutant.path.read_bytes())
            same = edits(self.functions, compile(tree, mutant.path, "exec"), every=True)
            for node in ast.walk(tree):
                if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                    node.body[:0] = ast.parse("raise AssertionError").body
            raising = edits(self.functions, compile(tree, mutant.path, "exec"))
            ends = self._try(mutant, same), self._try(mutant, raising)
            if ends != ("survived", "killed"):
                pytest.exit(f"{mutant.path}: equal code {ends[0]}, raising code {ends[1]}.", 1)


def read(path: Path) -> tuple[dict[str, object], Outcomes]:
    """Return the first row of a file of outcomes, and the outcomes."""
    first, *rows = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    return first, {Key(*row[:-2]): (row[-2], row[-1]) for row in rows}


def score(outcomes: Iterable[str]) -> str:
    """Return the share of mutants that were killed, and what it is made of."""
    counts = Counter(outcomes)
    valid = counts.total() - counts["invalid"]
    killed = counts["killed"] + counts["timed out"]
    parts = ", ".join(f"{count} {name}" for name, count in sorted(counts.items()))
    return f"{killed / valid if valid else 0:.3f} ({parts})"


def report(mutants: Sequence[Mutant], found: Outcomes, earlier: Outcomes) -> None:
    """Tell the mutants that no test notices, and the scores."""
    for mutant in sorted(mutants, key=lambda one: (one.path, one.start)):
        outcome = found[mutant.key][1]
        if outcome in {"survived", "unreached"}:
            before = f" ({earlier[mutant.key][1]} before)" if mutant.key in earlier else ""
            say(f"{outcome}{before} {mutant}")
    for package in (*sorted({mutant.package for mutant in mutants}), "all"):
        keys = [mutant.key for mutant in mutants if package in {mutant.package, "all"}]
        say(f"{package}: {score(found[key][1] for key in keys)}")
        if earlier:
            say(f"  before: {score(earlier[key][1] for key in keys)}")


def main() -> int:
    """Draw mutants or find those of an earlier run, try them, report."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--compare", type=Path, metavar="FILE", help="outcomes of an earlier run")
    parser.add_argument("--out", type=Path, default=ROOT / "build/mutation.jsonl")
    parser.add_argument("--limit", type=int, help="try the first so many only")
    options = parser.parse_args()
    earlier: Outcomes = {}
    if options.compare:
        earlier = read(options.compare)[1]
        again = found_again(list(earlier))
        mutants = [again[key]._replace(key=key, package=earlier[key][0]) for key in again]
        lost = Counter(key.definition for key in earlier if key not in again)
        for definition, number in sorted(lost.items()):
            say(f"cut or rewritten: {definition} ({number})")
    else:
        mutants = drawn()
    mutants = mutants[: options.limit]
    out = options.out.resolve()
    files = sorted(ROOT.glob("plugin/**/*.py")) + sorted(ROOT.glob("bias_tests/**/*.py"))
    first = {"seed": SEED, "code": digest("".join(digest(file.read_text()) for file in files))}
    if not out.exists() or read(out)[0] != first:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(json.dumps(first) + "\n", encoding="utf-8")
    done = read(out)[1]

    def told(mutant: Mutant, outcome: str) -> None:
        with out.open("a", encoding="utf-8") as file:
            file.write(json.dumps([*mutant.key, mutant.package, outcome]) + "\n")
        done[mutant.key] = (mutant.package, outcome)
        note(f"{len(done)} of {len(mutants)}: {outcome} {mutant.key.definition}")

    if left := [mutant for mutant in mutants if mutant.key not in done]:
        os.chdir(ROOT)
        # Before numpy is imported: a fork must not inherit a pool of threads.
        os.environ |= {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
        with tempfile.TemporaryDirectory() as folder:
            off = [f"-pno:{name}" for name in ("randomly", "cacheprovider", "xdist")]
            quiet = ["-q", "-s", f"--basetemp={folder}/tests"]
            tests = [str(place) for some in TESTS for place in sorted(ROOT.glob(some))]
            pytest.main([*tests, *quiet, *off], plugins=[Trial(left, told)])
    tried = [mutant for mutant in mutants if mutant.key in done]
    report(tried, done, earlier)
    return int(len(tried) < len(mutants))


if __name__ == "__main__":
    sys.exit(main())
