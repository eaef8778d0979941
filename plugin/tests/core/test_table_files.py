"""Files that tables stand in: one result in every format, and exports of other tools."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from decimal import Decimal
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd  # type: ignore[import-untyped, unused-ignore]  # ships no types
import pytest

from pytest_bias import BiasError, Experiment, Factor, Items, Measure
from pytest_bias.errors import BadData, MissingPackage, UnknownName
from pytest_bias.experiments.layouts import Arranged, TableLayout, TableRow
from pytest_bias.settings.table_entry import TableEntry
from pytest_bias.tables.reader import read_files
from pytest_bias.tables.subjects import TableSource, read_table

from ..helpers import there
from .test_tables import MEND, TOY, asked

pa, pq = import_module("pyarrow"), import_module("pyarrow.parquet")  # they have no types

ROWS: Sequence[Mapping[str, Any]] = [
    {"model": "m", "cue": "high", "group": "b", "group_exemplar": "Bo", "item": "letter"}
    | {"score": 7, "tone": "cold", "sure": False, "missing": None},
    {"model": "m", "cue": "low", "group": "a", "group_exemplar": "Al", "item": "recipe"}
    | {"score": None, "tone": None, "sure": None, "missing": "refusal"},
    {"model": "m", "cue": "low", "group": "a", "group_exemplar": "Ann", "item": "recipe"}
    | {"score": 5, "tone": "warm", "sure": True, "missing": None},
]


def cell(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is None else str(value)


def written(path: Path, rows: Sequence[Mapping[str, Any]]) -> Path:
    """A file of rows, by how its name ends."""
    if path.suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(list(rows)), path)
        return path
    lines = [json.dumps(row) for row in rows]
    texts = {
        ".csv": [",".join(rows[0]), *(",".join(map(cell, row.values())) for row in rows)],
        ".jsonl": lines,
        ".ndjson": ["", *lines, ""],
        ".json": [f"[{', '.join(lines)}]"],
    }
    path.write_text("\n".join(texts[path.suffix]), encoding="utf-8")
    return path


def only(found: Mapping[str, TableSource]) -> TableSource:
    (replies,) = found.values()
    return replies


def outcomes(source: Path | pd.DataFrame, of: Experiment = TOY, **entry: Any) -> Any:
    """The trials of a table's only subject."""
    given = TableEntry(path="t", experiment=of.id, **entry)
    return only(read_table(source, of, given)).outcomes


def said(path: Path, experiment: Experiment = TOY, **entry: Any) -> list[str]:
    """What is wrong with a table, line by line."""
    given = TableEntry(path="t", experiment=experiment.id, **entry)
    with pytest.raises(BadData) as refused:
        read_table(path, experiment, given)
    first, *rest = str(refused.value).splitlines()
    assert first.startswith("replies=t: ")
    return [line.strip() for line in rest]


@pytest.mark.parametrize("suffix", [".jsonl", ".ndjson", ".json", ".parquet"])
def test_the_same_rows_are_the_same_trials_in_every_format(tmp_path: Path, suffix: str) -> None:
    table = only(read_table(written(tmp_path / "t.csv", ROWS), TOY))
    other = only(read_table(written(tmp_path / f"t{suffix}", ROWS), TOY))
    assert other.outcomes == table.outcomes
    assert other.recording.checksum == table.recording.checksum
    assert [o.trial.id for o in table.outcomes] == [
        "low-a/Ann/recipe#1",
        "low-a/Al/recipe#1",
        "high-b/Bo/letter#1",
    ]
    assert table.model == "table/m"


FRAME = pd.DataFrame(ROWS)
FRAMES = {
    "plain": FRAME,
    "nullable": FRAME.convert_dtypes(),
    "categories": FRAME.astype(dict.fromkeys(("cue", "tone", "score"), "category")),
    "times": FRAME.assign(collected_at=pd.Timestamp("2026-02-05T13:51:23Z")),
    "other missing": FRAME.replace({None: np.nan}).assign(served=[pd.NA, pd.NaT, None]),
    "scalars of numpy": FRAME.assign(score=[np.int64(7), None, np.float32(5)]),
    "decimals": FRAME.assign(score=[Decimal("7.0"), None, Decimal(5)]),
    "from rows": FRAME.set_axis([7, 7, 3]).sort_values("cue"),
}


@pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES)
def test_a_frame_of_the_same_rows_is_the_same_trials(tmp_path: Path, frame: pd.DataFrame) -> None:
    table = only(read_table(written(tmp_path / "t.csv", ROWS), TOY))
    found = only(read_table(frame, TOY))
    assert found.recording.checksum == table.recording.checksum
    assert (found.model, found.location) == ("table/m", "table: pandas frame of 3 rows")
    assert not found.recording.simulated
    assert only(read_table(frame.drop(columns="model"), TOY)).model == "table/frame"


