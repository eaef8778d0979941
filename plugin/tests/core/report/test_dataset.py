"""Data sets: columns, types, dictionary, and what is never in them."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ruamel.yaml import YAML

from pytest_bias.cassettes.measured import reason_label
from pytest_bias.errors import BadDesign, MissingPackage
from pytest_bias.experiments.design import Design, Factor, Items
from pytest_bias.experiments.experiment import Experiment, plan
from pytest_bias.experiments.measures import Measure, MeasureValue
from pytest_bias.experiments.records import CAP, Outcome, Recording, lost_to_cap
from pytest_bias.report.dataset import (
    DataSet,
    about_from,
    about_text,
    dataset_of,
)
from pytest_bias.report.dataset_files import (
    ABOUT,
    LICENCES,
    about_file,
    check_installed,
    licence_notice,
    parquet_bytes,
    readme_text,
)
from pytest_bias.settings.options import OPTIONS

from ...helpers import fewer
from ..factories import experiment, outcomes_of, record, recording

pa, pq = import_module("pyarrow"), import_module("pyarrow.parquet")  # they have no types

RECORDING = recording(checksum="c0ffee", recorded_with="pytest-bias 0.1.0", interactions=9)
MEASURES = (
    Measure("months", unit="months", bounds=(0, 1_000_000)),
    Measure("agrees"),
    Measure("length", unit="characters", integer=True),
    Measure("tone", version=3, meaning="how it is said", categories=["curt", "kind"]),
)
VALUES: Mapping[str, MeasureValue] = {
    "months": 4.0,
    "agrees": True,
    "length": 24.0,
    "tone": "curt",
}


def audit(**changes: Any) -> Experiment:
    """Two factors (one sampled by exemplars, one of numbers), items and three kinds of measure."""
    parts: dict[str, Any] = {
        "factors": [
            Factor(
                "origin",
                {"here": "SECRET VALUE", "there": "SECRET VALUE TOO"},
                exemplars={"here": ["Ann", "Bo"], "there": ["Cy", "Di"]},
            ),
            Factor("demand", {"low": 3, "high": 9}, unit="months"),
        ],
        "items": Items("seed", {"bread": "SECRET ITEM", "train": "SECRET ITEM TOO"}),
        "measures": MEASURES,
        "replicates": 2,
        "source": "People et al. (2006)",
    }
    return experiment(**(parts | changes))


def made(
    of: Experiment | None = None,
    design: Design | None = None,
    *,
    model: str = "openai/tiny",
    outcomes: Sequence[Outcome] = (),
    recording: Recording = RECORDING,
    licence: str = OPTIONS["dataset_license"].default,
    **values: MeasureValue,
) -> DataSet:
    """A data set of ``outcomes``; else its second trial is missing, the third lost to a cap."""
    of = of if of is not None else audit()
    design = design if design is not None else of.design()
    found = [*outcomes] or [
        Outcome(trial, None, None, (), 1, ("SECRET PROMPT",), values=dict(VALUES) | values)
        for trial in plan(of, design)
    ]
    if not outcomes and len(found) > 2:
        refused = ("SECRET WORDS", "refusal")
        found[1] = Outcome(found[1].trial, None, "SECRET REPLY", refused, 2, ())
        found[2] = lost_to_cap(found[2].trial)
    return dataset_of(
        of, design, model, found, recording=recording, version="0.1.0", licence=licence
    )


def read(data: DataSet) -> Any:
    return pq.read_table(pa.BufferReader(parquet_bytes(data)))


@pytest.mark.requirement("AUDIT-16")
def test_a_row_per_trial_with_labels_measures_and_counts() -> None:
    table = read(made())
    assert table.num_rows == 2 * 2 * 2 * 2 * 2
    assert table.to_pylist()[0] == {
        "experiment": "tiny",
        "model": "openai/tiny",
        "design": "gate",
        "origin": "here",
        "demand": "low",
        "origin_exemplar": "Ann",
        "item": "bread",
        "replicate": 1,
        "months": 4.0,
        "agrees": True,
        "length": 24,
        "tone": "curt",
        "missing": None,
        "invalid_replies": 0,
        "interactions": 1,
    }
    second, third = table.to_pylist()[1:3]
    assert (second["missing"], second["months"], second["agrees"]) == ("unspecified", None, None)
    assert (second["invalid_replies"], second["interactions"]) == (2, 2)
    assert (third["missing"], third["interactions"]) == (CAP, 0)


@pytest.mark.requirement("AUDIT-16")
def test_columns_are_typed() -> None:
    types = {field.name: str(field.type) for field in read(made()).schema}
    category = "dictionary<values=string, indices=int32, ordered=0>"
    assert types == {
        "experiment": category,
        "model": category,
        "design": category,
        "origin": category,
        "demand": category,
        "origin_exemplar": category,
        "item": category,
        "replicate": "int64",
        "months": "double",
        "length": "int64",
        "agrees": "bool",
        "tone": category,
        "missing": category,
        "invalid_replies": "int64",
        "interactions": "int64",
    }


def test_without_items_and_values_columns_stay_and_are_empty() -> None:
    of = experiment(replicates=1)
    outcomes = [lost_to_cap(trial) for trial in plan(of, of.design())]
    data = made(of, outcomes=outcomes)
    table = read(data)
    assert table["item"].to_pylist() == table["score"].to_pylist() == [None, None]
    assert str(table.schema.field("score").type) == "null"
    assert "| `score` | unknown (null: no trial has a value) |" in readme_text({"f": data.about})


def test_a_smaller_design_names_only_the_exemplars_it_meets() -> None:
    of = audit(designs={"small": Design(replicates=1, exemplars=1)})
    data = made(of, of.design("small"))
    (column,) = [each for each in data.about.columns if each.name == "origin_exemplar"]
    assert column.levels == ("Ann", "Cy")
    assert data.about.design == "small"


@pytest.mark.requirement("AUDIT-17")
def test_nothing_asked_or_replied_stands_anywhere() -> None:
    data = made()
    content = parquet_bytes(data)
    assert b"SECRET" not in content
    assert "SECRET" not in readme_text({"a.parquet": data.about})
    assert b"Ann" in content, "the file is readable for a search of its bytes"


@pytest.mark.parametrize("retention", ["raw", "measures"])
def test_retention_changes_no_cell(retention: Any, tmp_path: Path) -> None:
    of = experiment(measures=[Measure("score", bounds=(0, 10))])
    outcomes = outcomes_of(of, record(tmp_path, of))
    if retention == "measures":
        outcomes = [
            replace(outcome, result=None, prompts=("digest",), values={"score": 5.0})
            for outcome in outcomes
        ]
    data = made(of, outcomes=outcomes, recording=replace(RECORDING, retention=retention))
    assert read(data)["score"].to_pylist() == [5.0] * 6
    assert f"recording keeps: {retention}" in readme_text({"a": data.about})


def test_bytes_are_the_same_each_time() -> None:
    assert parquet_bytes(made()) == parquet_bytes(made())


@fewer(2)
@given(
    months=st.floats(0, 1_000_000),
    agrees=st.booleans(),
    tone=st.sampled_from(["curt", "kind", "curt kind"]),
)
def test_values_come_back_as_they_were(months: float, agrees: bool, tone: str) -> None:  # noqa: FBT001
    data = made(months=months, agrees=agrees, tone=tone)
    row = read(data).to_pylist()[0]
    assert (row["months"], row["agrees"], row["tone"]) == (months, agrees, tone)


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"measures": [Measure("origin")]}, "would be called 'origin'"),
        ({"measures": [Measure("origin_exemplar")]}, "would be called 'origin_exemplar'"),
        ({"measures": [Measure("replicate")]}, "would be called 'replicate'"),
        ({"factors": [Factor("model", {"a": 1, "b": 2})]}, "would be called 'model'"),
    ],
)
def test_two_columns_of_one_name_are_refused(changes: dict[str, Any], problem: str) -> None:
    with pytest.raises(BadDesign, match=problem):
        made(audit(**changes), origin=1.0, origin_exemplar=1.0, replicate=1.0)


TEXTS = ["SECRET", "curt SECRET", "", "x" * 81, "two\nlines", "\ud800"]


@pytest.mark.parametrize("retention", ["raw", "measures"])
@pytest.mark.parametrize("text", TEXTS)
def test_text_of_a_measure_without_categories_is_refused_and_not_quoted(
    text: str, retention: str
) -> None:
    undeclared = [*MEASURES[:2], Measure("tone")]
    with pytest.raises(BadDesign, match=r"'tone'\): gives text, and of text only") as caught:
        made(audit(retention=retention, measures=undeclared), tone=text)
    assert not text or text not in str(caught.value)


@pytest.mark.parametrize("retention", ["raw", "measures"])
@pytest.mark.parametrize("text", TEXTS)
def test_text_that_is_no_category_is_a_missing_trial(text: str, retention: str) -> None:
    rows = read(made(audit(retention=retention), tone=text)).to_pylist()
    assert {row["missing"] for row in rows} == {"undeclared_tone", "unspecified", "cap"}
    assert {row["tone"] for row in rows} == {None}


def test_values_of_several_types_are_refused() -> None:
    of = experiment(measures=[Measure("tone")], replicates=1)
    values: list[MeasureValue] = ["curt", 2.0]
    outcomes = [
        Outcome(trial, None, None, (), 1, (), values={"tone": value})
        for trial, value in zip(plan(of, of.design()), values, strict=True)
    ]
    with pytest.raises(BadDesign, match="values of several types"):
        made(of, outcomes=outcomes)


@pytest.mark.parametrize(
    ("reason", "label"),
    [
        ("refusal", "refusal"),
        ("not_json", "not_json"),
        ("I cannot say", "unspecified"),
        ("a" * 41, "unspecified"),
        ("", "unspecified"),
    ],
)
def test_reasons_are_labels(reason: str, label: str) -> None:
    assert reason_label(reason) == label


def entries(page: str) -> dict[str, list[str]]:
    """The data dictionary: column → its cells."""
    rows = [line.strip("|").split(" | ") for line in page.splitlines() if line.startswith("| `")]
    return {row[0].strip(" `"): [cell.strip() for cell in row[1:]] for row in rows}


def test_the_dictionary_has_every_column() -> None:
    data = made()
    page = readme_text({"openai--tiny.parquet": data.about})
    found = entries(page)
    assert set(found) == {c.name for c in data.about.columns} | {"openai--tiny.parquet"}
    assert found["months"] == [
        "number (double)",
        "months",
        "0 to 1000000",
        "measure of the reply (version 1)",
        "",
    ]
    assert found["tone"][3:] == ["how it is said (version 3)", "curt"]
    assert found["demand"][1] == "months"
    assert found["demand"][3].endswith("manipulated: low = 3, high = 9")
    assert found["item"][4] == "bread, train"
    assert found["missing"][4] == "cap, unspecified"
    assert found["openai--tiny.parquet"][3:] == [
        "32",
        "30",
        "cap 1, unspecified 1",
        "refusal 1, unspecified 1",
        "32",
    ]


@pytest.mark.requirement("AUDIT-31")
def test_the_readme_says_where_the_data_come_from_and_how_they_are_licensed() -> None:
    page = readme_text({"openai--tiny.parquet": made().about})
    assert "Simulated" not in page
    for words in (
        "wire: made by hand",
        "recording: tiny/openai--tiny, SHA-256 c0ffee",
        "versions of measures: agrees 1, length 1, months 1, tone 3",
        "People et al. (2006)",
        f"({LICENCES['CC-BY-4.0'][1]}) (`CC-BY-4.0`)",
    ):
        assert words in page
    assert licence_notice("MPL-2.0") == "This data set is licensed under `MPL-2.0`."


def test_a_simulated_subject_is_called_so_in_the_file_and_in_the_readme() -> None:
    data = made(model="simulated/even", recording=replace(RECORDING, simulated=True))
    metadata = read(data).schema.metadata
    assert metadata[b"simulated"] == b"true"
    assert b"simulated/even. Nothing about them" in metadata[b"notice"]
    page = readme_text({"a.parquet": data.about, "b.parquet": made().about})
    assert "**Simulated subjects, programs that stand in for models: simulated/even." in page
    plain = read(made()).schema.metadata
    assert (plain[b"simulated"], plain.get(b"notice")) == (b"false", None)


@pytest.mark.parametrize(
    ("rows", "licence", "size", "shown"),
    [
        (999, "CC-BY-4.0", "n<1K", {"license": ["cc-by-4.0"]}),
        (1000, "MPL-2.0", "1K<n<10K", {"license": ["other"], "license_name": "MPL-2.0"}),
        (10**6, "CC0-1.0", "1M<n<10M", {"license": ["cc0-1.0"]}),
    ],
)
def test_the_readme_is_a_card_that_hubs_read(
    rows: int, licence: str, size: str, shown: dict[str, Any]
) -> None:
    about = replace(made(licence=licence).about, trials=rows, name='Ada: "a", <b>')
    _, front, rest = readme_text({"openai--tiny.parquet": about}).split("---\n", 2)
    card = YAML(typ="safe", pure=True).load(front)
    assert card == {
        "pretty_name": 'Ada: "a", <b>',
        **shown,
        "task_categories": ["text-generation"],
        "size_categories": [size],
        "tags": ["bias", "evaluation"],
        "configs": [{"config_name": "openai--tiny", "data_files": "openai--tiny.parquet"}],
    }
    assert rest.startswith("# Ada")


def test_files_of_other_columns_have_a_dictionary_of_their_own() -> None:
    one, two = made(model="a/one", tone="curt"), made(model="a/two", tone="kind")
    page = readme_text({"two.parquet": two.about, "one.parquet": one.about})
    assert page.count("## Columns") == 1
    assert entries(page)["tone"][4] == "curt, kind"
    assert page == readme_text({"one.parquet": one.about, "two.parquet": two.about})
    other = made(audit(measures=MEASURES[:2]), model="a/three", licence="CC0-1.0")
    page = readme_text({"one.parquet": one.about, "three.parquet": other.about})
    assert "## Columns of `one.parquet`" in page
    assert "## Columns of `three.parquet`" in page
    assert "`three.parquet`: This data set is licensed under [CC0 1.0" in page


def test_words_of_the_author_cannot_break_the_tables() -> None:
    of = audit(name="A | *name*", source="line\nbreak <b>", metadata={"measures": "no names"})
    page = readme_text({"a": made(of).about})
    assert r"# A \| \*name\*: data" in page.splitlines()
    assert r"line break \<b\>" in page


def test_what_a_file_says_of_itself_is_read_back() -> None:
    data = made()
    assert about_file(parquet_bytes(data)) == data.about


def test_files_of_others_say_nothing() -> None:
    table = pa.table({"x": [1]})
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink)
    assert about_file(sink.getvalue().to_pybytes()) is None
    assert about_file(b"no parquet at all") is None
    assert about_from("{}") is None
    assert about_from(about_text(replace(made().about, format=99))) is None
    assert ABOUT in read(made()).schema.metadata


def test_without_pyarrow_the_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    check_installed()
    data = made()
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingPackage, match=r"pip install 'pytest-bias\[dataset\]'"):
        check_installed()
    with pytest.raises(MissingPackage, match="pyarrow is not installed"):
        parquet_bytes(data)
