"""A candidate beside a baseline: each way, how often it errs, and over ten upgrades."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from pytest_bias.baselines.noninferiority import (
    Compared,
    Effect,
    compare_with_versions,
    compared,
    effect_of,
)
from pytest_bias.contrasts.estimate import Scale, UnitGroup
from pytest_bias.stats.means import StudentEstimate
from pytest_bias.stats.noninferiority import (
    non_inferior_from_estimates,
    non_inferior_paired_groups,
)
from pytest_bias.stats.results import Interval

from .factories import finding

close: Any = pytest.approx


def within(margin: float | None, now: Effect, then: Effect) -> Compared:
    """The two compared with another margin than theirs."""
    return compared(replace(now, margin=margin), then)


def effect(estimate: float, cassette: str = "new", **changes: Any) -> Effect:
    given: dict[str, Any] = {
        "interval": Interval(low=estimate - 0.2, high=estimate + 0.2, level=0.95),
        "se": 0.1,
        "df": 200.0,
        "scale": "difference",
        "margin": 0.6,
        "clears": False,
    }
    return Effect(estimate=estimate, cassette=cassette, **(given | changes))


def units(values: Any, weight: float = 1.0, group: str = "seed") -> UnitGroup:
    named = {f"{group}{i}": float(value) for i, value in enumerate(values)}
    return UnitGroup(group=group, weight=weight, values=named)


def of_units(*groups: UnitGroup, cassette: str = "new", scale: Scale = "difference") -> Effect:
    total = sum(g.weight * float(np.mean(list(g.values.values()))) for g in groups)
    return effect(
        math.exp(total) if scale == "ratio" else total,
        cassette,
        by_unit=groups,
        scale=scale,
        interval=None,
    )


def draws(n: int, seed: int, mean: float = 0.0) -> Any:
    return np.random.default_rng(seed).normal(mean, 0.5, n)


OURS, THEIRS = draws(12, 1, 0.4), draws(12, 2, 0.6)
PAIRED = (of_units(units(OURS)), of_units(units(THEIRS), cassette="old"))


def test_the_same_replies_are_no_worse_whatever_they_show() -> None:
    now = effect(5.0, "abc", se=None, interval=None)
    for margin in (None, 0.1):
        found = within(margin, now, now)
        assert (found.how, found.no_worse, found.units) == ("same replies", True, 0)
    other = within(0.1, replace(now, estimate=5.1), now)
    assert not other.no_worse


@pytest.mark.parametrize("margin", [0.1, 0.3, 0.5, 1.0])
def test_units_that_both_have_are_paired(margin: float) -> None:
    found = within(margin, *PAIRED)
    expected = non_inferior_paired_groups([(1.0, OURS, THEIRS)], margin=margin)
    assert found == Compared(
        how="paired",
        bound=close(expected.bound),
        margin=margin,
        units=12,
        no_worse=expected.non_inferior,
        words=found.words,
        least=close(expected.least),
        worse=expected.larger and not expected.non_inferior,
    )
    assert bool(found.words) != found.no_worse


def test_groups_are_paired_with_their_weights() -> None:
    groups = [(1.0, draws(6, 3, 1), draws(6, 4, 1)), (-1.0, draws(5, 5), draws(5, 6))]
    now, then = (
        of_units(
            *(units(g[side], g[0], f"g{place}") for place, g in enumerate(groups)), cassette=name
        )
        for side, name in ((1, "new"), (2, "old"))
    )
    found = within(0.9, now, then)
    expected = non_inferior_paired_groups(groups, margin=0.9)
    assert (found.how, found.units) == ("paired", 11)
    assert (found.bound, found.no_worse) == (close(expected.bound), expected.non_inferior)


def test_pools_pair_on_the_log_scale() -> None:
    now, then = (
        of_units(units(values, group="pools"), cassette=name, scale="ratio")
        for values, name in ((OURS, "new"), (THEIRS, "old"))
    )
    found = within(1.6, now, then)
    expected = non_inferior_paired_groups([(1.0, OURS, THEIRS)], margin=math.log(1.6))
    assert found.margin == close(math.log(1.6))
    assert (found.how, found.bound) == ("paired", close(expected.bound))
    worse = within(1.05, then, now)
    assert not worse.no_worse
    assert worse.bound is not None
    assert f"by a factor of {math.exp(worse.bound):.2f}, margin 1.05" in worse.words


@pytest.mark.parametrize(
    "by_unit", [(), (units(draws(9, 1), group="fresh"),)], ids=["none", "other"]
)
@pytest.mark.parametrize(
    ("now", "then"), [(1.0, 1.0), (0.7, 1.0), (-1.0, 1.0), (1.4, 1.0), (2.5, 1.0), (0.1, 0.0)]
)
def test_estimates_that_share_nothing_are_independent(
    now: float, then: float, by_unit: tuple[UnitGroup, ...]
) -> None:
    ours = effect(now, by_unit=by_unit)
    theirs = effect(then, "old", se=0.2, df=50.0, by_unit=(units(draws(9, 2)),) if by_unit else ())
    found = within(0.6, ours, theirs)
    expected = non_inferior_from_estimates(
        StudentEstimate(estimate=now, se=0.1, df=200),
        StudentEstimate(estimate=then, se=0.2, df=50),
        margin=0.6,
    )
    assert (found.how, found.units) == ("independent", 0)
    assert (found.bound, found.no_worse) == (close(expected.bound), expected.non_inferior)


def test_ratios_are_compared_as_logarithms() -> None:
    changes: dict[str, Any] = {"scale": "ratio", "interval": None}
    below, above = (effect(r, name, **changes) for r, name in ((0.5, "new"), (2.0, "old")))
    found = within(1.5, below, above)
    assert found.how == "independent"
    assert found.no_worse  # a half is as far from 1 as the double
    far = within(1.5, effect(0.25, **changes), above)
    assert not far.no_worse
    assert far.bound == close(math.log(2) + 1.97 * math.sqrt(0.02), rel=1e-2)
    assert "by a factor of" in far.words


@pytest.mark.parametrize(
    ("now", "then"),
    [
        (effect(1.0), effect(1.0, "old", se=None)),
        (effect(0.0, scale="ratio"), effect(2.0, "old", scale="ratio")),
    ],
    ids=["no standard error", "a ratio of 0"],
)
def test_what_is_lacking_is_said(now: Effect, then: Effect) -> None:
    found = within(1.5, now, then)
    assert (found.how, found.no_worse, found.bound) == ("not comparable", False, None)
    assert "no standard error" in found.words
    assert found.words.endswith("then only the same replies are")


def test_the_width_of_an_interval_stands_for_the_standard_error_of_replies_all_alike() -> None:
    usual: dict[str, Any] = {"se": None, "df": None, "estimate": 1.0}
    alike = effect_of(finding(**usual, interval=Interval(low=0.8, high=1.2, level=0.95)), "abc")
    assert alike.se == close(0.2 / 1.96, rel=1e-4)
    ratio = Interval(low=0.5, high=2.0, level=0.95)
    assert effect_of(finding(**usual, interval=ratio, scale="ratio"), "abc").se == close(
        math.log(2) / 1.96, rel=1e-4
    )
    assert effect_of(finding(**usual, interval=None), "abc").se is None


# --- by hand ----------------------------------------------------------------------------------


def drawn(rng: np.random.Generator, shift: float, cassette: str, n: int = 120) -> Effect:
    """A difference of two arms of ``n`` replies with an SD of 1."""
    high, low = rng.normal(shift, 1, n), rng.normal(0, 1, n)
    se = math.sqrt(high.var(ddof=1) / n + low.var(ddof=1) / n)
    return effect(float(high.mean() - low.mean()), cassette, se=se, df=2.0 * n - 2, interval=None)


@pytest.mark.parametrize(("baseline", "candidate"), [(0.0, 0.6), (1.2, -1.8)])
def test_a_margin_worse_is_seldom_called_no_worse(baseline: float, candidate: float) -> None:
    rng = np.random.default_rng(1)
    draws = 400
    passed = sum(
        within(0.6, drawn(rng, candidate, "new"), drawn(rng, baseline, "old")).no_worse
        for _ in range(draws)
    )
    assert passed / draws <= 0.05 + 2 * math.sqrt(0.05 * 0.95 / draws)


def test_what_has_not_changed_passes_and_small_steps_do_not_add_up() -> None:
    rng = np.random.default_rng(2)
    same = [
        compare_with_versions(drawn(rng, 0, "new"), [drawn(rng, 0, "old")]) for _ in range(200)
    ]
    assert sum(found.no_worse for found in same) / 200 >= 0.9
    crept = 0
    for _ in range(100):
        versions = [drawn(rng, 0.24 * step, f"{step}") for step in range(4)]
        crept += compare_with_versions(drawn(rng, 0.96, "new"), versions).no_worse
    assert crept <= 5