def test_rows_of_a_frame_are_named_by_its_index() -> None:
    frame = pd.concat([FRAME, FRAME[2:]]).assign(replicate=1).astype(object)
    frame = frame.set_axis(list("abcd"))
    frame.loc["b", "cue"], frame.loc[["c", "d"], "score"] = 3, 99
    same = "the same model, condition and replicate '1'"
    with pytest.raises(BadData) as refused:
        read_table(frame, TOY)
    first, *rest = str(refused.value).splitlines()
    assert first.startswith("replies=pandas frame of 4 rows: 4 problems, ")
    assert sorted(rest) == [
        "  row 'b', column 'cue': '3' is no level of cue: low, high",
        f"  row 'd', column 'replicate': repeats row 'c': {same}",
        f"  rows 'c', 'd', column 'score': 99 is not within 0 to 12 points; {MEND}",
    ]
    for wrong, problem in (
        (FRAME.iloc[:0], "it holds no rows"),
        (FRAME.drop(columns="cue"), "\n  column 'cue': there is no such column"),
        (pd.concat([FRAME, FRAME["cue"]], axis=1), "\n  column 'cue': two columns have this name"),
    ):
        with pytest.raises(BadData, match=problem):
            read_table(wrong, TOY)


def test_fields_of_nested_objects_go_by_dotted_names(tmp_path: Path) -> None:
    rows = [
        {
            "params": {"cue": row["cue"], "text": "one\u2028two\u0085three"},  # no ends of lines
            "result": {"x": {"score": row["score"]}, "tone": row["tone"]},
        }
        | {key: value for key, value in row.items() if key not in ("cue", "score", "tone")}
        for row in ROWS
    ]
    columns = {"cue": "params.cue", "score": "result.x.score", "tone": "result.tone"}
    plain = outcomes(written(tmp_path / "t.csv", ROWS))
    for suffix in (".jsonl", ".parquet"):
        path = written(tmp_path / f"t{suffix}", rows)
        assert outcomes(path, columns=columns) == plain


def test_what_is_typed_otherwise_is_not_taken_for_it(tmp_path: Path) -> None:
    row = dict(ROWS[2])
    rows = [
        row | {"score": "5"},
        row | {"score": True},
        row | {"score": 5.5},
        row | {"score": 10**400},
        row | {"sure": "true"},
        row | {"sure": 1},
        row | {"tone": ["warm"]},
        row | {"cue": 3},
        row | {"score": 0.0, "missing": "error"},
    ]
    found = said(written(tmp_path / "t.jsonl", rows))
    assert len(found.pop(3)) < 120  # of a number of 400 digits
    assert found == [
        "line 1, column 'score': '5' should be a valid number",
        "line 2, column 'score': True should be a valid number",
        "line 3, column 'score': 5.5 is no whole number",
        "line 5, column 'sure': 'true' should be a valid boolean",
        "line 6, column 'sure': 1 should be a valid boolean",
        "line 7, column 'tone': ['warm'] is no tone: cold, warm",
        "line 8, column 'cue': '3' is no level of cue: low, high",
        "line 9, column 'score': holds 0.0, and the trial is missing (error)",
        "line 9, column 'sure': holds True, and the trial is missing (error)",
        "line 9, column 'tone': holds 'warm', and the trial is missing (error)",
    ]


GOOD_LINE = json.dumps(ROWS[2])
LINES = {
    "no JSON": ("{", "Expecting property name enclosed in double quotes"),
    "a field twice": ('{"cue": 1, "cue": 2}', "a field stands in it twice: cue"),
    "no object": ("[1]", "it is a list"),
    "too deep": ("[" * 100_000, "maximum recursion depth"),
    "too long a number": ("[" + "9" * 5000 + "]", "Exceeds the limit"),
}


