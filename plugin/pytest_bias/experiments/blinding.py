"""The names and levels a judge must not be told: whose reply it grades."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ..errors import BadDesign, UnknownName
from .design import Factor
from .fields import need_several


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
        if not any(texts_hidden(known[name], level) for level in known[name].levels):
            problem = f"blind={name!r}: it has no exemplars, and no level that is text"
            raise BadDesign(what=what, problem=problem)
    return blind


def texts_hidden(factor: Factor, level: str) -> tuple[str, ...]:
    """Return the texts a level is known by: its exemplars, or else what of its value is text."""
    return tuple(factor.exemplars.get(level, ())) or tuple(_texts(factor.levels[level]))


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str) and any(map(str.isalnum, value)):
        yield str.__str__(value)
    elif isinstance(value, Mapping | tuple):
        for part in value.values() if isinstance(value, Mapping) else value:
            yield from _texts(part)
