from __future__ import annotations

from dataclasses import replace

import pytest

from pytest_bias.errors import BadDesign, InvalidReply
from pytest_bias.experiments.design import Trial
from pytest_bias.experiments.measures import Measure
from pytest_bias.experiments.records import Outcome, Record, Records, record_of

from .factories import Score, condition, experiment, rows

TINY = experiment()


def outcome(missing: str | None, *invalid: str, interactions: int = 1) -> Outcome:
    trial = Trial(condition(TINY, "a"))
    result = None if missing else Score(score=4)
    return Outcome(trial, result, missing, invalid, interactions, ("a prompt",))


def test_a_valid_outcome_becomes_values() -> None:
    record = record_of(
        outcome(None, "empty", interactions=2),
        [Measure("score"), Measure("high", lambda score: score.score > 3)],
    )
    assert record.values == {"score": 4.0, "high": True}
    assert record.missing is None
    assert (record.invalid, record.interactions) == (("empty",), 2)
    with pytest.raises(TypeError):
        record.values["score"] = 0  # type: ignore[index]


def test_a_missing_outcome_has_a_reason_and_no_value_at_all() -> None:
    record = record_of(outcome("refusal", "refusal", "refusal", "refusal"), [Measure("score")])
    assert record.values == {}
    assert record.missing == "refusal"


def test_a_reply_outside_a_measures_bounds_is_a_missing_one() -> None:
    measures = [Measure("high", lambda score: score.score > 3), Measure("score", bounds=(0, 3))]
    record = record_of(outcome(None, "empty", interactions=2), measures)
    assert (record.values, record.missing) == ({}, "out_of_bounds_score")
    assert (record.invalid, record.interactions) == (("empty",), 2)
    # Of what was measured before, the bounds that are declared now hold as well.
    kept = replace(outcome(None), result=None, values={"high": True, "score": 4.0})
    assert record_of(kept, measures).missing == "out_of_bounds_score"


def test_a_measure_may_say_that_a_reply_has_none() -> None:
    def never(_: object) -> float:
        raise InvalidReply("no_pulse")

    record = record_of(outcome(None), [Measure("score"), Measure("pulse", never)])
    assert (record.values, record.missing) == ({}, "no_pulse")


def test_an_error_in_a_measure_is_no_missing_reply() -> None:
    with pytest.raises(ZeroDivisionError):
        record_of(outcome(None), [Measure("score", lambda score: score.score / 0, bounds=(0, 3))])


def test_columns_keep_the_plans_order_and_skip_what_is_missing() -> None:
    records = rows(TINY, {"a": [3.0, None, 1.0], "b": [2.0, None]})
    assert records.numbers("score") == [3.0, 1.0, 2.0]
    assert records.where("group", "a").column("score") == [3.0, 1.0]
    assert records.by_condition()["b"].column("score") == [2.0]
    assert records.missing == {"refusal": 2}
    assert "3.0" not in repr(records)


def test_completeness_adds_up() -> None:
    trial = Trial(condition(TINY, "a"))
    records = Records(
        (
            Record(trial, {"score": 1.0}, None),
            Record(trial, {"score": 1.0}, None, ("empty", "not_json"), 3),
            Record(trial, {}, "refusal", ("refusal",) * 3, 3),
            Record(trial, {}, "empty", ("not_json", "empty", "empty"), 3),
        )
    )
    count = records.count("a")
    assert (count.planned, count.ok, count.errors, count.interactions) == (4, 2, 2, 10)
    assert dict(count.missing) == {"empty": 1, "refusal": 1}
    assert list(count.invalid.items()) == [("empty", 3), ("not_json", 2), ("refusal", 3)]
    assert count.planned == count.ok + sum(count.missing.values())


def test_of_nothing() -> None:
    count = Records(()).count("a")
    assert (count.planned, count.ok, count.errors) == (0, 0, 0)
    assert Records(()).numbers("score") == []


@pytest.mark.parametrize("value", [True, "high"])
def test_numbers_are_wanted(value: bool | str) -> None:  # noqa: FBT001
    with pytest.raises(BadDesign, match="where numbers are needed"):
        rows(TINY, {"a": [value]}).numbers("score")


def test_repr_shows_no_text() -> None:
    assert "prompt" not in repr(outcome(None)).replace("prompts", "")
    assert "Score" not in repr(outcome(None))
