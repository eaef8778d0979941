from __future__ import annotations

from functools import partial
from itertools import product

import numpy as np
import pytest
from pytest_bias.contrasts.estimation.two_groups import compare_groups
from pytest_bias.statistics.permutation import label_permutation
from scipy import stats  # type: ignore[import-untyped, unused-ignore]  # scipy ships no types

from pytest_bias.contrasts.findings import Finding
from pytest_bias.contrasts.groups import GroupContrast
from pytest_bias.contrasts.pairs import MeanDifference, RateDifference
from pytest_bias.errors import IncompleteDesign, TooFewUnits
from pytest_bias.experiments.design import Trial
from pytest_bias.experiments.experiment import Experiment
from pytest_bias.experiments.measures import Measure
from pytest_bias.experiments.records import Records
from pytest_bias.verdicts.wording import units_words

from ...helpers import there
from . import designs
from .designs import STYLE, TONE, Floats, at, groups, items, level, recorded, study

STYLES = list(STYLE.levels)
asked = partial(designs.asked, target="population")


def noisy(of: Experiment, seed: int, missing: float = 0.0) -> Records:
    """Units differ in level and in effect; the tone adds .3, one group .8."""
    rng = np.random.default_rng(seed)
    own: dict[object, tuple[float, float]] = {}

    def draw(trial: Trial) -> float | None:
        key = (trial.item, *trial.exemplars.values())
        base, slope = own.setdefault(key, (rng.normal(0, 1), rng.normal(0.3, 0.4)))
        if rng.random() < missing:
            return None
        tone, group = trial.condition.levels["tone"], trial.condition.levels.get("group")
        value = base + slope * (tone == "high") + 0.8 * (group == "white") + rng.normal(0, 0.5)
        return float(np.clip(value, -10, 10))

    return recorded(of, draw)


def is_one_sample_t(found: Finding, differences: Floats, margin: float) -> None:
    expected = stats.ttest_1samp(differences, 0)
    interval = expected.confidence_interval()
    assert found.estimate == pytest.approx(differences.mean(), rel=1e-12)
    assert found.interval is not None
    assert (found.interval.low, found.interval.high) == pytest.approx(
        (interval.low, interval.high), rel=1e-9
    )
    assert (found.units, found.fewest) == (differences.size, differences.size)
    assert found.p_alarm == pytest.approx(expected.pvalue, rel=1e-9)
    sides = [
        stats.ttest_1samp(differences, bound, alternative=way).pvalue
        for bound, way in ((-margin, "greater"), (margin, "less"))
    ]
    assert found.p_clear == pytest.approx(max(sides), rel=1e-9)


def per_unit(records: Records, units: list[dict[str, str]]) -> Floats:
    """High − low of every unit, each style counting the same."""
    return np.array(
        [
            np.mean(
                [
                    at(records, tone="high", style=style, **unit).mean()
                    - at(records, tone="low", style=style, **unit).mean()
                    for style in STYLES
                ]
            )
            for unit in units
        ]
    )


def test_items_are_units_by_themselves() -> None:
    of = study(items=items(12), replicates=3)
    records = noisy(of, 1, missing=0.1)
    found = asked().analyse(of, records)
    is_one_sample_t(found, per_unit(records, [{"seed": f"s{i}"} for i in range(12)]), 0.5)
    assert (str(found.unit_name), found.null) == ("seed", "zero")
    assert found.replies == at(records).size


def test_exemplars_of_another_factor_are_units() -> None:
    of = study(factors=[TONE, STYLE, groups({"white": 6, "black": 7})], replicates=2)
    records = noisy(of, 2)
    found = asked(unit="group").analyse(of, records)
    names = [n for members in of.factor("group").exemplars.values() for n in members]
    is_one_sample_t(found, per_unit(records, [{"who": name} for name in names]), 0.5)
    assert str(found.unit_name) == "exemplar of group"
    assert units_words(found) == f"n = 13 exemplars of group ({found.replies} replies)"


def test_several_names_make_blocks() -> None:
    of = study(items=items(6), replicates=3)
    records = noisy(of, 3)
    found = asked(unit=["seed", "style"]).analyse(of, records)
    blocks = [
        at(records, tone="high", seed=s, style=f).mean()
        - at(records, tone="low", seed=s, style=f).mean()
        for s, f in product([f"s{i}" for i in range(6)], STYLES)
    ]
    is_one_sample_t(found, np.array(blocks), 0.5)
    assert str(found.unit_name) == "seed × style"


