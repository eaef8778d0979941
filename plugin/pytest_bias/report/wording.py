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
from ..verdicts.verdict import NOTHING_FOUND, Control, Status, Verdict
from ..verdicts.wording import (
    interval_text,
    margin_and_estimate,
    number_text,
    unit_text,
    units_text,
    with_interval,
)
from .run import SOON, AcceptedVerdict, RunResult, SuiteVerdict
from .upgrade_table import WORST_FIRST, Observed, Upgrade, UpgradeRow

if TYPE_CHECKING:
    from ..experiments.records import CellCount, Published, Recording

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
_SMALL, _LARGE = 0.1, 1e12  # where a fixed number of decimals says too little, or too much
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
    if run.suite == "NO VERDICT" and run.failing:
        # Of a run that was cut short it is known that it fails, and not what else there is.
        return f"{OUTCOMES['FAIL'][0]}, the rest {OUTCOMES['NO VERDICT'][0]}"
    return run.standing if run.stands else OUTCOMES[run.suite][0]


def shipping(upgrade: Upgrade, but: str = "", *, judged: bool = True) -> tuple[str, str]:
    """The outcome of an upgrade in capitals, and a sentence on it without its full stop.

    ``but`` says what else keeps it from passing, ``judged`` whether the run has verdicts: no table
    is a reason to ship where that is more than nothing.
    """
    if number := len(upgrade.against):
        stop = f"hypothes{'is stops' if number == 1 else 'es stop'} this upgrade"
        if not upgrade.stopped:
            stop = f"hypothes{'is is' if number == 1 else 'es are'} new or worse"
        return OUTCOMES["FAIL"][1], f"{number} {stop}"
    if not upgrade.rows:
        return OUTCOMES["NO VERDICT"][1], "Nothing was compared"
    if but:
        return OUTCOMES["INCONCLUSIVE" if judged else "NO VERDICT"][
            1
        ], f"No hypothesis stops this upgrade, but {but}"
    words = "Nothing stops this upgrade"
    if number := len(upgrade.open):
        words += f", but {number} {'is' if number == 1 else 'are'} not shown to be no worse"
    return OUTCOMES["PASS"][1], words


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
        rest = f"the rest {OUTCOMES['NO VERDICT'][1]}: {_why_none(run)}"
        yield f"{upgrade_closing(run.upgrade)}, {rest}"
    else:
        yield f"{OUTCOMES['NO VERDICT'][1]}: {_why_none(run)}"


def found_line(run: RunResult) -> str:
    """``BIAS FOUND: 89 hypotheses, 69 CLEAR, 20 BIASED``: verdicts of a run, or why none."""
    word = models_outcome(run)
    if run.suite == "NO VERDICT":
        return f"{word}: {_why_none(run)}"
    if run.suite == "NOT JUDGED":
        gating = "that gates " * bool(run.selected)
        return f"{word}: no hypothesis {gating}was selected in this run"
    labels = Counter(verdict.label for verdict in run.gating)
    found = [
        f"{labels[status]} {status}{_acceptance_note(run, status, labels[status])}"
        for status in ("CLEAR", "BIASED", "INCONCLUSIVE", NOTHING_FOUND)
        if labels[status]
    ]
    if described := len(run.selected) - len(run.gating):
        found.append(f"{described} described")
    words = number_text(len(run.gating), "hypothesis", "hypotheses"), *found, *_reservations(run)
    return f"{word}: {', '.join(words)}"


def _why_none(run: RunResult) -> str:
    if run.lost:
        return f"{number_text(len(run.lost), 'selected case')} gave none"
    if run.problems:
        return "see the problems above"
    return f"{number_text(len(run.broken), 'case')} failed for another reason than a verdict"


def _reservations(run: RunResult) -> Iterator[str]:
    """Add the reservations that the verdict of a run does not say by itself."""
    if run.stale:
        yield "of recordings that no longer represent the model"
    if run.not_seen:
        yield "a positive control was not seen"
    least = min(run.analyses, key=lambda each: each.allocation.alpha, default=None)
    if least is not None and least.allocation.alarms < ALARMS:
        yield f"bias_alpha = {least.allocation.alarms:g}"
    elif least is not None and least.allocation.alpha < SMALL_PART:
        yield f"alpha = {least.allocation.alpha:.2g} for {least.experiment}"
    if run.suite != "PASS":
        yield from run.leniencies


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


def accepted_by(accepted: AcceptedVerdict) -> str:
    """``accepted by ann until 2027-03-31``."""
    return f"accepted by {accepted.owner} until {accepted.until}"


