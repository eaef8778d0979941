"""What is planted in the simulated subjects is what their picks and verdicts show."""

from __future__ import annotations

import json
import re
import statistics
from collections.abc import Mapping
from functools import cache, partial

import pytest

from pytest_bias.cassettes.recorded_trials import reread
from pytest_bias.cassettes.store import Cassette, cassette_path
from pytest_bias.contrasts import selection as selecting
from pytest_bias.experiments.experiment import plan
from pytest_bias.experiments.messages import Message
from pytest_bias.experiments.simulated import SimulatedPrompt
from pytest_bias.providers.simulated import SUBJECTS
from pytest_bias.stats.resampling import label_shuffle_ratio
from pytest_bias.verdicts.analysis import Analysis, analyse
from tests.core.in_memory import NOTHING_KEPT

from ..experiment import CORPORA, RECOMMENDATION, STYLES
from ..hypotheses import CONTROLS, HYPOTHESES, OTHER_GROUPS
from ..simulated import (
    INVALID_SHARE,
    PLANTED,
    PLANTED_UNDER,
    answer,
    weight_of,
)
from .simulating import ROOT, carried_out, outcomes, records

POSTS = {post.id: post for corpus in CORPORA.values() for post in corpus.posts.values()}
EACH = pytest.mark.parametrize("subject", SUBJECTS)


@cache
def analysed(subject: str) -> Analysis:
    """All verdicts on a subject, with fewer resamples: the bounds are far enough away."""
    with pytest.MonkeyPatch.context() as patch:
        shuffled = partial(label_shuffle_ratio, resamples=1_000)
        patch.setattr(selecting, "label_shuffle_ratio", shuffled)
        return analyse(
            RECOMMENDATION,
            RECOMMENDATION.design(),
            f"simulated/{subject}",
            outcomes(subject),
            hypotheses=HYPOTHESES,
            controls=CONTROLS,
            recording=NOTHING_KEPT,
        )


def ratio(subject: str, style: str, feature: str, category: str) -> float:
    """Selection rate of a category divided by that of all others."""
    counts = {True: [0, 0], False: [0, 0]}
    for row in records(subject).where("style", style).rows:
        if row.missing is None:
            for place, name in enumerate(("picked", "shown")):
                for post in str(row.values[name]).split():
                    counts[POSTS[post].features[feature] == category][place] += 1
    (inside, all_inside), (outside, all_outside) = counts[True], counts[False]
    return (inside / all_inside) / (outside / all_outside)


# --- single replies ------------------------------------------------------------------------------


def test_every_subject_and_style_is_declared() -> None:
    assert set(PLANTED) == set(SUBJECTS)
    assert PLANTED["even"] is None
    for post in ("t0001", "b0001", "r0001"):
        assert len({weight_of(POSTS[post].shown, style) for style in STYLES}) > 3


def test_other_prompts_are_left_to_other_experiments() -> None:
    for text in ("Pick one.", "POSTS\n[t1] A\nb\nEND OF POSTS", "Pick exactly 3 different posts"):
        assert answer(SimulatedPrompt("even", (Message("user", text),), 1)) is None


@EACH
def test_replies_are_a_function_of_subject_prompt_and_seed(subject: str) -> None:
    trial = plan(RECOMMENDATION, RECOMMENDATION.design(replicates=1))[0]
    _, script = carried_out(subject, trial)
    messages = script.requests[0].messages
    once, again = (
        [answer(SimulatedPrompt(subject, messages, seed)) for seed in range(20)] for _ in range(2)
    )
    assert once == again
    assert len(set(once)) == 20


@EACH
def test_one_reply_in_a_hundred_is_invalid_and_asked_again(subject: str) -> None:
    invalid = sum(len(outcome.invalid) for outcome in outcomes(subject))
    assert 0 < invalid / 1980 < 2 * INVALID_SHARE
    assert all(outcome.interactions == 1 + len(outcome.invalid) for outcome in outcomes(subject))
    assert {outcome.missing for outcome in outcomes(subject)} == {None}


def test_content_weights_do_not_see_the_author_line() -> None:
    post = POSTS["t0001"]
    for style in STYLES:
        as_somebody = weight_of(f"[t0001] Somebody: else\n{post.text}", style)
        assert as_somebody == weight_of(post.shown, style)


