"""Every estimate of a run, a line each, and what it comes to: the terminal's section under -v."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from ..experiments.allocation import ALARMS, SMALL_PART
from ..experiments.measures import FORMAT_KEPT
from ..settings.model_names import answered_by
from ..verdicts.analysis import Analysis, is_screen
from ..verdicts.judge_agreement import AgreementFound
from ..verdicts.verdict import NOTHING_FOUND, Control, Status, Verdict
from ..verdicts.wording import (
    SCREENED,
    allocation_words,
    beside_margin,
    interval_words,
    items_words,
    number_words,
    published_line,
    tipping_words,
    unit_words,
    units_words,
    with_interval,
)
from .numbers import reasons_words
from .published import tabled_words
from .upgrade import closing_words
from .view import SOON, AcceptedVerdict, RunView, simulated_words

NAMED = 5
"""Names of one kind that are printed; of more only the number is said."""

_KNOWN = {
    "BIASED": ("bias", "biases"),
    "INCONCLUSIVE": ("INCONCLUSIVE verdict", "INCONCLUSIVE verdicts"),
}
"""What is known, by its status: one, and several."""


def section_lines(view: RunView) -> Iterator[str]:
    """The lines of the section, without the outputs' paths."""
    if view.simulated:
        yield simulated_words(view.simulated)
    for analysis in view.analyses:
        yield ""
        yield _heading(analysis)
        yield from (f"  {note}" for note in _notes(analysis))
        for control in analysis.controls:
            yield from (f"  {line}" for line in control_lines(control))
        for agreement in analysis.agreements:
            yield f"  {judge_line(agreement)}"
        by_title: dict[str, list[Verdict]] = {}
        for verdict in analysis.verdicts:
            by_title.setdefault(verdict.title, []).append(verdict)
        for title, verdicts in by_title.items():
            if title:
                yield f"  {title}"
            for verdict in verdicts:
                yield from (f"  {'  ' if title else ''}{line}" for line in _lines(view, verdict))


def _lines(view: RunView, verdict: Verdict) -> Iterator[str]:
    """Lines of one hypothesis, and beneath them how it compares with people."""
    apart = "" if view.is_judged(verdict) else " (not selected in this run)"
    apart += "" if verdict.gates else " (does not gate)"
    accepted = view.acceptance(verdict)
    let = " (accepted)" if accepted else " (known)" if view.known(verdict) else ""
    yield f"{verdict_line(verdict)}{apart}{let}"
    if verdict.finding is not None and verdict.status == "CLEAR":
        notes = tipping_words(verdict.finding), items_words(verdict.finding)
        yield from (f"  {note}" for note in notes if note)
    if verdict.published is not None:
        yield f"  {published_line(verdict.published)}"
    if human := human_line(verdict):
        yield f"  {human}"


def human_line(verdict: Verdict) -> str:
    """Compare a hypothesis with people; empty where nobody knows theirs."""
    human = verdict.finding.human if verdict.finding is not None else None
    if human is None:
        return ""
    return (
        f"beside people ({human.difference:+z.2f}, n={human.n}): {human.primary}; "
        f"as published, taking theirs as fixed: {human.published}"
    )


def closing_lines(view: RunView) -> Iterator[str]:
    """Name what stands in the way of a verdict, what is accepted, and, last, what comes of it.

    Of an upgrade whether it may be shipped.
    """
    yield from way_lines(view)
    last = found_line(view)
    if view.upgrade is not None:
        if view.suite != "NO VERDICT":
            last = closing_words(view.upgrade, view.reserved) or last
        elif view.upgrade.stopped:
            last = f"{closing_words(view.upgrade, '')}, the rest NO VERDICT: {_why_none(view)}"
    yield last


