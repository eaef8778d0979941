"""What the documents require, beside the tests that say they hold it."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import requirements
from benchmarks.requirements import BadMark, Document, Holding

FOUND = requirements.documents()


@pytest.fixture(scope="module")
def named() -> set[str]:
    """The requirements that tests name."""
    return {name for each in requirements.holdings() for name in each.ids}


def test_no_requirement_is_without_a_test_unless_it_is_open_and_says_why(named: set[str]) -> None:
    for document in FOUND:
        assert not [
            name
            for name in document.requirements
            if name not in named and len(document.open.get(name, "").split()) < 8
        ]
        assert {*document.open} <= {*document.requirements}


def test_marks_name_ids_that_are_numbered_without_gaps_and_sentences_fit_a_table(
    named: set[str],
) -> None:
    ids = [name for document in FOUND for name in document.requirements]
    assert sorted(named - {*ids}) == []
    assert len(ids) == len({*ids})
    for document in FOUND:
        prefix = next(iter(document.requirements)).partition("-")[0]
        numbers = range(1, len(document.requirements) + 1)
        assert [*document.requirements] == [f"{prefix}-{number:02}" for number in numbers]
        for sentence in (*document.requirements.values(), *document.open.values()):
            assert sentence[0].isupper() or sentence[0] == "`"
            assert sentence.endswith(".")
            assert not {"|", "\n"} & {*sentence}


MARK = '@pytest.mark.requirement("A-01", "A-02")\n'


def test_marks_of_functions_methods_and_classes_are_read(tmp_path: Path) -> None:
    folder = tmp_path / "plugin" / "tests" / "deep"
    folder.mkdir(parents=True)
    text = (
        f"{MARK}async def test_a(): ...\n{MARK}class TestB:\n    {MARK}    def test_c(self): ..."
    )
    (folder / "test_it.py").write_text(text, encoding="utf-8")
    assert requirements.holdings(tmp_path) == [
        Holding("plugin/tests/deep/test_it.py", name, ("A-01", "A-02"))
        for name in ("test_a", "TestB", "test_c")
    ]


@pytest.mark.parametrize(
    "text",
    [
        f"pytestmark = {MARK[1:]}",
        f"{MARK}def help(): ...",
        "@pytest.mark.requirement(name)\ndef test_a(): ...",
        "@pytest.mark.requirement()\ndef test_a(): ...",
    ],
)
def test_a_mark_that_nobody_would_read_is_refused(text: str, tmp_path: Path) -> None:
    path = tmp_path / "bias_tests" / "game" / "tests" / "test_it.py"
    path.parent.mkdir(parents=True)
    path.write_text(f"import pytest\n{text}\n", encoding="utf-8")
    with pytest.raises(BadMark, match=r"test_it\.py, line 2: requirement marks decorate a test"):
        requirements.holdings(tmp_path)


def test_what_is_open_says_why_beside_the_tests_of_what_is_done_instead() -> None:
    document = Document("game", "Game", {"A-01": "It rains."}, {"A-01": "It snows."})
    page = requirements.requirements_page([document], [Holding("p/t.py", "test_a", ("A-01",))])
    row = "| A-01 | It rains. | *Open:* It snows.<br>[t.py](../p/t.py): `test_a` |\n"
    assert page.endswith(f"|---|---|---|\n{row}")
