"""What the documentation shows runs, and docstrings say what a thing is, not what it answers."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchmarks import notebook
from pytest_bias import Experiment, Factor, Items, Measure, Results, Subject, Trial
from pytest_bias.report.brief import brief_lines

DOCS = Path(__file__).parents[3] / "docs"
PACKAGE = Path(__file__).parents[2] / "pytest_bias"
OPENS_AS_A_QUESTION = re.compile(
    r"(?:(?:by|for|from|in|of|on|to|with) )?(?:how|what|when|where|whether|which|who\w*|why)\b",
    re.IGNORECASE,
)
MOST = 0.03
"""Share of docstrings that may open so. It only ever goes down."""


async def _protocol(trial: Trial, subject: Subject) -> object:
    return await subject.ask(f"{trial['group']}")


def _printed(page: str) -> list[str]:
    text = DOCS.joinpath(page).read_text("utf-8")
    return re.findall(r"^```python\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)


def test_the_hypotheses_shown_can_be_declared_and_answered() -> None:
    (code,) = _printed("hypotheses.md")
    names: dict[str, Any] = {}
    exec(code, names)  # noqa: S102  (our own page)
    groups = ["white_male", "white_female", "black_male", "black_female"]
    experiment = Experiment(
        id="shown",
        name="Shown",
        factors=[
            Factor(
                "group",
                {group: group for group in groups},
                exemplars={group: [f"{group} {n}" for n in range(5)] for group in groups},
            ),
            Factor("english", {"perfect": 0, "l2": 1}),
            Factor("name_type", {"anglo": 0, "non_anglo": 1}),
        ],
        items=Items("seed", {f"s{n}": n for n in range(25)}),
        protocol=_protocol,
        measures=[
            Measure("rating", bounds=(1, 4)),
            Measure("log_length", bounds=(0, 12)),
            Measure("prosocial"),
        ],
        replicates=4,
    )
    hypotheses = names["HYPOTHESES"]
    for hypothesis in hypotheses:
        hypothesis.check(experiment)
    assert len({hypothesis.id for hypothesis in hypotheses}) == len(hypotheses) == 9


def _docstrings() -> Iterator[tuple[str, str]]:
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(
                node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
            ) and (said := ast.get_docstring(node)):
                yield f"{path.relative_to(PACKAGE)}: {said.splitlines()[0]}", said


def test_the_api_gives_what_its_page_and_the_readme_show(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(DOCS.parent)
    text = (DOCS / "api.md").read_text("utf-8")
    names: dict[str, object] = {}
    for code in _printed("api.md"):
        exec(code, names)  # noqa: S102  (of our own page)
        assert f"```text\n{capsys.readouterr().out}```" in text
    results = names["results"]
    assert isinstance(results, Results)
    of_readme = DOCS.parent.joinpath("README.md").read_text("utf-8")
    (told,) = re.findall(r"^```text\n(    BIASED.*?)\n```$", of_readme, re.DOTALL | re.MULTILINE)
    named = tuple(verdict.named for verdict in results.view.verdicts)
    assert told in "\n".join(brief_lines(replace(results.view, failing=named)))


def test_the_notebook_holds_what_its_cells_show() -> None:
    text = notebook.NOTEBOOK.read_text("utf-8")
    committed = json.loads(text)
    assert notebook.text_of(committed) == text
    run = notebook.told(notebook.executed(committed))
    assert run == notebook.told(committed), "run python plugin/benchmarks/notebook.py"
    assert sum("image/png" in line for line in run) == 1
    assert str(DOCS.parent) not in text


def test_docstrings_open_with_a_verb_or_a_noun() -> None:
    said = list(_docstrings())
    questions = [line for line, text in said if OPENS_AS_A_QUESTION.match(text)]
    assert len(questions) <= MOST * len(said), "\n".join(questions)
