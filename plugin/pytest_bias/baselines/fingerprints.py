"""Fingerprint of a design: all that a verdict depends on besides the replies."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from typing import cast

from ..contrasts.declared import Hypothesis
from ..errors import BadJSON
from ..experiments.canonical import digest, dumps, plain
from ..experiments.checks.prompts import PromptDigests
from ..experiments.design import Design, Factor
from ..experiments.experiment import Experiment
from ..experiments.messages import Parameters, parameters_of

PROMPTS = "prompts"
"""Where a fingerprint has the digests of what is told, by role and condition."""

NO_JSON = "(no JSON)"
"""Stands for a value of a level or an item that JSON does not hold."""
_LONGEST = 80
"""Characters up to which a level's value stands in a fingerprint; of longer ones a digest."""
_NONE = "(none)"
_FLAGS = {"true", "false", _NONE}
_TEXT_ONLY = ("human", "direction", "scope", "published", "called", "title", "why")
"""Fields of a hypothesis that change what is said of a verdict and never the verdict."""


def fingerprint_of(
    experiment: Experiment,
    design: Design,
    hypothesis: Hypothesis,
    judged_by: str,
    *,
    sampled: Parameters | None = None,
    told: PromptDigests | None = None,
    lenient: bool = False,
) -> Mapping[str, object]:
    """Return a verdict's fingerprint as JSON: two that differ do not compare.

    ``judged_by`` is what :meth:`Experiment.judged_by` says, ``sampled`` are the subject's sampling
    parameters as they are sent, ``told`` is of :func:`.prompts.prompt_digests`, ``lenient`` says
    that the roster has the subject's replies read so. Values of levels and items stand as digests
    where they are long, or where the experiment keeps no text. What is None is left out.
    """
    names = [each.name for each in fields(hypothesis) if each.name not in _TEXT_ONLY]
    given = {name: getattr(hypothesis, name) for name in names}
    named = {value for value in given.values() if isinstance(value, str)}
    measured = [m for m in experiment.measures if m.name in named] or experiment.measures
    raw = experiment.retention == "raw"
    items = experiment.items
    rests = [a for a in experiment.agreements if hypothesis.measures & {*a.governs}]
    value = {
        "hypothesis": {
            "id": hypothesis.id,
            "kind": hypothesis.kind or None,
            **{name: _value_or_digest(value, whole=True) for name, value in given.items()},
        },
        "measures": {
            m.name: {"version": m.version, "unit": m.unit, "bounds": m.bounds} for m in measured
        },
        "factors": {factor.name: _factor(factor, raw=raw) for factor in experiment.factors},
        "items": items
        and {
            items.name: {label: _value_or_digest(v, whole=raw) for label, v in items.items.items()}
        },
        "design": {
            "name": design.name,
            "replicates": design.replicates,
            "exemplars": design.exemplars,
        },
        "subject": (parameters_of(sampled) or None) if sampled is not None else None,
        "version": experiment.version if experiment.version > 1 else None,
        "replies": "lenient" if lenient or experiment.replies == "lenient" else None,
        "judge": _judge(judged_by),
        PROMPTS: told and {"subject": dict(told.subject), "judge": dict(told.judge) or None},
        # What the judge's error is counted from.
        "agreements": {a.measure: {"again": a.again, "level": a.level} for a in rests} or None,
    }
    settled = _without_none(json.loads(dumps(value, "fingerprint")))
    return cast("Mapping[str, object]", encodable(settled))


def _factor(factor: Factor, *, raw: bool) -> dict[str, object]:
    exemplars = {
        level: [_value_or_digest(member, whole=raw) for member in sorted(members)]
        for level, members in factor.exemplars.items()
    }
    return {
        "levels": {
            level: _value_or_digest(value, whole=raw) for level, value in factor.levels.items()
        },
        "exemplars": exemplars or None,
    }


def _judge(judged_by: str) -> object:
    if not judged_by:
        return None
    model, parameters, *lenient = json.loads(judged_by)
    return {"model": model, "parameters": parameters, "replies": lenient[0] if lenient else None}


def _value_or_digest(value: object, *, whole: bool) -> object:
    """A value as it is, or as a digest where it is long or ``whole`` is not wanted."""
    if isinstance(value, str):
        value = text = str.__str__(value)
    else:
        try:
            value = plain(value)
        except BadJSON:
            return NO_JSON
        if not isinstance(value, dict | list):
            return value
        text = dumps(value)
    return value if whole and len(text) <= _LONGEST else f"sha256:{digest(text)[:16]}"


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


def without_model_settings(fingerprint: Mapping[str, object]) -> Mapping[str, object]:
    """A fingerprint without what the roster has one model sent: two models have their own."""
    subject = cast("Mapping[str, object]", fingerprint.get("subject") or {})
    left = {n: value for n, value in subject.items() if n not in {"request", "headers", "query"}}
    others = {name: value for name, value in fingerprint.items() if name != "subject"}
    return {**others, "subject": left} if left else others


def differences(old: Mapping[str, object], new: Mapping[str, object]) -> tuple[str, ...]:
    """Name the differences of two fingerprints, old → new; of prompts only the conditions."""
    before, after = (dict(_leaves(each, ())) for each in (old, new))
    found, told = [], dict[str, list[str]]()
    for place in sorted({*before, *after}):
        one, two = (dumps(x[place]) if place in x else _NONE for x in (before, after))
        # 1 and 1.0 are the same, 1 and true are not.
        if one == two or (before.get(place) == after.get(place) and {one, two}.isdisjoint(_FLAGS)):
            continue
        if place[0] != PROMPTS:
            found.append(f"{'.'.join(place)}: {one} → {two}")
        elif place[1:] and (place[1] == "subject" or _NONE not in (one, two)):
            # What a judge is told is not known where a trial could not be followed so far.
            told.setdefault(place[1], []).append(place[-1])
    for role, conditions in told.items():
        number = f"{len(conditions)} condition{'s' * (len(conditions) > 1)}"
        found.append(f"what the {role} is told changed in {number} ({first_of(conditions)})")
    return tuple(found)


def _leaves(value: object, place: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], object]]:
    if isinstance(value, Mapping) and value:
        for name, inner in value.items():
            yield from _leaves(inner, (*place, name))
    else:
        yield place, value


def first_of(named: Sequence[str], shown: int = 5, between: str = "; ") -> str:
    """``a; b; c; d; e; and 3 more``: only the number is said of those after the first."""
    more = len(named) - shown
    return between.join([*named[:shown], *([f"and {more} more"] if more > 0 else [])])
