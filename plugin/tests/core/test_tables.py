"""Tables that others recorded: what becomes of their rows, and all that can be wrong with them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_bias import (
    Experiment,
    Factor,
    Items,
    MeanDifference,
    Measure,
    Parameters,
    PositiveControl,
    Subject,
    Trial,
)
from pytest_bias.errors import BadData, BadSetting, NotRecorded, UnknownName
from pytest_bias.settings.roster import Roster, parse_roster
from pytest_bias.settings.settings import Settings
from pytest_bias.settings.table_entry import TableEntry
from pytest_bias.tables.declared import Tables
from pytest_bias.tables.subjects import TableSource

from ..helpers import there


class Reply:
    """What the protocol gives, for its annotations."""

    score: int
    tone: str
    kind: str
    sure: bool


async def asked(trial: Trial, subject: Subject) -> Reply:
    raise AssertionError((trial, subject))


TOY = Experiment(
    id="toy",
    name="Toy",
    factors=[
        Factor("cue", {"low": 3, "high": 9}),
        Factor("group", {"a": "A", "b": "B"}, exemplars={"a": ["Ann", "Al"], "b": ["Bo"]}),
    ],
    items=Items("text", ["recipe", "letter"]),
    protocol=asked,
    measures=[
        Measure("score", bounds=(0, 12), unit="points"),
        Measure("tone", categories=["warm", "cold"]),
        Measure("sure"),
        Measure("long", lambda reply: reply.score > 6),
    ],
    replicates=5,
)


def cued(name: str, *measures: Measure, **changes: Any) -> Experiment:
    """An experiment of one factor and these measures."""
    given: dict[str, Any] = {"factors": TOY.factors[:1], "protocol": asked, "replicates": 5}
    return Experiment(id=name, name=name, measures=measures, **(given | changes))


HEAD = "model,cue,group,group_exemplar,item,score,tone,sure,missing,at,n"
GOOD = "m,low,a,Ann,recipe,5,warm,true,,2026-02-05T13:51:23.941Z,1"
COLUMNS = {"missing": "missing", "collected_at": "at", "replicate": "n"}


def tables(folder: Path, content: str | None, *, name: str = "toy", **entry: Any) -> Tables:
    """A roster's tables: one, with what its file holds; None for no file at all."""
    if content is not None:
        (folder / "t.csv").write_text(content, "utf-8")
    given = {"experiment": "toy", "model": "model", "columns": COLUMNS, **entry}
    declared = TableEntry(path="t.csv", source="a paper", licence="CC0-1.0", **given)
    return Tables(Roster(tables={name: declared}, folder=folder))


def replies(folder: Path, *rows: str, model: str = "published/m", **entry: Any) -> TableSource:
    return tables(folder, "\n".join([HEAD, *rows]), **entry).of(TOY, model)


def problems(folder: Path, *rows: str, **entry: Any) -> list[str]:
    """The lines in which a table is refused, without the first."""
    with pytest.raises(BadData) as refused:
        replies(folder, *rows, **entry)
    first, *rest = str(refused.value).splitlines()
    count = int(str(refused.value).partition(": ")[2].partition(" ")[0])
    number = f"{count} problem{'s' * (count > 1)}"
    assert first == (
        f"[published.toy] path=t.csv: {number}, and no row is used before they are mended:"
    )
    return [line.removeprefix("  ") for line in rest]


# --- rows ----------------------------------------------------------------------------------------


def test_each_row_is_a_trial_numbered_within_its_cell_in_the_order_of_the_file(
    tmp_path: Path,
) -> None:
    found = replies(
        tmp_path,
        "m,high,b,Bo,letter,7,cold,false,,,1",
        GOOD,
        "other,low,a,Ann,recipe,1,warm,true,,,1",
        "m,low,a,Ann,recipe,.6e1,warm,TRUE,,,2",
        "m,low,a,Al,recipe,,,,refusal,,1",
    )
    assert [o.trial.id for o in found.outcomes] == [
        "low-a/Ann/recipe#1",
        "low-a/Ann/recipe#2",
        "low-a/Al/recipe#1",
        "high-b/Bo/letter#1",
    ]
    first, second, lost, last = found.outcomes
    assert first.values == {"score": 5.0, "tone": "warm", "sure": True, "long": False}
    assert last.values == {"score": 7.0, "tone": "cold", "sure": False, "long": True}
    assert second.values is not None
    assert second.values["score"] == 6.0
    assert (lost.missing, lost.values) == ("refusal", {})
    assert [each.recorded_at for each in first.exchanges] == ["2026-02-05T13:51:23.941Z"]
    assert all(o.published and o.prompts == () and o.result is None for o in found.outcomes)
    assert found.design.replicates == 2
    assert (found.recording.interactions, found.recording.retention) == (None, "measures")


