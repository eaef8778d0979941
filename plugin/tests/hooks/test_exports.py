"""``--bias-exports`` and ``--bias-dataset``: what a run writes, and what makes it fail."""

from __future__ import annotations

import json
import os
import sys
from collections import UserDict
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar, NoReturn

import pytest

from pytest_bias.cassettes.store import Cassette
from pytest_bias.errors import BadDesign, NotExported, NotWritten
from pytest_bias.report.exports import exported_files, write_exports

from ..core.factories import experiment
from .suites import BOTH, REPLICATES, Suite, files_below, section
from .test_fail_closed import BIASED

TRIALS = 2 * REPLICATES

EXPORTS = "--bias-exports=out"
FUNCTION = """\
def tell(records):
    with open("calls.txt", "a") as calls:
        calls.write("called\\n")
    lines = [
        f"{model},{row.trial.id},{row.values['number']:g}"
        for model, found in records.items()
        for row in found.rows
    ]
    return {"numbers.csv": "\\n".join(lines), "charts/empty.bin": b"\\x00\\xff"}


GAME = Experiment("""


def with_exports(suite: Suite, function: str = FUNCTION) -> Suite:
    file = "bias_tests/coin/experiment.py"
    suite.change(file, "GAME = Experiment(", function)
    return suite.change(file, "simulated=simulated,", "simulated=simulated,\n    exports=tell,")


def returning(suite: Suite, expression: str) -> Suite:
    return with_exports(
        suite, f"def tell(records):\n    return {expression}\n\n\nGAME = Experiment("
    )


def files(suite: Suite, folder: str = "out") -> dict[str, bytes]:
    return files_below(suite.path / folder)


def problems(lines: list[str]) -> list[str]:
    return [line for line in lines if line.startswith("problem: ")]


def test_one_call_with_all_models_alone_and_with_workers(suite: Suite) -> None:
    with_exports(suite)
    alone = suite.run(*BOTH, EXPORTS)
    assert alone.ret == 0
    assert (suite.path / "calls.txt").read_text() == "called\n"
    shared = suite.run(*BOTH, "--bias-exports=shared", workers=2)
    assert shared.ret == 0
    assert (suite.path / "calls.txt").read_text() == "called\n" * 2
    assert files(suite) == files(suite, "shared")
    assert [line for line in section(shared) if "written: shared" in line] == [
        "written: shared/game-coin/charts/empty.bin",
        "written: shared/game-coin/numbers.csv",
    ]
    assert files(suite)["game-coin/charts/empty.bin"] == b"\x00\xff"
    rows = [line.split(",") for line in files(suite)["game-coin/numbers.csv"].decode().split()]
    assert [row[0] for row in rows] == ["simulated/biased"] * TRIALS + ["simulated/even"] * TRIALS
    told = [float(row[2]) for row in rows if row[0] == "simulated/biased"]
    analyses = suite.results(partial=True)["analyses"]
    (biased,) = [each for each in analyses if each["model"] == "simulated/biased"]
    values = [value for each in biased["numbers"] for value in each["values"]]
    assert sorted(told) == sorted(values)


def test_a_partial_run_exports_the_whole_design_and_says_that_it_was_partial(
    suite: Suite,
) -> None:
    result = with_exports(suite).run(EXPORTS, "-k", "asked and high")
    assert result.ret == 0
    assert len(files(suite)["game-coin/numbers.csv"].split()) == TRIALS
    (note,) = [line for line in section(result) if line.startswith("exports: only of")]
    assert "3 cases not selected" in note
    assert "each has all trials of its design" in note


def test_a_run_in_which_no_experiment_has_any_says_so(suite: Suite) -> None:
    result = suite.run(EXPORTS)
    assert result.ret == 0
    said = "exports: no experiment among the selected cases declares any"
    assert said in section(result)
    assert not files(suite)


def test_what_is_not_recorded_in_full_is_a_problem(suite: Suite, tmp_path: Path) -> None:
    suite.monkeypatch.setenv("TMPDIR", str(tmp_path))
    result = with_exports(suite).run(f"--bias-replicates={REPLICATES + 1}", EXPORTS, workers=1)
    assert result.ret == 1
    (problem,) = problems(section(result))
    start = "problem: no exports of game-coin were written: they need all recordings: "
    assert problem.startswith(start)
    assert not files(suite)
    assert not list(tmp_path.glob("pytest-bias-*"))


def test_a_function_that_raises_is_a_problem_and_says_where(suite: Suite) -> None:
    result = returning(suite, "1 / 0").run(EXPORTS)
    assert result.ret == 1
    result.assert_outcomes(passed=4)
    (problem,) = problems(section(result))
    said = "no exports of game-coin were written: ZeroDivisionError: division by zero"
    assert problem.startswith(f"problem: {said} (experiment.py, line ")
    assert "NO VERDICT: see the problems above" in section(result)
    assert suite.results()["suite"] == "NO VERDICT"
    assert suite.results()["problems"] == [problem.removeprefix("problem: ")]
    assert "Traceback" not in result.stdout.str()


