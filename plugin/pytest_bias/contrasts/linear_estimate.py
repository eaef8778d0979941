"""From records to the estimate of a linear contrast, with what is left out or missing."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace

from ..errors import NoFinding, TooFewUnits
from ..experiments.canonical import digest
from ..experiments.experiment import Experiment
from ..experiments.measures import MISSING
from ..experiments.records import Records
from .cells import Cell, Grid, Weights, collapsed, grid_of
from .estimate import (
    ALPHA,
    LEAST_VALID,
    UNEQUAL,
    Arm,
    Estimate,
    Heterogeneity,
    MissingReplies,
    UnitGroup,
)
from .estimator import Sample, Unit, bootstrap, estimate, sample_of
from .largest import largest_of
from .layout import REPLIES, ResolvedContrast, Side, items_of, reach_of
from .published import Pooled, PublishedMethod, keep_published, published_column

DIGITS = 16
"""Hexadecimal digits of a digest that stand for a unit."""

_LISTED = 3
"""Strata, or cells without a valid reply, that are named; of more only the number is."""

_LONGEST = 80
"""Characters up to which an exemplar names its unit; of longer ones a digest does."""


def estimate_of(
    resolved: ResolvedContrast,
    method: PublishedMethod | None,
    experiment: Experiment,
    records: Records,
) -> Estimate:
    """Estimate and test a contrast; NoFinding of too few replies, or of an empty condition."""
    weights, names, sides = _weights(resolved), resolved.units, resolved.sides
    compared = tuple(weights.parts)
    recorded = grid_of(experiment, records, resolved.measure, resolved.at, resolved.eligible)
    grid, ineligible = _without_ineligible(weights, recorded)
    every = weights.used(grid)
    pooled = Pooled(
        cells=grid.cells, sides={side.words: every.at(side.levels).cells for side in sides}
    )
    published = published_column(method, pooled)
    if names is None:
        grid = collapsed(grid, [*compared, *items_of(experiment)])
        grid = collapsed(grid, compared)
    whole = weights.used(grid)
    grid, bare = _without_bare_items(weights, grid, experiment)
    used = weights.used(grid)
    cells = [(side, used.at(side.levels).cells) for side in sides]
    with keep_published(published):
        _check_complete(experiment, weights, names, used, cells)
        result = _tested(resolved, experiment, weights, grid)
    result = replace(result, arms=_arms(experiment, cells, whole, result))
    notes = [*result.notes]
    if left_out := sum(cell.left_out for cell in used.cells):
        unless = experiment.measure(resolved.measure).unless
        notes.append(f"{left_out} replies are left out: {unless}")
    if bare:
        left = f"{len(bare)} of the items are left out, as a condition has no reply to them"
        notes.append(f"{left}: {', '.join(bare)}")
    if resolved.eligible is not None:
        notes += _eligible_notes(resolved.eligible, used, ineligible)
    details = names is None and not records.lean
    return replace(
        result,
        measure=resolved.measure,
        unit="" if grid.flags else experiment.measure(resolved.measure).unit,
        factor=" × ".join(compared),
        replies=sum(cell.values.size for cell in used.cells),
        over=_averaged(every, compared),
        published=published,
        notes=tuple(notes),
        lost=_missing(resolved, experiment, records, weights, whole, result),
        items=_heterogeneity(resolved, experiment, weights, used) if details else None,
        bootstrap=bootstrap(recorded, weights) if details and resolved.bootstrapped else None,
    )


def _weights(resolved: ResolvedContrast) -> Weights:
    """Return the weights of levels; of the largest of several contrasts each level it uses."""
    parts = resolved.parts
    if resolved.largest_of:
        parts = {name: dict.fromkeys(levels, 1.0) for name, levels in parts.items()}
    return Weights(parts)


def _tested(
    resolved: ResolvedContrast, experiment: Experiment, weights: Weights, grid: Grid
) -> Estimate:
    """Return the tested estimate with the units of a single contrast."""
    margin, null, shrink = resolved.margin, resolved.null, resolved.shrink
    if each := resolved.largest_of:
        return largest_of(each, grid, resolved.units, margin=margin, null=null, shrink=shrink)
    sample = sample_of(grid, weights, resolved.units).less(resolved.number)
    result = estimate(
        sample,
        margin=margin,
        null=null,
        shrink=shrink,
        matters=resolved.matters,
        ratio=resolved.ratio,
    )
    return replace(result, by_unit=_unit_groups(experiment, sample))


def _missing(
    resolved: ResolvedContrast,
    experiment: Experiment,
    records: Records,
    weights: Weights,
    used: Grid,
    result: Estimate,
) -> MissingReplies | None:
    """Return the missing replies, and what would undo a CLEAR; None where all are valid."""
    if resolved.measure == MISSING or not any(cell.missing for cell in used.cells):
        return None
    shares = []
    for side in resolved.sides:
        cells = used.at(side.levels).cells
        shares.append(math.fsum(c.missing / max(c.trials, 1) for c in cells) / len(cells))
    p_beyond = 1.0  # p is above .5 where the shares differ by less
    if max(shares) - min(shares) > UNEQUAL:
        grid = grid_of(experiment, records, MISSING, resolved.at)
        grid = grid.of(cell for cell in grid.cells if cell.values.size)
        grid = collapsed(grid, tuple(weights.parts))
        contrasts = [Weights(parts) for parts, _ in resolved.largest_of.values()] or [weights]
        with suppress(NoFinding):
            each = [
                estimate(
                    sample_of(grid, contrast, None),
                    margin=UNEQUAL * reach_of(contrast.parts),
                    null="margin",
                )
                for contrast in contrasts
            ]
            p_beyond = min(1.0, len(each) * min(one.p_alarm for one in each) / 2)
    tips = _tipping_point(result, used, shares)
    return MissingReplies(shares=tuple(shares), p_beyond=p_beyond, tips=tips)


def _heterogeneity(
    resolved: ResolvedContrast, experiment: Experiment, weights: Weights, used: Grid
) -> Heterogeneity | None:
    """Return the spread of the effects of a fixed set's items; None without several."""
    items = "".join(items_of(experiment))
    apart = items in used.cells[0].labels and items not in weights.parts
    if not apart or resolved.ratio or resolved.largest_of:
        return None
    margin, each = resolved.margin, []
    for name in dict.fromkeys(cell.labels[items] for cell in used.cells):
        part = used.at({items: (name,)})
        if all(cell.values.size for cell in part.cells) and not weights.absent(part, ()):
            sample = sample_of(part, weights, None).less(resolved.number)
            with suppress(TooFewUnits):  # an item with a single reply a side
                each.append(
                    estimate(sample, margin=margin, null="margin", matters=resolved.matters)
                )
    if len(each) < 2:  # noqa: PLR2004  (one item differs from none)
        return None
    effects = [one.estimate for one in each]
    mean = math.fsum(effects) / len(effects)
    seen = math.fsum((effect - mean) ** 2 for effect in effects) / (len(effects) - 1)
    noise = math.fsum((one.se or 0.0) ** 2 for one in each) / len(each)
    tested = each if margin is not None else []
    beyond = [one.estimate for one in tested if one.p_alarm * len(each) <= ALPHA]
    return Heterogeneity(
        items=len(each),
        sd=math.sqrt(max(seen - noise, 0.0)),
        beyond=len(beyond),
        opposite=bool(beyond) and min(beyond) < 0 < max(beyond),
    )


