"""Small suites of bias tests: an experiment with a planted effect, and its recordings."""

from __future__ import annotations

import copy
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import pytest

from pytest_bias import Experiment
from pytest_bias.experiments.experiment import ModelRoles, plan
from pytest_bias.providers.base import ProviderContext
from pytest_bias.recording.caller import Terms
from pytest_bias.recording.collector import collect
from pytest_bias.recording.job import Job

from .. import forked
from ..runs import run_here

REPLICATES = 30
"""So few clear a margin of 2 on a scale of 16 where replies vary by 1."""
MODELS = ("simulated/even", "simulated/biased")
"""``even`` has no effect, ``biased`` one of three margins."""
UNTIL = "2999-12-31"
WORDS = (
    *("--bias-accept", "--bias-accept-reason=known since spring"),
    *("--bias-accept-owner=ann", f"--bias-accept-until={UNTIL}"),
)
ACCEPT = shlex.join(WORDS)
BY_ANN = f"accepted by ann until {UNTIL}"
BOTH = (*(f"--bias-model={model}" for model in MODELS), "--bias-gate=off")

EXPERIMENT = '''\
"""A cue that must not move a number."""

import json

from pydantic import BaseModel, ConfigDict

from pytest_bias import Experiment, Factor, Measure, dice

EFFECT = {"even": 0, "biased": 6, "drifted": 8}


class Answer(BaseModel):
    model_config = ConfigDict(extra="forbid")
    number: int
    cue: str


async def guess(trial, subject):
    reply = await subject.ask(
        f'Game NAME. The cue is {trial["cue"]}. Reply with JSON: number, cue.', reply=Answer
    )
    return reply.value


def simulated(prompt):
    told = prompt.messages[-1].text
    if not told.startswith("Game NAME."):
        return None
    cue = "high" if "cue is high" in told else "low"
    number = 10 + round(dice(prompt.subject, prompt.seed).gauss(0, 1))
    half = EFFECT[prompt.subject] // 2
    return json.dumps({"number": number + (half if cue == "high" else -half), "cue": cue})


GAME = Experiment(
    id="game-NAME",
    name="Game NAME",
    factors=[Factor("cue", {"low": "low", "high": "high"})],
    protocol=guess,
    measures=[
        Measure("number", bounds=(2, 18)),
        Measure("noticed", lambda answer: answer.cue == "high", kind="flag"),
    ],
    replicates=REPLICATES,
    simulated=simulated,
)
'''

TESTS = '''\
"""The cases of the game."""

import pytest

from pytest_bias import (
    MeanDifference, PositiveControl, RateDifference, conditions, hypotheses, positive_control,
)

from .experiment import GAME

NUMBER = MeanDifference("number", "cue", high="high", low="low", margin=2.0, claim="clear")
NOTICED = PositiveControl(
    RateDifference("noticed", "cue", high="high", low="low"), licenses=["number"]
)


@conditions(GAME)
def test_asked(condition, recorded):
    assert all(condition["cue"] in outcome.prompts[0] for outcome in recorded)


@positive_control(GAME, NOTICED)
def test_noticed(control):
    assert control.seen


@hypotheses(GAME, NUMBER)
def test_number():
    pass
'''

INI = """\
[pytest]
addopts = -ra
testpaths = bias_tests
filterwarnings = error
bias_models = simulated/even
bias_report = off
"""


def experiment_source(name: str = "coin") -> str:
    """The module that declares the experiment ``game-<name>``."""
    return EXPERIMENT.replace("NAME", name).replace("REPLICATES", str(REPLICATES))


def game_of(source: str) -> Experiment:
    """The experiment that a module of this text declares."""
    names: dict[str, Any] = {"__name__": "game"}
    exec(source, names)  # noqa: S102  (our own text)
    return cast("Experiment", names["GAME"])


