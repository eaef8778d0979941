"""The HTML report: one file that needs nothing else and asks for nothing.

What stands in it as text is the summary, for whoever runs no script and for print; a script of its
own draws the rest from data beside it. The templates call functions of this package.
"""

from __future__ import annotations

from base64 import b64encode
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from hashlib import sha256
from importlib.resources import files as resources

from ..baselines.entries import is_stopped
from ..experiments.canonical import digest
from ..verdicts.analysis import Analysis
from ..verdicts.wording import interval_text, margin_text, unit_text
from .escapes import rendered
from .page_data import FAR, PageRow, in_margins, page_rows, run_value
from .page_facts import UNSAID, design_text
from .replies import TrialBlock, packed
from .run import RunResult, results_text
from .wording import (
    OUTCOMES,
    ended_text,
    found_line,
    lost_text,
    missing_text,
    models_outcome,
    outcome,
    reserved,
    shipping,
    upgrade_heading,
)

_LABELS = ("BIASED", "INCONCLUSIVE", "CLEAR", "NOTHING FOUND", "DESCRIBED")
_TONES = {"PASS": "clear", "FAIL": "biased", "INCONCLUSIVE": "open"}

MOST = 20
"""Hypotheses that stop a run, and that are to be looked at, which the summary names; all are in
the list of hypotheses."""


def report_html(
    run: RunResult,
    replies: Sequence[TrialBlock] = (),
    old: Sequence[Analysis] = (),
) -> str:
    """The page of a run. The same run gives the same bytes: no clock, no path, no network.

    ``replies`` are the trials, where they are at hand; ``old`` the analyses of the model that the
    run is compared with.
    """
    replies = sorted(replies, key=lambda each: (each.experiment, each.model))
    rows = page_rows(run, old)
    new = [row for row in rows if not row.old]
    style, script = asset("app.css"), asset("app.min.js")
    blocks = {"d-run": packed(run_value(run, rows, old, replies))}
    blocks |= {f"d-{place}": each.block for place, each in enumerate(replies)}
    return rendered(
        "report.html.j2",
        run=run,
        cards=[*_cards(run, rows, old, replies)],
        question=question_text(run),
        outcome=outcome(run),
        tone=tone_of(outcome(run)),
        shipping=_shipping(run),
        found=found_line(run).partition(": ")[2],
        stopping=[row for row in new if row.stops],
        looked=[*_to_look_at(new)],
        accepted_by=dict.fromkeys(f"{each.owner} until {each.until}" for each in run.accepted),
        most=MOST,
        judged=[row for row in new if row.judged],
        results=digest(results_text(run)),
        limits=[*_limits(run)],
        style=style,
        script=script,
        policy=policy_of(style, script),
        blocks=blocks,
        **{function.__name__: function for function in _WORDS},
    )


@cache
def asset(name: str) -> str:
    """A file of the page."""
    return (resources(__package__) / "assets" / name).read_text(encoding="utf-8")