def _without_bare_items(
    weights: Weights, grid: Grid, experiment: Experiment
) -> tuple[Grid, tuple[str, ...]]:
    """Return the grid without the items that lack a reply in a cell, and their names.

    An item that one condition has no value of is no like to compare. Where more than a fifth of
    the items are such, all stay, and the design is incomplete.
    """
    items = "".join(items_of(experiment))
    cells = weights.used(grid).cells
    full = all(cell.values.size for cell in cells)
    if full or items in weights.parts or items not in cells[0].labels:
        return grid, ()
    every = tuple(dict.fromkeys(cell.labels[items] for cell in cells))
    bare = {cell.labels[items] for cell in cells if not cell.values.size}
    kept = tuple(item for item in every if item not in bare)
    if len(kept) < LEAST_VALID * len(every):
        return grid, ()
    return grid.at({items: kept}), tuple(item for item in every if item in bare)


def _without_ineligible(weights: Weights, grid: Grid) -> tuple[Grid, tuple[str, ...]]:
    """Return the grid without the strata in which a level has no eligible trial, and their names.

    Who is eligible is decided before the levels part, so that nothing else is compared for it.
    """
    cells = [*zip(weights.used(grid).cells, weights.on(grid).strata, strict=True)]
    bare = {
        stratum: "/".join(level for _, level in stratum)
        for cell, stratum in cells
        if cell.ineligible and not cell.values.size
    }
    if not bare:
        return grid, ()
    return grid.of(cell for cell, stratum in cells if stratum not in bare), (*bare.values(),)


