"""How often what is rare and far from the rest is falsely cleared: by t tests, and by our rule.

    python plugin/benchmarks/rare_replies.py [--simulations 300]

A whole number from 0 to 12 is asked for; the margin is .6. The second group's replies are normal
around a base, rounded; in the first a share of replies lies far away, so that the true difference
is .6, at the margin: every CLEAR is false. Columns are two one-sided t tests alone, and the rule
of ``estimation.fixed``. Of an interaction n are the replies of a side, half of them in each of its
cells, and one cell of four has the rare ones. Exit status 1 where the rule is above .05 by more
than three standard errors anywhere.

The last rows of each say what the rule costs: how often equal groups are cleared.
"""

from __future__ import annotations

import argparse
import itertools
import math
import sys

import numpy as np
from numpy.typing import NDArray

from benchmarks.common import note, say
from pytest_bias.contrasts.estimation.cells import Cell, Grid, Weights
from pytest_bias.contrasts.estimation.fixed import fixed_contrast

ALPHA = 0.05
MARGIN = 0.6
BOUNDS = (0.0, 12.0)
SEED = 20_261_121
SIZES = (10, 20, 30, 72, 120)
SPREADS = (0.0, 0.3, 0.6, 1.0)
RARE = ((0.0857, 5.0), (0.075, 4.0), (0.05, 0.0))
"""Share of rare replies at 12, and where the rest is: all make the difference .6."""

EQUAL = ((30, 0.8), (60, 0.8), (120, 1.0), (240, 1.0))
ERRORS = 3


def replies(rng: np.random.Generator, n: int, *, base: float, sd: float) -> NDArray[np.float64]:
    """Whole numbers around ``base``."""
    return np.clip(np.round(rng.normal(base, sd, n)), *BOUNDS)


def cleared(
    rng: np.random.Generator, n: int, *, base: float, sd: float, share: float, factors: int
) -> tuple[bool, bool]:
    """Whether the t tests clear a contrast of one factor or two, and whether the rule does."""
    names = ("tone", "style")[:factors]
    cells = []
    for levels in itertools.product(("high", "low"), repeat=factors):
        size = n // factors
        values = replies(rng, size, base=base, sd=sd)
        if set(levels) == {"high"}:
            values = np.where(rng.random(size) < share, BOUNDS[1], values)
        labels = dict(zip(names, levels, strict=True))
        cells.append(Cell(labels=labels, members={}, values=values, reasons={}))
    tested = fixed_contrast(
        Grid(cells=tuple(cells), bounds=BOUNDS, flags=False),
        Weights({name: {"high": 1.0, "low": -1.0} for name in names}),
        margin=MARGIN,
        null="zero",
    )
    by_t = tested.tost is not None and tested.tost.p <= ALPHA
    return by_t, tested.p_clear is not None and tested.p_clear <= ALPHA


def main(arguments: list[str] | None = None) -> int:
    """Print the table; 1 where the rule clears falsely more often than is tolerated."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--simulations", type=int, default=300)
    runs = parser.parse_args(arguments).simulations
    rng = np.random.default_rng(SEED)
    rows = [(n, sd, share, base) for n in SIZES for sd in SPREADS for share, base in RARE]
    rows += [(n, sd, 0.0, 5.0) for n, sd in EQUAL]
    tolerated = ALPHA + ERRORS * math.sqrt(ALPHA * (1 - ALPHA) / runs)
    worst = 0.0
    for factors, kind in ((1, "two groups"), (2, "interaction")):
        say(kind)
        say(f"{'n':>4} {'rest SD':>8} {'rare':>6} {'rest at':>8} {'t tests':>8} {'rule':>6}")
        for n, sd, share, base in rows:
            note(f"{kind}, n = {n}, rest SD {sd}, rare {share}")
            given = {"base": base, "sd": sd, "share": share}
            found = [cleared(rng, n, **given, factors=factors) for _ in range(runs)]
            by_t, rule = np.mean(found, axis=0)
            say(f"{n:4} {sd:8} {share:6.2%} {base:8} {by_t:8.3f} {rule:6.3f}")
            worst = max(worst, rule if share else 0.0)
    say(f"falsely CLEAR by the rule: {worst:.3f} at most (tolerated {tolerated:.3f})")
    return int(worst > tolerated)


if __name__ == "__main__":
    sys.exit(main())