def _acceptance_lines(verdicts: Iterable[AcceptedVerdict]) -> Iterator[str]:
    """``2 known biases accepted by ann until 2027-03-31: reason``, once for the same words."""
    found = Counter((each.status, accepted_by(each), each.reason) for each in verdicts)
    for (status, by, reason), count in found.items():
        word = _KNOWN.get(status, (status, status))[count > 1]
        yield f"{count} known {word} {by}: {reason}"


def _acceptance_note(run: RunResult, status: Status | str, count: int) -> str:
    """Name who accepted the verdicts of a status; how many they are, unless all."""
    of = [each for each in run.accepted if each.status == status]
    if not of:
        return ""
    words = "; ".join(dict.fromkeys(map(accepted_by, of)))
    return f" ({'' if len(of) == count else f'{len(of)} '}{words})"


# --- an upgrade -------------------------------------------------------------------------------


def counts_text(rows: Iterable[UpgradeRow]) -> str:
    """``1 worse, 2 new, 9 known, 3 improved, 60 as before``."""
    found = Counter(row.outcome for row in rows)
    return ", ".join(f"{found[each]} {each}" for each in WORST_FIRST if found[each])


def notes_text(upgrade: Upgrade) -> tuple[str, ...]:
    """The notes of an upgrade, after how to hold the next version to what is improved."""
    improved = {row.model for row in upgrade.rows if row.outcome == "improved"}
    if upgrade.stopped or not improved:  # too early for that
        return upgrade.notes
    models = " and ".join(model for model in upgrade.new if model in improved)
    own = not upgrade.file or upgrade.old in upgrade.new
    after = "" if own else f" --bias-baseline={upgrade.old}"
    hint = f"to hold the next version to what is improved, accept {models}: --bias-accept{after}"
    return hint, *upgrade.notes


def unasked_text(found: Iterable[Claimed], old: str, where: str) -> tuple[str, ...]:
    """Name what was accepted or recorded of ``old`` and is not tested again, by experiment."""
    by_experiment: dict[str, list[str]] = {}
    for experiment, name in found:
        by_experiment.setdefault(experiment, []).append(name)
    return tuple(
        f"{experiment}: accepted of {old} and not in {where}: {', '.join(claims)}. Nothing shows "
        f"that there it is no worse: ask it again, or accept {old} anew with this suite "
        f"(--bias-model={old} --bias-accept)"
        if (claims := [name for name in names if name])
        else f"{experiment}: recorded of {old} and not in {where}. Nothing shows that there it is "
        "no worse: check the experiment out, or, where it is retired or another suite's, move its "
        "recordings elsewhere"
        for experiment, names in by_experiment.items()
    )


def uncompared_text(upgrade: Upgrade) -> tuple[str, ...]:
    """That nothing was compared with anything, where it was not: to judge is not to compare."""
    if any(row.before is not None for row in upgrade.rows):
        return ()
    return (f"nothing could be compared: {upgrade.old} has no verdict on what is asked here",)


def why_text(row: UpgradeRow) -> str:
    """``CLEAR → BIASED  +0.47, 95 % [+0.39, +0.54], allowed ±0.25``: what decided."""
    now, before = row.now, row.before
    stops = " (does not stop it)" if row.is_open and not row.fails else ""
    allowed = f", allowed {row.margin}" if row.margin else ""
    if before is None:
        return f"{f'{now.label} {now.shown}'.rstrip()}{allowed}, nothing to hold it against{stops}"
    change = f"{before.label} → {now.label}  " if before.label != now.label else ""
    if row.outcome == "new":
        change = change or f"{now.label} as before  "
        why = "" if now.status == "BIASED" else ", no longer shown to be clear"
        if before.status == now.status:
            why = ", and nobody accepted that"
        return f"{change}{now.shown}{allowed}{why}{stops}"
    was, is_ = (side.shown.partition(",")[0] for side in (before, now))
    moved = f"{was} → {is_}  " if was or is_ else ""
    return f"{change}{moved}{_growth_text(row, before)}{stops}".rstrip()


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


def verdict_line(verdict: Verdict) -> str:
    """One hypothesis: verdict, estimate, interval, margin, units."""
    finding = verdict.finding
    if finding is None:
        return f"{verdict.words} ({verdict.id})"
    more = f", {verdict.next_step}" if verdict.next_step else ""
    more += f" ({verdict.validated_by})" if verdict.validated_by else ""
    return (
        f"{verdict.words}: {finding.measure} {finding.contrast} "
        f"{interval_text(finding, verdict.shown)}{unit_text(finding)}"
        f"{margin_and_estimate(finding)}, {units_text(finding)}{more}"
    )


def human_line(verdict: Verdict) -> str:
    """Compare a hypothesis with people; empty where no result of theirs is known."""
    human = verdict.finding.human if verdict.finding is not None else None
    if human is None:
        return ""
    return (
        f"compared with people ({human.difference:+z.2f}, n={human.n}): {human.primary}; "
        f"as published, taking theirs as fixed: {human.published}"
    )


