"""How often rare replies far from the rest are falsely cleared: by a t test, and by our rule.

    python plugin/benchmarks/rare_replies.py [--simulations 1000]

A whole number from 0 to 12 is asked for; the margin is .6. The second group's replies are normal
around a base, rounded; in the first a share of replies lies far away, so that the true difference
is .6, at the margin: every CLEAR is false. Columns are two one-sided t tests alone, and the rule
of ``estimation.two_groups.compare``. Exit status 1 where the rule is above .10 anywhere.

The last rows say what the rule costs: how often two equal groups are cleared.
"""

from __future__ import annotations

import argparse
import math
import sys

import numpy as np
from numpy.typing import NDArray

from benchmarks.common import note, say
from pytest_bias.contrasts.estimation.two_groups import compare_groups

ALPHA = 0.05
MARGIN = 0.6
BOUNDS = (0.0, 12.0)
SEED = 20_261_121
SIZES = (10, 30, 120)
SPREADS = (0.0, 0.3, 0.6, 1.0)
RARE = ((0.0857, 5.0), (0.05, 0.0))
"""Share of rare replies at 12, and where the rest is: both make the difference .6."""

EQUAL = ((30, 0.8), (120, 1.0), (120, 1.25))
TOLERATED = 0.10


def replies(rng: np.random.Generator, n: int, *, base: float, sd: float) -> NDArray[np.float64]:
    """Whole numbers around ``base``."""
    return np.clip(np.round(rng.normal(base, sd, n)), *BOUNDS)


def cleared(
    rng: np.random.Generator, n: int, *, base: float, sd: float, share: float
) -> tuple[bool, bool]:
    """Whether the t tests clear two groups, and whether the rule does."""
    b = replies(rng, n, base=base, sd=sd)
    a = np.where(rng.random(n) < share, BOUNDS[1], replies(rng, n, base=base, sd=sd))
    tested = compare_groups(a, b, margin=MARGIN, bounds=BOUNDS)
    by_t = tested.tost is not None and tested.tost.p <= ALPHA
    return by_t, tested.p_clear is not None and tested.p_clear <= ALPHA


def main(arguments: list[str] | None = None) -> int:
    """Print the table; 1 where the rule clears falsely more often than is tolerated."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--simulations", type=int, default=1000)
    runs = parser.parse_args(arguments).simulations
    rng = np.random.default_rng(SEED)
    say(f"{'n':>4} {'rest SD':>8} {'rare':>6} {'rest at':>8} {'t tests':>8} {'rule':>6}  (±MCSE)")
    worst = 0.0
    rows = [(n, sd, share, base) for n in SIZES for sd in SPREADS for share, base in RARE]
    for n, sd, share, base in [*rows, *((n, sd, 0.0, 5.0) for n, sd in EQUAL)]:
        note(f"n = {n}, rest SD {sd}, rare {share}")
        found = np.array([cleared(rng, n, base=base, sd=sd, share=share) for _ in range(runs)])
        by_t, rule = found.mean(axis=0)
        error = math.sqrt(max(rule * (1 - rule), 1 / runs) / runs)
        say(f"{n:4} {sd:8} {share:6.2%} {base:8} {by_t:8.3f} {rule:6.3f}  ±{error:.3f}")
        worst = max(worst, rule if share else 0.0)
    say(f"falsely CLEAR by the rule: {worst:.3f} at most (tolerated {TOLERATED})")
    return int(worst > TOLERATED)


if __name__ == "__main__":
    sys.exit(main())
