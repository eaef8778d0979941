"""The commands ``pytest-bias cassettes …``, and ``new-key`` and ``unseal`` of sealed text."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

from ..cassettes.joint import join
from ..cassettes.packed import Repacked, pack, unpack
from ..cassettes.seals import KEY_VARIABLE, new_key, seal_of, unsealed
from ..cassettes.store import Cassette
from ..cli import Commands, tell
from ..errors import BadSetting, BiasError
from ..experiments.canonical import compact
from ..settings.options import read_environment
from .holdings import add_holdings
from .paths import from_here, places_of, take_paths


def add_cassettes(commands: Commands[argparse.ArgumentParser]) -> None:
    """Add the group to ``commands``."""
    group = commands.add_parser(
        "cassettes",
        help="list, verify, compare, prune, join and pack recordings",
        description="Work on recordings as files. Nothing is called, and no key is needed.",
    ).add_subparsers(title="commands", required=True, metavar="COMMAND")
    add_holdings(group)
    _add_merging(group)
    _add_packing(group)


def _add_merging(commands: Commands[argparse.ArgumentParser]) -> None:
    command = commands.add_parser(
        "merge",
        help="join what several processes recorded (--bias-shard)",
        description="Join cassettes, plain or packed, into those of a folder: one for each "
        "experiment and model. Nothing is written unless all of them fit together; the same once "
        "more changes nothing. The exit status is 2 when two do not fit, and both are named.",
    )
    take_paths(command)
    command.add_argument(
        "--into", type=Path, required=True, metavar="DIR", help="folder of the joined recordings"
    )
    command.add_argument("--json", action="store_true", help="print the table as JSON")
    command.set_defaults(run=_merge)


def _merge(given: argparse.Namespace) -> int:
    places = dict.fromkeys(place for path in given.paths for place in places_of(path, begun=True))
    try:
        joined = join([place.absolute() for place in places], given.into.absolute())
    except OSError as error:
        problem = error.strerror or str(error)
        raise BadSetting(option="--into", value=given.into, problem=problem) from None
    if given.json:
        rows = [
            {"path": from_here(e.path), "parts": e.parts, "lines": e.lines, "added": e.added}
            for e in joined
        ]
        tell(json.dumps(rows, indent=1))
        return 0
    for each in joined:
        tell(
            f"{from_here(each.path)}: {each.lines:,} lines, {each.added:,} of them new, from "
            f"{each.parts} {'cassette' if each.parts == 1 else 'cassettes'}"
        )
    return 0


def _add_packing(commands: Commands[argparse.ArgumentParser]) -> None:
    for name, help_, about, change in (
        (
            "pack",
            "pack cassettes with gzip",
            "Pack cassettes with gzip: ….jsonl becomes ….jsonl.gz, and is read as it was before.",
            pack,
        ),
        (
            "unpack",
            "unpack cassettes that are packed with gzip",
            "Unpack cassettes: ….jsonl.gz becomes ….jsonl, byte for byte what was packed.",
            unpack,
        ),
    ):
        command = commands.add_parser(
            name,
            help=help_,
            description=f"{about} A file goes when the new one has been read back whole; none is "
            "touched while it is recorded into. The exit status is 2 when one is left as it was.",
        )
        take_paths(command)
        command.set_defaults(run=partial(_change_all, change))


def _change_all(change: Callable[[Path], Repacked], given: argparse.Namespace) -> int:
    """Change all cassettes of the paths; 2 when one was left as it was, else 0."""
    # What is no cassette is said before anything is changed.
    places = list(dict.fromkeys(place for path in given.paths for place in places_of(path)))
    status, changed = 0, []
    for place in places:
        try:
            # A cassette is told by its folder, too.
            done = change(place.absolute())
        except BiasError as error:
            tell(f"pytest-bias: {error}", wrong=True)
            status = 2
            continue
        except OSError as error:
            problem = error.strerror or error
            tell(f"pytest-bias: {place} is left as it is: {problem}", wrong=True)
            status = 2
            continue
        name = place.with_name(done.path.name)
        if done.before is None:
            tell(f"{name}: {done.after:,} bytes, as it was")
        else:
            tell(f"{name}: {_sizes(done.before, done.after)}")
            changed.append((done.before, done.after))
    if len(changed) > 1:
        before, after = (sum(sizes) for sizes in zip(*changed, strict=True))
        tell(f"{len(changed)} cassettes: {_sizes(before, after)}")
    return status


def _sizes(before: int, after: int) -> str:
    return f"{before:,} → {after:,} bytes"


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
    unseal.add_argument("cassette", type=Path, help="the cassette (….jsonl, ….jsonl.gz)")
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
