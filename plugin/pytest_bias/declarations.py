"""What the files of a suite declare: as the decorators listed it, or as it is read in the file."""

from __future__ import annotations

import ast
import os
import sys
from collections.abc import Collection, Iterable, Iterator, Sequence
from fnmatch import fnmatch
from pathlib import Path
from types import ModuleType

PACKAGE = "pytest_bias"
_DECORATORS = frozenset({"conditions", "hypotheses", "positive_control"})
REGISTER = "__pytest_bias_declared__"  # as in cases, which is imported only where cases are


def python_files(places: Iterable[Path], *, skipping: Sequence[str]) -> Iterator[Path]:
    """The Python files that are ``places`` or lie below; not in virtual environments.

    ``skipping`` are patterns of names of folders that are not entered.
    """
    for place in places:
        if not place.is_dir():
            yield place
            continue
        for folder, below, files in os.walk(place):
            below[:] = [
                name
                for name in below
                if not any(fnmatch(name, pattern) for pattern in skipping)
                and not Path(folder, name, "pyvenv.cfg").exists()
            ]
            yield from (Path(folder, name) for name in files if name.endswith(".py"))


def imported(files: Collection[Path]) -> dict[Path, ModuleType]:
    """The modules that were imported from some of ``files``, which are resolved, by file."""
    names = {path.name for path in files}
    found: dict[Path, ModuleType] = {}
    for module in tuple(sys.modules.values()):
        file = getattr(module, "__file__", None)
        if isinstance(file, str) and Path(file).name in names:
            path = Path(file).resolve()
            if path not in found or REGISTER in vars(module):
                found[path] = module
    return {path: found[path] for path in files if path in found}


def declares(path: Path) -> bool:
    """Whether a file takes a bias decorator from pytest_bias, as far as its text shows.

    Nothing is imported. A file that names the decorators and is no Python is taken for one that
    does: what it would have held, nobody knows. What cannot be read holds nothing for anybody.
    """
    try:
        source = path.read_bytes()
    except OSError:
        return False
    if not any(name.encode() in source for name in _DECORATORS):
        return False
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return PACKAGE.encode() in source
    return any(_takes(tree))


def _takes(tree: ast.Module) -> Iterator[bool]:
    """Where a module gets hold of a decorator: by name, through the package, or by its name."""
    for node in ast.walk(tree):
        match node:
            case ast.ImportFrom(module=module, names=names, level=level):
                if level or (module or "").partition(".")[0] == PACKAGE:
                    yield any(alias.name in _DECORATORS for alias in names)
                    yield not level and any(alias.name == "*" for alias in names)
            case ast.Import(names=names):
                yield any(alias.name.partition(".")[0] == PACKAGE for alias in names)
            case ast.Constant(value=value):
                yield value == PACKAGE  # import_module, importorskip
            case _:
                pass
