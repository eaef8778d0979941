"""Trials that a cap kept from being recorded, as a line of a cassette."""

from __future__ import annotations

import json
from collections.abc import Iterable

from ..canonical import compact
from ..errors import DamagedCassette
from .format import with_sum, without_sum

LOST_START = b'{"lost":'


def encode_lost(trials: Iterable[str]) -> bytes:
    """The line that names ``trials`` (their ids), without the line feed."""
    return with_sum(compact({"lost": sorted(trials)}).encode())


def decode_lost(line: bytes, path: str, number: int) -> frozenset[str]:
    """The ids of a line; DamagedCassette when it is not what was written."""
    body = without_sum(line)
    if body is None:
        raise DamagedCassette(
            path=path, line=number, problem="the line is truncated or was changed after recording"
        )
    return frozenset(json.loads(body)["lost"])
