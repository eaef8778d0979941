"""Several groups: each against the rest, whether any differs, and sums of their absolute gaps."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

import numpy as np

from ...errors import IncompleteDesign, NoFinding, NoVariance
from ...stats.anova import welch_one_way_p
from ...stats.checks import Floats, enough
from ...stats.permutation import GroupPermutation, gap_permutation, group_permutation
from ...stats.results import Permutation
from ...stats.simultaneous import AgainstRest, welch_group_contrasts
from ..findings import ALPHA, CHANCE
from ..units import REPLIES, Units
from .bounded import identical_exemplars, protected
from .cells import Grid, Weights, level_against_rest, once
from .fixed import centred, repeated
from .tested import FEW_UNITS, FEW_UNITS_NOTE, SEED, Part, Tested, Unit, permutation_words
from .units import (
    crossed_values,
    lacking_of,
    left_out,
    nested_values,
    parts_of,
    unit_key,
    units_within,
)

WeightedGap = tuple[dict[str, float], float]
"""Weight of each level, and what the absolute gap is multiplied by."""


def group_against_rest(
    grid: Grid, factor: str, group: str, groups: Sequence[str], *, margin: float | None
) -> Tested:
    """One group against the mean of the others; exemplars are the units.

    Names of one group may vary more than another's, so every group has its own variance: p is that
    of a studentised permutation of the exemplars' labels (Janssen 1997; Chung & Romano 2013);
    interval and clearing are by t with degrees of freedom after Welch and Satterthwaite. Nothing
    is cleared with fewer than 10 exemplars in a group.
    """
    weights = level_against_rest(factor, group, groups)
    found, dropped = nested_values(grid, weights, factor)
    values, labels, _ = _flat(found, groups, factor)
    by_unit, lacking = parts_of(factor, found, weights.parts[factor]), lacking_of(found, dropped)
    try:
        of_all, permuted = _all_groups(grid, factor, groups, values, labels)
    except NoVariance:
        each = {level: list(values.values()) for level, values in found.items()}
        identical = identical_exemplars(grid, weights, factor, each, margin=margin)
        return replace(identical, by_unit=by_unit, lacking=lacking)
    found_of = next(each for each in of_all if each.group == group)
    against = permuted.groups[group]
    tost = None if margin is None else found_of.tost(margin)
    fewest = min(len(found[level]) for level in groups)
    few = fewest < FEW_UNITS
    words = permutation_words(against.permutation, "studentised permutation of exemplars' labels")
    notes = [FEW_UNITS_NOTE] if few and tost is not None else []
    notes += left_out(dropped.total(), Units("groups", (factor,)))
    tested = Tested(
        estimate=found_of.estimate,
        interval=found_of.interval,
        p_alarm=against.p,
        p_clear=None if tost is None else 1.0 if few else tost.p,
        method=words
        if tost is None
        else f"{words}; two one-sided t tests, each group with its own variance",
        units=len(values),
        fewest=fewest,
        unit_name=Units("groups", (factor,)),
        se=found_of.se,
        df=found_of.df,
        tost=tost,
        extras={"p (max-T over groups)": against.p_max_t},
        notes=tuple(notes),
        by_unit=by_unit,
        lacking=lacking,
    )
    part = weights.parts[factor]
    of_part = [np.array(list(found[level].values())) for level in part]
    return protected(tested, of_part, list(part.values()), margin=margin)


def set_aside(
    grid: Grid,
    factor: str,
    groups: Sequence[str],
    engine: Callable[[str, Sequence[str]], Callable[[Grid, Weights], Tested]],
    *,
    key: tuple[object, ...],
) -> tuple[str, ...]:
    """Return the groups that alarm, the surest first, fewer than half of them.

    ``engine`` gives the test of a group among those that are left; ``key`` tells questions about
    the same grid apart. A group alarms where it is not clear and its p times the number of groups
    that are left is at most .05; one is set aside at a time, as the others' estimates rest on it.

    Where no group differs, any is set aside with a probability of at most .05 (Bonferroni), and
    only then is another reference taken. The difference of a group from all others is independent
    of those among the others, for normal means of equal variance: so what is left is as under
    their own null, but for the condition that none of them was surer, which makes it smaller.
    """

    def surest(kept: Sequence[str]) -> str | None:
        found: list[tuple[float, float, str]] = []
        for group in kept:
            try:
                tested = engine(group, kept)(grid, level_against_rest(factor, group, kept))
            except NoFinding:
                continue
            if tested.p_clear is None or tested.p_clear > ALPHA:
                size = abs(tested.estimate) / (tested.se or math.inf)
                found.append((tested.p_alarm, -size, group))  # permutations tie at their smallest
        return min(found)[2] if found and min(found)[0] * len(kept) <= ALPHA else None

    def aside() -> tuple[str, ...]:
        kept = list(groups)
        found: list[str] = []
        while 2 * (len(found) + 1) < len(groups) and (group := surest(kept)) is not None:
            found.append(group)
            kept.remove(group)
        return tuple(found)

    return once(grid.memo, ("aside", factor, tuple(groups), *key), aside)


def _all_groups(
    grid: Grid,
    factor: str,
    groups: Sequence[str],
    values: Floats,
    labels: Sequence[str],
) -> tuple[tuple[AgainstRest, ...], GroupPermutation]:
    """Work out once all that the groups' hypotheses share."""
    return once(
        grid.memo,
        ("groups", factor, tuple(sorted(groups))),
        lambda: (
            welch_group_contrasts(values, labels),
            group_permutation(values, labels, seed=SEED),
        ),
    )