def test_lines_that_are_no_objects_are_named_all_at_once(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text("\n".join([GOOD_LINE, *(line for line, _ in LINES.values())]), "utf-8")
    table = read_files(path)
    for number, (_, words) in enumerate(LINES.values(), start=2):
        (problem,) = (p.problem for p in table.problems if p.line == number)
        assert problem.startswith(f"is no object of JSON: {words}")


FILES: Mapping[str, tuple[str, bytes, str]] = {
    "unknown": ("t.txt", b"x", "how its name ends must say what it is: .csv, .jsonl, .ndjson, "),
    "empty": ("t.csv", b"", "it holds no rows below the names of its columns"),
    "only names": ("t.csv", b"model,cue", "it holds no rows below the names of its columns"),
    "no CSV": ("t.csv", b'cue\n"m"x,low', "the file cannot be read: ',' expected after"),
    "empty lines": ("t.jsonl", b"\n\n", "it holds no rows"),
    "not UTF-8": ("t.jsonl", b'{}\n"\xfc"', "the file cannot be read: 'utf-8' codec can't decode"),
    "twice": (
        "t.json",
        b'[{"cue": 1, "cue": 2}]',
        "the file cannot be read: a field stands in it twice: cue",
    ),
    "no JSON": ("t.json", b"[\n{]", "the file cannot be read: Expecting property name"),
    "deep": ("t.json", b"[" * 100_000, "the file cannot be read: maximum recursion depth"),
    "no list": ("t.json", b'{"rows": []}', "the file is no list of objects"),
    "columns": (
        "t.json",
        b'{"cue": ["low"]}',
        "the file is no list of objects; pandas writes one with to_json(",
    ),
    "a title": ("t.csv", b"Pilot,,\ncue,score,odd\nlow,3,true\n", "the first line must name the"),
    "a comment": ("t.csv", b"# Pilot\ncue,score\nlow,3\n", "the first line must name the columns"),
    "semicolons": ("t.csv", b"cue;score\nlow;3\n", "the cells are separated by ';'"),
    "sep=": (
        "t.csv",
        b"sep=,\ncue,score,odd\nlow,3,true\n",
        "the first line must name the columns, ",
    ),
    "no rows": ("t.json", b"[]", "it holds no rows"),
    "no Parquet": ("t.parquet", b"PAR1", "the file cannot be read: "),
}


@pytest.mark.parametrize(("name", "data", "words"), FILES.values(), ids=FILES)
def test_a_file_that_is_not_what_its_name_says(
    tmp_path: Path, name: str, data: bytes, words: str
) -> None:
    (tmp_path / name).write_bytes(data)
    (line,) = said(tmp_path / name)
    assert line.startswith(words)


def test_what_parquet_may_hold_and_no_table_can(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    columns = [pa.array(["m"]), pa.array(["n"])]
    pq.write_table(pa.Table.from_arrays(columns, names=["model", "model"]), path)
    assert said(path) == ["column 'model': two columns have this name"]
    table = pa.Table.from_pylist([{**ROWS[2], "replicate": Decimal(2**60 + n)} for n in (1, 2, 3)])
    pq.write_table(table, path)
    assert len(outcomes(path)) == 3  # whole decimals keep all of their digits
    late = pa.array([2**50] * len(ROWS), pa.int64()).cast(pa.timestamp("s"), safe=False)
    for each in (
        table.append_column("collected_at", late),
        table.replace_schema_metadata({"judge": b"\xff"}),
    ):
        pq.write_table(each, path)
        (line,) = said(path)
        assert line.startswith("the file ")


def test_parquet_without_pyarrow_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(tmp_path / "t.parquet", ROWS)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingPackage, match=r"pip install 'pytest-bias\[dataset\]'"):
        read_table(path, TOY)


# --- what is missing, and what there is ----------------------------------------------------------


def test_models_in_a_column_of_other_capitals_are_not_pooled(tmp_path: Path) -> None:
    rows = [{"Model": row["model"], "Item": 4, **row} for row in ROWS]
    path = written(tmp_path / "t.csv", [{n: row[n] for n in row if n != "model"} for row in rows])
    assert said(path) == [
        "column 'Model': is not read; call it model if it is that, or else list it as unread"
    ]
    assert read_table(path, TOY, TableEntry(path="t", experiment=TOY.id, model="Model"))


def test_a_failure_recorded_as_a_number_is_refused_until_it_is_said_to_be_one(
    tmp_path: Path,
) -> None:
    rows = [{**ROWS[2]}, {**ROWS[2], "score": -1, "tone": "", "sure": None}]
    empty = {"score": {"-1": ""}}
    for suffix in (".csv", ".jsonl"):
        path = written(tmp_path / f"t{suffix}", rows)
        assert said(path, values=empty)[0].endswith("nothing says why the trial is missing")
        found = outcomes(path, values=empty, missing="no_number")
        assert [outcome.missing for outcome in found] == [None, "no_number"]
    path = tmp_path / "t.jsonl"
    assert said(path, missing="No number!", collected_at="May") == [
        "collected_at: 'May' is no time as 2026-02-05T13:51:23Z",
        "missing: 'No number!' is no label (lower-case letters and digits, joined by '_')",
        f"line 2, column 'score': -1 is not within 0 to 12 points; {MEND}",
        "line 2, column 'sure': is empty, and nothing says why the trial is missing",
        "line 2, column 'tone': is empty, and nothing says why the trial is missing",
    ]


def test_what_the_source_says_of_time_and_model_is_kept(tmp_path: Path) -> None:
    rows = [{**ROWS[2], "served": "m-2026", "collected_at": "2026-02-05"}, {**ROWS[2]}]
    path = written(tmp_path / "t.jsonl", rows)
    found = outcomes(path, served="m-1", collected_at="2026-01-01")
    assert [(o.exchanges[0].served_model, o.exchanges[0].recorded_at) for o in found] == [
        ("m-2026", "2026-02-05"),
        ("m-1", "2026-01-01"),
    ]


@pytest.mark.parametrize("suffix", [".csv", ".jsonl"])
def test_a_flag_is_no_reason_until_values_say_which(tmp_path: Path, suffix: str) -> None:
    rows = [{**row, "missing": row["missing"] is not None} for row in ROWS]
    path = written(tmp_path / f"t{suffix}", rows)
    assert "is true or false: it has to be a reason such as refusal" in said(path)[0]
    words = {"missing": {"true": "refusal", "false": ""}}
    told = outcomes(path, values=words)
    assert told == outcomes(written(path, ROWS))


def test_rows_of_another_experiment_are_refused(tmp_path: Path) -> None:
    path = written(tmp_path / "t.jsonl", [{**ROWS[2], "experiment": "toys"}])
    problem = "line 1, column 'experiment': 'toys' is not {}, whose replies these are"
    assert said(path) == [problem.format("toy")]
    lists = {"who": "a", "p_value": 1, "trials": ROWS, "experiment": "toys"}
    path = written(tmp_path / "t.jsonl", [lists])
    assert said(path, ARRANGED, layout="other") == [problem.format("arranged")]
    words = {"experiment": {"toys": "arranged"}}
    assert len(outcomes(path, ARRANGED, layout="other", values=words)) == 3


def test_a_table_that_names_no_model_is_of_one_subject(tmp_path: Path) -> None:
    def told(word: str | None, **entry: Any) -> tuple[str, bool]:
        rows = [{**{k: v for k, v in row.items() if k != "model"}} for row in ROWS]
        rows = [{**row, "model": word} for row in rows] if word else rows
        given = TableEntry(path="pilot.csv", experiment="toy", **entry)
        found = only(read_table(written(tmp_path / "pilot.csv", rows), TOY, given))
        return found.model, found.recording.simulated

    assert told(None) == ("table/pilot", False)
    assert told("simulated/even") == ("table/simulated/even", True)
    words = {"model": {"simulated/even": "pilot"}}
    assert told("simulated/even", values=words) == ("table/pilot", True)


def test_how_much_of_the_design_is_there_is_said(tmp_path: Path) -> None:
    recording = only(read_table(written(tmp_path / "t.jsonl", ROWS), TOY)).recording
    assert there(recording.published).coverage.startswith(
        "1 of 3 exemplars of group lack a cell that others have; "
        "3 of the 60 trials of the gate design are there; its 12 cells hold 0 to 1"
    )


CONTROLLED = Experiment(
    id="controlled",
    name="Controlled",
    factors=[
        Factor("cue", {"low": 3, "high": 9}, controls={"grave": 12}),
        Factor("tone", ["plain", "kind"]),
    ],
    items=Items("text", ["recipe", "letter"], controls=["glad"]),
    protocol=asked,
    measures=[Measure("score", bounds=(0, 12))],
    replicates=2,
    controls=1,
)


def test_control_levels_and_items_are_trials_as_the_plan_has_them(tmp_path: Path) -> None:
    def row(cue: str, tone: str, item: str) -> dict[str, object]:
        return {"cue": cue, "tone": tone, "item": item, "score": 1}

    good = [
        row("grave", "plain", "recipe"),
        row("low", "kind", "glad"),
        *[row("low", "kind", "letter")] * 3,
    ]
    found = only(read_table(written(tmp_path / "t.csv", good), CONTROLLED))
    assert [o.trial.id for o in found.outcomes] == [
        *(f"low-kind/letter#{n}" for n in (1, 2, 3)),
        "low-kind/glad#1",
        "grave-plain/recipe#1",
    ]
    assert (found.design.replicates, found.design.controls) == (3, 1)
    bad = [row("grave", "kind", "recipe"), row("grave", "plain", "glad")]
    (line, _) = said(written(tmp_path / "t.csv", bad), CONTROLLED)
    assert line.startswith("line 2: grave/kind/recipe is no trial: a control level is met with")


# --- layouts -------------------------------------------------------------------------------------


def unpacked(rows: Sequence[TableRow]) -> Arranged:
    found = [
        row._replace(cells={**row.cells, **inner})
        for row in rows
        if isinstance(row.cells["trials"], list)
        for inner in row.cells["trials"]
    ]
    return found, "a list a line"


def refusing(rows: Sequence[TableRow]) -> Arranged:
    del rows
    problem = "holds no trials"
    raise BiasError(problem)


ARRANGED = Experiment(
    id="arranged",
    name="Arranged",
    factors=TOY.factors,
    items=TOY.items,
    protocol=asked,
    measures=TOY.measures,
    replicates=5,
    layouts={
        "lists": TableLayout(unpacked, files="*/all.jsonl"),
        "summary": TableLayout(refusing, columns=["who", "p_value"]),
        "other": TableLayout(unpacked, columns=["who", "trials", "p_value"]),
    },
)


def test_a_layout_reads_the_files_of_a_folder_and_keeps_their_lines(tmp_path: Path) -> None:
    for name, trials in (("a", ROWS[:1]), ("b", ROWS[1:])):
        (tmp_path / name).mkdir()
        line = {"who": name, "trials": [{**row, "cue": f"{row['cue']}!"} for row in trials]}
        written(tmp_path / name / "all.jsonl", [{"who": "x", "trials": []}, line])
    assert said(tmp_path, ARRANGED, layout="lists") == [
        "a/all.jsonl, line 2, column 'cue': 'high!' is no level of cue: low, high",
        "b/all.jsonl, line 2, column 'cue': 'low!' is no level of cue: low, high",
    ]
    given = TableEntry(
        path="t", experiment="arranged", layout="lists", values={"who": {"a": "Anna"}}, note="x"
    )
    for name in ("a", "b"):
        path = tmp_path / name / "all.jsonl"
        path.write_text(path.read_text("utf-8").replace("!", ""), "utf-8")
    found = only(read_table(tmp_path, ARRANGED, given))
    assert len(found.outcomes) == 3
    assert there(found.recording.published).note == "x; a list a line"


def test_a_nested_frame_or_file_is_read_in_a_layout_as_its_json_is(tmp_path: Path) -> None:
    rows = [{**row, "score": row["score"] and Decimal(row["score"])} for row in ROWS]
    lines = {"who": ["a"], "p_value": [1], "trials": [rows]}
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table(lines), path)
    told = written(tmp_path / "t.json", [{"who": "a", "p_value": 1, "trials": ROWS}])
    as_json = outcomes(told, ARRANGED, layout="other")
    for source in (path, pd.read_parquet(path)):
        assert outcomes(source, ARRANGED, layout="other") == as_json


