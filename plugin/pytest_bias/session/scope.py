"""How much of a suite a run covers: why it is a part, and what others would have to cover."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from fnmatch import fnmatch
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

import pytest

from ..contrasts.register import REGISTER
from .declarations import declares, imported, modules, python_files

if TYPE_CHECKING:
    from ..contrasts.cases import Declaration
    from ..report.view import Scope
    from .session import BiasSession

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
_SILENT = (
    "has a bias decorator, but pytest collects no case from it. Its name must begin with test_, "
    "that of its class with Test (with no __init__, no __test__ = False and no TestCase), and "
    "nothing after it may take its name or delete it"
)
_OUTSIDE = (
    "has a bias decorator and stands outside the test paths, from where pytest collects nothing: "
    "import it into the test module that has the other cases of its experiment"
)
_SETTINGS = {"design": "gate", "replicates": "", "gate": "absolute"}
_SETTINGS_OF_INI = ("inconclusive", "models")


def partial_words(state: BiasSession) -> Iterator[str]:
    """Why this run is not the whole suite as its ini file configures it."""
    config = state.config
    yield from _narrowed(config)
    for argument in config.args:
        if _is_part(config, argument):
            yield f"only {_below_root(config, argument)} was asked for"
    errors, lost = _collection_errors(config), len(state.ledger.lost)
    yield from _counted(errors, "error", "during collection")
    yield from _counted(len(state.ledger.unselected), "case", "not selected")
    yield from _counted(lost, "case", "without a verdict")
    if state.interrupted:
        yield "recording was interrupted"
    yield from _varied(state)


def scope_of(state: BiasSession) -> Scope:
    """What of the suite this run covers, so that others can be found to cover the rest."""
    from ..report.view import Scope, is_below  # noqa: PLC0415  (the other rules cost every run)

    config, settings, ledger = state.config, state.settings, state.ledger
    asked = {_below_root(config, argument) for argument in config.args}
    root = config.rootpath.resolve()
    files = {path.relative_to(root).as_posix() for path in _suite_files(config)}
    covered = {file for file in files if any(is_below(file, place) for place in asked)}
    return Scope(
        models=tuple(sorted(settings.models)),
        design=settings.design,
        replicates=settings.replicates,
        gate=settings.gate,
        inconclusive=settings.inconclusive,
        # Whoever asks for all of it asks for no part, whichever way it was said.
        asked=() if covered == files else tuple(sorted(asked)),
        files=tuple(sorted(files)),
        unselected=tuple(sorted(set(ledger.unselected) - set(ledger.selected))),
        cut=(
            *_narrowed(config),
            *_counted(_collection_errors(config), "error", "during collection"),
            *(("recording was interrupted",) if state.interrupted else ()),
        ),
        varied=tuple(_varied(state)),
        elsewhere=not _test_paths(config) or not set(_test_paths(config)) <= set(_suites(config)),
    )


def unjudged_words(state: BiasSession, collected: Iterable[Declaration]) -> Iterator[str]:
    """What files that were asked for as a whole declare and no case judges, and why.

    ``collected`` are the declarations that became cases. A file that was not imported to its end
    is read: what it would have declared, nobody knows.
    """
    for pattern in state.config.getini("testpaths") if state.ledger.concerned else ():
        if not any(state.config.rootpath.glob(pattern)):
            yield f"testpaths names {pattern}, where nothing is: mend or remove it in the ini file"
    files = _whole_files(state)
    known = imported(files)
    for path in files:
        place = _place(state.config, path)
        reason = _unfinished(state, place)
        if reason == "":
            continue  # the run has failed for it
        directly = not state.ledger.concerned
        if (reason or path not in known) and declares(path, directly=directly):
            yield f"{place} {reason or 'was not collected'}: what it declares is not judged"
    yield from silent_words(state, collected)


def silent_words(state: BiasSession, collected: Iterable[Declaration]) -> Iterator[str]:
    """The functions that decorators listed in files asked for as a whole, and that are no case.

    After collection, and once more at the end: what is declared while a test runs comes too late.
    """
    declared_here = tuple(collected)
    made = {each.key for each in declared_here}
    tested = {each.experiment.id for each in declared_here}
    files = _whole_files(state)
    if files and not any("::" in argument for argument in state.config.args):
        yield from _outside(state, made, tested)
    for path, module in imported(files).items():
        place = _place(state.config, path)
        if REGISTER in vars(module) and _unfinished(state, place) is None:
            from ..contrasts.cases import (  # noqa: PLC0415  (nothing is imported without cases)
                declared_in,
            )

            for declared in declared_in(module):
                if declared.key not in made:
                    yield f"{place}:{declared.line}: {declared.name} {_SILENT}"


def _outside(state: BiasSession, made: Collection[object], tested: set[str]) -> Iterator[str]:
    """The hypotheses of modules that pytest collects nothing from but by import, and did not.

    Those on experiments that are tested, and all that plugins and ``conftest.py`` declare.
    """
    config = state.config
    suites = list(_suites(config))
    for module in modules():
        if REGISTER not in vars(module):
            continue
        path = Path(module.__file__ or "").resolve()
        if any(place == path or place in path.parents for place in suites):
            continue
        from ..contrasts.cases import (  # noqa: PLC0415  (nothing is imported without cases)
            declared_in,
        )

        is_plugin = config.pluginmanager.is_registered(module)
        for declared in declared_in(module):
            known = declared.experiment.id in tested or is_plugin
            if known and declared.kind == "hypothesis" and declared.key not in made:
                yield f"{_place(config, path)}:{declared.line}: {declared.name} {_OUTSIDE}"


def _place(config: pytest.Config, path: Path) -> str:
    """A file as pytest names it: below rootdir, links as they are."""
    root = config.rootpath.resolve()
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else path.as_posix()


def _unfinished(state: BiasSession, place: str) -> str | None:
    """Why a file, or a folder above it, was not imported to its end; None where it was."""
    above = [place, *(folder.as_posix() for folder in PurePath(place).parents)]
    return next((state.unfinished[each] for each in above if each in state.unfinished), None)


def _varied(state: BiasSession) -> Iterator[str]:
    """The settings in which this run is another than the one its ini file configures."""
    config = state.config
    typed = _typed(config)
    for name, default in _SETTINGS.items():
        value = config.getoption(f"bias_{name}", None)
        usual = config.getini(f"bias_{name}") or default
        if f"--bias-{name}" in typed and str(value) != str(usual):
            yield f"--bias-{name}={value}"
    yield from _overridden(config, [f"bias_{name}" for name in (*_SETTINGS, *_SETTINGS_OF_INI)])
    models, usual = state.settings.models, config.getini("bias_models")
    if set(models) < set(usual):
        yield f"only {', '.join(models)} of bias_models"


def _narrowed(config: pytest.Config) -> Iterator[str]:
    """The flags that leave something out which depends on an earlier run, or on the day."""
    for name, flag in _FEWER_CASES.items():
        if getattr(config.option, name, None):
            yield flag
    typed = _typed(config)
    yield from (flag for flag in _FEWER_FILES if flag in typed)
    yield from _overridden(config, _COLLECTING)


def _typed(config: pytest.Config) -> set[str]:
    """The options that are typed for this run.

    What an ini file leaves out is no part of the suite; what is typed is left out today.
    """
    given = [*config.invocation_params.args, *shlex.split(os.environ.get("PYTEST_ADDOPTS", ""))]
    return {str(argument).partition("=")[0] for argument in given}


def _overridden(config: pytest.Config, keys: Sequence[str]) -> Iterator[str]:
    """Those of some ini keys that are typed for this run."""
    for override in config.option.override_ini or ():
        if (key := override.partition("=")[0].strip()) in keys:
            yield f"-o {key}"


def _counted(number: int, noun: str, words: str) -> tuple[str, ...]:
    return (f"{number} {noun}{'s' * (number > 1)} {words}",) if number else ()


def _suite_files(config: pytest.Config) -> Iterator[Path]:
    """The modules of tests, and what else declares cases, of the suites that were asked for."""
    patterns = config.getini("python_files")
    root = config.rootpath.resolve()
    for path in _python_files(config, _suites(config)):
        if root not in path.parents:
            continue
        if any(path.match(each) for each in patterns) or declares(path):
            yield path


def _whole_files(state: BiasSession) -> list[Path]:
    """All files of the suites that were asked for by their path or a folder above it, sorted.

    Where no case was selected, nothing but ``testpaths`` is taken for a suite.
    """
    config = state.config
    if any(_narrowed(config)):
        return []
    suites = set(_suites(config))
    if not state.ledger.concerned:
        suites &= set(_test_paths(config))
    asked = [_asked(config, argument) for argument in config.args if "::" not in argument]
    return sorted(
        path
        for path in set(_python_files(config, suites))
        if any(place == path or place in path.parents for place in asked)
    )


def _python_files(config: pytest.Config, places: Iterable[Path]) -> Iterator[Path]:
    """The Python files in some places, as far as pytest's ini keys let it go there.

    Not all that lies below rootdir is a suite: where that is asked for, only modules of tests.
    """
    root, patterns = config.rootpath.resolve(), config.getini("python_files")
    for place in dict.fromkeys(places):
        for path in python_files([place], _left_out(config, whole=place == root)):
            if place != root or any(path.match(pattern) for pattern in patterns):
                yield path


def _left_out(config: pytest.Config, *, whole: bool) -> Callable[[Path], bool]:
    """Which files and folders pytest's own keys and options pass over.

    Below rootdir as a ``whole`` stand copies of all sorts. In a suite, a folder that pytest enters
    by default no more than those, though nobody said so, is missed: ``build``, ``dist``, ``venv``.
    """
    folders = config.getini("norecursedirs")
    if set(folders) == _DEFAULT_FOLDERS and not whole:
        folders = _NO_SUITES
    here, option = Path.cwd(), config.option
    ignored = {here / each for each in option.ignore or ()}
    globs = [str(here / each) for each in option.ignore_glob or ()]

    def leaves_out(path: Path) -> bool:
        return (
            path in ignored
            or any(fnmatch(str(path), each) for each in globs)
            or (path.suffix != ".py" and any(path.match(each) for each in folders))
        )

    return leaves_out


def _suites(config: pytest.Config) -> Iterator[Path]:
    """The folders of the suites an argument lies in: of ``testpaths``, else its top package."""
    for argument in config.args:
        asked = _asked(config, argument)
        near = [p for p in _test_paths(config) if p == asked or p in asked.parents]
        near += [p for p in _test_paths(config) if asked in p.parents]
        top = asked
        while _in_package(top):
            top = top.parent
        yield from near or (top,)


def _is_part(config: pytest.Config, argument: str) -> bool:
    """Whether an argument names a part of ``testpaths``, of a package, or of a module.

    One of several ``testpaths``, or a folder above it, is a part where another declares cases.
    """
    asked, paths = _asked(config, argument), _test_paths(config)
    if "::" in argument or (config.option.pyargs and not asked.exists()):
        return True
    if any(path in asked.parents for path in paths):
        return True
    if not any(path == asked or asked in path.parents for path in paths):
        return _in_package(asked)
    others = [path for path in paths if not is_all(config, [path])]
    return any(map(declares, _python_files(config, others)))


def is_all(config: pytest.Config, whole: Iterable[Path] | None = None) -> bool:
    """Whether the arguments cover ``testpaths``, or all below rootdir where there are none.

    Beside a suite that was asked for by its path there may be others, with verdicts of their own.
    """
    asked = [_asked(config, argument) for argument in config.args]
    places = whole or _test_paths(config) or [config.rootpath.resolve()]
    return all(any(a == path or a in path.parents for a in asked) for path in places)


def _asked(config: pytest.Config, argument: str) -> Path:
    return (config.invocation_params.dir / argument.partition("::")[0]).resolve()


def _test_paths(config: pytest.Config) -> list[Path]:
    return [
        found.resolve()
        for pattern in config.getini("testpaths")
        for found in sorted(config.rootpath.glob(pattern))
    ]


def _collection_errors(config: pytest.Config) -> int:
    """Number of modules and packages whose cases nobody knows, where the others were run."""
    if not config.option.continue_on_collection_errors:
        return 0  # no case was run, and every one says so
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    errors = reporter.stats.get("error", ()) if reporter is not None else ()
    return sum(isinstance(report, pytest.CollectReport) for report in errors)


def _in_package(path: Path) -> bool:
    return (path.parent / "__init__.py").exists()


def _below_root(config: pytest.Config, argument: str) -> str:
    """An argument as a path below rootdir, so that results do not depend on the machine."""
    path, separator, node = argument.partition("::")
    asked = (config.invocation_params.dir / path).resolve()
    root = config.rootpath.resolve()
    shown = asked.relative_to(root).as_posix() if asked.is_relative_to(root) else path
    return f"{shown}{separator}{node}"
