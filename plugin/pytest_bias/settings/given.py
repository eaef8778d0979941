"""Raw values of the command line and ini files, read by the table of options."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from ..errors import BadSetting
from .options import OFF, OPTIONS


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """Raw values, an option before an ini key.

    ``options`` are those of the command line (None where not given), ``ini`` those of files by
    their key without ``bias_``. Every reader raises BadSetting for a value outside its domain.
    """

    options: Mapping[str, object]
    ini: Mapping[str, object]
    environ: Mapping[str, str] = field(repr=False)
    rootdir: Path
    invocation_dir: Path
    today: str = ""

    def is_typed(self, name: str) -> bool:
        """True where the option is typed, so that no ini key counts."""
        return self.options.get(name) not in (None, False)

    def raw(self, name: str) -> object:
        """The value as it was given; None where it was not.

        An option that is typed with nothing is refused: an empty variable must not lift a cap.
        """
        if self.options.get(name) == "":
            problem = "says nothing; leave the option out"
            raise self.refusal(name, problem + f", or say {OFF}" * OPTIONS[name].may_be_off, "")
        if self.is_typed(name):
            return self.options[name]
        return self.ini.get(OPTIONS[name].ini.removeprefix("bias_")) or None

    def refusal(self, name: str, problem: str, value: object = None) -> BadSetting:
        """An error that names the setting as the user wrote it."""
        option = OPTIONS[name]
        written = option.option if self.is_typed(name) else option.ini or option.option
        shown = self.raw(name) if value is None else value
        return BadSetting(option=written, value=shown, problem=problem)

    def text(self, name: str) -> str:
        """The value or its default; '' where there is neither."""
        return str(self.raw(name) or OPTIONS[name].default)

    def value(self, name: str) -> Any:
        """The value by the table: a flag, choice, number, path or text; None where it is off."""
        option, text = OPTIONS[name], self.text(name)
        if option.choices:
            if text not in option.choices:
                raise self.refusal(name, f"must be one of {', '.join(option.choices)}")
            return text
        if option.least is not None:
            return self._number(name, option.least, option.most)
        if option.takes in ("PATH", "DIR"):
            return self.path(name)
        return (text or None) if option.takes else self.is_typed(name)

    def _number(self, name: str, least: float, most: float) -> float | None:
        text, whole = self.text(name), isinstance(least, int)
        if not text or (OPTIONS[name].may_be_off and text == OFF):
            return None
        try:
            number = float(text)
        except ValueError:
            number = math.nan
        if not least <= number <= most or number == math.inf or number % 1 * whole:
            kind = "a whole number" if whole else "a number"
            up = "up" if most == math.inf else f"to {most:g}"
            raise self.refusal(name, f"must be {kind} from {least:g} {up}")
        return int(number) if whole else number

    def path(self, name: str) -> Path | None:
        """The path that was named, or else the table's; None for neither, or where off.

        Paths on the command line are relative to where pytest was called, others to rootdir.
        """
        option, value = OPTIONS[name], self.text(name)
        if not value or (option.may_be_off and value == OFF):
            return None
        path = (self.invocation_dir if self.is_typed(name) else self.rootdir) / value
        if option.takes == "DIR" and not is_folder(path) and os.path.lexists(path):
            raise self.refusal(name, "is no folder", path)
        return path if self.raw(name) or not option.if_there or path.exists() else None


def is_folder(path: Path) -> bool:
    """True for a folder; a name that no file can have is none."""
    return os.path.isdir(path)  # noqa: PTH112  (pathlib raises)


def is_file(path: str | Path) -> bool:
    """True for a file; a name that no file can have is none."""
    return os.path.isfile(path)  # noqa: PTH113  (pathlib raises)


def is_place(path: Path) -> bool:
    """True where a file is at ``path``, or could be: no pipe or device (/dev/stdout)."""
    return is_folder(path) or is_file(path) or not os.path.exists(path)  # noqa: PTH110


def read_environment(environ: Mapping[str, str], file: Path | None) -> Mapping[str, str]:
    """The environment, and what the user's ``.env`` adds to it; nothing is exported.

    Raises BadSetting when it cannot be read; no line of it is quoted.
    """
    if file is None:
        return environ
    from dotenv import dotenv_values  # noqa: PLC0415  (where a file is named only)

    try:
        with file.open(encoding="utf-8") as stream:
            values = dotenv_values(stream=stream, interpolate=False)
    except (OSError, UnicodeDecodeError) as error:
        problem = getattr(error, "strerror", None) or "is not UTF-8 text"
        problem = f"cannot be read: {problem}"
        raise BadSetting(option="--bias-env-file", value=file, problem=problem) from None
    added = {name: value for name, value in values.items() if value is not None}
    # A variable that is set to nothing holds no key.
    own = {name: value for name, value in environ.items() if value or name not in added}
    return {**added, **own}


def cores() -> int:
    """Number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def today() -> str:
    """The day in UTC as YYYY-MM-DD, the same on every machine."""
    return datetime.now(tz=timezone.utc).date().isoformat()
