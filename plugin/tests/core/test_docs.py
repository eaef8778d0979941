"""What the documentation shows runs, its tables are those of the code, and tests hold it."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchmarks import notebook, reference, requirements
from pytest_bias import Experiment, Factor, Items, Measure, Subject, Trial
from pytest_bias.report.terminal import brief_lines
from pytest_bias.settings.options import OPTIONS
from pytest_bias.workbench.study import Results

DOCS = Path(__file__).parents[3] / "docs"


async def _protocol(trial: Trial, subject: Subject) -> object:
    return await subject.ask(f"{trial['group']}")


def _printed(page: str) -> list[str]:
    text = DOCS.joinpath(page).read_text("utf-8")
    return re.findall(r"^```python\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)


def test_the_hypotheses_shown_can_be_declared_and_answered() -> None:
    (code,) = _printed("hypotheses.md")
    names: dict[str, Any] = {}
    exec(code, names)  # noqa: S102  (our own page)
    groups = ["white_male", "white_female", "black_male", "black_female"]
    experiment = Experiment(
        id="shown",
        name="Shown",
        factors=[
            Factor(
                "group",
                {group: group for group in groups},
                exemplars={group: [f"{group} {n}" for n in range(5)] for group in groups},
            ),
            Factor("english", {"perfect": 0, "l2": 1}),
            Factor("name_type", {"anglo": 0, "non_anglo": 1}),
        ],
        items=Items("seed", {f"s{n}": n for n in range(25)}),
        protocol=_protocol,
        measures=[
            Measure("rating", bounds=(1, 4)),
            Measure("log_length", bounds=(0, 14)),
            Measure("prosocial", kind="flag"),
        ],
        replicates=4,
    )
    hypotheses = names["HYPOTHESES"]
    for hypothesis in hypotheses:
        hypothesis.check(experiment)
    assert len({hypothesis.id for hypothesis in hypotheses}) == len(hypotheses) == 9


def test_the_api_gives_what_its_page_and_the_readme_show(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(DOCS.parent)
    text = (DOCS / "api.md").read_text("utf-8")
    names: dict[str, object] = {}
    for code in _printed("api.md"):
        exec(code, names)  # noqa: S102  (of our own page)
        assert f"```text\n{capsys.readouterr().out}```" in text
    results = names["results"]
    assert isinstance(results, Results)
    of_readme = DOCS.parent.joinpath("README.md").read_text("utf-8")
    (told,) = re.findall(r"^```text\n(    BIASED.*?)\n```$", of_readme, re.DOTALL | re.MULTILINE)
    named = tuple(each.named for each in results.view.verdicts if each.status == "BIASED")
    assert told in "\n".join(brief_lines(replace(results.view, failing=named)))


def test_the_notebook_holds_what_its_cells_show() -> None:
    text = notebook.NOTEBOOK.read_text("utf-8")
    committed = json.loads(text)
    assert notebook.text_of(committed) == text
    run = notebook.told(notebook.executed(committed))
    assert run == notebook.told(committed), "run python plugin/benchmarks/notebook.py"
    assert sum("image/png" in line for line in run) == 1
    assert str(DOCS.parent) not in text


def _prose(page: Path) -> str:
    return re.sub(r"^```.*?^```$", "", page.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)


def _anchors(page: Path) -> set[str]:
    """The anchors that GitHub gives the headings of a page; of several alike the first's."""
    headings = re.findall(r"^#+ (.+)$", re.sub(r"\]\([^)]*\)", "", _prose(page)), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", each.lower()).replace(" ", "-") for each in headings}


@pytest.mark.requirement("AUDIT-35")
def test_links_lead_to_a_file_and_a_heading() -> None:
    root = DOCS.parent
    folders = [*root.glob("docs/**/*.md"), *root.glob("plugin/**/*.md")]
    pages = [*root.glob("*.md"), *folders, *root.glob("bias_tests/**/*.md")]
    links = [
        (page, page.parent / file if file else page, anchor)
        for page in pages
        for file, anchor in re.findall(r"\]\((?!https?:)([^)#]*)#?([^)]*)\)", _prose(page))
    ]
    assert sum(bool(anchor) for *_, anchor in links) > 50
    wrong = [
        f"{page.relative_to(root)} links to {to.name}#{anchor}"
        for page, to, anchor in links
        if not to.exists() or (anchor and anchor not in _anchors(to))
    ]
    assert wrong == []


def test_the_committed_pages_are_those_that_the_tables_make() -> None:
    for path, page in (
        (reference.PAGE, reference.options_page()),
        (reference.COMMANDS, reference.commands_page()),
    ):
        assert path.read_text("utf-8") == page, "run python plugin/benchmarks/reference.py"


def test_pytest_is_told_every_option_and_ini_key_and_no_other(
    pytestconfig: pytest.Config,
) -> None:
    typed = {f"bias_{name}" for name, option in OPTIONS.items() if option.option}
    known = {name for name in vars(pytestconfig.option) if name.startswith("bias_")}
    assert known == typed
    for option in OPTIONS.values():
        if option.ini:
            pytestconfig.getini(option.ini)  # raises for what it does not know


def test_the_picture_of_the_layers_is_that_of_the_contract() -> None:
    page = reference.ARCHITECTURE.read_text("utf-8")
    assert page == reference.architecture_page(page), "run python plugin/benchmarks/reference.py"
    for packages in reference.layers():
        assert all(f"**`{name}" in page for name in packages), "a paragraph for each package"


def test_what_the_architecture_names_is_there() -> None:
    """Files by their paths, and the functions and tables it says they have."""
    page = reference.ARCHITECTURE.read_text("utf-8")
    package = reference.ROOT / "plugin" / "pytest_bias"
    named = set(re.findall(r"`([a-z_/]+/(?:[a-z_]+\.py)?)`", page))
    assert len(named) > 30
    above = (package, package.parent, reference.ROOT)
    assert not [path for path in named if not any((folder / path).exists() for folder in above)]
    for path, name in re.findall(r"`([a-z_/]+\.py)` \(`(\w+)`", page):
        assert re.search(
            rf"^(?:def|class) {name}\b", (package / path).read_text("utf-8"), re.MULTILINE
        )


def test_the_page_of_requirements_is_made_of_them_and_of_the_marks() -> None:
    page = requirements.requirements_page(requirements.documents(), requirements.holdings())
    assert page == requirements.PAGE.read_text("utf-8"), "run plugin/benchmarks/reference.py"


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