def record(
    folder: Path,
    sources: Iterable[str],
    *,
    models: Sequence[str] = MODELS,
    judge: str | None = None,
) -> None:
    """Record the games of modules with every model, into ``folder``."""
    for game in map(game_of, sources):
        assert game.simulated is not None
        report = collect(
            [Job(game, ModelRoles(model, judge), plan(game, game.design())) for model in models],
            Terms(
                mode="missing",
                folder=folder,
                context=ProviderContext(environ={}, answers=[game.simulated]),
            ),
            lambda _tally: None,
        )
        problems = [problem for job in report.jobs for problem in job.problems]
        assert problems == [], problems


def set_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave the environment of this run, the service it may run in, and the user's keys."""
    service = ("CI", "BUILD_NUMBER", "GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY")
    keys = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY")
    for name in (*service, *keys, "PYTEST_ADDOPTS", "PYTEST_XDIST_AUTO_NUM_WORKERS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("COLUMNS", "200")
    # A module rewritten within a second, and no longer than before, passes for the compiled one.
    monkeypatch.setattr(sys, "dont_write_bytecode", True)


class Red:
    """Any exit status of a run that does not pass."""

    def __eq__(self, status: object) -> bool:
        return status != 0

    __hash__ = None  # type: ignore[assignment]


RED = Red()


@dataclass
class Suite:
    """A suite in a folder of its own, and how to run it."""

    pytester: pytest.Pytester
    monkeypatch: pytest.MonkeyPatch
    recordings: Path
    options: Mapping[str, str] = field(default_factory=dict)

    @property
    def path(self) -> Path:
        return self.pytester.path

    def write(
        self, *, name: str = "coin", tests: str = TESTS, ini: str = INI, source: str = ""
    ) -> Suite:
        """Write the suite: one experiment, with its recordings where there are any."""
        modules = {"experiment": source or experiment_source(name), f"test_{name}": tests}
        self.package(name, **modules).file("pytest.ini", ini)
        if (self.recordings / f"game-{name}").exists():
            shutil.copytree(self.recordings / f"game-{name}", self.cassettes / f"game-{name}")
        return self

    def change(self, file: str, old: str, new: str) -> Suite:
        """Change a written file."""
        path = self.path / file
        text = path.read_text(encoding="utf-8")
        assert old in text
        path.write_text(text.replace(old, new), encoding="utf-8")
        return self

    def tests(self, old: str, new: str) -> Suite:
        """Change the module of cases."""
        return self.change("bias_tests/coin/test_coin.py", old, new)

    def body(self, text: str, arguments: str = "verdict") -> Suite:
        """Give the hypothesis' function a body."""
        return self.tests(
            "def test_number():\n    pass\n",
            f"def test_number({arguments}):\n{textwrap.indent(textwrap.dedent(text), '    ')}\n",
        )

    def mark(self, text: str) -> Suite:
        """Put a decorator above the hypothesis."""
        return self.tests("@hypotheses(GAME, NUMBER)", f"{text}\n@hypotheses(GAME, NUMBER)")

    def file(self, name: str, text: str = "") -> Suite:
        """Write a file of any name, in the folder that is named with it."""
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text), encoding="utf-8")
        return self

    def package(self, name: str, **modules: str) -> Suite:
        """Write a package of the suite."""
        self.file("bias_tests/__init__.py").file(f"bias_tests/{name}/__init__.py")
        for module, text in modules.items():
            self.file(f"bias_tests/{name}/{module}.py", text)
        return self

    def conftest(self, text: str) -> Suite:
        """Write a conftest.py beside the ini file."""
        return self.file("conftest.py", text)

    @property
    def cassettes(self) -> Path:
        return self.path / "cassettes"

    def run(
        self,
        *arguments: str,
        workers: int | None = None,
        process: bool = False,
        anew: bool = False,
    ) -> pytest.RunResult:
        """Run pytest in the suite's folder: alone (None) or with xdist, and no other plugin.

        It is run in this process, unless one of its own is asked for, which is forked as its
        workers are; ``anew`` starts all of them as users do, with nothing imported.
        """
        self.monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
        plugins = ["-p", "pytest-bias"]
        if workers is not None:
            plugins += ["-p", "xdist", "-n", str(workers)]
        if anew:
            return self.pytester.runpytest_subprocess(*plugins, *arguments)
        with pytest.MonkeyPatch.context() as here:
            if workers or process:
                here.setattr(sys, "executable", forked.python())
            if process:
                return self.pytester.runpytest_subprocess(*plugins, *arguments)
            return run_here(self.pytester, *plugins, *arguments)

    def check(
        self, options: str, ret: int | Red, outcomes: str = "", *lines: str, **run: Any
    ) -> pytest.RunResult:
        """Run, and look at the exit status, at the outcomes where any are given, and for lines.

        A line has the parts of each text (``part … part``) in their order, and none that of
        ``!text``.
        """
        result = self.run(*shlex.split(options), **run)
        printed = [*result.outlines, *result.errlines]
        assert result.ret == ret
        if outcomes:
            expected = {word: int(count) for count, word in re.findall(r"(\d+) (\w+)", outcomes)}
            found = result.parseoutcomes()
            for word in {"deselected", "warnings"} - {*expected}:
                found.pop(word, None)
            assert found == expected
        for text in lines:
            parts = text.removeprefix("!").split(" … ")
            pattern = ".*".join(map(re.escape, parts))
            assert any(re.search(pattern, line) for line in printed) != text.startswith("!"), text
        return result

    @contextmanager
    def held(self, *arguments: str) -> Iterator[tuple[subprocess.Popen[str], list[str]]]:
        """Run pytest in a process of its own, from when it says that it is held back.

        Gives the process, and what it has printed by then; it prints the rest when it goes on.
        """
        with subprocess.Popen(  # noqa: S603  (pytest itself)
            [sys.executable, "-m", "pytest", "-s", "-p", "pytest-bias", *arguments],
            cwd=self.path,
            env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        ) as process:
            assert process.stdout is not None
            said = []
            for line in process.stdout:
                said.append(line)
                if "held back" in line:
                    break
            yield process, said
            said.append(process.stdout.read())

    def run_with_all_plugins(self, *arguments: str) -> pytest.RunResult:
        """Run pytest as installed: every plugin of the environment is loaded by itself."""
        self.monkeypatch.delenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", raising=False)
        return self.pytester.runpytest_subprocess(*arguments)

    def results_path(self, *, partial: bool = False) -> Path:
        return self.path / f"bias-results{'.partial' if partial else ''}.json"

    def results(self, *, partial: bool = False) -> dict[str, Any]:
        """The JSON results the last run has written."""
        text = self.results_path(partial=partial).read_text(encoding="utf-8")
        return cast("dict[str, Any]", json.loads(text))


