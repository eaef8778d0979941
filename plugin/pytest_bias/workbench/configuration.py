"""Settings of a run without pytest: arguments as options, then the ini keys that pytest finds."""

from __future__ import annotations

import os
import shlex
from datetime import datetime, timezone
from pathlib import Path

from ..errors import BadSetting
from ..settings.given import Given
from ..settings.settings import Settings, read_settings


def today() -> str:
    """The day in UTC as YYYY-MM-DD, the same on every machine."""
    return datetime.now(tz=timezone.utc).date().isoformat()


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
