"""One experiment with one model on the page in words: controls, judge, recording."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ..contrasts.estimate import p_words
from ..experiments.records import Recording
from ..verdicts.analysis import Analysis
from ..verdicts.judge_agreement import AgreementFound
from ..verdicts.verdict import Control
from ..verdicts.wording import allocation_words, interval_words, number_words, unit_words
from .page_verdict import Fact
from .published import published_facts, sizes
from .terminal import alpha_value

UNSAID = "not said by the provider"

_KEPT = {
    "raw": "",
    "measures": "measures only, no text",
}


def control_value(control: Control) -> Mapping[str, object]:
    """A positive control: whether it was seen, what that licenses, and its numbers."""
    licenses = ", ".join(control.licenses)
    if control.seen:
        badge = "seen"
        said = f"It shows a difference where there is one, so that {licenses} can be CLEAR."
    elif not control.asked:
        badge, said = "not recorded", f"{capital(control.reason)}."
    else:
        badge, said = "not seen", f"{capital(control.meaning)}."
    return {"title": control.id, "badge": badge, "said": said, "facts": [*_control(control)]}


def _control(control: Control) -> Iterator[Fact]:
    yield "Licenses", ", ".join(control.licenses), ""
    if control.asked:
        yield "Reason", control.reason, ""
    finding = control.finding
    if finding is None:
        return
    yield finding.quantity.capitalize(), f"{interval_words(finding)}{unit_words(finding)}", ""
    for arm in finding.arms:
        yield f"At {arm.level}", f"{arm.mean:z.2f} from {number_words(arm.units, 'unit')}", ""
    yield "Against no effect", p_words(finding.p_alarm), ""
    yield "Method", finding.method, ""


def judge_value(found: AgreementFound) -> Mapping[str, object]:
    """The extent to which the judge agrees with itself, or with people, and what rests on it."""
    gates = found.against != "people"
    title = f"The judge beside {'itself' if gates else 'people'}: {found.measure}"
    if not found.holds:
        badge, said = "not relied on", f"{capital(found.why)}."
    elif found.slight:
        badge = "hardly agrees"
        said = (
            "The judge's ratings hardly agree with people's labels: look at both before you rely "
            "on what rests on them."
        )
    elif not gates:
        badge, said = "reported", "How well the judge's ratings agree with people's labels."
    else:
        badge = "reported"
        said = "How often the judge rates a trial alike twice; its error is part of each verdict."
    return {"title": title, "badge": badge, "said": said, "facts": [*_judge(found)]}


def _judge(found: AgreementFound) -> Iterator[Fact]:
    gates = found.against != "people"
    how: str = found.level
    if found.interval is not None:
        level = f"{100 * found.interval.level:.0f} %"
        how = f"{how}; {level} percentile bootstrap interval over trials"
    yield "Krippendorff’s α", alpha_value(found), how
    trials = "Trials scored twice" if gates else "Trials labelled and rated"
    yield trials, f"{found.trials}, of which {found.same} alike", ""
    if not gates:
        yield "Reason", found.why, ""
    yield "Rests on it", ", ".join(found.governs), ""
    yield "Labels", found.source, ""


def design_words(analysis: Analysis) -> str:
    """The size of the run, in words."""
    if analysis.recording.published is not None:
        return sizes(analysis.counts)
    return f"{analysis.design}, {number_words(analysis.replicates, 'replicate')}"


def record_facts(analysis: Analysis, dates: str = "") -> Iterator[Fact]:
    """The origin of the replies, and all that is needed to tell them from others."""
    recording = analysis.recording
    yield "Experiment", f"{analysis.experiment}: {analysis.name}", ""
    yield "Source", analysis.source, ""
    yield "Design", design_words(analysis), ""
    valid = sum(count.ok for count in analysis.counts)
    yield "Trials", f"{analysis.trials}, of which {valid} gave a valid reply", ""
    if analysis.allocation.families:
        budget = allocation_words(analysis.allocation).partition(": ")[2]
        yield "False alarms", budget, ""
        yield "Families", ", ".join(analysis.allocation.families), ""
    if recording.published is not None:
        yield from ((*pair, "") for pair in published_facts(recording, recording.published))
    else:
        yield from _recorded(analysis, recording, dates)
    yield "Simulated", "yes: replies of a program" if recording.simulated else "no", ""


def _recorded(analysis: Analysis, recording: Recording, dates: str) -> Iterator[Fact]:
    yield "Answered by", ", ".join(recording.served) or UNSAID, ""
    yield "Recorded", dates, ""
    yield "Cassette", recording.cassette, ""
    yield "Checksum", recording.checksum, ""
    yield "Interactions", str(recording.interactions), ""
    yield "Recorded through", recording.wire, ""
    yield "Recorded with", recording.recorded_with, ""
    if recording.judge:
        itself = " (the subject itself grades its replies)"
        yield "Judge", f"{recording.judge}{itself * (recording.judge == analysis.model)}", ""
        yield "Judge answered by", ", ".join(recording.judge_served) or UNSAID, ""
    yield "Asked with", recording.asked, ""
    yield "Not sent, because the model refuses it", ", ".join(recording.dropped), ""
    yield "Kept", _KEPT[recording.retention], ""


def capital(words: str) -> str:
    """Words as a sentence begins."""
    return f"{words[:1].upper()}{words[1:]}"
