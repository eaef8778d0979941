"""Recording from pytest: in one process, only what was selected, and every paid reply is kept."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
from pathlib import Path

import pytest

from .suites import REPLICATES, Scenario, Suite, scenarios, section

DRIFTED = "--bias-model=simulated/drifted"
RECORD = f"{DRIFTED} --bias-record=missing"
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
    recording = "bias: recording (missing) into cassettes"
    result = suite.check(RECORD, 1, "3 passed, 1 failed", recording, workers=workers)
    assert recorded(suite) == TRIALS
    alone = "bias: recording uses one process; distribution over workers is off"
    assert (alone in result.outlines) == (workers is not None)


def test_of_what_is_selected(suite: Suite) -> None:
    for option in ("--co", "--setup-plan"):
        suite.check(f"{RECORD} {option}", 0)
        assert recorded(suite) == 0
    suite.check(f"{RECORD} -k 'asked and low'", 0)
    assert recorded(suite) == REPLICATES
    suite.run(DRIFTED, "-k", "asked")
    suite.check(f"{RECORD} --lf", 0, "1 passed")
    assert recorded(suite) == TRIALS
    before = cassette(suite).read_bytes()
    suite.check(RECORD, 1)
    assert cassette(suite).read_bytes() == before


def broken(suite: Suite) -> None:
    suite.file("bias_tests/test_broken.py", "import nowhere\n")


def no_folder(suite: Suite) -> None:
    shutil.rmtree(suite.cassettes)
    suite.file("cassettes/game-coin", "no folder")


OF_THE_GAME = "problem: recording game-coin"
NOTHING = {
    "error": Scenario(broken, RECORD, 2, "", "nothing was recorded: there were errors during"),
    "no key": Scenario(
        None, "--bias-model=openai/any --bias-record=missing", 1, "", "OPENAI_API_KEY, which is"
    ),
    "no folder": Scenario(
        no_folder, RECORD, 1, "", f"{OF_THE_GAME} … cassettes/game-coin: File exists"
    ),
    "below a file": Scenario(
        None, f"{RECORD} --bias-cassettes=pytest.ini/below", 1, "", OF_THE_GAME
    ),
    "elsewhere": Scenario(
        lambda suite: suite.file("../elsewhere/game-coin"),
        *(f"{RECORD} --bias-cassettes=../elsewhere", 1, "", f"{OF_THE_GAME} … ../elsewhere/game"),
    ),
}


@scenarios(NOTHING)
def test_where_nothing_can_be_recorded(suite: Suite, scenario: Scenario) -> None:
    scenario.check(suite)
    assert not cassette(suite).exists()
    assert str(suite.path) not in str(suite.results(partial=True)["problems"])


@pytest.mark.requirement("AUDIT-20")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted(suite: Suite, number: signal.Signals) -> None:
    experiment = "bias_tests/coin/experiment.py"
    os.mkfifo(suite.path / "go")
    suite.change(experiment, "import json\n", HOLDING).change(
        experiment, "    told = prompt", "    hold_back(prompt)\n    told = prompt"
    )
    with suite.held(*RECORD.split(), "--bias-concurrency=8") as (process, lines):
        process.send_signal(number)
        (suite.path / "go").write_text("on", encoding="utf-8")
    said = "".join(lines)
    assert process.returncode == pytest.ExitCode.INTERRUPTED
    assert " bias " in said
    assert "every paid reply is kept; to go on, run again with --bias-record=missing" in said
    assert "NO RESULT: " in said
    kept = recorded(suite)
    assert 0 < kept < TRIALS
    suite.change(experiment, "    hold_back(prompt)\n", "")
    result = suite.run(*RECORD.split())
    assert result.ret == 1
    assert recorded(suite) == TRIALS
    calls = [int(n) for line in result.outlines for n in re.findall(r"trials, (\d+) calls", line)]
    assert max(calls) == TRIALS - kept


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