class Scenario:
    """A suite as ``change`` leaves it, and a run of it: the arguments of :meth:`Suite.check`."""

    def __init__(
        self,
        change: Callable[[Suite], object] | None,
        options: str,
        ret: int | Red,
        outcomes: str = "",
        *lines: str,
        **run: Any,
    ) -> None:
        self.change, self.run = change, run
        self.options, self.ret, self.outcomes, self.lines = options, ret, outcomes, lines

    def check(self, suite: Suite, more: str = "", **run: Any) -> pytest.RunResult:
        """Run it, with ``more`` options."""
        if self.change:
            self.change(suite)
        options = f"{self.options} {more}"
        return suite.check(options, self.ret, self.outcomes, *self.lines, **self.run, **run)


def scenarios(table: Mapping[str, Scenario], *shared: str) -> pytest.MarkDecorator:
    """Have a test for each scenario of a table, and of those named one with a worker, too."""
    every = dict(table)
    for name in shared:
        every[f"{name}, with a worker"] = again = copy.copy(table[name])
        again.run = {**again.run, "workers": 1}
    return pytest.mark.parametrize("scenario", every.values(), ids=every)


def files_below(folder: Path) -> dict[str, bytes]:
    """All files below a folder by their path in it."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def section(result: pytest.RunResult) -> list[str]:
    """The lines of the bias section."""
    lines = iter(result.outlines)
    for line in lines:
        if line.strip("=") == " bias ":
            break
    found = []
    for line in lines:
        if line.startswith("==="):
            break
        found.append(line)
    return found
