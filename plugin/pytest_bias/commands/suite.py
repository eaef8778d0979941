"""A suite's modules and experiments, found without pytest."""

from __future__ import annotations

import importlib
import os
import pkgutil
import sys
from collections.abc import Iterator
from types import ModuleType

from ..errors import BadSetting
from ..experiment import Experiment


def suite_modules(suite: str) -> list[ModuleType]:
    """The package ``suite`` and all modules in it.

    Raises
    ------
    BadSetting
        When there is no such package below the current folder or on the path, or a module of it
        cannot be imported.
    """
    if "" not in sys.path:
        sys.path.insert(0, "")
    # As a shell completes it: bias_tests/ and ./bias_tests are the package bias_tests.
    name = os.path.normpath(suite).strip("/").replace("/", ".")
    try:
        package = importlib.import_module(name)
        found = pkgutil.walk_packages(getattr(package, "__path__", []), f"{name}.")
        return [package, *(importlib.import_module(module.name) for module in found)]
    except Exception as error:
        # Whatever a module of the user's raises when it is imported.
        problem = f"cannot be imported ({type(error).__name__}: {error})"
        raise BadSetting(option="suite", value=suite, problem=problem) from error


def find_experiments(suite: str) -> Iterator[Experiment]:
    """The experiments that stand in the modules of the package ``suite``, each once.

    Raises
    ------
    BadSetting
        When there is no such package below the current folder or on the path, or a module of it
        cannot be imported.
    """
    seen: set[str] = set()
    for module in suite_modules(suite):
        for value in vars(module).values():
            if isinstance(value, Experiment) and value.id not in seen:
                seen.add(value.id)
                yield value
