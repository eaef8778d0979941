"""The suite uses the plugin as anybody can: everything it needs is in the public API."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
MODULES = sorted(
    path
    for path in (ROOT / "bias_tests").rglob("*.py")
    if "tests" not in path.relative_to(ROOT / "bias_tests").parts
)


def private_imports(text: str) -> list[str]:
    """The modules of the plugin below its public face that a module imports, or imports from."""
    found: list[str] = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
            found.append(node.module)
            if node.module == "pytest_bias":
                found += [f"pytest_bias.{a.name}" for a in node.names if a.name.startswith("_")]
    return [name for name in found if name.startswith("pytest_bias.")]


def test_the_search_finds_what_is_private() -> None:
    text = "from pytest_bias import Trial\nfrom pytest_bias.errors import BadDesign\n"
    text += "def f():\n    import pytest_bias.cli\n    from pytest_bias import _HOMES\n"
    found = ["pytest_bias._HOMES", "pytest_bias.cli", "pytest_bias.errors"]
    assert sorted(private_imports(text)) == found


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_experiment_imports_a_private_name(path: Path) -> None:
    assert private_imports(path.read_text("utf-8")) == []


SHAPE = ("README.md", "stimuli", "experiment.py", "hypotheses.py", "simulated.py", "tests")


@pytest.mark.parametrize(
    "folder", sorted({path.parent for path in MODULES if path.name == "experiment.py"}), ids=str
)
def test_every_experiment_has_the_one_shape(folder: Path) -> None:
    assert [name for name in SHAPE if not (folder / name).exists()] == []
    assert (folder / f"test_{folder.name}.py").exists()