def test_a_function_that_would_end_the_run_is_a_problem_of_it(suite: Suite) -> None:
    body = "def tell(records):\n    import sys\n    sys.exit(0)\n\n\nGAME = Experiment("
    result = with_exports(suite, body).run(*BOTH, EXPORTS, workers=1)
    assert result.ret == 1
    (problem,) = problems(section(result))
    assert problem.startswith("problem: no exports of game-coin were written: SystemExit: 0 (")
    assert suite.results(partial=True)["suite"] == "NO VERDICT"


class Unspeakable(Exception):
    def __str__(self) -> str:
        raise RuntimeError


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (pytest.fail.Exception("no"), "Failed: no"),
        (pytest.skip.Exception("no"), "Skipped: no"),
        (Unspeakable(), "Unspeakable: it has no words for itself"),
        (BadDesign(what="it", problem="is bad"), "it: is bad"),
    ],
)
def test_whatever_a_function_raises_is_worded(error: BaseException, said: str) -> None:
    def tell(_records: object) -> NoReturn:
        raise error

    with pytest.raises(NotExported, match=rf"were written: {said}( \(test_exports\.py, line |$)"):
        exported_files(experiment(exports=tell), {})


def test_words_of_an_error_are_no_commands_to_the_terminal(suite: Suite) -> None:
    body = "def tell(records):\n    raise ValueError('\\x1b[31m red')\n\n\nGAME = Experiment("
    (problem,) = problems(section(with_exports(suite, body).run(EXPORTS)))
    assert ": ValueError: \\x1b[31m red (experiment.py, line " in problem


def test_a_function_that_gives_no_file_is_named(suite: Suite) -> None:
    result = returning(suite, "{}").run(EXPORTS)
    assert result.ret == 0
    assert "exports: game-coin gave no file" in section(result)


def test_a_bad_name_is_a_problem_nothing_is_written_and_nothing_accepted(suite: Suite) -> None:
    result = returning(suite, "{'a.csv': 'a', '../b.csv': 'b'}").run(EXPORTS, "--bias-accept")
    assert result.ret == 1
    (problem, *_) = problems(section(result))
    assert problem.endswith("'../b.csv' is no name of a file inside their folder")
    assert not files(suite)
    assert not list(suite.path.rglob("b.csv"))
    assert not (suite.path / "bias_tests" / "baselines").exists()


@pytest.mark.parametrize("option", ["exports", "dataset"])
def test_a_place_that_cannot_be_written_is_a_problem_of_the_run(suite: Suite, option: str) -> None:
    result = with_exports(suite).run(f"--bias-{option}=pytest.ini/below")
    assert result.ret == 1
    result.assert_outcomes(passed=4)
    (problem,) = problems(section(result))
    assert problem.startswith("problem: pytest.ini/below/game-coin/")
    assert "NO VERDICT: see the problems above" in section(result)


INSIDE = ("a.csv", "one/two.svg", "émigré.txt", ".hidden", "a b.csv")
OUTSIDE = (
    *("", ".", "..", "/etc/a", "a/../../b", "a//b", "a/", "..\\a", "C:a", "a\nb", "a\0", "\ud800"),
    *("...", 3, "a.", "a ", "b./c"),
)


def given(files: object, *, plots: bool = True) -> dict[str, bytes]:
    giving: Any = lambda _: files  # noqa: E731
    return exported_files(experiment(exports=giving), {}, plots=plots)


@pytest.mark.parametrize("name", INSIDE)
def test_names_inside_the_folder(name: str) -> None:
    assert given({name: "text é"}) == {name: "text é".encode()}


@pytest.mark.parametrize("name", OUTSIDE, ids=json.dumps)
def test_names_that_leave_the_folder_or_cannot_be_written(name: object) -> None:
    with pytest.raises(NotExported, match="is no name of a file inside their folder"):
        given({name: "text"})


@pytest.mark.parametrize(
    ("files", "said"),
    [
        (["a.csv"], "a list is no mapping from file names to contents"),
        ({"a.csv": "a", "b.csv": 1}, "the content of b.csv is a int, not str or bytes"),
        ({"a.csv": "\ud800"}, r"a\.csv cannot be written as UTF-8"),
    ],
)
def test_what_is_no_mapping_to_text_or_bytes(files: object, said: str) -> None:
    with pytest.raises(NotExported, match=f"no exports of .* were written: {said}"):
        given(files)


