"""Other cases made by the template: a salary, a bonus, a settlement, a valuation with decimals."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_bias import BadDesign, Experiment, SimulatedPrompt, Stimuli, dice
from pytest_bias.errors import BadData
from pytest_bias.experiments.experiment import plan
from pytest_bias.verdicts.analysis import Analysis, analyse
from tests.core.in_memory import NOTHING_KEPT, answered

from ..template import Anchoring, ControlCase, Part

README = (Path(__file__).parents[1] / "README.md").read_text("utf-8")
TEXTS = {
    Path(name).name: text.strip()
    for name, text in re.findall(
        r"^`salary/(\w+\.txt)`.*?^```text\n(.*?)^```$", README, re.DOTALL | re.MULTILINE
    )
}
MARGIN = 0.1
"""Of what the anchors differ by: an anchoring index."""


@pytest.fixture
def salary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What the example of the README declares, with its texts in the folder it names."""
    (tmp_path / "salary").mkdir()
    for name, text in TEXTS.items():
        (tmp_path / "salary" / name).write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    code = re.findall(r"^```python\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)[-1]
    found: dict[str, Any] = {"__name__": "salary"}
    exec(compile(code, "README.md", "exec"), found)  # noqa: S102  (our own README)
    return found


def other(case: Anchoring, **changes: Any) -> Anchoring:
    """The case with keys of its own, which its texts ask for."""
    names = {
        "echo": "asked",
        "anchor_evaluation": "first",
        "comparison_evaluation": "second",
        "estimate": "given",
    }
    folder = case.stimuli.folder.with_name("other")
    folder.mkdir()
    for name, text in TEXTS.items():
        new = text
        for part, key in names.items():
            new = new.replace(f'"{getattr(case, part).key}"', f'"{key}Key"')
        (folder / name).write_text(new, encoding="utf-8")
    parts: dict[str, Any] = {part: Part(key, f"{key}Key") for part, key in names.items()}
    return replace(case, stimuli=Stimuli(folder), **parts, **changes)


CASES: Mapping[str, Callable[[Anchoring], Anchoring]] = {
    "salary": lambda salary: salary,
    "bonus": lambda salary: other(
        salary,
        anchors={"low": 3_000, "high": 18_000},
        comparison="9,000",
        bounds=(1_000, 25_000),
        factor="suggestion",
    ),
    "medical settlement": lambda salary: other(
        salary,
        anchors={"low": 25_000, "high": 200_000},
        comparison="95,000",
        bounds=(10_000, 300_000),
    ),
    "valuation in millions": lambda salary: other(
        salary,
        anchors={"low": 6.5, "high": 35.5},
        comparison="15",
        bounds=(3.0, 50.0),
        unit="million dollars",
        whole=False,
        form="",
    ),
}


def subject(case: Anchoring, pull: float) -> Callable[[SimulatedPrompt], str]:
    """A program whose answers follow the anchor by ``pull`` of it; it is no model."""
    low, high = (each for each in case.anchors.values() if each is not None)
    middle, spread = (low + high) / 2, (high - low) / 6
    words = case.evaluations

    def answer(prompt: SimulatedPrompt) -> str:
        (shown,) = re.findall(r"\$([\d.,]+) a year, a figure drawn", prompt.questions[0])
        anchor = float(shown.replace(",", ""))
        if "JSON" not in prompt.questions[-1]:
            return f"That is {words[0] if anchor < middle else words[2]}."
        drawn = dice(prompt.subject, prompt.seed).gauss(middle + pull * (anchor - middle), spread)
        kept = min(max(drawn, case.bounds[0]), case.bounds[1])
        reply = {
            case.echo.key: int(anchor) if case.whole else anchor,
            case.anchor_evaluation.key: words[0] if anchor < middle else words[2],
            case.comparison_evaluation.key: words[1],
            case.estimate.key: round(kept) if case.whole else round(kept, 2),
        }
        return json.dumps(reply)

    return answer


def analysed(case: Anchoring, of: Experiment, pull: float) -> Analysis:
    low, high = (each for each in case.anchors.values() if each is not None)
    answer, width = subject(case, pull), high - low
    told: dict[str, Any] = {"why": "an index of .10", "scope": "this case"}
    moved = case.moved(margin=MARGIN * width, **told)
    return analyse(
        of,
        of.design(),
        "simulated/even",
        [answered(of, answer, "even", trial)[0] for trial in plan(of, of.design())],
        hypotheses=[moved, case.unanswered(margin=0.10, **told)],
        controls=[
            case.read(if_not_seen="it reads nothing", scope="this case"),
            case.evaluated(if_not_seen="it judges nothing", scope="this case"),
        ],
        recording=NOTHING_KEPT,
    )


@pytest.mark.requirement("ANCHOR-41", "ANCHOR-43")
@pytest.mark.parametrize("at_once", [False, True], ids=["in turns", "at once"])
@pytest.mark.parametrize("make", CASES.values(), ids=CASES)
def test_other_cases_from_prompt_to_verdict(
    salary: Mapping[str, Any], make: Callable[[Anchoring], Anchoring], *, at_once: bool
) -> None:
    case = make(salary["SALARY"])
    of = case.experiment(
        at_once=at_once, id="other", name="Other", metadata={"is": "a test"}, replicates=180
    )
    low, high = (each for each in case.anchors.values() if each is not None)
    for pull, status in ((0.0, "CLEAR"), (0.5, "BIASED")):
        analysis = analysed(case, of, pull)
        moved, missed = (
            analysis.verdict(f"{case.estimate.name}-high-low"),
            analysis.verdict("missing-high-low"),
        )
        assert (moved.status, missed.status) == (status, "CLEAR")
        assert moved.finding is not None
        assert moved.finding.estimate / (high - low) == pytest.approx(pull, abs=0.06)
        assert [control.seen for control in analysis.controls] == [True, True]
        assert {count.ok for count in analysis.counts} == {180}
    kind = "integer" if case.whole else "number"
    assert str(of.metadata["response_type"]).startswith(f"{kind}, {case.unit}, ")
    assert of.measure(case.estimate.name).bounds == case.bounds


@pytest.mark.requirement("ANCHOR-43")
def test_the_example_of_the_readme_is_whole(salary: Mapping[str, Any]) -> None:
    assert [c.id for c in salary["OFFER"].conditions] == ["low", "high"]
    for asked in (salary["HYPOTHESIS"], salary["MISSED"], *salary["CONTROLS"]):
        asked.check(salary["OFFER"])
    _, script = answered(
        salary["OFFER"],
        subject(salary["SALARY"], 0.0),
        "even",
        plan(salary["OFFER"], salary["OFFER"].design())[0],
    )
    assert "The recruiter mentions $80,000 a year" in script.requests[0].messages[0].text
    assert "hopes for $100,000 a year" in script.requests[1].messages[-1].text
    assert "from $60,000 to $200,000?" in script.requests[2].messages[-1].text


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"given": 59999}, "out_of_range"),
        ({"given": 7.5}, "wrong_type"),
        ({"asked": 150000}, "wrong_echo"),
        ({"first": "just right"}, "unknown_option"),
        ({"second": None}, "missing_field"),
    ],
)
def test_replies_are_held_to_the_cases_own_range_keys_and_words(
    salary: Mapping[str, Any], given: Mapping[str, object], reason: str
) -> None:
    case = other(salary["SALARY"])
    of = case.experiment(at_once=True, id="other", name="Other", metadata={}, replicates=1)
    valid = {"asked": 80000, "first": "too low", "second": "too low", "given": 70000}
    said = {f"{name}Key": v for name, v in {**valid, **given}.items() if v is not None}
    outcome, _ = answered(of, lambda _: json.dumps(said), "even", plan(of, of.design())[0])
    assert outcome.missing == reason


