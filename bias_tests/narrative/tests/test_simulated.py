"""What is planted in the simulated subjects is what their stories, grades and verdicts show."""

from __future__ import annotations

import json
import statistics
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from functools import cache

import pytest
from scipy import stats  # type: ignore[import-untyped, unused-ignore]  # scipy ships no types

from pytest_bias import masked
from pytest_bias.cassettes.recorded_trials import reread
from pytest_bias.cassettes.store import Cassette, cassette_path
from pytest_bias.errors import NoFinding
from pytest_bias.experiments.experiment import ModelRoles
from pytest_bias.experiments.messages import Message
from pytest_bias.experiments.records import Outcome, Records, record_of
from pytest_bias.experiments.simulated import SimulatedPrompt
from pytest_bias.providers.roles import SIMULATED_JUDGE
from pytest_bias.providers.simulated import PROGRAMS, SUBJECTS
from pytest_bias.verdicts.analysis import Analysis
from pytest_bias.verdicts.verdict import Reason
from pytest_bias.verdicts.wording import units_text

from ..experiment import NAMES, NARRATIVE
from ..grading import PRO_SOCIAL
from ..hypotheses import CONTROLS, HYPOTHESES, WITH_GROUP
from ..simulated import (
    INVALID,
    JUDGE,
    PRO_SOCIAL_SHARE,
    SCRIPT,
    answer,
    cues,
    planted,
)
from ..telling import Told
from .simulating import CASSETTES, ONE, analysed, judged, outcomes

FOUND: Mapping[str, set[str]] = {
    "even": set(),
    "biased": {
        "pro_social-black_male-rest",
        "pro_social-any-group-wallet",
        "hesitation-hispanic_female-rest",
    },
    "drifted": {
        "hesitation-hispanic_female-rest",
        "pro_social-hispanic_male-rest",
        "pro_social-persona-x-group",
    },
}
"""Bias that gates, by subject: what is planted in one group and scenario shows in what asks after
any group there, and what is planted in one persona in the interaction."""

OPEN: Mapping[str, set[str]] = {
    "even": set(),
    "biased": {"pro_social-white_male-rest"},
    "drifted": {"hesitation-black_male-rest", "hesitation-asian_female-rest"},
}
"""Claims to be clear that are not: a group far off is part of the mean that others are held to."""


def told(subject: str) -> list[Told]:
    return [each.result for each in outcomes(subject) if isinstance(each.result, Told)]


# --- verdicts ------------------------------------------------------------------------------------


@pytest.mark.parametrize("subject", SUBJECTS)
def test_bias_is_found_exactly_where_it_was_planted(subject: str) -> None:
    verdicts = [v for v in analysed(subject).verdicts if v.claim != "describe"]
    assert {v.id for v in verdicts if v.status == "BIASED"} == FOUND[subject]


@pytest.mark.parametrize("subject", SUBJECTS)
def test_every_other_claim_to_be_clear_is_clear_but_for_those_that_are_named(
    subject: str,
) -> None:
    open_claims = {
        v.id
        for v in analysed(subject).verdicts
        if v.claim == "clear" and v.status == "INCONCLUSIVE"
    }
    assert open_claims == OPEN[subject]


@pytest.mark.parametrize("subject", SUBJECTS)
def test_the_control_is_seen(subject: str) -> None:
    controls = analysed(subject).controls
    assert len(controls) == len(CONTROLS)
    assert all(control.seen for control in controls)


def test_the_size_of_what_was_planted() -> None:
    def estimate(subject: str, hypothesis: str) -> float:
        finding = analysed(subject).verdict(hypothesis).finding
        assert finding is not None
        return finding.estimate

    assert estimate("biased", "pro_social-black_male-rest") == pytest.approx(-0.25, abs=0.05)
    assert estimate("biased", "hesitation-hispanic_female-rest") == pytest.approx(0.6, abs=0.1)
    assert estimate("drifted", "pro_social-hispanic_male-rest") == pytest.approx(-0.165, abs=0.05)
    assert estimate("drifted", "hesitation-hispanic_female-rest") == pytest.approx(0.9, abs=0.1)
    assert estimate("drifted", "pro_social-black_male-rest") == pytest.approx(0, abs=0.06)


@pytest.mark.requirement("NARR-26")
def test_the_hot_spot_is_named() -> None:
    finding = analysed("drifted").verdict("pro_social-persona-x-group").finding
    assert finding is not None
    assert finding.contrast.endswith("largest at noir × hispanic_male")


def test_hardship_is_described_and_never_gates() -> None:
    for subject in SUBJECTS:
        verdict = analysed(subject).verdict("hesitation-financial_stress-neutral")
        assert verdict.claim == "describe"
        assert verdict.finding is not None
        assert verdict.finding.estimate == pytest.approx(0.3, abs=0.06)
        assert verdict.words.startswith("DESCRIBED for names like these 40: an effect")
        assert units_text(verdict.finding).startswith("n = 40 exemplars of group")


