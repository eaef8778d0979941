"""The whole command line: what each command says, what it refuses, and its end as a process.

What else they do is tested where it is done: recordings and papers in ``hooks/``, servers in
``wire/``.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from pytest_bias.cli import write
from pytest_bias.cli.commands import command_line, commands_of

from ..runs import command

ENTRY = "pytest_bias.cli.commands"
ANCHORING = "anchoring-prosecutor-sentencing"
EVEN = f"cassettes/{ANCHORING}/simulated--even.jsonl"
ACCEPTED = "accepted/simulated--even.json"
HEAVY = ("numpy", "scipy", "pandas", "pydantic", "pytest", "rich", "jinja2")
LOADED = f"""
import json, sys
from {ENTRY} import main
try:
    main(sys.argv[1:])
except SystemExit as ended:
    assert not ended.code, ended.code
print(json.dumps([*sys.modules]))
"""


@pytest.mark.parametrize("arguments", ["--version", "--help", "run --help"])
def test_version_and_help_load_nothing_heavy(arguments: str) -> None:
    line = [sys.executable, "-c", LOADED, *arguments.split()]
    done = subprocess.run(line, capture_output=True, text=True, check=True)  # noqa: S603
    loaded = json.loads(done.stdout.splitlines()[-1])
    assert not {*HEAVY} & {*loaded}
    assert "pytest_bias.cli.commands" in loaded


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with one experiment, results of it and a baseline."""
    folder = tmp_path_factory.mktemp("project")
    for line, said in (
        ("init anchoring", "next: pytest"),
        (f"analyze {ANCHORING} --no-plots --output out", "PASS: "),
        ("accept --baselines accepted", "accepted: 4 verdicts of simulated/even"),
    ):
        done = command(folder, *line.split())
        assert (done.returncode, said in done.stdout) == (0, True), done
    (folder / "none.toml").touch()
    return folder


GOOD = {
    "list --json": '"id": "anchoring-prosecutor-sentencing"',
    f"list {ANCHORING} --trial high": "prompts of trial high#1",
    f"analyze {ANCHORING} --no-plots": "PASS: ",
    "plan anchoring --json": '"missing_trials": 0',
    f"paper out/bias-results.json --experiment {ANCHORING} --prompt": "Write a short paper",
    f"compare {ACCEPTED} {ACCEPTED} --json": '"problems": []',
    "cassettes verify": "lines, undamaged",
    "cassettes join cassettes --into joined --json": '"parts": 1',
    "cassettes convert cassettes": "is in the current format",
}


@pytest.mark.parametrize(("line", "said"), GOOD.items())
def test_what_is_asked_for_is_printed(line: str, said: str, project: Path) -> None:
    done = command(project, *line.split())
    assert done.returncode == 0, done.stderr
    assert said in done.stdout
    if "--json" in line:
        json.loads(done.stdout)


WRONG = {
    "": "required: COMMAND",
    "lst": "invalid choice: 'lst'",
    "init anchorig": "did you mean 'anchoring'?",
    "init --into none.toml/x": "none.toml",
    "new anchoring": "bias_tests/anchoring is there and is kept",
    "list --suite no_such": "suite=no_such: ",
    f"list --suite {'x' * 300}": "too long",
    "list --suite=": "suite=: there is no such package below the current folder",
    "list x --suite ../x/bias_tests": "suite=../x/bias_tests: there is no such package",
    f"list {ANCHORING} --trial hih": f"unknown trial of {ANCHORING} 'hih'",
    "list --suite pytest_bias.errors": "it declares no hypothesis; pytest-bias init",
    "list anchorig": "unknown experiment 'anchorig'; known: anchoring-pro",
    "list anchoring --trial high": f"--trial=high: name one experiment that has it: {ANCHORING}, ",
    "plan --model nobody/x": "unknown provider 'nobody'",
    "plan --design huge": "unknown design",
    f"run {ANCHORING} --budget cheap": "--budget=cheap: must be a number",
    f"run {ANCHORING} --budget=": "--budget=: says nothing; leave the option out",
    "run anchoring": f"name one experiment and one model: {ANCHORING} × simulated/even, ",
    f"run {ANCHORING} --out none.toml/x": "there is no folder none.toml",
    f"run {ANCHORING} --out {EVEN}": "is in the folder of the recordings",
    f"run {ANCHORING} --report a --no-report": "not allowed with argument",
    f"analyze {ANCHORING} --model openai/gpt-5.1": "there is no cassette",
    f"analyze {ANCHORING} --runs 999": "pytest-bias run <the same arguments> --model ",
    f"analyze {ANCHORING} --table no.csv": "no.csv",
    f"import none.toml --experiment {ANCHORING}": "holds no results of promptfoo, Inspect, ",
    f"import no.json --experiment {ANCHORING}": "no.json: is no file",
    "import no.json --experiment anchoring": "--experiment=anchoring: declares several exper",
    "accept --model simulated/drifted": "pytest <the same arguments> --bias-model simulated/dr",
    "accept --until 1999-01-01": "--until=1999-01-01: is before today",
    "paper no.json --prompt": "RESULTS=no.json: cannot be read",
    "compare simulated/even x.json": "OLD=simulated/even: is no baseline file",
    "cassettes": "required: COMMAND",
    "cassettes verify no": "no",
    "cassettes convert no": "no",
    "cassettes join cassettes": "required: --into",
}


@pytest.mark.parametrize(("line", "said"), WRONG.items())
def test_what_cannot_be_done_ends_with_2_and_prints_nothing_else(
    line: str, said: str, project: Path
) -> None:
    done = command(project, *line.split())
    assert (done.returncode, done.stdout) == (2, ""), done.stderr
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_what_is_not_read_to_its_end_is_no_success(project: Path) -> None:
    line = [sys.executable, "-m", ENTRY, "list"]
    with subprocess.Popen(line, cwd=project, stdout=subprocess.PIPE) as going:  # noqa: S603
        assert going.stdout is not None
        going.stdout.close()
    assert going.returncode == 141


def test_an_output_that_cannot_be_written_is_an_error_of_its_own(project: Path) -> None:
    with open("/dev/full", "w") as full:  # noqa: PTH123  (a device)
        line = [sys.executable, "-m", ENTRY, "list"]
        done = subprocess.run(line, cwd=project, stdout=full, stderr=subprocess.PIPE, check=False)  # noqa: S603
    assert (done.returncode, b"standard output" in done.stderr) == (2, True)


def test_a_pipe_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    end = os.open(pipe, os.O_RDWR)
    write(pipe, "told")
    assert (os.read(end, 9), pipe.is_fifo()) == (b"told", True)
    os.close(end)


def test_every_command_has_its_error_paths() -> None:
    names = {each.prog.removeprefix("pytest-bias ") for each in commands_of(command_line())}
    tried = {name for name in names if any(f"{line} ".startswith(f"{name} ") for line in WRONG)}
    assert names == tried