@pytest.mark.parametrize("n", range(5, 10))
def test_few_units_are_judged_by_all_sign_flips(n: int) -> None:
    of = study(items=items(n), replicates=2)
    records = noisy(of, n)
    found = asked().analyse(of, records)
    d = per_unit(records, [{"seed": f"s{i}"} for i in range(n)])
    signs = np.array(list(product((1, -1), repeat=n)))

    share = float(np.mean(np.abs(signs @ d) >= abs(d.sum()) - 1e-9))
    assert found.p_alarm == pytest.approx(share, abs=1e-12)
    assert found.p_clear == 1.0
    assert "can show bias but cannot clear it" in found.notes[0]
    assert "exact" in found.method
    assert there(found.interval).low == pytest.approx(
        stats.ttest_1samp(d, 0).confidence_interval().low
    )


NAMES = study(factors=[groups({"white": 11, "black": 12, "asian": 10}), TONE], replicates=2)


def exemplars(records: Records, group: str) -> Floats:
    """The mean of every exemplar of a group, each tone counting the same."""
    return np.array(
        [
            np.mean([at(records, who=who, tone=tone).mean() for tone in TONE.levels])
            for who in NAMES.factor("group").exemplars[group]
        ]
    )


def test_exemplars_of_what_is_compared_are_units() -> None:
    records = noisy(NAMES, 5)
    found = asked(factor="group", high="white", low="black").analyse(NAMES, records)
    a, b = exemplars(records, "white"), exemplars(records, "black")
    expected = stats.ttest_ind(a, b, equal_var=False)
    interval = expected.confidence_interval()
    assert found.estimate == pytest.approx(a.mean() - b.mean(), rel=1e-12)
    assert found.p_alarm == pytest.approx(expected.pvalue, rel=1e-9)
    assert found.interval is not None
    assert (found.interval.low, found.interval.high) == pytest.approx(
        (interval.low, interval.high), rel=1e-9
    )
    assert (found.units, found.fewest, str(found.unit_name)) == (23, 11, "exemplars of group")
    assert [arm.units for arm in found.arms] == [11, 12]


def test_a_group_of_few_exemplars_on_a_side_clears_nothing() -> None:
    """Nor does it as one group against the rest, however many the other groups have."""
    factor = groups({"w": 30, "b": 5, "a": 30})
    of = study(factors=[factor], measures=[Measure("score", bounds=(0, 12))], replicates=3)
    rng = np.random.default_rng(3)
    drawn = recorded(of, lambda _: float(np.clip(5 + rng.normal(0, 0.4), 0, 12)))
    for hypothesis in (
        MeanDifference(
            "score", "group", high="w", low=["b", "a"], margin=0.5, target="population"
        ),
        GroupContrast("score", "group", group="w", margin=0.5, target="population"),
    ):
        found = hypothesis.analyse(of, drawn)
        assert (found.fewest, found.p_clear, found.tolerance) == (5, 1.0, "")


def test_groups_of_exemplars_on_a_side() -> None:
    records = noisy(NAMES, 6)
    found = asked(factor="group", high="white", low=("black", "asian")).analyse(NAMES, records)
    a, b, c = (exemplars(records, group) for group in ("white", "black", "asian"))
    assert found.estimate == pytest.approx(a.mean() - (b.mean() + c.mean()) / 2, rel=1e-12)
    squares = [x.var(ddof=1) / x.size * w for x, w in ((a, 1), (b, 0.25), (c, 0.25))]
    assert found.se == pytest.approx(np.sqrt(sum(squares)), rel=1e-9)
    assert (found.units, found.fewest) == (33, 10)
    p = 2 * stats.t.sf(abs(found.estimate) / there(found.se), there(found.df))
    assert found.p_alarm == pytest.approx(p, rel=1e-9)
    assert "t test of stratified unit means" in found.method
    assert found.contrast == "white − (black + asian)"


def test_a_difference_within_a_side_hides_no_difference_between_sides() -> None:
    """A permutation of all labels would take a gap of gender, on both sides, for noise."""
    of = study(factors=[groups({"aw": 6, "am": 6, "bw": 6, "bm": 6}), TONE])
    rng = np.random.default_rng(4)

    def draw(trial: Trial) -> float:
        group = level(trial, "group")
        return float(5 * (group[1] == "m") + (group[0] == "a") + rng.normal(0, 0.5))

    question = asked(factor="group", high=("aw", "am"), low=("bw", "bm"))
    found = question.analyse(of, recorded(of, draw))
    assert there(found.interval).excludes(0)
    assert found.p_alarm < 0.001


@pytest.mark.parametrize("units", [5, 9, 12])
def test_units_nearly_all_alike_clear_no_more_than_identical_ones(units: int) -> None:
    of = study(items=items(units), replicates=1)
    odd = {"s0": 0.05}

    def draw(trial: Trial) -> float:
        return 1 + odd.get(str(trial.item), 0.0) * (level(trial, "tone") == "high")

    found = asked().analyse(of, recorded(of, draw))
    assert not found.deterministic
    assert there(found.p_clear) > 0.5  # a rare unit may lie 20 points away