@pytest.mark.parametrize("subject", SUBJECTS)
def test_the_judge_agrees_with_itself_well_enough(subject: str) -> None:
    found = {each.measure: each for each in analysed(subject).agreements}
    assert set(found) == {"ending", "hesitation"}
    assert found["hesitation"].level == "ordinal"
    assert found["hesitation"].alpha == pytest.approx(0.82, abs=0.03)
    assert found["ending"].alpha == pytest.approx(0.92, abs=0.03)
    assert all(each.holds and each.trials > 650 for each in found.values())


@pytest.mark.requirement("NARR-21", "NARR-22", "NARR-23")
def test_published_columns_are_the_documents() -> None:
    found = {v.id: v.finding for v in analysed("even").verdicts}
    for scenario in PRO_SOCIAL:
        finding = found[f"pro_social-any-group-{scenario}"]
        assert finding is not None
        assert finding.published is not None
        assert finding.published.method.startswith("chi-square")
        assert finding.published.statistics["df"] == 7
    anova = found["hesitation-persona-x-ses"]
    assert anova is not None
    assert anova.published is not None
    assert {"F persona", "F ses", "F persona × ses"} <= set(anova.published.statistics)


@pytest.mark.requirement("NARR-22", "NARR-27")
def test_hypotheses_are_declared_in_their_families() -> None:
    assert Counter(hypothesis.family for hypothesis in HYPOTHESES) == {
        "pro-social": 8,
        "hesitation": 8,
        "missing": 8,
        "by scenario": 3,
        "interactions": 4,
        "ses": 1,
        "ses struggle": 1,
        "persona by ses": 1,
        "as published": 3,
    }
    ids = {hypothesis.id for hypothesis in HYPOTHESES}
    assert len(ids) == len(HYPOTHESES) == 37
    assert {"pro_social-ses-x-group", "hesitation-ses-x-group"} < ids


# --- incomplete designs --------------------------------------------------------------------------


def without_a_cell(persona: str, group: str) -> tuple[Outcome, ...]:
    """The stories of ``even``, of which those of one persona about one group have no grade."""
    return tuple(
        replace(each, result=None, missing="judge_empty")
        if each.trial.condition.levels["persona"] == persona
        and each.trial.condition.levels["group"] == group
        else each
        for each in outcomes("even")
    )


@cache
def judged_without_a_cell() -> Analysis:
    return judged(without_a_cell("noir", "white_female"), HYPOTHESES)


def pooled_chi_square(found: tuple[Outcome, ...]) -> tuple[float, float, int]:
    """Chi-square of the endings by group, with all personas and scenarios thrown together."""
    counts = {group: [0, 0] for group in NAMES}
    for each in found:
        if isinstance(each.result, Told):
            counts[each.trial.condition.levels["group"]][each.result.pro_social] += 1
    result = stats.chi2_contingency(list(counts.values()), correction=False)
    return float(result.statistic), float(result.pvalue), int(result.dof)


@pytest.mark.requirement("NARR-21")
def test_an_empty_cell_alone_makes_a_pooled_chi_square_significant() -> None:
    """What was once published as chi2(7) = 19.1, p = .008: the group lacks its darkest stories."""
    assert pooled_chi_square(outcomes("even")) == pytest.approx((6.35, 0.499, 7), abs=0.02)
    holed = pooled_chi_square(without_a_cell("noir", "white_female"))
    assert holed == pytest.approx((23.52, 0.0014, 7), abs=0.05)
    beside = judged_without_a_cell().verdict("pro_social-group-any").published
    assert beside is not None
    assert [beside.statistics[name] for name in ("chi2", "p", "df")] == pytest.approx(holed)


def test_an_empty_cell_of_persona_and_group_gives_no_verdict_that_pools_over_it() -> None:
    for verdict in judged_without_a_cell().verdicts:
        if verdict.id.startswith("missing"):
            assert verdict.finding is not None
        else:
            assert verdict.finding is None, verdict.id
            assert verdict.status == "INCONCLUSIVE"
            assert verdict.reason is Reason.NO_ESTIMATE
            # what was published stands beside the reason, but for what nobody published
            assert (verdict.published is None) == ("-x-group" in verdict.id), verdict.id
        if verdict.id == "missing-white_female-rest":
            assert verdict.status == "BIASED"  # that its stories are missing is found


def test_the_empty_cell_is_named() -> None:
    rows = tuple(
        record_of(
            replace(each, result=None, missing="judge_empty")
            if each.trial.condition.id == "noir-asian_male-neutral-team"
            else each,
            NARRATIVE.measures,
        )
        for each in outcomes("even")
    )
    with pytest.raises(NoFinding, match="incomplete design"):
        WITH_GROUP[0].analyse(NARRATIVE, Records(rows))


# --- stories and grades --------------------------------------------------------------------------


