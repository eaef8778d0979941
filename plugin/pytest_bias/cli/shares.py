"""A share of the error budget for one more experiment, which the others give it."""

from __future__ import annotations

import re
import tomllib
from fractions import Fraction
from pathlib import Path

from ..errors import BadSetting
from ..settings.budget import read_budget

_FAMILY = "primary"
_SHARE = re.compile(r'^(\s*share\s*=\s*)"?([^"\s#]+)"?', re.MULTILINE)


def with_share(table: Path, experiment: str) -> tuple[str, str]:
    """The error budget with a share for one more experiment, and what was changed, in words.

    It has what is left, or where less than its equal part is, the others give it that, each in
    proportion. The text is empty where nothing is to be changed, or the table is not written as it
    is read here: then the words say what to add.

    Raises BadSetting for a table that is none, or has the experiment with other families.
    """
    known = read_budget(table).shares
    if experiment in known:
        if known[experiment].families == (_FAMILY,):
            return "", ""
        problem = f"{table} has a share for {experiment}, with other families; choose another name"
        raise BadSetting(option="NAME", value=experiment, problem=problem)
    text = table.read_text(encoding="utf-8")
    old = _shares(text)
    fair = Fraction(1, len(old) + 1)
    whole = sum(old.values())
    times = Fraction(1) if 1 - whole >= fair else (1 - fair) / whole
    lines = f'[shares.{experiment}]\nshare = "{fair}"\nfamilies = ["{_FAMILY}"]\n'
    wanted = {**{name: share * times for name, share in old.items()}, experiment: fair}
    try:
        if times != 1:
            text = _SHARE.sub(lambda m: f'{m[1]}"{Fraction(m[2]) * times}"', text)
        text = f"{text.rstrip()}\n\n{lines}"
        is_mended = _shares(text) == wanted
    except (
        ValueError,
        KeyError,
        TypeError,
    ):  # it was written otherwise than is read here, though it was TOML
        is_mended = False
    if not is_mended:
        multiplied = f"multiply the shares by {times}, and " if times != 1 else ""
        return "", f"{table} has no share for {experiment}: {multiplied}add\n{lines.rstrip()}"
    said = f"{table}: {experiment} has {fair} of the suite's false alarms"
    if times != 1:
        said += f", for which all other shares were multiplied by {times}"
    return text, f"{said}; decide this before there are replies"


def _shares(text: str) -> dict[str, Fraction]:
    tables = tomllib.loads(text)["shares"].items()
    return {name: Fraction(str(table["share"])) for name, table in tables}
