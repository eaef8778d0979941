from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats  # type: ignore[import-untyped, unused-ignore]  # scipy ships no types

from pytest_bias.contrasts.estimation import tested
from pytest_bias.contrasts.estimation.cells import Grid, pairwise
from pytest_bias.contrasts.estimation.fixed import fixed_contrast, rate_difference
from pytest_bias.contrasts.estimation.tested import worst_case
from pytest_bias.contrasts.findings import WorstCase
from pytest_bias.contrasts.groups import GroupContrast, TotalGap
from pytest_bias.contrasts.interactions import Interaction
from pytest_bias.contrasts.pairs import MeanDifference, RateDifference, RateRatio
from pytest_bias.errors import IncompleteDesign, NoFinding
from pytest_bias.experiments.design import Factor, Trial
from pytest_bias.experiments.measures import Measure
from pytest_bias.experiments.records import Record, Records
from pytest_bias.stats.score import tost_rates
from pytest_bias.verdicts.rule import Question, decide

from ...helpers import there
from .designs import (
    STYLE,
    TONE,
    asked,
    at,
    cell,
    fewer_weightings,
    grid,
    groups,
    items,
    level,
    recorded,
    study,
)

OF = study(items=items(2), replicates=20)


def losing(n: dict[tuple[str, str], int], seed: int = 0) -> Records:
    """Replies in which the first so many of a condition (of both items together) are missing."""
    rng = np.random.default_rng(seed)
    left = dict(n)

    def draw(trial: Trial) -> float | None:
        key = (level(trial, "tone"), level(trial, "style"))
        value = float(np.clip(rng.normal(0.5 * (key[0] == "high"), 1), -10, 10))
        if left.get(key, 0) > 0 and trial.replicate % 2:
            left[key] -= 1
            return None
        return value

    return recorded(OF, draw)


def test_both_fillings_move_every_cell_to_its_end_of_the_scale() -> None:
    lost = {("high", "plain"): 1, ("low", "formal"): 6}
    records = losing(lost)
    found = asked().analyse(OF, records)
    worst = there(found.worst_case)
    extremes = []
    for sign in (-1, 1):
        sides = []
        for tone, side in (("high", 1), ("low", -1)):
            means = []
            for style in STYLE.levels:
                for seed in ("s0", "s1"):
                    kept = at(records, tone=tone, style=style, seed=seed)
                    fill = np.full(20 - kept.size, 10.0 * sign * side)
                    means.append(np.concatenate([kept, fill]).mean())
            sides.append(np.mean(means))
        extremes.append(sides[0] - sides[1])
    assert (worst.lowest, worst.highest) == pytest.approx(tuple(extremes), rel=1e-9)
    assert there(worst.highest) - there(worst.lowest) == pytest.approx(20 * (1 + 6) / 80)
    assert worst.needed  # 6 of 80 on the low side, 1 of 80 on the high one
    assert (worst.kind, worst.shift) == ("manski", None)
    assert worst.p_alarm == 1.0  # the fillings lie on both sides of no effect
    assert there(worst.p_clear) > 0.5
    assert found.missing == 7


@pytest.mark.parametrize(
    ("margin", "claim", "lost", "needed"),
    [
        (9, "clear", 4, False),
        (9, "clear", 5, True),
        # Of a claim to be clear less than could move it by a quarter of its margin, on a scale
        # of 20 points.
        (2, "clear", 1, False),
        (2, "clear", 2, True),
        (2, "detect", 4, False),
        (2, "detect", 5, True),
    ],
)
def test_five_per_cent_of_a_side_may_be_missing(
    margin: float, claim: str, lost: int, *, needed: bool
) -> None:
    records = losing({("high", "plain"): lost})
    worst = there(asked(margin=margin, claim=claim).analyse(OF, records).worst_case)
    assert worst.needed is needed  # of 80


@pytest.mark.parametrize(("lost", "needed"), [(2, False), (3, True)])
def test_an_interaction_has_four_sides(lost: int, *, needed: bool) -> None:
    question = Interaction(
        "score", {"tone": ("high", "low"), "style": ("formal", "plain")}, margin=9, claim="clear"
    )
    worst = there(question.analyse(OF, losing({("high", "formal"): lost})).worst_case)
    assert worst.needed is needed  # of 40


