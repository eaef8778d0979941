"""Runs of pytest with the plugin in the process of the test that asks for them."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout
from functools import cache
from importlib import metadata
from pathlib import Path
from types import ModuleType

import pytest

_PLUGIN = Path(__file__).parents[1] / "pytest_bias"
_BESIDE_PYTEST = Path(pytest.__file__).parents[1]
_LIBRARIES = (sys.prefix, sys.base_prefix, str(_BESIDE_PYTEST), str(_PLUGIN))
_SUITES = frozenset({"bias_tests", "conftest", "tests"})
"""Packages of this repository that a run must not find in place of its own."""
_known: dict[str, ModuleType] = {}
"""What :func:`libraries` has found before: each run asks for thousands of modules, thrice."""


def libraries() -> dict[str, ModuleType]:
    """Return what is imported of the plugin and of what is installed."""
    found = {
        name: module
        for name, module in sys.modules.items()
        if _known.get(name) is module or _is_library(module)
    }
    _known.update(found)
    return found


def _is_library(module: object) -> bool:
    spec = getattr(module, "__spec__", None)
    if spec is None:
        return False
    places = [spec.origin] if spec.has_location else list(spec.submodule_search_locations or ())
    return any(place.startswith(_LIBRARIES) for place in places)


@cache
def _with_plugins() -> list[metadata.Distribution]:
    """The distributions that have plugins: pytest reads a file of every other one as well."""
    known = metadata.distributions()
    return [each for each in known if each.entry_points.select(group="pytest11")]


def keep(modules: Mapping[str, ModuleType]) -> None:
    """Have modules imported that pytester forgot, for each run would import them anew.

    Some cannot be imported twice at all: numpy refuses.
    """
    for name, module in modules.items():
        sys.modules.setdefault(name, module)


class _Imports:
    """What a run has imported of libraries by its end."""

    def __init__(self) -> None:
        self.found: Mapping[str, ModuleType] = {}

    @pytest.hookimpl(trylast=True)
    def pytest_unconfigure(self) -> None:
        self.found = libraries()


@contextmanager
def suites_apart() -> Iterator[None]:
    """Hide the suites that are imported, and forget those that are imported meanwhile.

    Another suite of the same name stands in another folder, and whatever declares a hypothesis is
    found by later runs of this process.
    """
    hidden = {name for name in sys.modules if name.partition(".")[0] in _SUITES}
    stay = {*sys.modules} - hidden
    with pytest.MonkeyPatch.context() as here:
        here.setattr(sys, "path", [*sys.path])  # a command looks below the current folder first
        for name in hidden:
            here.delitem(sys.modules, name)
        yield
        for name in {*sys.modules} - stay - {*libraries()}:
            del sys.modules[name]


def command(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Carry out ``pytest-bias`` in a folder: in this process, which forgets the suite it has read.

    What is about its process (its end, signals, what it imports) is run as one.
    """
    from pytest_bias.cli.commands import main  # noqa: PLC0415  (only where one is)

    out, wrong = io.StringIO(), io.StringIO()
    with suites_apart(), chdir(folder), redirect_stdout(out), redirect_stderr(wrong):
        try:
            status = main(arguments)
        except SystemExit as ended:
            status = int(str(ended.code))
    return subprocess.CompletedProcess(arguments, status, out.getvalue(), wrong.getvalue())


def run_here(pytester: pytest.Pytester, *arguments: str) -> pytest.RunResult:
    """Run pytest in this process, and leave nothing behind of the suite it ran.

    For whatever one process shows. What is about processes (their end, signals, several workers,
    what they import) is run with :meth:`pytest.Pytester.runpytest_subprocess`.
    """
    imports = _Imports()
    with pytest.MonkeyPatch.context() as here, suites_apart():
        here.setattr(os, "_exit", os._exit)  # the plugin holds it for good after a red run
        here.setattr(metadata, "distributions", _with_plugins().copy)
        result = pytester.runpytest_inprocess(
            *arguments,
            plugins=[imports],
            no_reraise_ctrlc=True,  # suites interrupt themselves
        )
        keep(imports.found)
    return result
