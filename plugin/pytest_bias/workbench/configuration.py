"""The settings of a run without pytest: ini keys as pytest finds them, what is asked for above."""

from __future__ import annotations

import configparser
import os
import shlex
import tomllib
from collections.abc import Mapping
from pathlib import Path

from ..errors import BadSetting
from ..settings.given import Given
from ..settings.settings import Settings, read_settings
from .clock import today

PYTEST_FILES = (
    *("pytest.toml", ".pytest.toml", "pytest.ini", ".pytest.ini"),
    *("pyproject.toml", "tox.ini", "setup.cfg"),
)
"""Where pytest looks for its keys, in its order."""


def configured(**asked: object) -> Settings:
    """The settings of a run in this folder: ``asked`` are options by their names, before ini keys.

    Ini keys (``bias_…``) are those of the nearest file of pytest's in this folder or above; what
    ``addopts`` adds is pytest's alone.

    Raises BadSetting when a value is outside its domain, or the file cannot be read.
    """
    # As they would be typed, so that 0 is not taken for nothing.
    typed = {
        name: value if value is None or isinstance(value, bool | list) else str(value)
        for name, value in asked.items()
    }
    here = Path.cwd()
    rootdir, ini = _ini_above(here)
    return read_settings(
        Given(
            options=typed,
            ini=ini,
            environ=dict(os.environ),
            rootdir=rootdir,
            invocation_dir=here,
            today=today(),
        )
    )


def _ini_above(here: Path) -> tuple[Path, Mapping[str, object]]:
    """The folder of the nearest file with a section for pytest, and our keys in it."""
    for folder in (here, *here.parents):
        for name in PYTEST_FILES:
            found = pytest_section(folder / name)
            if found is not None:
                ours = {key: value for key, value in found.items() if key.startswith("bias_")}
                return folder, {key.removeprefix("bias_"): _read(key, ours[key]) for key in ours}
    return here, {}


def pytest_section(path: Path) -> Mapping[str, object] | None:
    """The keys for pytest in a file; None where it has none and says nothing by being there.

    Raises BadSetting for a file that cannot be read.
    """
    try:
        return _section(path) if path.is_file() else None
    except (OSError, ValueError, configparser.Error) as error:
        problem = f"cannot be read: {error}"
        raise BadSetting(option="ini-file", value=path, problem=problem) from None


def _section(path: Path) -> Mapping[str, object] | None:
    if path.suffix == ".toml":
        tables = tomllib.loads(path.read_text("utf-8"))
        if path.name != "pyproject.toml":
            return dict(tables.get("pytest", {}))
        table = tables.get("tool", {}).get("pytest")
        return None if table is None else {**table, **table.get("ini_options", {})}
    parser = configparser.ConfigParser(interpolation=None)
    parser.read_string(path.read_text("utf-8"), str(path))
    name = "tool:pytest" if path.name == "setup.cfg" else "pytest"
    if name in parser:
        return dict(parser[name])
    return {} if path.name in ("pytest.ini", ".pytest.ini") else None


def _read(key: str, value: object) -> object:
    """A value as pytest would give it: one that may be several is split as by a shell."""
    if key == "bias_models" and isinstance(value, str):
        return shlex.split(value)
    return value if isinstance(value, list) else str(value)
