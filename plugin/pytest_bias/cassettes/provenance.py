"""Provenance as a line of a journal, and that of recordings made in several sessions."""

from __future__ import annotations

import json
from collections.abc import Sequence

from ..experiments.canonical import compact, plain
from .format import Provenance, checked_line, told_as_damage, with_sum

PROVENANCE_START = b'{"provenance":'
_BETWEEN = "; "


def encode_provenance(provenance: Provenance) -> bytes:
    """The line of a journal that says how what follows is recorded, without the line feed."""
    return with_sum(compact({"provenance": plain(provenance)}).encode())


def decode_provenance(line: bytes, path: str, number: int) -> Provenance:
    """The provenance of a journal's line; DamagedCassette when it is not what was written."""
    with told_as_damage(path, number):
        return Provenance(**json.loads(checked_line(line, path, number))["provenance"])


def combined(parts: Sequence[Provenance]) -> Provenance:
    """One provenance for recordings of several.

    Every wire is named once, so that an endpoint that gave a part of the replies stays named.
    """
    if not parts:
        return Provenance(simulated=False, wire="not known", recorded_with="not known")
    wires = [wire for part in parts for wire in part.wire.split(_BETWEEN)]
    return Provenance(
        simulated=any(part.simulated for part in parts),
        wire=_BETWEEN.join(dict.fromkeys(wires)),
        recorded_with=parts[-1].recorded_with,
    )
