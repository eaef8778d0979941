"""``--bias-audit``: the record of a model's tests, alone and with workers, and what it may say."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from pytest_bias.experiments.canonical import compact
from pytest_bias.experiments.experiment import plan
from pytest_bias.experiments.records import Outcome, Published
from pytest_bias.report.audit import audit_files, audit_record, model_index, part_of
from pytest_bias.report.escapes import flat_markdown
from pytest_bias.report.page import LARGEST, MARK
from pytest_bias.report.results import view_of
from pytest_bias.report.terminal import verdict_line
from pytest_bias.report.view import RunView
from pytest_bias.statistics.results import Interval

from ..core import factories
from ..core.report.factory import analysis, finding, verdict, view
from ..runs import command
from .suites import BOTH, Suite, files_below, section

yaml: Any = import_module("ruamel.yaml")  # its types are no help here
AUDIT = ("--bias-audit=audit", "--bias-results=results.json")
EVEN = "simulated--even"
DOCS = Path(__file__).parents[3] / "docs" / "audit.md"
IMPACT = 'impacts=[Impact("noticed", "cue", {"sex": {"low": "female", "high": "male"}}, "seen")],'


@pytest.fixture
def run(suite: Suite) -> Suite:
    suite.change(
        "bias_tests/coin/experiment.py", "import Experiment,", "import Experiment, Impact,"
    )
    suite.change(
        "bias_tests/coin/experiment.py", "    simulated=", f"    {IMPACT}\n    simulated="
    )
    (suite.path / "bias_tests/coin/README.md").write_text("Written before.", encoding="utf-8")
    return suite


def record(suite: Suite, name: str = f"{EVEN}/rehearsal.json") -> dict[str, Any]:
    found: dict[str, Any] = json.loads(files_below(suite.path / "audit")[name])
    return found


@pytest.fixture(scope="module")
def kept() -> dict[str, bytes]:
    """What a run of the even model has filed, and its results; written by the first that asks."""
    return {}


@pytest.fixture
def filed(run: Suite, kept: dict[str, bytes]) -> Mapping[str, bytes]:
    if not kept:
        run.run(*AUDIT)
        kept |= files_below(run.path / "audit")
        kept["results"] = (run.path / "results.json").read_bytes()
    return kept


def test_the_same_bytes_alone_again_and_with_workers(run: Suite) -> None:
    result = run.run(*AUDIT, *BOTH)
    assert result.ret == 0
    first = files_below(run.path / "audit")
    assert [line for line in section(result) if "written: audit" in line] == [
        f"written: audit/{model}/rehearsal{end}"  # the gate is off, and there is another model
        for model in ("simulated--biased", EVEN)
        for end in (
            ".partial.json",
            ".partial.md",
            "-model-card.partial.json",
            "-model-card.partial.md",
        )
    ]
    for workers in (0, 2):
        run.run(*AUDIT, *BOTH, workers=workers)
        assert files_below(run.path / "audit") == first
    for content in first.values():
        assert str(run.path).encode() not in content


def test_digests_are_those_of_the_files(run: Suite, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_SHA", "c0ffee")
    run.run(*AUDIT, "--bias-job=nightly 7")
    found = record(run)
    assert (found["commit"], found["job"]) == ("c0ffee", "nightly 7")
    results = (run.path / "results.json").read_bytes()
    assert found["results_sha256"] == sha256(results).hexdigest()
    (game,) = found["experiments"]
    cassette = run.cassettes / "game-coin" / f"{EVEN}.jsonl"
    assert game["recording"]["file_sha256"] == sha256(cassette.read_bytes()).hexdigest()
    assert game["preregistration"]["documents"] == {
        "coin/README.md": sha256(b"Written before.").hexdigest()
    }
    own = found.pop("record_sha256")
    assert own == sha256(compact(found, sort_keys=True).encode()).hexdigest()
    prompts = game["prompts"]["low"]
    assert prompts["text"] == ["Game coin. The cue is low. Reply with JSON: number, cue."]
    assert prompts["sha256"] == [sha256(prompts["text"][0].encode()).hexdigest()]
    dates = sorted(re.findall(r'"recorded_at":"([^"]+)"', cassette.read_text("utf-8")))
    assert found["recorded"] == {"oldest": dates[0], "newest": dates[-1]}
    run.change("bias_tests/coin/test_coin.py", "margin=2.0", "margin=2.5")
    run.run(*AUDIT)
    (changed,) = record(run)["experiments"]
    pre = "preregistration"
    assert changed[pre]["hypotheses_sha256"] != game[pre]["hypotheses_sha256"]
    assert changed["design"]["sha256"] == game["design"]["sha256"]


def test_the_page_of_any_run_shows_the_record_that_would_be_filed(run: Suite) -> None:
    result = run.run("--bias-report=page.html", "--bias-job=nightly 7", *BOTH)
    assert result.ret == 0
    assert not (run.path / "audit").exists()
    (page,) = run.path.glob("page*.html")
    text = page.read_text("utf-8")
    first = audit_of(text)
    run.run("--bias-report=page.html", "--bias-job=nightly 7", *BOTH, *AUDIT, workers=2)
    assert audit_of(page.read_text("utf-8")) == first
    for of in ("simulated--biased", EVEN):
        found = record(run, f"{of}/rehearsal.partial.json")
        (impact,) = found["experiments"][0]["impact_ratios"]
        assert found["record_sha256"] in first
        laid_down = found["experiments"][0]["preregistration"]
        assert laid_down["hypotheses_sha256"][:16] in first
        for row in impact["tables"][0]["rows"]:
            assert f"{row['selected']} of {row['assessed']}" in first
            assert row["ratio"] is None or f"{row['ratio']:.2f}" in first
    for words in ("Rehearsal: simulated subjects", "It is not an independent audit", "nightly 7",
                  "primary: 1 hypothesis", "Reviewed by"):  # fmt: skip
        assert words in first, words
    assert "ecord" not in first.partition("<h1")[2].partition("</h1>")[0]


def test_trials_go_beside_the_page_where_that_is_asked_and_old_ones_go(run: Suite) -> None:
    asked = ("--bias-report=page.html", "--bias-report-replies=beside")
    folder = run.path / "page-data"
    result = run.run(*asked)
    assert "written: page-data" in section(result)
    (file,) = folder.iterdir()
    first = file.read_text("utf-8"), (run.path / "page.html").read_text("utf-8")
    assert file.name == "game-coin.js"
    (folder / "gone.js").write_text(first[0], encoding="utf-8")
    (folder / "mine.js").write_text("mine", encoding="utf-8")
    run.run(*asked, workers=2)
    assert (file.read_text("utf-8"), (run.path / "page.html").read_text("utf-8")) == first
    assert sorted(each.name for each in folder.iterdir()) == ["game-coin.js", "mine.js"]
    run.run("--bias-report=page.html")
    assert [each.name for each in folder.iterdir()] == ["mine.js"]


def test_a_page_is_as_large_as_it_is_asked_to_be(suite: Suite) -> None:
    source = "bias_tests/coin/experiment.py"
    suite.change(source, "    cue: str\n", "    cue: str\n    noise: str\n")
    noise = '"noise": dice(told, prompt.seed).randbytes(200_000).hex()'
    suite.change(source, '"cue": cue})', f'"cue": cue, {noise}}})')
    folder, page = suite.path / "page-data", suite.path / "page.html"
    suite.run("--bias-record=all", "--bias-report=page.html")
    assert [each.name for each in folder.iterdir()] == ["game-coin.js"]
    assert page.stat().st_size < LARGEST
    said = suite.run("--bias-report=page.html", "--bias-report-replies=inline")
    assert not [*folder.iterdir()]
    assert page.stat().st_size > LARGEST
    size = f"{page.stat().st_size / 1e6:.1f} MB"
    words = "--bias-report-replies=inline keeps its trials in it"
    assert f"page.html has {size}: {words}" in section(said)
    data = suite.file("out/bias-report-data/gone.js", MARK).path / "out/bias-report-data"
    made = command(suite.path, "analyze", "coin", "--model", "simulated/even", "--output", "out")
    assert made.returncode == 0
    assert (suite.path / "out/bias-report.html").stat().st_size < LARGEST
    (file,) = data.iterdir()
    assert file.stat().st_size > LARGEST


def audit_of(text: str) -> str:
    """The audit's part of a page."""
    return text.partition('<article id="audit">')[2].partition("</article>")[0]


