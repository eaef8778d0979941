"""A candidate's effect compared with a baseline's: whether a bias is no larger than it was.

There are two ways. Where both have the same units (items, exemplars, blocks, pools), the contrasts
of each unit are paired, never replicates. Elsewhere both estimates are independent, each with its
standard error.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from ..contrasts.estimate import ALPHA, Estimate, Scale, UnitGroup
from ..errors import NoVariance
from ..experiments.canonical import Strict
from ..stats.results import Interval
from ..verdicts.decide import clears
from ..verdicts.wording import limit_text, number_as_given, number_form

if TYPE_CHECKING:
    from ..stats.noninferiority import NonInferiority

FEWEST_PAIRS = 5
"""Units that both have, in each group, below which nothing is paired."""

SHARED = 0.9
"""Share of either's units in a group that the other must have as well."""

_Z95 = 1.959963984540054
_NORMAL = 1e6
"""Degrees of freedom of what is taken as normal."""

_LARGEST_LOG = 99.0
"""Of a ratio; what is larger is printed as its exponential, and what is ``_LARGE`` as a power."""

_LARGE = 1e12

How = Literal["same replies", "paired", "independent", "not comparable"]
"""How two effects were compared."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect(Strict):
    """An estimate, of a claim or of one of its cells, as another model's is compared with it.

    ``se`` and ``df`` are on the scale of the estimate, of ratios on the log scale; None where the
    quantity has none. ``by_unit`` is empty where replies are the units: replicates never pair.
    ``clears`` is whether it is shown to be within ``margin``. ``cassette`` is the checksum of the
    replies it rests on.
    """

    estimate: float
    interval: Interval | None
    se: float | None
    df: float | None
    scale: Scale
    margin: float | None
    clears: bool
    cassette: str
    by_unit: tuple[UnitGroup, ...] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """A candidate's effect compared with a baseline's.

    ``bound`` is the upper bound of |candidate| − |baseline| (of ratios, of the sizes of their
    logarithms) that must lie below ``margin`` (of ratios the logarithm of their limit); None where
    there is none. ``least`` is a lower bound of it, above 0 where the candidate is shown to be
    ``worse``. ``units`` are those that were paired, 0 where nothing pairs. ``no_worse`` and
    ``worse`` are what decides, and never both; ``words`` say why not the first.
    """

    how: How
    margin: float | None
    bound: float | None = None
    units: int = 0
    no_worse: bool = False
    words: str = ""
    least: float | None = None
    worse: bool = False


def effect_of(finding: Estimate, checksum: str) -> Effect:
    """A finding as an effect that another can be compared with; ``checksum`` is its replies'.

    Where one side of a number matters, an estimate on the other is as good as none. Replies that
    are all alike, and sizes, have no standard error: half the interval's width stands for it.
    """
    ends = {"either": (-math.inf, math.inf), "below": (-math.inf, 0.0), "above": (0.0, math.inf)}
    low, high = ends[finding.matters]
    se, df, interval = finding.se, finding.df, finding.interval
    if not (se and df) and interval is not None:
        width = interval.high - interval.low
        if finding.scale == "ratio":
            width = math.log(interval.high / interval.low) if interval.low > 0 else 0.0
        se, df = width / (2 * _Z95), _NORMAL
    return Effect(
        estimate=min(max(finding.estimate, low), high),
        interval=interval,
        se=se or None,
        df=df,
        scale=finding.scale,
        margin=finding.margin,
        clears=clears(finding),
        cassette=checksum,
        # The mean of units' contrasts is the estimate: of one that was moved it is not.
        by_unit=finding.by_unit if finding.matters == "either" else (),
    )


def compare_with_versions(
    candidate: Effect, versions: Sequence[Effect], *, alpha: float = ALPHA
) -> Compared:
    """Compare a candidate with all that was accepted, ``versions``, of which the last counts now.

    ``alpha`` is the level at which it is shown to be worse. The very replies that were accepted
    last are let through, whatever came before. Else it is compared with the smallest of all, so
    that small steps cannot add up; of so many the luckiest, so that ``alpha`` is divided.
    """
    if _are_same(candidate, versions[-1]):
        return compared(candidate, versions[-1])
    smallest = min(versions, key=lambda effect: abs(_around_0(effect)))
    return compared(candidate, smallest, alpha=alpha / len({each.cassette for each in versions}))


def compared(candidate: Effect, best: Effect, *, alpha: float = ALPHA) -> Compared:
    """Test that a candidate's effect is smaller than ``best`` plus its margin, or larger at all.

    By the two-sign rule (:mod:`pytest_bias.stats.noninferiority`): no worse is shown at .05, worse
    at ``alpha``; what is shown to be no worse is not called worse, however precisely it is known
    to have grown within the margin. Ratios are compared as logarithms, with the margin's
    logarithm. Without a margin worse can be shown, and no worse cannot.

    Units are paired where both have the same groups, at least 5 units in each and nine tenths of
    either's; else the estimates are taken as independent. The same replies are no worse.
    """
    ratio, margin = candidate.scale == "ratio", candidate.margin
    if margin is not None and ratio:
        margin = math.log(margin)
    if _are_same(candidate, best):
        return Compared(how="same replies", margin=margin, no_worse=True)
    found, units = _paired(candidate, best, margin, alpha)
    found = found or _independent(candidate, best, margin, alpha)
    if found is None:
        words = "there is no standard error of both, and then only the same replies are"
        return Compared(how="not comparable", margin=margin, words=words)
    worse = found.larger and not found.non_inferior
    return Compared(
        how="paired" if units else "independent",
        bound=found.bound,
        margin=margin,
        units=units,
        no_worse=found.non_inferior,
        words="" if found.non_inferior else _larger(found, worse=worse, ratio=ratio),
        least=found.least,
        worse=worse,
    )


def _are_same(candidate: Effect, best: Effect) -> bool:
    same = math.isclose(candidate.estimate, best.estimate, rel_tol=1e-6, abs_tol=1e-12)
    return same and candidate.cassette == best.cassette


def _around_0(effect: Effect) -> float:
    """Return an estimate around 0: of a ratio its logarithm."""
    if effect.scale != "ratio":
        return effect.estimate
    return math.log(effect.estimate) if effect.estimate > 0 else -math.inf


def _paired(
    candidate: Effect, best: Effect, margin: float | None, alpha: float
) -> tuple[NonInferiority | None, int]:
    """Compare units with themselves; None and 0 where they do not pair, or nothing varies."""
    theirs = {(group.group, group.weight): group.values for group in best.by_unit}
    ours = {(group.group, group.weight): group.values for group in candidate.by_unit}
    if not ours or ours.keys() != theirs.keys():
        return None, 0
    groups, names = [], set()
    for key, values in ours.items():
        others = theirs[key]
        units = sorted(values.keys() & others.keys())
        if len(units) < max(FEWEST_PAIRS, SHARED * max(len(values), len(others))):
            return None, 0
        pairs = [values[unit] for unit in units], [others[unit] for unit in units]
        groups.append((key[1], *pairs))
        names |= {*units}
    from ..stats.noninferiority import non_inferior_paired_groups  # noqa: PLC0415  (numpy)

    try:
        return non_inferior_paired_groups(groups, margin=margin, alpha_larger=alpha), len(names)
    except NoVariance:
        return None, 0


def _independent(
    candidate: Effect, best: Effect, margin: float | None, alpha: float
) -> NonInferiority | None:
    """Compare independent estimates; None where one has no standard error, or is a ratio of 0."""
    from ..stats.means import StudentEstimate  # noqa: PLC0415  (numpy)
    from ..stats.noninferiority import non_inferior_from_estimates  # noqa: PLC0415

    both = []
    for effect in (candidate, best):
        estimate = _around_0(effect)
        if not (effect.se and effect.df and math.isfinite(estimate)):
            return None
        both.append(StudentEstimate(estimate=estimate, se=effect.se, df=effect.df))
    return non_inferior_from_estimates(*both, margin=margin, alpha_larger=alpha)


def _larger(found: NonInferiority, *, worse: bool, ratio: bool) -> str:
    """``it is larger by 0.1 to 0.3, margin 0.1``."""
    (least, margin), (bound, _) = (
        grown_text(by, found.margin, ratio=ratio) for by in (found.least, found.bound)
    )
    by = "by a factor of " if ratio else "by "
    by += f"{least.lstrip('+')} to " if worse else ""
    beside = f"margin {margin}" if margin else "there is no margin"
    return f"it {'is' if worse else 'may be'} larger {by}{bound.lstrip('+')}, {beside}"


def grown_text(grown: float, margin: float | None, *, ratio: bool) -> tuple[str, str]:
    """Word by how much an effect is larger, as finely as its margin, and that; '' without one.

    Both are logarithms of a ``ratio``, and worded as factors.
    """
    if not ratio:
        words = "" if margin is None else number_as_given(margin)
        return f"{grown:{number_form(margin, 'difference', [grown])}}", words
    factor = math.exp(min(grown, _LARGEST_LOG))
    limit = None if margin is None else math.exp(margin)
    form = number_form(limit, "ratio", [factor]) if factor < _LARGE else "z.3g"
    return f"{factor:{form}}", "" if limit is None else limit_text(limit, form)
