"""What the import contracts do not say: circles, names, and what the suite itself may use."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

import pytest_bias

HOME = Path(pytest_bias.__file__).parent

FACES_PYTEST = {
    "pytest_plugin",
    "session.closing",
    "session.collection",
    "session.items",
    "session.options",
    "session.outputs",
    "session.recording",
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
    assert len(left) > 100
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


MODULES = [path.relative_to(HOME) for path in HOME.rglob("*.py")]


def test_every_public_name_is_defined_once() -> None:
    places: defaultdict[str, list[str]] = defaultdict(list)
    for path in MODULES:
        if path.name == "pytest_plugin.py":
            continue  # hooks and fixtures, which pytest and the authors of tests name
        for node in ast.parse((HOME / path).read_text("utf-8")).body:
            names = [getattr(node, "name", "")]
            if isinstance(node, ast.Assign):  # aliases of types, as Place = tuple[…]
                names = [t.id for t in node.targets if isinstance(t, ast.Name)]
                names = [name for name in names if not name.isupper()]
            for name in names:
                if name and not name.startswith("_"):
                    places[name].append(path.as_posix())
    assert {name: at for name, at in places.items() if len(at) > 1} == {}


def test_nothing_but_the_public_face_errors_and_the_plugin_stands_at_the_top() -> None:
    flat = {path.name for path in MODULES if len(path.parts) == 1}
    assert flat == {"__init__.py", "errors.py", "pytest_plugin.py"}


ROOT = Path(__file__).parents[3]
EXPERIMENTS = sorted(
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
    private = [name for name in found if name.startswith("pytest_bias.")]
    return [name for name in private if name != "pytest_bias.stats"]


def test_the_search_finds_what_is_private() -> None:
    text = "from pytest_bias import Trial\nfrom pytest_bias.errors import BadDesign\n"
    text += "from pytest_bias.stats import holm\n"
    text += "def f():\n    import pytest_bias.cli\n    from pytest_bias import _HOMES\n"
    found = ["pytest_bias._HOMES", "pytest_bias.cli", "pytest_bias.errors"]
    assert sorted(private_imports(text)) == found


@pytest.mark.parametrize("path", EXPERIMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_experiment_imports_a_private_name(path: Path) -> None:
    assert private_imports(path.read_text("utf-8")) == []


SHAPE = ("README.md", "stimuli", "experiment.py", "hypotheses.py", "simulated.py", "tests")


@pytest.mark.parametrize(
    "folder",
    sorted({path.parent for path in EXPERIMENTS if path.name == "experiment.py"}),
    ids=str,
)
def test_every_experiment_has_the_one_shape(folder: Path) -> None:
    assert [name for name in SHAPE if not (folder / name).exists()] == []
    assert (folder / f"test_{folder.name}.py").exists()