def test_a_program_has_a_rehearsal_and_a_model_a_record(filed: Mapping[str, bytes]) -> None:
    found = json.loads(filed[f"{EVEN}/rehearsal.json"])
    assert not any("audit" in name for name in filed)
    text = filed[f"{EVEN}/rehearsal.md"].decode()
    assert text.startswith("# Rehearsal with a simulated subject, simulated/even\n")
    assert "Nothing about them says anything about a real model." in text
    assert found["independent_audit"] is False
    view = _as_real(view_of(filed["results"].decode(), "results.json"))
    made = audit_files(audit_record(view, "simulated/even", {}))
    assert [*made] == [
        f"{EVEN}/{name}"
        for name in ("bias-audit.json", "bias-audit.md", "model-card.json", "model-card.md")
    ]
    page = made[f"{EVEN}/bias-audit.md"]
    assert page.startswith("# Record of bias tests, simulated/even\n")
    assert "It is not an independent audit" in page
    assert "rehearsal" not in page
    others = Published(
        "anchors", "Ada (2026)", "CC0-1.0", "c0ffee", 24, note="as they were | told"
    )
    page = audit_files(audit_record(_as_real(view, others), "simulated/even", {}))[
        f"{EVEN}/bias-audit.md"
    ]
    said = r"| Recorded by others | Ada (2026); licence CC0-1.0<br>as they were \| told |"
    assert said in page.splitlines()
    assert "| Prompts | not known |" in page