@pytest.mark.parametrize(
    ("lost", "kind", "needed"),
    [((3, 3), "manski", False), ((5, 5), "tipping", True), ((9, 0), "manski", True)],
)
def test_a_lean_analysis_leaves_out_only_what_no_verdict_rests_on(
    lost: tuple[int, int], kind: str, *, needed: bool
) -> None:
    records = losing({("high", "plain"): lost[0], ("low", "plain"): lost[1]})
    question = asked(claim="detect")
    whole = question.analyse(OF, records)
    lean = question.analyse(OF, records.for_verdicts)
    assert replace(lean, worst_case=None) == replace(whole, worst_case=None, settle=None)
    assert whole.settle is not None
    assert whole.worst_case is not None
    assert (whole.worst_case.needed, whole.worst_case.kind) == (needed, kind)
    if needed:
        assert lean.worst_case == replace(whole.worst_case, shift=None)
    else:
        assert lean.worst_case == WorstCase(
            needed=False, lowest=None, highest=None, p_alarm=1.0, p_clear=1.0
        )


def test_a_large_effect_survives_the_worst_case() -> None:
    of = study(items=items(2), replicates=20)
    rng = np.random.default_rng(1)
    records = recorded(
        of,
        lambda t: (
            None
            if level(t, "tone") == "low" and t.replicate in {3, 4}
            else float(rng.normal(8 if level(t, "tone") == "high" else -8, 0.3))
        ),
    )
    worst = there(asked().analyse(of, records).worst_case)
    assert worst.needed
    assert worst.p_alarm < 0.001


SPREAD = {
    "groups": GroupContrast("score", "group", claim="detect", target="population"),
    "largest": Interaction(
        "score", {"group": None, "tone": None}, claim="detect", target="population"
    ),
    "total": TotalGap(
        "score", "group", gaps=[("white", "black", 1)], claim="detect", target="population"
    ),
}


@pytest.mark.parametrize("question", SPREAD.values(), ids=SPREAD)
@pytest.mark.parametrize("lost", [1, 2])
def test_what_has_no_sides_is_bounded_at_each_of_its_contrasts(question: Any, lost: int) -> None:
    """All replies missing of a group could be anything: each contrast by itself has two ends."""
    of = study(factors=[groups({"white": 6, "black": 6, "asian": 6}), TONE], replicates=3)
    rng = np.random.default_rng(0)
    records = recorded(
        of,
        lambda t: (
            None
            if t.exemplars["group"] in [f"white {i}" for i in range(lost)]
            and (level(t, "tone"), t.replicate) == ("high", 1)
            else float(np.clip(rng.normal(), -10, 10))
        ),
    )
    worst = there(question.analyse(of, records).worst_case)
    share = lost / (18 if isinstance(question, Interaction) else 36)
    assert worst.needed is (share > 0.05)
    assert (worst.highest is not None) == worst.needed


def without(records: Records, condition: str, item: str | None) -> Records:
    """The same, but for a cell of which no trial stands there: so a table may be."""
    rows = [r for r in records.rows if (r.trial.condition.id, r.trial.item) != (condition, item)]
    assert len(rows) < len(records.rows)
    return Records(tuple(rows))


def test_a_cell_that_is_not_there_is_as_one_without_a_reply() -> None:
    records = without(recorded(OF, lambda t: float(t.replicate % 7)), "low-formal", "s1")
    with pytest.raises(IncompleteDesign, match="low/formal/s1"):
        asked().analyse(OF, records)
    of = study(factors=[Factor("group", {g: g for g in "abcd"}), STYLE], replicates=20)
    even = recorded(of, lambda t: 5 + float(t.replicate % 3))
    pair = MeanDifference("score", "group", high=("a", "b"), low=("c", "d"), margin=0.5)
    assert pair.analyse(of, even).estimate == pytest.approx(0)
    with pytest.raises(IncompleteDesign, match="b/plain"):
        pair.analyse(of, without(even, "b-plain", None))
    with pytest.raises(IncompleteDesign, match="b/formal"):  # and not a mean of 0
        pair.analyse(of, without(without(even, "b-plain", None), "b-formal", None))


