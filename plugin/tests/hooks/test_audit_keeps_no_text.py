"""The linguistic audit, recorded whole and with failures, leaves no sentence of it anywhere."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from .suites import INI, Suite
from .test_retention import MARKS, RECORD, run

AUDIT = Path(__file__).parents[3] / "bias_tests" / "linguistic_audit"
ASKED, REPLIED, _ = MARKS
MODEL = "--bias-model=simulated/biased"
FILED = ("-p", "pytest_bias_audit.plugin", "--bias-audit=audit")
WHOLE = ("--bias-design=controlled", "--bias-qpm=60000", "--bias-max-calls=600")
LOGGED = ("--log-level=DEBUG", "--log-file=log.txt", "--log-file-level=DEBUG")


@pytest.fixture
def audit(empty: Suite, monkeypatch: pytest.MonkeyPatch) -> Suite:
    """A copy of the audit with a mark in every prompt and every sentence of a reply.

    It has no recordings. HOME (by pytester) and TMPDIR lie inside it.
    """
    package = empty.path / "bias_tests" / "linguistic_audit"
    shutil.copytree(AUDIT, package, ignore=shutil.ignore_patterns("__pycache__", "tests"))
    (package.parent / "__init__.py").touch()
    shutil.copy(AUDIT.with_name("charts.py"), package.parent)
    for seed in package.glob("stimuli/*/*.txt"):
        seed.write_text(f"{seed.read_text('utf-8').rstrip()} So says {ASKED}.\n", "utf-8")
    script = package / "stimuli" / "simulated_replies.json"
    banks = json.loads(script.read_text("utf-8"))
    marked = {
        name: [f"{each} {REPLIED}" for each in bank] if isinstance(bank, list) else bank
        for name, bank in banks.items()
    }
    script.write_text(json.dumps(marked), "utf-8")
    (empty.path / "pytest.ini").write_text(INI.replace("bias_report = off\n", ""), "utf-8")
    temporary = empty.path / "tmp"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    return empty


def change(suite: Suite, file: str, old: str, new: str) -> None:
    suite.change(f"bias_tests/linguistic_audit/{file}", old, new)


@pytest.mark.requirement("AUDIT-15")
def test_of_a_recording_and_a_replay_with_failures(audit: Suite) -> None:
    body = "assert outcome.values == recorded[0].values, (outcome, recorded, condition)"
    old = "        assert outcome.result is None\n"
    change(audit, "test_linguistic_audit.py", old, f"{old}        {body}\n")
    for arguments, workers in ((RECORD, None), ((), 2)):
        outcomes = run(
            audit, *LOGGED, *WHOLE, *FILED, MODEL, *arguments, workers=workers
        ).parseoutcomes()
        assert outcomes["failed"] >= 8 + 2  # the conditions, and what is planted
        assert outcomes["passed"] >= 10
        counts = [c for each in audit.results(partial=True)["analyses"] for c in each["counts"]]
        assert {c["planned"] for c in counts} == {c["ok"] for c in counts} == {58}
        record = "audit/simulated--biased/bias-audit.partial.json"
        for written in ("junit.xml", "page.html", "bias-report.partial.html", "log.txt", record):
            assert (audit.path / written).stat().st_size
