"""``pytest-bias serve`` as a user runs it."""

from __future__ import annotations

import json
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

import httpx2
import pytest

from pytest_bias.cli.entry import main
from pytest_bias.errors import BadSetting
from pytest_bias.workbench.suite import find_experiments

REPOSITORY = Path(__file__).parents[3]


def test_it_serves_until_interrupted_as_late_as_it_is_told_and_keeps_a_log(tmp_path: Path) -> None:
    log = tmp_path / "served.jsonl"
    with subprocess.Popen(  # noqa: S603  (our own code)
        [
            sys.executable,
            "-m",
            "pytest_bias.cli.entry",
            "serve",
            "--port",
            "0",
            "--latency",
            "0.02",
            "--log",
            str(log),
        ],
        cwd=REPOSITORY,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stdout is not None
            lines = [process.stdout.readline() for _ in range(7)]
            found = re.fullmatch(
                "serving simulated subjects even, biased, drifted, and their judge, "
                r"at (http://127.0.0.1:\d+)\n",
                lines[0],
            )
            assert found is not None
            url = found.group(1)
            assert lines[1].startswith("experiments: anchoring-prosecutor-sentencing")
            assert lines[2:6] == [
                f"OpenAI SDK:    base_url {url}/v1 (chat.completions, responses)\n",
                f"Anthropic SDK: base_url {url} (messages)\n",
                f"Google SDK:    base_url {url} in HttpOptions (models.generate_content)\n",
                f"pytest-bias:   bias_simulated_url = {url}\n",
            ]
            assert "programs that stand in for models" in lines[6]
            models = httpx2.get(f"{url}/v1/models", trust_env=False).json()
            known = [model["id"] for model in models["data"]]
            assert known == ["even", "biased", "drifted", "judge"]
            httpx2.post(f"{url}/v1/responses", json={"model": "even"}, trust_env=False)
            (line,) = log.read_text(encoding="ascii").splitlines()
            process.send_signal(signal.SIGINT)
            rest, errors = process.communicate(timeout=60)
        finally:
            process.kill()
    assert (rest, errors, process.returncode) == ("", "", 130)
    entry = json.loads(line)
    assert entry["status"] == 400
    assert entry["answered_at"] - entry["at"] >= 0.02


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
        (["--port", "-1"], "must be from 0 to 65535"),
        (["--port", "x"], "invalid int value: 'x'"),
        (["--latency", "-1"], "--latency=-1.0: must be 0 seconds or more"),
        (["--latency", "nan"], "--latency=nan: must be 0 seconds or more"),
        (
            ["--port", "0", "--log", "no/such/folder/log"],
            "--log=no/such/folder/log: No such file or directory",
        ),
        (["..", "--port", "0"], "suite=..: there is no such package"),
        (["", "--port", "0"], "suite=: there is no such package"),
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


@pytest.mark.usefixtures("_here")
@pytest.mark.parametrize("suite", ["bias_tests", "bias_tests/", "bias_tests/anchoring"])
def test_experiments_are_found_once_each(suite: str) -> None:
    found = [experiment.id for experiment in find_experiments(suite)]
    assert found.count("anchoring-prosecutor-sentencing") == 1
    assert len(found) == len(set(found))


DECORATED = "from pytest_bias import hypotheses\n@hypotheses()\ndef test_it(): ...\n"


@pytest.mark.parametrize(
    ("number", "name", "text", "words"),
    [
        (1, "experiment.py", "import not_installed_anywhere\n", "cannot be imported .*not_inst"),
        (2, "experiment.py", "import sys; sys.exit(0)\n", "cannot be imported .SystemExit: 0"),
        (3, "alone/test_many.py", DECORATED, "declares cases and is in no package"),
    ],
)
def test_a_suite_that_is_not_imported_to_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, name: str, text: str, words: str
) -> None:
    package = tmp_path / f"suite_with_a_gap_{number}"
    (package / "alone").mkdir(parents=True)
    (package / "__init__.py").write_text("", encoding="ascii")
    (package / name).write_text(text, encoding="ascii")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(BadSetting, match=words):
        list(find_experiments(package.name))
