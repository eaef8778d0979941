"""The suites that a run's arguments lie in: their folders, their files, and what these declare."""

from __future__ import annotations

import ast
import os
import re
import shlex
import sys
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from fnmatch import fnmatch
from functools import cached_property
from pathlib import Path
from types import ModuleType

import pytest

from ..contrasts.register import DECORATORS, REGISTER

PACKAGE = "pytest_bias"
_ENVIRONMENTS = ("pyvenv.cfg", "conda-meta/history")
_NAMED = re.compile(rb"\b(?:conditions|hypotheses|positive_control)\b")
_CALLED = re.compile(rb"\b(?:conditions|hypotheses|positive_control)\s*\(")
_FEWER_CASES = {"lf": "--lf", "stepwise": "--stepwise"}
_FEWER_FILES = ("--ignore", "--ignore-glob")
_COLLECTING = (
    *("testpaths", "python_files", "python_classes", "python_functions"),
    *("norecursedirs", "collect_imported_tests"),
)
"""Ini keys that say what is collected: typed for one run, they leave something out today."""
_DEFAULT_FOLDERS = {
    *("*.egg", ".*", "_darcs", "build", "CVS", "dist", "node_modules", "venv", "{arch}"),
}
_NO_SUITES = ("*.egg", ".*", "node_modules")
_SETTINGS = {"design": "gate", "replicates": "", "gate": "absolute"}
_SETTINGS_OF_INI = ("inconclusive", "models")


def python_files(places: Iterable[Path], leaves_out: Callable[[Path], bool]) -> Iterator[Path]:
    """The Python files that are ``places`` or lie below, links followed; no virtual environments.

    ``leaves_out`` tells of a file or folder whether it is passed over.
    """
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
            below[:] = [each for each in below if not _is_passed(folder / each, leaves_out)]
            found = (folder / each for each in files)
            yield from (path for path in found if _may_declare(path) and not leaves_out(path))


def _may_declare(path: Path) -> bool:
    """Whether a file is Python, or a link of a folder that leads nowhere."""
    return path.suffix == ".py" or (not path.suffix and path.is_symlink() and not path.exists())


def _is_passed(folder: Path, leaves_out: Callable[[Path], bool]) -> bool:
    return leaves_out(folder) or any((folder / each).exists() for each in _ENVIRONMENTS)


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
    """What two paths of one file share; None where there is no file."""
    try:
        status = os.stat(file)  # noqa: PTH116  (to make a path of it takes longer)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def declares(path: Path, *, directly: bool = False) -> bool:
    """Whether a file calls a bias decorator of pytest_bias, as far as its text shows.

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
    """Whether a module has a decorator by a name.

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


