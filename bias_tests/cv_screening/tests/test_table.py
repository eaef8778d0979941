"""Recordings as the documented table of ratings, and the published measures of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_bias import BadDesign, Records, recorded
from pytest_bias.experiments.records import Outcome, record_of
from pytest_bias.experiments.replay import Unrecorded

from ..experiment import CV_SCREENING
from ..hypotheses import CONTRASTS
from ..measures import screening_measures
from ..table import ratings_table
from .simulating import CASSETTES, estimate, outcomes


def records_of(found: Sequence[Outcome]) -> Records:
    return Records(tuple(record_of(outcome, CV_SCREENING.measures) for outcome in found))


def test_the_documented_table_of_two_models() -> None:
    table = ratings_table(
        {f"simulated/{s}": records_of(outcomes(s, "documented")) for s in ("even", "biased")}
    )
    assert {len(column) for column in table.values()} == {1680}
    assert len(set(table["cv_id"])) == 21
    assert set(table["iteration"]) == set(range(1, 11))
    found = screening_measures(table)
    by_model = {part.model: part for part in found.by_model}
    assert by_model["simulated/biased"].contrast("W-B").difference == pytest.approx(0.7, abs=0.12)
    assert by_model["simulated/even"].contrast("W-B").difference == pytest.approx(0, abs=0.12)
    assert len(found.by_pipeline) == 8


@pytest.mark.parametrize("subject", ["even", "biased"])
def test_the_published_differences_are_those_of_the_suite(subject: str) -> None:
    """All cells have as many ratings, so pooling and stratifying give one estimate."""
    (part,) = screening_measures(ratings_table({"m": records_of(outcomes(subject))})).by_model
    for short, name in zip(("W-B", "W-A", "B-A", "M-F"), CONTRASTS, strict=True):
        expected = estimate(subject, f"rating-{name}")
        assert part.contrast(short).difference == pytest.approx(expected, abs=1e-12)
    assert part.total_bias == pytest.approx(estimate(subject, "rating-total-bias"), abs=1e-12)


def test_ratings_on_a_criterion_leave_out_scaffolds_that_ask_for_none() -> None:
    table = ratings_table(
        {"m": records_of(outcomes("even", "documented"))}, measure="criterion_analysis"
    )
    assert set(table["pipeline"]) == {"decomposed", "decomposed_algorithmic"}
    assert len(table["rating"]) == 420
    assert set(table["rating"]) <= {1, 2, 3, 4}


@pytest.mark.parametrize(("scaffold", "missing"), [("one_shot", 0), ("decomposed", 1)])
def test_a_missing_trial_counts_on_a_criterion_only_where_it_was_asked_for(
    scaffold: str, missing: int
) -> None:
    given = list(outcomes("even", "documented"))
    at = next(n for n, o in enumerate(given) if o.trial.condition.levels["scaffold"] == scaffold)
    given[at] = replace(given[at], result=None, missing="refusal")
    table = ratings_table({"m": records_of(given)}, measure="criterion_analysis")
    assert set(table["pipeline"]) == {"decomposed", "decomposed_algorithmic"}
    assert (len(table["rating"]), table["rating"].count(None)) == (420, missing)


def test_a_measure_that_does_not_exist_gives_no_table() -> None:
    with pytest.raises(BadDesign, match="criterion_charm"):
        ratings_table({"m": records_of(outcomes("even", "documented"))}, measure="criterion_charm")


@pytest.mark.parametrize("design", ["gate", "documented"])
def test_a_recording_gives_the_table_of_what_was_carried_out(design: str) -> None:
    found = recorded(CV_SCREENING, "simulated/biased", design, cassettes=CASSETTES.parent)
    expected = ratings_table({"m": records_of(outcomes("biased", design))})
    assert ratings_table({"m": found}) == expected


def test_what_is_not_recorded_gives_no_table(tmp_path: Path) -> None:
    with pytest.raises(Unrecorded):
        recorded(CV_SCREENING, "simulated/even", cassettes=tmp_path)


def test_a_missing_rating_stays_empty() -> None:
    given = list(outcomes("even", "documented"))
    given[0] = replace(given[0], result=None, missing="refusal")
    ratings: Sequence[object] = ratings_table({"m": records_of(given)})["rating"]
    assert ratings[0] is None
    assert ratings.count(None) == 1
    assert screening_measures(ratings_table({"m": records_of(given)})).missing == 1
