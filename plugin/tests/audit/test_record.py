"""``--bias-audit``: what a record says, alone and with workers, and what it must not say."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from pytest_bias import Records
from pytest_bias.experiments.canonical import compact
from pytest_bias.experiments.records import Published
from pytest_bias.verdicts.wording import estimated
from pytest_bias.workbench.evidence import Evidence
from pytest_bias_audit.plugin import audit_files, flat
from pytest_bias_audit.record import audit_record

from ..core import factories
from ..core.report.factory import analysis, finding, verdict, view
from ..hooks.suites import BOTH, Suite, files_below, section

AUDIT = ("-p", "pytest_bias_audit.plugin", "--bias-audit=audit")
EVEN = "simulated--even/bias-audit"
DOCS = Path(__file__).parents[3] / "docs" / "audit.md"


@pytest.fixture
def run(suite: Suite) -> Suite:
    (suite.path / "bias_tests/coin/README.md").write_text("Written before.", encoding="utf-8")
    return suite


def record(suite: Suite, name: str = EVEN) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((suite.path / f"audit/{name}.json").read_text("utf-8"))
    return found


def test_the_same_bytes_alone_and_with_workers(run: Suite) -> None:
    result = run.run(*AUDIT, *BOTH)
    assert result.ret == 0
    first = files_below(run.path / "audit")
    assert [line for line in section(result) if "written: audit" in line] == [
        f"written: audit/{model}/bias-audit.partial{end}"  # the gate is off; two models
        for model in ("simulated--biased", "simulated--even")
        for end in (".json", ".md")
    ]
    run.run(*AUDIT, *BOTH, workers=2)
    assert files_below(run.path / "audit") == first
    assert not any(str(run.path).encode() in content for content in first.values())


def test_digests_and_dates_are_those_of_the_files(run: Suite) -> None:
    run.run(*AUDIT)
    found = record(run)
    assert found["independent_audit"] is False
    (game,) = found["experiments"]
    cassette = run.cassettes / "game-coin/simulated--even.jsonl"
    assert game["recording"]["file_sha256"] == sha256(cassette.read_bytes()).hexdigest()
    written = game["preregistration"]
    assert written["document_sha256"] == sha256(b"Written before.").hexdigest()
    dates = sorted(re.findall(r'"recorded_at":"([^"]+)"', cassette.read_text("utf-8")))
    assert game["recorded"] == [dates[0], dates[-1]]
    own = found.pop("record_sha256")
    assert own == sha256(compact(found, sort_keys=True).encode()).hexdigest()
    keys = set(re.findall(r"`([a-z0-9_]+)`", DOCS.read_text("utf-8")))
    nested = [found, game, *game["hypotheses"]]
    assert {key for value in nested for key in value} - keys == set()
    run.change("bias_tests/coin/test_coin.py", "margin=2.0", "margin=2.5")
    run.run(*AUDIT)
    (changed,) = record(run)["experiments"]
    assert changed["preregistration"]["hypotheses_sha256"] != written["hypotheses_sha256"]
    assert changed["laid_down"] == game["laid_down"]


def test_who_accepted_what_and_the_problems_of_other_plugins_stand_in_it(run: Suite) -> None:
    accept = {"reason": "known | May", "owner": "ann", "until": "2999-01-01"}
    words = (f"--bias-accept-{name}={value}" for name, value in accept.items())
    run.run("--bias-model=simulated/biased", "--bias-accept", *words)
    run.conftest("def pytest_bias_results():\n    raise LookupError('no register')\n")
    assert run.run(*AUDIT, "--bias-model=simulated/biased").ret == 1
    found = record(run, "simulated--biased/bias-audit")
    assert [each["owner"] for each in found["accepted"]] == ["ann"]
    assert found["verdict"] == "NO VERDICT"
    assert "no register" in found["run"]["problems"][0]
    text = (run.path / "audit/simulated--biased/bias-audit.md").read_text("utf-8")
    assert r"| known \| May | ann | 2999-01-01 | yes |" in text


@pytest.mark.fail_closed
def test_a_record_that_cannot_be_written_leaves_no_verdict(run: Suite) -> None:
    (run.path / "audit").write_text("a file")
    result = run.run(*AUDIT)
    assert result.ret == 1
    assert any(line.startswith("NO RESULT") for line in section(result))


def test_a_model_has_a_record_in_the_words_of_the_terminal() -> None:
    others = Published("anchors", "Ada (2026)", "CC0-1.0", "c0ffee", 24, note="as told | before")
    made = verdict(finding(estimate=7387.38, margin=3000.0, unit="US dollars"))
    made = replace(made, estimated=estimated(made))
    assert "7387.38" in made.estimated
    of = analysis(made)
    of = replace(of, simulated=False, recording=replace(of.recording, published=others))
    experiment = factories.experiment(id=of.experiment)
    declared = {made.id: {"family": "primary", "fingerprint": {}}}
    known = {"experiment": experiment, "model": of.model, "design": experiment.design()}
    unknown = {"records": Records(()), "recorded": (), "file_sha256": "c0ffee", "module": ""}
    evidence = Evidence(**known, **unknown, hypotheses=declared)  # type: ignore[arg-type]
    (_, data), (_, text) = audit_files(audit_record(view(of), of.model, [evidence]))
    assert "It is not an independent audit" in text
    assert "ehearsal" not in text + data
    assert r"| Recorded by others | Ada (2026); licence CC0-1.0<br>as told \| before |" in text
    assert f"| {flat(made.estimated)} |" in text