def _eligible_notes(flag: str, used: Grid, left_out: Sequence[str]) -> Iterator[str]:
    """Yield how many valid trials the question applies to, and where to none."""
    counted = sum(cell.values.size for cell in used.cells)
    of = counted + sum(cell.ineligible for cell in used.cells)
    yield f"asked of {counted:,} of {of:,} valid trials: those with {flag}"
    if left_out:
        more = f" and {len(left_out) - _LISTED} more" if len(left_out) > _LISTED else ""
        yield f"left out, as no trial has it at some level: {', '.join(left_out[:_LISTED])}{more}"


def _tipping_point(result: Estimate, used: Grid, shares: Sequence[float]) -> float | None:
    """By how many SDs one side's missing replies must differ for a CLEAR not to hold."""
    interval, margin = result.clearing, result.margin
    if interval is None or margin is None or not max(shares):
        return None
    squares = math.fsum(cell.squares for cell in used.cells)
    sd = math.sqrt(squares / sum(cell.values.size for cell in used.cells))
    if not sd:
        return None
    if result.scale == "ratio":
        room = math.log(margin) - max(abs(math.log(interval.low)), math.log(interval.high))
        sd /= max(math.fsum(arm.mean for arm in result.arms) / len(result.arms), 1e-9)
    else:
        ends = {"either": max(-interval.low, interval.high)}
        ends |= {"below": -interval.low, "above": interval.high}
        room = margin * result.shrink - ends[result.matters]
    return room / (max(shares) * sd) if room >= 0 else None


def _averaged(used: Grid, compared: Sequence[str]) -> str:
    """Name what a contrast is an average over, with the number of each: ``cv (3)``."""
    labels, members = used.cells[0].labels, used.cells[0].members
    counts = {
        name: len({cell.labels[name] for cell in used.cells})
        for name in labels
        if name not in compared
    }
    for name in members:
        shown = {(cell.labels[name], cell.members[name]) for cell in used.cells}
        counts[f"exemplars of {name}"] = max(Counter(level for level, _ in shown).values())
    return " × ".join(f"{name} ({count})" for name, count in counts.items() if count > 1)