def any_group(
    grid: Grid, factor: str, groups: Sequence[str], unit: Sequence[str] | None
) -> Tested:
    """Test for any group that differs: permute labels, replies within strata, or units.

    ``unit`` names the units of a population, None for a fixed set. The estimate is the standard
    deviation of the groups' means. Exemplars must also differ by Welch's analysis of variance: a
    permutation takes unequal spreads of unequal groups for a difference.
    """
    data = labelled(grid, factor, groups, unit)
    permuted = group_permutation(data.values, data.labels, blocks=data.blocks, seed=SEED)
    omnibus = permuted.omnibus
    of = np.array(data.labels)
    values = [data.values[of == group] for group in groups]
    if data.blocks is None:
        with suppress(NoVariance):
            omnibus = replace(omnibus, p=max(omnibus.p, welch_one_way_p(values)))
    means = [float(each.mean()) for each in values]
    by_unit = data.parts(factor, dict.fromkeys(groups, ()))
    return data.tested(float(np.std(means, ddof=1)), omnibus, by_unit)


@dataclass(frozen=True, slots=True, kw_only=True)
class Labelled:
    """Values with the group of each, and ``blocks`` within which labels may be exchanged.

    ``keys`` are the units the values are of, empty where these are replies; ``what`` says in words
    what is exchanged; the other fields are those of a tested estimate.
    """

    values: Floats = field(repr=False)
    labels: list[str] = field(repr=False)
    blocks: list[object] | None = field(repr=False)
    what: str
    units: int
    fewest: int
    unit_name: Units
    notes: tuple[str, ...] = ()
    keys: list[Unit] = field(default_factory=list, repr=False)

    def tested(self, estimate: float, permuted: Permutation, by_unit: tuple[Part, ...]) -> Tested:
        """Return a size that was tested by exchanging the labels: it has no interval."""
        return Tested(
            estimate=estimate,
            interval=None,
            p_alarm=permuted.p,
            p_clear=None,
            method=permutation_words(permuted, self.what),
            units=self.units,
            fewest=self.fewest,
            unit_name=self.unit_name,
            notes=self.notes,
            by_unit=by_unit,
        )

    def parts(self, factor: str, gaps: Mapping[str, tuple[float, ...]]) -> tuple[Part, ...]:
        """The values of each group by unit; group → what its mean weighs in each gap."""
        found: dict[str, dict[Unit, float]] = {}
        for key, label, value in zip(self.keys, self.labels, self.values.tolist(), strict=False):
            found.setdefault(label, {})[key] = value
        return tuple(
            Part(group=f"{factor}={group}", weight=0.0, values=found[group], gaps=weights)
            for group, weights in gaps.items()
            if group in found
        )


