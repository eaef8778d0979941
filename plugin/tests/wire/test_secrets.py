"""No key is ever told, nor one of a file exported: whatever goes wrong, nothing holds one."""

from __future__ import annotations

import html
import json
import os
import re
from base64 import b64encode, urlsafe_b64encode
from pathlib import Path
from typing import Any
from urllib.parse import quote, quote_plus

import pytest

from pytest_bias.cassettes.store import Cassette, cassette_path
from pytest_bias.errors import BadSetting
from pytest_bias.experiments.simulated import SimulatedPrompt
from pytest_bias.recording.caller import Retries
from pytest_bias.settings.given import read_environment

from ..core.report.reading import inflated
from ..helpers import Asked, answering, saying
from ..hooks.suites import TESTS, experiment_source
from ..runs import run_here
from ..support.server import Fault, Served, serving

SECRETS = {
    "OPENAI_API_KEY": "sk-proj-Pl4ntedOpenai/q7+Zx9=wvT",
    "ANTHROPIC_API_KEY": "sk-ant-Pl4ntedAnthropic_8Kd/2+bN=Rf",
    "GEMINI_API_KEY": "AIzaPl4ntedGemini-5Gh/7+jM=Yc",
    "GATEWAY_KEY": "gw-Pl4ntedGateway/3Fs+6=Lp",
    "NEVER_USED": "Pl4ntedInTheFile/1Vb+9=Qe",
    "password": "Pl4nted&Pass:w/rd",
}
PLANTED = "Pl4nted"
"""Stands in every secret, so that a part of one is found as well."""

IN_THE_FILE = ("GATEWAY_KEY", "NEVER_USED", "ANTHROPIC_API_KEY")
ENV_FILE = "keys.env"

TROUBLES: dict[str, Fault] = {
    "biased": "malformed",
    "unknown": "unauthorised",
    "dropping": "drop",
    "holding": "timeout",
    "failing": "server_error",
    "empty": "quota",
    "fussy": "refused_parameter",
}
"""Model → what every call of it meets. Half a reply is had only where there is a whole one."""
INI = """\
[pytest]
addopts = -ra
testpaths = bias_tests
filterwarnings = error
bias_models = {models}
bias_timeout = {timeout}
bias_gate = off
"""
EVERYTHING = (
    *("-p", "pytest-bias", "-p", "pytest_metadata.plugin", "-p", "pytest_html.plugin"),
    *("-vv", "-l", "--tb=long", "-rA", "--showlocals", "--capture=no"),
    *("--junitxml=junit.xml", "--html=rows.html", "--self-contained-html"),
    *("--log-file=log.txt", "--log-file-level=DEBUG", "--log-cli-level=DEBUG"),
    *("-o", "log_cli=true", "-o", "junit_logging=all"),
    *("--bias-record=missing", "--bias-replicates=1", f"--bias-env-file={ENV_FILE}"),
)


def forms(secret: str) -> set[bytes]:
    """``secret`` as it stands, and in every spelling in which it may have been written."""
    texts = {secret, quote(secret, safe=""), quote(secret), quote_plus(secret)}
    texts |= {html.escape(secret), json.dumps(secret)[1:-1], secret.replace("/", "\\/")}
    texts |= {repr(secret)[1:-1], secret.upper(), secret.lower()}
    texts |= {secret.encode().hex(), secret.encode().hex().upper(), quote(secret).lower()}
    found = {text.encode() for text in texts}
    for shift in range(3):
        # In the middle of a longer text the same letters come out in one of three ways.
        for encode in (b64encode, urlsafe_b64encode):
            found.add(encode(b"\0" * shift + secret.encode())[4:-4])
    return found


def leaks(data: bytes) -> list[str]:
    """Names of the secrets that ``data`` holds, in whatever spelling."""
    found = [n for n, secret in SECRETS.items() if any(f in data for f in forms(secret))]
    return found or (["a part of one"] if PLANTED.encode() in data else [])


def test_the_search_finds_what_it_looks_for() -> None:
    secret = SECRETS["OPENAI_API_KEY"]
    for name, planted in SECRETS.items():
        assert PLANTED in planted
        spelled = [planted, quote(planted, safe=""), json.dumps({"a": planted})]
        spelled += [b64encode(f"{'u' * n}:{planted}:tail".encode()).decode() for n in range(6)]
        assert [leaks(each.encode()) for each in spelled] == [[name]] * len(spelled)
    assert leaks(f"{secret[:20]} …".encode()) == ["a part of one"]
    assert leaks(b"nothing of the kind") == []