def _arms(
    experiment: Experiment,
    by_side: Sequence[tuple[Side, Sequence[Cell]]],
    whole: Grid,
    result: Estimate,
) -> tuple[Arm, ...]:
    """Return the sides with their means (cells weigh alike) and what ``whole`` has missing."""
    arms = []
    for side, cells in by_side:
        valid = [cell.mean for cell in cells if cell.values.size]
        replies = sum(cell.values.size for cell in cells)
        units = replies if result.unit_name == REPLIES else result.units
        if result.unit_name.kind == "groups":  # others meet both sides
            (factor,) = result.unit_name.names
            units = len({(cell.labels[factor], cell.members[factor]) for cell in cells})
        missing: Counter[str] = Counter()
        for cell in whole.at(side.levels).cells:
            missing.update(cell.reasons)
        arms.append(
            Arm(
                level=side.words,
                value=_printed_level(experiment, side),
                units=units,
                replies=replies,
                missing=missing,
                ineligible=sum(cell.ineligible for cell in cells),
                mean=math.fsum(valid) / len(valid),
            )
        )
    return tuple(arms)


def _printed_level(experiment: Experiment, side: Side) -> str:
    """Return the value of a single level for print; its label where prompts are not kept."""
    names = [(name, level) for name, levels in side.levels.items() for level in levels]
    if len(names) != 1:
        return side.words
    name, level = names[0]
    factors = {factor.name: {**factor.levels, **factor.controls} for factor in experiment.factors}
    value = factors[name][level] if name in factors else level
    return str(value) if experiment.retention == "raw" or isinstance(value, int | float) else level


def _unit_groups(experiment: Experiment, sample: Sample) -> tuple[UnitGroup, ...]:
    """Return each unit's contribution, by a name that is the same for every model."""
    return tuple(
        UnitGroup(
            group=group,
            weight=weight,
            values={
                _unit_name(experiment, unit): value
                for unit, value in zip(units, values.tolist(), strict=True)
            },
        )
        for group, weight, units, values in zip(
            sample.labels, sample.weights, sample.units, sample.values, strict=False
        )
    )


def _unit_name(experiment: Experiment, unit: Unit) -> str:
    """``name=level`` or ``name=level/exemplar`` of each name.

    Exemplars and items are digests where no text is kept; long exemplars are, too.
    """
    raw = experiment.retention == "raw"
    items, parts = items_of(experiment), []
    for name, level, member in unit:
        label = level if raw or name not in items else digest(level)[:DIGITS]
        shown = member if raw and len(member) <= _LONGEST else digest(member)[:DIGITS]
        parts.append(f"{name}={label}/{shown}" if member else f"{name}={label}")
    return " × ".join(parts)


def _check_complete(
    experiment: Experiment,
    weights: Weights,
    names: Sequence[str] | None,
    used: Grid,
    by_side: Sequence[tuple[Side, Sequence[Cell]]],
) -> None:
    """Refuse an empty side, and to pool over conditions (or cells of a set) without a reply.

    Items that are units of a population are no conditions: one that misses a cell is left out.
    """
    empty = [
        [f"{name}={' + '.join(levels)}" for name, levels in side.levels.items()]
        for side, cells in by_side
        if not any(cell.values.size for cell in cells)
    ]
    if any(len(parts) > 1 for parts in empty):  # sides of an interaction are cells of the design
        raise _incomplete(map(" × ".join, empty))
    if empty:
        raise TooFewUnits(group=", ".join(empty[0]), found=0, needed=1)
    whole, units = names is None, names or ()
    if absent := weights.absent(used, units):
        raise _incomplete(absent)
    if all(cell.values.size for cell in used.cells):
        return
    replies: Counter[str] = Counter()
    items = items_of(experiment)
    for cell in used.cells:
        labels = [at for name, at in cell.labels.items() if name not in items or name not in units]
        replies[cell.name if whole else "/".join(labels)] += cell.values.size
    if bare := [name for name, count in replies.items() if not count]:
        raise _incomplete(bare)


def _incomplete(cells: Iterable[str]) -> NoFinding:
    """The error for cells a contrast pools over that have no valid reply."""
    first, rest = (every := list(cells))[:_LISTED], every[_LISTED:]
    names = f"{', '.join(first)}{f' and {len(rest)} more' * bool(rest)}"
    return NoFinding(f"incomplete design: no valid reply in {names}, so nothing is pooled over it")
