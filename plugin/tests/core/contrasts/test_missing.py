from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats  # type: ignore[import-untyped, unused-ignore]  # scipy ships no types

from pytest_bias.contrasts.groups import GroupContrast, TotalGap
from pytest_bias.contrasts.interactions import Interaction
from pytest_bias.contrasts.pairs import MeanDifference
from pytest_bias.errors import IncompleteDesign, NoFinding, TooFewUnits
from pytest_bias.experiments.design import Factor, Trial
from pytest_bias.experiments.measures import Measure
from pytest_bias.experiments.records import Records
from pytest_bias.verdicts.rule import Question, decide

from .designs import STYLE, TONE, at, groups, items, level, recorded, study

OF = study(items=items(2), replicates=20)


def asked(**changes: object) -> MeanDifference:
    given: dict[str, object] = {"high": "high", "low": "low", "margin": 0.5, "claim": "clear"}
    return MeanDifference("score", "tone", **(given | changes))  # type: ignore[arg-type]  # by name


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
    lost = {("high", "plain"): 4, ("low", "formal"): 6}
    records = losing(lost)
    found = asked().analyse(OF, records)
    worst = found.worst_case
    assert worst is not None
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
    assert worst.highest is not None
    assert worst.lowest is not None
    assert worst.highest - worst.lowest == pytest.approx(20 * (4 + 6) / 80)
    assert worst.needed  # 6 of 80 on the low side
    assert worst.p_alarm == 1.0  # the fillings lie on both sides of no effect
    assert worst.p_clear is not None
    assert worst.p_clear > 0.5
    assert found.missing == 10


@pytest.mark.parametrize(("lost", "needed"), [(4, False), (5, True)])
def test_five_per_cent_of_a_side_may_be_missing(lost: int, *, needed: bool) -> None:
    worst = asked().analyse(OF, losing({("high", "plain"): lost})).worst_case
    assert worst is not None
    assert worst.needed is needed  # of 80


@pytest.mark.parametrize(("lost", "needed"), [(2, False), (3, True)])
def test_an_interaction_has_four_sides(lost: int, *, needed: bool) -> None:
    question = Interaction(
        "score", {"tone": ("high", "low"), "style": ("formal", "plain")}, margin=0.5, claim="clear"
    )
    worst = question.analyse(OF, losing({("high", "formal"): lost})).worst_case
    assert worst is not None
    assert worst.needed is needed  # of 40


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
    worst = asked().analyse(of, records).worst_case
    assert worst is not None
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
def test_what_has_no_sides_has_no_worst_case_either(question: Any, lost: int) -> None:
    """All replies missing of a group could be anything, each another: no filling is the worst."""
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
    worst = question.analyse(of, records).worst_case
    assert worst is not None
    assert (worst.lowest, worst.highest, worst.p_alarm) == (None, None, 1.0)
    share = lost / (18 if isinstance(question, Interaction) else 36)
    assert worst.needed is (share > 0.05)


def test_an_empty_arm_is_named() -> None:
    records = recorded(OF, lambda t: None if level(t, "tone") == "high" else float(t.replicate))
    with pytest.raises(TooFewUnits, match="tone=high"):
        asked().analyse(OF, records)


def test_an_empty_cell_of_a_set_is_an_incomplete_design() -> None:
    records = recorded(
        OF,
        lambda t: None if (t.condition.id, t.item) == ("low-formal", "s1") else float(t.replicate),
    )
    with pytest.raises(IncompleteDesign, match="low/formal/s1"):
        asked().analyse(OF, records)


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
    (verdict,) = decide("narrative", "m", [asked_for], None, {}, {})
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
    assert within.p_clear is not None
    assert within.p_clear < 0.01


def test_without_ends_of_the_scale_nothing_holds_in_the_worst_case() -> None:
    of = study(measures=[Measure("score")], replicates=20)
    rng = np.random.default_rng(0)
    records = recorded(of, lambda t: None if t.replicate == 1 else float(rng.normal()))
    worst = asked(claim=None).analyse(of, records).worst_case
    assert worst is not None
    assert (worst.lowest, worst.highest, worst.p_alarm, worst.p_clear) == (None, None, 1.0, 1.0)
