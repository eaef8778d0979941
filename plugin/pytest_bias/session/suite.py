"""Suites that a run's arguments lie in: folders, files, and declarations that no case judges."""

from __future__ import annotations

import os
import shlex
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from glob import iglob
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

import pytest

from ..contrasts.register import OPTIONAL, REGISTER
from ..workbench.modules import LeftOut, declares, imported, modules, python_files, undeclared

if TYPE_CHECKING:
    from ..contrasts.cases import Declaration

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
_SETTINGS_OF_INI = ("alpha", "experiments", "inconclusive", "models")

_SILENT = (
    "has a bias decorator, but pytest collects no case from it. Its name must begin with test_, "
    "that of its class with Test (with no __init__, no __test__ = False and no TestCase), and "
    "nothing after it may take its name or delete it"
)
_CONDITIONAL = (
    "has a bias decorator, but declared nothing: it stands under a condition that did not hold, "
    f'so no case judges it. Where that is meant, say why in the module: {OPTIONAL} = "…"'
)
_OUTSIDE = (
    "has a bias decorator and stands outside the test paths, from where pytest collects nothing: "
    "import it into the test module that has the other cases of its experiment"
)


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
        patterns = self.config.getini("testpaths")
        return tuple(path.resolve() for each in patterns for path in self.matching(each))

    def matching(self, pattern: str) -> list[Path]:
        """What a pattern of ``testpaths`` names, as pytest does: Path.glob refuses "."."""
        root = self.config.rootpath
        return sorted(map(root.joinpath, iglob(pattern, root_dir=root, recursive=True)))  # noqa: PTH207

    @cached_property
    def requested(self) -> tuple[Path, ...]:
        """The files and folders of the arguments."""
        return tuple(map(self._asked, self.arguments))

    @cached_property
    def places(self) -> tuple[Path, ...]:
        """The folders of the suites an argument lies in: of ``testpaths``, or its top package."""
        return tuple(
            dict.fromkeys(place for asked in self.requested for place in self._near(asked))
        )

    @cached_property
    def parts(self) -> tuple[str, ...]:
        """The arguments that name a part of a suite, as paths below rootdir."""
        return tuple(self.below_root(each) for each in self.arguments if self._is_part(each))

    @cached_property
    def is_all(self) -> bool:
        """True if the arguments cover ``testpaths``, or all below rootdir if there are none.

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
    def has_only_cases(self) -> bool:
        """True if every test module that was requested declares bias cases."""
        requested = [
            path
            for path in set(self._python_files(self.places))
            if self._is_test(path) and _is_below(path, self.requested)
        ]
        return bool(requested) and all(map(declares, requested))

    def whole_files(self) -> list[Path]:
        """All files of the suites that were asked for by their path or a folder above, sorted."""
        if self.narrowed:
            return []
        asked = [p for a, p in zip(self.arguments, self.requested, strict=True) if "::" not in a]
        return sorted(p for p in set(self._python_files(self.places)) if _is_below(p, asked))

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

    def _left_out(self, *, whole: bool) -> LeftOut:
        """The files and folders that pytest's own keys and options pass over.

        Below rootdir as a ``whole`` stand copies of all sorts. In a suite, a folder that pytest
        enters by default no more than those, though nobody said so, is missed: ``build``,
        ``dist``, ``venv``.
        """
        folders = self.config.getini("norecursedirs")
        if set(folders) == _DEFAULT_FOLDERS and not whole:
            folders = _NO_SUITES
        here, option = Path.cwd(), self.config.option
        return LeftOut(
            folders=folders,
            paths={here / each for each in option.ignore or ()},
            globs=[str(here / each) for each in option.ignore_glob or ()],
        )

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
        return all(_is_below(path, self.requested) for path in places)

    def _is_part(self, argument: str) -> bool:
        """True if an argument names a part of ``testpaths``, a package or a module.

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
        typed = shlex.split(os.environ.get("PYTEST_ADDOPTS", ""))
        typed += map(str, self.config.invocation_params.args)
        return frozenset(argument.partition("=")[0] for argument in typed)

    def _overridden(self, keys: Sequence[str]) -> Iterator[str]:
        """Those of some ini keys that are typed for this run."""
        for override in self.config.option.override_ini or ():
            if (key := override.partition("=")[0].strip()) in keys:
                yield f"-o {key}"


