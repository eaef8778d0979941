"""What a judge must not be told: whose reply it grades.

The check is of the request as it would be sent, whatever a protocol did to make it, and nothing a
protocol catches: a judge that is told is an error, live, in rehearsal and on replay.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from .canonical import compact
from .declaring import need_several
from .design import Factor, Trial
from .errors import BadDesign, JudgeNotBlind, UnknownName
from .masking import shown, unescaped
from .messages import Request

if TYPE_CHECKING:
    from .experiment import Experiment


def blinded(
    what: str, blind: Sequence[str], factors: Sequence[Factor], *, judged: bool
) -> tuple[str, ...]:
    """The factors the judge of an experiment must not be told, as the experiment keeps them.

    Raises
    ------
    BadDesign
        Where there is no judge, or a factor has nothing that could be told.
    UnknownName
        For what is no factor.
    """
    blind = need_several(what, "blind", blind, str, "names of factors")
    if blind and not judged:
        raise BadDesign(what=what, problem="blind= is about a judge, and there is none")
    known = {factor.name: factor for factor in factors}
    for name in blind:
        if name not in known:
            raise UnknownName(kind="factor", name=name, known=known)
        if not any(_texts_of(known[name], level) for level in known[name].levels):
            problem = f"blind={name!r}: it has no exemplars, and no level that is text"
            raise BadDesign(what=what, problem=problem)
    return blind


def check_blind(experiment: Experiment, trial: Trial, request: Request) -> None:
    """Raise JudgeNotBlind when ``request`` tells the judge what it must not know of ``trial``."""
    if not experiment.blind or request.to != "judge":
        return
    places = list(_places(request))
    for name in experiment.blind:
        level = trial.condition.levels[name]
        # The exemplar in hand; of a factor without any, what the level's value says.
        exemplar = trial.exemplars.get(name)
        hidden = _texts_of(experiment.factor(name), level)
        if exemplar:
            hidden = (exemplar, exemplar.upper())
        for place, text in places:
            told = shown(text, hidden)
            if told is not None:
                raise JudgeNotBlind(
                    experiment=experiment.id,
                    trial=trial.id,
                    factor=name,
                    level=level,
                    name=told if experiment.retention == "raw" else None,
                    place=place,
                )


def _places(request: Request) -> Iterator[tuple[str, str]]:
    """All that is sent, and what to call each part."""
    for number, message in enumerate(request.messages, start=1):
        place = f"message {number} ({message.role})"
        yield place, message.text
        if (read := unescaped(message.text)) != message.text:
            yield place, read
    if request.schema is not None:
        yield "the reply's schema", f"{request.schema_name}\n{_readable(request.schema)}"


def _readable(value: object) -> str:
    """The words of a schema, its keys among them, a line each."""
    if isinstance(value, Mapping):
        return "\n".join(f"{key}\n{_readable(part)}" for key, part in value.items())
    if isinstance(value, list | tuple):
        return "\n".join(map(_readable, value))
    return value if isinstance(value, str) else compact(value)


def _texts_of(factor: Factor, level: str) -> tuple[str, ...]:
    """What a level is known by: its exemplars, or else what of its value is text."""
    return tuple(factor.exemplars.get(level, ())) or tuple(_texts(factor.levels[level]))


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str) and any(map(str.isalnum, value)):
        yield str.__str__(value)
    elif isinstance(value, Mapping):
        for part in value.values():
            yield from _texts(part)
    elif isinstance(value, tuple):
        for part in value:
            yield from _texts(part)
