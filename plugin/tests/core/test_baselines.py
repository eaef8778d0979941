"""Accepted verdicts: what is written is read again, damage is told, designs are compared."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import FunctionType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_bias.baselines.entries import (
    Acceptance,
    Baseline,
    Entry,
    baseline_from,
    baseline_text,
    entry_of,
    following,
    is_stopped,
)
from pytest_bias.baselines.fingerprints import differences, fingerprint_of
from pytest_bias.contrasts.declared import Claim
from pytest_bias.contrasts.differences import MeanDifference
from pytest_bias.contrasts.estimate import Estimate, UnitGroup
from pytest_bias.errors import BadSetting, NotReadable
from pytest_bias.experiments.canonical import digest, dumps
from pytest_bias.experiments.checks.prompts import PromptDigests, prompt_digests
from pytest_bias.experiments.design import Design, Factor, Items, Trial
from pytest_bias.experiments.experiment import Experiment, ModelRoles
from pytest_bias.experiments.measures import Measure
from pytest_bias.experiments.messages import Parameters
from pytest_bias.experiments.protocol import Subject
from pytest_bias.settings.settings import Settings, read_settings
from pytest_bias.verdicts.verdict import Status, Verdict

from ..helpers import there
from .factories import ask_twice, experiment, finding, recording
from .report.factory import verdict as made
from .test_settings import given as given_settings


def verdict(found: Estimate | None, status: Status = "BIASED") -> Verdict:
    words = f"{status} for this vignette"
    return made(found, id="h", model="openai/m", status=status, words=words, direction=None)


RECORDING = recording(checksum="abc")
ANN = Acceptance(reason="known since spring", owner="Ann Ölberg", until="2026-12-31")
TODAY = "2026-12-31"
WITH_ERROR: dict[str, Any] = {"se": 0.1, "df": 200.0}
FINGERPRINT = {"hypothesis": {"margin": 0.6}}

BIASED = verdict(finding(**WITH_ERROR))
CLEAR = verdict(finding(estimate=0.1), "CLEAR")


def entry(
    given: Verdict = BIASED, before: Entry | None = None, acceptance: Acceptance = ANN
) -> Entry:
    return following(entry_of(given, RECORDING, FINGERPRINT, acceptance=acceptance), before)


def baseline(**entries: Entry) -> Baseline:
    return Baseline(model="openai/m", simulated=False, verdicts={"anchoring": entries})


TEXT = baseline_text(baseline(h=entry(), clear=entry(CLEAR)))


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
    "cut": (TEXT[: len(TEXT) // 2], "it is no baseline"),
    "edited": (TEXT.replace("2026-12-31", "2099-12-31"), "its checksum is not that of its cont"),
    "unchecked": (json.dumps({"format": 5, "model": "openai/m"}), "its checksum"),
    "less": (edited(lambda v: v.pop("model")), "model: "),
}


@pytest.mark.parametrize(("text", "problem"), DAMAGED.values(), ids=DAMAGED)
def test_damage_names_the_file_and_how_to_mend_it(text: str, problem: str) -> None:
    with pytest.raises(NotReadable) as damaged:
        baseline_from(text, "baselines/openai--m.json")
    said = str(damaged.value)
    assert said.startswith("baselines/openai--m.json: ")
    assert problem in said
    assert "Restore the file from version control, or delete it and accept" in said
    assert not isinstance(damaged.value, AssertionError)


OTHERWISE: dict[str, tuple[str, str]] = {
    "merged": (f"<<<<<<< ours\n{TEXT}", "git checkout --ours x.json takes one side, --theirs"),
    "merged on Windows": (f"{{\r\n=======\r\n{TEXT}", "Then accept what the other side had acc"),
    "newer": (edited(lambda v: v.update(format=6)), "its format is 6, .* A newer pytest-bias wr"),
    "older": (edited(lambda v: v.update(format=4)), "its format is 4, .*Delete the file and acc"),
    "no format": (
        edited(lambda v: v.pop("format")),
        "its format is None, this vers",
    ),
}


@pytest.mark.parametrize(("text", "words"), OTHERWISE.values(), ids=OTHERWISE)
def test_what_no_restoring_mends_is_mended_otherwise(text: str, words: str) -> None:
    with pytest.raises(NotReadable, match=words) as damaged:
        baseline_from(text, "x.json")
    assert "Restore the file" not in str(damaged.value)


def of(estimate: float, status: Status = "BIASED", **changes: Any) -> Verdict:
    return verdict(finding(estimate=estimate, **(WITH_ERROR | changes)), status)


@pytest.mark.parametrize(
    ("status", "claim", "needed"),
    [
        ("CLEAR", "clear", False),
        ("BIASED", "clear", True),
        ("BIASED", "detect", True),
        ("INCONCLUSIVE", "clear", True),
        ("INCONCLUSIVE", "detect", False),
        ("BIASED", "describe", False),
        ("INCONCLUSIVE", "describe", False),
    ],
)
def test_only_what_the_gate_stops_needs_somebody_who_accepts_it(
    status: Status, claim: Claim, *, needed: bool
) -> None:
    found = entry(replace(verdict(finding(), status), claim=claim))
    assert (found.accepted == ANN) == is_stopped(status, claim) == needed
    assert baseline_from(baseline_text(baseline(h=found)), "x.json").entry("anchoring", "h")


def test_what_was_accepted_before_is_kept_oldest_first_with_its_units() -> None:
    units = (UnitGroup(group="", weight=1.0, values={"one": 0.5, "two": 4 / 3}),)
    accepted = entry(of(1.0, by_unit=units))
    accepted = entry(of(0.1, "CLEAR", by_unit=units), before=accepted)
    accepted = entry(of(1.2), before=accepted, acceptance=replace(ANN, owner="bob"))
    assert [(past.status, past.accepted) for past in accepted.history] == [
        ("BIASED", ANN),
        ("CLEAR", None),
    ]
    assert [past.effect and past.effect.estimate for past in accepted.history] == [1.0, 0.1]
    kept = [past.effect and dict(past.effect.by_unit[0].values) for past in accepted.history]
    assert kept == [{"one": 0.5, "two": 4 / 3}] * 2
    written = baseline(h=accepted)
    assert baseline_from(baseline_text(written), "x.json") == written


def test_accepting_the_very_same_again_adds_nothing_and_another_day_does() -> None:
    first = entry()
    assert entry(before=first) == first
    longer = entry(before=first, acceptance=replace(ANN, until="2027-12-31"))
    assert [past.accepted for past in longer.history] == [ANN]


def test_another_design_starts_anew() -> None:
    other = replace(entry(of(0.2), before=entry()), fingerprint={"hypothesis": {"margin": 0.5}})
    found = entry(of(1.5), before=other)
    assert found.versions == (found.effect,)
    assert found.history == ()


HYPOTHESIS = MeanDifference("score", "group", high="b", low="a", margin=0.6, claim="clear")
JUDGED = dumps(["openai/judge", {"temperature": 0.0}])


def prints(
    of: Experiment | None = None,
    hypothesis: Any = HYPOTHESIS,
    design: Design | None = None,
    judged_by: str = "",
    **told: Any,
) -> Any:
    return fingerprint_of(of or experiment(), design or Design(3), hypothesis, judged_by, **told)


def measured(**changes: Any) -> Experiment:
    return experiment(measures=[Measure("score", **({"bounds": (0, 10)} | changes))])


def grouped(*args: Any, **changes: Any) -> Experiment:
    return experiment(factors=[Factor("group", *args, **changes)])


LEVELS = {"a": "Ada", "b": "Bob"}
CHANGES: dict[str, tuple[Any, str]] = {
    "version": (prints(measured(version=2)), "measures.score.version: 1 → 2"),
    "exemplars": (
        prints(grouped(LEVELS, exemplars={"a": ["Ann", "Al"], "b": ["Bo"]})),
        'factors.group.exemplars.a: (none) → ["Al","Ann"]',
    ),
    "items": (prints(experiment(items=Items("cv", {"one": 1}))), "items.cv.one: (none) → 1"),
    "replicates": (prints(design=Design(4)), "design.replicates: 3 → 4"),
    "design": (prints(design=Design(3, "small")), 'design.name: "gate" → "small"'),
    "judge": (prints(judged_by=JUDGED), 'judge.model: (none) → "openai/judge"'),
}


@pytest.mark.parametrize(("changed", "words"), CHANGES.values(), ids=CHANGES)
def test_another_design_differs_in_words(changed: Any, words: str) -> None:
    assert words in differences(prints(), changed)


def told(**subject: str) -> PromptDigests:
    return PromptDigests(subject=subject, judge=dict.fromkeys(subject, "judged"))


def test_conditions_that_came_went_or_are_told_otherwise_are_named() -> None:
    one = prints(told=told(low="1", mid="2", high="3"))
    two = prints(told=told(low="1", mid="9", top="4"))
    assert differences(one, two) == (
        "what the subject is told changed in 3 conditions (high; mid; top)",
    )
    assert differences(two, two) == ()


def test_what_the_judge_is_told_counts_where_it_is_known_of_both() -> None:
    known = told(a="1", b="2")
    other = PromptDigests(subject=known.subject, judge={"a": "another"})
    assert differences(prints(told=known), prints(told=other)) == (
        "what the judge is told changed in 1 condition (a)",
    )
    unknown = PromptDigests(subject=known.subject)
    assert differences(prints(told=known), prints(told=unknown)) == ()
    empty = {**prints(told=unknown), "prompts": {"subject": known.subject, "judge": {}}}
    assert differences(empty, prints(told=unknown)) == ()


def test_what_only_changes_what_is_said_does_not_differ() -> None:
    said = replace(HYPOTHESIS, scope="all of them", direction="positive")
    assert differences(prints(), prints(experiment(ask_twice), said)) == ()


def test_fingerprints_survive_their_file() -> None:
    found = prints(grouped({"a": "\udce9", "b": ["\udce9"]}), judged_by=JUDGED)
    written = baseline(h=replace(entry(), fingerprint=found))
    again = baseline_from(baseline_text(written), "x.json").entry("anchoring", "h")
    assert differences(there(again).fingerprint, found) == ()


def test_no_words_of_an_experiment_that_keeps_none() -> None:
    factors = [Factor("group", LEVELS, exemplars={"a": ["Ann"], "b": ["Bo"]})]
    items = Items("cv", {"one": "a secret", "two": 2, "three": {"deep": "secret"}})
    found = prints(experiment(retention="measures", factors=factors, items=items))
    for word in ("Ada", "Ann", "secret"):
        assert word not in dumps(found)
    assert found["items"]["cv"]["two"] == 2
    assert found["items"]["cv"]["one"].startswith("sha256:")


class Persona:
    """A value of a level that JSON does not hold."""


def test_no_name_of_a_class_or_module_stands_in_a_fingerprint() -> None:
    """Neither that of a contrast or of a value, nor where the experiment is declared."""
    of = grouped({"a": Persona(), "b": 1 + 2j})
    renamed: Any = type("Renamed", (MeanDifference,), {"__slots__": (), "__module__": "elsewhere"})
    other = renamed("score", "group", high="b", low="a", margin=0.6, claim="clear")
    moved = type("Moved", (Persona,), {"__module__": "bias_tests.moved.experiment"})
    assert prints(of, other) == prints(grouped({"a": moved(), "b": 1 + 2j}))
    protocol = FunctionType(rate.__code__, {**globals(), "__name__": "moved"}, "renamed")
    assert whole(experiment(protocol)) == whole(experiment(rate))
    found = dumps(prints(of, other))
    assert '"kind":"mean difference"' in found
    for name in ("Persona", "MeanDifference", "Renamed", "test_baselines", "pytest_bias"):
        assert name not in found


async def rate(trial: Trial, subject: Subject) -> object:
    return await subject.ask(f"Rate {trial['group']}.")


async def rate_bob_again(trial: Trial, subject: Subject) -> object:
    name = trial["group"]
    return await subject.ask(f"Rate {name}{', again' if name == 'Bob' else ''}.")


def test_another_prompt_temperature_or_target_differs() -> None:
    before = whole(experiment(rate))
    assert differences(before, whole(experiment(rate_bob_again))) == (
        "what the subject is told changed in 1 condition (b)",
    )
    hot = experiment(rate, parameters=Parameters(temperature=0.7))
    assert differences(before, whole(hot)) == ("subject.temperature: (none) → 0.7",)
    people = replace(HYPOTHESIS, target="population", unit="items")
    assert differences(before, whole(experiment(rate), people)) == (
        'hypothesis.target: "fixed" → "population"',
        'hypothesis.unit: (none) → ["items"]',
    )


def whole(of: Experiment, hypothesis: Any = HYPOTHESIS) -> Any:
    """The fingerprint as a run makes it."""
    design = Design(3)
    told = prompt_digests(of, design, ModelRoles("openai/m"))
    return fingerprint_of(of, design, hypothesis, "", sampled=of.parameters, told=told)


WORDS = {"accept": True, "accept_reason": "known", "accept_owner": "ann"}


def settings(**options: object) -> Settings:
    return read_settings(replace(given_settings(options), today=TODAY))


def test_what_is_accepted_and_where() -> None:
    assert settings().accept is None
    assert settings().baselines == Path("/project/bias_tests/baselines")
    assert settings(baselines="off").baselines is None
    assert settings(baselines="kept", accept=True).baselines == Path("/project/sub/kept")
    found = there(settings(**(WORDS | {"accept_reason": " two\nlines "})).accept)
    assert (found.reason, found.lacking) == ("two lines", ("--bias-accept-until",))
    last = settings(**WORDS, accept_until=TODAY).accept
    assert there(last).lacking == ()


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
