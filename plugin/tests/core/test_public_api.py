"""The public API: what ``pytest_bias`` offers, its types, and that importing it costs nothing."""

from __future__ import annotations

import ast
import subprocess
import sys
from importlib import resources
from pathlib import Path
from types import ModuleType
from typing import assert_type

import pandas as pd  # type: ignore[import-untyped, unused-ignore]  # ships no types
import pytest
from pydantic import BaseModel

import pytest_bias
import pytest_bias.stats
from pytest_bias import Experiment, Reply, Subject, Trial, Verdict, analyze, run, together
from pytest_bias.contrasts.estimate import Estimate
from pytest_bias.verdicts.analysis import Analysis
from pytest_bias.workbench.study import Results


class _Number(BaseModel):
    number: int


async def _typed(trial: Trial, subject: Subject) -> None:
    """Never run: mypy reads it."""
    assert_type(trial["factor"], object)
    text = await subject.ask("?")
    assert_type(text, Reply[str])
    number = await subject.ask("?", reply=_Number, after=text)
    assert_type(number, Reply[_Number])
    assert_type(number.value, _Number)
    several = await together(subject.ask("a"), subject.ask("b"))
    assert_type(several, list[Reply[str]])


def _judged(frame: pd.DataFrame) -> None:
    """Never run: mypy reads it."""
    results = analyze("id", frame, table={"columns": {"demand": "d"}, "collected_by": "us"})
    assert_type(results, Results)
    assert_type(run(Path("folder"), "a/b", record="missing", budget=1.0), Results)
    assert_type(results.experiment, Experiment)
    assert_type(results.analysis, Analysis)
    assert_type(results.verdicts, tuple[Verdict, ...])
    assert_type(results.verdicts[0].finding, Estimate | None)
    assert_type(results.trials, pd.DataFrame)
    assert_type(results.findings, pd.DataFrame)
    assert_type(results.to_json(), str)
    run("id", "a/b", record="yes")  # type: ignore[arg-type]
    run("id", "a/b", budgt=1.0)  # type: ignore[call-arg]


FACES = [pytest_bias, pytest_bias.stats]


@pytest.mark.parametrize("face", FACES)
def test_every_public_name_loads(face: ModuleType) -> None:
    known: dict[str, object] = {}
    exec(f"from {face.__name__} import *", known)  # noqa: S102  (as one types it in a shell)
    for name in face._HOMES:
        assert known[name] is getattr(face, name) is not None
        assert name in dir(face)


@pytest.mark.parametrize("face", FACES)
def test_a_checker_finds_every_public_name_where_it_loads_from(face: ModuleType) -> None:
    tree = ast.parse(Path(str(face.__file__)).read_text("utf-8"))
    imported = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.level]
    found = {
        name.asname: f"{'.' * node.level}{node.module}" for node in imported for name in node.names
    }
    assert found == face._HOMES


@pytest.mark.parametrize("face", FACES)
def test_an_unknown_name_is_an_attribute_error(face: ModuleType) -> None:
    assert not hasattr(face, "no_such_name")


def test_types_are_shipped() -> None:
    assert resources.files("pytest_bias").joinpath("py.typed").is_file()


PLUGIN = "import pytest_bias, pytest_bias.pytest_plugin"
OF_PLUGIN = (
    *("pydantic", "numpy", "scipy", "pandas", "statsmodels"),
    *("openai", "jinja2", "vl_convert", "asyncio"),
)
ANALYSING = """
import pytest_bias.verdicts.analysis, pytest_bias.stats
from pytest_bias.contrasts import estimator, largest, selection
"""
OF_ANALYSING = ("pandas", "statsmodels", "patsy", "formulaic", "vl_convert", "jinja2")


@pytest.mark.parametrize(
    ("before", "imports", "heavy"),
    [("sys, pytest", PLUGIN, OF_PLUGIN), ("sys", ANALYSING, OF_ANALYSING)],
    ids=["package and plugin", "analysing"],
)
def test_importing_is_light(before: str, imports: str, heavy: tuple[str, ...]) -> None:
    program = (
        f"import {before}; before = set(sys.modules)\n{imports}\n"
        f"print([name for name in {heavy} if name in set(sys.modules) - before])"
    )
    done = subprocess.run(  # noqa: S603  (our own command)
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