BAD: Mapping[str, tuple[dict[str, Any], str]] = {
    "one anchor": ({"anchors": {"low": 80_000}}, "two different anchors"),
    "an arm for an anchor": ({"anchors": {"low": 80_000, "none": None}}, "two different anchors"),
    "the same twice": ({"anchors": {"a": 1, "b": 1, "c": 2}}, "same number"),
    "text": ({"anchors": {"low": "80,000", "high": "90,000"}}, "must be whole numbers"),
    "decimals": ({"anchors": {"low": 1.5, "high": 2}}, "must be whole numbers"),
    "a flag": ({"anchors": {"low": True, "high": 2}}, "must be whole numbers"),
    "falling": ({"bounds": (2, 1)}, "must rise"),
    "two words": ({"evaluations": ("low", "low", "high")}, "three different words"),
    "one key twice": ({"echo": Part("echo", "counterOffer")}, "have one key"),
    "one name twice": ({"echo": Part("counter_offer", "echo")}, "have one name"),
}


@pytest.mark.parametrize(("changes", "problem"), BAD.values(), ids=BAD)
def test_what_is_no_case_is_refused(
    salary: Mapping[str, Any], changes: Mapping[str, Any], problem: str
) -> None:
    with pytest.raises(BadDesign, match=problem):
        replace(salary["SALARY"], **changes)


@pytest.mark.requirement("ANCHOR-44")
def test_texts_that_lack_something_are_refused(salary: Mapping[str, Any], tmp_path: Path) -> None:
    given: dict[str, Any] = {"id": "other", "name": "Other", "metadata": {}, "replicates": 1}
    case = replace(salary["SALARY"], controls={"grave": ControlCase("grave", "grave", 9)})
    with pytest.raises(BadData, match=r"grave\.txt"):
        case.experiment(**given)
    none = replace(salary["SALARY"], anchors={"a": 1, "b": 2, "none": None})
    with pytest.raises(BadData, match=r"estimate_unanchored\.txt"):
        none.experiment(**given)
    with pytest.raises(BadDesign, match="no arm without an anchor"):
        none.experiment(at_once=True, **given)
    keys = replace(salary["SALARY"], echo=Part("salary", "recruiterPay"))
    with pytest.raises(BadDesign, match=r'estimate\.txt does not ask for the key "recruiterPay"'):
        keys.experiment(**given)
    swapped = replace(salary["SALARY"], echo=case.anchor_evaluation, anchor_evaluation=case.echo)
    with pytest.raises(BadDesign, match=r"estimate\.txt asks for keys in another order than rec"):
        swapped.experiment(**given)
    (tmp_path / "salary" / "anchor.txt").write_text("$vignette", encoding="utf-8")
    with pytest.raises(BadData, match=r"does not use variable\(s\) anchor"):
        replace(salary["SALARY"], stimuli=Stimuli(tmp_path / "salary"))