def test_columns_and_words_of_the_source_are_translated(tmp_path: Path) -> None:
    content = (
        "who,anchor,group,name,item,months,tone,sure,why\n"
        "vendor/M 1,3mo,a,Ann,recipe,5,friendly,true,\nvendor/M 1,3mo,a,Ann,recipe,,,,Error!\n"
    )
    columns = {"cue": "anchor", "group_exemplar": "name", "score": "months", "missing": "why"}
    words = {
        "who": {"vendor/M 1": "m"},
        "anchor": {"3mo": "low"},
        "tone": {"friendly": "warm"},
        "why": {"Error!": "error"},
    }
    found = tables(tmp_path, f"\ufeff{content}", model="who", columns=columns, values=words)
    first, second = found.of(TOY, "published/m").outcomes
    assert (first.trial.condition.id, there(first.values)["score"]) == ("low-a", 5.0)
    assert (second.trial.condition.id, second.missing) == ("low-a", "error")


def test_two_models_of_a_source_are_never_one_subject(tmp_path: Path) -> None:
    one, two = GOOD, GOOD.replace("m,", "y,", 1)
    checksums = {
        replies(tmp_path, one, two, model=f"published/{n}").recording.checksum for n in "my"
    }
    assert len(checksums) == 2  # the same rows are not the same replies
    found = problems(tmp_path, one, two, two.replace(",1", ",2"), values={"model": {"y": "m"}})
    assert found[0] == (
        "lines 3, 4, column 'model': 'y' and 'm' are both 'm' in our words, and replies of two "
        "models are not pooled"
    )


def test_without_a_column_of_replicates_a_repeated_row_is_another_trial(tmp_path: Path) -> None:
    found = replies(tmp_path, GOOD, GOOD, columns={"missing": "missing"})
    assert [o.trial.replicate for o in found.outcomes] == [1, 2]
    assert there(found.recording.published).coverage.endswith(
        "no column 'replicate' tells a row that stands twice from a reply given twice: "
        "1 of the table's 2 rows repeat another in all columns; not read: at, n"
    )
    assert "replicate" not in there(replies(tmp_path, GOOD).recording.published).coverage
    assert all(each.recorded_at is None for o in found.outcomes for each in o.exchanges)


def test_an_optional_measure_that_the_table_lacks_is_none_of_its_trials(tmp_path: Path) -> None:
    echo = Measure("echo", bounds=(0, 12), optional=True)
    of = cued("toy", Measure("score", bounds=(0, 12)), echo)
    control = PositiveControl(MeanDifference("echo", "cue", high="high", low="low"))
    for content, there_is in (("cue,score,echo\nlow,5,3\n", True), ("cue,score\nlow,5\n", False)):
        given = tables(tmp_path, content, model=None, columns={})
        (outcome,) = given.of(of, "published/toy").outcomes
        assert ("echo" in there(outcome.values)) == there_is
        read = of.as_read([outcome])
        assert [m.name for m in read.measures] == ["score", "echo"][: 1 + there_is]
        assert control.is_in(read, read.design()) == there_is


# --- what is wrong -------------------------------------------------------------------------------

