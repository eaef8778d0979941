"""``pytest-bias new-key`` and ``unseal``: an auditor's way to text that was sealed."""

from __future__ import annotations

import json
import stat
import sys
from pathlib import Path

import pytest

from pytest_bias.cassettes.seals import KEY_VARIABLE, check_key
from pytest_bias.cli.entry import main
from pytest_bias.experiments.experiment import plan

from . import factories
from .factories import experiment
from .test_measured import KEY, OTHER_KEY, kept, record

TEXT = '{"score": 5}'


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KEY_VARIABLE, KEY)


@pytest.fixture
def cassette(tmp_path: Path) -> Path:
    return record(tmp_path, kept("encrypted"))


def refused(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> str:
    """What is said of a command that cannot be carried out, after exit status 2."""
    with pytest.raises(SystemExit) as caught:
        main([str(argument) for argument in arguments])
    assert caught.value.code == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert KEY not in said.err
    assert TEXT not in said.err
    return said.err


def test_a_fresh_key_is_printed_and_nothing_else(capsys: pytest.CaptureFixture[str]) -> None:
    printed = set()
    for _ in range(2):
        assert main(["new-key"]) == 0
        printed.add(capsys.readouterr().out)
    assert len(printed) == 2
    for key in printed:
        check_key(key.removesuffix("\n").encode())


def test_trials_come_out_as_json_lines(cassette: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["unseal", str(cassette)]) == 0
    trials = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [trial["trial"]["replicate"] for trial in trials] == [1, 2, 3, 1, 2, 3]
    (turn,) = trials[0]["interactions"]
    assert turn["messages"] == [{"role": "user", "text": "Rate Ada."}]
    assert turn["reply"]["text"] == TEXT


def test_a_path_may_be_relative_to_anywhere(
    cassette: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(cassette.parent)
    assert main(["unseal", cassette.name]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 6


def test_they_are_written_to_a_new_file_that_only_its_owner_can_read(
    cassette: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "clear.jsonl"
    assert main(["unseal", str(cassette), "--out", str(out)]) == 0
    assert capsys.readouterr().out == f"6 trials unsealed into {out}\n"
    assert stat.S_IMODE(out.stat().st_mode) == 0o600
    assert len(out.read_text(encoding="ascii").splitlines()) == 6
    before = out.read_bytes()
    assert "--out=" in (said := refused(capsys, "unseal", cassette, "--out", out))
    assert "File exists" in said
    assert out.read_bytes() == before


def test_the_key_may_stand_in_an_env_file(
    cassette: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.delenv(KEY_VARIABLE)
    file = tmp_path / "keys.env"
    file.write_text(f"{KEY_VARIABLE}={KEY}\n", encoding="utf-8")
    assert main(["unseal", str(cassette), "--env-file", str(file)]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 6
    said = refused(capsys, "unseal", cassette, "--env-file", tmp_path / "none.env")
    assert "none.env: cannot be read: No such file or directory" in said


def test_without_a_key(
    cassette: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv(KEY_VARIABLE)
    said = refused(capsys, "unseal", cassette)
    assert f"needs the environment variable {KEY_VARIABLE}, which is not set" in said


@pytest.mark.parametrize(
    ("key", "words"),
    [
        (OTHER_KEY, "is not the key under which line 2 of "),
        ("hunter2", "is no key; make one: pytest-bias new-key"),
    ],
)
def test_with_a_wrong_key(
    cassette: Path,
    tmp_path: Path,
    key: str,
    words: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv(KEY_VARIABLE, key)
    said = refused(capsys, "unseal", cassette, "--out", tmp_path / "clear.jsonl")
    assert words in said
    assert key not in said
    assert not (tmp_path / "clear.jsonl").exists()


def test_nothing_comes_out_when_only_some_trials_are_sealed_under_the_key(
    tmp_path: Path, cassette: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    of = kept("encrypted", replicates=4)
    new = [trial for trial in plan(of, of.design()) if trial.replicate == 4]
    assert record(tmp_path, of, key=OTHER_KEY, trials=new) == cassette
    assert "is not the key under which line " in refused(capsys, "unseal", cassette)


def test_where_nothing_is_sealed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for path in (record(tmp_path / "m", kept()), factories.record(tmp_path / "r", experiment())):
        said = refused(capsys, "unseal", path)
        assert said == f"pytest-bias: CASSETTE={path}: holds no sealed trials\n"
    none = tmp_path / "tiny" / "openai--none.jsonl"
    assert refused(capsys, "unseal", none).endswith("none.jsonl: there is no such file\n")
    assert "a folder stands there" in refused(capsys, "unseal", tmp_path)


def test_without_cryptography(
    cassette: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "cryptography.fernet", None)
    for command in (["unseal", cassette], ["new-key"]):
        said = refused(capsys, *command)
        assert "pip install 'pytest-bias[encryption]'" in said
