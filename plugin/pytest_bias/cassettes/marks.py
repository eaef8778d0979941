"""Trials named by their ids, as a line of a cassette or journal.

A cassette names those that a cap kept from being recorded; the journal of a recording made anew
names all that it set out to record, because it replaces the old recording only as a whole.
"""

from __future__ import annotations

import json
from collections.abc import Iterable

from ..experiments.canonical import compact
from .format import checked_line, told_as_damage, with_sum

LOST_START = b'{"lost":'
SCOPE_START = b'{"scope":'


def encode_lost(trials: Iterable[str]) -> bytes:
    """The line that names the trials lost to a cap, without the line feed."""
    return with_sum(compact({"lost": sorted(trials)}).encode())


def encode_scope(trials: Iterable[str]) -> bytes:
    """The line that names the trials to be recorded anew, without the line feed."""
    return with_sum(compact({"scope": sorted(trials)}).encode())


def decode_trials(line: bytes, path: str, number: int) -> frozenset[str]:
    """The ids of such a line; DamagedCassette when it is not what was written."""
    with told_as_damage(path, number):
        (trials,) = json.loads(checked_line(line, path, number)).values()
        return frozenset(trials)
