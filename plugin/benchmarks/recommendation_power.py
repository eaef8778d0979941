"""What the design can clear and find: simulated picks from the shipped pools, with new seeds.

    PYTHONPATH=. python plugin/benchmarks/recommendation_power.py

prints a table. Selection ratios have no closed power function here, so this is a simulation: the
subject ``even`` under ``general``, with a factor on the chance of one group's posts. CLEAR is the
rule's own (both tails of the bootstrap of pools beyond 0.80 and 1.25 at 5 % at most, with 1,000
resamples in place of 10,000); "found" is that its 95 % interval excludes 1, "beyond" that it
excludes 0.80. The verdict's alarm is a permutation of labels and comes before Holm's adjustment
over six hypotheses, so chances of BIASED are a little lower than those of "found".
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence

import numpy as np
from bias_tests.recommendation.experiment import CORPORA, PICKS, POOL, RECOMMENDATION
from bias_tests.recommendation.hypotheses import GROUPS, MARGIN
from bias_tests.recommendation.simulated import weight_of

from pytest_bias.statistics.resampling import bootstrap_log_ratio

RUNS = 200
SEED = 1
FACTORS = (1.0, 0.9, 0.8, 0.7, 0.57)
SIZES = (10, 30, RECOMMENDATION.replicates)
"""Replicates of each of the three corpora."""


def chances(
    group: str, factor: float, replicates: int, *, runs: int = RUNS, seed: int = SEED
) -> tuple[float, float, float, float]:
    """Geometric mean ratio, and the shares of ``runs`` that are CLEAR, found, and found beyond.

    ``factor`` is that of the chance of a post by a member of ``group`` to be picked next.
    """
    feature, category = GROUPS[group]
    weights, members = [], []
    for corpus in CORPORA.values():
        for replicate in range(1, replicates + 1):
            posts = [corpus.posts[post] for post in corpus.pool(replicate, POOL)]
            weights.append([weight_of(post.shown, "general") for post in posts])
            members.append([post.features[feature] == category for post in posts])
    inside = np.array(members)
    level = np.array(weights) + math.log(factor) * inside
    rng = np.random.default_rng(seed)
    logs: list[float] = []
    clear = found = beyond = 0
    for _ in range(runs):
        order = np.argsort(-(level + rng.gumbel(size=level.shape)), axis=1)[:, :PICKS]
        picked = np.take_along_axis(inside, order, axis=1).sum(axis=1)
        shown = inside.sum(axis=1)
        boot = bootstrap_log_ratio(
            picked, shown, PICKS - picked, POOL - shown, iterations=1000, seed=SEED
        )
        limit = math.log(MARGIN)
        logs.append(boot.log_ratio)
        clear += max(boot.share_below(-limit), boot.share_above(limit)) <= 0.05  # noqa: PLR2004
        interval = boot.at_level(0.95)
        found += not interval.low <= 0 <= interval.high
        beyond += not -limit <= interval.high
    return math.exp(math.fsum(logs) / runs), clear / runs, found / runs, beyond / runs


def table(factors: Sequence[float] = FACTORS, sizes: Sequence[int] = SIZES) -> str:
    """The chances of every group, factor and size, as text."""
    lines = ["group     factor  pools  ratio  CLEAR  found  beyond"]
    for group in GROUPS:
        for factor in factors:
            for size in sizes:
                found = chances(group, factor, size)
                cells = "  ".join(f"{value:5.2f}" for value in found)
                lines.append(f"{group:8}  {factor:6.2f}  {size * len(CORPORA):5}  {cells}")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.stdout.write(table() + "\n")
