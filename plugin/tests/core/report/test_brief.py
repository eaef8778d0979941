"""What the reports say in brief, of incomplete designs, and never: a negative zero."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from scipy import stats  # type: ignore[import-untyped, unused-ignore]  # scipy ships no types

from pytest_bias.contrasts.groups import GroupContrast
from pytest_bias.contrasts.published import ChiSquareTest
from pytest_bias.experiments.design import Design, Factor
from pytest_bias.experiments.experiment import plan
from pytest_bias.experiments.records import Outcome, Recording
from pytest_bias.report.page import report_html
from pytest_bias.report.run import read_results, results_text
from pytest_bias.report.terminal import section_lines, summary_markdown
from pytest_bias.stats.results import Interval
from pytest_bias.verdicts.analysis import Analysis, analyse
from pytest_bias.verdicts.wording import estimated

from ..contrasts.designs import YES, level, study
from . import factory
from .reading import Reader, blocks

EACH = 40
WELL = {"default": 36, "noir": 8}
"""How many of 40 stories end well: whichever group they are about, few by the Noir author."""

STORIES = study(
    factors=[Factor("persona", dict.fromkeys(WELL)), Factor("group", {"a": 0, "b": 1, "c": 2})],
    measures=[YES],
    replicates=EACH,
)
WHICHEVER = GroupContrast("yes", "group", claim="detect", published=ChiSquareTest())
CHI_SQUARE, P, DF, _ = stats.chi2_contingency([[36, 4], [44, 36], [44, 36]], correction=False)


def incomplete() -> Analysis:
    """No valid reply of one group to Noir, whose stories seldom end well."""
    outcomes = [
        Outcome(
            trial, None, "refusal" if trial.condition.id == "noir-a" else None, (), 1, (),
            values={"yes": trial.replicate <= WELL[level(trial, "persona")]},
        )
        for trial in plan(STORIES, Design(EACH))
    ]  # fmt: skip
    recording = Recording(
        cassette="told", checksum="", simulated=True, wire="", recorded_with="", interactions=240
    )
    of: dict[str, Any] = {"hypotheses": [WHICHEVER], "controls": (), "recording": recording}
    return analyse(STORIES, Design(EACH), "simulated/even", outcomes, **of)


def test_a_chi_square_that_an_empty_cell_makes_stands_beside_the_reason_in_every_report() -> None:
    run = factory.view(incomplete())
    (verdict,) = run.verdicts
    assert verdict.finding is None
    assert "incomplete design: no valid reply in noir/a" in verdict.reason_text
    assert verdict.published is not None
    assert verdict.published.method == "chi-square test on all replies, Cramér's V"
    statistics = verdict.published.statistics
    assert [statistics[name] for name in ("chi2", "p", "df")] == pytest.approx([CHI_SQUARE, P, DF])
    assert read_results(results_text(run), "results.json").analyses == run.analyses
    lines = list(section_lines(run))
    at = next(i for i, line in enumerate(lines) if "incomplete design" in line)
    assert f"chi2 = {CHI_SQUARE:.4g}, df = {DF}, " in lines[at + 1]
    assert f"chi2 = {CHI_SQUARE:.4g}" in summary_markdown(run)
    hypothesis = Reader(report_html(run)).hypotheses[0]
    assert ["chi2", f"{CHI_SQUARE:.2f}", ""] in hypothesis["published"]


NEGATIVE = re.compile(r"(?<![\w.^])[-−]0(?:\.0+)?(?![\w.])(?!\.\d)")
VALUES = [-0.0, *(-(10.0**-power) * digit for power in range(1, 9) for digit in (1, 4, 5, 9))]


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
    said += [
        *section_lines(run),
        summary_markdown(run, []),
    ]
    said += [*map(estimated, made)]
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
