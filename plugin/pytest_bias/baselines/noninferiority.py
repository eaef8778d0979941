"""A candidate's effect beside a baseline's: whether a bias is no larger than it was.

The ways are tried in order of what they can show. Where units pair, their contrasts do: by
condition, exemplar and item, never by replicate. Fixed sets need no pairing: replies are their
units, and their standard errors are those within cells, so that what a stimulus adds to the
replies of both models is not in them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ..contrasts.findings import ALPHA, Compared, Effect, Finding
from ..errors import BadStatisticInput, NoVariance
from ..verdicts.wording import limit_words, number_as_given, number_form

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..stats.noninferiority import NonInferiority

FEWEST_PAIRS = 5
"""Units that both have, in each group, below which nothing is paired."""

SHARED = 0.9
"""Share of either's units in a group that the other must have as well."""

STRETCH = 1.26
"""What makes a 95 % interval one of at least 97.5 %, about its estimate.

Of a normal estimate that is 1.144 times as wide, of Student's t with 4 degrees of freedom 1.259,
and of the bound on what identical replies hide up to ln .025 / ln .05 = 1.231.
"""

Z90 = 1.6448536269514722
"""Of a normal estimate, half a 90 % interval in standard errors."""

LARGE = 1e6
"""Degrees of freedom of what is taken as normal."""

_LARGEST_LOG = 99.0
"""Of a ratio; what is larger is printed as its exponential, and what is ``_LARGE`` as a power."""

_LARGE = 1e12

EXCHANGES = 10_000

SEED = 1
"""Seed of the exchanges; fixed, not searched."""


def effect_of(finding: Finding, checksum: str) -> Effect:
    """A finding as an effect that another can be held beside; ``checksum`` is its replies'."""
    return Effect(
        estimate=finding.estimate,
        interval=finding.interval,
        se=finding.se,
        df=finding.df,
        scale=finding.scale,
        cassette=checksum,
        by_unit=finding.by_unit,
    )


def size_of(effect: Effect) -> float:
    """The size of an effect whatever its sign; of a ratio that of its logarithm."""
    if effect.scale != "ratio":
        return abs(effect.estimate)
    return abs(math.log(effect.estimate)) if effect.estimate > 0 else math.inf


def possible_sizes(effect: Effect) -> tuple[float, float]:
    """The least and the largest size an effect can have, whatever is missing would have been."""
    size = size_of(effect)
    if effect.worst is None:
        return size, size
    if not effect.worst:
        return 0.0, math.inf
    sizes = [size_of(replace(effect, estimate=end)) for end in effect.worst]
    none = 1.0 if effect.scale == "ratio" else 0.0
    spans = min(effect.worst) <= none <= max(effect.worst)
    return 0.0 if spans else min(size, *sizes), max(size, *sizes)


def shifted_alike(now: Effect, then: Effect) -> tuple[float, ...]:
    """Return how much larger ``now`` is with what all sides lack alike shifted one way, and back.

    Both are shifted, the accepted one no further than the new one. Empty where one is not.
    """
    if not (now.shifted and then.shifted and now.worst and then.worst):
        return ()
    if now.scale == "ratio" and min(now.estimate, then.estimate, *now.worst, *then.worst) <= 0:
        return ()
    place = math.log if now.scale == "ratio" else float
    here, there = place(now.estimate), place(then.estimate)
    found = []
    for end, other in zip(sorted(now.worst), sorted(then.worst), strict=False):
        by, own = place(end) - here, place(other) - there
        own = math.copysign(min(abs(own), abs(by)), own)
        found.append(abs(here + by) - abs(there + own))
    return tuple(found)


