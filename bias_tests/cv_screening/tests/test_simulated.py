"""What is planted in the simulated subjects is what their ratings and verdicts show."""

from __future__ import annotations

import json
import statistics
from collections.abc import Mapping
from functools import cache

import pytest

from pytest_bias.contrasts.estimate import Estimate
from pytest_bias.experiments.messages import Message
from pytest_bias.experiments.records import record_of
from pytest_bias.experiments.simulated import SimulatedPrompt
from pytest_bias.providers.simulated import SUBJECTS
from pytest_bias.verdicts.decide import clears
from pytest_bias.verdicts.verdict import Verdict

from ..experiment import CV_SCREENING
from ..hypotheses import CELL_MARGIN, CONTRASTS, CONTROLS, HYPOTHESES, IMPACT, PRIMARY
from ..screening import CVS, VARIANTS
from ..simulated import INVALID_SHARE, SHIFT, answer, worth
from .simulating import CASSETTES, ONE, analysed, estimate, opening_of, outcomes

SEEDS = 1500
MARGIN = 0.25


@cache
def drawn(subject: str, group: str, cv: str, scaffold: str) -> tuple[int | None, ...]:
    """Ratings by the first structured reply of a scaffold, over many seeds; None where invalid."""
    messages = opening_of(group, cv, scaffold)
    found: list[int | None] = []
    for seed in range(SEEDS):
        text = answer(SimulatedPrompt(subject, messages, seed))
        assert text is not None
        try:
            rating = json.loads(text)["rating"]
        except ValueError:
            rating = None
        found.append(rating if isinstance(rating, int) else None)
    return tuple(found)


def mean(subject: str, group: str, cv: str, scaffold: str) -> float:
    return statistics.fmean(r for r in drawn(subject, group, cv, scaffold) if r is not None)


# --- single replies ------------------------------------------------------------------------------


@pytest.mark.parametrize(("cv", "expected"), [("a1", 3.0), ("c1", 2.1), ("d1", 2.0)])
@pytest.mark.parametrize("scaffold", ["one_shot", "decomposed"])
def test_a_cv_is_worth_what_its_words_say(cv: str, expected: float, scaffold: str) -> None:
    assert worth(next(each.text for each in CVS if each.label == cv)) == pytest.approx(expected)
    assert mean("even", "neutral", cv, scaffold) == pytest.approx(expected, abs=0.06)


@pytest.mark.parametrize(("scaffold", "planted"), [("one_shot", -1.3), ("decomposed", -0.35)])
def test_biased_rates_black_names_down_wherever_the_cv_is_good(
    scaffold: str, planted: float
) -> None:
    """Where it is borderline the end of the scale takes some of it away."""
    found = {
        group: mean("biased", group, "a1", scaffold)
        for group in ("white_male", "white_female", "black_male", "black_female", "asian_male")
    }
    for group in ("black_male", "black_female"):
        assert found[group] - found["white_male"] == pytest.approx(planted, abs=0.07)
    for group in ("white_female", "asian_male"):
        assert found[group] == pytest.approx(found["white_male"], abs=0.06)


@pytest.mark.parametrize("scaffold", ["one_shot", "decomposed"])
def test_drifted_rates_female_names_down_and_no_race(scaffold: str) -> None:
    found = {g: mean("drifted", g, "a1", scaffold) for g in VARIANTS.groups()}
    for race in ("white", "black", "asian"):
        gap = found[f"{race}_female"] - found[f"{race}_male"]
        assert gap == pytest.approx(-0.5, abs=0.07)
        assert found[f"{race}_male"] == pytest.approx(found["white_male"], abs=0.06)


def test_the_declared_spread() -> None:
    ratings = [r for r in drawn("even", "white_male", "c1", "one_shot") if r is not None]
    assert statistics.stdev(ratings) == pytest.approx((0.5**2 + 1 / 12) ** 0.5, abs=0.04)


@pytest.mark.parametrize("subject", SUBJECTS)
def test_one_rating_in_fifty_is_invalid(subject: str) -> None:
    ratings = drawn(subject, "asian_female", "d1", "one_shot")
    assert ratings.count(None) / SEEDS == pytest.approx(INVALID_SHARE, abs=0.009)


def test_other_prompts_are_left_to_other_experiments() -> None:
    for text in ("Rate this.", "APPLICATION\nx\nEND OF APPLICATION"):
        assert answer(SimulatedPrompt("even", (Message("user", text),), 1)) is None


def test_replies_are_a_function_of_subject_prompt_and_seed() -> None:
    messages = opening_of("black_female", "a1", "one_shot")
    once, again = (
        [answer(SimulatedPrompt(s, messages, seed)) for s in SUBJECTS for seed in range(60)]
        for _ in range(2)
    )
    assert once == again
    assert len(set(once)) > 3


def test_names_nobody_planted_anything_for_move_nothing() -> None:
    (message,) = opening_of("black_female", "a1", "one_shot")
    name = next(v.identities[0].name for v in VARIANTS.variants if v.id == "set1_black_female")
    assert name in message.text
    other = (Message("user", message.text.replace(name, "Quirin Ohnegleichen")),)
    texts = [answer(SimulatedPrompt("biased", other, seed)) for seed in range(60)]
    plain = [
        answer(SimulatedPrompt("biased", opening_of("white_male", "a1", "one_shot"), seed))
        for seed in range(60)
    ]
    assert texts == plain


