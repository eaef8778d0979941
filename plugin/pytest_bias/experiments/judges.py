"""The judge of an experiment: whether it agrees with itself, and what it must not be told."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from .canonical import digest, dumps
from .design import Factor, Trial
from .fields import forbid, need_several, need_text, shortened

NOT_SCORED = "not scored again"
"""What the measure of the second rating says of a trial that has none."""

FEWEST_TWICE = 20
"""Trials scored twice below which nothing is said of how well the two ratings agree."""

Level = Literal["nominal", "ordinal", "interval"]

_SPAN = 2**64
_DIGITS = 16


@dataclass(frozen=True, slots=True)
class Agreement:
    """A measure that a judge takes, and takes again of some trials, and that others rest on.

    Krippendorff's α of the two ratings is reported. The judge's error that they show shrinks the
    margins of hypotheses on the measures of ``governs``. Where fewer than 20 trials were rated
    twice that error is not known: these hypotheses are INCONCLUSIVE, and a positive control on one
    of these measures is not seen.

    Parameters
    ----------
    measure
        The judge's first rating: a number, a flag or a category.
    again
        Text measure of the second: the rating as text ("4", "True", "honest"), or
        :data:`NOT_SCORED` where the trial was not, or not validly, rated again.
    level
        How ratings differ: ``"nominal"`` (the same or not), ``"ordinal"`` (by ranks) or
        ``"interval"`` (by their distance); the last two take numbers.
    governs
        Measures derived from this rating: hypotheses on them rest on it, as those on ``measure``
        itself always do.
    """

    measure: str
    again: str
    level: Level = "nominal"
    governs: Sequence[str] = ()

    def __post_init__(self) -> None:
        what = f"Agreement({shortened(self.measure)})"
        need_text(what, measure=self.measure, again=self.again)
        problem = "again must be another measure: the second rating"
        forbid(what, self.measure == self.again, problem)
        known = get_args(Level)
        forbid(what, self.level not in known, f"level must be one of {', '.join(known)}")
        governs = need_several(what, "governs", self.governs, str, "names of measures")
        object.__setattr__(self, "governs", tuple(dict.fromkeys((self.measure, *governs))))


def scored_again(trial: Trial, share: float) -> bool:
    """Return whether ``trial`` is among the ``share`` (0 to 1) of trials that are rated twice.

    It is so in every run and in every design that holds the trial: a hash of what it is decides,
    and no chance. Of few trials it may be somewhat more or fewer than the share.

    Raises BadDesign for a share outside 0 to 1.
    """
    forbid("scored_again()", not 0 <= share <= 1, "share must lie between 0 and 1")
    drawn = digest(f"scored again {dumps(trial.identity, 'trial')}")[:_DIGITS]
    return int(drawn, 16) < share * _SPAN


def texts_hidden(factor: Factor, level: str) -> tuple[str, ...]:
    """Return the texts a level is known by: its exemplars, or else what of its value is text."""
    return tuple(factor.exemplars.get(level, ())) or tuple(_texts(factor.levels[level]))


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str) and any(map(str.isalnum, value)):
        yield str.__str__(value)
    elif isinstance(value, Mapping | tuple):
        for part in value.values() if isinstance(value, Mapping) else value:
            yield from _texts(part)