def found_line(view: RunView) -> str:
    """``FAIL: 89 hypotheses, 69 CLEAR, 20 INCONCLUSIVE``: the verdicts of a run, or why none."""
    if view.suite == "NO VERDICT":
        # Of a run that was cut short it is known that it fails, and not what else there is.
        return f"{'FAIL, the rest ' * bool(view.failing)}NO VERDICT: {_why_none(view)}"
    if view.suite == "NOT JUDGED":
        gating = "that gates " * bool(view.selected)
        return f"NOT JUDGED: no hypothesis {gating}was selected in this run"
    found = [
        f"{view.count(status)} {status}{_acceptances(view, status)}"
        for status in ("CLEAR", "BIASED", "INCONCLUSIVE")
        if view.count(status)
    ]
    if nothing := view.count(NOTHING_FOUND):
        found.append(f"{nothing} {NOTHING_FOUND}")
    number = len(view.gating)
    if described := len(view.selected) - number:
        found.append(f"{described} described")
    words = number_words(number, "hypothesis", "hypotheses"), *found, *_reservations(view)
    return f"{view.standing}: {', '.join(words)}"


def way_lines(view: RunView) -> Iterator[str]:
    """Name what keeps a run from being judged, or from being whole, and what was accepted."""
    for problem in view.problems:
        yield f"problem: {problem}"
    # passed or skipped without saying what was found; or nothing was heard of it at all
    yield from (f"without a verdict, {words}" for words in view.lost_words[:NAMED])
    if (more := len(view.lost) - NAMED) > 0:
        yield f"and {more} more without a verdict"
    for failure in view.failures[:NAMED]:
        yield f"failed as well: {failure}"
    if (more := len(view.failures) - NAMED) > 0:
        yield f"and {more} more that failed"
    for reason in view.partial:
        yield f"partial run: {reason}"
    for words in view.stale:
        yield f"stale: {words}"
    if view.suite not in ("NO VERDICT", "NOT JUDGED"):
        yield from _acceptance_lines(view)


def _reservations(view: RunView) -> Iterator[str]:
    """Add the reservations that the suite's verdict does not say by itself."""
    if any(map(is_screen, view.analyses)):
        yield "a screen finds large effects and clears nothing"
    if view.stale:
        yield "of recordings that no longer represent the model"
    if view.unseen:
        yield "a positive control was not seen"
    least = min(view.analyses, key=lambda each: each.allocation.alpha, default=None)
    if least is not None and least.allocation.alarms < ALARMS:
        yield f"bias_alpha = {least.allocation.alarms:g}"
    elif least is not None and least.allocation.alpha < SMALL_PART:
        yield f"alpha = {least.allocation.alpha:.2g} for {least.experiment}"
    if view.suite != "PASS":
        yield from view.leniencies


def verdict_line(verdict: Verdict) -> str:
    """One hypothesis: verdict, estimate, interval, margin, units."""
    finding = verdict.finding
    if finding is None:
        return f"{verdict.words} ({verdict.id})"
    more = f", {verdict.next_step}" if verdict.next_step else ""
    more += f" ({verdict.licence})" if verdict.licence else ""
    return (
        f"{verdict.words}: {finding.measure} {finding.contrast} "
        f"{interval_words(finding, verdict.shown)}{unit_words(finding)}{beside_margin(finding)}, "
        f"{units_words(finding)}{more}"
    )


def control_lines(control: Control) -> Iterator[str]:
    """The positive control: seen or not, by how much, and what it means for this model if not."""
    word = ("seen" if control.seen else "NOT SEEN") if control.asked else "not recorded"
    finding = control.finding
    said = f"{control.id} ({control.reason})"
    if finding is not None:
        said = f"{finding.measure} {finding.contrast} {interval_words(finding)}"
        said += f", {units_words(finding)}" + (f": {control.reason}" if control.reason else "")
    yield f"control {word}: {said}"
    if control.meaning:
        yield f"  {control.meaning}"


def _acceptance_lines(view: RunView) -> Iterator[str]:
    """List acceptances: ended ones, those that hold, and those that end soon."""
    for words in _accepted(view.expired):
        yield f"expired: {words}"
    yield from _accepted(view.accepted)
    for words in _accepted(view.ending):
        yield f"warning: within {SOON} days ends what was accepted: {words}"


