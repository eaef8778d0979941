"""Ten upgrades of one claim: no change must pass, and small steps must not add up.

Each is held beside all that was accepted before as the gate does it, and accepted where it
passes. Log length of 25 seeds, an accepted bias of 3 margins, as `benchmarks/upgrade_gate.py`
draws it; with 4,000 runs it prints the table of docs/upgrade_gate.md.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from benchmarks.upgrade_gate import fixed_set, seeds, stopped_at
from pytest_bias.baselines.noninferiority import held, shrunken
from pytest_bias.statistics.noninferiority import (
    non_inferior_from_estimates,
    replication_to_decide,
    shrinkage,
    shrunken_best,
    shrunken_best_from_estimates,
)

from ..helpers import there

RUNS = 100


def error(share: float) -> float:
    """The Monte Carlo standard error of a share."""
    return math.sqrt(share * (1 - share) / RUNS)


@pytest.mark.parametrize(("replicates", "most"), [(3, 0.25), (4, 0.10)])
def test_ten_unchanged_upgrades_of_a_known_bias_mostly_pass(replicates: int, most: float) -> None:
    """Of 4,000 runs .21 and .06 are stopped; held beside the smallest estimate .76 and .40."""
    found = stopped_at(3.0, step=0.0, replicates=replicates, runs=RUNS)
    share = float(np.mean(found <= 10))
    assert share <= most + 2 * error(most)


@pytest.mark.parametrize("start", [3.0, -3.0])
def test_steps_of_four_tenths_of_a_margin_are_stopped_by_the_fourth(start: float) -> None:
    found = stopped_at(start, step=math.copysign(0.4, start), replicates=3, runs=RUNS)
    assert np.mean(found <= 4) >= 0.98
    assert np.mean(found <= 10) == 1


@pytest.mark.parametrize("draw", [seeds, fixed_set])
def test_a_margin_worse_passes_seldom_after_four_unchanged_versions(draw: object) -> None:
    rng = np.random.default_rng(3)
    passed = []
    margin = 0.105 if draw is seeds else 0.6
    for _ in range(RUNS):
        *versions, candidate = (seeds if draw is seeds else fixed_set)(
            rng, [3.0, 3.0, 3.0, 3.0, 4.0]
        )
        passed.append(held(candidate, versions, margin=margin).no_worse)
    assert np.mean(passed) <= 0.05 + 2 * error(0.05)


# --- by hand ----------------------------------------------------------------------------------


def test_the_weight_of_the_mean_by_hand() -> None:
    """Means 2, 3, 4 with s² = .25: variance 1, tau² .75, 1 - lambda .25, and s / 1 is more."""
    best, weight = shrinkage(np.array([3.0, 2.0, 4.0]), 0.25)
    assert (best, round(weight, 12)) == (1, 0.25)
    # Nothing but chance: the mean of all, as far as one standard error leads.
    best, weight = shrinkage(np.array([-1.0, 1.0, 3.0]), 9.0)
    assert (best, weight) == (0, 1.0)
    assert shrinkage(np.array([-1.0, 2.0, 8.0]), 19.0)[1] == pytest.approx(
        min(19 / (21 - 19 + 19), math.sqrt(19) / 4)
    )
    assert shrinkage(np.array([1.0, 9.0]), 0.0) == (0, 0.0)


def test_units_are_drawn_towards_their_own_means() -> None:
    rng = np.random.default_rng(8)
    contrasts = rng.normal(0, 1, (4, 7)) + np.arange(4)[:, None] + 3
    (found,) = shrunken_best([(1.0, contrasts)])
    mu = contrasts.mean(axis=0)
    square = 4 / 3 * np.mean([np.var(row - mu, ddof=1) / 7 for row in contrasts])
    means = contrasts.mean(axis=1)
    tau = max(0.0, float(np.var(means, ddof=1) - square))
    m = int(np.argmin(abs(means)))
    w = min(square / (tau + square), math.sqrt(square) / abs(means.mean() - means[m]))
    assert found == pytest.approx((1 - w) * contrasts[m] + w * mu)
    # Two groups whose difference is asked: the variance of the sum, by squared weights.
    other = rng.normal(0, 1, (4, 9))
    high, low = shrunken_best([(1.0, contrasts), (-1.0, other)])
    both = means - other.mean(axis=1)
    weight = np.linalg.lstsq(
        (contrasts.mean(axis=0) - contrasts[int(np.argmin(abs(both)))])[:, None],
        high - contrasts[int(np.argmin(abs(both)))],
        rcond=None,
    )[0][0]
    assert 0 <= weight <= 1
    assert low == pytest.approx(
        (1 - weight) * other[int(np.argmin(abs(both)))] + weight * other.mean(axis=0)
    )


def test_the_standard_error_of_estimates_put_together_is_that_of_their_sum() -> None:
    """Two alike: the weight is 1, and the error that of a mean of two."""
    best, se = shrunken_best_from_estimates([1.0, 1.0], [0.2, 0.2])
    assert (best, se) == pytest.approx((1.0, 0.2 / math.sqrt(2)))
    best, se = shrunken_best_from_estimates([1.0, 5.0], [0.1, 0.1])
    w = 0.01 / 8
    assert best == pytest.approx(1 + 2 * w)
    assert se == pytest.approx(0.1 * math.hypot(1 - w + w / 2, w / 2))


def test_what_cannot_be_put_together_is_held_beside_the_smallest() -> None:
    rng = np.random.default_rng(1)
    one, two, candidate = seeds(rng, [1.0, 3.0, 3.0])
    other = replace(two, by_unit=())
    assert shrunken([one, two]) is not None
    assert shrunken([one, other]) is None
    found = held(candidate, [one, other], margin=0.105)
    assert (found.how, found.worse) == ("paired", True)


def test_so_many_replicates_decide_where_nothing_changed() -> None:
    """What was recorded is added to as told: nine in ten are then shown to be no worse."""
    rng = np.random.default_rng(4)
    margin, se = 0.6, 0.4
    decided: list[bool] = []
    while len(decided) < RUNS:
        ours, theirs = 2 + se * rng.normal(size=2)
        given = {"se_candidate": se, "se_baseline": se, "df_candidate": 4e3, "df_baseline": 4e3}
        found = non_inferior_from_estimates(
            candidate=ours, baseline=theirs, margin=margin, **given
        )
        if found.non_inferior or found.larger:
            continue
        times = there(replication_to_decide(found))
        ours, theirs = (
            each / times + (1 - 1 / times) * (2 + se / math.sqrt(times - 1) * float(rng.normal()))
            for each in (ours, theirs)
        )
        less = {name: v / math.sqrt(times) if "se" in name else v for name, v in given.items()}
        again = non_inferior_from_estimates(candidate=ours, baseline=theirs, margin=margin, **less)
        decided.append(again.non_inferior)
    assert abs(np.mean(decided) - 0.90) <= 3 * error(0.9)
