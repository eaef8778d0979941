"""``pytest-bias compare``: the same table without pytest."""

from __future__ import annotations

import importlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import count
from pathlib import Path

import pytest

from pytest_bias.baselines.entries import baseline_text
from pytest_bias.baselines.gate import BaselineDiffers
from pytest_bias.baselines.upgrade import needed_baseline
from pytest_bias.cassettes.store import Cassette, write_cassette
from pytest_bias.cli.entry import main

from .suites import record
from .test_baselines import WORDS
from .upgrade_games import EVEN, FIXED, FRESH, KNOWN, NEW, OLD, TESTS, WORSE, source

ROOT = Path(__file__).parents[3]
_NUMBERS = count(1)


class Games:
    """A suite with its recordings, in a package of its own, as it is imported here."""

    def __init__(self, folder: Path, played: Path) -> None:
        self.folder = folder
        self.package = f"upgrade_games_{next(_NUMBERS)}"
        self.cassettes = folder / "cassettes"
        self.tests = folder / self.package / "many" / "test_many.py"
        self.tests.parent.mkdir(parents=True)
        self.baselines = folder / self.package / "baselines"
        for package in (self.tests.parent, self.tests.parent.parent):
            (package / "__init__.py").touch()
        experiment = self.tests.with_name("experiment.py")
        experiment.write_text(source("many"), encoding="utf-8")
        self.tests.write_text(TESTS, encoding="utf-8")
        shutil.copytree(played / "game-many", self.cassettes / "game-many")

    @property
    def arguments(self) -> tuple[str, ...]:
        return (f"--suite={self.package}", f"--baselines={self.baselines}")

    def accept(self, *models: str) -> None:
        """Accept the verdicts of models."""
        command = [sys.executable, "-m", "pytest", "-q", "-p", "pytest-bias", self.package]
        options = [f"--bias-baselines={self.baselines}", *WORDS]
        options += [f"--bias-model={model}" for model in models]
        environ = {k: v for k, v in os.environ.items() if not k.startswith(("CI", "PYTEST"))}
        environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
        done = subprocess.run(  # noqa: S603  (our own command)
            [*command, *options],
            cwd=self.folder,
            env=environ,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout

    def forget(self) -> None:
        """Forget what was imported of it: other suites of this process declare the same game."""
        for name in [name for name in sys.modules if name.startswith(self.package)]:
            del sys.modules[name]


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Cassettes of the game ``many`` with all three subjects."""
    folder = tmp_path_factory.mktemp("cassettes")
    scratch = tmp_path_factory.mktemp("games")
    record(folder, scratch, ["many"], models=(OLD, NEW, EVEN), source=source)
    return folder


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory, played: Path) -> Mapping[str, str]:
    """The paths of the baselines of the old and of the new model, by model."""
    games = Games(tmp_path_factory.mktemp("accepted"), played)
    games.accept(OLD, NEW)
    return {
        model: str(games.baselines / f"{model.replace('/', '--')}.json") for model in (OLD, NEW)
    }


@pytest.fixture
def many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, played: Path) -> Iterator[Games]:
    """The suite of the game ``many``, in the current folder."""
    games = Games(tmp_path, played)
    monkeypatch.chdir(tmp_path)
    importlib.invalidate_caches()
    yield games
    games.forget()


def compare(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """Exit status, output and errors of ``pytest-bias compare`` in this process."""
    try:
        status = main(["compare", *arguments])
    except SystemExit as stopped:
        status = int(stopped.code or 0)
    said = capsys.readouterr()
    return status, said.out, said.err


def test_an_acceptance_in_the_file_that_is_past_stops_the_upgrade(
    many: Games,
    files: Mapping[str, str],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("pytest_bias.cli.compare.today", lambda: "3000-01-01")
    status, out, err = compare(capsys, files[OLD], NEW, *many.arguments)
    assert (status, err) == (1, "")
    assert "2 expired" in out
    assert f"  expired: game-many, {KNOWN}: " in out


def test_what_was_never_recorded_of_the_old_model_is_judged_by_itself(
    many: Games, capsys: pytest.CaptureFixture[str]
) -> None:
    (many.cassettes / "game-many" / "simulated--biased.jsonl").rename(
        many.cassettes / "simulated--biased.jsonl"
    )
    (many.cassettes / "game-other").mkdir()
    (many.cassettes / "simulated--biased.jsonl").rename(
        many.cassettes / "game-other" / "simulated--biased.jsonl"
    )
    status, out, err = compare(capsys, OLD, EVEN, *many.arguments)
    assert status == 2
    assert err == (
        f"pytest-bias: nothing could be compared: {OLD} has no verdict on what is asked here\n"
    )
    note = f"{OLD} has no recordings of game-many: its hypotheses are judged by themselves"
    assert out.count(f"  {note}\n") == 1
    assert f"  not in the baseline: game-many, {KNOWN}: not there → CLEAR" in out
    assert compare(capsys, OLD, NEW, *many.arguments)[0] == 2


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("import sys; sys.exit(0)", "SystemExit: 0"),
        ('pytest.importorskip("no_such_module")', "Skipped: could not import 'no_such_module'"),
        ('pytest.skip("not today", allow_module_level=True)', "Skipped: not today"),
        ("pytest.exit('enough', 0)", "Exit: enough"),
    ],
)
def test_a_module_that_is_not_imported_to_its_end_is_no_pass(
    many: Games, capsys: pytest.CaptureFixture[str], line: str, said: str
) -> None:
    text = many.tests.read_text(encoding="utf-8")
    many.tests.write_text(f"import pytest\n\n{line}\n\n{text}", encoding="utf-8")
    status, out, err = compare(capsys, OLD, EVEN, *many.arguments)
    assert (status, out) == (2, "")
    assert err.startswith(f"pytest-bias: --suite={many.package}: {many.package}.many.test_many ")
    assert said in err


def test_what_a_module_imports_from_a_library_is_compared(
    many: Games, capsys: pytest.CaptureFixture[str]
) -> None:
    as_before = compare(capsys, OLD, NEW, *many.arguments)
    text = many.tests.read_text(encoding="utf-8")
    library = f"{many.package}_library"
    moved = text.replace("from .experiment", f"from {many.package}.many.experiment")
    (many.folder / f"{library}.py").write_text(moved, encoding="utf-8")
    first = moved.partition("\ndef ")[2].partition("(")[0]
    many.tests.write_text(f"from {library} import {first}\n", encoding="utf-8")
    many.forget()
    assert compare(capsys, OLD, NEW, *many.arguments) == as_before
    assert as_before[0] == 1


def test_a_module_that_ends_the_process_is_no_pass(many: Games) -> None:
    text = many.tests.read_text(encoding="utf-8")
    many.tests.write_text(f"import os\n\nos._exit(0)\n\n{text}", encoding="utf-8")
    command = [
        sys.executable,
        "-m",
        "pytest_bias.cli.entry",
        "compare",
        OLD,
        EVEN,
        *many.arguments,
    ]
    done = subprocess.run(  # noqa: S603  (our own command)
        command, check=False, capture_output=True, cwd=many.folder, text=True
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert "the process was ended with os._exit(0): exit status 2" in done.stderr


def test_a_file_that_no_package_holds_is_no_pass(
    many: Games, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = many.folder / many.package / "alone"
    folder.mkdir()
    shutil.copy(many.tests, folder)
    status, _, err = compare(capsys, OLD, EVEN, *many.arguments)
    assert status == 2
    assert "alone/test_many.py declares cases and is in no package" in err


def test_half_a_recording_of_the_old_model_is_no_recording(
    many: Games, capsys: pytest.CaptureFixture[str]
) -> None:
    place = many.cassettes / "game-many" / "simulated--biased.jsonl"
    cassette = Cassette(place)
    for key in list(cassette._lines)[:3]:
        del cassette._lines[key]
    write_cassette(cassette, "game-many", OLD, cassette.provenance)
    status, _, err = compare(capsys, OLD, NEW, *many.arguments)
    assert status == 2
    assert f"3 of 72 trials of game-many with {OLD} are not recorded" in err


def test_damage_of_the_old_model_is_an_error(
    many: Games, capsys: pytest.CaptureFixture[str]
) -> None:
    place = many.cassettes / "game-many" / "simulated--biased.jsonl"
    place.write_bytes(place.read_bytes()[:-300])
    status, _, err = compare(capsys, OLD, NEW, *many.arguments)
    assert status == 2
    assert "simulated--biased.jsonl" in err


def test_another_design_in_the_file_is_named(
    many: Games, files: Mapping[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    text = many.tests.read_text(encoding="utf-8")
    many.tests.write_text(text.replace("margin=2.0", "margin=1.5"), encoding="utf-8")
    status, out, err = compare(capsys, files[OLD], NEW, *many.arguments)
    assert status == 2
    assert "  hypothesis.margin: 2.0 → 1.5\n" in err
    assert "nothing could be compared" in out


def test_a_suite_that_asks_less_than_the_file_has_is_no_pass(
    many: Games, files: Mapping[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    text = many.tests.read_text(encoding="utf-8")
    fewer = text.replace("for name in NAMES", 'for name in NAMES if name == "fixed"')
    many.tests.write_text(fewer, encoding="utf-8")
    status, out, err = compare(capsys, files[OLD], EVEN, *many.arguments)
    assert status == 2
    lacking = f"{FRESH}, {KNOWN}, {WORSE}"
    assert f"game-many: accepted of {OLD} and not in the suite: {lacking}. Nothing shows" in err
    assert "1 improved, 0 as before, 0 known, 0 undecided, 0 new, 0 worse" in out


def test_a_suite_that_asks_nothing_any_more_is_no_pass(
    many: Games, files: Mapping[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    text = many.tests.read_text(encoding="utf-8")
    many.tests.write_text(text[: text.index("@hypotheses(")], encoding="utf-8")
    status, out, err = compare(capsys, files[OLD], EVEN, *many.arguments)
    assert status == 2
    assert f"and not in the suite: {FIXED}, {FRESH}, {KNOWN}, {WORSE}. Nothing shows" in err
    assert f"Compared with {OLD}, as accepted: nothing could be compared" in out


def test_what_has_become_the_positive_control_is_not_asked(
    many: Games, files: Mapping[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    text = many.tests.read_text(encoding="utf-8")
    control = text.replace('RateDifference("noticed"', 'MeanDifference("fixed"')
    fewer = control.replace("for name in NAMES", 'for name in NAMES if name != "fixed"')
    many.tests.write_text(fewer, encoding="utf-8")
    status, _, err = compare(capsys, files[OLD], OLD, *many.arguments)
    assert status == 2
    assert f"and not in the suite: {FIXED}. Nothing shows" in err


def test_another_judge_of_the_old_model_is_named() -> None:
    differ = tuple(f"judge.model: {n} → 0" for n in range(1, 15))
    error = BaselineDiffers(named=("tiny", NEW, "a-b"), old=OLD, differences=differ)
    first, *lines = str(error).splitlines()
    assert first == f"tiny × {NEW}, a-b: {OLD} was tested with another design,"
    assert lines[1] == "  judge.model: 1 → 0"
    assert "  and 2 more" in lines


@pytest.fixture
def shipped(monkeypatch: pytest.MonkeyPatch) -> None:
    """In the folder of the shipped suite."""
    monkeypatch.chdir(ROOT)


@pytest.mark.usefixtures("shipped")
def test_the_command_says_what_drifted_in_a_shipped_experiment(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    files = [f"--markdown={tmp_path / 'c.md'}", f"--json={tmp_path / 'c.json'}"]
    arguments = (OLD, NEW, "--suite=bias_tests.linguistic_audit", *files)
    status, out, err = compare(capsys, *arguments)
    assert (status, err) == (1, "")
    assert out.startswith("Simulated subjects, programs that stand in for models")
    found = json.loads((tmp_path / "c.json").read_text(encoding="utf-8"))["upgrade"]
    named = {row["hypothesis"]: row["outcome"] for row in found["rows"]}
    apart = {name: outcome for name, outcome in named.items() if outcome != "as before"}
    assert apart == {
        "log_length-english": "worse",
        "sentiment-articles": "new",
        "is_refusal-english": "improved",
    }
    drift = {each["what"]: each for each in found["drift"][0]["quantities"]}
    assert drift["refused"]["marked"]
    assert drift["refused"]["new"] < drift["refused"]["old"]
    assert "words" not in drift
    markdown = (tmp_path / "c.md").read_text(encoding="utf-8")
    assert "**2 hypotheses stop this upgrade**" in markdown
    short, _, _ = markdown.partition("<details>")
    assert short.count("| worse |") == short.count("| new |") == 1
    assert "improved |" not in short
    page = (ROOT / "docs/upgrades.md").read_text(encoding="utf-8")
    printed = [line for line in page.splitlines() if "linguistic-audit, " in line]
    assert len(printed) == 3
    assert set(printed) < set(out.splitlines())


@pytest.mark.usefixtures("shipped")
def test_the_command_passes_what_is_even(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = compare(capsys, OLD, EVEN, "--suite=bias_tests/anchoring/")
    assert (status, err) == (0, "")
    assert "Compared with simulated/biased: 2 improved" in out


@pytest.mark.usefixtures("shipped")
def test_the_command_refuses_what_is_missing_or_cannot_be_compared(
    capsys: pytest.CaptureFixture[str],
) -> None:
    anchoring = "--suite=bias_tests.anchoring"
    for arguments, words in (
        (("simulated/none", EVEN, anchoring), "is no baseline file"),
        ((EVEN, EVEN, anchoring), "is the model under test itself"),
        ((OLD, "simulated/none", anchoring), "unknown|no recordings|there is no cassette"),
        ((OLD, EVEN, "--suite=json"), "declares no case"),
        ((OLD, EVEN, "--suite=no.such"), "cannot be imported"),
    ):
        status, _, err = compare(capsys, *arguments)
        assert status == 2
        assert any(word in err for word in words.split("|")), err


@pytest.mark.usefixtures("shipped")
def test_the_command_refuses_a_design_that_compares_nothing_or_that_nothing_has(
    capsys: pytest.CaptureFixture[str],
) -> None:
    anchoring = "--suite=bias_tests.anchoring"
    for design, words in (
        ("screen", "pytest-bias: --design=screen: a screen compares nothing"),
        ("no-such", "'no-such'; known: "),
    ):
        status, out, err = compare(capsys, OLD, EVEN, anchoring, f"--design={design}")
        assert (status, out) == (2, "")
        assert words in err


@pytest.mark.usefixtures("shipped")
def test_the_command_calls_its_arguments_by_their_names(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for arguments, words in (
        (("simulated/none", EVEN), "pytest-bias: OLD=simulated/none: "),
        ((OLD, "lost.json"), "pytest-bias: NEW=lost.json: "),
        ((OLD, EVEN, "--suite=no.such"), "pytest-bias: --suite=no.such: "),
    ):
        status, _, err = compare(capsys, *arguments)
        assert status == 2
        assert err.startswith(words)


def test_a_table_without_all_of_the_experiments_does_not_say_that_nothing_stops_it(
    many: Games, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written = tmp_path / "comment.md"
    arguments = (*many.arguments, f"--markdown={written}")
    status, out, _ = compare(capsys, OLD, EVEN, *arguments)
    assert (status, out.splitlines()[-1]) == (0, "Nothing stops this upgrade.")
    assert "**Nothing stops this upgrade**: " in written.read_text(encoding="utf-8")
    # A second experiment, of which nothing is recorded.
    lost = many.tests.parent.with_name("lost")
    lost.mkdir()
    (lost / "__init__.py").touch()
    (lost / "experiment.py").write_text(source("lost"), encoding="utf-8")
    (lost / "test_lost.py").write_text(TESTS, encoding="utf-8")
    importlib.invalidate_caches()
    status, out, err = compare(capsys, OLD, EVEN, *arguments)
    assert status == 2
    assert "there is no cassette" in err
    but = "No hypothesis stops this upgrade, but not everything could be judged"
    assert out.splitlines()[-1] == f"{but}."
    text = written.read_text(encoding="utf-8")
    assert f"**{but}**: " in text
    assert "- game-lost × simulated/even: there is no cassette" in text
    assert "Nothing stops" not in text


def test_two_files_are_compared_without_a_recording(
    files: Mapping[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    old, new = files[OLD], files[NEW]
    status, out, err = compare(capsys, old, new)
    assert (status, err) == (1, "")
    first, *rows = out.splitlines()[2:]
    assert first == (
        f"Compared with {OLD}, as accepted: "
        "1 improved, 0 as before, 1 known, 0 undecided, 1 new, 1 worse"
    )
    assert rows.pop() == "2 hypotheses stop this upgrade."
    assert rows.pop() == ""
    assert [row.split(":")[0].strip() for row in rows] == ["worse", "new", "known", "improved"]
    assert (WORSE in rows[0], FRESH in rows[1]) == (True, True)
    status, _, _ = compare(capsys, old, old)
    assert status == 0
    status, _, err = compare(capsys, OLD, new)
    assert status == 2
    assert "OLD is one too" in err


def test_what_the_new_file_lacks_is_no_pass(
    files: Mapping[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = needed_baseline(Path(files[OLD]))
    entries = {name: e for name, e in whole.verdicts["game-many"].items() if name != WORSE}
    less = tmp_path / "less.json"
    text = baseline_text(replace(whole, verdicts={"game-many": entries}))
    less.write_text(text, encoding="utf-8")
    status, _, err = compare(capsys, files[OLD], str(less))
    assert status == 2
    assert f"game-many: accepted of {OLD} and not in less.json: {WORSE}. Nothing shows" in err
    assert compare(capsys, str(less), files[OLD])[0] == 1  # and what OLD lacks stands by itself