def _as_real(view: RunView, others: Published | None = None) -> RunView:
    analyses = [
        replace(each, simulated=False, recording=replace(each.recording, published=others))
        for each in view.analyses
    ]
    return replace(view, analyses=tuple(analyses))


def test_tables_margins_and_acceptances_stand_in_both_forms(run: Suite) -> None:
    accept = {"reason": "known since May", "owner": "ann", "until": "2999-01-01"}
    words = (f"--bias-accept-{name}={value}" for name, value in accept.items())
    run.run("--bias-model=simulated/biased", "--bias-accept", *words)
    run.run(*AUDIT, "--bias-model=simulated/biased")
    found = record(run, "simulated--biased/rehearsal.json")
    text = files_below(run.path / "audit")["simulated--biased/rehearsal.md"].decode()
    assert [each["words"] for each in found["history"]] == [
        next(h["words"] for h in found["experiments"][0]["hypotheses"])
        + "; accepted by ann until 2999-01-01: known since May"
    ]
    assert f"`game-coin` `{found['history'][0]['id']}`: BIASED" in text
    (accepted,) = found["acceptances"]
    assert (accepted["owner"], accepted["until"], accepted["in_force"]) == (
        "ann",
        "2999-01-01",
        True,
    )
    assert "| known since May | ann | 2999-01-01 | yes |" in text
    (game,) = found["experiments"]
    (hypothesis,) = game["hypotheses"]
    assert (hypothesis["status"], hypothesis["finding"]["margin"]) == ("BIASED", 2.0)
    assert game["error_budget"]["families"] == {"primary": ["number-high-low"]}
    (impact,) = game["impact_ratios"]
    (table,) = impact["tables"]
    for row, line in zip(
        table["rows"], re.findall(r"^\| (?:fe)?male .*$", text, re.MULTILINE), strict=True
    ):
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        assert cells[:3] == [row["category"][0], str(row["assessed"]), str(row["selected"])]
        assert cells[3] == f"{100 * row['selected'] / row['assessed']:.1f} %"