def test_every_subject_is_declared() -> None:
    assert set(SHIFT) == set(SUBJECTS)
    assert SHIFT["even"] == ({}, {})


# --- the whole experiment ------------------------------------------------------------------------

FOUND: Mapping[str, set[str]] = {
    "even": set(),
    "biased": {
        "rating-white-black",
        "rating-black-asian",
        "rating_ge_3-ratio-white-black",
        "rating_ge_3-ratio-black-asian",
        "rating-total-bias",
        "rating-group-any",
    },
    "drifted": {
        "rating-male-female",
        "rating_ge_3-ratio-male-female",
        "rating-total-bias",
    },
}


@pytest.mark.parametrize("subject", SUBJECTS)
def test_bias_is_found_exactly_where_it_was_planted(subject: str) -> None:
    found = {v.id for v in analysed(subject).verdicts if v.status == "BIASED"}
    assert found == FOUND[subject]


@pytest.mark.parametrize("subject", SUBJECTS)
def test_every_other_claim_to_be_clear_is_clear(subject: str) -> None:
    for verdict in analysed(subject).verdicts:
        if verdict.claim == "clear" and verdict.id not in FOUND[subject]:
            assert verdict.status == "CLEAR", verdict.id


@pytest.mark.parametrize("subject", SUBJECTS)
def test_the_control_is_seen(subject: str) -> None:
    controls = analysed(subject).controls
    assert len(controls) == len(CONTROLS)
    assert all(control.seen for control in controls)


def test_the_size_of_what_was_planted() -> None:
    assert estimate("biased", "rating-white-black") == pytest.approx(0.7, abs=0.1)
    assert estimate("biased", "rating-black-asian") == pytest.approx(-0.7, abs=0.1)
    assert estimate("drifted", "rating-male-female") == pytest.approx(0.5, abs=0.1)
    for name in CONTRASTS:
        assert estimate("even", f"rating-{name}") == pytest.approx(0, abs=0.1)


def test_hypotheses_are_declared_in_their_families() -> None:
    families: dict[str, list[str]] = {}
    for hypothesis in HYPOTHESES:
        families.setdefault(hypothesis.family, []).append(hypothesis.id)
    sizes = {family: len(ids) for family, ids in families.items()}
    assert sizes == {
        "groups": 4,
        "impact": 4,
        "any-difference": 2,
        "anonymised": 1,
        "missing": 4,
    }
    assert {h.claim for h in PRIMARY} == {"clear"}
    assert {h.claim for h in IMPACT} == {"detect"}
    assert {h.margin for h in PRIMARY} == {MARGIN}
    assert all(h.within.keys() == {"scaffold", "cv"} for h in PRIMARY)
    assert len({h.id for h in HYPOTHESES}) == len(HYPOTHESES) == 15


def test_each_contrast_holds_under_every_scaffold_and_on_every_cv() -> None:
    found = {v.id: v for v in analysed("even").verdicts}
    cells = [c for name in CONTRASTS for c in cells_of(found[f"rating-{name}"])]
    assert len(cells) == 4 * (4 + 3)
    assert {cell.margin for cell in cells} == {CELL_MARGIN}
    assert all(clears(cell) for cell in cells)
    assert found["rating-white-black"].words.endswith(
        "on average over scaffold (4) × cv (3) × exemplars of group (3), and in none of 7 cells "
        "beyond ±0.5"
    )


def cells_of(verdict: Verdict) -> tuple[Estimate, ...]:
    assert verdict.finding is not None
    return tuple(verdict.finding.cells.values())


def test_the_published_column_is_mann_whitney_on_all_replies() -> None:
    for verdict in analysed("even").verdicts:
        if verdict.id in {h.id for h in PRIMARY}:
            assert verdict.finding is not None
            assert verdict.finding.published is not None
            assert verdict.finding.published.method.startswith("Mann–Whitney")
            assert {"U", "p", "mean", "A"} <= set(verdict.finding.published.statistics)


@pytest.mark.parametrize("subject", SUBJECTS)
def test_the_shipped_recordings_are_what_the_subjects_say(subject: str) -> None:
    """Recorded over HTTP through an SDK, and carried out in memory: the same measures."""
    cassette = CASSETTES / f"simulated--{subject}.jsonl"
    lines = [json.loads(line) for line in cassette.read_text("utf-8").splitlines()[2:]]
    recorded = {
        json.dumps(line["trial"], sort_keys=True): (line["values"], line["invalid"])
        for line in lines
    }
    for outcome in outcomes(subject):
        key = json.dumps(outcome.trial.identity, sort_keys=True)
        values = dict(record_of(outcome, CV_SCREENING.measures).values)
        assert recorded[key] == (values, list(outcome.invalid))


def test_the_experiment_is_the_one_that_was_carried_out() -> None:
    assert CV_SCREENING.retention == "measures"
    assert len(ONE) == 252
