"""The HTML report: one file that needs nothing else and asks for nothing.

What stands in it as text is the summary, for whoever runs no script and for print; a script of its
own draws the rest from data beside it. The templates call functions of this package.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from hashlib import sha256
from importlib.resources import files as resources
from pathlib import Path
from types import MappingProxyType
from urllib.parse import quote

from ..baselines.entries import is_stopped
from ..experiments.canonical import digest
from ..verdicts.analysis import Analysis, is_screen
from ..verdicts.verdict import HypothesisName
from ..verdicts.wording import SCREENED
from .jinja import rendered
from .page_data import PageRow, page_rows, run_value
from .page_marks import forest, margins_words, strip
from .page_record import UNSAID, design_words
from .replies import TrialBlock, packed
from .results import results_text
from .terminal import found_line
from .upgrade import shipping_words, upgrade_heading
from .view import RunView

History = Mapping[HypothesisName, Sequence[str]]
_LABELS = ("BIASED", "INCONCLUSIVE", "CLEAR", "NOTHING FOUND", "DESCRIBED")
_TONES = {"PASS": "clear", "FAIL": "biased", "INCONCLUSIVE": "open"}

LARGEST = 6_000_000
"""Bytes of a page above which its trials go into files beside it."""

MARK = "// pytest-bias: trials of a report, which opens them\n"
"""The first line of such a file, by which those of an earlier run are known."""

MOST = 20
"""Hypotheses that stop a run, and that are to be looked at, which the summary names; all are in
the list of hypotheses."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """One model on the first screen: its own verdict, and what that rests on."""

    model: str
    role: str
    standing: str
    tone: str
    said: str
    stops: int
    facts: tuple[str, ...]


def report_files(
    view: RunView,
    replies: Sequence[TrialBlock],
    old: Sequence[Analysis],
    history: History,
    *,
    folder: str,
    largest: float = LARGEST,
) -> tuple[str, dict[str, str]]:
    """The page, and the files of ``folder`` beside it, by their names: none where it has all.

    Trials go there where the page would have more than ``largest`` bytes; a file has those of one
    experiment, and its name in it.
    """
    page = report_html(view, replies, old, history) if largest else ""
    if largest and len(page.encode()) <= largest:
        return page, {}
    files, places = {}, {}
    for name in sorted({each.experiment for each in replies}):
        of = {each.model: each.block for each in replies if each.experiment == name}
        told = json.dumps(of, sort_keys=True)
        checksum = sha256(told.encode()).hexdigest()[:16]
        # The page takes a file only with the digest that it knows: those of two runs do not mix.
        files[f"{name}.js"] = f'{MARK}biasReplies({json.dumps(name)},"{checksum}",{told});\n'
        places[name] = f"{quote(folder)}/{quote(name)}.js", checksum
    return report_html(view, replies, old, history, places=places), files


def clear(folder: Path, names: Collection[str]) -> None:
    """Remove from ``folder`` what an earlier page left there: no file with these names, nor yours.

    What cannot be removed stays: no page takes a file of another run.
    """
    with suppress(OSError):
        for path in folder.glob("*.js"):
            if path.name not in names and path.read_text("utf-8", "replace").startswith(MARK):
                path.unlink()


def report_html(
    view: RunView,
    replies: Sequence[TrialBlock] = (),
    old: Sequence[Analysis] = (),
    history: History = MappingProxyType({}),
    *,
    places: Mapping[str, tuple[str, str]] = MappingProxyType({}),
) -> str:
    """The page of a run. The same run gives the same bytes: no clock, no path, no network.

    ``replies`` are the trials, where they are at hand; ``old`` the analyses of the model that the
    run is held against; ``history`` what was accepted of hypotheses before, oldest first.
    ``places`` names the files that have an experiment's trials where the page does not, each with
    its digest.
    """
    replies = sorted(replies, key=lambda each: (each.experiment, each.model))
    lines = page_rows(view, old, history)
    new = [line for line in lines if not line.old]
    style, script = asset("app.css"), asset("app.min.js")
    run = {**run_value(view, lines, old, replies), "beside": dict(places)}
    blocks = {"d-run": packed(run)}
    if not places:
        blocks |= {f"d-{place}": each.block for place, each in enumerate(replies)}
    return rendered(
        "report.html.j2",
        view=view,
        cards=[*_cards(view, lines, old, replies)],
        question=question_words(view),
        standing=_standing(view),
        found=found_line(view).partition(": ")[2],
        stopping=[line for line in new if line.stops],
        looked=[*_to_look_at(new)],
        accepted_by=dict.fromkeys(f"{each.owner} until {each.until}" for each in view.accepted),
        most=MOST,
        models=view.models,
        lines=[line for line in new if line.judged],
        screens=any(map(is_screen, view.analyses)),
        screened=SCREENED,
        shipping=_shipping(view),
        results=digest(results_text(view)),
        limits=[*_limits(view)],
        style=style,
        script=script,
        policy=policy_of(style, script, beside=bool(places)),
        blocks=blocks,
        **{function.__name__: function for function in _WORDS},
    )


@cache
def asset(name: str) -> str:
    """A file of the page."""
    return (resources(__package__) / "assets" / name).read_text(encoding="utf-8")


def policy_of(style: str, script: str, *, beside: bool = False) -> str:
    """The page's policy: this very style and script, and nothing from anywhere.

    With files ``beside`` it, scripts from where it lies itself.
    """
    sums = [b64encode(sha256(text.encode()).digest()).decode("ascii") for text in (style, script)]
    of_style, of_script = (f"'sha256-{each}'" for each in sums)
    itself = "'self' " if beside else ""
    return (
        f"default-src 'none'; style-src {of_style}; script-src {itself}{of_script}; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


def tone_of(standing: str) -> str:
    """The mark and colour of a run; it is not in order where something was only let through."""
    return "open" if " with " in standing else _TONES.get(standing.partition(",")[0], "none")


def _standing(view: RunView) -> str:
    """The verdict as the terminal ends with it: of a run that was cut short, what is known."""
    return found_line(view).partition(": ")[0]


def _shipping(view: RunView) -> str:
    """Whether the upgrade may ship, of several models with their names; '' where there is none."""
    if view.upgrade is None:
        return ""
    if len(view.upgrade.new) > 1:
        return upgrade_heading(view.upgrade, view.reserved)[1]
    return shipping_words(view.upgrade, view.reserved)


def question_words(view: RunView) -> str:
    """The question of a run."""
    if view.upgrade is not None:
        return f"May {' or '.join(view.upgrade.new)} replace {view.upgrade.held_against}?"
    models = view.models or (() if view.scope is None else view.scope.models)
    if len(models) == 1:
        return f"Is {models[0]} free of the biases that were asked for?"
    return f"Which of {len(models)} models are free of the biases that were asked for?"


def counted(lines: Sequence[PageRow]) -> str:
    """``2 BIASED, 1 CLEAR``."""
    found = Counter(line.verdict.label for line in lines)
    return ", ".join(f"{found[label]} {label}" for label in _LABELS if found[label])


def seen_words(analyses: Sequence[Analysis]) -> str:
    """``6 of 6 controls seen``."""
    asked = [control for each in analyses for control in each.controls if control.asked]
    if not asked:
        return "no positive control"
    return f"{sum(control.seen for control in asked)} of {len(asked)} controls seen"


def lacking_words(analysis: Analysis) -> str:
    """Why trials have no valid reply, and the condition that lacks most; '' where none does."""
    worst = max(analysis.counts, key=lambda each: each.errors / (each.planned or 1), default=None)
    if worst is None or not worst.errors:
        return ""
    reasons: Counter[str] = sum((Counter(each.missing) for each in analysis.counts), Counter())
    why = ", ".join(f"{count} {reason}" for reason, count in reasons.most_common())
    return f"missing: {why}; most in {worst.condition}, {worst.errors} of {worst.planned}"


def alpha_of(analysis: Analysis) -> str:
    """The lowest α of a judge with itself; '' without a judge."""
    found = [each.alpha for each in analysis.agreements if each.against != "people"]
    known = [alpha for alpha in found if alpha is not None]
    return f"α {min(known):z.2f}" if known else ""


def _cards(
    view: RunView, lines: Sequence[PageRow], old: Sequence[Analysis], replies: Sequence[TrialBlock]
) -> Iterator[Card]:
    dates = {each.model: each.dates for each in replies}
    for role, analyses in (("old", old), ("new" if old else "", view.analyses)):
        for model in dict.fromkeys(analysis.model for analysis in analyses):
            own = [analysis for analysis in analyses if analysis.model == model]
            of = [line for line in lines if line.verdict.model == model and line.judged]
            failing = tuple(name for name in view.failing if name[1] == model)
            alone = replace(view, analyses=tuple(own), failing=failing)
            if role == "old":  # what went wrong in this run is none of its own
                standing: str = replace(alone, judged=None, lost=(), problems=(), broken=()).suite
            else:
                standing = _standing(alone)
            served = sorted({name for each in own for name in each.recording.served})
            yield Card(
                model=model,
                role=role,
                standing=standing,
                tone=tone_of(standing),
                said=counted(of),
                stops=sum(line.stops for line in of),
                facts=(
                    seen_words(own),
                    f"answered by {', '.join(served)}" if served else f"who answered: {UNSAID}",
                    *([f"recorded {dates[model]}"] if dates.get(model) else []),
                    f"{sum(each.trials for each in own):,} trials",
                ),
            )


def _to_look_at(lines: Sequence[PageRow]) -> Iterator[PageRow]:
    """Give the hypotheses that do not stop the run and are not shown to be in order."""
    for line in lines:
        change = line.change
        moved = change is not None and change.is_open
        against = is_stopped(line.verdict.status, line.verdict.claim)
        if not line.stops and line.judged and (moved or against or line.let):
            yield line


def _limits(view: RunView) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The limits that each experiment names."""
    for analysis in {each.experiment: each for each in view.analyses}.values():
        said = analysis.metadata.get("limitations", ())
        words = tuple(map(str, said)) if isinstance(said, list | tuple) else (str(said),)
        if words:
            yield analysis.name or analysis.experiment, words


_WORDS = (
    *(alpha_of, counted, design_words, forest, lacking_words, margins_words, seen_words),
    *(strip, tone_of),
)
"""Functions that the page's template calls by their names."""