MEND = (
    "if it stands for a reply that could not be read, leave the cell empty and say why (missing)"
)
NO_NUMBER = "should be a valid number, unable to parse string as a number"
NO_LABEL = "is no label (lower-case letters and digits, joined by '_')"
WRONG = [
    ("cue", "mid", "'mid' is no level of cue: low, high"),
    ("cue", " low", "' low' is no level of cue: low, high"),
    ("group_exemplar", "Bo", "'Bo' is no exemplar of group at a: Ann, Al"),
    ("item", "poem", "'poem' is no text: recipe, letter"),
    ("n", "", "is empty, so that replicates cannot be told apart"),
    ("score", "13", f"'13' is not within 0 to 12 points; {MEND}"),
    ("score", "-1", f"'-1' is not within 0 to 12 points; {MEND}"),
    *[("score", word, f"{word!r} {NO_NUMBER}") for word in ("six", "５", ".", "5.5.", "-")],
    ("score", "5.5", "'5.5' is no whole number"),
    ("score", "", "is empty, and nothing says why the trial is missing"),
    ("tone", "No. " * 5000, f"'{'No. ' * 14}No… is no tone: cold, warm"),
    ("tone", "hot", "'hot' is no tone: cold, warm"),
    ("sure", "perhaps", "'perhaps' should be a valid boolean, unable to interpret input"),
    ("missing", "I cannot judge", f"'I cannot judge' {NO_LABEL}"),
    ("at", "yesterday", "'yesterday' is no time as 2026-02-05T13:51:23Z"),
    ("model", "", "'' names no model"),
    ("model", " m", "' m' names no model"),
]


@pytest.mark.parametrize(("column", "cell", "words"), WRONG)
def test_a_wrong_cell_is_refused_with_its_line_and_column(
    tmp_path: Path, column: str, cell: str, words: str
) -> None:
    cells = dict(zip(HEAD.split(","), GOOD.split(","), strict=True)) | {column: cell}
    said = problems(tmp_path, GOOD.replace(",1", ",9"), ",".join(cells.values()))
    assert said == [f"line 3, column {column!r}: {words}"]


def test_a_trial_that_stands_there_again_and_a_line_of_few_cells_are_named(
    tmp_path: Path,
) -> None:
    rows = [GOOD, GOOD.replace(",1", ",2"), GOOD, f"{GOOD}.0", "m,low"]
    assert problems(tmp_path, *rows) == [
        "lines 4, 5, column 'n': repeats line 2: the same model, condition and replicate '1'",
        "line 6: has 2 cells, and the first line names 11 columns",
    ]


def test_lines_are_those_of_the_file_where_a_row_takes_several(tmp_path: Path) -> None:
    quoted = 'm,low,a,Ann,recipe,5,"wa\nrm",true,,,1'
    assert problems(tmp_path, "", quoted, GOOD.replace(",5,", ",99,").replace(",1", ",9")) == [
        "line 3, column 'tone': 'wa\\nrm' is no tone: cold, warm",
        f"line 5, column 'score': '99' is not within 0 to 12 points; {MEND}",
    ]


def test_columns_that_are_not_there_are_named_with_what_is_there(tmp_path: Path) -> None:
    content = "model,group,group_exemplar,item,score,sure,sure\nm,a,Ann,recipe,99,true,true\n"
    columns = {"missing": "why", "colour": "hue"}
    given = tables(
        tmp_path, content, columns=columns, values={"hue": {"red": "r"}, "item": {}, "tint": {}}
    )
    with pytest.raises(BadData) as refused:
        given.of(TOY, "published/m")
    has = (
        "collected_at, cue, experiment, group, group_exemplar, item, long, missing, replicate, "
        "score, served, sure"
    )
    there = "there are model, group, group_exemplar, item, score, sure, sure"
    assert str(refused.value).splitlines()[1:] == [
        f"  'columns' names colour, and toy has {has}, tone",
        f"  column 'cue': there is no such column (cue); {there}",
        "  column 'hue': there is no such column (values)",
        "  column 'sure': two columns have this name",
        "  column 'tint': there is no such column (values)",
        "  column 'tone': there is no such column (tone)",
        "  column 'why': there is no such column (missing)",
        f"  line 2, column 'score': '99' is not within 0 to 12 points; {MEND}",
    ]


def test_a_measure_whose_function_needs_more_than_the_table_has(tmp_path: Path) -> None:
    score = Measure("score", bounds=(0, 12))
    deep = cued("deep", score, Measure("words", lambda r: len(r.text)))
    content = "model,cue,score\nm,low,1\nm,high,2\n"
    with pytest.raises(BadData) as refused:
        tables(tmp_path, content, experiment="deep", columns={}).of(deep, "published/m")
    (said,) = str(refused.value).splitlines()[1:]
    assert said.startswith(
        "  lines 2, 3, column 'words': is no column, and its function cannot take it from the "
        "other measures (AttributeError: "
    )


