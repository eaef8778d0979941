"""``pytest-bias new``: what is written, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from ..runs import command


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def told(name: str) -> list[str]:
    done = command(Path(), "new", name)
    assert done.returncode == 0
    return done.stdout.splitlines()


def test_everything_is_written_under_the_name_and_nothing_is_left_to_fill_in(here: Path) -> None:
    assert told("word_order") == [
        "written: bias_tests/__init__.py",
        "written: bias_tests/word_order",
        "written: pytest.toml",
        "to record a simulated subject, a program that stands in for a model, once:",
        "  pytest bias_tests/word_order --bias-model simulated/even --bias-record=missing",
        "then, offline:",
        "  pytest bias_tests/word_order",
    ]
    written = {p.relative_to(here).as_posix() for p in here.rglob("*") if p.is_file()}
    package = "bias_tests/word_order/"
    assert {name.removeprefix(package) for name in written if name.startswith(package)} == {
        *("README.md", "__init__.py", "experiment.py", "hypotheses.py", "simulated.py"),
        *("stimuli/question.txt", "test_word_order.py"),
        *("tests/__init__.py", "tests/test_simulated.py"),
    }
    text = "".join((here / name).read_text("utf-8") for name in written)
    assert 'WORD_ORDER = Experiment(\n    id="word-order",\n    name="Word order",' in text
    assert not [token for token in ("@name@", "@NAME@", "@id@", "@title@") if token in text]


def test_beside_a_configuration_the_model_is_named_in_the_command() -> None:
    Path("pytest.ini").touch()
    assert told("tone")[-1] == "  pytest bias_tests/tone --bias-model simulated/even"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("Tone", "NAME=Tone: must be lower-case words"),
        ("two-words", "must be lower-case words"),
        ("../tone", "must be lower-case words"),
        ("2tone", "beginning with a letter"),
        ("class", "NAME=class: is a word of Python's own"),
        ("", "must be lower-case words"),
        ("labels", "is a folder's name that means something else in bias_tests"),
        ("here", "bias_tests/here is there and is kept; choose another name, or move it away"),
    ],
)
def test_a_name_that_will_not_do_is_refused_and_nothing_is_written(
    here: Path, name: str, said: str
) -> None:
    (here / "bias_tests/here").mkdir(parents=True)
    done = command(here, "new", name)
    assert done.returncode == 2
    assert said in done.stderr
    assert {path.name for path in here.rglob("*")} == {"bias_tests", "here"}