@pytest.mark.parametrize("lost", ["low-formal", "high-plain"])
def test_a_unit_that_lacks_a_cell_is_left_out_whether_or_not_its_trials_are_there(
    lost: str,
) -> None:
    of = study(items=items(13), replicates=2)
    rng = np.random.default_rng(3)
    drawn = recorded(of, lambda _: float(np.clip(rng.normal(), -10, 10)))
    rows = [
        replace(r, values={}, missing="refusal")
        if (r.trial.condition.id, r.trial.item) == (lost, "s1")
        else r
        for r in drawn.rows
    ]
    question = asked(target="population")
    known, absent = (
        question.analyse(of, records)
        for records in (Records(tuple(rows)), without(drawn, lost, "s1"))
    )
    assert (absent.units, absent.estimate) == (12, known.estimate)
    assert absent.interval == known.interval
    assert any("1 seed left out" in note for note in absent.notes)


def test_the_published_artefact_is_an_incomplete_design() -> None:
    """No persona × group interaction and no group effect, but one cell was never filled.

    Pooled over personas that group has lost those who help least, so that a chi-square on all
    replies finds it to differ from the rest.
    """
    of = study(
        factors=[
            Factor("persona", {"noir": "n", "plain": "p", "utopian": "u"}),
            Factor("group", {g: g for g in ("white", "black", "asian")}),
        ],
        replicates=60,
    )
    helped = {"noir": 12, "plain": 36, "utopian": 54}
    records = recorded(
        of,
        lambda t: (
            None if t.condition.id == "noir-black" else t.replicate <= helped[level(t, "persona")]
        ),
        "yes",
    )
    table = []
    for group in ("white", "black", "asian"):
        replies = at(records, "yes", group=group)
        table.append([replies.sum(), replies.size - replies.sum()])
    assert stats.chi2_contingency(table).pvalue < 0.01
    question = GroupContrast("yes", "group", group="black", margin=0.1, claim="clear")
    found: NoFinding
    with pytest.raises(IncompleteDesign) as raised:
        question.analyse(of, records)
    found = raised.value
    asked_for = Question(
        id=question.id, claim="clear", family="primary", direction=None, finding=found
    )
    (verdict,) = decide("narrative", "m", [asked_for], {}, {})
    assert verdict.status == "INCONCLUSIVE"
    assert "incomplete design" in verdict.words
    assert "noir/black" in verdict.words
    within = GroupContrast(
        "yes",
        "group",
        group="black",
        margin=0.2,
        claim="clear",
        at={"persona": ("plain", "utopian")},
    ).analyse(of, records)
    assert within.estimate == pytest.approx(0, abs=1e-12)
    assert there(within.p_clear) < 0.01


def test_without_ends_of_the_scale_nothing_holds_in_the_worst_case() -> None:
    of = study(measures=[Measure("score")], replicates=20)
    rng = np.random.default_rng(0)
    records = recorded(of, lambda t: None if t.replicate == 1 else float(rng.normal()))
    worst = there(asked(claim=None).analyse(of, records).worst_case)
    assert (worst.lowest, worst.highest, worst.p_alarm, worst.p_clear) == (None, None, 1.0, 1.0)


Floats = NDArray[np.float64]
BY_ARM = pairwise("arm", ["a"], ["b"])


def two_arms(a: Floats, b: Floats, lost: tuple[int, int], *, flags: bool = False) -> Grid:
    arms = zip("ab", (a, b), lost, strict=True)
    cells = (replace(cell(each, arm=arm), reasons={"refusal": n}) for arm, each, n in arms)
    return grid(cells, flags=flags)


def means(of: Grid) -> tested.Tested:
    return fixed_contrast(of, BY_ARM, margin=0.6, null="zero")


def worst_of(of: Grid, analyse: Callable[[Grid], tested.Tested] = means) -> WorstCase:
    return there(worst_case(of, BY_ARM, analyse))


def spread(a: Floats, b: Floats) -> float:
    both = (a.var(ddof=1) * (a.size - 1) + b.var(ddof=1) * (b.size - 1)) / (a.size + b.size - 2)
    return float(np.sqrt(both))


