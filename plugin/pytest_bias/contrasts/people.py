"""Published differences in people, and a model's difference compared with them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

from ..errors import BadDesign
from ..experiments.fields import need_number, wrong
from ..stats.results import LEVEL, Interval

Relation = Literal["LESS", "SIMILAR", "GREATER", "not distinguishable"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Human:
    """A published difference in people, to stand beside a model's.

    Made by :meth:`counts`, :meth:`means` or :meth:`tested`, by what the source gives. ``high`` and
    ``low`` are the groups' rates or means, ``se`` and ``df`` those of their difference, ``n`` is
    the number of people. ``similar_within`` is how near a model must be shown to be to be called
    similar, by default the hypothesis' margin.
    """

    high: float
    low: float
    se: float
    df: float
    n: int
    rates: bool
    citation: str
    similar_within: float | None = None

    def __post_init__(self) -> None:
        for name in ("high", "low", "se", "df", "similar_within"):
            if (given := getattr(self, name)) is not None or name != "similar_within":
                object.__setattr__(self, name, need_number("Human", name, given))
        if self.se <= 0 or self.df <= 0:
            problem = "people's difference needs a standard error and degrees of freedom above 0"
            raise BadDesign(what="Human", problem=problem)

    @classmethod
    def counts(
        cls,
        *,
        high: tuple[int, int],
        low: tuple[int, int],
        citation: str,
        similar_within: float | None = None,
    ) -> Human:
        """Return the difference of two rates, each given as (events, people)."""
        sides = []
        for name, side in (("high", high), ("low", low)):
            events, n = _numbers("Human.counts", name, side, "(events, people)", 2)
            if not 0 <= events <= n or n < 2 or events % 1 or n % 1:  # noqa: PLR2004
                raise wrong("Human.counts", name, side, "(events, people), of two people or more")
            rate = events / n
            sides.append((rate, math.sqrt(rate * (1 - rate) * n / (n - 1)), n))
        return cls._of(*sides, rates=True, citation=citation, similar_within=similar_within)

    @classmethod
    def means(
        cls,
        *,
        high: tuple[float, float, int],
        low: tuple[float, float, int],
        citation: str,
        similar_within: float | None = None,
    ) -> Human:
        """Return the difference of two means, each given as (mean, standard deviation, people)."""
        sides = []
        for name, side in (("high", high), ("low", low)):
            mean, sd, n = _numbers("Human.means", name, side, "(mean, SD, people)", 3)
            if sd < 0 or n < 2 or n % 1:  # noqa: PLR2004
                raise wrong("Human.means", name, side, "(mean, SD, people), of two people or more")
            sides.append((mean, sd, n))
        return cls._of(*sides, rates=False, citation=citation, similar_within=similar_within)

    @classmethod
    def tested(
        cls,
        *,
        high: float,
        low: float,
        t: float,
        df: float,
        n: int,
        citation: str,
        similar_within: float | None = None,
    ) -> Human:
        """Return the difference of two means with its published t test."""
        given = {"high": high, "low": low, "t": t, "df": df}
        numbers = {name: need_number("Human.tested", name, each) for name, each in given.items()}
        if not numbers["t"] or numbers["high"] == numbers["low"]:
            problem = "a t of 0 says nothing of the standard error: use Human.means(…)"
            raise BadDesign(what="Human.tested", problem=problem)
        return cls(
            high=high,
            low=low,
            se=abs((numbers["high"] - numbers["low"]) / numbers["t"]),
            df=df,
            n=n,
            rates=False,
            citation=citation,
            similar_within=similar_within,
        )

    @classmethod
    def _of(
        cls, high: tuple[float, float, float], low: tuple[float, float, float], **given: Any
    ) -> Human:
        """Return the difference of two groups of (mean, SD, people); its df after Welch (1947)."""
        squares = [(sd**2 / n, n - 1) for _, sd, n in (high, low)]
        variance = math.fsum(part for part, _ in squares)
        parts = math.fsum(part**2 / free for part, free in squares)
        return cls(
            high=high[0],
            low=low[0],
            se=math.sqrt(variance),
            df=variance**2 / parts if parts else 0.0,
            n=int(high[2] + low[2]),
            **given,
        )


def _numbers(what: str, name: str, given: object, expected: str, size: int) -> tuple[float, ...]:
    if not isinstance(given, tuple | list) or len(given) != size:
        raise wrong(what, name, given, expected)
    return tuple(need_number(what, name, each) for each in given)


@dataclass(frozen=True, slots=True, kw_only=True)
class HumanComparison:
    """A difference of means or rates beside the one published for people.

    ``published`` takes the human difference as fixed; ``primary`` carries its standard error and
    calls similar only what is shown to lie within ``similar_within`` (nothing where it is None).
    ``people`` is the human difference's own interval.
    """

    low_mean: float
    high_mean: float
    difference: float
    se: float
    people: Interval
    p: float
    n: int
    citation: str
    published: Relation
    primary: Relation
    estimate: float
    interval: Interval
    df: float
    similar_within: float | None


def compared_with_people(
    people: Human,
    *,
    estimate: float,
    se: float,
    df: float,
    interval: Interval | None,
    margin: float | None,
) -> HumanComparison:
    """Compare a model's difference, and its standard error, with the published one of people.

    Primary: interval of the difference of the two differences, both standard errors, degrees of
    freedom after Welch and Satterthwaite. Published: people's difference taken as fixed.
    """
    from ..stats.means import (  # noqa: PLC0415  (scipy)
        StudentEstimate,
        difference_of,
        p_from_t,
        t_interval,
    )

    difference = people.high - people.low
    similar_within = margin if people.similar_within is None else people.similar_within
    compared = difference_of(
        StudentEstimate(estimate=estimate, se=se, df=df),
        StudentEstimate(estimate=difference, se=people.se, df=people.df),
    )
    primary: Relation = "not distinguishable"
    if compared.interval.excludes(0.0):
        primary = "LESS" if compared.estimate < 0 else "GREATER"
    elif similar_within is not None and compared.interval.within(similar_within):
        primary = "SIMILAR"
    published: Relation = "SIMILAR"
    if interval is not None and interval.excludes(difference):
        published = "LESS" if estimate < difference else "GREATER"
    return HumanComparison(
        low_mean=people.low,
        high_mean=people.high,
        difference=difference,
        se=people.se,
        people=t_interval(difference, people.se, people.df, level=LEVEL),
        p=p_from_t(difference / people.se, people.df),
        n=people.n,
        citation=people.citation,
        published=published,
        primary=primary,
        estimate=compared.estimate,
        interval=compared.interval,
        df=compared.df,
        similar_within=similar_within,
    )