def held(
    candidate: Effect, versions: Sequence[Effect], *, margin: float | None, alpha: float = ALPHA
) -> Compared:
    """Hold a candidate beside all that was accepted, ``versions``, of which the last counts now.

    ``alpha`` is the level at which it is shown to be worse.
    The very replies that were accepted last are let through, whatever came before. Else it is
    held beside the shrunken best of all (:func:`shrunken`); where they cannot be put together,
    beside the smallest. What labels of people correct is held beside nothing that they do not.
    """
    last = versions[-1]
    versions = [each for each in versions if are_labelled_alike(each, last)]
    if len(versions) == 1 or _are_same(candidate, last) or not are_labelled_alike(candidate, last):
        return compared(candidate, last, margin=margin, alpha=alpha)
    best = shrunken(versions)
    if best is not None and candidate.scale == best.scale:
        found = compared(candidate, best, margin=margin, alpha=alpha)
        if found.how != "not comparable":
            return found
    smallest = min(versions, key=size_of)  # of so many the luckiest
    return compared(candidate, smallest, margin=margin, alpha=alpha / len(versions))


def compared_intervals(
    candidate: Effect, best: Effect, *, margin: float, alpha: float
) -> Compared | None:
    """Compare two effects of which only 90 % intervals are known; None without both.

    Their half-width over the normal quantile stands for the standard error, which it exceeds.
    """
    ratio = candidate.scale == "ratio"
    lines = []
    for effect in (candidate, best):
        line = _line(effect)
        if line is None or line.ends is None:
            return None
        low, high = line.ends
        lines.append(replace(line, se=(high - low) / (2 * Z90), df=LARGE))
    limit = math.log(margin) if ratio else margin
    return _independent(lines[0], lines[1], limit, alpha, ratio=ratio)


def shrunken(versions: Sequence[Effect]) -> Effect | None:
    """The shrunken best of several accepted effects; None where they cannot be put together.

    They can where they have the same units, or where replies are the units and each has its
    standard error; sizes cannot, whose chance parts do not average out.
    """
    first = versions[0]
    if first.scale == "size" or any(each.scale != first.scale for each in versions):
        return None
    from ..stats.noninferiority import (  # noqa: PLC0415  (numpy)
        shrunken_best,
        shrunken_best_from_estimates,
    )

    def made(estimate: float, **given: Any) -> Effect:
        if first.scale == "ratio":
            estimate = math.exp(estimate)
        usual: dict[str, Any] = {"interval": None, "se": None, "df": None, "cassette": ""}
        usual["labelled"] = first.labelled
        return Effect(estimate=estimate, scale=first.scale, **(usual | given))

    if not any(each.by_unit for each in versions):
        lines = [_line(each) for each in versions]
        known = [each for each in lines if each is not None and each.se and each.df]
        if len(known) < len(lines):
            return None
        errors = [each.se or 0.0 for each in known]
        best, se = shrunken_best_from_estimates([each.estimate for each in known], errors)
        return made(best, se=se, df=math.fsum(each.df or 0.0 for each in known))
    if not all(_pairs(each, first).pair for each in versions):
        return None
    units = [
        sorted(set.intersection(*(set(each.by_unit[place].values) for each in versions)))
        for place in range(len(first.by_unit))
    ]
    groups = [
        (group.weight, [[each.by_unit[p].values[unit] for unit in units[p]] for each in versions])
        for p, group in enumerate(first.by_unit)
    ]
    if min(map(len, units)) < FEWEST_PAIRS:
        return None
    found = shrunken_best(groups)
    by_unit = tuple(
        replace(group, values=dict(zip(units[p], found[p].tolist(), strict=True)))
        for p, group in enumerate(first.by_unit)
    )
    total = math.fsum(
        g.weight * float(each.mean()) for g, each in zip(by_unit, found, strict=True)
    )
    return made(total, by_unit=by_unit)