def test_where_shares_are_alike_missing_replies_are_moved_by_one_standard_deviation() -> None:
    rng = np.random.default_rng(5)
    a, b = rng.normal(0, 1, 112), rng.normal(0, 1, 110)
    a, b = a + 5.05 - a.mean(), b + 5 - b.mean()
    found = worst_of(two_arms(a, b, (8, 10)))
    share, sd, difference = 8 / 120 + 10 / 120, spread(a, b), a.mean() - b.mean()
    assert (found.needed, found.kind) == (True, "tipping")
    assert found.lowest == pytest.approx(difference - share * sd, rel=1e-9)
    assert found.highest == pytest.approx(difference + share * sd, rel=1e-9)
    # What is missing adds nothing to what is known: the standard error is that of what was seen.
    welch = stats.ttest_ind(
        a + 8 / 120 * sd, b - 10 / 120 * sd + 0.6, equal_var=False, alternative="less"
    )
    assert found.p_clear == pytest.approx(welch.pvalue, rel=1e-9)
    assert found.p_alarm == 1.0  # the two shifts lie on both sides of no effect
    # At the shift found, p is .05: the upper 90 % limit of what was seen plus the shift is .6.
    seen = stats.ttest_ind(a, b, equal_var=False).confidence_interval(0.90)
    assert found.shift == pytest.approx((0.6 - seen.high) / (share * sd), abs=0.02)


def test_an_effect_that_no_shift_undoes_has_no_tipping_point() -> None:
    rng = np.random.default_rng(5)
    found = worst_of(two_arms(rng.normal(9, 1, 112), rng.normal(5, 1, 110), (8, 10)))
    assert (found.kind, found.shift) == ("tipping", None)
    assert found.p_alarm < 1e-9
    open_ = worst_of(two_arms(rng.normal(5.5, 1, 112), rng.normal(5, 1, 110), (8, 10)))
    assert there(open_.p_clear) > 0.05


@pytest.mark.parametrize(
    ("lost", "kind"),
    [
        ((8, 8), "tipping"),
        ((7, 2), "tipping"),  # four points apart
        ((9, 2), "manski"),  # six
        ((7, 1), "manski"),  # five points, and p = .03
        ((45, 45), "manski"),  # alike, and too few trials to rule out ten points
    ],
)
def test_shares_are_alike_only_where_that_is_shown(lost: tuple[int, int], kind: str) -> None:
    rng = np.random.default_rng(5)
    a, b = (rng.normal(5, 1, 120 - n) for n in lost)
    assert worst_of(two_arms(a, b, lost)).kind == kind


def test_replies_without_any_spread_cannot_be_moved_by_it() -> None:
    assert worst_of(two_arms(np.full(112, 5.0), np.full(112, 5.0), (8, 8))).kind == "manski"


def test_missing_events_are_taken_half_a_rate_off() -> None:
    """A rare event's own deviation would presume it as rare among what is missing."""
    a, b = np.repeat([1.0, 0.0], [4, 106]), np.repeat([1.0, 0.0], [6, 105])
    found = worst_of(
        two_arms(a, b, (10, 9), flags=True),
        lambda of: rate_difference(of, BY_ARM, margin=0.2, null="zero"),
    )
    assert found.kind == "tipping"
    # 10 x (4 / 110 + .5) = 5.4: 6 more of a, and none of b, as 6 / 111 is below .5.
    assert found.highest == pytest.approx(10 / 120 - 6 / 120)
    # None of a, and 9 x (6 / 111 + .5) = 4.99: 5 more of b.
    assert found.lowest == pytest.approx(4 / 120 - 11 / 120)
    assert found.p_clear == pytest.approx(
        max(
            tost_rates(4, 120, 11, 120, margin=0.2).p,
            tost_rates(10, 120, 6, 120, margin=0.2).p,
        )
    )


