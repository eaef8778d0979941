"""The commands ``pytest-bias cassettes …`` that write cassettes."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
from pathlib import Path

from ..cassettes.joint import join
from ..cassettes.packed import Repacked, pack, unpack
from ..cli import tell, tell_json
from ..errors import BadSetting, BiasError
from .paths import from_here, places_of


def _join(given: argparse.Namespace) -> int:
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
        tell_json(rows)
        return 0
    for each in joined:
        tell(
            f"{from_here(each.path)}: {each.lines:,} lines, {each.added:,} of them new, from "
            f"{each.parts} {'cassette' if each.parts == 1 else 'cassettes'}"
        )
    return 0


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


_pack, _unpack = partial(_change_all, pack), partial(_change_all, unpack)


def _sizes(before: int, after: int) -> str:
    return f"{before:,} → {after:,} bytes"