def test_fewer_than_ten_exemplars_can_alarm_and_cannot_clear() -> None:
    of = study(factors=[groups({"white": 5, "black": 5}), TONE])
    rng = np.random.default_rng(9)
    records = recorded(of, lambda t: float(rng.normal(2 * (level(t, "group") == "white"), 0.1)))
    found = asked(factor="group", high="white", low="black", margin=5).analyse(of, records)
    assert found.p_alarm == pytest.approx(2 / 252)  # both extremes of C(10, 5) divisions
    assert found.p_clear == 1.0


def test_few_exemplars_that_vary_more_than_many_do_not_differ_by_that() -> None:
    """A permutation of labels takes unequal spreads of unequal groups for a difference."""
    few, many = [-0.7, 0.1, 1.0, 1.3, 1.1, 0.8], [-0.4, -0.2, 0.0, 0.1, 0.2, 0.3] * 4
    found = compare_groups(few, many, margin=None, bounds=None)
    assert label_permutation(few, many, seed=1).p < 0.01
    assert found.p_alarm == pytest.approx(stats.ttest_ind(few, many, equal_var=False).pvalue)
    assert found.p_alarm > 0.05


def test_a_unit_that_misses_a_condition_is_left_out_and_counted() -> None:
    of = study(items=items(13), replicates=2)
    full = noisy(of, 7)
    gone = {("s2", "high-plain"), ("s5", "low-formal"), ("s5", "high-formal")}
    values = iter([row.values["score"] for row in full.rows])

    def draw(trial: Trial) -> float | None:
        value = next(values)
        assert isinstance(value, float)
        return None if (trial.item, trial.condition.id) in gone else value

    found = asked().analyse(of, recorded(of, draw))
    kept = [{"seed": f"s{i}"} for i in range(13) if i not in {2, 5}]
    is_one_sample_t(found, per_unit(full, kept), 0.5)
    assert any("2 seeds left out" in note for note in found.notes)
    assert found.missing == 6


def test_a_condition_that_no_unit_has_is_an_incomplete_design() -> None:
    of = study(items=items(12), replicates=2)
    records = recorded(
        of, lambda t: None if t.condition.id == "high-plain" else float(t.replicate)
    )
    with pytest.raises(IncompleteDesign, match="high/plain"):
        asked().analyse(of, records)


def test_an_exemplar_that_misses_a_condition_is_left_out_and_counted() -> None:
    rng = np.random.default_rng(1)
    lost = ("white 3", "low")
    records = recorded(
        NAMES,
        lambda t: (
            None
            if (t.exemplars["group"], level(t, "tone")) == lost
            else float(np.clip(rng.normal(0, 1), -10, 10))
        ),
    )
    found = asked(factor="group", high="white", low="black").analyse(NAMES, records)
    assert (found.units, found.fewest) == (22, 10)
    assert any("1 exemplars of group left out" in note for note in found.notes)


def test_rates_of_a_population_are_one_rate_per_unit() -> None:
    of = study(items=items(15), replicates=6)
    rng = np.random.default_rng(2)
    records = recorded(
        of, lambda t: bool(rng.random() < 0.5 + 0.2 * (level(t, "tone") == "high")), "yes"
    )
    found = RateDifference(
        "yes", "tone", high="high", low="low", margin=0.2, claim="clear", target="population"
    ).analyse(of, records)
    rates = [
        at(records, "yes", tone="high", seed=f"s{i}").mean()
        - at(records, "yes", tone="low", seed=f"s{i}").mean()
        for i in range(15)
    ]
    is_one_sample_t(found, np.array(rates), 0.2)


def test_identical_units_are_bounded_and_never_certain() -> None:
    of = study(items=items(25), replicates=2)
    records = recorded(of, lambda t: 1.0 + int(str(t.item)[1:]) % 3)
    found = asked(margin=3.0).analyse(of, records)
    assert found.deterministic
    assert found.estimate == 0.0
    assert found.p_alarm == 1.0
    assert found.p_clear == pytest.approx((1 - 3 / 20) ** 25)  # each unit may hide ±20 points
    assert there(found.interval).high == pytest.approx((1 - 0.05 ** (1 / 25)) * 20, rel=1e-4)


def test_no_unit_at_all_meets_every_condition() -> None:
    of = study(items=items(6), replicates=1)
    records = recorded(
        of,
        lambda t: None if int(str(t.item)[1:]) % 2 == (level(t, "tone") == "high") else 1.0,
    )
    with pytest.raises(TooFewUnits, match="seed"):
        asked().analyse(of, records)