def control_lines(control: Control) -> Iterator[str]:
    """The positive control: seen or not, by how much, and what it means for this model if not."""
    word = ("seen" if control.seen else "NOT SEEN") if control.recorded else "not recorded"
    finding = control.finding
    words = f"{control.id} ({control.reason})"
    if finding is not None:
        words = f"{finding.measure} {finding.contrast} {interval_text(finding)}"
        words += f", {units_text(finding)}" + (f": {control.reason}" if control.reason else "")
    yield f"control {word}: {words}"
    if control.meaning:
        yield f"  {control.meaning}"


def judge_line(found: AgreementResult) -> str:
    """An agreement as one line of the terminal section."""
    trials, numbers = number_text(found.trials, "trial"), f"α = {alpha_value(found)}"
    numbers += f" ({found.level})"
    if found.against == "people":
        words = numbers if found.alpha is not None else found.why
        how = "HARDLY AGREES WITH PEOPLE" if found.slight else "compared with people"
        return f"judge {how} on {found.measure}: {words}, {trials} labelled"
    if found.holds:
        of = f"judge's agreement with itself on {found.measure}"
        return f"{of}: {numbers}, {trials} scored twice"
    return f"judge NOT RELIED ON: {found.why}"


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


def remarks(analysis: Analysis) -> Iterator[str]:
    """Say who answered and graded, and what of the replies was not as it should be."""
    formats = [each.counts for each in analysis.categories if each.measure == FORMAT_KEPT]
    if wrapped := sum(counts.get("no", 0) for counts in formats):
        yield f"{number_text(wrapped, 'trial')} with thoughts, fences or words around replies"
    if cut := sum(count.cut for count in analysis.counts):
        yield f"{cut} cut off at the limit on tokens"
    recording = analysis.recording
    if recording.long_replies:
        yield f"{recording.distinct} of {recording.long_replies} long replies distinct"
    if names := answered_by(analysis.model, recording.served):
        yield f"answered by {', '.join(names)}"
    if recording.judge is not None:
        own = recording.judge == analysis.model
        graded = "graded by itself" if own else f"graded by {recording.judge}"
        names = answered_by(recording.judge, recording.judge_served)
        yield f"{graded}, answered by {', '.join(names)}" if names else graded
    if recording.dropped:
        yield f"{', '.join(recording.dropped)} not sent"


def table_notes(analysis: Analysis) -> Iterator[str]:
    """Give what must be known of replies of a table."""
    published = analysis.recording.published
    if published is not None and published.coverage:
        yield f"table: {published.coverage}"
    if published is not None and published.note:
        yield f"note: {published.note}"


def published_facts(recording: Recording, published: Published) -> Iterator[tuple[str, str]]:
    """The facts of a table of replies, each with its name."""
    if published.source:
        yield "Published replies of", f"{published.source} (not recorded by this suite)"
    if published.collected_by:
        yield "Replies collected by", f"{published.collected_by} (not recorded by this suite)"
    elif not published.source:
        yield "Replies collected by", NOT_KNOWN
    if published.note:
        yield "Note", published.note
    if published.licence:
        yield "Licence of the replies", published.licence
    declared = f" ([{published.section}.{published.table}] of the roster)" * bool(published.table)
    yield "Table", f"{recording.cassette}{declared}"
    yield "SHA-256 of the table", published.checksum
    yield "Trials", f"{published.rows} rows used; {published.coverage}"
    undated = f"; {recording.undated} undated" if recording.undated else ""
    days = f"{recording.oldest} to {recording.newest}{undated}"
    yield "Collected", days if recording.oldest else f"{NOT_KNOWN}: the table gives no time"
    served = ", ".join(recording.served)
    if served:
        yield "Answered by", f"{served}, as the source says"
    unknown = "Prompts, attempts" if served else "Prompts, attempts, served model"
    yield unknown, f"{NOT_KNOWN}: the source's own, in its own words"
    if recording.judge is not None:
        yield "Judge", f"{recording.judge}, as the roster says"


def sizes(counts: tuple[CellCount, ...]) -> str:
    """Word the number of trials of each condition, which the source decided."""
    trials = number_text(sum(count.planned for count in counts), "trial")
    cells = ", ".join(f"{count.condition} {count.planned}" for count in counts)
    return f"the source's own: {trials} ({cells})"


def capital(words: str) -> str:
    """Words as a sentence begins."""
    return f"{words[:1].upper()}{words[1:]}"


def plain_number(value: float) -> str:
    """Two decimals; two significant digits of what is very small, three of what is very large."""
    if abs(value) >= _LARGE:
        return f"{value:.3g}"
    return f"{value:.2g}" if 0 < abs(value) < _SMALL else f"{value:z.2f}"
