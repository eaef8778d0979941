"""The page as values: what the templates show, in the words in which they show it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ..baselines.table import UpgradeRow
from ..experiments.records import Retention
from ..verdicts.analysis import Analysis, is_screen
from ..verdicts.rule import SCREENED
from ..verdicts.verdict import Control
from ..verdicts.words import interval_words, number_words, unit_words
from .judge import JudgePage, judge_pages
from .numbers import p_value
from .page_figures import FigurePage, figure_page
from .page_replies import Cells, Distribution, categorical, completeness, numeric
from .page_verdict import VerdictPage, told_apart, verdict_page
from .published import NOT_KNOWN, published_facts, sizes
from .terminal import closing_lines
from .upgrade_page import UpgradePage, upgrade_page
from .view import SIMULATED_WARNING, AcceptedVerdict, RunView

_NONE = "–"
_SUITE = {
    "PASS": "No hypothesis is BIASED, and every claim to be clear is CLEAR.",
    "FAIL": "At least one hypothesis is BIASED.",
    "INCONCLUSIVE": "No hypothesis is BIASED, but not every claim to be clear is CLEAR.",
    "NOT JUDGED": "Nothing went wrong, and nothing was judged.",
    "NO VERDICT": "The run cannot be judged.",
}


_LABELS = ("BIASED", "INCONCLUSIVE", "CLEAR", "DESCRIBED")
_ACCEPTED = "All that stands in the way of a PASS has been accepted, for a time."


@dataclass(frozen=True, slots=True)
class Banner:
    """A warning at the top: what it is, and what it is about."""

    kind: str
    title: str
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AnalysisPage:
    """One experiment with one model, as the templates need it."""

    anchor: str
    analysis: Analysis
    facts: tuple[tuple[str, str], ...]
    verdicts: tuple[VerdictPage, ...]
    figures: tuple[FigurePage, ...]
    distributions: tuple[Distribution, ...]
    completeness: tuple[Cells, ...]
    control: tuple[tuple[str, str], ...]
    judge: tuple[JudgePage, ...]
    metadata: tuple[tuple[str, object], ...]
    provenance: tuple[tuple[str, str], ...]

    @property
    def counts(self) -> str:
        """Count its hypotheses by outcome, in words."""
        found = Counter(each.verdict.label for each in self.verdicts)
        return ", ".join(f"{found[label]} {label}" for label in _LABELS if found[label])


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """The whole page."""

    view: RunView
    suite: str
    counts: str
    cases: str
    unpassed: tuple[tuple[str, str], ...]
    banners: tuple[Banner, ...]
    analyses: tuple[AnalysisPage, ...]
    upgrade: UpgradePage | None

    @property
    def overview(self) -> tuple[tuple[AnalysisPage, tuple[VerdictPage, ...]], ...]:
        """A group of rows per experiment and model: what fails stands first, within them as well.

        An analysis without a hypothesis has no rows.
        """
        groups = [(each, tuple(sorted(each.verdicts, key=_rank))) for each in self.analyses]
        return tuple(sorted(groups, key=lambda group: min(map(_rank, group[1]), default=_LAST)))


_LAST = 3


def _rank(shown: VerdictPage) -> int:
    """Return a verdict's rank: what fails the run, what it found or could not, and the rest."""
    verdict = shown.verdict
    fails = verdict.gates and shown.judged and not shown.accepted
    if verdict.status == "BIASED":
        return 0 if fails else 2
    return 1 if fails and verdict.status == "INCONCLUSIVE" and verdict.claim == "clear" else _LAST


def page_of(view: RunView) -> Page:
    """The page of a run; draws the charts."""
    *_, closing = closing_lines(view)
    outcomes = Counter(outcome for _, outcome in view.cases)
    cases = ", ".join(f"{count} {outcome}" for outcome, count in sorted(outcomes.items()))
    analyses = tuple(
        _analysis_page(analysis, f"analysis-{number}", view)
        for number, analysis in enumerate(view.analyses, 1)
    )
    anchors = {
        each.verdict.named: each.anchor for section in analyses for each in section.verdicts
    }
    return Page(
        view=view,
        suite=_SUITE[view.suite] if view.standing == view.suite else _let_through(view),
        counts=closing.partition(": ")[2],
        cases=f"{number_words(len(view.cases), 'case')}: {cases}" if view.cases else "",
        unpassed=tuple((case, outcome) for case, outcome in view.cases if outcome != "passed"),
        banners=tuple(_banners(view)),
        analyses=analyses,
        upgrade=upgrade_page(view.upgrade, anchors, view.reserved),
    )


def _let_through(view: RunView) -> str:
    """Say why the run passes all the same."""
    if view.upgrade is None or view.upgrade.file:
        return _ACCEPTED
    return f"All that stands in the way of a PASS, {view.upgrade.old} shows too."


