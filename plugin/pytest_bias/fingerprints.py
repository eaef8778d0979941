"""What a verdict depends on besides the replies: the fingerprint of its design."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import cast

from .canonical import digest, dumps, plain
from .contrasts import Contrast, measures_of
from .design import Design, Factor
from .errors import Unserialisable
from .experiment import Experiment

_LONGEST = 80
"""Characters up to which a level's value stands in a fingerprint; of longer ones a digest."""
_SAYS_NOTHING = ("human", "direction", "scope", "published", "called")
"""Fields of a hypothesis that change what is said of a verdict and never the verdict."""


def fingerprint_of(
    experiment: Experiment, design: Design, hypothesis: Contrast, judged_by: str
) -> Mapping[str, object]:
    """What a verdict depends on besides the replies, as JSON: two that differ do not compare.

    ``judged_by`` is what :meth:`Experiment.judged_by` says. Wording of prompts is no part of it.
    Values of levels and items stand as digests where they are long, or where the experiment keeps
    no text. What is None is left out.
    """
    given = {n: value for n, value in _fields(hypothesis).items() if n not in _SAYS_NOTHING}
    named = {value for value in given.values() if isinstance(value, str)}
    measured = [m for m in experiment.measures if m.name in named] or experiment.measures
    raw = experiment.retention == "raw"
    items = experiment.items
    rests = [a for a in experiment.agreements if measures_of(hypothesis) & {*a.governs}]
    value = {
        "hypothesis": {
            "id": hypothesis.id,
            "kind": type(hypothesis).__name__,
            **{name: _shown(value, whole=True) for name, value in given.items()},
        },
        "measures": {
            m.name: {"version": m.version, "unit": m.unit, "bounds": m.bounds} for m in measured
        },
        "factors": {factor.name: _factor(factor, raw=raw) for factor in experiment.factors},
        "items": items
        and {items.name: {label: _shown(v, whole=raw) for label, v in items.items.items()}},
        "design": {
            "name": design.name,
            "replicates": design.replicates,
            "exemplars": design.exemplars,
        },
        "judge": _judge(judged_by),
        # How much the judge must agree with itself before this is decided at all.
        "agreements": {
            a.measure: {"again": a.again, "level": a.level, "at_least": a.at_least} for a in rests
        }
        or None,
    }
    settled = _without_none(json.loads(dumps(value, "fingerprint")))
    return cast("Mapping[str, object]", encodable(settled))


def _fields(value: object) -> dict[str, object]:
    """The fields of a dataclass; none of anything else."""
    if not is_dataclass(value) or isinstance(value, type):
        return {}
    return {each.name: getattr(value, each.name) for each in fields(value)}


def _factor(factor: Factor, *, raw: bool) -> dict[str, object]:
    exemplars = {
        level: [_shown(member, whole=raw) for member in sorted(members)]
        for level, members in factor.exemplars.items()
    }
    return {
        "levels": {level: _shown(value, whole=raw) for level, value in factor.levels.items()},
        "exemplars": exemplars or None,
    }


def _judge(judged_by: str) -> object:
    if not judged_by:
        return None
    model, parameters = json.loads(judged_by)
    return {"model": model, "parameters": parameters}


def _shown(value: object, *, whole: bool) -> object:
    """A value as it is, or as a digest where it is long or ``whole`` is not wanted."""
    if isinstance(value, str):
        text = str.__str__(value)
        if whole and len(text) <= _LONGEST:
            return text
        return f"sha256:{digest(text)[:16]}"
    try:
        value = plain(value)
    except Unserialisable:
        return f"a {type(value).__module__}.{type(value).__qualname__}"
    if isinstance(value, dict | list):
        text = dumps(value)
        return value if whole and len(text) <= _LONGEST else f"sha256:{digest(text)[:16]}"
    return value


def _without_none(value: object) -> object:
    if isinstance(value, dict):
        return {name: _without_none(v) for name, v in value.items() if v is not None}
    return value


def encodable(value: object) -> object:
    """JSON that any file can hold: a lone surrogate, which is no character, as its escape."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, list):
        return [encodable(each) for each in value]
    if isinstance(value, dict):
        return {encodable(name): encodable(each) for name, each in value.items()}
    return value


def differences(old: Mapping[str, object], new: Mapping[str, object]) -> tuple[str, ...]:
    """What differs between two fingerprints, old → new, in sorted order."""
    before, after = dict(_leaves(old, "")), dict(_leaves(new, ""))
    return tuple(
        f"{name}: {_word(before, name)} → {_word(after, name)}"
        for name in sorted({*before, *after})
        if name not in before or name not in after or not _equal(before[name], after[name])
    )


def _equal(one: object, two: object) -> bool:
    """Whether two leaves are the same; 1 and 1.0 are, 1 and True are not."""
    return one == two and isinstance(one, bool) == isinstance(two, bool)


def _leaves(value: object, place: str) -> Iterator[tuple[str, object]]:
    if isinstance(value, Mapping) and value:
        for name, inner in value.items():
            yield from _leaves(inner, f"{place}.{name}" if place else name)
    else:
        yield place, value


def _word(leaves: Mapping[str, object], name: str) -> str:
    return dumps(leaves[name]) if name in leaves else "(none)"
