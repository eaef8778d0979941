"""The environment that providers take keys from: the process's own, and a file named for it."""

from __future__ import annotations

from collections.abc import Mapping

from dotenv import dotenv_values

from ..errors import BadSetting
from .settings import Settings


def read_environment(settings: Settings) -> Mapping[str, str]:
    """The environment, and what the user's ``.env`` adds to it; nothing is exported.

    Raises
    ------
    BadSetting
        When the named file cannot be read; its lines are never quoted.
    """
    path = settings.env_file
    if path is None:
        return settings.environ
    try:
        with path.open(encoding="utf-8") as stream:
            values = dotenv_values(stream=stream, interpolate=False)
    except (OSError, UnicodeDecodeError) as error:
        problem = getattr(error, "strerror", None) or "is not UTF-8 text"
        raise BadSetting(
            option="--bias-env-file", value=path, problem=f"cannot be read: {problem}"
        ) from None
    added = {name: value for name, value in values.items() if value is not None}
    # A variable that is set to nothing holds no key.
    held = {name: value for name, value in settings.environ.items() if value or name not in added}
    return {**added, **held}
