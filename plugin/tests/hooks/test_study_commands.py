"""``pytest-bias plan``, ``run``, ``analyze`` and ``accept`` in a suite."""

from __future__ import annotations

import json
from collections import Counter
from importlib.metadata import version
from pathlib import Path

import pytest

from .. import forked
from ..runs import command
from .suites import REPLICATES, Suite

TRIALS = 2 * REPLICATES

ROOT = Path(__file__).parents[3]


def _command(suite: Suite, *arguments: str, folder: Path | None = None) -> pytest.RunResult:
    done = command(folder or suite.path, *arguments)
    return pytest.RunResult(
        done.returncode, done.stdout.splitlines(), done.stderr.splitlines(), duration=0.0
    )


def _process(suite: Suite, *arguments: str) -> pytest.RunResult:
    return suite.pytester.run(forked.python(), "-m", "pytest_bias.cli.commands", *arguments)


WATCHING = """
    with open("t.jsonl") as lines, open("seen.txt", "a") as seen:
        print(len(lines.readlines()), file=seen)
    if cue == "low":
        return "I'm sorry, but I can't help with that."
"""
STOPPING = """
    import glob, os, signal
    if glob.glob("**/*.recording", recursive=True) and not os.path.exists("stopped"):
        open("stopped", "x").close()
        os.kill(os.getpid(), signal.SIGINT)
"""
MODEL = ("--model", "simulated/even")
FILES = ("--out", "t.jsonl", "--analysis", "a.json", "--report", "r.md")
WRITES = """\
    from tests.simulated_writer import simulated_paper
    if paper := simulated_paper(prompt):
        return paper
    told = prompt.messages[-1].text
"""


@pytest.mark.requirement("ANCHOR-18", "ANCHOR-37", "NARR-14")
def test_a_run_writes_its_files_and_its_trials_are_a_table(suite: Suite) -> None:
    suite.change("bias_tests/coin/experiment.py", "    told = prompt.messages[-1].text\n", WRITES)
    suite.change("bias_tests/coin/experiment.py", "bounds=(2, 18)", "bounds=(2, 18), integer=True")
    (suite.cassettes / "game-coin" / "simulated--even.jsonl").unlink()
    for wrong, said in (
        (("--out", "no/t.jsonl"), "there is no folder no"),
        (FILES, "simulated/even is no model that could write it; name one with --writer"),
        (("--writer", "nobody/x"), "unknown provider 'nobody'"),
    ):
        refused = _command(suite, "run", "game-coin", *MODEL, *wrong)
        assert (refused.ret, refused.outlines) == (2, [])
        assert said in refused.stderr.str()
    assert not (suite.cassettes / "game-coin" / "simulated--even.jsonl").exists()
    ran = _command(suite, "run", "game-coin", *MODEL, *FILES, "--writer", "simulated/even")
    assert (ran.ret, ran.outlines) == (1, ["written: r.md"])  # of what the paper lacks
    assert "r.md: there is no References" in ran.stderr.str()
    rows = [json.loads(line) for line in (suite.path / "t.jsonl").read_text().splitlines()]
    assert len({row["trial"] for row in rows}) == TRIALS
    assert {type(row["number"]) for row in rows} == {int}
    found = json.loads((suite.path / "a.json").read_text())
    assert "a paper by a simulated writer" in (suite.path / "r.md").read_text()
    asked = ("--table", "t.jsonl", "--json", "--methodology")
    tabled = _command(suite, "analyze", "game-coin", *asked)
    assert {"Method: Game coin", "    margin 2"} <= {*tabled.errlines}  # no source, and no why
    (analysis,) = json.loads(tabled.stdout.str())["analyses"]
    (recorded,) = found["analyses"]
    names = ("estimate", "interval", "p_alarm", "p_clear")
    for one, other in zip(analysis["verdicts"], recorded["verdicts"], strict=True):
        for name in names:  # the order of trials may change the last digit
            assert one["finding"][name] == pytest.approx(other["finding"][name], rel=1e-12)
    printed = _process(suite, "run", "coin", *MODEL, "--record=none", "--writer=simulated/even")
    out = printed.outlines
    assert {*out[: len(rows)]} == {json.dumps(row) for row in rows}
    assert (out[len(rows)], out[-1]) == ("----- begin paper -----", "----- end paper -----")
    silent = _process(suite, "run", "coin", *MODEL)
    assert (silent.ret, silent.outlines) == (0, out[: len(rows)])


@pytest.mark.requirement("ANCHOR-38")
def test_a_paper_that_is_not_written_leaves_run_and_analysis(suite: Suite) -> None:
    ran = _command(suite, "run", "coin", *MODEL, *FILES, "--writer", "simulated/even")
    assert (ran.ret, ran.outlines) == (2, [])
    assert "the paper was not written: simulated/even" in ran.stderr.str()
    assert len((suite.path / "t.jsonl").read_text().splitlines()) == TRIALS
    assert json.loads((suite.path / "a.json").read_text())["analyses"]
    assert not (suite.path / "r.md").exists()


def test_accept_writes_what_a_session_does(suite: Suite) -> None:
    model = ("--model", "simulated/biased")
    words = {"reason": "known", "owner": "ann", "until": "2999-12-31"}
    typed = [f"--{name}={word}" for name, word in words.items()]
    lacking = _command(suite, "accept", "coin", *model, *typed[1:], "--baselines=ours")
    assert (lacking.ret, (suite.path / "ours").exists()) == (2, False)
    assert "what the gate stops needs --reason: " in lacking.stderr.str()
    assert _command(suite, "accept", "coin", *model, *typed, "--baselines=ours").ret == 0
    typed = [f"--bias-accept-{name}={word}" for name, word in words.items()]
    suite.run("--bias-model=simulated/biased", "--bias-accept", *typed, "--bias-baselines=theirs")
    (theirs,) = filter(Path.is_file, (suite.path / "theirs").rglob("*"))
    ours = suite.path / "ours" / theirs.relative_to(suite.path / "theirs")
    assert ours.read_bytes() == theirs.read_bytes()