def compared(
    candidate: Effect, best: Effect, *, margin: float | None, alpha: float = ALPHA
) -> Compared:
    """Test that a candidate's effect is smaller than ``best`` plus ``margin``, or larger at all.

    The first way that applies decides. No worse is shown at .05 and larger at ``alpha`` (of
    intervals at .05); what is shown to be no worse is not called worse, however precisely it is
    known to have grown within the margin.

    1. Same replies: those of ``best``, which give the same estimate, are no worse.
    2. Paired: the unit-level contrasts of both, in the same groups, by the two-sign rule. It takes
       5 pairs in each group, nine tenths of either's units, and differences that are not nearly
       all alike: the spread of those says too little.
    3. Independent: standard errors of both, by the two-sign rule. Not where they share units:
       those that cannot be paired are not independent either.
    4. Intervals: |candidate| is at most the farther end of its interval, |best| at least the
       nearer end of its own (0 where it spans no effect), and their difference must be below the
       margin. Both intervals are stretched to 97.5 % (:data:`STRETCH`). Were |candidate| as large
       as |best| + margin, that could be so only where one of the two misses its truth: by
       Bonferroni with a probability of at most .05, however they depend on each other. This is
       for replies that are all alike, among others. Worse is shown the other way round.
    5. Exchange, of sizes, which have no sign: the models' values are exchanged within units to
       show that one is larger; with a margin, no worse is shown by their intervals, and where
       nothing can be exchanged worse as well.

    Ratios are compared as logarithms, with the margin's logarithm. Without a margin worse can be
    shown, and no worse cannot.
    """
    limit = math.log(margin) if margin is not None and candidate.scale == "ratio" else margin
    if _are_same(candidate, best):
        return Compared(how="same replies", bound=None, margin=limit, units=0, no_worse=True)
    if candidate.scale != best.scale:
        return _not_comparable(limit, f"one is a {candidate.scale}, the other a {best.scale}")
    if not are_labelled_alike(candidate, best):
        which = "this one is" if candidate.labelled else "that one was"
        lacking = f"only {which} corrected by labels of people: label both, or --bias-labels=off"
        return _not_comparable(limit, lacking)
    pairs = _pairs(candidate, best)
    ours, theirs = _line(candidate), _line(best)
    if ours is None or theirs is None:
        return _not_comparable(limit, "a ratio of 0 has no logarithm")
    ratio = candidate.scale == "ratio"
    if candidate.scale == "size":
        return _sized(pairs, ours, theirs, limit, alpha)
    if pairs.pair:
        found = _paired(pairs, limit, alpha, ratio=ratio)
    else:
        found = None if pairs.share else _independent(ours, theirs, limit, alpha, ratio=ratio)
    return found or _by_intervals(ours, theirs, limit, ratio=ratio)


def are_labelled_alike(one: Effect, other: Effect) -> bool:
    """Return whether labels of people correct both estimates, or neither."""
    return bool(one.labelled) == bool(other.labelled)


def _are_same(candidate: Effect, best: Effect) -> bool:
    """Return whether both are of the same replies, as they were read: labels may be added."""
    estimates = [(candidate.estimate, best.estimate), (_as_read(candidate), _as_read(best))]
    return candidate.cassette == best.cassette and any(
        math.isclose(one, other, rel_tol=1e-6, abs_tol=1e-12) for one, other in estimates
    )


def _as_read(effect: Effect) -> float:
    return effect.estimate if effect.as_read is None else effect.as_read


def _not_comparable(margin: float | None, lacking: str) -> Compared:
    return Compared(
        how="not comparable",
        bound=None,
        margin=margin,
        units=0,
        no_worse=False,
        words=f"{lacking}, and then only the same replies are",
    )


# --- units ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Group:
    """The units of one group that both models have."""

    weight: float
    gaps: tuple[float, ...]
    units: tuple[str, ...]
    ours: tuple[float, ...]
    theirs: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class _Pairs:
    """The groups of both; ``pair`` is whether they can be paired, ``share`` whether units meet."""

    groups: tuple[_Group, ...]
    pair: bool
    share: bool

    @property
    def units(self) -> int:
        """Return the number of units that both have."""
        return len({unit for group in self.groups for unit in group.units})


