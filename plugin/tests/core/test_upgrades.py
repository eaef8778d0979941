"""A candidate beside a baseline: each way, how often it errs, and over ten upgrades."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats  # type: ignore[import-untyped, unused-ignore]  # scipy ships no types

from benchmarks.upgrade_gate import fixed_set, seeds, stopped_at
from pytest_bias.baselines.noninferiority import STRETCH, compared, effect_of, held, shrunken
from pytest_bias.contrasts.findings import Compared, Effect, Scale, UnitGroup
from pytest_bias.stats.bounded import identical_pairs
from pytest_bias.stats.noninferiority import (
    non_inferior_from_estimates,
    non_inferior_paired_groups,
    replication_to_decide,
    shrinkage,
    shrunken_best,
    shrunken_best_from_estimates,
)
from pytest_bias.stats.results import Interval

from ..helpers import there
from .factories import finding

close: Any = pytest.approx


def effect(estimate: float, cassette: str = "new", **changes: Any) -> Effect:
    given: dict[str, Any] = {
        "interval": Interval(low=estimate - 0.2, high=estimate + 0.2, level=0.95),
        "se": 0.1,
        "df": 200.0,
        "scale": "difference",
    }
    return Effect(estimate=estimate, cassette=cassette, **(given | changes))


def test_what_labels_of_people_correct_is_held_beside_its_like() -> None:
    """A shipped model that people labelled, and a new one that they did not, are read unlike."""
    labelled = effect(0.30, "old", labelled=200, as_read=0.20)
    plain = effect(0.20)
    for found, which in (
        (held(plain, [labelled], margin=0.5), "that one was"),
        (held(labelled, [plain, plain], margin=0.5), "this one is"),
        (held(plain, [effect(0.2, "older"), labelled], margin=0.5), "that one was"),
    ):
        assert (found.how, found.no_worse, found.worse) == ("not comparable", False, False)
        assert found.words.startswith(
            f"only {which} corrected by labels of people: label both, or --bias-labels=off"
        )
    better = effect(0.31, labelled=100, as_read=0.21)
    older = effect(0.28, "older", labelled=100, as_read=0.2)
    for versions in ([labelled], [effect(0.0, "oldest"), labelled], [older, labelled]):
        found = held(better, versions, margin=0.5)
        assert (found.how, found.no_worse) == ("independent", True)
    alone = held(better, [effect(0.0, "oldest"), labelled], margin=0.5)
    assert alone == held(better, [labelled], margin=0.5)


@pytest.mark.parametrize(
    "before",
    [
        effect(0.20, "new"),
        effect(0.22, "new", as_read=0.20),  # by pairs of ratings
        effect(0.25, "new", labelled=40, as_read=0.20),
    ],
)
def test_labels_added_to_the_very_replies_make_none_of_them_worse(before: Effect) -> None:
    more = effect(0.30, "new", labelled=200, as_read=0.20)
    assert held(more, [before], margin=0.01).how == "same replies"
    read_anew = replace(more, as_read=0.21)
    assert held(read_anew, [before], margin=0.01).how != "same replies"


def units(
    values: Any, weight: float = 1.0, group: str = "seed", gaps: tuple[float, ...] = ()
) -> UnitGroup:
    named = {f"{group}{i}": float(value) for i, value in enumerate(values)}
    return UnitGroup(group=group, weight=weight, values=named, gaps=gaps)


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
        found = compared(now, now, margin=margin)
        assert (found.how, found.no_worse, found.units) == ("same replies", True, 0)
    other = compared(replace(now, estimate=5.1), now, margin=0.1)
    assert not other.no_worse


@pytest.mark.parametrize("margin", [0.1, 0.3, 0.5, 1.0])
def test_units_that_both_have_are_paired(margin: float) -> None:
    found = compared(*PAIRED, margin=margin)
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
        times=found.times,
    )
    assert (found.times is None) == (found.no_worse or found.worse)
    assert bool(found.words) != found.no_worse


def test_the_order_of_units_and_what_one_alone_has_do_not_matter() -> None:
    ours, theirs = dict(PAIRED[0].by_unit[0].values), PAIRED[1]
    backwards = replace(PAIRED[0].by_unit[0], values=dict(reversed(ours.items())))
    assert compared(of_units(backwards), theirs, margin=0.5) == compared(*PAIRED, margin=0.5)
    more = replace(PAIRED[0].by_unit[0], values=ours | {"another": 50.0})
    assert compared(of_units(more), theirs, margin=0.5) == compared(*PAIRED, margin=0.5)


def test_groups_are_paired_with_their_weights() -> None:
    groups = [(1.0, draws(6, 3, 1), draws(6, 4, 1)), (-1.0, draws(5, 5), draws(5, 6))]
    now, then = (
        of_units(
            *(units(g[side], g[0], f"g{place}") for place, g in enumerate(groups)), cassette=name
        )
        for side, name in ((1, "new"), (2, "old"))
    )
    found = compared(now, then, margin=0.9)
    expected = non_inferior_paired_groups(groups, margin=0.9)
    assert (found.how, found.units) == ("paired", 11)
    assert (found.bound, found.no_worse) == (close(expected.bound), expected.non_inferior)


def test_pools_pair_on_the_log_scale() -> None:
    now, then = (
        of_units(units(values, group="pools"), cassette=name, scale="ratio")
        for values, name in ((OURS, "new"), (THEIRS, "old"))
    )
    found = compared(now, then, margin=1.6)
    expected = non_inferior_paired_groups([(1.0, OURS, THEIRS)], margin=math.log(1.6))
    assert found.margin == close(math.log(1.6))
    assert (found.how, found.bound) == ("paired", close(expected.bound))
    worse = compared(then, now, margin=1.05)
    assert not worse.no_worse
    assert worse.bound is not None
    assert f"by a factor of {math.exp(worse.bound):.2f}, margin 1.05" in worse.words


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (draws(4, 1), draws(4, 2)),  # too few
        (draws(12, 1), draws(10, 2)),  # less than nine tenths of the candidate's
        (draws(10, 1), draws(12, 2)),
        (np.r_[draws(2, 1), np.ones(10)], np.r_[draws(2, 2), np.zeros(10)]),  # nearly alike
        (THEIRS, THEIRS),
        (THEIRS, -THEIRS),
    ],
)
def test_units_that_meet_but_cannot_be_paired_are_not_independent_either(
    ours: Any, theirs: Any
) -> None:
    now, then = of_units(units(ours)), of_units(units(theirs), cassette="old")
    assert compared(now, then, margin=9.0).how == "not comparable"
    wide = Interval(low=-1, high=1, level=0.95)
    now, then = (replace(each, interval=wide) for each in (now, then))
    assert compared(now, then, margin=9.0).how == "intervals"


def test_other_groups_or_weights_are_not_paired() -> None:
    then = of_units(units(THEIRS, 0.5), cassette="old")
    assert compared(PAIRED[0], then, margin=1.0).how == "not comparable"


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
    found = compared(ours, theirs, margin=0.6)
    expected = non_inferior_from_estimates(
        candidate=now,
        se_candidate=0.1,
        df_candidate=200,
        baseline=then,
        se_baseline=0.2,
        df_baseline=50,
        margin=0.6,
    )
    assert (found.how, found.units) == ("independent", 0)
    assert (found.bound, found.no_worse) == (close(expected.bound), expected.non_inferior)


def test_ratios_are_compared_as_logarithms() -> None:
    changes: dict[str, Any] = {"scale": "ratio", "interval": None}
    below, above = (effect(r, name, **changes) for r, name in ((0.5, "new"), (2.0, "old")))
    found = compared(below, above, margin=1.5)
    assert found.how == "independent"
    assert found.no_worse  # a half is as far from 1 as the double
    far = compared(effect(0.25, **changes), above, margin=1.5)
    assert not far.no_worse
    assert far.bound == close(math.log(2) + 1.97 * math.sqrt(0.02), rel=1e-2)
    assert "by a factor of" in far.words


def bare(estimate: float, half: float, cassette: str = "new", **changes: Any) -> Effect:
    interval = Interval(low=estimate - half, high=estimate + half, level=0.95)
    return effect(estimate, cassette, interval=interval, **({"se": None, "df": None} | changes))


@pytest.mark.parametrize(
    ("now", "then", "bound"),
    [
        (bare(1.0, 0.1), bare(1.0, 0.2, "old"), 1 + 0.126 - (1 - 0.252)),
        (bare(-1.0, 0.1), bare(1.0, 0.2, "old"), 1.126 - 0.748),
        (bare(0.0, 0.1), bare(0.0, 0.2, "old"), 0.126),
        (bare(0.0, 0.1), bare(-1.0, 0.1, "old"), 0.126 - 0.874),
        (bare(2.0, 0.1), bare(1.0, 0.1, "old"), 2.126 - 0.874),
    ],
)
def test_without_standard_errors_intervals_are_compared(
    now: Effect, then: Effect, bound: float
) -> None:
    found = compared(now, then, margin=0.5)
    assert (found.how, found.bound) == ("intervals", close(bound))
    assert found.no_worse == (bound < 0.5)
    assert bool(found.words) != found.no_worse


def test_intervals_of_ratios_are_compared_as_logarithms() -> None:
    now, then = (
        effect(
            r, name, scale="ratio", se=None, interval=Interval(low=r / 2, high=r * 2, level=0.95)
        )
        for r, name in ((3.0, "new"), (1.0, "old"))
    )
    found = compared(now, then, margin=2.0)
    assert found.bound == close(math.log(3) + STRETCH * math.log(2))
    assert "by a factor of 7.1" in found.words


@pytest.mark.parametrize(
    ("now", "then", "margin", "words"),
    [
        (bare(1.0, 0.1), effect(1.0, "old", se=None, interval=None), 0.5, "no interval of both"),
        (effect(0.0, scale="ratio"), effect(2.0, "old", scale="ratio"), 1.5, "a ratio of 0 has"),
        (effect(2.0, scale="ratio"), effect(2.0, "old"), 1.5, "one is a ratio, the other a diff"),
        (
            effect(2.0, scale="size", interval=None),
            effect(1.0, "old", scale="size"),
            None,
            "no units can be",
        ),
        (
            effect(
                2.0,
                scale="size",
                interval=None,
                by_unit=(units([1, 2, 3], 0.0), units([1, 2, 3], 0.0, "b")),
            ),
            effect(1, "old", scale="size", by_unit=(units([1], 0.0), units([1], 0.0, "b"))),
            None,
            "too few units are the same",
        ),
    ],
)
def test_what_is_lacking_is_said(
    now: Effect, then: Effect, margin: float | None, words: str
) -> None:
    found = compared(now, then, margin=margin)
    assert (found.how, found.no_worse, found.bound) == ("not comparable", False, None)
    assert words in found.words
    assert found.words.endswith("then only the same replies are")


def test_one_side_without_variance_is_still_paired_or_independent() -> None:
    constant = of_units(units(np.full(12, 0.5)), cassette="old")
    assert compared(of_units(units(OURS)), constant, margin=1).how == "paired"
    fixed = effect(0.5, "old", se=0.0)
    assert compared(effect(0.4), fixed, margin=1).how == "independent"
    both = compared(effect(0.4, se=0.0), fixed, margin=1)
    assert both.how == "intervals"


def sized(shift: float, seed: int, cassette: str, *, gaps: bool = False) -> Effect:
    """The spread of three groups that twelve units meet."""
    rng = np.random.default_rng(seed)
    groups = []
    for place, name in enumerate("abc"):
        values = {f"u{i}": float(rng.normal(shift * (place == 0), 0.3)) for i in range(12)}
        weights = (float(place == 0) - float(place == 1),) if gaps else ()
        groups.append(UnitGroup(group=name, weight=0.0, values=values, gaps=weights))
    means = [float(np.mean(list(group.values.values()))) for group in groups]
    size = abs(means[0] - means[1]) if gaps else float(np.std(means, ddof=1))
    return effect(
        size, cassette, scale="size", by_unit=tuple(groups), se=None, df=None, interval=None
    )


@pytest.mark.parametrize("gaps", [False, True])
def test_a_size_is_worse_only_where_that_is_shown(*, gaps: bool) -> None:
    small, again, large = (
        sized(shift, seed, name, gaps=gaps)
        for shift, seed, name in ((0.2, 1, "old"), (0.2, 2, "new"), (2.0, 3, "new"))
    )
    found = compared(again, small, margin=None)
    assert (found.how, found.units, found.worse) == ("exchange", 12, False)
    assert found.words.startswith("it is not shown to be larger (p = ")
    worse = compared(large, small, margin=None)
    assert worse.worse
    assert worse.words.startswith("it is shown to be larger (p = ")
    assert not compared(small, large, margin=None).worse
    assert not any(each.no_worse for each in (found, worse))
    assert compared(again, small, margin=None) == found


SMALL = st.integers(-40, 40).map(lambda i: i / 8)
ESTIMATES = st.tuples(SMALL, st.sampled_from([0.05, 0.3, 1.0]), st.sampled_from([4.0, 30.0]))
LISTS = st.lists(st.tuples(SMALL, SMALL), min_size=3, max_size=12)
MARGINS = st.floats(0.05, 20)


@st.composite
def both(draw: st.DrawFn) -> tuple[Effect, Effect]:
    """Two effects of any kind that has a sign."""
    kind = draw(st.sampled_from(["units", "estimates", "intervals"]))
    if kind == "units":
        pairs = draw(LISTS)
        return (
            replace(of_units(units([a for a, _ in pairs])), interval=None),
            replace(of_units(units([b for _, b in pairs]), cassette="old"), interval=None),
        )
    found = []
    for name in ("new", "old"):
        estimate, se, df = draw(ESTIMATES)
        changes: dict[str, Any] = {"se": se, "df": df} if kind == "estimates" else {}
        found.append(bare(estimate, 2 * se, name, **changes))
    return found[0], found[1]


def mirrored(given: Effect) -> Effect:
    groups = tuple(
        replace(group, values={unit: -value for unit, value in group.values.items()})
        for group in given.by_unit
    )
    interval = given.interval and Interval(
        low=-given.interval.high, high=-given.interval.low, level=given.interval.level
    )
    return replace(given, estimate=-given.estimate, interval=interval, by_unit=groups)


@given(both(), MARGINS)
def test_signs_do_not_matter(effects: tuple[Effect, Effect], margin: float) -> None:
    now, then = effects
    found = compared(now, then, margin=margin)
    for changed in ((mirrored(now), then), (now, mirrored(then)), (mirrored(now), mirrored(then))):
        again = compared(*changed, margin=margin)
        assert (again.how, again.units) == (found.how, found.units)
        if found.bound is None:
            assert again.bound is None
        else:
            assert again.bound == close(found.bound, abs=1e-9)


@given(both(), MARGINS, st.floats(1, 5))
def test_a_wider_margin_never_makes_it_worse(
    effects: tuple[Effect, Effect], margin: float, times: float
) -> None:
    found, wider = (compared(*effects, margin=each) for each in (margin, margin * times))
    assert wider.how == found.how
    assert wider.bound == found.bound
    assert wider.no_worse >= found.no_worse


@given(both(), MARGINS)
def test_no_worse_means_a_bound_below_the_margin(
    effects: tuple[Effect, Effect], margin: float
) -> None:
    now, then = effects
    found = compared(now, then, margin=margin)
    assume(found.bound is not None)
    assert found.bound is not None
    assert math.isfinite(found.bound)
    assert found.no_worse == (found.bound < margin)
    assert found.bound >= abs(now.estimate) - abs(then.estimate) - 1e-9


@given(both(), MARGINS)
def test_of_two_models_one_has_a_bound_above_0(
    effects: tuple[Effect, Effect], margin: float
) -> None:
    now, then = effects
    one, other = compared(now, then, margin=margin), compared(then, now, margin=margin)
    assert (one.how, one.units) == (other.how, other.units)
    if one.bound is not None and other.bound is not None:
        assert one.bound + other.bound > 0


def test_stretching_makes_intervals_of_975_of_whatever_they_are_of() -> None:
    for df in (4, 5, 10, 1_000):
        assert stats.t.isf(0.0125, df) <= STRETCH * stats.t.isf(0.025, df)
    for n in (2, 5, 10, 120, 10_000):
        for difference in (0.0, 1.0, -3.0):
            wide, usual = (
                identical_pairs(difference, pairs=n, width=6, margin=None, alpha=alpha).interval
                for alpha in (0.025, 0.05)
            )
            stretched = [
                difference + STRETCH * (end - difference) for end in (usual.low, usual.high)
            ]
            assert stretched[0] <= wide.low + 1e-12
            assert stretched[1] >= wide.high - 1e-12


@pytest.mark.parametrize("sds", [(0.01, 0.2), (0.2, 0.2), (0.2, 0.01)])
@pytest.mark.parametrize("then", [0.0, 0.1, 1.0])
def test_false_no_worse_by_intervals_at_the_boundary(
    then: float, sds: tuple[float, float]
) -> None:
    rng = np.random.default_rng(7)
    ours, theirs = rng.normal(then + 0.5, sds[0], 1_000), rng.normal(-then, sds[1], 1_000)
    passed = [
        compared(bare(a, 1.96 * sds[0]), bare(b, 1.96 * sds[1], "old"), margin=0.5).no_worse
        for a, b in zip(ours.tolist(), theirs.tolist(), strict=True)
    ]
    assert np.mean(passed) <= 0.06


def test_an_effect_is_what_a_finding_found() -> None:
    found = finding(se=0.25, df=238.0, by_unit=(units([1, 2]),))
    made = effect_of(found, "abc")
    for name in ("estimate", "interval", "se", "df", "scale", "by_unit"):
        assert getattr(made, name) == getattr(found, name)
    assert made.cassette == "abc"
    assert compared(made, made, margin=found.margin).how == "same replies"


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