@pytest.fixture
def folder(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A suite of one experiment, away from this run's environment, with a home of its own."""
    for name in ("CI", "BUILD_NUMBER", "PYTEST_ADDOPTS", "GOOGLE_API_KEY", "OPENAI_ORG_ID"):
        monkeypatch.delenv(name, raising=False)
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    for name, variable in (("home", "HOME"), ("scratch", "TMPDIR")):
        (pytester.path / name).mkdir()
        monkeypatch.setenv(variable, str(pytester.path / name))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    for name, secret in SECRETS.items():
        if name in IN_THE_FILE:
            monkeypatch.delenv(name, raising=False)
        elif name != "password":
            monkeypatch.setenv(name, secret)
    lines = [f"{name}='{SECRETS[name]}'\n" for name in IN_THE_FILE]
    (pytester.path / ENV_FILE).write_text("".join(lines), encoding="ascii")
    package = pytester.path / "bias_tests"
    package.mkdir()
    (package / "__init__.py").touch()
    source = experiment_source().replace(
        "    replicates=", "    parameters=Parameters(temperature=0.5),\n    replicates="
    )
    source = source.replace("import Experiment,", "import Parameters, Experiment,")
    (package / "experiment.py").write_text(source, encoding="utf-8")
    (package / "test_coin.py").write_text(TESTS, encoding="utf-8")
    return pytester.path


def write_ini(folder: Path, *models: str, timeout: float = 60.0) -> None:
    text = INI.format(models="".join(f"\n    {model}" for model in models), timeout=timeout)
    (folder / "pytest.ini").write_text(text, encoding="ascii")


def write_roster(folder: Path, name: str, url: str, variable: str) -> None:
    """A roster with one endpoint of the user's own."""
    text = (
        f"[endpoints.{name}]\n"
        'wire = "openai-chat"\n'
        f'base_url = "{url}"\n'
        f'api_key_env = "{variable}"\n'
    )
    (folder / "bias_models.toml").write_text(text, encoding="ascii")


def check_all_that_was_written(folder: Path, result: pytest.RunResult) -> None:
    """Nothing holds a secret: no file below ``folder``, and no line of the terminal."""
    said = "\n".join([*result.outlines, *result.errlines])
    assert leaks(said.encode()) == []
    written = [path for path in folder.rglob("*") if path.is_file() and path.name != ENV_FILE]
    names = {path.name for path in written}
    assert {"junit.xml", "rows.html", "log.txt"} < names
    assert [name for name in names if name.startswith("bias-results")]
    assert [name for name in names if name.startswith("bias-report")]
    assert {str(path): found for path in written if (found := leaks(path.read_bytes()))} == {}
    for path in folder.rglob("*.html"):
        assert leaks(inflated(path.read_text("utf-8")).encode()) == []
    for path in folder.rglob("*"):
        assert leaks(str(path).encode()) == []


def _say(_: SimulatedPrompt) -> str:
    return '{"number": 10, "cue": "low"}'


def _by_name(asked: Served) -> Fault | None:
    return TROUBLES[asked.model or ""]


def test_no_key_is_told_whatever_goes_wrong(
    folder: Path, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(_say, faults=_by_name) as server:
        userinfo = f"joe:{quote(SECRETS['password'], safe='')}"
        signed = server.url.replace("http://", f"http://{userinfo}@")
        monkeypatch.setenv("OPENAI_BASE_URL", f"{signed}/v1")
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", server.url)
        models = [
            f"{provider}/{model}"
            for provider in ("openai", "anthropic", "google")
            for model in TROUBLES
        ]
        models.append("bare/unknown")
        write_ini(folder, *models, timeout=1.0)
        monkeypatch.setattr(Retries, "wait", lambda *_: 0.0)  # tested on a clock of its own
        # With a user and a password in its URL, OpenAI's key is not sent; here it is.
        write_roster(folder, "bare", f"{server.url}/v1", "OPENAI_API_KEY")
        result = run_here(pytester, *EVERYTHING)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    said = "\n".join(result.outlines)
    for model in models:
        assert f"problem: recording game-coin with {model}: " in said
    assert set(server.met.values()) == set(TROUBLES.values())
    # The server quoted what it was sent, and that was told, but for the key.
    quoted = re.findall(r"/unknown: HTTP 401: Incorrect API key provided: (.*?) \(at ", said)
    assert sorted(set(quoted)) == ["***", "Basic ***"]
    assert said.count("the reply is not") >= 3
    assert not list(folder.rglob("*.jsonl"))
    check_all_that_was_written(folder, result)


def _spelled(said: str) -> dict[str, Any]:
    """``said`` as a name, and in every spelling."""
    key, data = said.removeprefix("Bearer "), said.encode()
    encoded = [b64encode(data[n:]).decode() for n in range(len("Bearer ") + 1)]
    encoded += [urlsafe_b64encode(data).decode(), data.hex(), data.hex().upper()]
    return {
        "spelled": [key.upper(), key.lower(), quote(key, safe=""), quote(key, safe="").lower()],
        "encoded": [*encoded, json.dumps({key: said}), b64encode(f"u:{key}".encode()).decode()],
        key: {f"x-{said}-y": 1, key.upper(): 2, encoded[0]: 3, data.hex(): 4},
    }


def _quoted_back(call: Asked) -> None:
    """Answer like a vendor, and quote back whatever was sent, key and all."""
    asked = json.loads(call.body)
    cue = "high" if "cue is high" in asked["messages"][-1]["content"] else "low"
    said = {"role": "assistant", "content": json.dumps({"number": 10, "cue": cue})}
    body = {
        "id": "x",
        "object": "chat.completion",
        "created": 1,
        "model": asked["model"],
        "choices": [{"index": 0, "message": said, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 9, "completion_tokens": 9, "total_tokens": 18},
        "debug": {"headers": dict(call.headers), **_spelled(call.headers["Authorization"])},
    }
    headers = {"Content-Type": "application/json"}
    headers["Set-Cookie"] = f"session={SECRETS['GATEWAY_KEY']}"
    saying(200, headers, json.dumps(body).encode())(call)


def test_no_key_is_told_when_all_goes_well(folder: Path, pytester: pytest.Pytester) -> None:
    write_ini(folder, "gateway/model-1")
    seen: list[str] = []

    def answer(call: Asked) -> None:
        seen.append(call.headers["Authorization"])
        _quoted_back(call)

    with answering(answer) as (url, _):
        write_roster(folder, "gateway", f"{url}/v1", "GATEWAY_KEY")
        result = run_here(pytester, *EVERYTHING)
    assert seen == [f"Bearer {SECRETS['GATEWAY_KEY']}"] * 2
    assert "problem:" not in "\n".join(result.outlines)
    path = cassette_path(folder / "cassettes", "game-coin", "gateway/model-1")
    assert len(Cassette(path)) == 2
    assert b'"debug"' in path.read_bytes()
    check_all_that_was_written(folder, result)


SECRET = "sk-" + "planted" * 3


@pytest.mark.requirement("CV-38")
def test_a_file_that_is_named_adds_to_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("PLANTED", "expanded")
    monkeypatch.chdir(tmp_path)
    own = {"HOME": "/home/joe", "SET": "mine", "EMPTY": "", "OTHER": ""}
    path = tmp_path / ".env"
    path.write_text(
        f"# keys\nexport OPENAI_API_KEY='{SECRET}'\n!! {SECRET} = '\nBARE\n"
        "SET=theirs\nEMPTY=theirs\nA=a$PLANTED\nB='${PLANTED}'\nC=\"x ${HOME} y\"\n"
        "D=Ω\nE=a=b/c+d==\nF=\n",
        encoding="utf-8",
    )
    assert read_environment(own, None) == own
    assert read_environment(own, path) == {
        **own,
        "EMPTY": "theirs",  # what is set to nothing holds no key
        "OPENAI_API_KEY": SECRET,
        "A": "a$PLANTED",
        "B": "${PLANTED}",
        "C": "x ${HOME} y",
        "D": "Ω",
        "E": "a=b/c+d==",
        "F": "",
    }
    assert SECRET not in caplog.text
    assert os.environ.get("OPENAI_API_KEY") != SECRET


@pytest.mark.parametrize("kind", ["missing", "no text"])
def test_a_file_that_cannot_be_read_is_named_and_not_quoted(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "keys.env"
    if kind == "no text":
        path.write_bytes(b"\xff\xfe" + SECRET.encode())
    with pytest.raises(BadSetting) as told:
        read_environment({}, path)
    assert str(told.value).startswith(f"--bias-env-file={path}: cannot be read: ")
    assert SECRET not in str(told.value)
    # The decoder's own error holds the bytes.
    assert told.value.__cause__ is None
    assert told.value.__suppress_context__
