"""A suite's settings, modules and experiments, found without pytest."""

from __future__ import annotations

import importlib
import importlib.util
import os
import pkgutil
import shlex
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from types import ModuleType

from ..contrasts.cases import Registry, declared_in
from ..errors import BadDesign, BadSetting, UnknownName
from ..experiments.experiment import Experiment
from ..experiments.fields import shortened
from ..settings.given import Given, today
from ..settings.settings import Settings, read_settings
from .modules import LeftOut, declares, hold_exit, imported, modules, python_files

TESTS = "tests"
"""Folder below a suite that checks an experiment's own code, and needs what only tests need."""


def suite_modules(suite: str | os.PathLike[str]) -> list[ModuleType]:
    """Import the package ``suite`` and all modules in it, but those in folders :data:`TESTS`.

    Raises BadSetting when there is no such package below the current folder or on the path, a
    module cannot be imported, or a file declares cases and is in no package.
    """
    name = _importable(suite)
    module = name
    restore = hold_exit(lambda: 2)
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
        # Any error of the user's module: one that skips itself or ends the process must not pass
        # for one that declares nothing.
        inside = f"{module} " if module != name else ""
        problem = f"{inside}cannot be imported ({type(error).__name__}: {error})"
        missing = error.name if isinstance(error, ModuleNotFoundError) else None
        # A folder that is no package, such as "..", is no name that could be imported.
        if name.startswith(".") or missing == name.partition(".")[0]:
            problem = (
                "there is no such package below the current folder or on the path: give its "
                "folder, or put the shipped one here (pytest-bias init)"
            )
        raise BadSetting(option="suite", value=suite, problem=problem) from error
    finally:
        restore()
    folders = [Path(each).resolve() for each in getattr(package, "__path__", [])]
    paths = python_files(folders, LeftOut(folders=(".*", "__pycache__")))
    files = sorted(path for path in paths if not path.name.startswith("."))
    known = imported(files)
    for path in files:
        if path not in known and declares(path):
            problem = (
                f"{path} declares cases and is in no package: it has no __init__.py beside it, or "
                f"stands in a folder {TESTS!r}, which has no cases"
            )
            raise BadSetting(option="suite", value=suite, problem=problem)
    return modules


def _importable(suite: str | os.PathLike[str]) -> str:
    """The name of a suite's package, made importable; a folder may stand anywhere."""
    top, names = Path(suite).resolve(), list[str]()
    while (top / "__init__.py").is_file():
        names.insert(0, top.name)
        top = top.parent
    folder = str(top) if names else ""
    if folder not in sys.path:
        sys.path.insert(0, folder)
    return ".".join(names) or os.path.normpath(suite).strip("/").replace("/", ".")


def registry_of(modules: Iterable[ModuleType]) -> Registry:
    """The declarations of some modules, by experiment; BadDesign where they contradict."""
    registry = Registry()
    for module in modules:
        for declared in declared_in(module):
            registry.add(declared)
    return registry


def find_experiments(suite: str) -> Iterator[Experiment]:
    """Yield the experiments in the modules of the package ``suite``, each once."""
    experiments: dict[str, Experiment] = {}
    for module in suite_modules(suite):
        found = (each for each in vars(module).values() if isinstance(each, Experiment))
        experiments = {each.id: each for each in found} | experiments
    yield from experiments.values()


def declared_for(
    named: Sequence[Experiment | str | os.PathLike[str]], suite: str | os.PathLike[str]
) -> tuple[Registry, tuple[str, ...]]:
    """The declarations, and the ids of the experiments that are named; all, where none is.

    An experiment is named by itself (its hypotheses are then those of the modules that are loaded,
    or stand beside it), its id, or a folder, by its path or its name in the suite.

    Raises UnknownName when there is no such experiment, and BadSetting as :func:`suite_modules`.
    """
    try:
        names = [os.fspath(each) for each in named if not isinstance(each, Experiment)]
    except TypeError:
        problem = "is no Experiment, and neither an id nor a folder of one"
        raise BadSetting(option="experiment", value=shortened(named), problem=problem) from None
    folders = [each for each in names if (Path(each) / "__init__.py").is_file()]
    loaded = [module for folder in folders for module in suite_modules(folder)]
    if {*names} - {*folders} or not named:
        loaded += suite_modules(suite)
    registry = registry_of(dict.fromkeys(loaded))
    ids: list[str] = []
    for each in named:
        if isinstance(each, Experiment):
            _add_value(registry, each)
            ids.append(each.id)
        else:
            ids += _ids(os.fspath(each), registry, suite)
    if not named:
        ids += [each.experiment.id for each in registry]
    return registry, tuple(dict.fromkeys(ids))