class Images(UserDict[str, bytes]):
    """Files of which those that are read are counted."""

    read: ClassVar[list[str]] = []

    def __getitem__(self, name: str) -> bytes:
        self.read.append(name)
        return b""


@pytest.mark.requirement("CV-40")
def test_without_plots_no_image_is_made() -> None:
    files = Images({"c.png": b"", "c.svg": b"", "a.csv": b""})
    assert given(files, plots=False) == {"a.csv": b""}
    assert Images.read == ["a.csv"]
    assert [*given(files)] == ["a.csv", "c.png", "c.svg"]


@pytest.mark.requirement("CV-33")
def test_what_is_written_and_where(tmp_path: Path) -> None:
    assert write_exports(tmp_path, {"a/b.txt": b"b"}) == [tmp_path / "a" / "b.txt"]
    assert (tmp_path / "a" / "b.txt").read_bytes() == b"b"
    with pytest.raises(NotWritten, match="shown"):
        write_exports(tmp_path / "a" / "b.txt", {"c": b""}, lambda _: "shown")


pq = import_module("pyarrow.parquet")  # it has no types

DATASET = "--bias-dataset=data"
REPOSITORY = Path(__file__).parents[3]


def rows(suite: Suite, name: str = "simulated--even") -> list[dict[str, Any]]:
    table = pq.read_table(suite.path / f"data/game-coin/{name}.parquet")
    found: list[dict[str, Any]] = table.to_pylist()
    return found


def test_models_one_after_the_other_give_what_they_give_together_with_workers(
    suite: Suite,
) -> None:
    assert suite.run(DATASET).ret == 0
    assert suite.run(BIASED, DATASET).ret == 1
    result = suite.run(*BOTH, "--bias-dataset=together", workers=2)
    assert result.ret == 0
    assert [line for line in section(result) if "written: together" in line] == [
        f"written: together/game-coin/{name}"
        for name in ("simulated--biased.parquet", "simulated--even.parquet", "README.md")
    ]
    assert files(suite, "data") == files(suite, "together")
    assert len(files(suite, "data")) == 3
    page = (suite.path / "data/game-coin/README.md").read_text(encoding="utf-8")
    assert "stand in for models: simulated/biased, simulated/even." in page


def test_by_ini_and_without_any_prompt_or_reply(suite: Suite) -> None:
    keys = "bias_report = off\nbias_dataset = data\nbias_dataset_license = CC0-1.0"
    suite.change("pytest.ini", "bias_report = off", keys)
    assert suite.run().ret == 0
    assert b"`CC0-1.0`" in files(suite, "data")["game-coin/README.md"]
    cassette = Cassette(suite.cassettes / "game-coin" / "simulated--even.jsonl")
    replies = {each.completion.text for each in cassette.interactions()}
    texts = {*cassette.texts().values(), *replies, "The cue is"}
    assert any("Game coin. The cue is" in text for text in texts)
    for content in files(suite, "data").values():
        for text in texts:
            assert text.encode() not in content
            assert json.dumps(text).strip('"').encode() not in content


def test_a_partial_run_writes_whole_files_and_says_that_it_was_partial(suite: Suite) -> None:
    result = suite.run(DATASET, "-k", "asked and high")
    assert result.ret == 0
    assert len(rows(suite)) == TRIALS
    assert {row["cue"] for row in rows(suite)} == {"low", "high"}
    (note,) = [line for line in section(result) if line.startswith("data sets: only of")]
    assert "3 cases not selected" in note
    assert "each has all trials of its design" in note


def test_without_pyarrow_nothing_is_run(suite: Suite) -> None:
    hide = "import sys\nsys.modules['pyarrow'] = None\n"
    (suite.path / "hide_pyarrow.py").write_text(hide, encoding="utf-8")
    result = suite.run("-p", "hide_pyarrow", DATASET, process=True)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*pyarrow is not installed*pytest-bias?dataset?*"])


@pytest.mark.requirement("AUDIT-16", "AUDIT-17")
def test_the_linguistic_audit(suite: Suite) -> None:
    configured = ("-c", str(REPOSITORY / "pyproject.toml"), f"--rootdir={REPOSITORY}")
    off = ("-p", "no:cacheprovider", "--bias-results=off", "--bias-report=off")
    folder = f"--bias-dataset={suite.path / 'data'}"
    cases = str(REPOSITORY / "bias_tests" / "linguistic_audit")
    assert suite.run(*configured, *off, folder, cases).ret == 0
    name = "linguistic-audit/simulated--even.parquet"
    assert set(files(suite, "data")) == {"linguistic-audit/README.md", name}
    assert pq.read_table(suite.path / "data" / name).num_rows == 2192
    content = b"".join(files(suite, "data").values())
    for text in ("volcano for", os.fspath(REPOSITORY), os.fspath(suite.path), sys.prefix):
        assert text.encode() not in content