@pytest.mark.requirement("ANCHOR-16", "ANCHOR-18", "ANCHOR-19", "CV-14")
def test_runs_are_trials_of_each_condition_and_each_is_written_at_once(suite: Suite) -> None:
    """The subject refuses one condition, and looks how many lines there are when it is asked."""
    (suite.cassettes / "game-coin" / "simulated--even.jsonl").unlink()
    suite.change("bias_tests/coin/experiment.py", "    number = 10", f"{WATCHING}    number = 10")
    files = ("--out", "t.jsonl", "--runs", "3", "--concurrency", "1")
    _command(suite, "run", "game-coin", "--model", "simulated/even", *files)
    rows = [json.loads(line) for line in (suite.path / "t.jsonl").read_text().splitlines()]
    assert Counter((row["cue"], row.get("error")) for row in rows) == {
        ("high", None): 3,
        ("low", "refusal"): 3,
    }
    assert {row["number"] is None for row in rows if "error" in row} == {True}
    seen = (suite.path / "seen.txt").read_text().split()
    assert 0 < int(seen[-1]) < len(rows)


def test_interrupted_it_says_how_to_go_on(suite: Suite) -> None:
    (suite.cassettes / "game-coin" / "simulated--even.jsonl").unlink()
    suite.change("bias_tests/coin/experiment.py", "    number = 10", f"{STOPPING}    number = 10")
    stopped = _process(suite, "run", "game-coin", *MODEL)
    assert stopped.ret == 130
    said = "recording interrupted; the same command goes on with what is kept"
    assert stopped.errlines[-1] == said
    assert _process(suite, "run", "game-coin", *MODEL).ret == 0


@pytest.mark.requirement("ANCHOR-28")
def test_an_analysis_says_what_made_it(suite: Suite) -> None:
    done = _command(suite, "analyze", "game-coin", "--model", "simulated/even", "--json")
    found = json.loads(done.stdout.str())
    (analysis,) = found["analyses"]
    assert found["pytest_bias"] == version("pytest-bias")
    assert (analysis["model"], analysis["replicates"]) == ("simulated/even", REPLICATES)
    assert analysis["recording"]["config"]["subject"]["attempts"] == 3


@pytest.mark.requirement("CV-39", "CV-40", "CV-41")
def test_without_plots_the_other_files_are_written_and_nothing_is_drawn(suite: Suite) -> None:
    where = ("--model=simulated/even", f"--output={suite.path / 'o'}")
    given = ("analyze", "cv-screening", *where, "--no-plots", "--methodology")
    done = _command(suite, *given, folder=ROOT)
    assert done.ret == 0, done.stderr.str()
    assert "margin 0.25: " in done.stdout.str()
    names = {path.suffix for path in (suite.path / "o").rglob("*") if path.is_file()}
    assert ".json" in names
    assert not names & {".png", ".svg", ".html"}


@pytest.mark.requirement("CV-39")
def test_wrong_and_missing_ends_with_2_and_a_bias_with_1(suite: Suite) -> None:
    for line, status, said in (
        (
            "analyze game-coin --model simulated/drifted",
            2,
            "pytest-bias run <the same arguments> --model",
        ),
        ("analyze game-coin --model nobody", 2, "write it as provider/model"),
        ("plan game-coin --model openai/latest", 2, "without a gate (bias_gate=off in the ini"),
        ("plan game-con --model simulated/even", 2, "did you mean 'game-coin'"),
        ("analyze coin --model simulated/biased", 1, "written: figures/bias-report.html"),
        ("run coin --model simulated/even --out /dev/full", 2, "every reply is recorded"),
    ):
        done = _command(suite, *line.split())
        assert (done.ret, said in done.stderr.str()) == (status, True), line
    assert (suite.path / "figures" / "bias-report.html").exists()


def test_a_plan_of_a_whole_suite_leaves_out_what_lacks_the_design(suite: Suite) -> None:
    suite.write(name="card")
    card, count = "bias_tests/card/experiment.py", f"    replicates={REPLICATES},\n"
    suite.change(card, count, f'{count}    designs={{"small": Design(replicates=10)}},\n')
    suite.change(card, "import Experiment", "import Design, Experiment")
    (suite.cassettes / "game-card" / "simulated--even.jsonl").unlink()
    small = ("--design", "small", *MODEL)
    planned = json.loads(_command(suite, "plan", *small, "--json").stdout.str())
    assert [row["experiment"] for row in planned["rows"]] == ["game-card"]
    plan = _command(suite, "plan", "card", *small)
    plan.stdout.fnmatch_lines(["bias plan:*", "To record: pytest-bias run *--record=missing*"])
    refused = _command(suite, "plan", "coin", *small)
    assert (refused.ret, "unknown design" in refused.stderr.str()) == (2, True)


def test_a_trial_that_a_cap_keeps_from_being_recorded_has_one_line_then_and_later(
    suite: Suite,
) -> None:
    (suite.cassettes / "game-coin" / "simulated--even.jsonl").unlink()
    for cap, lost in (("5", TRIALS - 5), (str(TRIALS), 0)):
        _command(suite, "run", "coin", *MODEL, "--out", "t.jsonl", "--max-calls", cap)
        rows = [json.loads(line) for line in (suite.path / "t.jsonl").read_text().splitlines()]
        assert len(rows) == len({row["trial"] for row in rows}) == TRIALS
        assert sum(row["missing"] == "cap" for row in rows) == lost