def _ids(name: str, registry: Registry, suite: str | os.PathLike[str]) -> list[str]:
    """The experiments of a name: one by its id, those of a folder by its path."""
    known = {each.experiment.id: each.module or "" for each in registry}
    if name in known:
        return [name]
    there = (Path(name) / "__init__.py").is_file()
    package = _importable(name if there else Path(suite) / name)
    found = [each for each, module in known.items() if f"{module}.".startswith(f"{package}.")]
    if not found:
        hint = "an experiment is named by its id, or by its folder"
        raise UnknownName(kind="experiment", name=name, known=known, hint=hint)
    return found


def _add_value(registry: Registry, experiment: Experiment) -> None:
    """Add the declarations on an experiment in loaded modules, or else in its own package."""
    home = sys.modules.get(getattr(experiment.protocol, "__module__", ""))
    package = sys.modules.get(getattr(home, "__package__", None) or "")
    for folders in ((), getattr(package, "__path__", ())):
        found = {
            # What is typed in again, in a notebook, counts as it was typed last.
            (each.module, each.name, each.line * (each.module != "__main__")): each
            for folder in folders or [None]
            for module in (modules() if folder is None else suite_modules(folder))
            for each in declared_in(module)
            if each.experiment is experiment
        }
        for declared in found.values():
            registry.add(declared)
        if any(declared.kind == "hypothesis" for declared in found.values()):
            return
    problem = (
        "no loaded module declares a hypothesis about it: import the one with its @hypotheses, "
        "or name the experiment by its id"
    )
    raise BadDesign(what=f"Experiment({experiment.id!r})", problem=problem)


def configured(**options: object) -> Settings:
    """The settings of a run in this folder: ``options`` by their names, before ini keys.

    What ``addopts`` adds is pytest's alone.

    Raises BadSetting when a value is outside its domain, or a configuration cannot be read.
    """
    # As they would be typed, so that 0 is not taken for nothing.
    typed = {
        name: value if value is None or isinstance(value, bool | list) else str(value)
        for name, value in options.items()
    }
    here = Path.cwd()
    rootdir, _, keys = pytest_configuration(here)
    models = keys.get("bias_models")
    if isinstance(models, str):
        keys["bias_models"] = shlex.split(models)
    return read_settings(
        Given(
            options=typed,
            ini={
                key.removeprefix("bias_"): value if isinstance(value, list) else str(value)
                for key, value in keys.items()
                if key.startswith("bias_")
            },
            environ=dict(os.environ),
            rootdir=rootdir,
            invocation_dir=here,
            today=today(),
        )
    )


def pytest_configuration(folder: Path) -> tuple[Path, Path | None, dict[str, object]]:
    """The rootdir, file and ini keys that pytest has in ``folder``; no file where it has none.

    Raises BadSetting where pytest cannot read a file.
    """
    from _pytest.config.exceptions import UsageError  # noqa: PLC0415  (for commands alone)
    from _pytest.config.findpaths import determine_setup  # noqa: PLC0415
    from _pytest.outcomes import Failed  # noqa: PLC0415

    try:
        rootdir, path, keys, _ = determine_setup(
            inifile=None,
            override_ini=None,
            args=(),
            rootdir_cmd_arg=None,
            invocation_dir=folder.absolute(),
        )
    except (UsageError, Failed, OSError, ValueError) as error:
        problem = f"pytest's configuration cannot be read: {error}"
        raise BadSetting(option="rootdir", value=folder, problem=problem) from None
    return rootdir, path, {key: each.value for key, each in keys.items()}