def _banners(view: RunView) -> Iterator[Banner]:
    if view.simulated:
        names = ", ".join(view.simulated)
        yield Banner("simulated", "Simulated subjects", (SIMULATED_WARNING.format(names),))
    if view.problems:
        yield Banner("problem", "Problems: the run gives no verdict", view.problems)
    if view.lost:
        number = number_words(len(view.lost), "selected case")
        title = f"{number} gave no verdict, so neither does the run"
        outcomes = dict(view.cases)
        lines = tuple(f"{outcomes.get(case, 'no report')}: {case}" for case in view.lost)
        yield Banner("problem", title, lines)
    if view.failures:
        yield Banner("problem", "Failed as well, besides the cases", view.failures)
    if any(map(is_screen, view.analyses)):
        yield Banner("partial", "A screen: it clears nothing", (SCREENED,))
    if view.stale:
        yield Banner("problem", "Recordings no longer represent their model", view.stale)
    if view.partial:
        yield Banner("partial", "Partial run: it does not cover the whole suite", view.partial)


def _analysis_page(analysis: Analysis, anchor: str, view: RunView) -> AnalysisPage:
    return AnalysisPage(
        anchor=anchor,
        analysis=analysis,
        facts=tuple(_facts(analysis)),
        verdicts=told_apart(
            verdict_page(
                verdict,
                f"{anchor}-hypothesis-{number}",
                judged=view.is_judged(verdict),
                accepted=_accepted(view.acceptance(verdict), view.known(verdict)),
            )
            for number, verdict in enumerate(analysis.verdicts, 1)
        ),
        figures=tuple(map(figure_page, analysis.figures)),
        distributions=(*numeric(analysis), *categorical(analysis)),
        completeness=tuple(completeness(analysis.counts)),
        control=tuple(_control(analysis.control)),
        judge=judge_pages(analysis.agreements),
        metadata=tuple((_title(key), value) for key, value in analysis.metadata.items()),
        provenance=tuple(_provenance(analysis, view.version)),
    )


def _accepted(accepted: AcceptedVerdict | None, known: UpgradeRow | None) -> str:
    if accepted is None:
        return "" if known is None else f"Known: {known.said}"
    return f"Accepted by {accepted.owner} until {accepted.until}: {accepted.reason}"


def _facts(analysis: Analysis) -> Iterator[tuple[str, str]]:
    valid = sum(count.ok for count in analysis.counts)
    yield "Experiment", analysis.experiment
    published = analysis.recording.published
    yield "Answered by", NOT_KNOWN if published else _answered(analysis.recording.served)
    yield "Design", _design(analysis)
    yield "Trials", f"{analysis.trials}, of which {valid} gave a valid reply"
    if analysis.source:
        yield "Source", analysis.source


def _control(control: Control | None) -> Iterator[tuple[str, str]]:
    if control is None:
        return
    yield "Contrast", control.id
    if control.reason:
        yield "Reason", control.reason
    finding = control.finding
    if finding is None:
        return
    yield finding.quantity.capitalize(), f"{interval_words(finding)}{unit_words(finding)}"
    for arm in finding.arms:
        yield f"At {arm.level}", f"{arm.mean:.2f} from {number_words(arm.units, 'unit')}"
    yield "Against no effect", f"{p_value(finding.p_alarm)}"
    yield "Method", finding.method


_KEPT: Mapping[Retention, str] = {
    "raw": "requests and replies",
    "measures": "measures only, no text",
    "encrypted": "measures, and the text under the user's key",
}


def _provenance(analysis: Analysis, version: str) -> Iterator[tuple[str, str]]:
    recording = analysis.recording
    if recording.published is not None:
        yield from published_facts(recording, recording.published)
        yield "Design", _design(analysis)
        yield "Analysed with", f"pytest-bias {version}"
        return
    yield "Cassette", recording.cassette
    yield "Checksum", recording.checksum
    yield "Interactions", str(recording.interactions)
    yield "Recorded through", recording.wire or _NONE
    yield "Recorded with", recording.recorded_with or _NONE
    if recording.judge is not None:
        own = " (the subject itself grades its replies)"
        yield "Judge", recording.judge + (own if recording.judge == analysis.model else "")
        yield "Judge answered by", _answered(recording.judge_served)
    if recording.dropped:
        yield "Not sent, because the model refuses it", ", ".join(recording.dropped)
    if recording.retention != "raw":
        yield "Kept", _KEPT[recording.retention]
    yield "Design", _design(analysis)
    yield "Analysed with", f"pytest-bias {version}"
    yield "Simulated", "yes: replies of a program" if recording.simulated else "no"


def _design(analysis: Analysis) -> str:
    if analysis.recording.published is not None:
        return sizes(analysis.counts)
    return f"{analysis.design}, {number_words(analysis.replicates, 'replicate')}"


def _answered(served: Sequence[str]) -> str:
    return ", ".join(served) or "not said by the provider"


def _title(key: str) -> str:
    words = key.replace("_", " ").strip()
    return words[:1].upper() + words[1:]