def cleared(arms: Callable[[np.random.Generator], tuple[Floats, Floats]], seed: int) -> float:
    """Share of 200 draws of 120 trials an arm that are CLEAR, missing replies at their worst."""
    rng, clear = np.random.default_rng(seed), 0
    with fewer_weightings():
        for _ in range(200):
            a, b = arms(rng)
            of = two_arms(a, b, (120 - a.size, 120 - b.size))
            if there(means(of).p_clear) > 0.05:
                continue
            at_worst = worst_case(of, BY_ARM, means, margin=0.6, always=False, tips=False)
            clear += at_worst is None or not at_worst.needed or there(at_worst.p_clear) <= 0.05
    return clear / 200


def whole_months(rng: np.random.Generator, mean: float) -> Floats:
    return np.asarray(np.clip(np.round(rng.normal(mean, 1, 120)), 0, 12), dtype=np.float64)


@pytest.mark.parametrize(("share", "least"), [(0.04, 0.85), (0.06, 0.68), (0.08, 0.48)])
def test_replies_missing_at_random_are_no_cliff(share: float, least: float) -> None:
    """Both ends of the scale alone leave .62, .17 and .03."""

    def arms(rng: np.random.Generator) -> tuple[Floats, Floats]:
        a, b = (whole_months(rng, 5) for _ in range(2))
        return a[rng.random(120) >= share], b[rng.random(120) >= share]

    assert cleared(arms, 1) >= least


def lose_highest(rng: np.random.Generator, values: Floats, share: float) -> Floats:
    return np.sort(values)[: values.size - rng.binomial(values.size, share)]


LOSES: dict[str, Callable[[np.random.Generator, Floats], Floats]] = {
    "nothing": lambda _, b: b,
    "half as many at random": lambda rng, b: b[rng.random(b.size) >= 0.04],
    "as many at random": lambda rng, b: b[rng.random(b.size) >= 0.08],
    "the highest too": lambda rng, b: lose_highest(rng, b, 0.08),
}


@pytest.mark.parametrize("loses", LOSES.values(), ids=LOSES)
def test_replies_beyond_the_margin_that_go_missing_clear_nothing(
    loses: Callable[[np.random.Generator, Floats], Floats],
) -> None:
    """One arm lies a margin above the other, and loses the highest 8 % of its replies."""

    def arms(rng: np.random.Generator) -> tuple[Floats, Floats]:
        a, b = rng.normal(5.6, 1, 120), rng.normal(5, 1, 120)
        return lose_highest(rng, a, 0.08), loses(rng, b)

    assert cleared(arms, 2) <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / 200)


@pytest.mark.parametrize("few", [4, 6])
def test_few_replies_that_would_have_shown_it_clear_nothing(few: int) -> None:
    """No more than 5 % of an arm, its highest, at a difference of the margin."""

    def arms(rng: np.random.Generator) -> tuple[Floats, Floats]:
        return np.sort(whole_months(rng, 5.6))[:-few], whole_months(rng, 5)

    assert cleared(arms, 3) <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / 200)


EVENTS = Factor("group", {"a": "a", "b": "b", "c": "c"})


@pytest.mark.parametrize(
    ("contrast", "events", "lost"),
    [
        (RateDifference("yes", "group", high="a", low="b", margin=0.05, claim="clear"), 60, 30),
        (RateRatio("yes", "group", high="a", low="b", margin=1.5, claim="clear"), 60, 30),
        (
            TotalGap(
                "yes", "group", gaps=[("a", "b", 1.0)], margin=0.05, claim="clear", null="margin"
            ),
            60,
            30,
        ),
        (GroupContrast("yes", "group", margin=0.1, claim="clear", null="margin"), 0, 30),
    ],
    ids=["difference", "ratio", "total of gaps", "any group"],
)
def test_events_that_are_refused_clear_no_kind_of_contrast(
    contrast: RateDifference, events: int, lost: int
) -> None:
    """Of 600 trials 90 events in a, of which 5 % of the trials are lost: a margin more, or so."""
    of = study(factors=[EVENTS], measures=[Measure("yes")], replicates=600)

    def draw(trial: Trial) -> bool | None:
        if level(trial, "group") != "a":
            return trial.replicate <= events
        return None if trial.replicate <= lost else trial.replicate <= 90

    found = contrast.analyse(of, recorded(of, draw, "yes"))
    assert there(found.p_clear) <= 0.05  # of what is left
    assert found.worst_case is not None
    assert found.worst_case.needed
    assert (found.worst_case.p_clear or 0.0) > 0.05
    detects = replace(contrast, claim="detect").analyse(of, recorded(of, draw, "yes"))
    assert not there(detects.worst_case).needed


