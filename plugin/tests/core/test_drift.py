"""Drift between two models: over cells both have, each the mean of its replicates."""

from __future__ import annotations

import math
from dataclasses import replace
from random import Random
from statistics import fmean

import pytest
from scipy import stats  # type: ignore[import-untyped, unused-ignore]  # scipy ships no types

from pytest_bias.experiments.design import Condition, Trial
from pytest_bias.experiments.records import Origin, Outcome, Record, Spoken
from pytest_bias.verdicts.drift import UNITS, Drifted, Readings, drift_of, readings_of


def outcome(
    level: str,
    item: str,
    replicate: int,
    *spoken: Spoken,
    missing: str | None = None,
    refuses: bool = False,
) -> tuple[Outcome, Record]:
    condition = Condition(levels={"cue": level}, values={"cue": level})
    trial = Trial(condition, item=item, replicate=replicate)
    found = Outcome(
        trial, None, missing, invalid=(), interactions=len(spoken), prompts=(), spoken=spoken
    )
    values = {} if missing else {"is_refusal": refuses}
    return found, Record(trial, values, missing)


def read(*pairs: tuple[Outcome, Record]) -> Readings:
    return readings_of([each for each, _ in pairs], [each for _, each in pairs])


def simulated(seed: int, shift: float, *, reverse: bool = False) -> Readings:
    """Twelve cells of five replicates, with words around 100 plus the cell's own mean."""
    rng = Random(seed)  # noqa: S311  (seeded, for a simulation)
    pairs = [
        outcome(
            level,
            f"i{item}",
            replicate,
            Spoken(round(100 + 10 * item + shift + rng.gauss(0, 5)), 20, 0.5),
        )
        for level in ("low", "high")
        for item in range(6)
        for replicate in range(1, 6)
    ]
    return read(*(reversed(pairs) if reverse else pairs))


def only(drifted: tuple[Drifted, ...], what: str) -> Drifted:
    (found,) = [each for each in drifted if each.what == what]
    return found


def test_the_difference_is_a_paired_t_interval_over_cells() -> None:
    old, new = simulated(1, 0), simulated(2, 8)
    words = only(drift_of(old, new), "words")
    before, after = old.column("words"), new.column("words")
    differences = [after[key] - before[key] for key in sorted(before)]
    expected = stats.ttest_1samp(differences, 0).confidence_interval(0.95)
    assert words.cells == len(differences) == 12
    assert words.difference == pytest.approx(fmean(differences))
    assert words.interval is not None
    assert (words.interval.low, words.interval.high) == pytest.approx(
        (expected.low, expected.high)
    )
    assert words.marked
    # The means of topics differ by far more: unpaired, 8 words would drown in them.
    assert words.interval.high - words.interval.low < 8


def test_nothing_is_paired_by_replicate() -> None:
    again = simulated(2, 0, reverse=True)
    assert drift_of(simulated(1, 0), again) == drift_of(simulated(1, 0), simulated(2, 0))


def test_the_same_replies_do_not_drift() -> None:
    for each in drift_of(simulated(1, 0), simulated(1, 0)):
        assert each.difference == 0
        assert (each.interval, each.marked) == (None, False)


def test_one_in_twenty_is_marked_by_chance() -> None:
    rng = Random(1)  # noqa: S311  (seeded, for a simulation)
    keys = tuple(map(str, range(12)))

    def drawn() -> Readings:
        means = tuple(10 * n + rng.gauss(0, 5) for n in range(12))
        return Readings(keys=keys, **dict.fromkeys(UNITS, means))

    marked = sum(drift_of(drawn(), drawn())[0].marked for _ in range(400))
    assert stats.binom.cdf(marked, 400, 0.05) > 0.001
    assert stats.binom.sf(marked - 1, 400, 0.05) > 0.001


def test_a_trial_of_many_replies_counts_once() -> None:
    one = outcome("low", "a", 1, Spoken(10, 1, 1.0))
    many = outcome("low", "a", 2, *[Spoken(40, 3, 3.0)] * 3)
    found = read(one, many)
    assert found.words == (25.0,)
    assert found.tokens == (2.0,)
    assert found.latency == (2.0,)


def test_refusals_are_replies_refused_and_valid_ones_a_flag_calls_so() -> None:
    found = read(
        outcome("low", "a", 1, missing="refusal"),
        outcome("low", "a", 2, missing="content_filter"),
        outcome("low", "a", 3, missing="not_json"),
        outcome("low", "a", 4, refuses=True),
        outcome("low", "a", 5),
    )
    assert found.missing == (0.6,)
    assert found.refused == (0.6,)


def test_what_a_judge_refuses_is_no_refusal_of_the_model() -> None:
    by_subject, by_judge = (Origin(to=to, served="m", at=None) for to in ("subject", "judge"))
    refused, row = outcome("low", "a", 1, missing="refusal")
    found = read(
        (replace(refused, origins=(by_subject, by_judge)), row),
        (replace(refused, origins=(by_subject,)), row),
    )
    assert (found.missing, found.refused) == ((1.0,), (0.5,))


def test_what_is_not_known_is_left_out() -> None:
    old = read(outcome("low", "a", 1, Spoken(None, None, 1.0)), outcome("low", "b", 1))
    new = read(outcome("low", "a", 1, Spoken(5, None, 2.0)), outcome("high", "c", 1))
    found = drift_of(old, new)
    assert [each.what for each in found] == ["missing", "refused", "latency"]
    latency = only(found, "latency")
    assert (latency.old, latency.new, latency.cells, latency.interval) == (1.0, 2.0, 1, None)
    assert drift_of(Readings(), new) == ()


@pytest.mark.parametrize(("items", "given"), [("ab", False), ("abcd", False), ("abcde", True)])
def test_of_few_cells_no_interval_is_given(items: str, *, given: bool) -> None:
    """Of two of a real model it was 5 ± 191 points of what was missing."""
    old = read(*(outcome("low", item, 1, Spoken(10, 1, 0.1)) for item in items))
    new = read(*(outcome("low", item, 1, Spoken(11 + n, 1, 0.1)) for n, item in enumerate(items)))
    words = only(drift_of(old, new), "words")
    assert words.difference == pytest.approx(1 + (len(items) - 1) / 2)
    assert (words.interval is not None) == given


def test_a_difference_that_is_the_same_everywhere_has_no_interval() -> None:
    old, new = (
        read(*(outcome("low", item, 1, Spoken(words, 1, 0.1)) for item in "abcde"))
        for words in (10, 11)
    )
    words = only(drift_of(old, new), "words")
    assert (words.difference, words.interval, words.marked) == (1.0, None, False)


def test_every_number_is_finite_and_every_quantity_has_a_unit() -> None:
    found = drift_of(simulated(1, 0), simulated(2, 3))
    assert [each.what for each in found] == list(UNITS)
    for each in found:
        assert all(math.isfinite(value) for value in (each.old, each.new, each.difference))
        assert each.unit


def test_cells_are_the_same_whatever_the_order_of_exemplars() -> None:
    one, row = outcome("low", "a", 1)
    trials = [
        replace(one.trial, exemplars=exemplars)
        for exemplars in ({"x": "1", "y": "2"}, {"y": "2", "x": "1"}, {"x": "2", "y": "1"})
    ]
    keys = [
        readings_of([replace(one, trial=trial)], [replace(row, trial=trial)]).keys
        for trial in trials
    ]
    assert keys[0] == keys[1] != keys[2]