def test_what_a_layout_does_not_read_is_refused_in_one_error(tmp_path: Path) -> None:
    path = written(tmp_path / "t.jsonl", [{"trial": 1, "who": "a", "p_value": 1}])
    assert said(path, ARRANGED) == ["holds no trials"]  # its columns tell the layout
    (line,) = said(path, ARRANGED, layout="lists")
    assert line.startswith("is not in the layout 'lists': KeyError: 'trials' (")
    assert said(tmp_path, TOY)[0].startswith("is a folder: name a file, or a layout of files")
    assert said(tmp_path, ARRANGED, layout="lists") == ["the folder holds no */all.jsonl"]
    with pytest.raises(UnknownName, match="unknown layout of arranged 'odd'; known: lists, other"):
        outcomes(path, ARRANGED, layout="odd")


def test_a_layout_is_told_by_its_columns_and_never_guessed_of_two(tmp_path: Path) -> None:
    both = {"who": "a", "p_value": 1, "trials": [ROWS[0]]}
    assert said(written(tmp_path / "t.json", [both]), ARRANGED) == [
        "is in the layouts summary and other by its columns; declare which (layout)"
    ]
    ours = [{**ROWS[0], **both}]  # what has all factors is no layout, whatever else it has
    assert len(outcomes(written(tmp_path / "t.json", ours), ARRANGED)) == 1
    path = written(tmp_path / "t.json", [{"runs": [ROWS[0]], "of": "a", "p_value": 1}])
    there = "; there are runs, of, p_value"
    assert said(path, ARRANGED, layout="other") == [
        f"column 'trials': there is no such column (trials of the layout 'other'){there}",
        "column 'who': there is no such column (who of the layout 'other')",
    ]
    names = {"trials": "runs", "who": "of"}
    assert len(outcomes(path, ARRANGED, layout="other", columns=names)) == 1
