"""How often the upgrade gate errs, and how often it passes an unchanged model, simulated.

    python plugin/benchmarks/upgrade_gate.py [--simulations 2000] [--row WORD] [--upgrades 4000]

Baseline and candidate are simulated at effects B and C and held beside each other by
``upgrades.compared``, as the gate does. At the boundary, |C| = |B| + margin, a candidate is one
margin worse: passing it is an error, in .06 of the runs at most. B is 0, .5, 1 and 2 margins; C
has its sign, or the other. Without any change (C = B) passing is right, and the designs are such
that it should happen in .90 at least; a share may fall short by two of its standard errors.
Anything off: exit status 1. With ``--upgrades`` ten upgrades in a row, each held beside all that
was accepted before, are simulated instead (two minutes).

- Seeds: one contrast for each of 25 seeds, log length ±.105, replies of SD .35 in 16 cells × 3
  replicates, seed × factor SD .05, which both models share. Paired.
- Names: two groups of 24 names, rates ±.10 of 18 × 5 replies about a rate of .165, names differing
  by SD .03, which both models share. Paired within groups.
- Fixed set: two arms of 120 replies, ±.6 months at SD 1. Independent.
- Rates: two sides of 788 replies, ±.10, at a base rate of .165. Independent.
- Ratios: two sides of 2,000 replies, .80 to 1.25, at a base rate of .35; margins are counted in
  logarithms. Independent.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
from pytest_bias.contrasts.estimation.fixed import rate_difference, rate_ratio

from benchmarks.common import Share, note, say
from pytest_bias.baselines.noninferiority import compared, held
from pytest_bias.contrasts.estimation.cells import Cell, Grid, pairwise
from pytest_bias.contrasts.findings import Effect, UnitGroup
from pytest_bias.stats import means

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from pytest_bias.contrasts.estimation.tested import Tested

    Numbers = NDArray[np.float64]

SEED = 20_261_121
SIZES = (0.0, 0.5, 1.0, 2.0)
SIGNS = (1.0, -1.0)
MOST_FALSE = 0.06
LEAST_POWER = 0.90
SHORT = 2.0
SIDES = ("high", "low")
BETWEEN = pairwise("side", ["high"], ["low"])

Draw = Callable[[np.random.Generator, Sequence[float]], "list[Effect]"]
"""Versions of one simulated model, at their true effects in margins."""


@dataclass(frozen=True, slots=True)
class Row:
    """A kind of hypothesis: its margin as it is declared, and how its upgrades are simulated."""

    name: str
    margin: float
    draw: Draw


def _of_units(
    margin: float, groups: Sequence[tuple[str, float, Numbers]], cassette: str
) -> Effect:
    """An effect on a difference, from the contrasts of the units of each group."""
    variance = sum(weight**2 * values.var(ddof=1) / values.size for _, weight, values in groups)
    return Effect(
        estimate=margin * math.fsum(weight * float(values.mean()) for _, weight, values in groups),
        interval=None,
        se=margin * math.sqrt(variance),
        df=float(sum(values.size - 1 for _, _, values in groups)),
        scale="difference",
        cassette=cassette,
        by_unit=tuple(
            UnitGroup(
                group=name,
                weight=weight,
                values={f"{n}": margin * value for n, value in enumerate(values.tolist())},
            )
            for name, weight, values in groups
        ),
    )


def seeds(rng: np.random.Generator, effects: Sequence[float], replicates: int = 3) -> list[Effect]:
    """Contrasts of 25 seeds, in margins."""
    margin, n = 0.105, 25
    shared = rng.normal(0, 0.05 / margin, n)
    of_replies = math.sqrt(4 * 0.35**2 / (16 * replicates)) / margin
    return [
        _of_units(margin, [("seed", 1.0, shared + rng.normal(effect, of_replies, n))], f"{place}")
        for place, effect in enumerate(effects)
    ]


def names(rng: np.random.Generator, effects: Sequence[float]) -> list[Effect]:
    """Means of 24 names in each of two groups, in margins."""
    margin, n = 0.10, 24
    shared = rng.normal(0, 0.03 / margin, (2, n))
    of_replies = math.sqrt(0.165 * 0.835 / 90) / margin
    found = []
    for place, effect in enumerate(effects):
        values = shared + rng.normal(0, of_replies, (2, n))
        groups = [("high", 1.0, values[0] + effect), ("low", -1.0, values[1])]
        found.append(_of_units(margin, groups, f"{place}"))
    return found


def fixed_set(rng: np.random.Generator, effects: Sequence[float]) -> list[Effect]:
    """Replies of two arms of one vignette, in months."""
    found = []
    for place, effect in enumerate(effects):
        high, low = rng.normal(0.6 * effect, 1, 120), rng.normal(0, 1, 120)
        welch = means.welch(high, low)
        found.append(
            Effect(
                estimate=welch.estimate,
                interval=welch.interval,
                se=welch.se,
                df=welch.df,
                scale="difference",
                cassette=f"{place}",
            )
        )
    return found


def _grid(events: tuple[int, int], n: int) -> Grid:
    cells = tuple(
        Cell(
            labels={"side": side},
            members={},
            values=np.repeat([1.0, 0.0], [count, n - count]),
            reasons={},
        )
        for side, count in zip(SIDES, events, strict=True)
    )
    return Grid(cells=cells, bounds=(0.0, 1.0), flags=True)


@cache
def _of_difference(events: tuple[int, int], n: int) -> Tested:
    return rate_difference(_grid(events, n), BETWEEN, margin=None, null="zero")


@cache
def _of_ratio(events: tuple[int, int], n: int) -> Tested:
    return rate_ratio(_grid(events, n), BETWEEN, margin=None, null="zero")


def _counts(rng: np.random.Generator, n: int, effect: tuple[float, float]) -> tuple[int, int]:
    high, low = (int(rng.binomial(n, rate)) for rate in effect)
    return high, low


def rates(rng: np.random.Generator, effects: Sequence[float]) -> list[Effect]:
    """Shares of two sides of 788 replies; below 0 it is the other side that is raised."""
    n, base, margin = 788, 0.165, 0.10
    found = []
    for place, effect in enumerate(effects):
        raised = base + abs(effect) * margin
        sides = (raised, base) if effect >= 0 else (base, raised)
        tested = _of_difference(_counts(rng, n, sides), n)
        found.append(_of_tested(tested, f"{place}", ratio=False))
    return found


def ratios(rng: np.random.Generator, effects: Sequence[float]) -> list[Effect]:
    """Shares of two sides of 2,000 replies whose ratio is 1.25 to the power of the effect."""
    n, base, margin = 2_000, 0.35, 1.25
    found = []
    for place, effect in enumerate(effects):
        raised = base * margin ** abs(effect)
        sides = (raised, base) if effect >= 0 else (base, raised)
        tested = _of_ratio(_counts(rng, n, sides), n)
        found.append(_of_tested(tested, f"{place}", ratio=True))
    return found


def _of_tested(tested: Tested, cassette: str, *, ratio: bool) -> Effect:
    return Effect(
        estimate=tested.estimate,
        interval=tested.interval,
        se=tested.se,
        df=tested.df,
        scale="ratio" if ratio else "difference",
        cassette=cassette,
    )


ROWS = (
    Row("seeds, paired", 0.105, seeds),
    Row("names in groups, paired", 0.10, names),
    Row("fixed set, 120 a side", 0.6, fixed_set),
    Row("rates, 788 a side", 0.10, rates),
    Row("ratios, 2,000 a side", 1.25, ratios),
)


def share(
    row: Row, candidate: float, baseline: float, *, runs: int, stream: Sequence[int]
) -> Share:
    """How many of ``runs`` simulated upgrades pass."""
    rng = np.random.default_rng([SEED, *stream])
    hits = 0
    for _ in range(runs):
        ours, theirs = row.draw(rng, [candidate, baseline])
        hits += compared(ours, theirs, margin=row.margin).no_worse
    return Share(hits, runs)


def falsely(row: Row, number: int, runs: int) -> list[Share]:
    """At the boundary, for each size of B: C on the same side, then on the other."""
    return [
        share(
            row,
            sign * (size + 1),
            size,
            runs=runs,
            stream=(number, 0, place, int(sign < 0)),
        )
        for place, size in enumerate(SIZES)
        for sign in SIGNS
    ]


def unchanged(row: Row, number: int, runs: int) -> list[Share]:
    """Without any change, for each size."""
    return [
        share(row, size, size, runs=runs, stream=(number, 1, place, 0))
        for place, size in enumerate(SIZES)
    ]


def is_false_too_often(found: Share) -> bool:
    """Whether more of them pass than may."""
    return found.value > MOST_FALSE


def is_too_weak(found: Share) -> bool:
    """Whether fewer pass than should, by more than chance explains."""
    return found.value + SHORT * found.error < LEAST_POWER


def report(name: str, errors: Sequence[Share], powers: Sequence[Share]) -> int:
    """Print the lines of a row; the number of shares that are off."""
    off = [is_false_too_often(each) for each in errors] + [is_too_weak(each) for each in powers]
    cells = [
        f"{found!s}{' OFF' if bad else ''}"
        for found, bad in zip([*errors, *powers], off, strict=True)
    ]
    say(name)
    say(f"{'  a margin worse, same sign':30}" + "".join(f"{c:>20}" for c in cells[:8:2]))
    say(f"{'  a margin worse, other sign':30}" + "".join(f"{c:>20}" for c in cells[1:8:2]))
    say(f"{'  unchanged':30}" + "".join(f"{c:>20}" for c in cells[8:]))
    return sum(off)


UPGRADES = 10
MOST_UNCHANGED = 0.25
LEAST_CREEP = 0.98


def stopped_at(
    start: float, *, step: float, replicates: int, runs: int, last: bool = False
) -> NDArray[np.int64]:
    """At which of ten upgrades of 25 seeds each run is stopped; 11 where none is.

    The first version's effect is ``start`` margins, each further one's a ``step`` more. What
    passes is accepted, and with ``last`` only the last accepted counts.
    """
    rng = np.random.default_rng([SEED, 2, replicates, round(10 * step) + 100, int(last)])
    found = []
    for _ in range(runs):
        first, *candidates = seeds(
            rng, [start + number * step for number in range(UPGRADES + 1)], replicates
        )
        accepted, at = [first], UPGRADES + 1
        for number, candidate in enumerate(candidates, 1):
            if not held(candidate, accepted[-1:] if last else accepted, margin=0.105).no_worse:
                at = number
                break
            accepted.append(candidate)
        found.append(at)
    return np.array(found)


def passed_after(history: Sequence[float], candidate: float, *, runs: int) -> Share:
    """How many candidates of 25 seeds pass after versions of these sizes, in margins."""
    rng = np.random.default_rng([SEED, 3, len(history), round(10 * history[-1])])
    hits = 0
    for _ in range(runs):
        *versions, last = seeds(rng, [*history, candidate])
        hits += held(last, versions, margin=0.105).no_worse
    return Share(hits, runs)


def in_a_row(runs: int) -> int:
    """Print how many of so many runs are stopped in ten upgrades; the number that is off."""
    off = 0
    say(f"ten upgrades in a row of 25 seeds, {runs:,} runs: stopped ± Monte Carlo standard error")
    for start, step, replicates, last in product((0.0, 3.0), (0.0, 0.4), (3, 4), (True, False)):
        at = stopped_at(start, step=step, replicates=replicates, runs=runs, last=last)
        by = {each: Share(int((at <= each).sum()), runs) for each in (2, 3, 4, UPGRADES)}
        wrong = by[4].value < LEAST_CREEP if step else by[UPGRADES].value > MOST_UNCHANGED
        off += wrong and not last
        say(
            f"from {start:g}, steps of {step:g}, {replicates} replicates, beside "
            f"{'the last' if last else 'all accepted'}: "
            + ", ".join(f"by upgrade {each} {found!s}" for each, found in by.items())
            + (" OFF" if wrong and not last else "")
        )
    for name, history in (("one version", [3.0]), ("four", [3.0] * 4), ("3, then 2", [3.0, 2.0])):
        found = passed_after(history, history[-1] + 1, runs=runs)
        say(f"a margin worse passes after {name}: {found!s}")
    return off


def main(arguments: Sequence[str] | None = None) -> int:
    """Simulate, print, compare."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--simulations", type=int, default=2_000)
    parser.add_argument("--row", default="", help="only rows whose name holds this")
    parser.add_argument("--upgrades", type=int, default=0, help="runs of ten upgrades in a row")
    given = parser.parse_args(arguments)
    if given.upgrades:
        return int(in_a_row(given.upgrades) > 0)
    say(
        f"share that passes ± Monte Carlo standard error, {given.simulations:,} simulations; a "
        f"margin worse: at most {MOST_FALSE:g}; unchanged: at least {LEAST_POWER:g}"
    )
    say(f"{'B, in margins':30}" + "".join(f"{size:>20g}" for size in SIZES))
    off = count = 0
    for number, row in enumerate(ROWS):
        if given.row in row.name:
            errors = falsely(row, number, given.simulations)
            powers = unchanged(row, number, given.simulations)
            note(f"{row.name}: done")
            off += report(row.name, errors, powers)
            count += len(errors) + len(powers)
    say(f"\n{off} of {count} shares off")
    return 1 if off or not count else 0


if __name__ == "__main__":
    sys.exit(main())