def _pairs(candidate: Effect, best: Effect) -> _Pairs:
    theirs = {group.group: group for group in best.by_unit}
    alike = bool(theirs) and [(g.group, g.weight, g.gaps) for g in candidate.by_unit] == [
        (g.group, g.weight, g.gaps) for g in best.by_unit
    ]
    groups = []
    for group in candidate.by_unit:
        values = theirs[group.group].values if group.group in theirs else {}
        units = tuple(sorted(group.values.keys() & values.keys()))
        alike &= len(units) >= max(FEWEST_PAIRS, SHARED * max(len(group.values), len(values)))
        groups.append(
            _Group(
                group.weight,
                group.gaps,
                units,
                tuple(group.values[unit] for unit in units),
                tuple(values[unit] for unit in units),
            )
        )
    return _Pairs(tuple(groups), alike, any(group.units for group in groups))


def _paired(pairs: _Pairs, limit: float | None, alpha: float, *, ratio: bool) -> Compared | None:
    """The two-sign rule on paired units; None where their differences hardly vary."""
    import numpy as np  # noqa: PLC0415  (only where there is something to compare)

    def are_alike(values: Any) -> bool:
        return bool(
            np.unique(np.round(values, 12), return_counts=True)[1].max() >= 0.8 * len(values)
        )

    from ..stats.noninferiority import non_inferior_paired_groups  # noqa: PLC0415

    groups = [(g.weight, np.array(g.ours), np.array(g.theirs)) for g in pairs.groups]
    if any(are_alike(a - b) or are_alike(a + b) for _, a, b in groups):
        return None
    return _ruled(
        lambda: non_inferior_paired_groups(groups, margin=limit, alpha_larger=alpha),
        units=pairs.units,
        ratio=ratio,
    )


def _sized(
    pairs: _Pairs, ours: _Line, theirs: _Line, limit: float | None, alpha: float
) -> Compared:
    """Test that a size is no larger, by intervals, or larger, by exchanges within units.

    Of a fixed set, which has no units to exchange, intervals show both.
    """
    by_intervals = _by_intervals(ours, theirs, limit, ratio=False)
    if by_intervals.no_worse or (by_intervals.how == "intervals" and not pairs.pair):
        return by_intervals
    if not pairs.pair:
        lacking = "too few units are the same" if pairs.share else "no units can be exchanged"
        return _not_comparable(limit, lacking)
    from ..stats.noninferiority import (  # noqa: PLC0415  (numpy)
        exchange_size,
        spread_of_means,
        sum_of_gaps,
    )

    gaps = [group.gaps for group in pairs.groups]
    found = exchange_size(
        [value for group in pairs.groups for value in group.ours],
        [value for group in pairs.groups for value in group.theirs],
        groups=[place for place, group in enumerate(pairs.groups) for _ in group.units],
        units=[unit for group in pairs.groups for unit in group.units],
        size=sum_of_gaps(gaps) if any(gaps) else spread_of_means,
        resamples=EXCHANGES,
        seed=SEED,
    )
    worse = found.p <= alpha
    word = "shown to be larger" if worse else "not shown to be larger"
    return Compared(
        how="exchange",
        bound=by_intervals.bound,
        margin=limit,
        units=pairs.units,
        no_worse=False,
        worse=worse,
        words=f"it is {word} (p = {found.p:.4f}, models exchanged within units)",
    )


# --- estimates --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class _Line:
    """An effect around 0: of a ratio its logarithm. ``ends`` are those of its 95 % interval."""

    estimate: float
    ends: tuple[float, float] | None
    se: float | None
    df: float | None


def _line(effect: Effect) -> _Line | None:
    """None of a ratio that has no logarithm."""
    ends = None if effect.interval is None else (effect.interval.low, effect.interval.high)
    estimate = effect.estimate
    if effect.scale == "ratio":
        if estimate <= 0:
            return None
        estimate = math.log(estimate)
        ends = None if ends is None or ends[0] <= 0 else (math.log(ends[0]), math.log(ends[1]))
    return _Line(estimate=estimate, ends=ends, se=effect.se, df=effect.df)