class Suite:
    """Suites and what was asked for of them. Every folder is gone through once in a process."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.root = config.rootpath.resolve()
        self.arguments = tuple(map(str, config.args))
        self._below: dict[Path, tuple[Path, ...]] = {}

    # --- what was asked for -------------------------------------------------------------------

    @cached_property
    def test_paths(self) -> tuple[Path, ...]:
        """The places ``testpaths`` names."""
        return tuple(
            found.resolve()
            for pattern in self.config.getini("testpaths")
            for found in sorted(self.config.rootpath.glob(pattern))
        )

    @cached_property
    def asked(self) -> tuple[Path, ...]:
        """The files and folders of the arguments."""
        return tuple(map(self._asked, self.arguments))

    @cached_property
    def places(self) -> tuple[Path, ...]:
        """The folders of the suites an argument lies in: of ``testpaths``, or its top package."""
        return tuple(dict.fromkeys(place for asked in self.asked for place in self._near(asked)))

    @cached_property
    def parts(self) -> tuple[str, ...]:
        """The arguments that name a part of a suite, as paths below rootdir."""
        return tuple(self.below_root(each) for each in self.arguments if self._is_part(each))

    @cached_property
    def is_all(self) -> bool:
        """True where the arguments cover ``testpaths``, or all below rootdir if there are none.

        Beside a suite that was asked for by its path there may be others, with verdicts of their
        own.
        """
        return self._covers(self.test_paths or (self.root,))

    @cached_property
    def narrowed(self) -> tuple[str, ...]:
        """The flags that leave something out which depends on an earlier run, or on the day."""
        option = self.config.option
        flags = [flag for name, flag in _FEWER_CASES.items() if getattr(option, name, None)]
        flags += [flag for flag in _FEWER_FILES if flag in self._typed]
        return (*flags, *self._overridden(_COLLECTING))

    def varied(self, models: Sequence[str]) -> Iterator[str]:
        """The settings in which this run is another than the one its ini file configures."""
        config = self.config
        for name, default in _SETTINGS.items():
            value = config.getoption(f"bias_{name}", None)
            usual = config.getini(f"bias_{name}") or default
            if f"--bias-{name}" in self._typed and str(value) != str(usual):
                yield f"--bias-{name}={value}"
        yield from self._overridden([f"bias_{name}" for name in (*_SETTINGS, *_SETTINGS_OF_INI)])
        if set(models) < set(config.getini("bias_models")):
            yield f"only {', '.join(models)} of bias_models"

    def below_root(self, argument: str) -> str:
        """An argument as a path below rootdir, so that results do not depend on the machine."""
        path, separator, node = argument.partition("::")
        asked = self._asked(argument)
        shown = (
            asked.relative_to(self.root).as_posix() if asked.is_relative_to(self.root) else path
        )
        return f"{shown}{separator}{node}"

    def place(self, path: Path) -> str:
        """A file as pytest names it: below rootdir, links as they are."""
        below = path.relative_to(self.root) if path.is_relative_to(self.root) else path
        return below.as_posix()

    # --- its files ----------------------------------------------------------------------------

    @cached_property
    def files(self) -> frozenset[str]:
        """The modules of tests, and what else declares cases, of the suites; below rootdir."""
        return frozenset(
            path.relative_to(self.root).as_posix()
            for path in self._python_files(self.places)
            if self.root in path.parents and (self._is_test(path) or declares(path))
        )

    def whole_files(self, *, concerned: bool) -> list[Path]:
        """All files of the suites that were asked for by their path or a folder above, sorted.

        Where no case was selected (not ``concerned``), only ``testpaths`` are taken for suites.
        """
        if self.narrowed:
            return []
        places = set(self.places) if concerned else {*self.places} & {*self.test_paths}
        asked = [p for a, p in zip(self.arguments, self.asked, strict=True) if "::" not in a]
        return sorted(
            path
            for path in set(self._python_files(places))
            if any(place == path or place in path.parents for place in asked)
        )

    def _python_files(self, places: Iterable[Path]) -> Iterator[Path]:
        """The Python files in some places, as far as pytest's ini keys let it go there.

        Not all that lies below rootdir is a suite: where that is asked for, only modules of tests.
        """
        for place in places:
            if place not in self._below:
                whole = place == self.root
                found = python_files([place], self._left_out(whole=whole))
                self._below[place] = tuple(p for p in found if not whole or self._is_test(p))
            yield from self._below[place]

    def _is_test(self, path: Path) -> bool:
        return any(path.match(pattern) for pattern in self.config.getini("python_files"))

    def _left_out(self, *, whole: bool) -> Callable[[Path], bool]:
        """Return which files and folders pytest's own keys and options pass over.

        Below rootdir as a ``whole`` stand copies of all sorts. In a suite, a folder that pytest
        enters by default no more than those, though nobody said so, is missed: ``build``,
        ``dist``, ``venv``.
        """
        folders = self.config.getini("norecursedirs")
        if set(folders) == _DEFAULT_FOLDERS and not whole:
            folders = _NO_SUITES
        here, option = Path.cwd(), self.config.option
        ignored = {here / each for each in option.ignore or ()}
        globs = [str(here / each) for each in option.ignore_glob or ()]

        def leaves_out(path: Path) -> bool:
            return (
                path in ignored
                or any(fnmatch(str(path), each) for each in globs)
                or (path.suffix != ".py" and any(path.match(each) for each in folders))
            )

        return leaves_out

    # --- arguments ----------------------------------------------------------------------------

    def _asked(self, argument: str) -> Path:
        return (self.config.invocation_params.dir / argument.partition("::")[0]).resolve()

    def _near(self, asked: Path) -> Iterable[Path]:
        near = [p for p in self.test_paths if p == asked or p in asked.parents]
        near += [p for p in self.test_paths if asked in p.parents]
        top = asked
        while _in_package(top):
            top = top.parent
        return near or (top,)

    def _covers(self, places: Iterable[Path]) -> bool:
        return all(any(a == path or a in path.parents for a in self.asked) for path in places)

    def _is_part(self, argument: str) -> bool:
        """Return true where an argument names a part of ``testpaths``, a package or a module.

        One of several ``testpaths``, or a folder above it, is a part where another declares cases.
        """
        asked, paths = self._asked(argument), self.test_paths
        if "::" in argument or (self.config.option.pyargs and not asked.exists()):
            return True
        if any(path in asked.parents for path in paths):
            return True
        if not any(path == asked or asked in path.parents for path in paths):
            return _in_package(asked)
        others = [path for path in paths if not self._covers([path])]
        return any(map(declares, self._python_files(others)))

    @cached_property
    def _typed(self) -> frozenset[str]:
        """The options that are typed for this run.

        What an ini file leaves out is no part of the suite; what is typed is left out today.
        """
        variable = shlex.split(os.environ.get("PYTEST_ADDOPTS", ""))
        given = (*self.config.invocation_params.args, *variable)
        return frozenset(str(argument).partition("=")[0] for argument in given)

    def _overridden(self, keys: Sequence[str]) -> Iterator[str]:
        """Those of some ini keys that are typed for this run."""
        for override in self.config.option.override_ini or ():
            if (key := override.partition("=")[0].strip()) in keys:
                yield f"-o {key}"


def _in_package(path: Path) -> bool:
    return (path.parent / "__init__.py").exists()
