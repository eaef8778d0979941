"""Texts of replies in a table, read as on replay, and what else a table may declare."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd  # type: ignore[import-untyped, unused-ignore]  # ships no types
import pytest
from pydantic import BaseModel, ConfigDict

from pytest_bias import (
    Experiment,
    Factor,
    Items,
    Measure,
    Parameters,
    Reply,
    Subject,
    Trial,
)
from pytest_bias.errors import BadSetting, InvalidReply
from pytest_bias.experiments.records import records_of
from pytest_bias.settings.model_entry import ModelEntry
from pytest_bias.settings.roster import Roster, parse_roster
from pytest_bias.settings.table_entry import Join, TableEntry
from pytest_bias.tables.subjects import read_table

from ..helpers import there
from .test_table_files import only, outcomes, said, written


def test_a_thought_before_a_reply_of_a_table_is_taken_off_and_measured(tmp_path: Path) -> None:
    rows = [
        {"cue": cue, "text": f'{thought}{{"score": {n}}}'}
        for cue in ("low", "high")
        for n, thought in enumerate(("", "<think>Hm.</think>", ""))
    ]
    path = written(tmp_path / "t.jsonl", rows)
    read = outcomes(path, RATED, reply="text")
    records = records_of(read, RATED.as_read(read).measures)
    assert records.column("format_kept") == [True, False, True] * 2


class Rating(BaseModel):
    model_config = ConfigDict(extra="forbid")
    score: int


async def rated(trial: Trial, subject: Subject) -> Rating:
    def sober(rating: Rating) -> None:
        if rating.score > 100:
            raise InvalidReply("out_of_scale")

    return (await subject.ask(f"Rate {trial['cue']}.", reply=Rating, check=sober)).value


async def rated_anyway(trial: Trial, subject: Subject) -> Rating:
    try:
        return await rated(trial, subject)
    except InvalidReply:
        return Rating(score=0)


RATED = Experiment(
    id="rated",
    name="Rated",
    factors=[Factor("cue", ["low", "high"])],
    protocol=rated,
    measures=[Measure("score", bounds=(0, 12)), Measure("odd", lambda r: r.score % 2 == 1)],
    replicates=2,
)

REPLIES: Mapping[str, tuple[Mapping[str, Any], str | None]] = {
    "a reply": ({"text": '{"score": 7}'}, None),
    "a refusal": ({"text": "I cannot rate this."}, "refusal"),
    "none": ({"text": ""}, "empty"),
    "no cell": ({"text": None}, "empty"),
    "no JSON": ({"text": "It is 7."}, "not_json"),
    "a fence": ({"text": '```json\n{"score": 7}\n```'}, "not_json"),
    "cut off": ({"text": '{"sco', "finish": "max_tokens"}, "truncated"),
    "filtered": ({"text": "", "finish": "content_filter"}, "content_filter"),
    "an end nobody knows": (
        {"text": '{"score": 7}', "finish": "Pause turn"},
        "unknown_end_pause_turn",
    ),
    "checked": ({"text": '{"score": 999}'}, "out_of_scale"),
    "out of the measure's bounds": ({"text": '{"score": 99}'}, "out_of_bounds_score"),
    "an error": ({"text": None, "missing": "error"}, "error"),
}


@pytest.mark.parametrize(("cells", "reason"), REPLIES.values(), ids=REPLIES)
def test_a_reply_is_read_by_the_experiment_and_never_asked_for_again(
    tmp_path: Path, cells: Mapping[str, Any], reason: str | None
) -> None:
    path = written(tmp_path / "t.jsonl", [{"cue": "low", **cells}])
    (outcome,) = outcomes(path, RATED, reply="text")
    assert outcome.missing == reason
    assert (outcome.published, outcome.prompts, outcome.interactions) == (True, (), 0)
    assert dict(outcome.values) == ({} if reason else {"score": 7.0, "odd": True})
    assert len(outcome.invalid) <= 1


def test_what_a_protocol_makes_of_an_invalid_reply_counts(tmp_path: Path) -> None:
    path = written(tmp_path / "t.jsonl", [{"cue": "low", "text": "no"}])
    (outcome,) = outcomes(path, replace(RATED, protocol=rated_anyway), reply="text")
    assert (outcome.missing, outcome.invalid) == (None, ("no_number",))
    assert dict(outcome.values) == {"score": 0.0, "odd": False}


def test_replies_are_read_leniently_where_the_roster_or_the_experiment_says_so(
    tmp_path: Path,
) -> None:
    path = written(tmp_path / "t.jsonl", [{"cue": "low", "text": '```\n{"score": 7}\n```'}])
    entry = TableEntry(path="t", experiment="rated", reply="text")
    roster = Roster(models={"table/t": ModelEntry(replies="lenient")})
    for found in (
        read_table(path, RATED, entry, roster),
        read_table(path, replace(RATED, replies="lenient"), entry),
    ):
        (outcome,) = only(found).outcomes
        assert (outcome.missing, outcome.format_kept) == (None, False)


def test_text_is_kept_where_the_experiment_keeps_it(tmp_path: Path) -> None:
    path = written(tmp_path / "t.jsonl", [{"cue": "low", "text": '{"score": 7}'}])
    (outcome,) = outcomes(path, RATED, reply="text")
    assert (outcome.exchanges[0].reply, bool(outcome.reply_key)) == ('{"score": 7}', True)
    (outcome,) = outcomes(path, replace(RATED, retention="measures"), reply="text")
    assert (outcome.exchanges[0].reply, outcome.reply_key) == ("", "")
    assert dict(outcome.values) == {"score": 7.0, "odd": True}


async def twice(trial: Trial, subject: Subject) -> Rating:
    first: Reply[Rating] = await subject.ask(f"Rate {trial['cue']}.", reply=Rating)
    return (await subject.ask("Again.", reply=Rating, after=first)).value


async def judged(trial: Trial, subject: Subject, judge: Subject) -> Rating:
    raise AssertionError((trial, subject, judge))


async def faulty(trial: Trial, subject: Subject) -> Rating:
    await subject.ask(f"Rate {trial['cue']}.", reply=Rating)
    raise KeyError("gone")


OTHER: Mapping[str, tuple[Mapping[str, Any], str]] = {
    "several questions": (
        {"protocol": twice},
        "line 1, column 'text': is one reply, and rated asks the model more than once: give a",
    ),
    "a judge": (
        {"protocol": judged, "judge": Parameters()},
        "rated has a judge, and a column of replies has no grades: give a column for each",
    ),
    "the author's error": (
        {"protocol": faulty},
        "line 1, column 'text': cannot be read, as the experiment's own code fails on it: KeyErr",
    ),
    "a measure's error": (
        {"measures": [Measure("x", lambda r: r.score / 0)]},
        "line 1, column 'text': cannot be read, as the experiment's own code fails on it: ZeroDi",
    ),
}


@pytest.mark.parametrize(("changes", "words"), OTHER.values(), ids=OTHER)
def test_replies_that_are_not_enough(
    tmp_path: Path, changes: Mapping[str, Any], words: str
) -> None:
    path = written(tmp_path / "t.jsonl", [{"cue": "low", "text": '{"score": 7}'}])
    (line,) = said(path, replace(RATED, **changes), reply="text")
    assert line.startswith(words)


def test_what_else_is_wrong_with_a_table_of_replies(tmp_path: Path) -> None:
    path = written(tmp_path / "t.jsonl", [{"cue": "low", "text": "7", "missing": "error"}])
    assert said(path, RATED, reply="text") == [
        "line 1, column 'text': holds '7', and the trial is missing (error)"
    ]
    has = "collected_at, cue, experiment, finish, missing, replicate, served"
    assert said(path, RATED, reply="answer", columns={"score": "n"})[:2] == [
        f"'columns' names score, and rated has {has}",
        "column 'answer': there is no such column (reply); there are cue, text, missing",
    ]


# --- where rows and cells stand ------------------------------------------------------------------


def test_rows_inside_an_object_and_cells_in_lists_are_addressed(tmp_path: Path) -> None:
    body = {"choices": [{"message": {"content": '{"score": 7}'}}]}
    whole = {"results": {"results": [{"vars": {"cue": "low"}, "body": body}], "x": []}}
    path = tmp_path / "t.json"
    path.write_text(json.dumps(whole), "utf-8")
    of: dict[str, Any] = {
        "reply": "body.choices.0.message.content",
        "columns": {"cue": "vars.cue"},
    }
    (outcome,) = outcomes(path, RATED, rows="results.results", **of)
    assert dict(outcome.values) == {"score": 7.0, "odd": True}
    lists = "; name the list of its rows (rows): results.results"
    assert said(path, RATED, rows="results", **of) == [
        f"there is no list of objects at results{lists}"
    ]
    assert said(path, RATED, **of) == [f"the file is no list of objects{lists}"]
    (line,) = said(
        path, RATED, rows="results.results", **{**of, "reply": "body.choices.1.message"}
    )
    assert line.startswith("column 'body.choices.1.message': there is no such column (reply)")
    words = ["'rows' is about an object in a .json file, and no tool's"]
    assert said(path, RATED, rows="results", tool="batch") == words
    assert said(path.rename(tmp_path / "t.jsonl"), RATED, rows="results") == words


def test_numbers_that_are_none_matter_in_mapped_columns_alone(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    line = '{"cue": "low", "score": 7, "odd": %s, "bias": [0.0, NaN], "other": -Infinity}\n'
    path.write_text(line % "true", "utf-8")
    (outcome,) = outcomes(path, RATED)
    assert dict(outcome.values) == {"score": 7.0, "odd": True}
    assert said(path, RATED, columns={"score": "other"}) == [
        "line 1, column 'other': -inf should be a finite number"
    ]


def test_a_second_file_is_joined_by_an_id(tmp_path: Path) -> None:
    path = written(
        tmp_path / "t.jsonl",
        [{"id": n, "text": '{"score": 7}', "note": "x"} for n in (1, 2)],
    )
    other = [{"id": "2", "body": {"cue": "high"}}, {"id": "1", "body": {"cue": "low"}}]
    of: dict[str, Any] = {"reply": "text", "columns": {"cue": "body.cue"}}
    join = {"file": str(written(tmp_path / "in.jsonl", other)), "on": "id"}
    found = outcomes(path, RATED, join=Join(**join), **of)
    assert [each.trial.id for each in found] == ["low#1", "high#1"]
    file = written(tmp_path / "in.jsonl", [{**other[0], "note": 1}] * 2)
    assert said(path, RATED, join=Join(**join), **of) == [
        "column 'note': two columns have this name",
        "line 1, column 'body.cue': '' is no level of cue: low, high",
        f"line 1, column 'id': '1' is in no row of {file}",
        f"{file}, line 2, column 'id': '2' is twice in it",
    ]
    lines = said(path, RATED, join=Join(**{**join, "on": "no"}), **of)
    assert sorted(line for line in lines if "'no': there is no such column (join)" in line) == [
        f"{file}, column 'no': there is no such column (join); there are id, body.cue, note",
        "column 'no': there is no such column (join); there are id, text, note",
    ]
    file.unlink()
    line, *_ = said(path, RATED, join=Join(**join), **of)
    assert line.startswith(f"{file}: the file cannot be read: ")


def declared(line: str) -> TableEntry:
    text = f"[table.t]\npath = 't'\nexperiment = 'e'\ncollected_by = 'w'\n{line}"
    return parse_roster(text, Path("r")).own_tables["t"]


PLACES = Experiment(
    id="places",
    name="Places",
    factors=[Factor("race", ["white", "black"]), Factor("sex", ["male", "female"])],
    items=Items("job", ["job11", "job12"]),
    protocol=rated,
    measures=[Measure("score", bounds=(0, 12))],
    replicates=2,
)


def test_a_column_is_split_into_several_and_a_suffix_is_taken_off(tmp_path: Path) -> None:
    rows = [
        {"group": "W_male_private", "file": "job11.txt", "score": 3},
        {"group": "B_female_none_at_all", "file": "job12.txt", "score": 4},
    ]
    of: dict[str, Any] = {
        "parts": {"group": "{race}_{sex}_{}", "file": "{item}.txt"},
        "values": {"race": {"W": "white", "B": "black"}},
    }
    for source in (written(tmp_path / "t.csv", rows), pd.DataFrame(rows)):
        found = outcomes(source, PLACES, **of)
        assert [each.trial.id for each in found] == ["white-male/job11#1", "black-female/job12#1"]
    path = written(tmp_path / "t.csv", [rows[0], {**rows[1], "group": "x", "file": "job12.pdf"}])
    assert said(path, PLACES, **of)[:2] == [
        "line 3, column 'file': 'job12.pdf' is not of the form {item}.txt",
        "line 3, column 'group': 'x' is not of the form {race}_{sex}_{}",
    ]
    (line, *_) = said(path, PLACES, parts={**of["parts"], "no": "{x}"})
    assert line.startswith("column 'no': there is no such column (parts); there are ")


@pytest.mark.parametrize("pattern", ["{a}{b}", "job", "{a}-{a}", "{a", ""])
def test_a_pattern_that_tells_no_columns_apart_is_refused(pattern: str) -> None:
    with pytest.raises(BadSetting, match=r"\[table.t\] parts.x: "):
        declared(f"parts.x = '{pattern}'")


# --- what is in a table twice, unread, or not there ----------------------------------------------


def drawn(number: int, cue: str) -> Sequence[Mapping[str, Any]]:
    scores = (3, 9, 4, 1, 12, 5, 8, 0, 2, 7, 11, 6, 10)
    return [{"cue": cue, "score": scores[n % 13], "odd": n % 3 == 0} for n in range(number)]


PILOT = [*drawn(6, "high"), *drawn(7, "low")]


@pytest.mark.parametrize(
    ("rows", "where"),
    [
        (PILOT * 10, "line 14: this and the 116 lines below repeat lines 1 to 117"),
        (PILOT * 2, "line 14: this and the 12 lines below repeat lines 1 to 13"),
        ([*PILOT, *PILOT[1:]], "line 14: this and the 11 lines below repeat lines 2 to 13"),
    ],
    ids=["ten times", "twice", "overlapping exports"],
)
def test_a_table_that_holds_its_rows_again_is_refused_until_it_is_declared(
    tmp_path: Path, rows: Sequence[Mapping[str, Any]], where: str
) -> None:
    path = written(tmp_path / "t.jsonl", rows)
    (line,) = said(path, RATED)
    assert line.startswith(where)
    assert len(outcomes(path, RATED, repeats=True)) == len(rows)
    marked = [{**row, "replicate": n} for n, row in enumerate(rows)]
    assert len(outcomes(written(path, marked), RATED)) == len(rows)


@pytest.mark.parametrize("column", ["id", "at"])
def test_rows_that_an_id_shows_to_be_copies_are_refused_in_any_order(
    tmp_path: Path, column: str
) -> None:
    rows = [{**row, column: f"2026-11-{n + 10}"} for n, row in enumerate(PILOT)]
    again = [rows[3], rows[9]]
    (line,) = said(written(tmp_path / "t.csv", [*rows, *again]), RATED)
    assert line.startswith(
        f"lines 15, 16: repeats another in all columns, of which {column!r} tells all others apart"
    )
    path = written(tmp_path / "t.csv", [*rows, *({**row, column: "x"} for row in again)])
    assert len(outcomes(path, RATED)) == 15
    path = written(path, [*rows, *again])
    assert len(outcomes(path, RATED, repeats=True)) == 15


def test_rows_that_are_alike_by_chance_or_by_their_order_are_replies(tmp_path: Path) -> None:
    turns: list[Mapping[str, Any]] = [
        {"cue": cue, "score": 5, "odd": (n * n) % 7 < 4, "prompt": f"Rate {cue}."}
        for n in range(60)
        for cue in ("low", "high")
    ]
    sorted_rows = sorted(turns, key=lambda row: str(row["cue"]))
    for rows in (turns[:18], sorted_rows, [turns[0]] * 40):
        assert len(outcomes(written(tmp_path / "t.jsonl", rows), RATED)) == len(rows)


def test_a_column_that_may_tell_who_answered_is_declared(tmp_path: Path) -> None:
    rows = [
        {"cue": cue, "score": 3, "odd": True, name: value, "run": n}
        for n, (cue, value) in enumerate([("low", "a"), ("high", "b")])
        for name in ["llm"]
    ]
    path = written(tmp_path / "t.jsonl", rows)
    (line,) = said(path, RATED)
    assert line == (
        "column 'llm': is not read, and may tell who answered ('a', 'b'): name it as model, or "
        "else list it as unread"
    )
    coverage = there(found(path, unread=frozenset({"llm"})).recording.published).coverage
    assert coverage.endswith("; not read: llm, run")
    assert len(read_table(path, RATED, TableEntry(path="t", experiment="rated", model="llm"))) == 2
    for name in ("Provider", "served_by", "model_version", "x-endpoint"):
        renamed = [{**row, name: row["llm"], "llm": 1} for row in rows]
        (line,) = said(written(path, renamed), RATED)
        assert line.startswith(f"column {name!r}: is not read, and may tell who answered")
    for names in (["openai/gpt-5", "claude-x"], ["Qwen3-8B", "o3"]):
        several = [{**row, "run": name} for row, name in zip(rows, names, strict=True)]
        (line,) = said(written(path, several), RATED, unread={"llm"})
        assert line.startswith("column 'run': is not read, and may tell who answered")
    followed = [{**row, "model": row["llm"], "provider": f"of {row['llm']}"} for row in rows]
    assert len(read_table(written(path, followed), RATED)) == 2


def found(path: Path, **entry: Any) -> Any:
    return only(read_table(path, RATED, TableEntry(path="t", experiment="rated", **entry)))


def test_units_that_lack_a_cell_are_said_first(tmp_path: Path) -> None:
    named = replace(
        PLACES,
        factors=[
            Factor("race", ["white", "black"], exemplars={"white": ["Al"], "black": ["Bo", "Di"]}),
            Factor("sex", ["male", "female"]),
        ],
    )
    rows = [
        {"race": race, "race_exemplar": name, "sex": sex, "item": job, "score": 1, "missing": ""}
        for race, name in (("white", "Al"), ("black", "Bo"), ("black", "Di"))
        for sex in ("male", "female")
        for job in ("job11", "job12")
    ]
    path = written(tmp_path / "t.csv", rows[:-1])
    assert coverage_of(path, named).startswith(
        "1 of 3 exemplars of race lack a cell that others have; "
        "1 of 2 items lack a cell that others have; 11 of the 24 trials of the gate design"
    )
    written(path, [*rows[:-1], {**rows[-1], "score": "", "missing": "error"}])
    assert coverage_of(path, named).startswith("1 of 3 exemplars of race lack a cell")
    assert coverage_of(written(path, rows), named).startswith("12 of the 24 trials of the gate")


def coverage_of(path: Path, of: Experiment) -> str:
    return str(there(only(read_table(path, of)).recording.published).coverage)
