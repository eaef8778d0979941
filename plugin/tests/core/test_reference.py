"""Reference pages and the table they are made of, beside what pytest is told."""

from __future__ import annotations

import re

import pytest

from benchmarks import reference, requirements
from pytest_bias.settings.options import OPTIONS


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
    assert {name for name in vars(pytestconfig.option) if name.startswith("bias_")} == typed
    for option in OPTIONS.values():
        if option.ini:
            pytestconfig.getini(option.ini)  # raises for what it does not know


def test_every_meaning_is_a_plain_phrase_that_a_table_can_hold() -> None:
    for option in OPTIONS.values():
        assert option.meaning[-1] not in ".:"
        assert not {"|", "\n", "`"} & {*option.help}
        assert not option.choices or option.default in option.choices


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
