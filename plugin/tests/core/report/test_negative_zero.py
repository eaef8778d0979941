"""No number in print is a negative zero, whatever rounds to it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

import pytest

from pytest_bias.report.audit import audit_files, audit_record
from pytest_bias.report.ci import summary_markdown
from pytest_bias.report.numbers import plain_number
from pytest_bias.report.page import report_html
from pytest_bias.report.terminal import section_lines
from pytest_bias.statistics.results import Interval
from pytest_bias.verdicts.explanation import explanation
from pytest_bias.verdicts.verdict import with_interval

from . import factory
from .reading import blocks

NEGATIVE = re.compile(r"(?<![\w.^])[-−]0(?:\.0+)?(?![\w.])(?!\.\d)")
VALUES = [-0.0, *(-(10.0**-power) * digit for power in range(1, 9) for digit in (1, 4, 5, 9))]


def test_what_is_looked_for_is_found() -> None:
    assert [*map(bool, map(NEGATIVE.search, ("-0.00", "[−0.0, 1]", "-0")))] == [True] * 3
    for words in ("-0.04", "2026-01-02", "0-0.0x", "+0.00"):
        assert not NEGATIVE.search(words), words


def test_no_report_prints_a_negative_zero() -> None:
    made = [
        factory.verdict(
            factory.finding(
                estimate=value, interval=_at(value), margin=margin,
                arms=tuple(replace(arm, mean=value) for arm in factory.finding().arms),
                human=replace(human, estimate=value, interval=_at(value))
                if (human := factory.finding().human)
                else None,
            ),
            id=f"of-{margin}-{number}", shown=(_at(value), _at(value)),
        )
        for number, value in enumerate(VALUES)
        for margin in (0.5, 0.125)
    ]  # fmt: skip
    run = factory.view(factory.analysis(*made))
    page = report_html(run)
    said = [*_texts(blocks(page)["d-run"]), re.sub(r"(?s)<(style|script).*?</\1>", "", page)]
    said += [*section_lines(run), summary_markdown(run, []), *map(explanation, made)]
    filed = audit_files(audit_record(run, made[0].model, {}))
    said += [text.rpartition("\n---\n")[2] for name, text in filed.items() if name.endswith("md")]
    drawn = re.compile(r' d="[^"]*"')
    found = [hit[0] for text in said for hit in NEGATIVE.finditer(drawn.sub("", text))]
    assert found == []


def _texts(value: object) -> Iterator[str]:
    """All texts of JSON: its numbers are for programs."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _texts(each)


def _at(value: float) -> Interval:
    return Interval(low=value, high=-value, level=0.95)


@pytest.mark.parametrize("value", VALUES)
def test_nor_does_any_form_of_a_number(value: float) -> None:
    for form in ("+z.2f", "z.3f", "z.3g"):
        assert not NEGATIVE.search(with_interval(value, _at(value), form))
    assert not NEGATIVE.search(plain_number(value))
