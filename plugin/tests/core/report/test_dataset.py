"""Data sets: columns, types, dictionary, what is never in them, and what is written of them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import pandas as pd  # type: ignore[import-untyped, unused-ignore]  # ships no types
import pytest

from pytest_bias import analyze
from pytest_bias.contrasts.cases import Registry
from pytest_bias.errors import BadDesign, BadSetting, Diagnostics
from pytest_bias.experiments.design import Design, Factor, Items
from pytest_bias.experiments.experiment import Experiment, plan
from pytest_bias.experiments.measures import Measure, MeasureValue
from pytest_bias.experiments.records import CAP, Outcome, Recording, missing_by_cap
from pytest_bias.report.dataset import (
    DataSet,
    DataValue,
    dataset_of,
    licence_notice,
    parquet_bytes,
    readme_text,
)
from pytest_bias.session.exports import contents_of, written_from
from pytest_bias.settings.options import OPTIONS
from pytest_bias.settings.table_entry import TableEntry
from pytest_bias.tables.subjects import read_table
from pytest_bias.workbench.study import StudyOptions
from pytest_bias.workbench.suite import declared_for

from ..factories import experiment, recording
from ..test_settings import settings

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
        found[2] = missing_by_cap(found[2].trial)
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
    category = "dictionary<values=string, indices=int32, ordered=0>"
    types = {field.name: str(field.type) for field in table.schema}
    numbers = {name: kind for name, kind in types.items() if kind != category}
    assert numbers == {
        "replicate": "int64",
        "months": "double",
        "length": "int64",
        "agrees": "bool",
        "invalid_replies": "int64",
        "interactions": "int64",
    }
    second, third = table.to_pylist()[1:3]
    assert (second["missing"], second["months"], second["agrees"]) == ("unspecified", None, None)
    assert (second["invalid_replies"], second["interactions"]) == (2, 2)
    assert (third["missing"], third["interactions"]) == (CAP, 0)


@pytest.mark.requirement("AUDIT-17")
def test_nothing_asked_or_replied_stands_anywhere() -> None:
    data = made()
    content = parquet_bytes(data)
    assert b"SECRET" not in content
    assert "SECRET" not in readme_text({"a.parquet": data.about})
    assert b"Ann" in content, "the file is readable for a search of its bytes"


TEXTS = ["SECRET", "curt SECRET", "", "x" * 81, "two\nlines", "\ud800"]


@pytest.mark.parametrize("text", TEXTS)
def test_text_of_a_measure_without_categories_is_refused_and_not_quoted(text: str) -> None:
    undeclared = [*MEASURES[:2], Measure("tone")]
    with pytest.raises(BadDesign, match=r"'tone'\): gives text, and of text only") as caught:
        made(audit(measures=undeclared), tone=text)
    assert not text or text not in str(caught.value)


@pytest.mark.parametrize("text", TEXTS)
def test_text_that_is_no_category_is_a_missing_trial(text: str) -> None:
    rows = read(made(audit(), tone=text)).to_pylist()
    assert {row["missing"] for row in rows} == {"undeclared_tone", "unspecified", "cap"}
    assert {row["tone"] for row in rows} == {None}


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
        "[Creative Commons Attribution 4.0](https://creativecommons.org/licenses/by/4.0/)",
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


SUBJECT = "simulated/drifted"
DOCUMENTED: StudyOptions = {"design": "documented"}


@pytest.fixture(scope="module")
def registry() -> Registry:
    return declared_for([], "bias_tests")[0]


def cell(value: DataValue) -> str:
    text = "" if value is None else str(value)
    return f'"{text}"' if "," in text else text


# The gate design, but of narrative: 5,760 stories take ten times the time of 720.
@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("anchoring-prosecutor-sentencing", {}),
        ("anchoring-prosecutor-sentencing-all-in-one", {}),
        ("cv-screening", {}),
        ("linguistic-audit", {}),
        ("narrative-personas", DOCUMENTED),
        ("recommendation", {}),
    ],
)
def test_a_data_set_read_as_a_table_gives_the_findings_of_the_cassette(
    registry: Registry, name: str, options: StudyOptions, tmp_path: Path
) -> None:
    experiment = registry[name].experiment
    recorded = analyze(name, SUBJECT, **options)
    data = dataset_of(
        experiment,
        experiment.design(recorded.analysis.design),
        SUBJECT,
        recorded.outcomes,
        recording=recorded.analysis.recording,
        version="0",
        licence="CC0-1.0",
    )
    (tmp_path / "t.parquet").write_bytes(parquet_bytes(data))
    names = [column.name for column in data.about.columns]
    rows = [dict(zip(names, row, strict=True)) for row in data.rows]
    (tmp_path / "t.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    texts = [",".join(map(cell, row)) for row in (names, *data.rows)]
    (tmp_path / "t.csv").write_text("\n".join(texts), encoding="utf-8")
    tabled = analyze(name, tmp_path / "t.parquet")
    assert tabled.findings.equals(recorded.findings)
    assert tabled.analysis.recording.judge == recorded.analysis.recording.judge
    given = TableEntry(path="t", experiment=name, judge=recorded.analysis.recording.judge)
    frame = pd.DataFrame(rows)
    twins = tmp_path / "t.csv", tmp_path / "t.jsonl", frame, frame.convert_dtypes()
    for twin in twins:  # the same trials, of which findings are a function
        (found,) = read_table(twin, experiment, given).values()
        assert found.outcomes == tabled.outcomes


def publish(
    tmp_path: Path,
    *kept: Mapping[str, object],
    incomplete: bool = False,
) -> Diagnostics:
    return written_from(
        kept, tmp_path / "data", incomplete=incomplete, shown=lambda path: path.name
    )


ONE, TWO = (
    {"files": contents_of({f"tiny/a--{name}.parquet": parquet_bytes(made(model=f"a/{name}"))})}
    for name in ("one", "two")
)


def test_files_of_others_and_words_of_the_user_are_left_alone(tmp_path: Path) -> None:
    folder = tmp_path / "data" / "tiny"
    folder.mkdir(parents=True)
    (folder / "other.parquet").write_bytes(b"somebody's")
    (folder / "a--two.parquet").write_bytes(parquet_bytes(made(model="a/two")))
    done = publish(tmp_path, ONE)
    assert done.notes == ("other.parquet is no data set of ours; README.md omits it",)
    assert (folder / "other.parquet").read_bytes() == b"somebody's"
    page = (folder / "README.md").read_text(encoding="utf-8")
    named = [f"`{name}.parquet` |" in page for name in ("a--one", "a--two", "other")]
    assert named == [True, True, False]
    (folder / "README.md").write_text(f"{page}Thanks to Ada.\n", encoding="utf-8")
    (folder / "a--two.parquet").unlink()
    publish(tmp_path, ONE)
    page = (folder / "README.md").read_text(encoding="utf-8")
    assert page.endswith("and keeps what is below. -->\nThanks to Ada.\n")
    assert "a--two.parquet" not in page
    (folder / "README.md").write_text("My own.\n", encoding="utf-8")
    done = publish(tmp_path, ONE)
    assert done.notes[-1].startswith("README.md has no mark of ours and stays, ")
    assert [path.name for path in done.written] == ["a--one.parquet"]
    assert (folder / "README.md").read_text(encoding="utf-8") == "My own.\n"


@pytest.mark.parametrize("value", ["free for all", "a\nb", "-x", "[x](y)"])
def test_a_licence_is_named_by_its_identifier(value: str) -> None:
    with pytest.raises(BadSetting, match="must be an SPDX identifier"):
        settings(dataset_license=value)
