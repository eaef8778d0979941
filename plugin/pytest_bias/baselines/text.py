"""Accepted verdicts as text: what one writes, another reads, and damage is told.

Two things stand once that the values have many times: what all hypotheses of an experiment share
of their fingerprints (factors, items, design, players, digests of prompts), in a table to which
entries refer by its digest, and a best effect that is the accepted one.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from ..contrasts.declared import Claim
from ..errors import BiasError, Unserialisable
from ..experiments.canonical import compact, digest, dumps, plain
from ..verdicts.verdict import Status
from .entries import Acceptance, Baseline, Entry, Past, is_day, needs_acceptance
from .fingerprints import encodable

if TYPE_CHECKING:
    from pydantic import TypeAdapter

FORMAT = 2

_DESIGNS = "designs"
"""Where the table stands that entries refer to."""
_OWN = ("hypothesis", "measures", "agreements")
"""What of a fingerprint is a hypothesis' own."""
_SHARED = "shared"
"""Where a fingerprint has the digest of the rest."""
_DIGEST = 16
"""Hexadecimal digits of it."""
_SAME = "effect"
"""Stands for a best effect that is the accepted one."""
_UNITS = "values"
"""Where the contrasts of units stand: many small numbers, so they share a line."""


class DamagedBaseline(BiasError):
    """A baseline file is not what was written: cut, edited, or of another format or model."""

    def __init__(self, *, path: object, problem: str, mend: str = "") -> None:
        self.path = str(path)
        self.problem = problem
        restore = (
            "Restore the file from version control, or delete it and accept the model's verdicts "
            "again (--bias-accept)."
        )
        super().__init__(f"{path}: {problem}. {mend or restore}")


# --- writing ----------------------------------------------------------------------------------


def baseline_text(baseline: Baseline) -> str:
    """The file of a baseline: sorted and indented, the same for the same values on any day."""
    content = _object(encodable(plain(baseline, "baseline")))
    designs: dict[str, object] = {}
    for entry in _entries(content):
        if entry["best"] == entry["effect"] is not None:
            entry["best"] = _SAME
        whole = entry["fingerprint"]
        shared = {name: part for name, part in whole.items() if name not in _OWN}
        name = _name(shared)
        designs[name] = shared
        own = {name: part for name, part in whole.items() if name in _OWN}
        entry["fingerprint"] = {**own, _SHARED: name}
    value = {"format": FORMAT, _DESIGNS: designs, **content}
    return f"{_indented({**value, 'checksum': digest(dumps(value))}, '')}\n"


def _name(shared: object) -> str:
    return digest(dumps(shared))[:_DIGEST]


def _indented(value: object, margin: str, name: str = "") -> str:
    """JSON with one value a line, but for the contrasts of units."""
    inner = f"{margin} "
    if isinstance(value, dict) and value and name != _UNITS:
        lines = (f"{_scalar(key)}: {_indented(value[key], inner, key)}" for key in sorted(value))
    elif isinstance(value, list) and value:
        lines = (_indented(each, inner) for each in value)
    else:
        return _scalar(value)
    start, end = "{}" if isinstance(value, dict) else "[]"
    return f"{start}\n{inner}" + f",\n{inner}".join(lines) + f"\n{margin}{end}"


def _scalar(value: object) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False, allow_nan=False)


# --- reading ----------------------------------------------------------------------------------


def baseline_from(text: str, path: object) -> Baseline:
    """The baseline a file holds; ``path`` names it in errors.

    Raises
    ------
    DamagedBaseline
        When the text is not what :func:`baseline_text` wrote, or was written in another format.
    """
    try:
        value = _object(json.loads(text, object_pairs_hook=_unique))
    except (ValueError, RecursionError) as error:
        raise DamagedBaseline(path=path, problem=f"it is no baseline ({error})") from None
    written = value.pop("format", None)
    if type(written) is not int or written != FORMAT:
        problem = f"its format is {written!r}, this version of pytest-bias reads {FORMAT}"
        raise DamagedBaseline(path=path, problem=problem)
    checksum = value.pop("checksum", None)
    try:
        known = digest(dumps({"format": written, **value}))
    except (Unserialisable, RecursionError) as error:
        raise DamagedBaseline(path=path, problem=f"it is no baseline ({error})") from None
    if checksum != known:
        problem = "its checksum is not that of its content: it was edited, merged or cut by hand"
        raise DamagedBaseline(path=path, problem=problem)
    try:
        _fill_in(value)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        problem = f"its designs are not as they were written ({error!r})"
        raise DamagedBaseline(path=path, problem=problem) from None
    return _validated(value, path)


def _fill_in(value: dict[str, Any]) -> None:
    """Put what stands once into every entry that refers to it."""
    designs = value.pop(_DESIGNS)
    for entry in _entries(value):
        if entry.get("best") == _SAME:
            entry["best"] = entry.get("effect")
        own = dict(entry["fingerprint"])
        entry["fingerprint"] = {**designs[own.pop(_SHARED)], **own}


def _entries(value: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for entries in value.get("verdicts", {}).values():
        yield from entries.values()


def _validated(value: Mapping[str, object], path: object) -> Baseline:
    """The baseline, every field of the type it must have."""
    from pydantic import ValidationError  # noqa: PLC0415  (not only to accept)

    try:
        found = _adapter().validate_json(compact(value), strict=True)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        place = ".".join(map(str, first["loc"]))
        problem = f"{place or 'it'} is not as it was written ({first['msg']})"
        raise DamagedBaseline(path=path, problem=problem) from None
    except BiasError as error:  # a value that refuses what it cannot be
        problem = f"it is not as it was written ({error})"
        raise DamagedBaseline(path=path, problem=problem) from None
    for experiment, entries in found.verdicts.items():
        for name, entry in entries.items():
            if problem := _ill_accepted(entry):
                raise DamagedBaseline(path=path, problem=f"{experiment}, {name}: {problem}")
    return found


@cache
def _adapter() -> TypeAdapter[Baseline]:
    from pydantic import TypeAdapter  # noqa: PLC0415  (takes a while to build)

    return TypeAdapter(Baseline)


def _ill_accepted(entry: Entry) -> str:
    """Say what is wrong with how an entry, or one before it, was accepted; '' when nothing is."""
    each: tuple[Entry | Past, ...] = (*entry.history, entry)
    problems = (_ill(one.status, one.accepted, entry.claim) for one in each)
    return next(filter(None, problems), "")


def _ill(status: Status, accepted: Acceptance | None, claim: Claim) -> str:
    if (accepted is not None) != needs_acceptance(status, claim):
        return f"{status}, and {'nobody' if accepted is None else 'somebody'} accepted it"
    if accepted is None:
        return ""
    if not accepted.owner.strip() or not accepted.reason.strip():
        return "accepted without an owner or a reason"
    return "" if is_day(accepted.until) else f"{accepted.until!r} is no date (YYYY-MM-DD)"


def _unique(pairs: Sequence[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name stands twice in one place")
    return found


def _object(value: object) -> dict[str, object]:
    if not isinstance(value, dict):
        raise ValueError("a JSON object is needed")  # noqa: TRY004  (as json says it)
    return value
