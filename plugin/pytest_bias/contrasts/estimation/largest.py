"""The largest of several contrasts: a group's departure, an interaction, a sum of absolute gaps.

Each is the largest of absolute values of linear contrasts, and is within a margin where all of
these are. So it is cleared where each is, at .05 without adjustment (intersection–union: Berger
1982), and lies beyond the margin where one does, at .05 over their number (Bonferroni).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product

from ...stats.results import LEVEL, Interval
from ..findings import ALPHA, AS_READ, LABELLED, Null, WorstCase, p_words
from .cells import Grid, Weights
from .groups import WeightedGap
from .misclassified import ERROR
from .tested import Tested, lost_of, over_tolerated, worst_case

LARGEST_AT = "largest at"
"""Name of the extra that says which of the contrasts is the largest."""


@dataclass(frozen=True, slots=True)
class Linear:
    """One of the contrasts: ``times`` what its ``test`` estimates with these ``weights``."""

    weights: Weights
    test: Callable[[Grid, Weights], Tested]
    times: float = 1.0

    def tested(self, grid: Grid) -> Tested:
        """The test of a grid."""
        return self.test(grid, self.weights)


@dataclass(frozen=True, slots=True)
class LargestInterval:
    """The interval of the largest absolute value, at any level.

    Its upper end is the farthest of the contrasts' own, for the largest is one of them; its lower
    end the farthest lower one of all intervals together (Bonferroni).
    """

    found: Sequence[tuple[float, Tested]]

    def __call__(self, level: float) -> Interval:
        """Return the interval at a confidence level."""
        least, most = 0.0, 0.0
        for times, tested in self.found:
            own, wide = (
                _interval(tested, at) for at in (level, 1 - (1 - level) / len(self.found))
            )
            most = max(most, times * own.high, -times * own.low)
            least = max(least, times * wide.low, -times * wide.high)
        return Interval(low=min(least, most), high=most, level=level)


def _interval(tested: Tested, level: float) -> Interval:
    """The interval of one contrast.

    Where its method gives none at another level, it is stretched about the estimate as the bound
    on what identical replies hide: ln(tail) is more than a normal quantile grows by.
    """
    if tested.at_level is not None:
        return tested.at_level(level)
    given, at = tested.interval, tested.estimate
    assert given is not None  # noqa: S101  (every linear contrast has one)
    times = max(1.0, math.log((1 - level) / 2) / math.log((1 - given.level) / 2))
    return Interval(
        low=at + times * (given.low - at), high=at + times * (given.high - at), level=level
    )


def largest_of(
    grid: Grid,
    contrasts: Callable[[], Mapping[str, Linear]],
    alarm_of: Callable[[], Tested],
    *,
    margin: float | None,
    null: Null,
) -> Tested:
    """Test the largest of the absolute values of ``contrasts``, by words, against the margin.

    ``alarm_of`` gives the test that none of them differs from 0, which is all without a margin; of
    the ``null`` "margin" the alarm is that one of them lies beyond it, as each of their tests
    says. Raises NoFinding where one does.
    """
    if margin is None:
        return alarm_of()
    alarm = None if null == "margin" else alarm_of()
    every = contrasts()
    found = {words: each.tested(grid) for words, each in every.items()}
    sizes = {words: abs(every[words].times * each.estimate) for words, each in found.items()}
    named = max(sizes, key=lambda words: sizes[words])
    one = found[named]
    at_level = LargestInterval([(every[words].times, each) for words, each in found.items()])
    beyond = min(1.0, len(found) * min(each.p_alarm for each in found.values()))
    clearing = [1.0 if each.p_clear is None else each.p_clear for each in found.values()]
    told = {
        words: f"{every[words].times * each.estimate:+z.3f}, {p_words(each.p_alarm)}"
        for words, each in found.items()
    }
    how = f"the largest of {len(found)}: each {one.method}"
    notes = dict.fromkeys(note for each in found.values() for note in each.notes)
    read: dict[str, float | str] = {
        name: one.extras[name] for name in (ERROR, LABELLED) if name in one.extras
    }
    if AS_READ in one.extras:
        read[AS_READ] = abs(every[named].times * float(one.extras[AS_READ]))
    return Tested(
        estimate=sizes[named],
        interval=at_level(LEVEL),
        p_alarm=beyond if alarm is None else alarm.p_alarm,
        p_clear=max(clearing),
        method=how if alarm is None else f"{alarm.method}; {how}",
        units=max(each.units for each in found.values()),
        fewest=min(each.fewest for each in found.values()),
        unit_name=one.unit_name,
        deterministic=all(each.deterministic for each in found.values()),
        extras={LARGEST_AT: named, "margin of each": f"±{margin:g}", **told, **read},
        notes=tuple(notes),
        # what units contribute to an alarm is as it was read, and is not held beside what is not
        by_unit=() if alarm is None or read else alarm.by_unit,
        at_level=None if any(each.at_level is None for each in found.values()) else at_level,
    )


def worst_of(
    grid: Grid,
    weights: Weights,
    contrasts: Mapping[str, Linear],
    *,
    margin: float | None,
    tips: bool = True,
) -> WorstCase | None:
    """The worst case of the largest: that of each of ``contrasts`` by itself, which has sides.

    It is clear where all are in theirs; something differs where one does in its own, over their
    number. ``weights`` name the combinations, of which none may miss more than 5 % of its replies
    without this being needed; of a claim to be clear, whose ``margin`` is given, it is also where
    it is for one of the contrasts.
    """
    missing, trials = lost_of(weights.used(grid).cells, weights.on(grid).combinations)
    if not missing.total():
        return None

    def worst_case_of(each: Linear, *, always: bool, tips: bool) -> WorstCase | None:
        own = None if margin is None else margin / abs(each.times)
        return worst_case(grid, each.weights, each.tested, margin=own, always=always, tips=tips)

    if not over_tolerated(missing, trials) and not any(
        (worst := worst_case_of(each, always=False, tips=False)) is not None and worst.needed
        for each in (contrasts.values() if margin is not None else ())
    ):
        return WorstCase(needed=False, lowest=None, highest=None, p_alarm=1.0, p_clear=1.0)
    given = [
        (each.times, worst)
        for each in contrasts.values()
        if (worst := worst_case_of(each, always=True, tips=tips)) is not None
    ]
    ends = [
        sorted(abs(times * end) for end in (worst.lowest, worst.highest))
        if worst.lowest * worst.highest > 0
        else [0.0, abs(times) * max(-worst.lowest, worst.highest)]
        for times, worst in given
        if worst.lowest is not None and worst.highest is not None
    ]
    clearing = [worst.p_clear for _, worst in given]
    shifts = [worst.shift for _, worst in given if worst.shift is not None]
    return WorstCase(
        needed=True,
        lowest=max((low for low, _ in ends), default=None),
        highest=max((high for _, high in ends), default=None),
        p_alarm=min(1.0, len(given) * min(worst.p_alarm for _, worst in given)),
        p_clear=max(1.0 if p is None else p for p in clearing),
        kind="tipping" if all(worst.kind == "tipping" for _, worst in given) else "manski",
        shift=min(shifts, default=None),
        interval=partial(_largest_end, given),
    )


def _largest_end(given: Sequence[tuple[float, WorstCase]]) -> Interval | None:
    """Return the interval of the largest of absolute values, up to the farthest end of any."""
    found = [worst.interval() if worst.interval else None for _, worst in given]
    ends = [
        max(times * each.high, -times * each.low)
        for (times, _), each in zip(given, found, strict=True)
        if each is not None
    ]
    if not ends or len(ends) < len(given):
        return None
    return Interval(low=0.0, high=max(ends), level=1 - 2 * ALPHA)


def signed_sums(factor: str, gaps: Sequence[WeightedGap]) -> dict[str, tuple[Weights, float]]:
    """Each way to give the gaps signs: of a sum of absolute values the largest is the sum itself.

    The contrast is scaled to the width of one difference, and returned with what undoes that.
    """
    found: dict[str, tuple[Weights, float]] = {}
    for rest in product((1, -1), repeat=len(gaps) - 1):
        signs = (1, *rest)
        part: dict[str, float] = {}
        for sign, (levels, times) in zip(signs, gaps, strict=True):
            for level, weight in levels.items():
                part[level] = part.get(level, 0.0) + sign * times * weight
        if reach := Weights({factor: part}).reach:
            scaled = {level: weight / reach for level, weight in part.items() if weight}
            words = "".join("+" if sign > 0 else "−" for sign in signs)
            found[words] = (Weights({factor: scaled}), reach)
    return found