@pytest.mark.parametrize("subject", SUBJECTS)
def test_stories_are_varied_and_of_the_length_that_is_asked_for(subject: str) -> None:
    found = told(subject)
    assert {each.words in range(75, 116) for each in found} == {True}
    assert len({each.story for each in found}) > 0.98 * len(found)


@pytest.mark.parametrize("subject", SUBJECTS)
def test_few_stories_go_missing_and_few_grades_are_invalid(subject: str) -> None:
    missing = Counter(each.missing for each in outcomes(subject))
    assert set(missing) == {None, "ambiguous_outcome", "story_refusal"}
    assert 0.97 < missing[None] / 5760 < 0.99
    invalid = sum(reason != "refusal" for each in outcomes(subject) for reason in each.invalid)
    assert invalid / (2 * 5760) == pytest.approx(INVALID, abs=0.007)


def test_shares_follow_persona_and_scenario() -> None:
    for persona, shares in PRO_SOCIAL_SHARE.items():
        for scenario, share in shares.items():
            found = [
                each.result.pro_social
                for each in outcomes("even")
                if isinstance(each.result, Told)
                and each.trial.condition.levels["persona"] == persona
                and each.trial.condition.levels["scenario"] == scenario
            ]
            assert statistics.fmean(found) == pytest.approx(share, abs=0.06)


def test_even_has_nothing_planted_and_unknown_names_have_nothing_in_any() -> None:
    for persona, scenario in ((p, s) for p in PRO_SOCIAL_SHARE for s in PRO_SOCIAL):
        assert {planted("even", group, persona, scenario) for group in NAMES} == {(0, 0)}
        assert {planted(subject, "", persona, scenario) for subject in SUBJECTS} == {(0, 0)}


def test_what_the_judge_looks_for_survives_masking_and_tells_one_thing() -> None:
    every = {**cues(SCRIPT.actions), **cues(SCRIPT.hesitations)}
    lines = sum(map(len, SCRIPT.actions.values())) + sum(map(len, SCRIPT.hesitations.values()))
    assert len(every) == lines
    for cue in every:
        assert len(cue) > 15
        assert masked(cue, ["Greg"]) == cue
        assert sum(cue in other for other in every) == 1
    others = [*SCRIPT.openings.values(), *SCRIPT.contexts.values(), *SCRIPT.scenes.values()]
    others += SCRIPT.closings.values()
    assert not [cue for cue in every for lines in others for line in lines if cue in line]


def test_other_prompts_are_left_to_other_experiments() -> None:
    for text in ("Write a story about Greg.", "STORY\nOnce upon a time.\nEND OF STORY"):
        assert answer(SimulatedPrompt("even", (Message("user", text),), 1)) is None


def test_replies_are_a_function_of_subject_prompt_and_seed() -> None:
    trial = ONE[100]
    prompt = outcomes("even")[800].prompts
    assert outcomes("even")[800].trial.condition == trial.condition
    messages = (Message("system", prompt[0]), Message("user", prompt[1]))
    once, again = (
        [
            answer(SimulatedPrompt(subject, messages, seed))
            for subject in SUBJECTS
            for seed in (1, 2)
        ]
        for _ in range(2)
    )
    assert once == again
    assert len(set(once)) == 6


def test_a_grade_is_the_json_that_is_asked_for() -> None:
    graded = next(each for each in outcomes("even") if each.missing is None and not each.invalid)
    for name in PROGRAMS:
        text = answer(SimulatedPrompt(name, (Message("user", graded.prompts[2]),), 3))
        assert text is not None
        assert set(json.loads(text)) == {"outcome", "hesitation"}


def test_the_judge_tells_no_stories() -> None:
    prompts = outcomes("even")[500].prompts
    messages = (Message("system", prompts[0]), Message("user", prompts[1]))
    assert answer(SimulatedPrompt("even", messages, 1)) is not None
    assert answer(SimulatedPrompt(JUDGE, messages, 1)) is None


# --- the shipped cassettes -----------------------------------------------------------------------


@pytest.mark.requirement("NARR-14")
@pytest.mark.parametrize("subject", SUBJECTS)
def test_the_shipped_recordings_are_what_the_subjects_and_their_judge_say(subject: str) -> None:
    """Recorded over HTTP through google-genai, and carried out in memory: the same outcomes."""
    path = cassette_path(CASSETTES, NARRATIVE.id, f"simulated/{subject}")
    cassette = Cassette(path)
    roles = ModelRoles(f"simulated/{subject}", SIMULATED_JUDGE)
    for outcome in outcomes(subject)[::9]:
        assert reread(NARRATIVE, roles, outcome.trial, cassette) == outcome


def test_the_shipped_recordings_are_small() -> None:
    files = list((CASSETTES / NARRATIVE.id).glob("*.gz"))
    assert len(files) == 4
    assert sum(file.stat().st_size for file in files) < 13_000_000
