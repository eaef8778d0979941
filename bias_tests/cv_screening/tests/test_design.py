"""Sizes, and what the subject reads: identical bodies, distinct prompts, no label and no id."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from pytest_bias.errors import BadData, BadDesign
from pytest_bias.experiments.checks.manipulation import faults
from pytest_bias.experiments.design import Trial
from pytest_bias.experiments.experiment import plan

from ..experiment import CV_SCREENING
from ..scaffolds import SCAFFOLDS
from ..screening import CVS, SCREENING, VARIANTS
from .simulating import CASSETTES, ONE, carried_out

GATE = CV_SCREENING.design()
DOCUMENTED = CV_SCREENING.design("documented")


@cache
def told(trial_id: str) -> tuple[str, ...]:
    """Every message the subject is sent in one trial, each once."""
    trial = next(trial for trial in ONE if trial.id == trial_id)
    _, script = carried_out("even", trial)
    messages = [m.text for r in script.requests for m in r.messages if m.role == "user"]
    return tuple(dict.fromkeys(messages))


def cv_in(text: str) -> str | None:
    found = re.search(r"^APPLICATION\n(.*)\nEND OF APPLICATION$", text, re.DOTALL | re.MULTILINE)
    return found.group(1) if found else None


# --- sizes ---------------------------------------------------------------------------------------


@pytest.mark.requirement("CV-01", "CV-14")
def test_the_documented_design_has_840_trials_of_21_cvs() -> None:
    trials = plan(CV_SCREENING, DOCUMENTED)
    assert len(trials) == 7 * 3 * 4 * 10
    assert {trial.exemplars["group"] for trial in trials} == {"names_1"}
    cvs = {(trial.condition.levels["group"], trial.item) for trial in trials}
    assert len(cvs) == 21
    scaffolds = Counter(trial.condition.levels["scaffold"] for trial in trials)
    assert scaffolds == dict.fromkeys([s.label for s in SCAFFOLDS], 210)


@pytest.mark.requirement("CV-16")
def test_six_models_make_the_documented_5040_ratings() -> None:
    assert 6 * len(plan(CV_SCREENING, DOCUMENTED)) == 5040


@pytest.mark.requirement("CV-14")
def test_the_gate_design_has_three_name_sets_and_six_iterations() -> None:
    trials = plan(CV_SCREENING, GATE)
    assert len(trials) == 7 * 3 * 3 * 4 * 6 == 1512
    per_cell = Counter(
        (trial.condition.id, trial.exemplars["group"], trial.item) for trial in trials
    )
    assert set(per_cell.values()) == {6}


def test_the_first_iterations_of_the_first_name_set_are_in_both_designs() -> None:
    gate, documented = (
        {trial.id for trial in plan(CV_SCREENING, design)} for design in (GATE, DOCUMENTED)
    )
    assert len(gate & documented) == 7 * 3 * 4 * 6
    assert len(gate | documented) == 1848


@pytest.mark.parametrize("subject", ["even", "biased", "drifted", "messy"])
def test_the_shipped_recordings_are_small_and_hold_no_text(subject: str) -> None:
    data = (CASSETTES / f"simulated--{subject}.jsonl").read_bytes()
    assert len(data) < 2_000_000
    assert data.count(b'\n{"measured":"') == 1848
    for shown in (b"Brackwater", b"END OF APPLICATION", b"fit the job", b"I would rate"):
        assert shown not in data
    for variant in VARIANTS.variants:
        for identity in variant.identities:
            assert identity.name.encode() not in data


# --- what is manipulated -------------------------------------------------------------------------


def test_the_plugin_finds_nothing_wrong_with_the_prompts() -> None:
    assert faults(CV_SCREENING) == ()


@pytest.mark.requirement("CV-04", "CV-05")
def test_bodies_are_identical_and_only_three_lines_differ() -> None:
    bodies: defaultdict[str | None, set[str]] = defaultdict(set)
    heads: defaultdict[str | None, set[str]] = defaultdict(set)
    for trial in ONE:
        for text in told(trial.id):
            if (cv := cv_in(text)) is not None:
                name, email, profile, body = cv.split("\n", 3)
                assert email.startswith("E-mail: ")
                assert profile.startswith("Profile: ")
                heads[trial.item].add(f"{name}\n{email}\n{profile}")
                bodies[trial.item].add(body)
    assert {item: len(found) for item, found in bodies.items()} == {"a1": 1, "c1": 1, "d1": 1}
    assert {item: len(found) for item, found in heads.items()} == {"a1": 21, "c1": 21, "d1": 21}


def test_around_the_cv_every_prompt_of_a_scaffold_is_the_same() -> None:
    frames: defaultdict[str, set[tuple[str, ...]]] = defaultdict(set)
    for trial in ONE:
        texts = [text for text in told(trial.id) if "END OF RATINGS" not in text]
        frame = tuple(text.replace(cv_in(text) or "\0", "…") for text in texts)
        frames[trial.condition.levels["scaffold"]].add(frame)
    assert {scaffold: len(found) for scaffold, found in frames.items()} == dict.fromkeys(
        [s.label for s in SCAFFOLDS], 1
    )


@pytest.mark.requirement("CV-02")
def test_every_variant_of_a_cv_gives_a_prompt_of_its_own() -> None:
    for scaffold in SCAFFOLDS:
        opening = [
            told(trial.id)[0]
            for trial in ONE
            if trial.condition.levels["scaffold"] == scaffold.label
        ]
        assert len(set(opening)) == len(opening) == 63


def test_no_label_no_id_and_no_group_stands_in_any_prompt() -> None:
    hidden = {"white", "black", "asian", "male", "female", "neutral", "anonymised", "race"}
    hidden |= {"gender", "scaffold", "decomposed", "variant", "names_1", "names_2", "names_3"}
    hidden |= {cv.label for cv in CVS} | {variant.id for variant in VARIANTS.variants}
    hidden |= set(CV_SCREENING.factor("group").levels) | {f"set{n}" for n in (1, 2, 3)}
    for trial in ONE:
        for text in told(trial.id):
            words = set(re.findall(r"[a-z0-9_]+", text.lower()))
            assert not words & hidden, trial.id


def test_bodies_say_nothing_about_gender_or_name() -> None:
    for cv in CVS:
        words = set(re.findall(r"\w+", cv.text.lower()))
        assert not words & {"he", "she", "his", "her", "him", "mr", "ms", "mrs", "born", "maiden"}


@pytest.mark.requirement("CV-03")
def test_the_anonymised_variant_shows_placeholders() -> None:
    trial = next(t for t in ONE if t.condition.levels["group"] == "neutral")
    cv = cv_in(told(trial.id)[0])
    assert cv is not None
    assert cv.startswith("[CANDIDATE]\nE-mail: [EMAIL]\nProfile: [PROFILE]\n")


def test_no_prompt_shows_an_example_rating() -> None:
    """Numbers of the scale stand where it is defined, all four of them, and nowhere else."""
    for trial in ONE:
        for text in told(trial.id):
            without_cv = text.replace(cv_in(text) or "\0", "")
            without_ratings = re.sub(r"(?ms)^RATINGS\n.*\nEND OF RATINGS$", "", without_cv)
            numbers = re.findall(r"(?<!\w)[1-4](?!\w)", without_ratings)
            assert numbers == ["4", "3", "2", "1"] * (len(numbers) // 4)
            assert not re.search(r'"rating"\s*:', text)
            assert not re.search(r"e\.g\.|for example|such as \d", text, re.IGNORECASE)


@pytest.mark.requirement("CV-07", "CV-08")
def test_the_job_and_the_words_of_the_scale_are_told() -> None:
    words = ("4 = Excellent fit", "3 = Good fit", "2 = Borderline fit", "1 = Not a fit")
    for trial in ONE:
        texts = told(trial.id)
        assert all(SCREENING.advert in text for text in texts if cv_in(text)), trial.id
        if trial.condition.levels["scaffold"] != "decomposed_algorithmic":
            assert all(word in texts[-1] for word in words), trial.id


def test_scaffolds_ask_as_often_as_they_say() -> None:
    calls = {}
    for trial in ONE:
        _, script = carried_out("even", trial)
        first = [place for place in script.places if place.attempt == 1]
        calls[trial.condition.levels["scaffold"]] = len(first)
    assert calls == {
        "one_shot": 1,
        "chain_of_thought": 2,
        "decomposed": 4,
        "decomposed_algorithmic": 3,
    }


# --- what is refused -----------------------------------------------------------------------------


def test_cvs_and_variants_must_have_the_same_sets() -> None:
    with pytest.raises(BadDesign, match="sets are not the same"):
        replace(SCREENING, cvs=CVS[:2])


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"cvs": (*CVS, CVS[0])}, "two base CVs have the label 'a1'"),
        ({"scaffolds": (*SCAFFOLDS, SCAFFOLDS[1])}, "the label 'chain_of_thought'"),
        (
            {"criteria": (SCREENING.criteria[0], *SCREENING.criteria)},
            "two criteria have the key 'analysis'",
        ),
    ],
)
def test_two_of_a_kind_cannot_have_one_label(changes: dict[str, Any], problem: str) -> None:
    with pytest.raises(BadDesign, match=problem):
        replace(SCREENING, **changes)


@pytest.mark.requirement("CV-05")
def test_a_cv_uses_exactly_the_three_variables() -> None:
    with pytest.raises(BadData, match="email"):
        replace(CVS[0], text="$name, $profile")


def test_trials_name_the_name_set_and_no_person() -> None:
    names = {i.name for variant in VARIANTS.variants for i in variant.identities}
    trials: tuple[Trial, ...] = plan(CV_SCREENING, GATE)
    assert not any(name in trial.id for trial in trials for name in names)
