"""Recordings that no longer represent their model: which are, and what is said of them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from pytest_bias.cassettes.staleness import dated, served_otherwise, stale
from pytest_bias.errors import StaleRecordings
from pytest_bias.experiments.messages import ModelRole
from pytest_bias.experiments.records import Exchange, Recording
from pytest_bias.settings.model_entry import ModelEntry
from pytest_bias.settings.roster import Roster

from .factories import MODEL, recording
from .test_settings import settings

OLD, NEW = "2026-01-02T23:59:59+00:00", "2026-03-04T05:06:07+00:00"
TINY = frozenset({"tiny-1", "tiny-2"})
"""What the roster lets answer as the model, unless a test says otherwise."""
RECORDING = recording(checksum="c", interactions=3)


def reply(served: str, at: str | None, to: ModelRole = "subject") -> Exchange:
    return Exchange(to=to, served_model=served, recorded_at=at)


def origins(*times: str | None, served: str = "tiny-1") -> list[Exchange]:
    return [reply(served, at) for at in times]


def said(
    recording: Recording, *, max_age: int | None = None, today: str = "2026-02-01", **entry: Any
) -> StaleRecordings | None:
    return stale(
        "tiny",
        MODEL,
        recording,
        cassette="cassette: cassettes/tiny/openai--tiny.jsonl",
        roster=Roster({MODEL: ModelEntry(**{"served": TINY} | entry)}),
        max_age=max_age,
        today=today,
    )


def test_the_oldest_reply_and_the_served_models_are_kept() -> None:
    given = [*origins(NEW, OLD), reply("grader-1", NEW, "judge"), reply("", None)]
    found = dated(RECORDING, given)
    assert (found.oldest, found.undated) == (OLD, 1)
    assert (found.served, found.judge_served) == (("tiny-1",), ("grader-1",))


def test_times_are_compared_as_moments_and_not_as_texts() -> None:
    later_text = "2026-01-03T00:30:00+02:00"  # 22:30 in UTC on the day before
    assert dated(RECORDING, origins(OLD, later_text)).oldest == later_text
    assert dated(RECORDING, origins("no time", "9999-12-31T23:59:59-12:00")).undated == 2


@pytest.mark.parametrize(
    ("today", "max_age", "expected"),
    [
        ("2026-01-12", 10, False),
        ("2026-01-13", 10, True),
        ("2026-01-13", None, False),
        ("2026-01-01", 0, False),
        ("2025-12-31", 10, True),
    ],
)
def test_age_is_counted_in_days_up_to_and_with_the_last(
    today: str, max_age: int | None, *, expected: bool
) -> None:
    found = said(dated(RECORDING, origins(OLD, NEW)), max_age=max_age, today=today)
    assert (found is not None) is expected


def test_replies_from_days_to_come_and_without_a_day_have_no_known_age() -> None:
    ahead = said(dated(RECORDING, origins(NEW)), max_age=7)
    assert ahead is not None
    assert "recorded on 2026-03-04 or later, which is yet to come: a clock" in str(ahead)
    undated = said(dated(RECORDING, origins(None, None)), max_age=1)
    assert undated is not None
    assert "2 replies do not say when" in str(undated)
    assert "older than 1 day (bias_max_age)" in str(undated)
    assert said(dated(RECORDING, origins(None))) is None


def test_a_judge_of_another_name_is_not_another_subject() -> None:
    given = [*origins(OLD), reply("grader-1", OLD, "judge")]
    assert said(dated(RECORDING, given)) is None
    judges = [reply(name, OLD, "judge") for name in ("grader-1", "grader-2")]
    graded = replace(RECORDING, judge="openai/g")
    found = said(dated(graded, [*origins(OLD), *judges]))
    assert found is not None
    several, other = found.reasons
    assert several == "2 models answered as the judge openai/g: grader-1, grader-2"
    assert other.startswith("grader-1 and grader-2 answered where openai/g was asked for.")


def test_another_model_than_the_one_asked_for_is_named_with_the_line_that_allows_it() -> None:
    recording = dated(RECORDING, origins(OLD, served="tiny-3"))
    found = said(recording)
    assert found is not None
    (reason,) = found.reasons
    assert reason == (
        "tiny-3 answered where openai/tiny was asked for. Where that is the model you mean, ask "
        'for it by its own name, or add served = ["tiny-1", "tiny-2", "tiny-3"] under '
        '[models."openai/tiny"] in the roster (bias_models.toml)'
    )
    assert said(recording, served=frozenset({"tiny-3"})) is None


@pytest.mark.parametrize(("today", "is_stale"), [("2026-03-31", False), ("2026-04-01", True)])
def test_a_model_that_was_shut_down_is_not_to_be_recorded_anew(
    today: str, *, is_stale: bool
) -> None:
    found = said(RECORDING, shut_down="2026-04-01", today=today)
    assert (found is not None) is is_stale
    if found is not None:
        assert "was shut down on 2026-04-01" in str(found)
        assert "--bias-record" not in str(found)


def test_programs_do_not_age() -> None:
    found = dated(replace(RECORDING, simulated=True), origins(OLD, None))
    assert (found.oldest, found.undated, found.served) == ("", 0, ("tiny-1",))
    assert said(found, max_age=0, today="2999-01-01", shut_down="2026-01-01") is None


@pytest.mark.parametrize(
    ("accepted", "now", "differs"),
    [
        (("tiny-1",), "tiny-1", False),
        (("tiny-1",), "tiny-2", True),
        ((), "tiny-2", False),
        (("tiny-1",), "", False),
    ],
)
def test_a_baseline_is_of_the_model_that_answered(
    accepted: tuple[str, ...], now: str, *, differs: bool
) -> None:
    recording = dated(RECORDING, origins(OLD, served=now))
    found = served_otherwise("tiny", MODEL, recording, accepted=accepted)
    assert (found is not None) is differs
    if found is not None:
        assert "tiny-2 answered under this name, and the accepted baseline is of tiny-1" in str(
            found
        )


@pytest.mark.parametrize(
    ("option", "ini", "expected"), [(None, "7", 7), ("off", "7", None), ("0", "7", 0)]
)
def test_the_age_is_a_setting(option: str | None, ini: str, expected: int | None) -> None:
    assert settings({"max_age": option}, max_age=ini).max_age == expected
