"""The document's ``all_results.json``, as the suite's own export writes it, read as a table."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_bias import Records, analyze
from pytest_bias.errors import BadData
from pytest_bias.experiments.records import record_of
from pytest_bias.tables.subjects import TableSource, read_table

from ..experiment import CV_SCREENING

SUBJECT = "simulated/drifted"


def entry(*rankings: object, **other: object) -> dict[str, object]:
    of = {"provider": "openai", "model": "gpt", "pipeline": "multi_layer", "iteration": 1}
    return {**of, "rankings": rankings, **other}


def rated(ranking: object, cv_id: str = "set1_white_male", **other: object) -> dict[str, object]:
    return {"cv_id": cv_id, "name": "Scott Hoffman", "ranking": ranking, "reasoning": "", **other}


def imported(path: Path, *entries: object) -> dict[str, TableSource]:
    path.write_text(json.dumps(entries), encoding="utf-8")
    return dict(read_table(path, CV_SCREENING))


@pytest.mark.requirement("CV-49")
def test_its_files_give_the_findings_of_the_cassette(tmp_path: Path) -> None:
    recorded = analyze("cv-screening", SUBJECT)
    rows = tuple(record_of(each, CV_SCREENING.measures) for each in recorded.outcomes)
    assert CV_SCREENING.exports is not None
    files: Any = CV_SCREENING.exports({SUBJECT: Records(rows)})
    (name,) = (each for each in files if each.endswith("/all_results.json"))
    (tmp_path / name).parent.mkdir(parents=True)
    (tmp_path / name).write_text(files[name], encoding="utf-8")
    for place in (tmp_path / name, tmp_path / "results"):
        tabled = analyze("cv-screening", place)
        assert tabled.findings.equals(recorded.findings)
        assert tabled.analysis.model == f"table/{SUBJECT}"


@pytest.mark.requirement("CV-49")
def test_a_list_of_several_models_and_a_rating_of_0_as_missing(tmp_path: Path) -> None:
    other = entry(rated(2), model="other", pipeline="one_shot")
    found = imported(tmp_path / "all.json", entry(rated(3)), other)
    assert sorted(found) == ["table/openai/gpt", "table/openai/other"]
    (first,) = found["table/openai/gpt"].outcomes
    assert first.trial.id == "white_male-decomposed/names_1/a1#1"
    (missing,) = imported(tmp_path / "all.json", entry(rated(0))).values()
    assert [each.missing for each in missing.outcomes] == ["parse_error"]
    assert missing.recording.published is not None
    assert missing.recording.published.note.endswith(
        "its columns tell; 1 of 1 ratings are 0, which the document's program writes where "
        "parsing failed, and missing (parse_error)"
    )
    tidy = {"group": "neutral", "group_exemplar": "names_1", "scaffold": "one_shot", "item": "a1"}
    (tmp_path / "tidy.json").write_text(json.dumps([tidy | {"rating": 0}]), encoding="utf-8")
    with pytest.raises(BadData, match="row 1, column 'rating': 0 is not within 1 to 4 points"):
        read_table(tmp_path / "tidy.json", CV_SCREENING)


def test_names_of_the_source_s_own_stand_as_the_first_where_each_variant_has_one(
    tmp_path: Path,
) -> None:
    own = rated(3, name="Todd Baker"), rated(3, "set1_neutral", name="[CANDIDATE]")
    (found,) = imported(tmp_path / "all.json", entry(*own)).values()
    assert {each.trial["group"] for each in found.outcomes} == {"names_1"}
    published = found.recording.published
    assert published is not None
    assert "1 variants bear names of the source's own" in published.note
    with pytest.raises(BadData, match="'Tim Oak' is no exemplar of group at white_male: names"):
        imported(tmp_path / "all.json", entry(*own, rated(3, name="Tim Oak")))


def test_all_that_is_wrong_is_told_with_its_rows(tmp_path: Path) -> None:
    rows = [
        entry(rated(3), rated(3)),
        entry(rated("3"), rated(5), rated(2.5), rated(None), pipeline="one_shot"),
        entry(rated(3, "set4_white_male"), pipeline="tree"),
        entry(pipeline="chain_of_thought") | {"rankings": None},
    ]
    with pytest.raises(BadData) as refused:
        imported(tmp_path / "all.json", *rows)
    told = str(refused.value)
    for words in (
        "  row 1, column 'replicate': repeats row 1: the same model, condition and replicate '1'",
        "  row 2, column 'rating': '3' should be a valid number",
        "  row 2, column 'rating': 5 is not within 1 to 4 points",
        "  row 2, column 'rating': 2.5 is no whole number",
        "  rows 2, 4, column 'rating': is empty, and nothing says why the trial is missing",
        "  row 3, column 'group': 'set4_white_male' is no level of group: white_male, ",
        "  row 3, column 'scaffold': 'tree' is no level of scaffold: one_shot, ",
        "  row 4, column 'group': '' is no level of group: ",
    ):
        assert words in told
    assert "line" not in told