FILES: Mapping[str, tuple[str | None, str]] = {
    "no such file": (
        None,
        "there is no such file; put it there, or remove [published.toy] from the roster",
    ),
    "no column of models": (
        f"{HEAD.replace('model', 'who')}\n{GOOD}",
        "column 'model': there is no such column (model); there are "
        + HEAD.replace("model", "who").replace(",", ", "),
    ),
}


@pytest.mark.parametrize(("content", "said"), FILES.values(), ids=FILES)
def test_a_file_that_is_no_table(tmp_path: Path, content: str | None, said: str) -> None:
    with pytest.raises(BadData) as refused:
        tables(tmp_path, content).of(TOY, "published/m")
    assert str(refused.value) == (
        "[published.toy] path=t.csv: 1 problem, and no row is used before they are mended:\n"
        f"  {said}"
    )


# --- subjects ------------------------------------------------------------------------------------


def settings(**given: Any) -> Settings:
    folder = Path("cassettes")
    return Settings(
        **{"models": ("published/m",), "report": None, "results": None, "cassettes": folder}
        | given
    )


def test_a_subject_of_no_table(tmp_path: Path) -> None:
    given = tables(tmp_path, f"{HEAD}\n{GOOD}\n")
    given.check(settings())
    given.check(settings(models=("openai/new",), baseline="published/m", record="missing"))
    with pytest.raises(UnknownName, match="unknown published subject 'published/gpt'; known: pub"):
        given.check(settings(models=("simulated/even", "published/gpt")))
    with pytest.raises(
        UnknownName, match=r"known: none; a table is declared in the roster, as \["
    ):
        Tables(Roster()).check(settings(models=(), baseline="published/old"))


def test_nobody_is_asked_again(tmp_path: Path) -> None:
    given: list[tuple[dict[str, Any], str]] = [
        ({"record": "all"}, "--bias-record=all: published/m is a table of what was"),
        ({"plan": True}, "--bias-plan: published/m is a table of what was recorded"),
    ]
    for changes, words in given:
        with pytest.raises(BadSetting, match=words):
            tables(tmp_path, f"{HEAD}\n{GOOD}\n").check(settings(**changes))


def test_another_experiment_or_condition_is_not_covered(tmp_path: Path) -> None:
    given = tables(tmp_path, f"{HEAD}\n{GOOD}\n")
    other = cued("other", Measure("score"))
    with pytest.raises(NotRecorded, match="published/m has no replies to other: its table has"):
        given.of(other, "published/m")
    found = given.of(TOY, "published/m")
    assert len(found.outcomes_of(found.design, TOY.conditions[0])) == 1
    with pytest.raises(NotRecorded, match="condition high-b of toy: its table has those to low"):
        found.outcomes_of(found.design, TOY.conditions[-1])


