"""``pytest-bias serve`` as a user runs it."""

from __future__ import annotations

import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

import httpx2
import pytest

from pytest_bias.cli import find_experiments, main
from pytest_bias.errors import BadSetting

REPOSITORY = Path(__file__).parents[3]
SERVE = [sys.executable, "-m", "pytest_bias.cli", "serve"]


def test_it_serves_until_interrupted() -> None:
    with subprocess.Popen(  # noqa: S603  (our own code)
        [*SERVE, "--port", "0"],
        cwd=REPOSITORY,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stdout is not None
            lines = [process.stdout.readline() for _ in range(3)]
            found = re.fullmatch(
                r"serving simulated subjects even, biased, drifted at (http://127.0.0.1:\d+/v1)\n",
                lines[0],
            )
            assert found is not None
            assert lines[1] == "experiments: anchoring-prosecutor-sentencing\n"
            assert "programs that stand in for models" in lines[2]
            models = httpx2.get(f"{found.group(1)}/models", trust_env=False).json()
            assert [model["id"] for model in models["data"]] == ["even", "biased", "drifted"]
            process.send_signal(signal.SIGINT)
            rest, errors = process.communicate(timeout=60)
        finally:
            process.kill()
    assert (rest, errors, process.returncode) == ("", "", 130)


@pytest.fixture
def _here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(REPOSITORY)


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    with pytest.raises(SystemExit) as caught:
        main(["serve", *arguments])
    assert caught.value.code == 2
    out, err = capsys.readouterr()
    assert out == ""
    return err


@pytest.mark.usefixtures("_here")
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--port", "70000"], "pytest-bias: --port=70000: must be from 0 to 65535"),
        (["--port", "-1"], "must be from 0 to 65535"),
        (["--port", "x"], "invalid int value: 'x'"),
        (["no_such_suite"], "suite=no_such_suite: cannot be imported (No module named"),
        (["..", "--port", "0"], "suite=..: cannot be imported"),
        (["", "--port", "0"], "suite=: cannot be imported"),
        (["json"], "suite=json: no experiment in it says how simulated subjects answer"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_usage_errors(capsys: pytest.CaptureFixture[str], arguments: list[str], said: str) -> None:
    assert said in refused(capsys, *arguments)


@pytest.mark.usefixtures("_here")
def test_a_port_in_use(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        error = refused(capsys, "--port", str(port))
    assert f"pytest-bias: --port={port}: Address already in use" in error


def test_no_command(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main([])
    assert "required" in capsys.readouterr().err


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        main(["--version"])
    assert re.fullmatch(r"\d+\.\d+\.\d+\S*\n", capsys.readouterr().out)


@pytest.mark.usefixtures("_here")
@pytest.mark.parametrize("suite", ["bias_tests", "bias_tests/", "bias_tests/anchoring"])
def test_experiments_are_found_once_each(suite: str) -> None:
    found = [experiment.id for experiment in find_experiments(suite)]
    assert found == ["anchoring-prosecutor-sentencing"]


def test_a_suite_that_does_not_import(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "suite_with_a_gap"
    package.mkdir()
    (package / "__init__.py").write_text("", encoding="ascii")
    (package / "experiment.py").write_text("import not_installed_anywhere\n", encoding="ascii")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(BadSetting, match=r"cannot be imported .*not_installed_anywhere"):
        list(find_experiments("suite_with_a_gap"))
