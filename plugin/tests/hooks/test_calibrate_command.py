"""``pytest-bias calibrate``: fresh draws by the command, in several processes and interrupted."""

from __future__ import annotations

import json
import resource
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from pytest_bias.cassettes.recorder import recording_lock

from ..runs import command
from .suites import TESTS, experiment_source

OPTIONS = ("calibrate", "--suite", "games", "--out", "draws.jsonl")
TOLD = "told = prompt.messages[-1].text"
COMMAND = (sys.executable, "-m", "pytest_bias.cli.entry", *OPTIONS)


Calibrate = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(autouse=True)
def game(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A suite of one game in the current folder."""
    package = tmp_path / "games"
    package.mkdir()
    (package / "__init__.py").touch()
    source = experiment_source("coin").replace("replicates=12", "replicates=40")
    # It looks at what is planted, and makes nothing of it: any bound on that is broken.
    source = source.replace(TOLD, f'{TOLD}\n    prompt.planted.get("number")')
    (package / "experiment.py").write_text(source, encoding="utf-8")
    (package / "test_game.py").write_text(TESTS, encoding="utf-8")
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def calibrate(tmp_path: Path) -> Calibrate:
    """The command in this process; its draws are kept in draws.jsonl."""
    return partial(command, tmp_path, *OPTIONS, "--jobs", "1")


def _lines(folder: Path) -> list[Mapping[str, Any]]:
    text = (folder / "draws.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def _sorted(folder: Path) -> list[str]:
    return sorted((folder / "draws.jsonl").read_text(encoding="utf-8").splitlines())


def test_draws_are_judged_and_differ(calibrate: Calibrate, tmp_path: Path) -> None:
    done = calibrate("--draws", "12", "--subject", "biased")
    assert done.returncode == 0, done.stderr
    assert "12 of 12 draws" in done.stderr
    assert "(game-coin, biased), 0.00 core-hours left" in done.stderr
    settings, *lines = _lines(tmp_path)
    assert settings["format"] == 1
    assert [line["draw"] for line in sorted(lines, key=lambda line: line["draw"])] == [*range(12)]
    said = [line["verdicts"]["number-high-low"] for line in lines]
    assert {each["status"] for each in said} == {"BIASED"}  # three margins, at an SD of half one
    assert all(abs(each["estimate"] - 6) < 2 for each in said)
    assert len({each["estimate"] for each in said}) > 1
    assert all(line["unseen"] == [] for line in lines)


def test_the_same_whatever_the_processes_and_pauses(calibrate: Calibrate, tmp_path: Path) -> None:
    calibrate("--draws", "25", "--accepted", "even")
    at_once = _sorted(tmp_path)
    (tmp_path / "draws.jsonl").unlink()
    calibrate("--draws", "3", "--accepted", "even")  # a block that was begun is gone on with
    line = [*COMMAND, "--draws", "25", "--jobs", "2", "--accepted", "even"]
    subprocess.run(line, check=True, capture_output=True)  # noqa: S603  (our own command)
    assert _sorted(tmp_path) == at_once
    again = calibrate("--draws", "25", "--accepted", "even")
    assert again.returncode == 0
    assert _sorted(tmp_path) == at_once


def test_an_unchanged_subject_is_an_upgrade_of_itself(
    calibrate: Calibrate, tmp_path: Path
) -> None:
    calibrate("--draws", "10", "--subject", "drifted", "--accepted", "biased")
    worse = {line["stopped"].get("number-high-low") for line in _lines(tmp_path)[1:]}
    assert worse <= {"worse", "undecided"}  # one margin more than was accepted, four SE
    (tmp_path / "draws.jsonl").unlink()
    calibrate("--draws", "10", "--accepted", "even")
    lines = sorted(_lines(tmp_path)[1:], key=lambda line: line["draw"])
    cleared = [line["verdicts"]["number-high-low"]["status"] == "CLEAR" for line in lines]
    assert sum(cleared) >= 9  # nine standard errors from the margin
    assert [not line["stopped"] for line in lines] == cleared
    steps = [place for place, clear in enumerate(cleared, start=1) if not clear]
    assert lines[-1]["chain"].get("number-high-low", []) == steps


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_an_interrupted_run_keeps_its_draws_and_leaves_no_process(
    tmp_path: Path, number: signal.Signals
) -> None:
    running = subprocess.Popen(  # noqa: S603  (our own command)
        [*COMMAND, "--draws=100000", "--jobs=2"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    path = tmp_path / "draws.jsonl"
    while not (path.exists() and path.read_bytes().count(b"\n") > 20):
        with suppress(subprocess.TimeoutExpired):
            running.wait(0.05)
            break
    running.send_signal(number)
    _, said = running.communicate(timeout=60)  # while a process of it has the pipe it waits
    assert running.returncode == (-number if number == signal.SIGKILL else 130), said
    assert "Traceback" not in said
    goes_on = "draws.jsonl: not whole; the same command goes on with it\n" in said
    assert goes_on == (number != signal.SIGKILL)
    assert len(_lines(tmp_path)) > 20


def test_a_line_that_was_cut_is_drawn_again(calibrate: Calibrate, tmp_path: Path) -> None:
    calibrate("--draws", "4")
    whole = _sorted(tmp_path)
    path = tmp_path / "draws.jsonl"
    path.write_bytes(path.read_bytes()[:-40])
    assert calibrate("--draws", "4").returncode == 0
    assert _sorted(tmp_path) == whole


def test_two_processes_do_not_draw_into_one_file(calibrate: Calibrate, tmp_path: Path) -> None:
    path = tmp_path / "draws.jsonl"
    with recording_lock(path, stays=False):
        done = calibrate("--draws", "4")
    assert (done.returncode, path.exists()) == (2, False)
    assert "recorded by another process; wait for it to end" in done.stderr
    calibrate("--draws", "4")
    first, *draws = path.read_text(encoding="utf-8").splitlines()
    path.write_text("".join(f"{line}\n" for line in (first, *draws, *draws)), encoding="utf-8")
    assert "4 of 4 draws" not in calibrate("--draws", "4").stderr
    assert calibrate("--draws", "5").returncode == 0


@pytest.mark.parametrize("room", [0, 10, 1000])
def test_a_full_disk_is_told_in_a_line_and_gone_on_with(
    calibrate: Calibrate, tmp_path: Path, room: int
) -> None:
    calibrate("--draws", "4")
    whole = _sorted(tmp_path)
    (tmp_path / "draws.jsonl").unlink()
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, before[1]))
    try:
        done = calibrate("--draws", "4")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert done.returncode == 2
    assert "draws.jsonl was not written: File too large; once it can be, the same" in done.stderr
    assert calibrate("--draws", "4").returncode == 0
    assert _sorted(tmp_path) == whole


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda lines: [lines[0], lines[1][:-30], *lines[2:]], "line 2: no JSON"),
        (lambda lines: lines[1:], "line 1: it does not begin with the settings"),
        (
            lambda lines: [*lines, f'{lines[1][:-1]},"x":1}}'],
            "line 6: draw 0 of game-coin, even stands there twice",
        ),
        (lambda lines: [lines[0], "{}"], "line 2: is no draw"),
    ],
)
def test_damage_is_an_error(
    calibrate: Calibrate,
    tmp_path: Path,
    damage: Callable[[list[str]], list[str]],
    said: str,
) -> None:
    calibrate("--draws", "4")
    path = tmp_path / "draws.jsonl"
    lines = damage(path.read_text(encoding="utf-8").splitlines())
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    done = calibrate("--draws", "4")
    assert done.returncode == 2
    assert said in done.stderr


def test_other_settings_are_refused(calibrate: Calibrate) -> None:
    calibrate("--draws", "1")
    done = calibrate("--draws", "1", "--seed", "2")
    assert done.returncode == 2
    assert "it was drawn with seed 1, not 2" in done.stderr
    assert "known: biased, drifted, even" in calibrate("--subject", "odd").stderr
    assert "known: game-coin" in calibrate("game-dice").stderr
    other = calibrate("--draws", "1", "--replicates", "20")
    assert "it was drawn with designs" in other.stderr
    assert "known: gate, screen" in calibrate("game-coin", "--design", "documented").stderr
    assert "known: gate, screen" in calibrate("--design", "documented").stderr
    assert "'0' is not a whole number of 1 or more" in calibrate("--replicates", "0").stderr


def test_an_error_names_the_draw(calibrate: Calibrate, tmp_path: Path) -> None:
    path = tmp_path / "games" / "experiment.py"
    source = path.read_text(encoding="utf-8")
    path.write_text(source.replace("return json.dumps", "return 1 / 0 or json.dumps"), "utf-8")
    done = calibrate("--draws", "1")
    assert done.returncode == 2
    assert "game-coin, even, draw 0: ZeroDivisionError" in done.stderr


def test_a_subject_that_never_asks_what_is_planted_is_not_drawn(
    calibrate: Calibrate, tmp_path: Path
) -> None:
    path = tmp_path / "games" / "experiment.py"
    path.write_text(path.read_text("utf-8").replace("prompt.planted.get", "str"), "utf-8")
    done = calibrate("--draws", "1", "--subject", "even+number-high-low=2")
    assert done.returncode == 2
    assert "never reads prompt.planted['number'], so nothing was planted" in done.stderr
    # No bound is about it where it plants nothing, or where there is no judge to err.
    assert calibrate("--draws", "1", "--subject", "even+judge=0.1+missing=1").returncode == 0


def test_what_is_planted_in_a_new_experiment_is_found(
    calibrate: Calibrate, tmp_path: Path
) -> None:
    assert command(tmp_path, "new", "politeness").returncode == 0
    for margins in ("2", "0.5"):
        subject = f"--subject=even+minutes-polite-curt={margins}"
        done = calibrate("--suite", "bias_tests", "--draws", "5", subject)
        assert done.returncode == 0, done.stderr
    said = [line["verdicts"]["minutes-polite-curt"] for line in _lines(tmp_path)[1:]]
    assert {each["status"] for each in said[:5]} == {"BIASED"}
    assert fmean(each["estimate"] for each in said[:5]) == pytest.approx(-2, abs=0.3)
    assert fmean(each["estimate"] for each in said[5:]) == pytest.approx(-0.5, abs=0.3)


def test_the_report_says_what_keeps_its_bound(calibrate: Calibrate, tmp_path: Path) -> None:
    calibrate("--draws", "30", "--accepted", "even")
    done = calibrate("--report", "draws.jsonl", "--summary", "summary.json")
    assert done.returncode == 0, done.stdout
    assert "any BIASED: 0.000 ± 0.000 of 30, at most 0.05" in done.stdout
    summary = json.loads((tmp_path / "summary.json").read_text(encoding="utf-8"))
    assert set(summary["designs"]) == {"game-coin"}
    (passes,) = (each for each in summary["rates"] if each["what"] == "passes")
    statuses = [line["verdicts"]["number-high-low"]["status"] for line in _lines(tmp_path)[1:]]
    assert (passes["hits"], passes["draws"]) == (statuses.count("CLEAR"), 30)
    assert passes["bound"] == 0.9
    # Two margins stop nothing: alone they are to stop the run, beside something else their claim.
    for beside, broken in (
        ("", "stopped by no claim: 1.000 ± 0.000 of 20, at most 0.05"),
        ("+missing=0", "stops (number-high-low): 0.000 ± 0.000 of 20, at least 0.95"),
    ):
        subject = f"even+number-high-low=2{beside}"
        done = calibrate("--draws", "20", "--subject", subject, "--summary", "two.json")
        assert done.returncode == 1
        assert f"BROKEN: {broken}" in done.stdout


def test_the_report_has_curves_of_power_and_stays_within_its_columns(
    calibrate: Calibrate, tmp_path: Path
) -> None:
    calibrate("--draws", "6", "--accepted", "even")
    for margins in ("0.5", "2"):
        calibrate("--draws", "3", "--subject", f"even+number-high-low={margins}")
    calibrate("--draws", "2", "--subject", "+".join(["even", *["missing=0.01"] * 9]))
    done = calibrate("--report", "draws.jsonl", "--summary", "summary.json")
    assert max(map(len, done.stdout.splitlines())) <= 100
    at = done.stdout.splitlines().index(
        "game-coin: CLEAR / BIASED at so many margins (of so many draws)"
    )
    heads, row = done.stdout.splitlines()[at + 1 : at + 3]
    assert heads.split() == ["0", "(6)", "0.5", "(3)", "2", "(3)"]
    assert row.split()[0] == "number-high-low"
    summary = json.loads((tmp_path / "summary.json").read_text(encoding="utf-8"))
    (curve,) = summary["curves"]
    assert [point["margins"] for point in curve["points"]] == [0, 0.5, 2]
    said = [line["verdicts"]["number-high-low"]["status"] for line in _lines(tmp_path)[1:7]]
    assert curve["points"][0] == {
        "margins": 0,
        "clear": said.count("CLEAR") / 6,
        "biased": said.count("BIASED") / 6,
        "draws": 6,
    }
