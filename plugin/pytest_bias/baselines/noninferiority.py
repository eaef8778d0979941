"""A candidate's effect compared with a baseline's: whether a bias is no larger than it was.

There are two ways. Where both have the same units (items, exemplars, blocks, pools), the contrasts
of each unit are paired, never replicates. Elsewhere both estimates are independent, each with its
standard error.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ..contrasts.findings import ALPHA, Compared, Effect, Estimate
from ..errors import BadStatisticInput, NoVariance
from ..verdicts.wording import limit_words, number_as_given, number_form

if TYPE_CHECKING:
    from ..stats.noninferiority import NonInferiority

FEWEST_PAIRS = 5
"""Units that both have, in each group, below which nothing is paired."""

SHARED = 0.9
"""Share of either's units in a group that the other must have as well."""

Z95 = 1.959963984540054
Z90 = 1.6448536269514722

NORMAL = 1e6
"""Degrees of freedom of what is taken as normal."""

_LARGEST_LOG = 99.0
"""Of a ratio; what is larger is printed as its exponential, and what is ``_LARGE`` as a power."""

_LARGE = 1e12


def effect_of(finding: Estimate, checksum: str) -> Effect:
    """A finding as an effect that another can be compared with; ``checksum`` is its replies'.

    Where one side of a number matters, an estimate on the other is as good as none.
    """
    ends = {"either": (-math.inf, math.inf), "below": (-math.inf, 0.0), "above": (0.0, math.inf)}
    low, high = ends[finding.matters]
    return Effect(
        estimate=min(max(finding.estimate, low), high),
        interval=finding.interval,
        se=finding.se,
        df=finding.df,
        scale=finding.scale,
        cassette=checksum,
        # The mean of units' contrasts is the estimate: of one that was moved it is not.
        by_unit=finding.by_unit if finding.matters == "either" else (),
    )


def size_of(effect: Effect) -> float:
    """The size of an effect whatever its sign; of a ratio that of its logarithm."""
    if effect.scale != "ratio":
        return abs(effect.estimate)
    return abs(math.log(effect.estimate)) if effect.estimate > 0 else math.inf


def held(
    candidate: Effect, versions: Sequence[Effect], *, margin: float | None, alpha: float = ALPHA
) -> Compared:
    """Compare a candidate with all that was accepted, ``versions``, of which the last counts now.

    ``alpha`` is the level at which it is shown to be worse. The very replies that were accepted
    last are let through, whatever came before. Else it is compared with the smallest of all, so
    that small steps cannot add up; of so many the luckiest, so that ``alpha`` is divided.
    """
    last = versions[-1]
    if _are_same(candidate, last):
        return compared(candidate, last, margin=margin, alpha=alpha)
    smallest = min(versions, key=size_of)
    return compared(candidate, smallest, margin=margin, alpha=alpha / len(versions))


def compared_intervals(
    candidate: Effect, best: Effect, *, margin: float, alpha: float
) -> Compared | None:
    """Compare two effects of which only 90 % intervals are known; None without both."""
    lines = [_line(effect, Z90) for effect in (candidate, best)]
    ours, theirs = lines
    if ours is None or theirs is None:
        return None
    ratio = candidate.scale == "ratio"
    limit = math.log(margin) if ratio else margin
    return _independent(ours, theirs, limit, alpha, ratio=ratio)


def compared(
    candidate: Effect, best: Effect, *, margin: float | None, alpha: float = ALPHA
) -> Compared:
    """Test that a candidate's effect is smaller than ``best`` plus ``margin``, or larger at all.

    By the two-sign rule (:mod:`pytest_bias.stats.noninferiority`): no worse is shown at .05, worse
    at ``alpha``; what is shown to be no worse is not called worse, however precisely it is known
    to have grown within the margin. Ratios are compared as logarithms, with the margin's
    logarithm. Without a margin worse can be shown, and no worse cannot.

    Units are paired where both have the same groups, at least 5 units in each and nine tenths of
    either's; else the estimates are taken as independent. The same replies are no worse.
    """
    ratio = candidate.scale == "ratio"
    limit = math.log(margin) if margin is not None and ratio else margin
    if _are_same(candidate, best):
        return Compared(how="same replies", bound=None, margin=limit, units=0, no_worse=True)
    if candidate.scale != best.scale:
        return _not_comparable(limit, f"one is a {candidate.scale}, the other a {best.scale}")
    found = _paired(candidate, best, limit, alpha, ratio=ratio)
    if found is not None:
        return found
    ours, theirs = _line(candidate, Z95), _line(best, Z95)
    if ours is None or theirs is None:
        return _not_comparable(limit, "there is no standard error of both")
    found = _independent(ours, theirs, limit, alpha, ratio=ratio)
    return found or _not_comparable(limit, "there is no standard error of both")


