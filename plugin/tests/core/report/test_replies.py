"""The trials as the page carries them, and ``bias-results.json`` read as it was written."""

from __future__ import annotations

import json
import zlib
from base64 import b64decode
from collections.abc import Callable
from typing import Any, cast

import pytest

from pytest_bias.errors import NotReadable
from pytest_bias.experiments.experiment import Experiment, plan
from pytest_bias.experiments.messages import Completion, Place
from pytest_bias.experiments.records import Outcome
from pytest_bias.experiments.replay import carry_out
from pytest_bias.report.replies import replies_of
from pytest_bias.report.run import AcceptedVerdict, RunResult, Scope, read_results, results_text

from ..factories import completion, experiment
from .factory import analysis, finding, verdict, view

MODEL = "simulated/even"


def carried(of: Experiment, *replies: str) -> list[Outcome]:
    """Every trial of the design, with these replies one after another, again and again."""
    outcomes = []
    for trial in plan(of, of.design()):
        said = iter(replies * 9)

        def answer(_: object, said: Any = said) -> Completion:
            return completion(next(said))

        outcomes.append(carry_out(of, MODEL, trial, answer))
    return outcomes


def block(of: Experiment, outcomes: list[Outcome]) -> dict[str, Any]:
    made = replies_of(of, MODEL, outcomes)
    assert (made.experiment, made.model, made.dates) == (of.id, MODEL, "2026-01-02")
    found: dict[str, Any] = json.loads(zlib.decompress(b64decode(made.block)))
    return found


def test_every_trial_has_its_levels_its_measures_and_all_that_was_said() -> None:
    of = experiment()
    outcomes = carried(of, "{}", '{"score": 7}')
    found = block(of, outcomes)
    (group,), (score,) = found["factors"], found["measures"]
    assert [group["levels"][at] for at in group["at"]] == ["a"] * 3 + ["b"] * 3
    assert found["replicate"] == [1, 2, 3] * 2
    assert (score["name"], score["kind"], score["values"]) == ("score", "number", [7] * 6)
    assert found["invalid"] == [1] * 6

    def text(number: int) -> str:
        lines = found["texts"][number]
        lines = lines if isinstance(lines, list) else [lines]
        return "\n".join(found["lines"][line] for line in lines)

    for outcome, said in zip(outcomes, found["said"], strict=True):
        first, second = said
        told = [(first[1][i], text(first[1][i + 1])) for i in range(0, len(first[1]), 2)]
        asked = outcome.exchanges[0].prompt
        assert told == [(message.role[0], message.text) for message in asked]
        assert [text(each[2]) for each in said] == ["{}", '{"score": 7}']
        assert text(first[9]) == outcome.invalid[0]
        assert first[7:9] == [1, cast("Place", outcome.exchanges[0].place).of]
        assert second[1] == []  # the same question again
        assert (text(second[3]), second[4], second[5]) == (
            "tiny-1",
            "2026-01-02T03:04:05+00:00",
            0.25,
        )


@pytest.mark.parametrize(("retention", "kept"), [("raw", True), ("measures", False)])
def test_no_text_is_there_where_none_is_kept(retention: Any, *, kept: bool) -> None:
    outcomes = carried(experiment(), '{"score": 7}')
    found = block(experiment(retention=retention), outcomes)
    assert bool(found["texts"]) is bool(found["lines"]) is bool(found["said"]) is kept
    assert found["measures"][0]["values"] == [7] * 6


@pytest.mark.parametrize(
    ("retention", "told"), [("raw", "I won't, Ada"), ("measures", "unspecified")]
)
def test_a_reason_is_told_in_words_of_a_reply_only_where_these_are_kept(
    retention: Any, told: str
) -> None:
    of = experiment(retention=retention)
    (first, *_) = carried(experiment(), '{"score": 7}')
    missing = [
        Outcome(trial, None, "I won't, Ada", (), 1, (), exchanges=first.exchanges)
        for trial in plan(of, of.design())
    ]
    found = block(of, missing)
    assert found["reasons"] == [told]
    assert found["missing"] == [0] * 6
    assert found["measures"][0]["values"] == [None] * 6


SCOPE = Scope(
    models=(MODEL,), design="gate", replicates=None, gate="absolute", inconclusive="fail"
)
EXPIRED = AcceptedVerdict(
    experiment="a",
    model=MODEL,
    id="h",
    status="BIASED",
    reason="r",
    owner="o",
    until="2027-01-01",
)


def run(name: str, *, biased: bool = False, **changed: Any) -> RunResult:
    """A run of the experiment ``name`` alone, asked for by its folder."""
    status, words = ("BIASED", "BIASED (detected)") if biased else ("CLEAR", "CLEAR within ±0.6")
    one = verdict(finding(), experiment=name, model=MODEL, status=status, words=words, id="h")
    fields: dict[str, Any] = {
        "cases": ((f"test_{name}", "failed" if biased else "passed"),),
        "judged": ((name, MODEL, "h"),),
        "failing": ((name, MODEL, "h"),) if biased else (),
        "partial": (f"only suite/{name} was asked for",),
        "scope": SCOPE,
    }
    return view(analysis(one, experiment=name, model=MODEL), **fields | changed)


@pytest.mark.requirement("ANCHOR-27")
@pytest.mark.parametrize("expired", [(), (EXPIRED,)])
def test_results_are_read_as_they_were_written(expired: tuple[AcceptedVerdict, ...]) -> None:
    written = results_text(run("a", biased=True, expired=expired))
    assert read_results(written, "x.json") == run("a", biased=True, expired=expired)
    assert results_text(read_results(written, "x.json")) == written


DAMAGES: dict[str, tuple[Callable[[str], str], str]] = {
    "cut off": (lambda text: text[: len(text) // 2], "it may be cut off"),
    "no results": (lambda _: "[]", "these are no results"),
    "format": (lambda text: text.replace('"format": 10', '"format": 6'), "its format is 6"),
    "suite": (lambda text: text.replace('"suite": "FAIL"', '"suite": "PASS"'), "was changed"),
    "verdict": (lambda text: text.replace('"BIASED"', '"CLEAR"'), "was changed"),
    "NaN": (lambda text: text.replace('"estimate": 1.6667', '"estimate": NaN'), "makes no sense"),
    "judged": (lambda text: text.replace('"judged"', '"judge"'), "was changed"),
    "analyses": (lambda text: text.replace('"analyses"', '"analysed"'), "makes no sense"),
    "line ends": (lambda text: text.replace("\n", "\r\n"), "was changed"),
}


@pytest.mark.parametrize("damage", list(DAMAGES))
def test_damaged_results_are_refused(damage: str) -> None:
    change, problem = DAMAGES[damage]
    changed = change(results_text(run("a", biased=True)))
    with pytest.raises(NotReadable, match=r"^here\.json: .*Run the tests again") as error:
        read_results(changed, "here.json")
    assert problem in str(error.value)
