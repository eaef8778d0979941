"""A name means one thing: what stands in the house under which name."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

import pytest_bias

PACKAGE = Path(pytest_bias.__file__).parent
MODULES = [path.relative_to(PACKAGE) for path in PACKAGE.rglob("*.py")]


def test_every_public_name_is_defined_once() -> None:
    places: defaultdict[str, list[str]] = defaultdict(list)
    for path in MODULES:
        if path.name == "pytest_plugin.py":
            continue  # hooks and fixtures, which pytest and the authors of tests name
        for node in ast.parse((PACKAGE / path).read_text("utf-8")).body:
            names = [getattr(node, "name", "")]
            if isinstance(node, ast.Assign):  # aliases of types, as Place = tuple[…]
                names = [t.id for t in node.targets if isinstance(t, ast.Name)]
                names = [name for name in names if not name.isupper()]
            for name in names:
                if name and not name.startswith("_"):
                    places[name].append(path.as_posix())
    assert {name: at for name, at in places.items() if len(at) > 1} == {}


def test_rooms_are_called_by_nouns() -> None:
    doing = sorted(path.as_posix() for path in MODULES if path.stem.endswith("ing"))
    assert len(doing) <= 8, doing


def test_nothing_but_the_public_face_and_the_plugin_stands_at_the_top() -> None:
    flat = {path.name for path in MODULES if len(path.parts) == 1}
    assert flat == {"__init__.py", "pytest_plugin.py"}
