"""``--bias-exports`` and ``--bias-dataset``: what a run writes, and what makes it fail."""

from __future__ import annotations

import json
import os
import sys
from collections import UserDict
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar

import pytest

from pytest_bias.cassettes.store import Cassette
from pytest_bias.errors import BadDesign, NotWritten
from pytest_bias.report.exports import exported_files, write_exports

from ..core.factories import experiment
from .suites import BOTH, REPLICATES, Scenario, Suite, files_below, scenarios
from .test_fail_closed import BIASED

TRIALS = 2 * REPLICATES

pq = import_module("pyarrow.parquet")  # it has no types
REPOSITORY = Path(__file__).parents[3]
EXPORTS, DATASET = "--bias-exports=out", "--bias-dataset=data"
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


def doing(*code: str) -> Callable[[Suite], Suite]:
    """Have exports of this body."""
    body = "".join(f"    {line}\n" for line in code)
    return lambda suite: with_exports(suite, f"def tell(records):\n{body}\n\nGAME = Experiment(")


def files(suite: Suite, folder: str = "out") -> dict[str, bytes]:
    return files_below(suite.path / folder)


def test_one_call_with_all_models_alone_and_with_workers(suite: Suite) -> None:
    both = " ".join(BOTH)
    with_exports(suite).check(f"{both} {EXPORTS}", 0)
    assert (suite.path / "calls.txt").read_text() == "called\n"
    written = "written: shared/game-coin/charts/empty.bin", "written: shared/game-coin/numbers.csv"
    suite.check(f"{both} --bias-exports=shared", 0, "", *written, workers=2)
    assert (suite.path / "calls.txt").read_text() == "called\n" * 2
    assert files(suite) == files(suite, "shared")
    assert files(suite)["game-coin/charts/empty.bin"] == b"\x00\xff"
    rows = [line.split(",") for line in files(suite)["game-coin/numbers.csv"].decode().split()]
    assert [row[0] for row in rows] == ["simulated/biased"] * TRIALS + ["simulated/even"] * TRIALS
    told = [float(row[2]) for row in rows if row[0] == "simulated/biased"]
    analyses = suite.results(partial=True)["analyses"]
    (biased,) = [each for each in analyses if each["model"] == "simulated/biased"]
    values = [value for each in biased["numbers"] for value in each["values"]]
    assert sorted(told) == sorted(values)


OF_GAME = "problem: no exports of game-coin were written: "
NO_VERDICT = "NO RESULT: see the problems above"
PART = "-k 'asked and high'"
BELOW = "problem: pytest.ini/below/game-coin/"
RUNS = {
    "no exports": Scenario(None, EXPORTS, 0, "", "exports: no experiment among the selected"),
    "no file": Scenario(doing("return {}"), EXPORTS, 0, "", "exports: game-coin gave no file"),
    "not recorded": Scenario(
        with_exports,
        *(f"--bias-replicates={REPLICATES + 1} {EXPORTS}", 1, ""),
        f"{OF_GAME}they need all recordings: ",
        workers=1,
    ),
    "raises": Scenario(
        doing("1 / 0"),
        *(EXPORTS, 1, "4 passed", NO_VERDICT, "!Traceback"),
        f"{OF_GAME}ZeroDivisionError: division by zero (experiment.py, line ",
    ),
    "exits": Scenario(
        doing("import sys", "sys.exit(0)"),
        *(" ".join((*BOTH, EXPORTS)), 1, "", f"{OF_GAME}SystemExit: 0 (", "NO RESULT"),
        workers=1,
    ),
    "commands": Scenario(
        doing("raise ValueError('\\x1b[31m red')"), EXPORTS, 1, "", "ValueError: \\x1b[31m red ("
    ),
    "bad name": Scenario(
        doing("return {'a.csv': 'a', '../b.csv': 'b'}"),
        *(
            f"{EXPORTS} --bias-accept",
            1,
            "",
            "'../b.csv' is no name of a file inside their folder",
        ),
    ),
    "exports below a file": Scenario(
        with_exports, "--bias-exports=pytest.ini/below", 1, "4 passed", BELOW, NO_VERDICT
    ),
    "data below a file": Scenario(
        None, "--bias-dataset=pytest.ini/below", 1, "4 passed", BELOW, NO_VERDICT
    ),
}


@pytest.mark.fail_closed
@scenarios(RUNS)
def test_nothing_is_written(suite: Suite, tmp_path: Path, scenario: Scenario) -> None:
    suite.monkeypatch.setenv("TMPDIR", str(tmp_path))
    scenario.check(suite)
    assert not files(suite)
    assert not list(suite.path.rglob("b.csv"))
    assert not list(tmp_path.glob("pytest-bias-*"))
    assert not (suite.path / "bias_tests" / "baselines").exists()


def test_a_partial_run_exports_the_whole_design(suite: Suite) -> None:
    with_exports(suite).check(f"{EXPORTS} {DATASET} {PART}", 0)
    assert len(files(suite)["game-coin/numbers.csv"].split()) == TRIALS
    rows = pq.read_table(suite.path / "data/game-coin/simulated--even.parquet").to_pylist()
    assert (len(rows), {row["cue"] for row in rows}) == (TRIALS, {"low", "high"})


# --- what a function gives -----------------------------------------------------------------------


INSIDE = ("a.csv", "one/two.svg", "émigré.txt", ".hidden", "a b.csv")
OUTSIDE = (
    *("", ".", "..", "/etc/a", "a/../../b", "a//b", "a/", "..\\a", "C:a", "a\nb", "a\0", "\ud800"),
    *("...", 3, "a.", "a ", "b./c"),
)
NO_FILE = "is no name of a file inside their folder"
WRONG: list[tuple[object, str]] = [
    *(({name: "text"}, NO_FILE) for name in OUTSIDE),
    (["a.csv"], "a list is no mapping from file names to contents"),
    ({"a.csv": "a", "b.csv": 1}, "the content of b.csv is a int, not str or bytes"),
    ({"a.csv": "\ud800"}, r"a\.csv cannot be written as UTF-8"),
]


def given(files: object, *, plots: bool = True) -> dict[str, bytes]:
    giving: Any = lambda _: files  # noqa: E731
    return exported_files(experiment(exports=giving), {}, plots=plots)


def test_names_inside_the_folder() -> None:
    assert given(dict.fromkeys(INSIDE, "text é")) == dict.fromkeys(INSIDE, "text é".encode())


@pytest.mark.parametrize(("files", "said"), WRONG)
def test_names_that_leave_the_folder_and_contents_that_cannot_be_written(
    files: object, said: str
) -> None:
    with pytest.raises(BadDesign, match=f"no exports of .* were written: .*{said}"):
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


# --- data sets ----------------------------------------------------------------------------------


def test_models_one_after_the_other_give_what_they_give_together_with_workers(
    suite: Suite,
) -> None:
    suite.check(DATASET, 0)
    suite.check(f"{BIASED} {DATASET}", 1)
    suite.check(" ".join((*BOTH, "--bias-dataset=together")), 0, workers=2)
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


def test_without_pyarrow_nothing_is_run(suite: Suite) -> None:
    suite.file("hide_pyarrow.py", "import sys\nsys.modules['pyarrow'] = None\n")
    missing = "pyarrow is not installed … pytest-bias[dataset]"
    suite.check(f"-p hide_pyarrow {DATASET}", 4, "", missing, process=True)


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
