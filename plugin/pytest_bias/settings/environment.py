"""The environment that providers take keys from: the process's own, and a file named for it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from dotenv import dotenv_values

from ..errors import BadSetting


def read_environment(
    environ: Mapping[str, str], file: Path | None, option: str = "--bias-env-file"
) -> Mapping[str, str]:
    """Return the environment, and what the user's ``.env`` adds to it; nothing is exported.

    ``option`` is what the file was named by, for errors.

    Raises
    ------
    BadSetting
        When the named file cannot be read; its lines are never quoted.
    """
    if file is None:
        return environ
    try:
        with file.open(encoding="utf-8") as stream:
            values = dotenv_values(stream=stream, interpolate=False)
    except (OSError, UnicodeDecodeError) as error:
        problem = getattr(error, "strerror", None) or "is not UTF-8 text"
        raise BadSetting(option=option, value=file, problem=f"cannot be read: {problem}") from None
    added = {name: value for name, value in values.items() if value is not None}
    # A variable that is set to nothing holds no key.
    held = {name: value for name, value in environ.items() if value or name not in added}
    return {**added, **held}
