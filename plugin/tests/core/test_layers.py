"""What the import contracts do not say: no circles of modules, and where pytest is imported."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import pytest_bias

HOME = Path(pytest_bias.__file__).parent

FACES_PYTEST = {
    "pytest_plugin",
    "session.arguments",
    "session.checks",
    "session.closing",
    "session.collection",
    "session.distribution",
    "session.hookspecs",
    "session.items",
    "session.options",
    "session.outputs",
    "session.process_exit",
    "session.recording",
    "session.section",
    "session.session",
    "session.state",
    "session.suite",
}
"""Modules that speak with pytest; all others are to work without it."""


def _name(path: Path) -> str:
    return ".".join(path.relative_to(HOME).with_suffix("").parts).removesuffix(".__init__")


def _imported(
    module: str, tree: ast.Module, known: set[str], *, is_package: bool
) -> Iterator[str]:
    """The modules of ours that a module imports, wherever it does, and for whatever."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.level:
            parts = module.split(".")
            above = parts[: len(parts) - node.level + is_package]
            base = ".".join((*above, *filter(None, [node.module])))
            for alias in node.names:
                name = f"{base}.{alias.name}".removeprefix(".")
                yield name if name in known else base


@pytest.fixture(scope="module")
def modules() -> dict[str, ast.Module]:
    return {_name(path): ast.parse(path.read_bytes()) for path in HOME.rglob("*.py")}


def test_modules_make_no_circle_even_for_type_checkers(modules: dict[str, ast.Module]) -> None:
    known = modules.keys() - {"__init__"}  # the public face, which names everything
    left = {
        name: set(
            _imported(
                name,
                modules[name],
                known,
                is_package=(HOME / name.replace(".", "/") / "__init__.py").exists(),
            )
        )
        & known - {name}
        for name in known
    }
    assert len(left) > 150
    assert "session.state" in left["session.closing"]
    while free := {name for name, needs in left.items() if not needs & left.keys()}:
        for name in free:
            del left[name]
    assert not left, f"these import one another: {sorted(left)}"


def test_pytest_is_imported_where_the_plugin_faces_it(modules: dict[str, ast.Module]) -> None:
    found = {
        name
        for name, tree in modules.items()
        for node in ast.walk(tree)
        if (isinstance(node, ast.Import) and any(a.name == "pytest" for a in node.names))
        or (isinstance(node, ast.ImportFrom) and not node.level and node.module == "pytest")
    }
    assert found == FACES_PYTEST