def labelled(
    grid: Grid, factor: str, groups: Sequence[str], unit: Sequence[str] | None
) -> Labelled:
    """Return what groups may exchange: replies within strata, exemplars, or units' means.

    ``unit`` names the units of a population, None for a fixed set. A unit that meets every group
    has one value in each, however many cells it has there; one that misses a cell is left out.
    """
    weights = Weights({factor: dict.fromkeys(groups, 1.0)})
    cells = weights.used(grid).cells
    if unit is None:
        if empty := [cell.name for cell in cells if not cell.values.size]:
            raise IncompleteDesign(cells=empty)
        strata, sizes = weights.on(grid).strata, [cell.values.size for cell in cells]
        labels = repeated([cell.labels[factor] for cell in cells], sizes)
        return Labelled(
            values=np.concatenate(centred(cells, strata)),
            labels=labels,
            blocks=[*repeated(strata, sizes)],
            what="permutation of labels within strata",
            units=len(labels),
            fewest=min(map(labels.count, groups)),
            unit_name=REPLIES,
        )
    if tuple(unit) == (factor,):
        found, dropped = nested_values(grid, weights, factor)
        values, labels, keys = _flat(found, groups, factor)
        name = Units("groups", (factor,))
        return Labelled(
            values=values,
            labels=labels,
            blocks=None,
            what="permutation of exemplars' labels",
            units=len(labels),
            fewest=min(map(labels.count, groups)),
            unit_name=name,
            notes=left_out(dropped.total(), name),
            keys=keys,
        )
    crossed, missing = crossed_values(grid, weights, unit)
    by_place: dict[tuple[Unit, str], list[float]] = {}
    for cell in cells:
        if (key := unit_key(cell, unit)) in crossed:
            by_place.setdefault((key, cell.labels[factor]), []).append(cell.mean)
    name, whole = units_within(unit, cells), len(crossed)
    enough(whole, str(name))
    return Labelled(
        values=np.array([np.mean(means) for means in by_place.values()]),
        labels=[label for _, label in by_place],
        blocks=[key for key, _ in by_place],
        what="permutation of labels within units",
        units=whole,
        fewest=whole,
        unit_name=name,
        notes=left_out(missing, name),
        keys=[key for key, _ in by_place],
    )


def _flat(
    found: Mapping[str, Mapping[Unit, float]], groups: Sequence[str], factor: str
) -> tuple[Floats, list[str], list[Unit]]:
    for group in groups:
        enough(len(found.get(group, ())), f"{factor}={group}")
    values = np.array([value for group in groups for value in found[group].values()])
    labels = [group for group in groups for _ in found[group]]
    return values, labels, [key for group in groups for key in found[group]]


def total_gap(
    grid: Grid, factor: str, gaps: Sequence[WeightedGap], unit: Sequence[str] | None
) -> Tested:
    """Test a sum of absolute gaps by permuting labels within strata, or within units.

    The sum is above 0 even without any difference, so the null's mean stands beside it. One-sided:
    only a large sum counts.
    """
    levels = tuple(dict.fromkeys(level for weights, _ in gaps for level in weights))
    data = labelled(grid, factor, levels, unit)
    found = gap_permutation(data.values, data.labels, gaps, blocks=data.blocks, seed=SEED)
    times = {
        level: tuple(times * weights.get(level, 0.0) for weights, times in gaps)
        for level in levels
    }
    tested = data.tested(found.total, found.permutation, data.parts(factor, times))
    return replace(
        tested,
        method=f"{tested.method}, one-sided",
        extras={CHANCE: found.null_mean, "its 95th centile": found.null_q95},
    )