def test_a_small_cell_counts_for_what_it_weighs() -> None:
    """It has 20 trials where the others have 400, and as large a part in the mean."""
    of = study(replicates=400)
    rng = np.random.default_rng(0)
    rows = []
    for row in recorded(of, lambda _: float(rng.normal(0, 1))).rows:
        small = (level(row.trial, "tone"), level(row.trial, "style")) == ("high", "plain")
        if not small or row.trial.replicate > 4:
            rows += [row] * (not small or row.trial.replicate <= 20)
        else:
            rows.append(Record(row.trial, {}, "refusal"))
    worst = there(asked(margin=0.9).analyse(of, Records(tuple(rows))).worst_case)
    assert worst.needed
    assert there(worst.highest) > 0.9


def test_one_reply_takes_no_more_units_than_those_of_its_group() -> None:
    """One of 20 exemplars of a group is no more than 5 %, whatever other groups have."""
    sizes = {"a": 20, "b": 5, "c": 20}
    of = study(factors=[groups(sizes), STYLE], replicates=1)
    rng = np.random.default_rng(1)

    def draw(trial: Trial) -> float | None:
        first = trial.exemplars["group"] == "a 0" and level(trial, "style") == "plain"
        return None if first else float(rng.normal(0, 1))

    contrast = MeanDifference(
        "score", "group", high="a", low="b", margin=9, target="population", claim="clear"
    )
    worst = there(contrast.analyse(of, recorded(of, draw)).worst_case)
    assert not worst.needed
    group = GroupContrast(
        "score", "group", group="a", margin=9, target="population", claim="clear"
    )
    worst = there(group.analyse(of, recorded(of, draw)).worst_case)
    assert not worst.needed


WORDING = Factor("wording", {f"w{number}": str(number) for number in range(12)})
BIASED = 10
"""Units that differ, by as much as makes the mean of all twice the margin, and lose a reply."""


def hiding(unit: str) -> tuple[Any, Records]:
    """Units of which those that differ lose a reply of twelve or more: under 5 % of all."""
    crossed = unit == "seed"
    of = study(
        factors=[TONE, WORDING] if crossed else [groups({"a": 25, "b": 25, "c": 25}), WORDING],
        items=items(25) if crossed else None,
        measures=[Measure("score", unit="points")],
        replicates=1,
    )
    rng = np.random.default_rng(3)

    def draw(trial: Trial) -> float | None:
        of_first = level(trial, "tone") == "high" if crossed else level(trial, "group") == "a"
        name = trial.item if crossed else trial.exemplars["group"]
        number = int("".join(filter(str.isdigit, name or "")))
        if number < BIASED and level(trial, "wording") == "w0":
            loses = of_first == (number % 2 == 0) if crossed else of_first
            if loses:
                return None
        return 2.5 * (number < BIASED and of_first) + float(rng.normal(0, 0.1))

    return of, recorded(of, draw)


@pytest.mark.parametrize(
    "contrast",
    [
        MeanDifference(
            "score", "tone", high="high", low="low", margin=0.5, target="population", claim="clear"
        ),
        MeanDifference(
            "score", "group", high="a", low="b", margin=0.5, target="population", claim="clear"
        ),
        GroupContrast("score", "group", group="a", margin=0.5, target="population", claim="clear"),
    ],
    ids=["units meet both levels", "units belong to one", "one group against the rest"],
)
def test_units_that_a_few_missing_replies_take_with_them_count_as_missing(
    contrast: MeanDifference | GroupContrast,
) -> None:
    of, records = hiding("seed" if contrast.factor == "tone" else "group")
    found = contrast.analyse(of, records)
    lost = sum(row.missing is not None for row in records.rows)
    assert lost < 0.05 * len(records.rows) / 2  # whichever side they are of
    assert there(found.p_clear) < 1e-3  # of those that are left
    worst = there(found.worst_case)
    assert worst.needed
    assert there(worst.p_clear) > 0.05
