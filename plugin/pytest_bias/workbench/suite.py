"""A suite's modules and experiments, found without pytest."""

from __future__ import annotations

import importlib
import os
import pkgutil
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import ModuleType

from ..contrasts.cases import Registry, declared_in
from ..errors import BadSetting
from ..experiments.experiment import Experiment
from .files import declares, imported, python_files
from .process_end import hold_exit

TESTS = "tests"
"""Folder below a suite that checks an experiment's own code, and needs what only tests need."""


def suite_modules(suite: str) -> list[ModuleType]:
    """Return the package ``suite`` and all modules in it, but those in folders :data:`TESTS`.

    Raises BadSetting when there is no such package below the current folder or on the path, a
    module of it cannot be imported to its end, or a file of it declares cases and is in no
    package.
    """
    if "" not in sys.path:
        sys.path.insert(0, "")
    # As a shell completes it: bias_tests/ and ./bias_tests are the package bias_tests.
    name = os.path.normpath(suite).strip("/").replace("/", ".")
    module = name
    let_go = hold_exit(lambda: 2)
    try:
        package = importlib.import_module(name)
        modules = [package]
        for found in pkgutil.walk_packages(getattr(package, "__path__", []), f"{name}."):
            if TESTS in found.name.removeprefix(f"{name}.").split("."):
                continue
            module = found.name
            modules.append(importlib.import_module(module))
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        # Whatever a module of the user's raises when it is imported: one that skips itself or ends
        # the process must not pass for one that declares nothing.
        inside = f"{module} " if module != name else ""
        problem = f"{inside}cannot be imported ({type(error).__name__}: {error})"
        raise BadSetting(option="suite", value=suite, problem=problem) from error
    finally:
        let_go()
    places = [Path(place).resolve() for place in getattr(package, "__path__", [])]
    files = sorted(python_files(places, lambda path: path.name.startswith((".", "__pycache__"))))
    known = imported(files)
    for path in files:
        if path not in known and declares(path):
            problem = (
                f"{path} declares cases and is in no package: an __init__.py beside it is lacking "
                f"(or it stands in a folder {TESTS!r}, which holds no cases)"
            )
            raise BadSetting(option="suite", value=suite, problem=problem)
    return modules


def registry_of(modules: Iterable[ModuleType]) -> Registry:
    """The declarations of some modules, by experiment; BadDesign where they contradict."""
    registry = Registry()
    for module in modules:
        for declared in declared_in(module):
            registry.add(declared)
    return registry


def find_experiments(suite: str) -> Iterator[Experiment]:
    """The experiments that stand in the modules of the package ``suite``, each once.

    Raises BadSetting when there is no such package below the current folder or on the path, or a
    module of it cannot be imported.
    """
    seen: set[str] = set()
    for module in suite_modules(suite):
        for value in vars(module).values():
            if isinstance(value, Experiment) and value.id not in seen:
                seen.add(value.id)
                yield value
