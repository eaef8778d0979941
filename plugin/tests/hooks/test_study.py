"""``pytest_bias.analyze`` and ``run``: the same as under pytest, without it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from pytest_bias import Results, analyze
from pytest_bias.errors import NoCassette, NotRecorded, UnknownName

from .suites import Suite

ROOT = Path(__file__).parents[3]
SUBJECTS = (
    ("anchoring-prosecutor-sentencing", "simulated/even"),
    ("anchoring-prosecutor-sentencing-all-in-one", "published/gpt-4o"),
)

Script = Callable[[str], list[str]]


@pytest.fixture
def script(suite: Suite) -> Script:
    """Run Python in the folder of a suite, where pytest cannot be imported."""
    suite.tests("import pytest\n\n", "")

    def run(text: str) -> list[str]:
        head = 'import sys\nsys.modules["pytest"] = sys.modules["_pytest"] = None\n'
        head += "import pytest_bias\n"
        ran = suite.pytester.run(sys.executable, "-c", head + text)
        assert ran.ret == 0, ran.stderr.str()
        return [*ran.outlines, *ran.errlines]

    return run


@pytest.fixture(scope="module")
def found() -> dict[tuple[str, str], Results]:
    with pytest.MonkeyPatch.context() as here:
        here.chdir(ROOT)
        return {(name, model): analyze(name, model) for name, model in SUBJECTS}


def test_the_analyses_are_those_of_a_run_of_pytest(
    found: dict[tuple[str, str], Results], tmp_path: Path
) -> None:
    models = [f"--bias-model={model}" for _, model in SUBJECTS]
    results = tmp_path / "r.json"
    options = ["-q", "-n0", "-pno:randomly", f"--bias-results={results}", "--bias-report=off"]
    command = [sys.executable, "-m", "pytest", "bias_tests/anchoring", *models, *options]
    subprocess.run(command, cwd=ROOT, check=False, capture_output=True)  # noqa: S603  (ours)
    (written,) = tmp_path.glob("r*.json")
    for named, results_found in found.items():
        told = json.loads(results_found.to_json())["analyses"]
        assert told == [
            each
            for each in json.loads(written.read_text("ascii"))["analyses"]
            if (each["experiment"], each["model"]) == named
        ]


def test_frames_hold_every_trial_and_every_claim(
    found: dict[tuple[str, str], Results],
) -> None:
    even, gpt = found.values()
    assert len(even.trials) == 360
    shown = even.findings.loc["sentence_months-high-low"]
    assert (shown["status"], shown["kind"]) == ("CLEAR", "hypothesis")
    rows = even.trials
    months = rows[rows["demand"].isin(["high", "low"])].groupby("demand")["sentence_months"].mean()
    assert months["high"] - months["low"] == pytest.approx(shown["estimate"])
    assert set(even.findings.query("kind == 'control'")["status"]) == {"seen"}
    assert len(gpt.trials) == 60
    assert gpt.trials["interactions"].isna().all()
    assert [v.status for v in gpt.verdicts if v.id == "sentence_months-high-low"] == ["BIASED"]
    assert (gpt.view.suite, gpt.view.exit_status) == ("FAIL", 1)


def test_it_works_without_pytest_and_calls_nothing_unless_told_to(
    script: Script, suite: Suite
) -> None:
    (suite.cassettes / "game-coin" / "simulated--even.jsonl").unlink()
    lines = script(
        "try:\n"
        "    pytest_bias.run('coin', 'simulated/even')\n"
        "except pytest_bias.BiasError as missing:\n"
        "    print(missing, *missing.__notes__)\n"
        "print('before', *__import__('pathlib').Path('cassettes/game-coin').glob('*even.jsonl'))\n"
        "found = pytest_bias.run('game-coin', 'simulated/even', record='missing', budget=0)\n"
        "print(found.view.suite, len(found.trials))\n"
        "again = pytest_bias.analyze('bias_tests/coin', 'simulated/even')\n"
        "print(again.analysis == found.analysis)\n"
        "path = 'cassettes/game-coin/simulated--biased.jsonl'\n"
        "print(pytest_bias.analyze('coin', path).view.suite)\n"
    )
    assert "no recordings of game-coin with simulated/even" in lines[0]
    assert any("To record it" in line for line in lines)
    assert [line for line in lines if line.startswith("before")] == ["before"]
    assert [line for line in lines if line in {"PASS 24", "True", "FAIL"}] == [
        "PASS 24",
        "True",
        "FAIL",
    ]


def test_it_records_beside_an_event_loop_and_takes_what_a_notebook_declares(
    script: Script,
) -> None:
    lines = script(
        "import asyncio\n"
        "from bias_tests.coin.experiment import GAME\n"
        "from pytest_bias import MeanDifference, hypotheses\n"
        "async def cell():\n"
        "    for margin in (3.0, 2.0):\n"  # a cell that is run again
        "        number = MeanDifference(\n"
        "            'number', 'cue', high='high', low='low', margin=margin, claim='detect')\n"
        "        @hypotheses(GAME, number)\n"
        "        def test_number():\n"
        "            pass\n"
        "    return pytest_bias.run(GAME, 'simulated/drifted', record='missing')\n"
        "found = asyncio.run(cell())\n"
        "print(found.verdicts[0].finding.margin, found.verdicts[0].status)\n"
    )
    assert "2.0 BIASED" in lines


def test_what_is_declared_beside_an_experiment_is_found(script: Script) -> None:
    lines = script(
        "from bias_tests.coin.experiment import GAME\n"
        "print(pytest_bias.analyze(GAME, 'simulated/even').view.suite)\n"
    )
    assert lines == ["PASS"]


def test_wrong_names_are_refused_by_what_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    with pytest.raises(UnknownName, match="did you mean 'cv-screening'"):
        analyze("cv-screenin", "simulated/even")
    with pytest.raises(UnknownName, match="unknown option"):
        analyze("cv-screening", "simulated/even", accept=True)  # type: ignore[call-arg]
    with pytest.raises(NotRecorded) as missing:
        analyze("cv-screening", "openai/gpt-9")
    assert any("To record it" in note for note in missing.value.__notes__)
    with pytest.raises(NoCassette):
        analyze("cv-screening", Path("cassettes/nothing--here.jsonl"))