def policy_of(style: str, script: str) -> str:
    """The page's policy: this very style and script, and nothing from anywhere."""
    sums = [b64encode(sha256(text.encode()).digest()).decode("ascii") for text in (style, script)]
    of_style, of_script = (f"'sha256-{each}'" for each in sums)
    return (
        f"default-src 'none'; style-src {of_style}; script-src {of_script}; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


def tone_of(words: str) -> str:
    """The mark and colour of an outcome; it is not in order where something was let through."""
    found = (suite for suite, printed in OUTCOMES.items() if words.partition(",")[0] in printed)
    return "open" if " with " in words else _TONES.get(next(found, ""), "none")


def _shipping(run: RunResult) -> str:
    """Whether the upgrade may ship, of several models with their names; '' where there is none."""
    if run.upgrade is None:
        return ""
    say = upgrade_heading if len(run.upgrade.new) > 1 else shipping
    return say(run.upgrade, reserved(run))[1]


def question_text(run: RunResult) -> str:
    """The question of a run."""
    if run.upgrade is not None:
        return f"May {' or '.join(run.upgrade.new)} replace {run.upgrade.compared_with}?"
    models = run.models or (() if run.scope is None else run.scope.models)
    if len(models) == 1:
        return f"Is {models[0]} free of the biases tested for?"
    return f"Which of {len(models)} models are free of the biases tested for?"


def counted(rows: Sequence[PageRow]) -> str:
    """``2 BIASED, 1 CLEAR``."""
    found = Counter(row.verdict.label for row in rows)
    return ", ".join(f"{found[label]} {label}" for label in _LABELS if found[label])


def seen_text(analyses: Sequence[Analysis]) -> str:
    """``6 of 6 controls seen``."""
    asked = [control for each in analyses for control in each.controls if control.recorded]
    if not asked:
        return "no positive control"
    return f"{sum(control.seen for control in asked)} of {len(asked)} controls seen"


def _cards(
    run: RunResult, rows: Sequence[PageRow], old: Sequence[Analysis], replies: Sequence[TrialBlock]
) -> Iterator[Mapping[str, object]]:
    """Each model on the first screen: its own outcome, and what that rests on."""
    dates = {each.model: each.dates for each in replies}
    for role, analyses in (("old", old), ("new" if old else "", run.analyses)):
        for model in dict.fromkeys(analysis.model for analysis in analyses):
            own = tuple(analysis for analysis in analyses if analysis.model == model)
            of = [row for row in rows if row.verdict.model == model and row.judged]
            failing = tuple(name for name in run.failing if name[1] == model)
            alone = replace(run, analyses=own, failing=failing)
            if role == "old":  # what went wrong in this run is none of its own
                alone = RunResult(
                    analyses=own, cases=(), lost=(), partial=(), problems=(), version=run.version
                )
            served = sorted({name for each in own for name in each.recording.served})
            facts = [seen_text(own)]
            facts.append(
                f"answered by {', '.join(served)}" if served else f"who answered: {UNSAID}"
            )
            facts += [f"recorded {dates[model]}"] if dates.get(model) else []
            facts.append(f"{sum(each.trials for each in own):,} trials")
            yield {
                "model": model,
                "role": role,
                "outcome": models_outcome(alone),
                "tone": tone_of(models_outcome(alone)),
                "counts": counted(of),
                "stops": sum(row.stops for row in of),
                "facts": facts,
            }


def _to_look_at(rows: Sequence[PageRow]) -> Iterator[PageRow]:
    """Give the hypotheses that do not stop the run and are not shown to be in order."""
    for row in rows:
        moved = row.change is not None and row.change.is_open
        against = is_stopped(row.verdict.status, row.verdict.claim)
        if not row.stops and row.judged and (moved or against or row.let):
            yield row


def _limits(run: RunResult) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The limits that each experiment names."""
    for analysis in {each.experiment: each for each in run.analyses}.values():
        limits = analysis.metadata.get("limitations", ())
        words = tuple(map(str, limits)) if isinstance(limits, list | tuple) else (str(limits),)
        if words:
            yield analysis.name or analysis.experiment, words


def margins_text(row: PageRow) -> str:
    """``+5.4 margins``: the estimate in units of its margin; '' where no number says it."""
    size = in_margins(row.verdict)
    return "" if size is None or abs(size) >= FAR else f"{size:+z.1f} margins"


def numbers_text(row: PageRow) -> str:
    """``BIASED +0.47, 99.96 % [+0.33, +0.61] points`` and its margin."""
    finding = row.verdict.finding
    if finding is None:
        return row.verdict.label
    estimate = f"{interval_text(finding, row.verdict.shown)}{unit_text(finding)}"
    return f"{row.verdict.label} {estimate}, {margin_text(finding)}"


_WORDS = (
    *(counted, design_text, ended_text, lost_text, margins_text, missing_text),
    *(numbers_text, seen_text),
)
"""Functions that the page's template calls by their names."""
