"""Error rates of the primary analyses, by simulation with fixed seeds.

Each rate is of 200 runs, whose Monte Carlo standard error at .05 is .015: the bound is .05 plus
two of them. Under ICC .3 the units of a population share .3 of the variance of their replies.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from itertools import product
from math import sqrt
from unittest import mock

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats  # type: ignore[import-untyped, unused-ignore]  # scipy ships no types

from pytest_bias.contrasts.estimation import groups as group_engines
from pytest_bias.contrasts.estimation.cells import (
    Grid,
    Weights,
    level_against_rest,
    pairwise,
)
from pytest_bias.contrasts.estimation.fixed import fixed_contrast, rate_difference
from pytest_bias.contrasts.estimation.tested import Tested as Result  # "Test…" would be collected
from pytest_bias.contrasts.estimation.units import crossed_contrast, nested_contrast
from pytest_bias.stats.means import welch
from pytest_bias.stats.permutation import contrast_permutation, group_permutation
from pytest_bias.stats.resampling import bootstrap_t_equivalence
from pytest_bias.stats.simultaneous import holm

from ...helpers import there
from .designs import cell, fewer_weightings, grid

RUNS = 200
BOUND = 0.05 + 2 * sqrt(0.05 * 0.95 / RUNS)
ICC = 0.3
MARGIN = 1.0
WIDE = (-50.0, 50.0)
UNITS = 12
G = ("white", "black", "asian", "hispanic")
Rng = np.random.Generator
Floats = NDArray[np.float64]
Run = Callable[[Rng, float], Result]
FEWER = partial(bootstrap_t_equivalence, resamples=999)


@pytest.fixture(autouse=True)
def _fewer_resamples() -> Iterator[None]:
    """A p is valid with any number of them; a tenth takes a tenth of the time."""
    fewer = partial(group_permutation, resamples=999)
    with mock.patch.object(group_engines, "group_permutation", fewer), fewer_weightings():
        yield


def replies(rng: Rng, mean: float, n: int) -> Floats:
    """``n`` replies of one unit in one condition, which share ``ICC`` of their variance."""
    return np.asarray(mean + rng.normal(0, sqrt(ICC)) + rng.normal(0, sqrt(1 - ICC), n))


def crossed(rng: Rng, effect: float) -> Result:
    """Items that meet both tones; the effect differs between items."""
    cells = [
        cell(replies(rng, effect * (tone == "high"), 4), tone=tone, seed=f"s{i}")
        for i, tone in product(range(UNITS), ("low", "high"))
    ]
    weights = pairwise("tone", ["high"], ["low"])
    return crossed_contrast(grid(cells, WIDE), weights, ["seed"], margin=MARGIN)


def of_groups(rng: Rng, effect: float, chosen: tuple[str, ...], n: int) -> Grid:
    cells = (
        cell(replies(rng, effect * (group == "white"), 4), f"{group} {i}", group=group)
        for group, i in product(chosen, range(n))
    )
    return grid(cells, WIDE)


def nested(rng: Rng, effect: float) -> Result:
    """Names, each of one group."""
    weights = pairwise("group", ["white"], ["black"])
    names = of_groups(rng, effect, G[:2], UNITS)
    return nested_contrast(names, weights, "group", margin=MARGIN)


def nested_few(rng: Rng, effect: float) -> Result:
    """Five names in each group, as audits have them."""
    weights = pairwise("group", ["white"], ["black"])
    return nested_contrast(of_groups(rng, effect, G[:2], 5), weights, "group", margin=MARGIN)


def one_group(rng: Rng, effect: float) -> Result:
    """A group of five names against three others."""
    names = of_groups(rng, effect, G, 5)
    return group_engines.group_against_rest(names, "group", "white", G, margin=MARGIN)


def several(rng: Rng, effect: float) -> Result:
    """Two groups on a side."""
    names = of_groups(rng, 2 * effect, G, 6)
    weights = pairwise("group", G[:2], G[2:])
    fewer = partial(contrast_permutation, resamples=999)
    with mock.patch("pytest_bias.contrasts.estimation.units.contrast_permutation", fewer):
        return nested_contrast(names, weights, "group", margin=MARGIN)


def doubly_crossed(rng: Rng, effect: float) -> Result:
    """A difference of differences within items."""
    cells = [
        cell(
            replies(rng, effect * (tone == "high" and style == "formal"), 3),
            tone=tone,
            style=style,
            seed=f"s{i}",
        )
        for i, tone, style in product(range(UNITS), ("low", "high"), ("plain", "formal"))
    ]
    parts = {"tone": {"high": 1.0, "low": -1.0}, "style": {"formal": 1.0, "plain": -1.0}}
    return crossed_contrast(grid(cells, WIDE), Weights(parts), ["seed"], margin=MARGIN)


def fixed(rng: Rng, effect: float) -> Result:
    """Twelve cells of six independent replies with means and spreads of their own."""
    cells = [
        cell(rng.normal(effect * (tone == "high") + i, 0.5 + 0.2 * i, 6), tone=tone, seed=f"s{i}")
        for i, tone in product(range(6), ("low", "high"))
    ]
    weights = pairwise("tone", ["high"], ["low"])
    return fixed_contrast(grid(cells, WIDE), weights, margin=MARGIN, null="zero")


def beyond(rng: Rng, effect: float) -> Result:
    """A fixed set of names with effects of their own, against the margin."""
    own = np.linspace(-0.8, 0.8, 5)
    cells = [
        cell(rng.normal(effect * (group == "white") + own[i], 0.7, 6), f"{group} {i}", group=group)
        for group, i in product(G, range(5))
    ]
    weights = level_against_rest("group", "white", G)
    return fixed_contrast(grid(cells, WIDE), weights, margin=MARGIN, null="margin")


def rates(rng: Rng, effect: float) -> Result:
    """Rates in three strata that differ."""
    cells = [
        cell(
            rng.random(40) < 0.2 + 0.2 * i + 0.15 * effect * (tone == "high"),
            tone=tone,
            seed=f"s{i}",
        )
        for i, tone in product(range(3), ("low", "high"))
    ]
    weights = pairwise("tone", ["high"], ["low"])
    return rate_difference(grid(cells, flags=True), weights, margin=0.15 * MARGIN, null="zero")


def uneven_group(rng: Rng, effect: float) -> Result:
    """A group of twelve names that vary twice as much as those of three others."""
    cells = [
        cell(
            [rng.normal(effect * (group == "white"), 2.0 if group == "white" else 1.0)],
            f"{group} {i}",
            group=group,
        )
        for group, i in product(G, range(UNITS))
    ]
    return group_engines.group_against_rest(grid(cells, WIDE), "group", "white", G, margin=MARGIN)


def far_replies(rng: Rng, n: int, *, share: float, rest: float, sd: float = 0.6) -> Floats:
    """Whole numbers around ``rest`` on a scale from 0 to 12, with a share at its upper end."""
    near = np.clip(np.round(rng.normal(rest, sd, n)), 0, 12)
    return np.where(rng.random(n) < share, 12.0, near)


def two_with_far(rng: Rng, share: float, *, n: int, rest: float) -> Result:
    """Two groups of replies of which one has a share far away: .6 apart."""
    a, b = (far_replies(rng, n, share=s, rest=rest) for s in (share, 0.0))
    cells = grid([cell(a, tone="high"), cell(b, tone="low")])
    return fixed_contrast(cells, pairwise("tone", ["high"], ["low"]), margin=0.6, null="zero")


def interaction_with_far(rng: Rng, share: float, *, n: int, rest: float) -> Result:
    """A difference of differences whose two sides have n replies each, one cell some far away."""
    cells = [
        cell(
            far_replies(rng, n // 2, share=share * (tone == style == "high"), rest=rest),
            tone=tone,
            style=style,
        )
        for tone, style in product(("low", "high"), repeat=2)
    ]
    parts = {name: {"high": 1.0, "low": -1.0} for name in ("tone", "style")}
    return fixed_contrast(grid(cells), Weights(parts), margin=0.6, null="zero")


def prompts(rng: Rng, share: float, lost: float, *, sd: float = 0.1, n: int = 25) -> Result:
    """Prompts that meet both tones; a share of them loses so much."""
    values = rng.normal(0, sd, n) - lost * (rng.random(n) < share)
    cells = [
        cell([value * (tone == "high")], tone=tone, seed=f"s{i}")
        for i, value in enumerate(values)
        for tone in ("low", "high")
    ]
    return crossed_contrast(
        grid(cells, WIDE), pairwise("tone", ["high"], ["low"]), ["seed"], margin=0.1
    )


ANALYSES: list[Run] = [
    *(crossed, nested, nested_few, one_group, uneven_group, several, doubly_crossed),
    *(fixed, rates, beyond),
]


@cache
def drawn(run: Run, effect: float) -> list[Result]:
    rng = np.random.default_rng(12)
    return [run(rng, effect) for _ in range(RUNS)]


@pytest.mark.parametrize("run", ANALYSES, ids=lambda run: run.__name__)
def test_false_alarms(run: Run) -> None:
    effect = MARGIN if run is beyond else 0.0  # its alarm is raised against the margin
    assert sum(one.p_alarm <= 0.05 for one in drawn(run, effect)) / RUNS <= BOUND


@pytest.mark.parametrize("run", ANALYSES, ids=lambda run: run.__name__)
def test_at_the_margin_it_is_seldom_cleared_and_the_interval_covers_it(run: Run) -> None:
    """Coverage is .95 less three errors."""
    found = drawn(run, MARGIN)
    assert sum(there(one.p_clear) <= 0.05 for one in found) / RUNS <= BOUND
    truth = 0.15 * MARGIN if run is rates else MARGIN
    missed = sum(there(one.interval).excludes(truth) for one in found) / RUNS
    assert missed <= 0.05 + 3 * sqrt(0.05 * 0.95 / RUNS)


@pytest.mark.parametrize("n", [20, 30, 240])
@pytest.mark.parametrize(("share", "rest"), [(0.075, 4.0), (0.05, 0.0)])
@pytest.mark.parametrize("of", [two_with_far, interaction_with_far], ids=lambda of: of.__name__)
def test_rare_far_replies_at_the_margin_are_not_cleared(
    of: Callable[..., Result], share: float, rest: float, n: int
) -> None:
    rng = np.random.default_rng(n)
    found = [of(rng, share, n=n, rest=rest) for _ in range(RUNS)]
    assert sum((one.p_clear or 0) <= 0.05 for one in found) / RUNS <= BOUND
    if of is interaction_with_far and rest == 0.0 and n == 30:  # the negative control
        assert np.mean([one.tost is not None and one.tost.p <= 0.05 for one in found]) > 0.2


@pytest.mark.parametrize(
    ("parts", "n"), [(("tone",), 29), (("tone", "style"), 59)], ids=["difference", "interaction"]
)
def test_so_few_replies_that_unseen_ones_could_make_the_margin_clear_nothing(
    parts: tuple[str, ...], n: int
) -> None:
    """All in the middle of a scale from 0 to 12: (1 - .05^(1/n)) * 6 < .6, of each two sides."""
    assert (1 - 0.05 ** (1 / (n - 1))) * 6 > 0.6 / len(parts) > (1 - 0.05 ** (1 / n)) * 6
    for replies, clears in ((n - 1, False), (n + 1, True)):
        crossed = [*product(("low", "high"), repeat=len(parts))]
        each = 2 * replies // len(crossed)  # of a side, which is half of the cells
        cells = [
            cell(np.resize([5.9, 6.1], each), **dict(zip(parts, levels, strict=True)))
            for levels in crossed
        ]
        weights = Weights({name: {"high": 1.0, "low": -1.0} for name in parts})
        found = fixed_contrast(grid(cells), weights, margin=0.6, null="zero")
        assert there(found.tost).p < 1e-9
        assert (there(found.p_clear) <= 0.05) == clears


@pytest.mark.parametrize("sd", [0.05, 0.1, 0.15])
def test_a_fifth_of_the_units_that_lose_a_lot_is_not_cleared(sd: float) -> None:
    """At the margin of .1, where t tests clear up to .09 of samples of 25."""
    rng = np.random.default_rng(17)
    with mock.patch("pytest_bias.contrasts.estimation.bounded.bootstrap_t_equivalence", FEWER):
        found = [prompts(rng, 0.2, 0.5, sd=sd) for _ in range(2 * RUNS)]
    cleared = sum((one.p_clear or 0) <= 0.05 for one in found) / len(found)
    assert cleared <= 0.05 + 2 * sqrt(0.05 * 0.95 / len(found))


@pytest.mark.parametrize(("share", "lost"), [(0.04, 2.5), (0.08, 1.25)])
def test_what_25_units_cannot_protect_from_is_in_the_tolerance_of_each_clear(
    share: float, lost: float
) -> None:
    """.96^25 = .36 of the samples hold no such unit, .92^25 = .12: they look like no effect."""
    rng = np.random.default_rng(18)
    with mock.patch("pytest_bias.contrasts.estimation.bounded.bootstrap_t_equivalence", FEWER):
        found = [prompts(rng, share, lost) for _ in range(RUNS)]
    cleared = [one for one in found if (one.p_clear or 1) <= 0.05]
    assert len(cleared) / RUNS > BOUND
    assert len(cleared) / RUNS <= (1 - share) ** 25 + 3 * sqrt(0.25 / RUNS)
    assert all("up to 11 % of such seeds could, by any amount" in one.tolerance for one in cleared)
    assert all(not one.tolerance for one in found if one not in cleared)
    assert share < 0.11


EIGHT = tuple("abcdefgh")


def eight_groups(rng: Rng, shifts: dict[str, float]) -> Grid:
    """Sixty replies of each group, whose differences are in margins."""
    cells = [cell(rng.normal(shifts.get(g, 0.0), 1.7, 60), group=g) for g in EIGHT]
    return grid(cells, (-12.0, 12.0))


def each_of(of: Grid, *, aside: bool) -> dict[str, Result]:
    """Each group against the others, or against those that do not alarm themselves."""

    def test_of(group: str, kept: Sequence[str]) -> Result:
        weights = level_against_rest("group", group, kept)
        return fixed_contrast(of, weights, margin=MARGIN, null="zero")

    gone: tuple[str, ...] = ()
    if aside:
        gone = group_engines.set_aside(
            of, "group", EIGHT, lambda group, kept: lambda _, __: test_of(group, kept), key=()
        )
    return {g: test_of(g, [k for k in EIGHT if k == g or k not in gone]) for g in EIGHT}


def of_the_equal(
    rng: Rng, shifts: dict[str, float], *, aside: bool, level: float = 0.05
) -> tuple[float, float]:
    """Share of runs with an alarm of a group that does not differ (Holm), and of CLEAR ones."""
    alarms, clear = 0, 0.0
    for _ in range(RUNS):
        found = each_of(eight_groups(rng, shifts), aside=aside)
        adjusted = holm([each.p_alarm for each in found.values()])
        cleared = {g: (each.p_clear or 1) <= 0.05 for g, each in found.items()}
        equal = [g for g in EIGHT if g not in shifts]
        alarms += any(adjusted[EIGHT.index(g)] <= level and not cleared[g] for g in equal)
        clear += sum(cleared[g] for g in equal) / len(equal) / RUNS
    return alarms / RUNS, clear


@pytest.mark.parametrize("shifts", [{}, {"a": 2.0}, {"a": 3.0}, {"a": 2.5, "b": 2.5}], ids=str)
def test_a_biased_group_neither_accuses_nor_holds_up_the_others(shifts: dict[str, float]) -> None:
    """Against all others .35 of the runs alarm falsely at 2 margins, .81 at 3, all with two."""
    alarms, clear = of_the_equal(np.random.default_rng(19), shifts, aside=True)
    assert alarms <= BOUND
    assert clear >= 0.96
    if shifts.get("a") == 3.0:  # the negative control
        alarms, clear = of_the_equal(np.random.default_rng(19), shifts, aside=False)
        assert alarms > 0.5
        assert clear < 0.85


def test_setting_aside_keeps_a_smaller_share_of_the_alarms() -> None:
    """Groups are set aside at .05, whatever the share: that of false alarms stays .01."""
    alarms, _ = of_the_equal(np.random.default_rng(20), {}, aside=True, level=0.01)
    assert alarms <= 0.01 + 3 * sqrt(0.01 * 0.99 / RUNS)


def test_a_group_one_margin_off_the_equal_ones_is_not_cleared_for_a_third_ones_bias() -> None:
    rng = np.random.default_rng(21)
    shifts = {"a": 3.0, "b": MARGIN}
    found = [each_of(eight_groups(rng, shifts), aside=True)["b"] for _ in range(RUNS)]
    assert sum((each.p_clear or 0) <= 0.05 for each in found) / RUNS <= BOUND


@pytest.mark.parametrize("of", [two_with_far, interaction_with_far], ids=lambda of: of.__name__)
def test_equal_replies_are_cleared_as_often_as_by_t(of: Callable[..., Result]) -> None:
    rng = np.random.default_rng(16)
    found = [of(rng, 0.0, n=240, rest=5.0) for _ in range(50)]
    assert all((one.p_clear or 1) <= 0.05 for one in found)


@pytest.mark.parametrize("run", [fixed, rates, beyond], ids=lambda run: run.__name__)
def test_large_effects_are_found(run: Run) -> None:
    """So that the bounds above are not met by never alarming."""
    rng = np.random.default_rng(13)
    assert np.mean([run(rng, 4 * MARGIN).p_alarm <= 0.05 for _ in range(20)]) > 0.9


def test_rates_and_identical_replies_have_their_interval_at_any_level() -> None:
    found = rates(np.random.default_rng(22), 0.0)
    alike = pairwise("tone", ["high"], ["low"])
    same = grid([cell([3.0] * 40, tone=tone) for tone in ("high", "low")])
    exact = fixed_contrast(same, alike, margin=0.6, null="zero")
    for one in (found, exact):
        assert one.at_level is not None
        assert one.interval is not None
        again, wider = one.at_level(0.95), one.at_level(0.99)
        assert (again.low, again.high) == pytest.approx((one.interval.low, one.interval.high))
        assert wider.low < again.low <= again.high < wider.high
    assert there(found.at_level)(0.9).low == pytest.approx(found.extras["90 % interval, from"])


def test_the_published_method_fails_where_replies_cluster() -> None:
    """The negative control: Welch's t test on all replies of twelve names a group."""
    rng = np.random.default_rng(14)
    shape = (RUNS, UNITS, 4)
    a, b = (
        (rng.normal(0, sqrt(ICC), (RUNS, UNITS, 1)) + rng.normal(0, sqrt(1 - ICC), shape)).reshape(
            RUNS, -1
        )
        for _ in range(2)
    )
    p = stats.ttest_ind(a, b, axis=1, equal_var=False).pvalue
    assert welch(a[0], b[0]).p == pytest.approx(p[0])
    assert np.mean(p <= 0.05) > 2 * BOUND
