"""What the five documents require, and the tests that hold it.

`bias_tests/<experiment>/requirements.toml` has the requirements of a document by their ids, a test
names those that it holds as ``@pytest.mark.requirement("CV-07")``. Both are read as text, so that
nothing is imported; `reference.py` makes the page of them.
"""

from __future__ import annotations

import ast
import tomllib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeGuard

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "requirements.md"
FOLDERS = ("bias_tests/*/tests", "plugin/tests")
INTRODUCTION = """\
# What the documents require, and the tests that hold it

*Made by `plugin/benchmarks/reference.py` of `bias_tests/*/requirements.toml` and of tests marked
with `@pytest.mark.requirement`; edit those.*

The experiments follow five documents. A requirement is one thing that a document has its system
do, in our words. *Open* says what is done otherwise here, or not at all, and why."""


@dataclass(frozen=True, slots=True)
class Document:
    """The requirements of one document: sentences by id, and reasons why some are not met."""

    experiment: str
    title: str
    requirements: Mapping[str, str]
    open: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Holding:
    """A test, and the ids it names."""

    path: str
    test: str
    ids: tuple[str, ...]


class BadMark(ValueError):
    """A mark that names no ids, or stands where no test is."""

    def __init__(self, path: str, line: int) -> None:
        super().__init__(
            f"{path}, line {line}: requirement marks decorate a test or a class of tests and name "
            'ids as text: @pytest.mark.requirement("CV-07")'
        )


def documents(root: Path = ROOT) -> list[Document]:
    """Return what every document requires, in the order of the experiments' names."""
    found = []
    for path in sorted(root.glob("bias_tests/*/requirements.toml")):
        told = tomllib.loads(path.read_text(encoding="utf-8"))
        of = Document(path.parent.name, told["title"], told["requirements"], told.get("open", {}))
        found.append(of)
    return found


def holdings(root: Path = ROOT) -> list[Holding]:
    """Return the tests that name requirements."""
    paths = {path for folder in FOLDERS for path in root.glob(f"{folder}/**/test_*.py")}
    return [each for path in sorted(paths) for each in _read(path, path.relative_to(root))]


def _read(path: Path, name: Path) -> Iterator[Holding]:
    text = path.read_text(encoding="utf-8")
    if ".requirement(" not in text:
        return
    module = ast.parse(text)
    loose = {id(each): each.lineno for each in ast.walk(module) if _is_mark(each)}
    for node in ast.walk(module):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            for call in node.decorator_list:
                if _is_mark(call):
                    given = [a.value for a in call.args if isinstance(a, ast.Constant)]
                    ids = tuple(name for name in given if isinstance(name, str))
                    if node.name.lower().startswith("test") and len(ids) == len(call.args) > 0:
                        del loose[id(call)]
                        yield Holding(name.as_posix(), node.name, ids)
    for line in loose.values():
        raise BadMark(name.as_posix(), line)


def _is_mark(node: ast.AST) -> TypeGuard[ast.Call]:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "requirement"  # to write all others out takes seconds
        and ast.unparse(node.func) == "pytest.mark.requirement"
    )


def requirements_page(of: Sequence[Document], held: Sequence[Holding]) -> str:
    """Return the page: a table of each document."""
    tests: defaultdict[str, list[str]] = defaultdict(list)
    for each in held:
        link = f"[{Path(each.path).name}](../{each.path})"
        for name in each.ids:
            tests[name].append(f"{link}: `{each.test}`")
    lines = [INTRODUCTION]
    for document in of:
        required = document.requirements
        lines += ["", f"## {document.title}", ""]
        lines += [f"{len(required)} requirements, {len(document.open)} of them open.", ""]
        lines += ["| id | requirement | tests |", "|---|---|---|"]
        for name, sentence in required.items():
            why = [f"*Open:* {document.open[name]}"] if name in document.open else []
            lines.append(f"| {name} | {sentence} | {'<br>'.join([*why, *tests[name]])} |")
    return "\n".join(lines) + "\n"
