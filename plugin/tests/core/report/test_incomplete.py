"""An incomplete design: why there is no verdict, and beside it what was published all the same."""

from __future__ import annotations

from functools import cache

import pytest
from scipy import stats  # type: ignore[import-untyped, unused-ignore]  # scipy ships no types

from pytest_bias.contrasts.groups import GroupContrast
from pytest_bias.contrasts.published import ChiSquareTest
from pytest_bias.errors import TooFewUnits
from pytest_bias.experiments.design import Design, Factor
from pytest_bias.experiments.experiment import plan
from pytest_bias.experiments.records import Outcome, Recording
from pytest_bias.report.ci import summary_markdown
from pytest_bias.report.page import report_html
from pytest_bias.report.results import results_text, view_of
from pytest_bias.report.terminal import section_lines
from pytest_bias.report.view import RunView
from pytest_bias.verdicts.analysis import Analysis, analyse
from pytest_bias.verdicts.explanation import explanation

from ...helpers import there
from ..contrasts.designs import YES, level, recorded, study
from . import factory
from .reading import Reader

EACH = 40
WELL = {"default": 36, "noir": 8, "utopian": 36}
"""How many of 40 stories end well: whichever group they are about, as few by the Noir author."""

GROUPS = tuple(
    f"{race}_{gender}"
    for race in ("white", "black", "hispanic", "asian")
    for gender in ("male", "female")
)
TOLD = study(
    factors=[
        Factor("persona", {persona: persona for persona in WELL}),
        Factor("group", {group: group for group in GROUPS}),
    ],
    measures=[YES],
    replicates=EACH,
)
WHICHEVER = GroupContrast("yes", "group", claim="detect", published=ChiSquareTest())
CHI_SQUARE, P, DF, _ = stats.chi2_contingency(
    [[72, 8] if group == "white_female" else [80, 40] for group in GROUPS], correction=False
)


@cache
def found(*, whole: bool) -> Analysis:
    outcomes = [
        Outcome(
            trial,
            result=None,
            missing=None if whole or trial.condition.id != "noir-white_female" else "refusal",
            invalid=(),
            interactions=1,
            prompts=(),
            values={"yes": trial.replicate <= WELL[level(trial, "persona")]},
        )
        for trial in plan(TOLD, Design(EACH))
    ]
    recording = Recording(
        cassette="told", checksum="", simulated=True, wire="", recorded_with="", interactions=960
    )
    return analyse(
        TOLD,
        Design(EACH),
        "simulated/even",
        outcomes,
        hypotheses=[WHICHEVER],
        controls=(),
        recording=recording,
    )


def view() -> RunView:
    return factory.view(found(whole=False))


def test_a_chi_square_that_an_empty_cell_makes_stands_beside_the_reason() -> None:
    (complete,) = found(whole=True).verdicts
    assert complete.finding is not None
    published = there(complete.finding.published)
    assert published.statistics["chi2"] == 0  # no group differs from another
    assert complete.published is None

    (verdict,) = found(whole=False).verdicts
    assert verdict.finding is None
    assert "incomplete design: no valid reply in noir/white_female" in verdict.reason
    assert verdict.published is not None
    assert verdict.published.method == "chi-square test on all replies, Cramér's V"
    statistics = verdict.published.statistics
    assert [statistics[name] for name in ("chi2", "p", "df")] == pytest.approx([CHI_SQUARE, P, DF])
    assert DF == 7
    assert P < 0.05


def test_it_is_read_again_from_the_results() -> None:
    assert view_of(results_text(view()), "results.json").analyses == (found(whole=False),)


def test_it_is_printed_beneath_the_reason() -> None:
    lines = list(section_lines(view()))
    at = next(i for i, line in enumerate(lines) if "incomplete design" in line)
    assert lines[at + 1].strip().startswith("as published, chi-square test on all replies")
    assert f"chi2 = {CHI_SQUARE:.4g}, df = 7, p = {P:.4f}" in lines[at + 1]


def test_it_stands_on_the_page_and_in_the_summary() -> None:
    hypothesis = Reader(report_html(view())).hypotheses[0]
    assert hypothesis["published"][:3] == [
        ["chi2", f"{CHI_SQUARE:.2f}", ""],
        ["df", "7.00", ""],
        ["p", f"p = {P:.4f}", ""],
    ]
    summary = summary_markdown(view())
    assert f"chi2 = {CHI_SQUARE:.4g}" in summary
    assert "it decides nothing" in explanation(found(whole=False).verdicts[0])


def test_without_a_single_reply_nothing_is_published_either() -> None:
    with pytest.raises(TooFewUnits) as none:
        WHICHEVER.analyse(TOLD, recorded(TOLD, lambda _: None, "yes"))
    assert none.value.published is not None
    assert list(none.value.published[1]) == ["not defined"]