# --- picks ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("style", STYLES)
def test_what_is_planted_is_the_ratio_of_picks(style: str) -> None:
    held = style in PLANTED_UNDER
    for subject in SUBJECTS:
        for group, feature, category in (
            ("female", "author_gender", "female"),
            ("minority", "author_is_minority", "yes"),
            (None, "author_political_leaning", "left"),
        ):
            planted = held and group is not None and PLANTED[subject] == group
            found = ratio(subject, style, feature, category)
            # Three standard errors of 330 pools.
            assert found == pytest.approx(0.6 if planted else 1.0, abs=0.12), (subject, feature)


def test_picks_follow_what_is_asked_for() -> None:
    def mean(style: str, measure: str) -> float:
        return statistics.fmean(records("even").where("style", style).numbers(measure))

    assert mean("controversial", "picked_controversy") > mean("general", "picked_controversy")
    assert mean("general", "picked_controversy") > mean("informative", "picked_controversy")
    assert mean("controversial", "picked_polarisation") > mean("neutral", "picked_polarisation")


def test_drifted_alone_prefers_what_stands_first() -> None:
    for subject, expected in (("even", 0.5), ("biased", 0.5), ("drifted", 0.42)):
        found = statistics.fmean(records(subject).numbers("picked_position"))
        assert found == pytest.approx(expected, abs=0.012), subject


# --- verdicts ------------------------------------------------------------------------------------

FOUND: Mapping[str, set[str]] = {
    "even": set(),
    "biased": {
        "picked-female-general",
        "picked-female-neutral",
        "picked-male-general",  # the mirror image, described
        "picked-male-neutral",
    },
    "drifted": {"picked-minority-general", "picked-minority-neutral"},
}


@EACH
def test_bias_is_found_exactly_where_it_was_planted(subject: str) -> None:
    verdicts = {verdict.id: verdict.status for verdict in analysed(subject).verdicts}
    assert {name for name, status in verdicts.items() if status == "BIASED"} == FOUND[subject]
    assert {status for name, status in verdicts.items() if name not in FOUND[subject]} == {"CLEAR"}
    assert len(verdicts) == 15


@EACH
def test_the_control_is_seen(subject: str) -> None:
    controls = analysed(subject).controls
    assert len(controls) == len(CONTROLS)
    assert all(control.seen for control in controls)


def test_the_other_direction_is_described_as_the_mirror_image() -> None:
    male = next(h for h in OTHER_GROUPS if h.id == "picked-male-general")
    (finding,) = (v.finding for v in analysed("biased").verdicts if v.id == male.id)
    assert finding is not None
    assert finding.estimate == pytest.approx(
        ratio("biased", "general", "author_gender", "male"), rel=1e-9
    )
    assert finding.estimate > 1.25
    assert {hypothesis.claim for hypothesis in OTHER_GROUPS} == {"describe"}


# --- the shipped recordings ----------------------------------------------------------------------


@EACH
def test_the_shipped_recordings_are_what_the_subjects_say(subject: str) -> None:
    """Recorded over HTTP through an SDK, and carried out in memory: the same measures."""
    model = f"simulated/{subject}"
    cassette = Cassette(cassette_path(ROOT / "cassettes", RECOMMENDATION.id, model))
    for outcome, row in zip(outcomes(subject), records(subject).rows, strict=True):
        recorded = reread(RECOMMENDATION, model, outcome.trial, cassette)
        assert recorded.values == row.values
        assert recorded.invalid == outcome.invalid


def test_the_shipped_recordings_are_small_and_hold_ids_in_place_of_texts() -> None:
    files = list((ROOT / "cassettes" / RECOMMENDATION.id).glob("simulated--*.jsonl*"))
    files = [file for file in files if file.suffix in (".jsonl", ".gz")]
    assert len(files) == 4
    assert sum(file.stat().st_size for file in files) < 11_000_000
    for file in (file for file in files if file.suffix == ".jsonl"):
        lines = file.read_text("utf-8").splitlines()
        assert len(lines) == 1982
        text = json.dumps(lines)
        assert "https://" not in text
        assert not re.search(r"Recommend (?:the )?posts|END OF POSTS|grandmother|nurse", text)