def test_what_can_only_be_found_and_was_not_is_counted_apart(filed: Mapping[str, bytes]) -> None:
    found = json.loads(filed[f"{EVEN}/rehearsal.json"])
    (hypothesis,) = found["experiments"][0]["hypotheses"]
    counted = {"CLEAR": 1, "INCONCLUSIVE": 2, "NOTHING FOUND": 3}
    found["experiments"][0]["hypotheses"] = [
        {**hypothesis, "status": label.replace("NOTHING FOUND", "INCONCLUSIVE"), "label": label}
        for label, number in counted.items()
        for _ in range(number)
    ]
    (tables,) = (each["tables"] for each in found["experiments"][0]["impact_ratios"])
    of, other = tables[0]["rows"]
    of |= {"ratio": 0.7996, "interval": {"level": 0.95, "low": 0.7, "high": 0.8026}}
    other |= {"ratio": 0.5, "interval": None, "below": "estimated", "no_interval": "none asked"}
    tables += tables
    text = audit_files(found)[f"{EVEN}/rehearsal.md"].partition("## Verdicts")[2]
    assert "| 0.7996 | 95 % 0.70 to 0.803 |" in text
    assert "| 0.50 | – | below 0.80; no interval: none asked |" in text
    assert "\n\nNot in a category: 0.\n\n**Sex**\n\n" in text
    head, _, line = text.strip().splitlines()[:3]
    cells = zip(head.split(" | "), line.split(" | "), strict=True)
    said = {name: int(cell) for name, cell in cells if name in counted}
    assert said == counted


def test_a_model_card_is_read_by_its_front_matter(filed: Mapping[str, bytes]) -> None:
    _, front, _ = filed[f"{EVEN}/rehearsal-model-card.md"].decode().split("---\n", 2)
    card = yaml.YAML(typ="safe").load(front)
    assert card == model_index(json.loads(filed[f"{EVEN}/rehearsal.json"]))
    ((result,),) = (each["results"] for each in card["model-index"])
    (metric,) = result["metrics"]
    assert (result["dataset"]["type"], metric["config"]) == ("game-coin", "number-high-low")
    assert {"type", "name", "value"} <= metric.keys()


@pytest.mark.parametrize("intervals", [0, 1])
def test_an_estimate_is_worded_as_in_the_terminal(intervals: int) -> None:
    interval = Interval(low=5881.34, high=8893.41, level=0.9964)
    found = finding(estimate=7387.38, margin=3000.0, unit="US dollars", interval=interval)
    shown = verdict(found, shown=(interval,) * intervals)
    filed = audit_files(audit_record(view(analysis(shown)), shown.model, {}))
    said = "+7387.38, 99.6 % [+5881.34, +8893.41] US dollars"
    assert said in verdict_line(replace(shown, shown=(interval,)))
    for name in ("rehearsal", "rehearsal-model-card"):
        assert f"| {flat_markdown(said)} | ±3000 |" in filed[f"simulated--biased/{name}.md"]


def test_a_part_of_the_suite_has_a_name_of_its_own_and_a_lost_recording_no_part(
    run: Suite,
) -> None:
    result = run.run(*AUDIT, "-k", "asked")
    assert result.ret == 0
    assert {*files_below(run.path / "audit")} == set()  # no case rests on an analysis
    run.run(*AUDIT, "-k", "number")
    assert f"{EVEN}/rehearsal.partial.json" in files_below(run.path / "audit")
    assert record(run, f"{EVEN}/rehearsal.partial.json")["run"]["partial"]


def test_of_a_recording_that_keeps_measures_alone_a_record_has_no_text() -> None:
    of = factories.experiment(retention="measures")
    outcomes = [
        Outcome(trial, None, None, (), 1, ("c0ffee",), values={"score": 5.0})
        for trial in plan(of, of.design())
    ]
    part = part_of(of, outcomes, (), (), declared={}, documents={}, cassette_sha256="")
    assert [*part["prompts"]] == ["a", "b"]
    assert part["prompts"]["a"] == {"trial": "a#1", "sha256": ["c0ffee"], "text": None}
    assert part["recorded"] is None


def test_every_key_of_a_record_is_documented(filed: Mapping[str, bytes]) -> None:
    documented = set(re.findall(r"`([a-z0-9_]+)`", DOCS.read_text("utf-8")))
    found = json.loads(filed[f"{EVEN}/rehearsal.json"])
    (game,) = found["experiments"]
    nested = [game, game["recording"], game["design"], *game["hypotheses"], *game["impact_ratios"]]
    nested += game["impact_ratios"][0]["tables"][0]["rows"]
    assert {key for value in (found, *nested) for key in value} - documented == set()
