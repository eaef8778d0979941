"""Accepted verdicts: what is written is read again, damage is told, designs are compared."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_bias.analysis import Recording
from pytest_bias.baselines import (
    Acceptance,
    Baseline,
    BaselineDiffers,
    DamagedBaseline,
    Entry,
    baseline_from,
    baseline_text,
    entry_of,
    is_day,
)
from pytest_bias.canonical import digest, dumps
from pytest_bias.contrasts import MeanDifference
from pytest_bias.design import Design, Factor, Items
from pytest_bias.errors import BadSetting
from pytest_bias.estimates import Interval
from pytest_bias.experiment import Experiment
from pytest_bias.findings import Arm, Finding
from pytest_bias.fingerprints import differences, fingerprint_of
from pytest_bias.gate import Beside, compare, describe_verdict
from pytest_bias.measures import Measure
from pytest_bias.settings import Given, Settings, read_settings
from pytest_bias.verdicts import Status, Verdict

from .factories import ask_twice, experiment

ARM = Arm(level="high", value="9", units=120, missing={}, mean=6.0)


def finding(**changes: Any) -> Finding:
    given: dict[str, Any] = {
        "quantity": "mean difference",
        "contrast": "high − low",
        "measure": "months",
        "unit": "months",
        "factor": "demand",
        "arms": (ARM, replace(ARM, level="low", value="3", mean=5.0)),
        "estimate": 1.0,
        "interval": Interval(low=0.5, high=1.5, level=0.95),
        "p_alarm": 0.001,
        "p_clear": 0.9,
        "margin": 0.6,
        "method": "Welch's t test",
        "target": "fixed",
        "scope": "this vignette",
        "units": 240,
        "replies": 240,
        "fewest": 120,
        "unit_name": "replies",
    }
    return Finding(**(given | changes))


def verdict(found: Finding | None, status: Status = "BIASED") -> Verdict:
    return Verdict(
        id="h",
        experiment="anchoring",
        model="openai/m",
        claim="clear",
        status=status,
        words=f"{status} for this vignette",
        reason="",
        finding=found,
        p_adjusted=0.001,
        direction=None,
        settle=None,
    )


RECORDING = Recording(
    cassette="tiny/openai--m",
    checksum="abc",
    simulated=False,
    wire="made by hand",
    recorded_with="the tests",
    interactions=240,
)
ANEW = replace(RECORDING, checksum="def")
ANN = Acceptance(reason="known since spring", owner="Ann Ölberg", until="2026-12-31")
TODAY = "2026-12-31"
WITH_ERROR: dict[str, Any] = {"se": 0.1, "df": 200.0}
FINGERPRINT = {"hypothesis": {"margin": 0.6}}

BIASED = verdict(finding(**WITH_ERROR))
CLEAR = verdict(finding(estimate=0.1), "CLEAR")
OPEN = verdict(finding(), "INCONCLUSIVE")


def entry(
    given: Verdict = BIASED, before: Entry | None = None, acceptance: Acceptance = ANN
) -> Entry:
    return entry_of(given, RECORDING, FINGERPRINT, acceptance=acceptance, before=before)


def baseline(**entries: Entry) -> Baseline:
    return Baseline(model="openai/m", simulated=False, verdicts={"anchoring": entries})


TEXT = baseline_text(baseline(h=entry(), clear=entry(CLEAR)))


# --- text -------------------------------------------------------------------------------------


@given(
    estimate=st.floats(allow_nan=False, allow_infinity=False),
    reason=st.text(st.characters(exclude_categories=["Cs"]), min_size=1).filter(str.strip),
)
def test_what_is_written_is_read_again(estimate: float, reason: str) -> None:
    found = entry(
        verdict(finding(estimate=estimate, **WITH_ERROR)), acceptance=replace(ANN, reason=reason)
    )
    written = baseline(h=found, clear=entry(CLEAR))
    text = baseline_text(written)
    assert baseline_from(text, "x.json") == written
    assert baseline_text(baseline_from(text, "x.json")) == text


def test_text_is_sorted_readable_and_says_what_was_accepted() -> None:
    value = json.loads(TEXT)
    assert list(value) == sorted(value) == ["checksum", "format", "model", "simulated", "verdicts"]
    assert TEXT.endswith("}\n")
    assert "Ann Ölberg" in TEXT
    kept = value["verdicts"]["anchoring"]["h"]
    assert kept["accepted"] == {
        "reason": "known since spring",
        "owner": "Ann Ölberg",
        "until": "2026-12-31",
    }
    assert (kept["status"], kept["estimate"], kept["units"]) == ("BIASED", 1.0, 240)
    assert value["verdicts"]["anchoring"]["clear"]["accepted"] is None


def test_what_no_file_can_hold_stands_as_its_escape() -> None:
    found = entry(acceptance=replace(ANN, owner="\udce9"))
    read = baseline_from(baseline_text(baseline(h=found)), "x.json").entry("anchoring", "h")
    assert read is not None
    assert read.accepted == replace(ANN, owner=r"\udce9")


def edited(change: Callable[[dict[str, Any]], object]) -> str:
    """The text after a change by somebody who knows how to make the checksum right."""
    value = json.loads(TEXT)
    change(value)
    value.pop("checksum", None)
    return json.dumps(value | {"checksum": digest(dumps(value))})


def kept(value: dict[str, Any], name: str = "h") -> dict[str, Any]:
    found: dict[str, Any] = value["verdicts"]["anchoring"][name]
    return found


DAMAGED: dict[str, tuple[str, str]] = {
    "empty": ("", "it is no baseline"),
    "cut": (TEXT[: len(TEXT) // 2], "it is no baseline"),
    "edited": (TEXT.replace("2026-12-31", "2099-12-31"), "its checksum is not that of its cont"),
    "merged": (f"<<<<<<< ours\n{TEXT}", "it is no baseline"),
    "a list": ("[]", "a JSON object is needed"),
    "deep": ("[" * 100_000, "it is no baseline"),
    "deep inside": (f'{{"format": 1, "x": {"[" * 900}{"]" * 900}}}', "it is no baseline"),
    "twice": (TEXT.replace('"format": 1', '"format": 1, "format": 1'), "stands twice"),
    "not a number": (TEXT.replace('"estimate": 1.0', '"estimate": NaN'), "it is no baseline"),
    "newer": (edited(lambda v: v.update(format=2)), "its format is 2, this version of pytest-bia"),
    "no format": (edited(lambda v: v.pop("format")), "its format is None"),
    "true": (edited(lambda v: v.update(format=True)), "its format is True"),
    "unchecked": (json.dumps({"format": 1, "model": "openai/m"}), "its checksum"),
    "less": (edited(lambda v: v.pop("model")), "model is not as it was written"),
    "more": (edited(lambda v: kept(v).update(colour="red")), "colour is not as it was written"),
    "word": (edited(lambda v: kept(v).update(estimate="1")), "estimate is not as it was written"),
    "status": (edited(lambda v: kept(v).update(status="FINE")), "status is not as it was written"),
    "no date": (
        edited(lambda v: kept(v)["accepted"].update(until="2026-02-30")),
        "anchoring, h: '2026-02-30' is no date (YYYY-MM-DD)",
    ),
    "nobody": (edited(lambda v: kept(v).update(accepted=None)), "BIASED, and nobody accepted it"),
    "somebody": (edited(lambda v: kept(v).update(status="CLEAR")), "CLEAR, and somebody accepted"),
    "no owner": (edited(lambda v: kept(v)["accepted"].update(owner=" ")), "without an owner"),
}


@pytest.mark.parametrize(("text", "problem"), DAMAGED.values(), ids=DAMAGED)
def test_damage_names_the_file_and_how_to_mend_it(text: str, problem: str) -> None:
    with pytest.raises(DamagedBaseline) as damaged:
        baseline_from(text, "baselines/openai--m.json")
    said = str(damaged.value)
    assert said.startswith("baselines/openai--m.json: ")
    assert problem in said
    assert "Restore the file from version control, or delete it and accept" in said
    assert not isinstance(damaged.value, AssertionError)


def test_line_ends_and_indentation_are_no_damage() -> None:
    again = json.dumps(json.loads(TEXT), indent=4).replace("\n", "\r\n")
    assert baseline_from(again, "x.json") == baseline_from(TEXT, "x.json")


@pytest.mark.parametrize("day", ["2026-11-21", "2028-02-29", "0001-01-01"])
def test_days(day: str) -> None:
    assert is_day(day)


@pytest.mark.parametrize(
    "text", ["", "2026-13-01", "2026-02-29", "20261121", "2026-W47-6", "2026-1-1", "٢٠٢٦-١١-٢١"]
)
def test_what_is_no_day(text: str) -> None:
    assert not is_day(text)


# --- comparison -------------------------------------------------------------------------------


def beside(given: Verdict, accepted: Entry | None, today: str = TODAY, **of: Any) -> Beside:
    return compare(given, of.get("recording", RECORDING), accepted, today=today)


def test_a_known_bias_is_tolerated_to_the_end_of_its_last_day() -> None:
    assert beside(BIASED, entry()).accepted == ANN
    past = beside(BIASED, entry(), today="2027-01-01")
    assert past.accepted is None
    assert past.words == (
        "accepted by Ann Ölberg until 2026-12-31 (known since spring), which is past"
    )


@pytest.mark.parametrize(
    ("now", "accepted", "words"),
    [
        (BIASED, None, "this hypothesis is not in the baseline"),
        (BIASED, entry(CLEAR), "new: what was accepted is CLEAR for"),
        (BIASED, entry(OPEN), "new: what was accepted is INCONCLUSIVE"),
        (OPEN, entry(), "new: what was accepted is BIASED"),
        (OPEN, entry(CLEAR), "new: what was accepted is CLEAR for"),
    ],
)
def test_what_was_not_accepted_as_such(now: Verdict, accepted: Entry | None, words: str) -> None:
    found = beside(now, accepted)
    assert found.accepted is None
    assert found.words.startswith(words)
    assert f"  baseline: {words}" in describe_verdict(now, "x.jsonl", found)


def test_inconclusive_is_tolerated_as_such_whatever_the_replies() -> None:
    assert beside(OPEN, entry(OPEN), recording=ANEW).accepted == ANN


def test_an_open_question_about_which_nothing_is_known_any_more_is_not_tolerated() -> None:
    nothing = replace(OPEN, finding=None)
    found = beside(nothing, entry(OPEN), recording=ANEW)
    assert found.accepted is None
    assert found.words.endswith("but now there is no estimate at all")
    assert beside(nothing, entry(nothing), recording=ANEW).accepted == ANN


@pytest.mark.parametrize(("before", "improved"), [(BIASED, True), (OPEN, True), (CLEAR, False)])
def test_clear_where_it_was_worse_is_improved(before: Verdict, *, improved: bool) -> None:
    found = beside(CLEAR, entry(before))
    assert (found.improved, found.accepted) == (improved, None)
    assert found.words.endswith("accept the new baseline") == improved


@pytest.mark.parametrize(
    ("estimate", "tolerated"), [(1.0, True), (0.7, True), (-1.0, True), (1.4, False), (2.5, False)]
)
def test_other_replies_must_be_shown_to_be_no_worse(estimate: float, *, tolerated: bool) -> None:
    now = verdict(finding(estimate=estimate, **WITH_ERROR))
    found = beside(now, entry(), recording=ANEW)
    assert (found.accepted is not None) == tolerated
    assert ("is not shown to be no worse than +1: it may be larger by" in found.words) != tolerated


@pytest.mark.parametrize(
    "changes",
    [{"se": None}, {"df": None}, {"se": 0.0}, {"margin": None}, {"scale": "ratio"}],
    ids=str,
)
def test_what_cannot_be_compared_is_not_tolerated(changes: dict[str, Any]) -> None:
    now = replace(BIASED, finding=finding(**(WITH_ERROR | changes)))
    accepted = entry(replace(BIASED, finding=finding(se=0.0, df=200.0)))
    assert beside(now, accepted, recording=ANEW).accepted is None
    assert beside(now, accepted).accepted == ANN  # the very same replies are


def test_the_same_replies_that_give_another_estimate_are_compared() -> None:
    now = verdict(finding(estimate=2.5, **WITH_ERROR))
    assert beside(now, entry()).accepted is None


def test_a_verdict_without_a_finding_is_not_shown_to_be_no_worse() -> None:
    found = beside(replace(BIASED, finding=None), entry(replace(BIASED, finding=None)))
    assert found.accepted is None
    assert "there is no estimate to compare" in found.words


def test_small_steps_do_not_add_up() -> None:
    accepted = entry()
    for estimate in (1.25, 1.5):
        accepted = entry(verdict(finding(estimate=estimate, **WITH_ERROR)), before=accepted)
    now = verdict(finding(estimate=1.5, **WITH_ERROR))
    assert accepted.estimate == 1.5
    assert accepted.best is not None
    assert accepted.best.estimate == 1.0
    found = beside(now, accepted, recording=ANEW)
    assert found.accepted is None
    assert "than +1.5 and the best ever accepted, +1:" in found.words
    assert beside(now, accepted).accepted == ANN


def test_the_best_counts_for_its_own_design_only() -> None:
    now = verdict(finding(estimate=1.5, **WITH_ERROR))
    other = replace(entry(), fingerprint={"hypothesis": {"margin": 0.5}})
    best = entry(now, before=other).best
    assert best is not None
    assert best.estimate == 1.5


# --- fingerprints -----------------------------------------------------------------------------

HYPOTHESIS = MeanDifference("score", "group", high="b", low="a", margin=0.6, claim="clear")
JUDGED = dumps(["openai/judge", {"temperature": 0.0}])


def prints(
    of: Experiment | None = None,
    hypothesis: Any = HYPOTHESIS,
    design: Design | None = None,
    judged_by: str = "",
) -> Any:
    return fingerprint_of(of or experiment(), design or Design(3), hypothesis, judged_by)


def measured(**changes: Any) -> Experiment:
    return experiment(measures=[Measure("score", **({"bounds": (0, 10)} | changes))])


def grouped(*args: Any, **changes: Any) -> Experiment:
    return experiment(factors=[Factor("group", *args, **changes)])


LEVELS = {"a": "Ada", "b": "Bob"}
CHANGES: dict[str, tuple[Any, str]] = {
    "margin": (prints(hypothesis=replace(HYPOTHESIS, margin=0.5)), "hypothesis.margin: 0.6 → 0.5"),
    "claim": (
        prints(hypothesis=replace(HYPOTHESIS, claim="detect")),
        'hypothesis.claim: "clear" → "detect"',
    ),
    "version": (prints(measured(version=2)), "measures.score.version: 1 → 2"),
    "unit": (prints(measured(unit="points")), 'measures.score.unit: "" → "points"'),
    "value": (prints(grouped({"a": "Eve", "b": "Bob"})), 'factors.group.levels.a: "Ada" → "Eve"'),
    "level": (prints(grouped({**LEVELS, "c": "Cy"})), 'factors.group.levels.c: (none) → "Cy"'),
    "exemplars": (
        prints(grouped(LEVELS, exemplars={"a": ["Ann", "Al"], "b": ["Bo"]})),
        'factors.group.exemplars.a: (none) → ["Al","Ann"]',
    ),
    "items": (
        prints(experiment(items=Items("cv", {"one": 1}))),
        "items.cv.one: (none) → 1",
    ),
    "replicates": (prints(design=Design(4)), "design.replicates: 3 → 4"),
    "fewer exemplars": (prints(design=Design(3, exemplars=1)), "design.exemplars: (none) → 1"),
    "design": (prints(design=Design(3, "small")), 'design.name: "gate" → "small"'),
    "judge": (prints(judged_by=JUDGED), 'judge.model: (none) → "openai/judge"'),
}


@pytest.mark.parametrize(("changed", "words"), CHANGES.values(), ids=CHANGES)
def test_another_design_differs_in_words(changed: Any, words: str) -> None:
    assert words in differences(prints(), changed)


def test_a_truth_is_no_number() -> None:
    one, two = prints(grouped({"a": 1, "b": 0})), prints(grouped({"a": True, "b": 0.0}))
    assert differences(one, two) == ("factors.group.levels.a: 1 → true",)


def test_what_only_changes_what_is_said_does_not_differ() -> None:
    said = replace(HYPOTHESIS, scope="all of them", direction="positive")
    assert differences(prints(), prints(experiment(ask_twice), said)) == ()


def test_fingerprints_survive_their_file() -> None:
    found = prints(grouped({"a": "\udce9", "b": ["\udce9"]}), judged_by=JUDGED)
    written = baseline(h=replace(entry(), fingerprint=found))
    again = baseline_from(baseline_text(written), "x.json").entry("anchoring", "h")
    assert again is not None
    assert differences(again.fingerprint, found) == ()


def test_no_words_of_an_experiment_that_keeps_none() -> None:
    factors = [Factor("group", LEVELS, exemplars={"a": ["Ann"], "b": ["Bo"]})]
    items = Items("cv", {"one": "a secret", "two": 2, "three": {"deep": "secret"}})
    found = prints(experiment(retention="measures", factors=factors, items=items))
    for word in ("Ada", "Ann", "secret"):
        assert word not in dumps(found)
    assert found["items"]["cv"]["two"] == 2
    assert found["items"]["cv"]["one"].startswith("sha256:")


def test_long_values_stand_as_digests_that_differ() -> None:
    one, two = (prints(experiment(items=Items("cv", {"one": "long " * 99 + end}))) for end in "xy")
    assert len(dumps(one)) < 1000
    assert len(differences(one, two)) == 1


def test_values_that_are_no_json_stand_as_their_type() -> None:
    found = prints(grouped({"a": object(), "b": 1 + 2j}))
    assert found["factors"]["group"]["levels"] == {
        "a": "a builtins.object",
        "b": "a builtins.complex",
    }


def test_a_contrast_that_is_no_dataclass_has_a_fingerprint() -> None:
    class Mine:
        id = "mine"

    assert prints(hypothesis=Mine())["hypothesis"] == {"id": "mine", "kind": "Mine"}


def test_difference_of_design_lists_old_and_new() -> None:
    error = BaselineDiffers(verdict=BIASED, differences=[f"x{n}: 1 → 2" for n in range(20)])
    said = str(error)
    assert "anchoring × openai/m, h: the accepted verdict" in said
    assert "  x0: 1 → 2\n" in said
    assert "  and 8 more\n" in said
    assert "--bias-accept" in said
    assert "--bias-baselines=off" in said
    assert not isinstance(error, AssertionError)


# --- settings ---------------------------------------------------------------------------------

WORDS = {"accept": True, "accept_reason": "known", "accept_owner": "ann"}


def settings(**options: object) -> Settings:
    none = dict.fromkeys(("model", "record", "design", "replicates", "cassettes", "report"))
    ini = dict.fromkeys((*none, "results", "gate", "inconclusive", "simulated_url"), "")
    return read_settings(
        Given(
            options={**none, "results": None, "gate": None, "record_in_ci": False, **options},
            ini={**ini, "models": []},
            environ={},
            rootdir=Path("/project"),
            invocation_dir=Path("/project/sub"),
            today=TODAY,
        )
    )


def test_what_is_accepted_and_where() -> None:
    assert settings().accept is None
    assert settings().baselines == Path("/project/bias_tests/baselines")
    assert settings(baselines="off").baselines is None
    assert settings(baselines="kept").baselines == Path("/project/sub/kept")
    found = settings(**(WORDS | {"accept_reason": " two\nlines "})).accept
    assert found is not None
    assert (found.reason, found.lacking) == ("two lines", ("--bias-accept-until",))
    last = settings(**WORDS, accept_until=TODAY).accept
    assert last is not None
    assert last.lacking == ()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"accept_owner": "ann"}, "--bias-accept-owner=ann: goes with --bias-accept"),
        ({"accept_owner": ""}, "--bias-accept-owner=: says nothing"),
        (WORDS | {"accept_owner": " "}, "--bias-accept-owner= : says nothing"),
        (WORDS | {"accept_until": "soon"}, "=soon: must be a day, as YYYY-MM-DD"),
        (WORDS | {"accept_until": "2999-02-30"}, "must be a day, as YYYY-MM-DD"),
        (WORDS | {"accept_until": "20991231"}, "must be a day, as YYYY-MM-DD"),
        (WORDS | {"accept_until": "2026-12-30"}, "is before today, 2026-12-31"),
        (WORDS | {"record": "all"}, "--bias-record=all: does not go with --bias-accept"),
        (WORDS | {"plan": True}, "a plan runs no case"),
        (WORDS | {"baselines": "off"}, "there is nowhere to write to"),
    ],
)
def test_what_cannot_be_accepted(options: dict[str, object], words: str) -> None:
    with pytest.raises(BadSetting) as refused:
        settings(**options)
    assert words in str(refused.value)