def _in_package(path: Path) -> bool:
    return (path.parent / "__init__.py").exists()


# --- declarations that no case judges ---------------------------------------------------------


def unjudged_text(
    suite: Suite,
    collected: Iterable[Declaration],
    unfinished: Mapping[str, str],
    *,
    has_cases: bool,
) -> Iterator[str]:
    """Yield what files that were requested as a whole declare and no case judges, and why.

    ``collected`` are the declarations that became cases, ``unfinished`` says why modules and
    folders were not imported to their end. Such a file is read: what it would have declared is
    unknown.
    """
    for pattern in suite.config.getini("testpaths") if has_cases else ():
        if not suite.matching(pattern):
            yield f"testpaths names {pattern}, where nothing is: mend or remove it in the ini file"
    files = suite.whole_files()
    known = imported(files)
    for path in files:
        place = suite.place(path)
        reason = _unfinished(unfinished, place)
        if reason == "":
            continue  # the run has failed for it
        if (reason or path not in known) and declares(path, directly=not has_cases):
            yield f"{place} {reason or 'was not collected'}: what it declares is not judged"
    yield from silent_text(suite, collected, unfinished, has_cases=has_cases)


def silent_text(
    suite: Suite,
    collected: Iterable[Declaration],
    unfinished: Mapping[str, str],
    *,
    has_cases: bool,
) -> Iterator[str]:
    """The functions that decorators listed in files requested as a whole, and that are no case.

    After collection, and once more at the end: what is declared while a test runs comes too late.
    """
    declared_here = tuple(collected)
    made = {each.key for each in declared_here}
    files = suite.whole_files()
    whole = files and not any("::" in argument for argument in suite.arguments)
    if whole and (has_cases or suite.is_all):  # other tests have the same conftest.py
        tested = {each.experiment.id for each in declared_here}
        yield from _outside(suite, made, tested)
    for path, module in imported(files).items():
        place = suite.place(path)
        if REGISTER in vars(module) and _unfinished(unfinished, place) is None:
            from ..contrasts.cases import (  # noqa: PLC0415  (nothing is imported without cases)
                declared_in,
            )

            for declared in declared_in(module):
                if declared.key not in made:
                    yield f"{place}:{declared.line}: {declared.name} {_SILENT}"
        if _unfinished(unfinished, place) is None and not vars(module).get(OPTIONAL):
            for line, name in undeclared(path, module):
                yield f"{place}:{line}: {name} {_CONDITIONAL}"


def _outside(suite: Suite, made: Collection[object], tested: set[str]) -> Iterator[str]:
    """The hypotheses of modules that pytest collects nothing from but by import, and did not.

    Those on experiments that are tested, and all that plugins and ``conftest.py`` declare.
    """
    for module in modules():
        if REGISTER not in vars(module):
            continue
        path = Path(module.__file__ or "").resolve()
        if _is_below(path, suite.places):
            continue
        from ..contrasts.cases import (  # noqa: PLC0415  (nothing is imported without cases)
            declared_in,
        )

        is_plugin = suite.config.pluginmanager.is_registered(module)
        for declared in declared_in(module):
            known = declared.experiment.id in tested or is_plugin
            if known and declared.kind == "hypothesis" and declared.key not in made:
                yield f"{suite.place(path)}:{declared.line}: {declared.name} {_OUTSIDE}"


def _unfinished(unfinished: Mapping[str, str], place: str) -> str | None:
    """The reason why a file, or a folder above it, was not imported; None where it was."""
    above = [place, *(folder.as_posix() for folder in PurePath(place).parents)]
    return next((unfinished[each] for each in above if each in unfinished), None)


def _is_below(path: Path, places: Iterable[Path]) -> bool:
    return any(place == path or place in path.parents for place in places)
