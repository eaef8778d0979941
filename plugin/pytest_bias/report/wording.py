"""Sentences that the reports of a run share: its outcome, what keeps it from one, an upgrade."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from ..baselines.entries import Claimed
from ..baselines.noninferiority import grown_text
from ..experiments.measures import FORMAT_KEPT
from ..settings.model_names import answered_by
from ..stats.results import ALARMS, SMALL_PART
from ..verdicts.analysis import Analysis
from ..verdicts.judge_agreement import AgreementResult
from ..verdicts.verdict import Control, Verdict
from ..verdicts.wording import with_interval
from .escapes import SENTENCES, rendered_lines
from .run import SOON, AcceptedVerdict, RunResult, SuiteVerdict
from .upgrade_table import WORST_FIRST, Observed, Upgrade, UpgradeRow

if TYPE_CHECKING:
    from ..experiments.records import Published, Recording

OUTCOMES: Mapping[SuiteVerdict, tuple[str, str]] = {
    "PASS": ("PASS", "SHIP"),
    "FAIL": ("BIAS FOUND", "DO NOT SHIP"),
    "INCONCLUSIVE": ("CANNOT TELL", "CANNOT TELL"),
    "NOT JUDGED": ("NO RESULT", "NO RESULT"),
    "NO VERDICT": ("NO RESULT", "NO RESULT"),
}
"""The outcome of a run in print, by its verdict: of models by themselves, and of an upgrade."""

NAMED = 5
"""Names of one kind that are printed; of more only the number is."""

NOT_KNOWN = "not known"
_KNOWN = {
    "BIASED": ("bias", "biases"),
    "INCONCLUSIVE": ("INCONCLUSIVE verdict", "INCONCLUSIVE verdicts"),
}
"""What is known, by its status: one, and several."""


# --- the outcome ------------------------------------------------------------------------------


def outcome(run: RunResult) -> str:
    """The outcome of a run in capitals; ``PASS with 2 accepted`` where that is why it passes."""
    if run.upgrade is not None:
        return shipping(run.upgrade, reserved(run), judged=run.suite != "NO VERDICT")[0]
    return models_outcome(run)


def models_outcome(run: RunResult) -> str:
    """The same of its models by themselves."""
    if run.suite == "NO VERDICT" and any(each.status == "BIASED" for each in run.stops):
        # Of a run that was cut short it is known that it fails, and not what else there is.
        return f"{OUTCOMES['FAIL'][0]}, the rest {OUTCOMES['NO VERDICT'][0]}"
    return run.standing if run.stands else OUTCOMES[run.suite][0]


def shipping(upgrade: Upgrade, but: str = "", *, judged: bool = True) -> tuple[str, str]:
    """The outcome of an upgrade in capitals, and a sentence on it without its full stop.

    ``but`` says what else keeps it from passing, ``judged`` whether the run has verdicts: no table
    is a reason to ship where that is more than nothing.
    """
    kind: SuiteVerdict = "FAIL"
    if not upgrade.against and but and upgrade.rows:
        kind = "INCONCLUSIVE" if judged else "NO VERDICT"
    elif not upgrade.against:
        kind = "PASS" if upgrade.rows else "NO VERDICT"
    (words,) = rendered_lines("shipping.txt.j2", upgrade=upgrade, but=but)
    return OUTCOMES[kind][1], words


def upgrade_heading(upgrade: Upgrade, but: str, *, judged: bool = True) -> tuple[str, str]:
    """The same with the names of the models: of several those that something stops, if any."""
    stopped = {row.model for row in upgrade.stopped}
    named = [model for model in upgrade.new if model in stopped] or upgrade.new
    word, words = shipping(upgrade, but, judged=judged)
    return word, f"{', '.join(named)} for {upgrade.compared_with}: {words}"


def upgrade_closing(upgrade: Upgrade, but: str = "", *, judged: bool = True) -> str:
    """``DO NOT SHIP: 4 worse, 7 new``: the outcome of an upgrade, and what it rests on."""
    word, words = shipping(upgrade, but, judged=judged)
    if upgrade.against:
        return f"{word}: {counts_text(upgrade.against)}"
    if but or not upgrade.rows:
        return f"{word}: {words[0].lower()}{words[1:]}"
    return f"{word}: nothing new or worse stops it; {counts_text(upgrade.rows)}"


def reserved(run: RunResult) -> str:
    """Name what keeps an upgrade from passing where no hypothesis does; else ''."""
    if run.suite in ("NO VERDICT", "NOT JUDGED") and not run.not_seen:
        return "the run gives no result"
    reasons = (
        (run.not_seen, "a positive control was not seen"),
        (not run.stands, f"the outcome of the run is {models_outcome(run)}"),
        (run.failures, "other tests failed"),
        (run.exit_status, f"the run ended with exit status {run.exit_status}"),
        (run.stale, "its recordings no longer represent the model"),
        (run.fewer, "this is a part of the suite only"),
    )
    return next((words for found, words in reasons if found), "")


def closing_lines(run: RunResult) -> Iterator[str]:
    """Name what stands in the way of a verdict, what is accepted, and, last, what comes of it."""
    yield from _obstacles(run)
    if run.upgrade is None:
        yield found_line(run)
    elif run.suite != "NO VERDICT":
        yield ", ".join((upgrade_closing(run.upgrade, reserved(run)), *run.leniencies))
    elif run.upgrade.stopped:
        rest = f"the rest {OUTCOMES['NO VERDICT'][1]}: {_found(run)}"
        yield f"{upgrade_closing(run.upgrade)}, {rest}"
    else:
        yield f"{OUTCOMES['NO VERDICT'][1]}: {_found(run)}"


def found_line(run: RunResult) -> str:
    """``BIAS FOUND: 89 hypotheses, 69 CLEAR, 20 BIASED``: verdicts of a run, or why none."""
    return f"{models_outcome(run)}: {_found(run)}"


def _found(run: RunResult) -> str:
    """What was found and with which reservations; or why there is no verdict."""
    given = {
        "least": min(run.analyses, key=lambda each: each.allocation.alpha, default=None),
        "ALARMS": ALARMS,
        "SMALL_PART": SMALL_PART,
    }
    return ", ".join(rendered_lines("found.txt.j2", run=run, **given))


def _obstacles(run: RunResult) -> Iterator[str]:
    """Name what keeps a run from being judged, or from being whole, and what was accepted."""
    for problem in run.problems:
        yield f"problem: {problem}"
    yield from _first(
        [f"without a verdict, {each}" for each in lost_text(run)], "without a verdict"
    )
    yield from _first([f"failed as well: {each}" for each in run.failures], "that failed")
    for reason in run.partial:
        yield f"partial run: {reason}"
    for words in run.stale:
        yield f"stale: {words}"
    if run.suite not in ("NO VERDICT", "NOT JUDGED"):
        yield from (f"expired: {words}" for words in _acceptance_lines(run.expired))
        yield from _acceptance_lines(run.accepted)
        for words in _acceptance_lines(run.ending):
            yield f"warning: within {SOON} days ends what was accepted: {words}"


def _first(lines: list[str], kind: str) -> Iterator[str]:
    yield from lines[:NAMED]
    if (more := len(lines) - NAMED) > 0:
        yield f"and {more} more {kind}"


def lost_text(run: RunResult) -> tuple[str, ...]:
    """The cases without a result, each after its outcome, if it had any."""
    outcomes = dict(run.cases)
    return tuple(f"{outcomes.get(case, 'no report')}: {case}" for case in run.lost)


def ended_text(run: RunResult) -> str:
    """How the cases ended: ``3 failed, 120 passed``."""
    found = Counter(outcome for _, outcome in run.cases)
    return ", ".join(f"{count} {outcome}" for outcome, count in sorted(found.items()))


def simulated_note(models: Iterable[str]) -> str:
    """The warning that some models are programs."""
    return (
        f"Simulated subjects, programs that stand in for models: {', '.join(models)}. "
        "Nothing about them says anything about a real model."
    )


# --- what was accepted ------------------------------------------------------------------------


def _acceptance_lines(verdicts: Iterable[AcceptedVerdict]) -> Iterator[str]:
    """``2 known biases accepted by ann until 2027-03-31: reason``, once for the same words."""
    found = Counter((each.status, str(each), each.reason) for each in verdicts)
    for (status, by, reason), count in found.items():
        word = _KNOWN.get(status, (status, status))[count > 1]
        yield f"{count} known {word} {by}: {reason}"


# --- an upgrade -------------------------------------------------------------------------------


def counts_text(rows: Iterable[UpgradeRow]) -> str:
    """``1 worse, 2 new, 9 known, 3 improved, 60 as before``."""
    found = Counter(row.outcome for row in rows)
    return ", ".join(f"{found[each]} {each}" for each in WORST_FIRST if found[each])


def unasked_text(found: Iterable[Claimed], old: str, where: str) -> tuple[str, ...]:
    """Name what was accepted or recorded of ``old`` and is not tested again, by experiment."""
    given = {"found": [*found], "old": old, "where": where}
    return tuple(rendered_lines("unasked.txt.j2", **given))


def uncompared_text(upgrade: Upgrade) -> tuple[str, ...]:
    """That nothing was compared with anything, where it was not: to judge is not to compare."""
    if any(row.before is not None for row in upgrade.rows):
        return ()
    return (f"nothing could be compared: {upgrade.old} has no verdict on what is asked here",)


def why_text(row: UpgradeRow) -> str:
    """``CLEAR → BIASED  +0.47, 95 % [+0.39, +0.54], allowed ±0.25``: what decided."""
    growth = "" if row.before is None else _growth_text(row, row.before)
    (line,) = rendered_lines("why.txt.j2", row=row, growth=growth)
    return line.rstrip()


def _growth_text(row: UpgradeRow, before: Observed) -> str:
    """Give by how much it may have grown, where that decided; else what did, in a sentence."""
    compared, (bound, margin) = row.compared, bound_text(row)
    if compared is None or compared.bound is None or not bound or row.outcome == "expired":
        return row.summary
    beyond = compared.margin is not None and compared.bound >= compared.margin
    if row.is_open:
        # Where the whole is no worse, a cell is, or replies are not to be trusted: said in words.
        if compared.no_worse or not beyond:
            return row.summary
        grew = "grew by" if row.outcome == "worse" else "may have grown by"
    elif beyond:
        # What it shows by itself decided, whatever the comparison does.
        if row.summary:
            return row.summary
        alike = "before and now" if before.label == row.now.label else "now"
        grew = f"{row.now.label} {alike}; may be larger by"
    elif compared.bound < 0:
        return "smaller"
    else:
        grew = "grew, if at all, by"
    return f"{grew} up to {bound.lstrip('+')}, allowed {margin}"


def bound_text(row: UpgradeRow) -> tuple[str, str]:
    """Word the most an effect is larger by, and how much is allowed; of ratios as factors.

    Below 0, or a factor below 1, it is shown to be smaller. Both are empty where there is no
    bound.
    """
    compared = row.compared
    if compared is None or compared.bound is None or compared.margin is None:
        return "", ""
    ratio = row.scale == "ratio"
    bound, margin = grown_text(compared.bound, compared.margin, ratio=ratio)
    return f"a factor of {bound}" if ratio else bound, margin


# --- a hypothesis, a control, a judge ---------------------------------------------------------


def named(of: Analysis | Verdict | UpgradeRow, models: tuple[str, ...]) -> str:
    """Name an experiment, and its model where there are several."""
    return f"{of.experiment} × {of.model}" if len(models) > 1 else of.experiment


def human_line(verdict: Verdict) -> str:
    """Compare a hypothesis with people; empty where no result of theirs is known."""
    human = verdict.finding.human if verdict.finding is not None else None
    if human is None:
        return ""
    return (
        f"compared with people ({human.difference:+z.2f}, n={human.n}): {human.primary}; "
        f"as published, taking theirs as fixed: {human.published}"
    )


def control_lines(control: Control) -> list[str]:
    """The positive control: seen or not, by how much, and what it means for this model if not."""
    return rendered_lines("control.txt.j2", control=control)


def judge_line(found: AgreementResult) -> str:
    """An agreement as one line of the terminal section."""
    (line,) = rendered_lines("judge.txt.j2", found=found)
    return line


def alpha_value(found: AgreementResult) -> str:
    """``0.81, 95 % [0.70, 0.90]``, or that it is not defined."""
    if found.alpha is None:
        return "not defined"
    return with_interval(found.alpha, found.interval, "z.2f")


# --- replies and numbers ----------------------------------------------------------------------


def missing_text(analysis: Analysis) -> str:
    """Say how many trials are missing, and why; '' where none is."""
    missing: Counter[str] = sum((Counter(count.missing) for count in analysis.counts), Counter())
    reasons = ", ".join(f"{count} {reason}" for reason, count in missing.most_common())
    return f"{missing.total()} missing: {reasons}" if missing else ""


def remarks(analysis: Analysis) -> list[str]:
    """Say who answered and graded, and what of the replies was not as it should be."""
    given = {"FORMAT_KEPT": FORMAT_KEPT, "answered_by": answered_by}
    return rendered_lines("remarks.txt.j2", analysis=analysis, **given)


def table_notes(analysis: Analysis) -> Iterator[str]:
    """Give what must be known of replies of a table."""
    published = analysis.recording.published
    if published is not None and published.coverage:
        yield f"table: {published.coverage}"
    if published is not None and published.note:
        yield f"note: {published.note}"


def published_facts(recording: Recording, published: Published) -> Iterator[tuple[str, str]]:
    """The facts of a table of replies, each with its name."""
    for line in rendered_lines("published.txt.j2", recording=recording, published=published):
        name, _, value = line.partition(": ")
        yield name, value


def capital(words: str) -> str:
    """Words as a sentence begins."""
    return f"{words[:1].upper()}{words[1:]}"


SENTENCES.update(vars())
