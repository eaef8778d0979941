"""Files that declare cases, read or found among the modules; nothing is imported for it."""

from __future__ import annotations

import ast
import os
import re
import sys
import warnings
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from types import ModuleType

from ..contrasts.register import DECORATORS, REGISTER

PACKAGE = "pytest_bias"
_ENVIRONMENTS = ("pyvenv.cfg", "conda-meta/history")
_NAMED = re.compile(rb"\b(?:conditions|hypotheses|positive_control)\b")
_CALLED = re.compile(rb"\b(?:conditions|hypotheses|positive_control)\s*\(")


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """Files and folders that are passed over: by path, by glob, and folders by pattern."""

    folders: Sequence[str]
    paths: Collection[Path] = ()
    globs: Sequence[str] = ()

    def __contains__(self, path: Path) -> bool:
        return (
            path in self.paths
            or any(fnmatch(str(path), each) for each in self.globs)
            or (path.suffix != ".py" and any(path.match(each) for each in self.folders))
        )


def python_files(places: Iterable[Path], left_out: LeftOut) -> Iterator[Path]:
    """The Python files that are ``places`` or lie below, in no virtual environment."""
    for place in places:
        if not place.is_dir():
            yield place
            continue
        entered: set[Path] = set()
        for name, below, files in os.walk(place, followlinks=True):
            folder = Path(name)
            real = folder.resolve()
            if real in entered:  # a link that leads back
                below.clear()
                continue
            entered.add(real)
            below[:] = [
                each
                for each in below
                if folder / each not in left_out
                and not any((folder / each / mark).exists() for mark in _ENVIRONMENTS)
            ]
            found = (folder / each for each in files)
            yield from (path for path in found if _may_declare(path) and path not in left_out)


def _may_declare(path: Path) -> bool:
    """True for Python, and for a link of a folder that leads nowhere."""
    return path.suffix == ".py" or (not path.suffix and path.is_symlink() and not path.exists())


def modules() -> Iterator[ModuleType]:
    """The modules that were imported: anything may stand among them, and None hides one."""
    known: tuple[object, ...] = tuple(sys.modules.values())
    return (module for module in known if isinstance(module, ModuleType))


def imported(files: Collection[Path]) -> dict[Path, ModuleType]:
    """The modules that were imported from some of ``files``, by file, through any links."""
    real = {path: path.resolve() for path in files}
    names = {path.name for pair in real.items() for path in pair}
    same = {_identity(path) for path in files}
    found: dict[Path, ModuleType] = {}
    for module in modules():
        file = getattr(module, "__file__", None)
        # Thousands of others are an __init__.py too, and to resolve a path takes long.
        if not isinstance(file, str) or file.rpartition(os.sep)[2] not in names:
            continue
        if _identity(file) in same:
            path = Path(file).resolve()
            if path not in found or REGISTER in vars(module):
                found[path] = module
    return {path: found[real[path]] for path in files if real[path] in found}


def _identity(file: str | Path) -> tuple[int, int] | None:
    """Identity of a file, whatever its path; None where there is no file."""
    try:
        status = os.stat(file)  # noqa: PTH116  (to make a path of it takes longer)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def declares(path: Path, *, directly: bool = False) -> bool:
    """Tell whether a file calls a bias decorator of pytest_bias, as far as its text shows.

    Nothing is imported. ``directly`` leaves out who has them from a module of his own. A file that
    names pytest_bias and its decorators and is no Python is taken for one that does: what it would
    have held, nobody knows; the same goes for a link that leads nowhere.
    """
    try:
        source = path.read_bytes()
    except OSError:
        return path.is_symlink() and not path.exists()
    ours = PACKAGE.encode() in source
    if not (ours and _NAMED.search(source)) and (directly or not _CALLED.search(source)):
        return False
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the file's own escapes, which may be errors here
            tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ours
    names, packages = _bound(tree, path)
    called = [node.func for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return any(
        (isinstance(each, ast.Name) and each.id in names)
        or (
            isinstance(each, ast.Attribute)
            and each.attr in DECORATORS
            and isinstance(each.value, ast.Name)
            and each.value.id in packages
        )
        for each in called
    )


def _bound(tree: ast.Module, path: Path) -> tuple[set[str], set[str]]:
    """The names by which a module has the decorators, and those by which it has the package."""
    package = _package(path)
    names: set[str] = set()
    packages: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=aliases):
                packages |= {a.asname or PACKAGE for a in aliases if _is_ours(a.name)}
            case ast.ImportFrom(names=aliases):
                above = package[: len(package) - node.level + 1] if node.level else ()
                module = ".".join((*above, *filter(None, [node.module])))
                inside = bool(node.level) or module.partition(".")[0] in package[:1]
                for alias in aliases:
                    if alias.name == "*":
                        names |= {n for n in DECORATORS if _is_decorator(module, n, inside)}
                    elif _is_decorator(module, alias.name, inside):
                        names.add(alias.asname or alias.name)
            case ast.Assign(
                targets=[ast.Name(id=name)], value=ast.Call(args=[ast.Constant(value)])
            ):
                packages |= {name} if value == PACKAGE else set()  # importorskip, import_module
            case _:
                pass
    return names, packages


def _is_ours(module: str) -> bool:
    return module.partition(".")[0] == PACKAGE


def _is_decorator(module: str, name: str, inside: bool) -> bool:  # noqa: FBT001
    """Tell whether a module has a decorator by a name.

    Where it was not imported the name decides, of our modules and of those ``inside`` the suite.
    """
    known = None if _is_ours(module) else sys.modules.get(module)
    if known is None:
        return (inside or _is_ours(module)) and name in DECORATORS
    return str(getattr(getattr(known, name, None), "__module__", "")).startswith(f"{PACKAGE}.")


def _package(path: Path) -> tuple[str, ...]:
    """The package a file stands in: the names of the folders with an ``__init__.py``."""
    folder = path.parent
    names: list[str] = []
    while (folder / "__init__.py").exists():
        names.insert(0, folder.name)
        folder = folder.parent
    return tuple(names)
