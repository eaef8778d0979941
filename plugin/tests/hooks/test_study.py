"""``pytest_bias.analyze`` and ``run``: the same as under pytest, without it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd  # type: ignore[import-untyped, unused-ignore]  # ships no types
import pytest

from pytest_bias import BiasError, analyze, run
from pytest_bias.errors import BadSetting, NotRecorded, UnknownName
from pytest_bias.report.wording import published_facts
from pytest_bias.workbench.study import Results

from .. import forked
from .suites import Suite

ROOT = Path(__file__).parents[3]
EVEN = "simulated/even"
SUBJECTS = (
    ("anchoring-prosecutor-sentencing", EVEN),
    ("anchoring-prosecutor-sentencing-all-in-one", "published/gpt-4o"),
)

Script = Callable[..., list[str]]


@pytest.fixture
def script(suite: Suite) -> Script:
    """Run Python in the folder of a suite, where pytest cannot be imported.

    It is forked, or, ``anew``, started with nothing imported.
    """
    suite.tests("import pytest\n\n", "")

    def run(text: str, *, anew: bool = False) -> list[str]:
        head = 'import sys\nsys.modules["pytest"] = None\n'
        head += "import pytest_bias\n"
        ran = suite.pytester.run(sys.executable if anew else forked.python(), "-c", head + text)
        assert ran.ret == 0, ran.stderr.str()
        return [*ran.outlines, *ran.errlines]

    return run


@pytest.fixture(scope="module")
def found() -> dict[tuple[str, str], Results]:
    with pytest.MonkeyPatch.context() as here:
        here.chdir(ROOT)
        return {(name, model): analyze(name, model) for name, model in SUBJECTS}


def facts(results: Results) -> dict[str, str]:
    recording = results.analysis.recording
    assert recording.published is not None
    return dict(published_facts(recording, recording.published))


def test_the_analyses_are_those_of_a_run_of_pytest(
    found: dict[tuple[str, str], Results], tmp_path: Path
) -> None:
    models = [f"--bias-model={model}" for _, model in SUBJECTS]
    results = tmp_path / "r.json"
    options = ["-q", "-n0", "-pno:randomly", f"--bias-results={results}", "--bias-report=off"]
    command = [forked.python(), "-m", "pytest", "bias_tests/anchoring", *models, *options]
    subprocess.run(command, cwd=ROOT, check=False, capture_output=True)  # noqa: S603  (ours)
    (written,) = tmp_path.glob("r*.json")
    for named, results_found in found.items():
        told = json.loads(results_found.to_json())["analyses"]
        assert told == [
            each
            for each in json.loads(written.read_text("ascii"))["analyses"]
            if (each["experiment"], each["model"]) == named
        ]


@pytest.mark.requirement("CV-42")
def test_frames_hold_every_trial_and_every_claim(
    found: dict[tuple[str, str], Results],
) -> None:
    even, gpt = found.values()
    assert len(even.trials) == 408
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


KNOWN = {
    "columns": {"demand": "condition"},
    "values": {"model": {"openrouter/openai/gpt-4o": "gpt-4o"}},
    "collected_by": "voder-ai",
    "served": "gpt-4o",
}


def published() -> tuple[Any, Any]:
    """The shipped table, and its rows of one subject."""
    every = pd.read_csv(ROOT / "bias_tests/anchoring/published/anchoring_replies.csv")
    return every, every[every["model"] == "openrouter/openai/gpt-4o"]


def test_a_frame_of_replies_is_analysed_as_its_recording_is(
    found: dict[tuple[str, str], Results], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(ROOT)
    for (name, _), recorded in found.items():
        recorded.trials.to_csv(tmp_path / "trials.csv", index=False)
        for replies in (recorded.trials, tmp_path / "trials.csv"):
            again = analyze(name, replies=replies)
            assert again.findings.equals(recorded.findings)
            assert again.analysis.recording.simulated == recorded.analysis.recording.simulated
    again = analyze(name, published()[1], table=KNOWN)
    assert again.findings.equals(recorded.findings)
    told = facts(again)
    assert told["Replies collected by"] == "voder-ai (not recorded by this suite)"
    assert told["Answered by"] == "gpt-4o, as the source says"
    assert (again.analysis.model, told["Table"]) == ("table/gpt-4o", "pandas frame of 60 rows")
    told = facts(analyze(name, recorded.trials))
    assert told["Replies collected by"] == "not known"
    assert told["Collected"] == "not known: the table gives no time"


WRONG: dict[str, tuple[dict[str, Any], type[BiasError]]] = {
    "did you mean 'columns'": ({"table": {"colums": {}}}, UnknownName),
    "design=documented: a table has its own design": ({"design": "documented"}, BadSetting),
    "table=5: must be a mapping": ({"table": 5}, BadSetting),
}


def test_a_frame_that_is_none_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    name, (every, rows) = "anchoring-prosecutor-sentencing-all-in-one", published()
    for said, (options, error) in WRONG.items():
        with pytest.raises(error, match=said):
            analyze(name, rows, **{"table": KNOWN, **options})
    with pytest.raises(BadSetting, match=r"several subjects .*; give those of one"):
        analyze(name, every, table={"columns": {"demand": "condition"}})
    with pytest.raises(BadSetting, match="replies=Series: is no model"):
        analyze(name, rows["model"])
    with pytest.raises(BadSetting, match="'table' states what a table holds"):
        analyze(name, "published/gpt-4o", table=KNOWN)


@pytest.mark.requirement("CV-42")
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
        "print(pytest_bias.analyze('coin', 'simulated/biased').view.suite)\n",
        anew=True,
    )
    assert "no recordings of game-coin with simulated/even" in lines[0]
    assert any("To record it" in line for line in lines)
    assert [line for line in lines if line.startswith("before")] == ["before"]
    assert [line for line in lines if line in {"PASS 60", "True", "FAIL"}] == [
        "PASS 60",
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


REFUSED: dict[str, tuple[tuple[Any, ...], dict[str, Any], str]] = {
    "experiment": (("cv-screenin", EVEN), {}, "did you mean 'cv-screening'"),
    "several": (("bias_tests/anchoring", EVEN), {}, "several experiments; name one"),
    "option": (("cv-screening", EVEN), {"accept": True}, "unknown option 'accept'; known: budget"),
    "model": (("cv-screening", "gpt-9"), {}, "no such file, and a model is written provider/mo"),
    "file": (("cv-screening", "data/replies.csv"), {}, "=data/replies.csv: there is no such file"),
}


@pytest.mark.parametrize(("given", "options", "said"), REFUSED.values(), ids=REFUSED)
def test_what_is_not_there_is_refused_by_what_there_is(
    monkeypatch: pytest.MonkeyPatch, given: tuple[Any, ...], options: dict[str, Any], said: str
) -> None:
    monkeypatch.chdir(ROOT)
    with pytest.raises(BiasError, match=said):
        analyze(*given, **options)


def test_what_is_not_recorded_says_how_to_record_it_here(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(ROOT)
    with pytest.raises(NotRecorded) as missing:
        analyze("cv-screening", "openai/gpt-9")
    assert 'To record it: pytest_bias.run(…, record="missing")' in missing.value.__notes__[0]
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(NotRecorded) as refused:
        run(
            "cv-screening",
            "openai/gpt-9",
            record="missing",
            record_in_ci=True,
            cassettes=tmp_path,
        )
    (problem,) = (note for note in refused.value.__notes__ if note.startswith("problem: "))
    assert "openai needs the environment variable OPENAI_API_KEY, which is not set" in problem
    with pytest.raises(BiasError, match="model must be text; it is None"):
        run("cv-screening", None)  # type: ignore[arg-type]
