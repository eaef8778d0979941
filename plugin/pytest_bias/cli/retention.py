"""``pytest-bias new-key`` and ``unseal``: keys for recordings without text in clear."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from ..cassettes.seals import KEY_VARIABLE, new_key, seal_of, unsealed
from ..cassettes.store import Cassette
from ..errors import BadSetting
from ..experiments.canonical import compact
from ..settings.environment import read_environment
from . import Commands, tell


def add_retention(commands: Commands[argparse.ArgumentParser]) -> None:
    """Add the two commands."""
    key = commands.add_parser(
        "new-key",
        help="print a fresh key for recordings that keep no text in clear",
        description=f"Print a fresh key for {KEY_VARIABLE}. Keep it where secrets are kept: who "
        "has it can read what was sealed under it, and who has lost it cannot.",
    )
    key.set_defaults(run=_new_key)
    unseal = commands.add_parser(
        "unseal",
        help="decrypt the sealed trials of a cassette",
        description='Decrypt what an experiment with retention="encrypted" has recorded, as JSON '
        "lines: one trial each, with its conversations and replies. The key is read from "
        f"{KEY_VARIABLE}.",
    )
    unseal.add_argument("cassette", type=Path, help="the cassette (….jsonl, ….jsonl.zst)")
    unseal.add_argument(
        "--out",
        type=Path,
        metavar="FILE",
        help="write here, to a new file that only you can read, and not to standard output",
    )
    unseal.add_argument(
        "--env-file", type=Path, metavar="PATH", help="take the key from this .env file as well"
    )
    unseal.set_defaults(run=_unseal)


def _new_key(_: argparse.Namespace) -> int:
    tell(new_key())
    return 0


def _unseal(given: argparse.Namespace) -> int:
    seal = seal_of(read_environment(os.environ, given.env_file, "--env-file"))
    path = given.cassette.absolute()  # a cassette is told by its folder, too
    cassette = Cassette(path)
    lines = [f"{compact(trial)}\n" for trial in unsealed(cassette, seal)]
    if not lines:
        found = cassette.exists or path.exists()
        problem = "holds no sealed trials" if found else "there is no such file"
        raise BadSetting(option="CASSETTE", value=given.cassette, problem=problem)
    if given.out is None:
        sys.stdout.writelines(lines)
        return 0
    try:
        handle = os.open(given.out, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "w", encoding="ascii") as file:
            file.writelines(lines)
    except OSError as error:
        problem = f"is not written: {error.strerror or error}"
        raise BadSetting(option="--out", value=given.out, problem=problem) from None
    tell(f"{len(lines)} trials unsealed into {given.out}")
    return 0
