"""Raw values of the command line, ini files and the environment, read by the table."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ..errors import BadSetting
from .options import OFF, OPTIONS


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """Raw values, an option before an ini key.

    ``options`` are those of the command line (None where not given), ``ini`` those of files by
    their key without ``bias_``. Values are read by the name they have in the table; every reader
    raises BadSetting for what is outside its domain.
    """

    options: Mapping[str, object]
    ini: Mapping[str, object]
    environ: Mapping[str, str] = field(repr=False)
    rootdir: Path
    invocation_dir: Path
    today: str = ""

    def is_typed(self, name: str) -> bool:
        """Return true where the option is given, so that no ini key counts."""
        return self.options.get(name) not in (None, "", False)

    def raw(self, name: str) -> object:
        """Return the value as it was given; None where it was not."""
        if self.is_typed(name):
            return self.options[name]
        return self.ini.get(OPTIONS[name].ini.removeprefix("bias_")) or None

    def refusal(self, name: str, problem: str, value: object = None) -> BadSetting:
        """Return an error that names the setting as the user wrote it."""
        option = OPTIONS[name]
        written = option.option if self.is_typed(name) else option.ini or option.option
        shown = self.raw(name) if value is None else value
        return BadSetting(option=written, value=shown, problem=problem)

    def text(self, name: str) -> str:
        """Return the value or its default; '' where there is neither."""
        return str(self.raw(name) or OPTIONS[name].default)

    def choice(self, name: str) -> str:
        """Return one of the table's choices."""
        value, choices = self.text(name), OPTIONS[name].choices
        if value not in choices:
            raise self.refusal(name, f"must be one of {', '.join(choices)}")
        return value

    def number(self, name: str) -> float | None:
        """Return a number within the table's bounds; None where there is none, or it is off."""
        value, least = self.text(name), OPTIONS[name].least
        if not value or (OPTIONS[name].may_be_off and value == OFF):
            return None
        assert least is not None, name  # noqa: S101  (the table's own)
        whole = isinstance(least, int)
        try:
            number = float(value)
        except ValueError:
            number = math.nan
        if not least <= number < math.inf or (whole and not number.is_integer()):
            kind = "a whole number" if whole else "a number"
            raise self.refusal(name, f"must be {kind} from {least:g} up")
        return number

    def whole(self, name: str) -> int | None:
        """Return a whole number within the table's bounds; None as ``number``."""
        number = self.number(name)
        return None if number is None else int(number)

    def path(self, name: str) -> Path | None:
        """Return the path that was named, or else the table's; None for neither, or where off.

        Paths on the command line are relative to where pytest was called, paths in ini and the
        table's to rootdir.
        """
        option, value = OPTIONS[name], self.text(name)
        if not value or (option.may_be_off and value == OFF):
            return None
        path = (self.invocation_dir if self.is_typed(name) else self.rootdir) / value
        return path if self.raw(name) or not option.if_there or path.exists() else None
