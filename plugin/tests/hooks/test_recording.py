"""Recording from pytest: in one process, only what was selected, and every paid reply is kept."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
from pathlib import Path

import pytest

from .suites import REPLICATES, Suite, section

RECORD = ("--bias-model=simulated/drifted", "--bias-record=missing")
TRIALS = 2 * REPLICATES


HOLDING = """\
import json
import sys
import threading

HELD = threading.Lock()
CALLS = []
FREE = []


def hold_back(prompt):
    \"\"\"Answer the first two calls; hold all others back until somebody writes into "go".\"\"\"
    if prompt.subject == "even":
        return  # checked or rehearsed in memory
    CALLS.append(1)
    if len(CALLS) > 2:
        with HELD:
            if not FREE:
                print("held back", flush=True, file=sys.__stdout__)
                with open("go") as go:
                    FREE.append(go.read())

"""


def cassette(suite: Suite) -> Path:
    return suite.cassettes / "game-coin" / "simulated--drifted.jsonl"


def recorded(suite: Suite) -> int:
    """Number of replies that are kept, in the cassette or in its journal."""
    files = [cassette(suite), cassette(suite).with_name(cassette(suite).name + ".recording")]
    return sum(
        line.startswith(b'{"key"')
        for file in files
        if file.exists()
        for line in file.read_bytes().splitlines()
    )


@pytest.mark.parametrize("workers", [None, 1])
def test_in_one_process(suite: Suite, workers: int | None) -> None:
    result = suite.run(*RECORD, workers=workers)
    assert result.ret == 1
    result.assert_outcomes(passed=3, failed=1)
    assert recorded(suite) == TRIALS
    assert "bias: recording (missing) into cassettes" in result.outlines
    alone = "bias: recording uses one process; distribution over workers is off"
    assert (alone in result.outlines) == (workers is not None)
    assert "FAIL: 1 hypothesis, 1 BIASED" in section(result)


def test_of_what_is_selected(suite: Suite) -> None:
    for option in ("--co", "--setup-plan"):
        assert suite.run(*RECORD, option).ret == 0
        assert recorded(suite) == 0
    result = suite.run(*RECORD, "-k", "asked and low")
    assert result.ret == 0
    assert recorded(suite) == REPLICATES
    suite.run("--bias-model=simulated/drifted", "-k", "asked")
    result = suite.run(*RECORD, "--lf")
    result.assert_outcomes(passed=1)
    assert recorded(suite) == TRIALS
    before = cassette(suite).read_bytes()
    assert suite.run(*RECORD).ret == 1
    assert cassette(suite).read_bytes() == before


def test_nothing_is_paid_after_a_collection_error(suite: Suite) -> None:
    (suite.path / "bias_tests" / "test_broken.py").write_text("import nowhere\n", encoding="utf-8")
    result = suite.run(*RECORD)
    assert result.ret == pytest.ExitCode.INTERRUPTED
    assert recorded(suite) == 0
    assert "nothing was recorded: there were errors during collection" in section(result)


def test_provider_that_cannot_be_opened(suite: Suite) -> None:
    result = suite.run("--bias-model=openai/any", "--bias-record=missing")
    assert result.ret == 1
    assert [line for line in section(result) if "OPENAI_API_KEY, which is not set" in line]


def test_folder_that_cannot_be_written(suite: Suite) -> None:
    result = suite.run(*RECORD, "--bias-cassettes=pytest.ini/below")
    assert result.ret == 1
    assert [line for line in section(result) if line.startswith("problem: recording game-coin")]


@pytest.mark.parametrize("place", ["cassettes", "../elsewhere"])
def test_problems_name_no_place_of_this_machine(suite: Suite, place: str) -> None:
    folder = suite.path / place / "game-coin"
    folder.parent.mkdir(exist_ok=True)
    if folder.is_dir():
        shutil.rmtree(folder)
    folder.write_text("no folder", encoding="utf-8")
    result = suite.run(*RECORD, f"--bias-cassettes={place}")
    assert result.ret == 1
    (problem,) = suite.results(partial=True)["problems"]
    assert f" {place}/game-coin: File exists" in problem
    assert str(suite.path) not in suite.results_path(partial=True).read_text(encoding="utf-8")


@pytest.mark.requirement("AUDIT-20")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted(suite: Suite, number: signal.Signals) -> None:
    experiment = "bias_tests/coin/experiment.py"
    os.mkfifo(suite.path / "go")
    suite.change(experiment, "import json\n", HOLDING).change(
        experiment, "    told = prompt", "    hold_back(prompt)\n    told = prompt"
    )
    with suite.held(*RECORD, "--bias-concurrency=8") as (process, lines):
        process.send_signal(number)
        (suite.path / "go").write_text("on", encoding="utf-8")
    said = "".join(lines)
    assert process.returncode == pytest.ExitCode.INTERRUPTED
    assert " bias " in said
    assert "every paid reply is kept; to go on, run again with --bias-record=missing" in said
    assert "NO VERDICT: " in said
    kept = recorded(suite)
    assert 0 < kept < TRIALS
    suite.change(experiment, "    hold_back(prompt)\n", "")
    result = suite.run(*RECORD)
    assert result.ret == 1
    assert recorded(suite) == TRIALS
    calls = [int(n) for line in result.outlines for n in re.findall(r"trials, (\d+) calls", line)]
    assert max(calls) == TRIALS - kept


def test_a_link_that_leads_nowhere_is_planned_replayed_and_recorded_by_nobody(
    suite: Suite,
) -> None:
    path = cassette(suite)
    target = "../../.git/annex/objects/aa/bb/KEY/KEY"
    path.symlink_to(target)
    words = f"*{path.name}: it is a link to {target}, where nothing is. git annex get *"
    planned = suite.run("--bias-model=simulated/drifted", "--bias-plan")
    planned.stdout.fnmatch_lines([words])
    assert planned.ret != 0
    recorded = suite.run(*RECORD)
    assert recorded.ret != 0
    recorded.stdout.fnmatch_lines([f"*recording game-coin with simulated/drifted: {words}"])
    replayed = suite.run("--bias-model=simulated/drifted")
    assert replayed.ret != 0
    replayed.stdout.fnmatch_lines([f"NotReadable: {words}"])
    assert "Traceback" not in replayed.stdout.str()
    assert str(path.readlink()) == target
    assert {each.name for each in path.parent.glob(f"{path.name}*")} <= {
        path.name,
        f"{path.name}.lock",
    }


def test_what_is_lost_of_a_damaged_cassette_is_said_and_only_that_is_recorded(
    suite: Suite,
) -> None:
    suite.run(*RECORD)
    path = cassette(suite)
    *lines, last = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines, last.replace(b"reply", b"repyl")]))
    offline = suite.run("--bias-model=simulated/drifted")
    where = f"{path.name}, line {len(lines) + 1}: "
    offline.stdout.fnmatch_lines(
        [f"DamagedCassette: *{where}*--bias-record=missing skips damaged lines *"]
    )
    again = suite.run(*RECORD)
    again.stdout.fnmatch_lines(
        [f"recording game-coin with simulated/drifted: {where}damaged; the * other replies *"]
    )
    assert recorded(suite) == TRIALS
    assert len(list(path.parent.glob("*.damaged-*"))) == 1


def test_beside_long_replies_stands_how_many_differ(suite: Suite) -> None:
    suite.change("bias_tests/coin/experiment.py", '"cue": cue}', '"cue": cue + " again" * 30}')
    result = suite.run(*RECORD)
    lines = [json.loads(line) for line in cassette(suite).read_text("utf-8").splitlines()]
    said = {line["reply"]["text"] for line in lines if "reply" in line}
    assert 1 < len(said) < TRIALS
    assert f"  game-coin: {len(said)} of {TRIALS} long replies distinct" in section(result)


def test_replies_in_a_fence_count_where_the_roster_has_them_read_leniently(suite: Suite) -> None:
    suite.change("bias_tests/coin/experiment.py", "return json.dumps(", "said = json.dumps(")
    suite.change(
        "bias_tests/coin/experiment.py",
        "\n\nGAME =",
        '\n    return said if cue == "low" else f"```json\\n{said}\\n```"\n\n\nGAME =',
    )
    result = suite.run(*RECORD)
    assert [line for line in section(result) if line.split()[:2] == ["game-coin", "30/60"]]
    before = cassette(suite).read_bytes()
    suite.file("bias_models.toml", '[models."simulated/drifted"]\nreplies = "lenient"\n')
    result = suite.run("--bias-model=simulated/drifted")
    assert f"  game-coin: {REPLICATES} trials with replies in a code fence" in section(result)
    (analysis,) = suite.results()["analyses"]
    counted = {
        c["condition"]: c["counts"]
        for c in analysis["categories"]
        if c["measure"] == "format_kept"
    }
    assert counted == {"low": {"yes": REPLICATES}, "high": {"no": REPLICATES}}
    assert "replies taken out of a code fence" in analysis["recording"]["asked"]
    assert cassette(suite).read_bytes() == before


FEW = 10
PRICED = '[models."simulated/even"]\nprice = { input = 100.0, output = 100.0 }\n'


@pytest.mark.parametrize("asked", [f"--bias-replicates={FEW}", "--bias-design=few"])
def test_what_is_open_names_the_command_that_decides_it(suite: Suite, asked: str) -> None:
    few = f'designs={{"few": Design({FEW})}}, replicates='
    suite.change("bias_tests/coin/experiment.py", "replicates=", few)
    suite.change("bias_tests/coin/experiment.py", "import Experiment", "import Design, Experiment")
    suite.file("bias_models.toml", PRICED)
    record = ("--bias-record=missing", "--bias-cassettes=mine")
    result = suite.run(asked, *record, "-v")
    assert result.ret == 1
    step = re.search(
        r"  (about (\d+) replicates decide an effect like this one, about (\d+) more calls, "
        r"about \$(\S+): pytest (.*))",
        result.stdout.str(),
    )
    assert step is not None
    whole, replicates, calls, dollars, command = step.groups()
    design = f"{asked} " * ("design" in asked)
    assert command == (
        f"bias_tests/coin/test_coin.py --bias-model=simulated/even {design}"
        f"--bias-cassettes=mine --bias-replicates={replicates} --bias-record=missing"
    )
    assert int(calls) == 2 * (int(replicates) - FEW)
    assert any(line.endswith(f", {whole}") for line in section(result))
    typed = shlex.split(command)
    assert f"≈ ${dollars}" in suite.run(*typed, "--bias-plan").stdout.str()
    assert suite.run(*typed).ret == 0