def test_another_experiments_table_that_is_not_there_stops_no_other(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(f"{HEAD}\n{GOOD}\n", encoding="utf-8")
    of: dict[str, Any] = {"model": "model", "source": "x", "licence": "y", "columns": COLUMNS}
    whole = TableEntry(path="t.csv", experiment="toy", **of)
    gone = TableEntry(path="gone.csv", experiment="anchoring", **of)
    given = Tables(Roster(tables={"gone": gone, "toy": whole}, folder=tmp_path))
    given.check(settings())
    assert len(given.of(TOY, "published/m").outcomes) == 1
    both = Tables(Roster(tables={"one": whole, "two": whole}, folder=tmp_path))
    with pytest.raises(
        BadSetting, match=r"\[published.one\] and \[published.two\] both have repl"
    ):
        both.of(TOY, "published/m")
    words = r"there is no such file; put it there, or remove \[published.gone\] from the roster"
    other = replace(TOY, id="anchoring")  # any subject of its section may be in that table
    for refused in (
        lambda: given.check(settings(models=("published/n",))),
        lambda: given.of(TOY, "published/n"),
        lambda: given.of(other, "published/m"),
    ):
        with pytest.raises(BadData, match=words):
            refused()


def test_a_note_is_of_the_table_or_of_one_model_of_it(tmp_path: Path) -> None:
    rows = [GOOD, GOOD.replace("m,", "vendor/n,", 1)]
    given: dict[str, Any] = {"values": {"model": {"vendor/n": "n"}}, "notes": {"n": "two routes"}}
    noted: dict[tuple[str, str | None], str] = {("m", None): "", ("n", None): "two routes"}
    noted |= {("m", "selected"): "selected", ("n", "selected"): "two routes; selected"}
    for (model, note), said in noted.items():
        found = replies(tmp_path, *rows, model=f"published/{model}", note=note, **given)
        assert there(found.recording.published).note == said
    assert problems(tmp_path, *rows, values={}, notes={"n": "two routes"}) == [
        "'notes' names n, and the table has m, vendor/n"
    ]


def test_who_graded_is_said_where_there_is_a_judge(tmp_path: Path) -> None:
    async def judged(trial: Trial, subject: Subject, judge: Subject) -> Reply:
        raise AssertionError((trial, subject, judge))

    score = Measure("score", bounds=(0, 12))
    graded = cued("toy", score, protocol=judged, judge=Parameters())
    content = "model,cue,score\nm,low,1\n"
    words = r"nothing says who graded: name it as judge in .* or with judge= \(--judge\) if it has"
    with pytest.raises(BadData, match=words):
        tables(tmp_path, content, columns={}).of(graded, "published/m")
    found = tables(tmp_path, content, columns={}, judge="gpt-4o").of(graded, "published/m")
    assert found.recording.judge == "gpt-4o"
    ungraded = replace(graded, judge=None, protocol=asked)
    found = tables(tmp_path, content, columns={}, judge="gpt-4o").of(ungraded, "published/m")
    assert found.recording.judge is None


# --- the roster ----------------------------------------------------------------------------------

ENTRY = """
[published.toy]
path = "t.csv"
experiment = "toy"
model = "model"
source = "a paper"
licence = "CC0-1.0"
"""
ROSTERS = {
    "a key too many": ("size = 3", "[published.toy] size: is not known here"),
    "no text": ("[published.toy.columns]\ncue = 3", "[published.toy] columns.cue: "),
    "a note of no words": ("note = ' '", "[published.toy] note: "),
    "a note for no model": ("notes = 'mixed'", "[published.toy] notes: "),
    "no table": ("[published.toy.values]\ncue = 'low'", "[published.toy] values.cue: "),
}


@pytest.mark.parametrize(("line", "said"), ROSTERS.values(), ids=ROSTERS)
def test_a_declaration_that_is_none(line: str, said: str) -> None:
    with pytest.raises(BadSetting) as refused:
        parse_roster(f"{ENTRY}{line}\n", Path("bias_models.toml"))
    assert said in str(refused.value)


def test_what_a_declaration_needs() -> None:
    for line in ENTRY.strip().splitlines()[1:]:
        if line.startswith("model"):
            continue  # a table may be of one model, and need no column that says so
        with pytest.raises(BadSetting, match=f"{line.split()[0]}: is needed"):
            parse_roster(ENTRY.replace(line, ""), Path("bias_models.toml"))
    roster = parse_roster(ENTRY, Path("somewhere/bias_models.toml"))
    assert roster.folder == Path("somewhere")
    words = '[published.toy.columns]\n"secret" = "token"\n[published.toy.values.item]\nkey = "x"\n'
    entry = parse_roster(ENTRY + words, Path("bias_models.toml")).tables["toy"]
    assert (entry.columns["secret"], entry.word("item", "key")) == ("token", "x")


@pytest.mark.parametrize(
    "table",
    [
        f"{ENTRY}[published.toy.extra]",
        f"{ENTRY}[published.toy.extra.values]",
        "[values]",
        "[models.columns]",
        "[published.values]",
    ],
)
def test_a_key_elsewhere_in_a_declaration_is_refused(table: str) -> None:
    with pytest.raises(BadSetting, match="keys belong in the environment") as refused:
        parse_roster(f"{table}\ntoken = 'sk-1'\n", Path("bias_models.toml"))
    assert "sk-1" not in str(refused.value)
