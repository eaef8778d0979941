"""Reference pages and the table they are made of, beside what pytest is told."""

from __future__ import annotations

import pytest

from benchmarks import reference
from pytest_bias.settings.options import OPTIONS


def test_the_committed_page_is_the_one_the_table_makes() -> None:
    assert reference.PAGE.read_text("utf-8") == reference.options_page(), (
        "run python plugin/benchmarks/reference.py"
    )


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
