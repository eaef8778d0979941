"""Keys from a file the user names: read, never exported, never quoted."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from pytest_bias.errors import BadSetting
from pytest_bias.settings.given import read_environment

SECRET = "sk-" + "planted" * 3


def read(env_file: Path | None, environ: Mapping[str, str] | None = None) -> Mapping[str, str]:
    return read_environment({"HOME": "/home/joe"} if environ is None else environ, env_file)


def written(folder: Path, text: str | bytes) -> Path:
    path = folder / ".env"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_without_a_file_it_is_the_environment() -> None:
    assert read(None) == {"HOME": "/home/joe"}


def test_no_file_is_read_that_was_not_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(tmp_path, f"OPENAI_API_KEY={SECRET}\n")
    monkeypatch.chdir(tmp_path)
    assert read(None) == {"HOME": "/home/joe"}


@pytest.mark.requirement("CV-38")
def test_a_file_adds_to_the_environment_and_replaces_nothing_of_it(tmp_path: Path) -> None:
    path = written(tmp_path, f"# keys\nexport OPENAI_API_KEY='{SECRET}'\nHOME=/elsewhere\nBARE\n")
    found = read(path)
    assert found == {"HOME": "/home/joe", "OPENAI_API_KEY": SECRET}
    assert "OPENAI_API_KEY" not in os.environ or os.environ["OPENAI_API_KEY"] != SECRET


def test_values_are_taken_as_they_stand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLANTED", "expanded")
    text = "A=a$PLANTED\nB='${PLANTED}'\nC=\"x ${HOME} y\"\nD=Ω\nE=a=b/c+d==\nF=\n"
    found = read(written(tmp_path, text), {})
    assert found == {
        "A": "a$PLANTED",
        "B": "${PLANTED}",
        "C": "x ${HOME} y",
        "D": "Ω",
        "E": "a=b/c+d==",
        "F": "",
    }


@pytest.mark.parametrize("kind", ["missing", "a folder", "no text"])
def test_a_file_that_cannot_be_read_is_named_and_not_quoted(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "keys.env"
    if kind == "a folder":
        path.mkdir()
    elif kind == "no text":
        path.write_bytes(b"\xff\xfe" + SECRET.encode())
    with pytest.raises(BadSetting) as told:
        read(path)
    assert told.value.option == "--bias-env-file"
    assert str(path) in str(told.value)
    assert "cannot be read: " in str(told.value)
    assert SECRET not in str(told.value)
    # The decoder's own error holds the bytes.
    assert told.value.__cause__ is None
    assert told.value.__suppress_context__


def test_a_line_that_is_none_is_not_quoted(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = written(tmp_path, f"OPENAI_API_KEY={SECRET}\n!! {SECRET} = '\nOTHER=b\n")
    found = read(path)
    assert found["OPENAI_API_KEY"] == SECRET
    assert SECRET not in caplog.text


def test_what_is_set_comes_first_but_what_is_set_to_nothing_holds_no_key(tmp_path: Path) -> None:
    path = written(tmp_path, f"OPENAI_API_KEY={SECRET}\n")
    set_to_nothing = read(path, {"OPENAI_API_KEY": "", "OTHER": ""})
    assert set_to_nothing == {"OPENAI_API_KEY": SECRET, "OTHER": ""}
    assert read(path, {"OPENAI_API_KEY": "mine"}) == {"OPENAI_API_KEY": "mine"}
