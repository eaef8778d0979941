"""The HTML report: one file that needs nothing else and runs nothing.

Templates word what they show by functions of this package; here stands what they go through.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from ..baselines.table import UpgradeRow
from ..verdicts.analysis import Analysis, is_screen
from ..verdicts.explanation import explanation, settling_words
from ..verdicts.judge_agreement import alpha_words
from ..verdicts.rule import SCREENED
from ..verdicts.verdict import DESCRIBED, NOTHING_FOUND, HypothesisName, number_form
from .figures import human_interval
from .illustrations import figure_page
from .jinja import rendered
from .page_replies import completeness, distributions
from .page_verdict import (
    RELATIONS,
    VerdictPage,
    analysis_rows,
    chart_caption,
    direction_words,
    meaning_words,
    overview_cells,
    told_apart,
    verdict_chart,
    verdict_page,
)
from .published import published_facts, sizes
from .terminal import agreement_bounds, alpha_value, closing_lines, held_words
from .view import AcceptedVerdict, RunView

_LABELS = ("BIASED", "INCONCLUSIVE", "CLEAR", NOTHING_FOUND, DESCRIBED)
_LAST = 3
_CALLED = (
    *(completeness, distributions, explanation, figure_page, settling_words),
    *(analysis_rows, chart_caption, direction_words, meaning_words, overview_cells),
    *(published_facts, sizes),
    *(agreement_bounds, alpha_value, alpha_words, held_words),
    *(human_interval, number_form, verdict_chart),
)
"""Functions that the page's templates call by their names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnalysisPage:
    """One experiment with one model, and its hypotheses."""

    anchor: str
    analysis: Analysis
    verdicts: tuple[VerdictPage, ...]

    @property
    def counts(self) -> str:
        """Count its hypotheses by outcome, in words."""
        found = Counter(each.verdict.label for each in self.verdicts)
        return ", ".join(f"{found[label]} {label}" for label in _LABELS if found[label])


@dataclass(frozen=True, slots=True)
class Page:
    """The analyses of the page."""

    analyses: tuple[AnalysisPage, ...]

    @property
    def overview(self) -> tuple[tuple[AnalysisPage, tuple[VerdictPage, ...]], ...]:
        """A group of rows per experiment and model: what fails stands first, within them as well.

        An analysis without a hypothesis has no rows.
        """
        groups = [(each, tuple(sorted(each.verdicts, key=_rank))) for each in self.analyses]
        return tuple(sorted(groups, key=lambda group: min(map(_rank, group[1]), default=_LAST)))

    @property
    def anchors(self) -> dict[HypothesisName, str]:
        """Where the page tells of each hypothesis."""
        return {v.verdict.named: v.anchor for each in self.analyses for v in each.verdicts}


def _rank(shown: VerdictPage) -> int:
    """Return a verdict's rank: what fails the run, what it found or could not, and the rest."""
    verdict = shown.verdict
    fails = verdict.gates and shown.judged and not shown.accepted
    if verdict.status == "BIASED":
        return 0 if fails else 2
    return 1 if fails and verdict.status == "INCONCLUSIVE" and verdict.claim == "clear" else _LAST


def report_html(view: RunView) -> str:
    """The page of a run. The same run gives the same bytes: no clock, no path, no network."""
    *_, closing = closing_lines(view)
    return rendered(
        "report.html.j2",
        view=view,
        page=page_of(view),
        closing=closing,
        screens=any(map(is_screen, view.analyses)),
        screened=SCREENED,
        relations=RELATIONS,
        **{function.__name__: function for function in _CALLED},
    )


def page_of(view: RunView) -> Page:
    """The analyses of a run and their hypotheses, each with its place on the page."""
    return Page(
        tuple(
            AnalysisPage(
                anchor=f"analysis-{number}",
                analysis=analysis,
                verdicts=told_apart(
                    verdict_page(
                        verdict,
                        f"analysis-{number}-hypothesis-{place}",
                        judged=view.is_judged(verdict),
                        accepted=_accepted(view.acceptance(verdict), view.known(verdict)),
                    )
                    for place, verdict in enumerate(analysis.verdicts, 1)
                ),
            )
            for number, analysis in enumerate(view.analyses, 1)
        )
    )


def _accepted(accepted: AcceptedVerdict | None, known: UpgradeRow | None) -> str:
    if accepted is None:
        return "" if known is None else f"Known: {known.said}"
    return f"Accepted by {accepted.owner} until {accepted.until}: {accepted.reason}"
