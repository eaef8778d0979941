"""``pytest-bias new``: what is written, the share of the error budget it has, what is refused."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from pytest_bias.settings.budget import read_budget

from ..runs import command

ROOT = Path(__file__).parents[3]
TABLE = Path("bias_budget.toml")


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def told(name: str) -> list[str]:
    done = command(Path(), "new", name)
    assert done.returncode == 0
    return done.stdout.splitlines()


def shares() -> dict[str, Fraction]:
    found = read_budget(TABLE).shares
    return {name: Fraction(each.share).limit_denominator(1000) for name, each in found.items()}


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


def test_beside_others_it_gets_a_part_of_the_budget_like_theirs_and_says_so(here: Path) -> None:
    shipped = (ROOT / TABLE).read_text("utf-8")
    (here / TABLE).write_text(shipped, encoding="utf-8")
    assert (
        "bias_budget.toml: tone has 1/7 of the suite's false alarms, for which all other shares "
        "were multiplied by 6/7; decide this before there are replies"
    ) in told("tone")
    assert {*shares().values()} == {Fraction(1, 7)}
    assert len(shares()) == 7
    kept = [line for line in shipped.splitlines() if "share =" not in line]
    kept += ["", "[shares.tone]", 'families = ["primary"]']
    mended = (here / TABLE).read_text("utf-8").splitlines()
    assert [line for line in mended if "share =" not in line] == kept


@pytest.mark.parametrize(
    ("old", "share", "mine"),
    [('"1/4"', "1/4", "1/2"), ("0.5 # half", "1/2", "1/2"), ("1", "1/2", "1/2")],
)
def test_only_what_is_lacking_is_taken_from_others(old: str, share: str, mine: str) -> None:
    TABLE.write_text(f'[shares.a]\nshare = {old}\nfamilies = ["primary"]\n', encoding="utf-8")
    told("tone")
    assert shares() == {"a": Fraction(share), "tone": Fraction(mine)}
    before = TABLE.read_text("utf-8")
    assert ("# half" in before) == ("# half" in old)


def test_a_share_that_is_there_already_is_left_alone() -> None:
    text = '[shares.tone]\nshare = 0.3\nfamilies = ["primary"]\n'
    TABLE.write_text(text, encoding="utf-8")
    assert not [line for line in told("tone") if "share" in line]
    assert TABLE.read_text("utf-8") == text


def test_a_table_that_is_written_otherwise_is_left_alone_and_what_to_add_is_said() -> None:
    text = 'shares = { a = { share = "1", families = ["primary"] } }\n'
    TABLE.write_text(text, encoding="utf-8")
    lines = told("tone")
    assert "bias_budget.toml has no share for tone: multiply the shares by 1/2, and add" in lines
    assert lines[lines.index("[shares.tone]") + 1] == 'share = "1/2"'
    assert TABLE.read_text("utf-8") == text


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
        ("other", "bias_budget.toml has a share for other, with other families"),
    ],
)
def test_a_name_that_will_not_do_is_refused_and_nothing_is_written(
    here: Path, name: str, said: str
) -> None:
    (here / "bias_tests/here").mkdir(parents=True)
    TABLE.write_text('[shares.other]\nshare = 1\nfamilies = ["mine"]\n', encoding="utf-8")
    done = command(here, "new", name)
    assert done.returncode == 2
    assert said in done.stderr
    assert {path.name for path in here.rglob("*")} == {"bias_tests", "here", TABLE.name}


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("bias_tests", "", "bias_tests was not written: File exists"),
        ("bias_budget.toml", "?", "bias_error_budget=bias_budget.toml: not TOML"),
    ],
)
def test_a_project_that_will_not_do_is_refused(
    here: Path, name: str, text: str, said: str
) -> None:
    (here / name).write_text(text, encoding="utf-8")
    done = command(here, "new", "tone")
    assert done.returncode == 2
    assert said in done.stderr