def _independent(
    ours: _Line, theirs: _Line, limit: float | None, alpha: float, *, ratio: bool
) -> Compared | None:
    """The two-sign rule on independent estimates; None without standard errors of both."""
    if ours.se is None or ours.df is None or theirs.se is None or theirs.df is None:
        return None
    from ..stats.noninferiority import non_inferior_from_estimates  # noqa: PLC0415  (numpy)

    given = {
        "candidate": ours.estimate,
        "se_candidate": ours.se,
        "df_candidate": ours.df,
        "baseline": theirs.estimate,
        "se_baseline": theirs.se,
        "df_baseline": theirs.df,
    }
    return _ruled(
        lambda: non_inferior_from_estimates(**given, margin=limit, alpha_larger=alpha),
        units=0,
        ratio=ratio,
    )


def _ruled(test: Callable[[], NonInferiority], *, units: int, ratio: bool) -> Compared | None:
    """Return the two-sign rule's result; None where it cannot say anything."""
    from ..stats.noninferiority import replication_to_decide  # noqa: PLC0415  (numpy)

    try:
        found = test()
    except (BadStatisticInput, NoVariance):
        return None
    undecided = not found.non_inferior and not found.larger
    return _decided(
        Compared(
            how="paired" if units else "independent",
            bound=found.bound,
            margin=found.margin,
            units=units,
            no_worse=found.non_inferior,
            least=found.least,
            times=replication_to_decide(found) if undecided else None,
        ),
        ratio=ratio,
    )


def _by_intervals(ours: _Line, theirs: _Line, limit: float | None, *, ratio: bool) -> Compared:
    if ours.ends is None or theirs.ends is None:
        return _not_comparable(limit, "there is no interval of both")
    near, far = _sizes(ours.estimate, ours.ends)
    nearest, farthest = _sizes(theirs.estimate, theirs.ends)
    bound = far - nearest
    return _decided(
        Compared(
            how="intervals",
            bound=bound,
            margin=limit,
            units=0,
            no_worse=limit is not None and bound < limit,
            least=near - farthest,
        ),
        ratio=ratio,
    )


def _sizes(estimate: float, ends: tuple[float, float]) -> tuple[float, float]:
    """The least and the largest size within a stretched interval."""
    low, high = (estimate + STRETCH * (end - estimate) for end in ends)
    least = 0.0 if low <= 0 <= high else min(abs(low), abs(high))
    return least, max(abs(low), abs(high))


def _decided(found: Compared, *, ratio: bool) -> Compared:
    """The same with what its bounds show, and in words."""
    assert found.bound is not None  # noqa: S101  (whoever has a least has both)
    assert found.least is not None  # noqa: S101
    worse = found.least > 0 and not found.no_worse
    words = "" if found.no_worse else _larger(found, worse=worse, ratio=ratio)
    return replace(found, worse=worse, words=words)


def _larger(found: Compared, *, worse: bool, ratio: bool) -> str:
    """``it is larger by 0.1 to 0.3, margin 0.1``."""
    (least, margin), (bound, _) = (
        grown_words(by or 0.0, found.margin, ratio=ratio) for by in (found.least, found.bound)
    )
    by = "by a factor of " if ratio else "by "
    by += f"{least.lstrip('+')} to " if worse else ""
    beside = f"margin {margin}" if margin else "there is no margin"
    return f"it {'is' if worse else 'may be'} larger {by}{bound.lstrip('+')}, {beside}"


def grown_words(grown: float, margin: float | None, *, ratio: bool) -> tuple[str, str]:
    """Word by how much an effect is larger, as finely as its margin, and that; '' without one.

    Both are logarithms of a ``ratio``, and worded as factors.
    """
    if not ratio:
        words = "" if margin is None else number_as_given(margin)
        return f"{grown:{number_form(margin, 'difference', [grown])}}", words
    factor = math.exp(min(grown, _LARGEST_LOG))
    limit = None if margin is None else math.exp(margin)
    form = number_form(limit, "ratio", [factor]) if factor < _LARGE else "z.3g"
    if limit is None:
        return f"{factor:{form}}", ""
    return f"{factor:{form}}", limit_words(limit, form)