def _are_same(candidate: Effect, best: Effect) -> bool:
    """Return whether both are of the same replies."""
    same = math.isclose(candidate.estimate, best.estimate, rel_tol=1e-6, abs_tol=1e-12)
    return same and candidate.cassette == best.cassette


def _not_comparable(margin: float | None, lacking: str) -> Compared:
    return Compared(
        how="not comparable",
        bound=None,
        margin=margin,
        units=0,
        no_worse=False,
        words=f"{lacking}, and then only the same replies are",
    )


def _paired(
    candidate: Effect, best: Effect, limit: float | None, alpha: float, *, ratio: bool
) -> Compared | None:
    """Compare units with themselves; None where they do not pair, or their differences are one."""
    theirs = {group.group: group for group in best.by_unit}
    groups, names = [], set()
    for group in candidate.by_unit:
        other = theirs.get(group.group)
        if other is None or other.weight != group.weight:
            return None
        units = sorted(group.values.keys() & other.values.keys())
        if len(units) < max(FEWEST_PAIRS, SHARED * max(len(group.values), len(other.values))):
            return None
        ours = [group.values[unit] for unit in units]
        groups.append((group.weight, ours, [other.values[unit] for unit in units]))
        names |= {*units}
    if not groups or len(groups) != len(theirs):
        return None
    from ..stats.noninferiority import non_inferior_paired_groups  # noqa: PLC0415  (numpy)

    try:
        found = non_inferior_paired_groups(groups, margin=limit, alpha_larger=alpha)
    except (BadStatisticInput, NoVariance):
        return None
    return _ruled(found, units=len(names), ratio=ratio)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Line:
    """An effect around 0: of a ratio its logarithm."""

    estimate: float
    se: float
    df: float


def _line(effect: Effect, z: float) -> _Line | None:
    """Return an effect with its standard error, else with half its interval's width over ``z``.

    The interval of replies that are all alike has a width. None of a ratio of 0, and without both.
    """
    estimate, ends = effect.estimate, effect.interval
    if effect.scale == "ratio" and estimate <= 0:
        return None
    if effect.scale == "ratio":
        estimate = math.log(estimate)
    if effect.se and effect.df:
        return _Line(estimate=estimate, se=effect.se, df=effect.df)
    if ends is None or (effect.scale == "ratio" and ends.low <= 0):
        return None
    low, high = ends.low, ends.high
    if effect.scale == "ratio":
        low, high = math.log(low), math.log(high)
    return _Line(estimate=estimate, se=(high - low) / (2 * z), df=NORMAL)


def _independent(
    ours: _Line, theirs: _Line, limit: float | None, alpha: float, *, ratio: bool
) -> Compared | None:
    """Compare independent estimates; None where neither has a standard error above 0."""
    from ..stats.noninferiority import non_inferior_from_estimates  # noqa: PLC0415  (numpy)

    try:
        found = non_inferior_from_estimates(
            candidate=ours.estimate,
            se_candidate=ours.se,
            df_candidate=ours.df,
            baseline=theirs.estimate,
            se_baseline=theirs.se,
            df_baseline=theirs.df,
            margin=limit,
            alpha_larger=alpha,
        )
    except (BadStatisticInput, NoVariance):
        return None
    return _ruled(found, units=0, ratio=ratio)


def _ruled(found: NonInferiority, *, units: int, ratio: bool) -> Compared:
    """Return the two-sign rule's result in words, with what would decide it."""
    from ..stats.noninferiority import replication_to_decide  # noqa: PLC0415  (numpy)

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