def _accepted(verdicts: Iterable[AcceptedVerdict]) -> Iterator[str]:
    """``2 known biases accepted by ann until 2027-03-31: reason``, once for the same words."""
    found = Counter((each.status, accepted_by(each), each.reason) for each in verdicts)
    for (status, by, reason), count in found.items():
        word = _KNOWN.get(status, (status, status))[count > 1]
        yield f"{count} known {word} {by}: {reason}"


def _acceptances(view: RunView, status: Status) -> str:
    """Name who accepted the verdicts of a status; how many they are, unless all."""
    of = [each for each in view.accepted if each.status == status]
    if not of:
        return ""
    words = "; ".join(dict.fromkeys(map(accepted_by, of)))
    return f" ({'' if len(of) == view.count(status) else f'{len(of)} '}{words})"


def accepted_by(accepted: AcceptedVerdict) -> str:
    """``accepted by ann until 2027-03-31``."""
    return f"accepted by {accepted.owner} until {accepted.until}"


def _heading(analysis: Analysis) -> str:
    ok = sum(count.ok for count in analysis.counts)
    retried = sum(sum(count.invalid.values()) for count in analysis.counts)
    table = analysis.recording.published
    size = f"{analysis.design} design" if table is None else f"replies {tabled_words(table)}"
    parts = [size, f"{ok} of {analysis.trials} trials valid"]
    if missing := missing_words(analysis):
        parts.append(missing)
    if retried:
        parts.append(number_words(retried, "invalid reply", "invalid replies"))
    parts += remarks(analysis)
    return f"{analysis.experiment} × {analysis.model} ({', '.join(parts)})"


def missing_words(analysis: Analysis) -> str:
    """Say how many trials are missing, and why; '' where none is."""
    missing: Counter[str] = sum((Counter(count.missing) for count in analysis.counts), Counter())
    if not missing:
        return ""
    return f"{missing.total()} missing: {reasons_words(dict(missing.most_common()))}"


def remarks(analysis: Analysis) -> Iterator[str]:
    """Say who answered and graded, and what of the replies was not as it should be."""
    formats = [each.counts for each in analysis.categories if each.measure == FORMAT_KEPT]
    if fenced := sum(counts.get("no", 0) for counts in formats):
        yield f"{number_words(fenced, 'trial')} with replies in a code fence"
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


def _notes(analysis: Analysis) -> Iterator[str]:
    """Give what must be known of replies of a table, of a screen, and of its alarms."""
    yield from table_notes(analysis)
    if is_screen(analysis):
        yield SCREENED
    if analysis.allocation.families:
        yield allocation_words(analysis.allocation)


def table_notes(analysis: Analysis) -> Iterator[str]:
    """Give what must be known of replies of a table."""
    published = analysis.recording.published
    if published is not None and published.coverage:
        yield f"table: {published.coverage}"
    if published is not None and published.note:
        yield f"note: {published.note}"


def _why_none(view: RunView) -> str:
    if view.lost:
        return f"{number_words(len(view.lost), 'selected case')} gave none"
    if view.problems:
        return "see the problems above"
    return f"{number_words(len(view.broken), 'case')} failed for another reason than a verdict"


# --- a judge ----------------------------------------------------------------------------------


def judge_line(found: AgreementFound) -> str:
    """An agreement as one line of the terminal section."""
    trials = number_words(found.trials, "trial")
    if found.against == "people":
        said = _agreement_numbers(found) if found.alpha is not None else found.why
        how = "HARDLY AGREES WITH PEOPLE" if found.slight else "beside people"
        return f"judge {how} on {found.measure}: {said}, {trials} labelled"
    if found.holds:
        return (
            f"judge's agreement with itself on {found.measure}: {_agreement_numbers(found)}, "
            f"{trials} scored twice"
        )
    return f"judge NOT RELIED ON: {found.why}"


def _agreement_numbers(found: AgreementFound) -> str:
    return f"α = {alpha_value(found)} ({found.level})"


def alpha_value(found: AgreementFound) -> str:
    """``0.81, 95 % [0.70, 0.90]``, or that it is not defined."""
    if found.alpha is None:
        return "not defined"
    return with_interval(found.alpha, found.interval, "z.2f")
