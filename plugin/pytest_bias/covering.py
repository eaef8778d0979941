"""How much of a suite a run covers: why it is a part, and what others would have to cover."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from .report.view import Scope, is_below

if TYPE_CHECKING:
    from .session import BiasSession

_FEWER_CASES = {"lf": "--lf", "stepwise": "--stepwise"}
_FEWER_FILES = ("--ignore", "--ignore-glob")


def partial_words(state: BiasSession) -> Iterator[str]:
    """Why this run does not cover the whole suite."""
    yield from _narrowed(state.config)
    for argument in state.config.args:
        if _is_part(state.config, argument):
            yield f"only {_below_root(state.config, argument)} was asked for"
    errors, lost = _collection_errors(state.config), len(state.ledger.lost)
    yield from _counted(errors, "error", "during collection")
    yield from _counted(state.ledger.deselected, "case", "not selected")
    yield from _counted(lost, "case", "without a verdict")
    if state.interrupted:
        yield "recording was interrupted"


def scope_of(state: BiasSession) -> Scope:
    """What of the suite this run covers, so that others can be found to cover the rest."""
    config, settings, ledger = state.config, state.settings, state.ledger
    asked = {_below_root(config, argument) for argument in config.args}
    files = {str(path.relative_to(config.rootpath)) for path in _suite_files(config)}
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
    )


def _narrowed(config: pytest.Config) -> Iterator[str]:
    """The flags that leave something out which depends on an earlier run, or on the day."""
    for name, flag in _FEWER_CASES.items():
        if getattr(config.option, name, None):
            yield flag
    typed = [*config.invocation_params.args, *shlex.split(os.environ.get("PYTEST_ADDOPTS", ""))]
    for flag in _FEWER_FILES:
        # What an ini file leaves out is no part of the suite; what is typed is left out today.
        if any(str(argument).split("=")[0] == flag for argument in typed):
            yield flag


def _counted(number: int, noun: str, words: str) -> tuple[str, ...]:
    return (f"{number} {noun}{'s' * (number > 1)} {words}",) if number else ()


def _suite_files(config: pytest.Config) -> Iterator[Path]:
    """The modules of tests of the suites that were asked for, as far as they lie below rootdir."""
    root = config.rootpath.resolve()
    patterns = config.getini("python_files")
    for place in _suites(config):
        if place == root or root not in place.parents:
            continue
        found = place.rglob("*.py") if place.is_dir() else (place,)
        yield from (path for path in found if any(path.match(each) for each in patterns))


def _suites(config: pytest.Config) -> Iterator[Path]:
    """The folders of the suites an argument lies in: of ``testpaths``, else its top package."""
    for argument in config.args:
        asked = (config.invocation_params.dir / argument.partition("::")[0]).resolve()
        near = [p for p in _test_paths(config) if p == asked or p in asked.parents]
        near += [p for p in _test_paths(config) if asked in p.parents]
        top = asked
        while _in_package(top):
            top = top.parent
        yield from near or (top,)


def _is_part(config: pytest.Config, argument: str) -> bool:
    """Whether an argument names a part of ``testpaths``, of a package, or of a module."""
    path, node, _ = argument.partition("::")
    asked = (config.invocation_params.dir / path).resolve()
    inside = any(path in asked.parents for path in _test_paths(config))
    return bool(node or inside or _in_package(asked))


def is_all(config: pytest.Config) -> bool:
    """Whether the arguments cover ``testpaths``, or all below rootdir where there are none.

    Beside a suite that was asked for by its path there may be others, with verdicts of their own.
    """
    asked = [(config.invocation_params.dir / argument).resolve() for argument in config.args]
    whole = _test_paths(config) or [config.rootpath.resolve()]
    return all(any(a == path or a in path.parents for a in asked) for path in whole)


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
    shown = asked.relative_to(config.rootpath) if asked.is_relative_to(config.rootpath) else path
    return f"{shown}{separator}{node}"
