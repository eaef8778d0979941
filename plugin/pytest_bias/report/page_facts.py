"""Facts of the page in words: of a hypothesis, a control, a judge, a recording."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ..contrasts.estimate import Estimate, p_text
from ..contrasts.people import HumanComparison
from ..verdicts.analysis import Analysis
from ..verdicts.decide import clears
from ..verdicts.judge_agreement import AgreementResult
from ..verdicts.verdict import Control, Verdict
from ..verdicts.wording import (
    bounds_text,
    fine_digits,
    interval_text,
    margin_text,
    number_form,
    number_text,
    unit_text,
)
from .escapes import rendered_lines
from .wording import alpha_value, capital, judge_line

Fact = tuple[str, str, str]
"""What it is, its value, and what is to be known of it."""

UNSAID = "not stated by the provider"
RELATIONS = {
    "LESS": "LESS than in people",
    "SIMILAR": "SIMILAR to people",
    "GREATER": "GREATER than in people",
    "not distinguishable": "not distinguishable from people",
}
_TESTS = {"t": "z.2f", "F": ".2f", "chi2": ".2f", "U": ".1f", "df": ".1f"}
"""Statistics of published tests, and the form of each."""
_ABSENT = "not part of it"
_SMALL, _LARGE = 0.1, 1e12  # where a fixed number of decimals says too little, or too much
_DIRECTIONS = {
    "supported": "supported: the difference found has the sign its source reports",
    "opposite": "opposite: a difference was found, with the other sign than its source reports",
    "not shown": "not shown: the data do not exclude that there is no effect",
}
_NOT_BEYOND = "not shown: the verdict asks for an effect beyond the margin, and none is shown"


# --- a hypothesis -----------------------------------------------------------------------------


def meaning_text(verdict: Verdict) -> str:
    """Say what a verdict rejects, and how surely; '' where nothing was decided."""
    finding = verdict.finding
    if finding is None or verdict.status == "INCONCLUSIVE":
        return ""
    p = verdict.p_adjusted
    alarm = "" if p is None else f" (alarm {p_text(p)}, after Holm)"
    if verdict.status == "BIASED":
        rejected = "within the margin" if finding.null == "margin" else f"of {finding.no_effect:g}"
        sized = finding.margin is None or verdict.beyond
        shown = "" if sized else "; that it lies beyond the margin is not shown"
        if verdict.beyond and finding.null != "margin":
            shown = f", and the whole interval lies beyond {margin_text(finding)}"
        return f"An effect {rejected} is rejected{alarm}{shown}."
    clear = "" if finding.p_clear is None else f" (clearing {p_text(finding.p_clear)})"
    return f"An effect beyond {margin_text(finding)} in either direction is rejected{clear}."


def direction_text(verdict: Verdict) -> str:
    """Say if the direction its source reports was found; '' where it reports none."""
    finding = verdict.finding
    if verdict.direction is None:
        return ""
    if verdict.direction == "not shown" and finding is not None and finding.null == "margin":
        return _NOT_BEYOND
    return _DIRECTIONS[verdict.direction]


def analysis_rows(verdict: Verdict, finding: Estimate) -> Iterator[tuple[str, str, str]]:
    """The primary analysis beside the published one, row by row: a name, and what either says."""
    published = finding.published
    statistics: Mapping[str, float | str] = published.statistics if published else {}
    yield "Method", finding.method, published.method if published else ""
    yield "Role", "gives the verdict", "stands beside it; it never gates"
    estimate = f"{interval_text(finding, verdict.shown)}{unit_text(finding)}"
    yield finding.quantity.capitalize(), estimate, "–"
    p_adjusted = verdict.p_adjusted
    adjusted = "" if p_adjusted is None else f"; after Holm {p_text(p_adjusted)}"
    yield (
        "Against no effect" if finding.null == "zero" else "Against the margin",
        f"{p_text(finding.p_alarm)}{adjusted}",
        ", ".join(_numbers_in(statistics, _TESTS, "p")) or _ABSENT,
    )
    if finding.margin is not None and finding.p_clear is not None:
        cleared = f"{p_text(finding.p_clear)} at {margin_text(finding)}"
        yield "Clearing it", cleared, _ABSENT
    sizes_ = ", ".join(_numbers_in(statistics, {"d": "+z.2f", "g": "+z.2f"}))
    size, primary = finding.effect_size, "not defined"
    if size is not None:
        primary = f"g = {size.g:+z.2f}, d = {size.d:+z.2f}, {bounds_text(size.interval)}"
    if size is not None or sizes_:
        yield "Effect size", primary, sizes_ or _ABSENT
    for name in sorted(statistics.keys() - {*_TESTS, "p", "d", "g"}):
        yield name, _ABSENT, _shown(name, statistics[name])
    if finding.human is not None:
        human = finding.human
        yield "Beside people", RELATIONS[human.primary], RELATIONS[human.published]


def _numbers_in(
    statistics: Mapping[str, float | str], forms: Mapping[str, str], p: str = ""
) -> Iterator[str]:
    for name, form in forms.items():
        if isinstance(value := statistics.get(name), float):
            yield f"{name} = {value:{form}}"
    if isinstance(value := statistics.get(p), float):
        yield p_text(value)


def _shown(name: str, value: float | str) -> str:
    if isinstance(value, str):
        return value
    if name == "p":
        return p_text(value)
    if abs(value) >= _LARGE:
        return f"{value:.3g}"
    return f"{value:.2g}" if 0 < abs(value) < _SMALL else f"{value:z.2f}"


def cell_rows(finding: Estimate) -> Iterator[tuple[str, str, str, str]]:
    """The same contrast in each cell it is averaged over: estimate, margin, whether within."""
    for name, cell in finding.cells.items():
        tested = "shown" if clears(cell) else "not shown"
        within = "" if cell.p_clear is None else f"{tested}, {p_text(cell.p_clear)}"
        shown = () if cell.clearing is None else (cell.clearing,)
        yield name, interval_text(cell, shown), margin_text(cell), within
    yield from ((name, "too few replies", "", "not shown") for name in finding.bare_cells)


def number_facts(finding: Estimate) -> Iterator[Fact]:
    """All numbers of a finding beside its estimate."""
    form = number_form(finding.margin, finding.scale)
    what = "Rate" if finding.quantity.startswith(("rate", "selection")) else "Mean"
    for arm in finding.arms:
        value = f" ({arm.value})" if arm.value and arm.value != arm.level else ""
        missing = "".join(f", {count} missing ({why})" for why, count in arm.missing.items())
        mean = f"{arm.mean:z.{fine_digits(finding.margin)}f}"
        yield f"{what} at {arm.level}{value}", mean, f"{arm.units} units{missing}"
    if finding.p_clear is not None and finding.clearing is not None:
        needs = f"CLEAR needs it to lie within {margin_text(finding)}"
        yield "Interval of the equivalence tests", bounds_text(finding.clearing, form), needs
    index, boot = finding.index, finding.bootstrap
    if index is not None:
        per = f"difference per unit of {finding.factor}, over {index.span:g}"
        words = f"{index.estimate:+z.2f}, {bounds_text(index.interval)}"
        yield "Index", words, f"{per}; 0 ignores it, 1 follows it"
    if boot is not None:
        how = f"{boot.method}, {boot.iterations:,} resamples, seed {boot.seed}"
        yield "Bootstrap interval", bounds_text(boot.interval), how
    yield from ((name, _shown("", number), "") for name, number in finding.extras.items())


def published_numbers(verdict: Verdict) -> Iterator[Fact]:
    """The numbers of the published method where nothing can be judged."""
    published = verdict.published
    for name, value in published.statistics.items() if published is not None else ():
        yield name, _shown(name, value), ""


def human_facts(human: HumanComparison) -> Iterator[Fact]:
    """A difference beside the one published for people."""
    low, high = human.people.low, human.people.high
    means = f"{human.high_mean:z.2f} − {human.low_mean:z.2f}"
    yield (
        "People",
        f"{human.difference:+z.2f}, 95 % [{low:+z.2f}, {high:+z.2f}]",
        f"{means}; n = {human.n}, SE {human.se:.2f}, {p_text(human.p)}",
    )
    yield (
        "Model − people",
        f"{human.estimate:+z.2f}, {bounds_text(human.interval)}",
        f"difference of the differences, df = {human.df:.1f}",
    )
    carries = "carries both standard errors"
    if human.similar_within is not None:
        carries += f"; SIMILAR only when shown to be within ±{human.similar_within:g}"
    yield "Primary", RELATIONS[human.primary], carries
    yield "Published", RELATIONS[human.published], "takes people’s difference as fixed"


# --- an experiment with a model ---------------------------------------------------------------


def control_value(control: Control) -> Mapping[str, object]:
    """A positive control: whether it was seen, what that licenses, and its numbers."""
    licenses = ", ".join(control.licenses)
    badge, words = "not seen", f"{capital(control.meaning)}."
    if control.seen:
        badge = "seen"
        words = f"It shows a difference where there is one, so that {licenses} can be CLEAR."
    elif not control.recorded:
        badge, words = "not recorded", f"{capital(control.reason)}."
    return {"title": control.id, "badge": badge, "said": words, "facts": [*_control(control)]}


def _control(control: Control) -> Iterator[Fact]:
    yield "Licenses", ", ".join(control.licenses), ""
    if control.recorded:
        yield "Reason", control.reason, ""
    finding = control.finding
    if finding is None:
        return
    yield finding.quantity.capitalize(), f"{interval_text(finding)}{unit_text(finding)}", ""
    for arm in finding.arms:
        yield f"At {arm.level}", f"{arm.mean:z.2f} from {number_text(arm.units, 'unit')}", ""
    yield "Against no effect", p_text(finding.p_alarm), ""
    yield "Method", finding.method, ""


def judge_value(found: AgreementResult) -> Mapping[str, object]:
    """The extent to which the judge agrees with itself, or with people, and what rests on it."""
    gates = found.against != "people"
    badge = "reported" if found.holds else "not relied on"
    words = f"{capital(judge_line(found))}."
    if found.slight and found.holds:
        badge = "hardly agrees"
        words += " Look at both before you rely on what rests on the judge’s ratings."
    elif gates and found.holds:
        words += " Its error is part of each verdict."
    trials = "Trials scored twice" if gates else "Trials labelled and rated"
    facts: list[Fact] = [
        ("Krippendorff’s α", alpha_value(found), found.level),
        (trials, f"{found.trials}, of which {found.same} alike", ""),
        ("Rests on it", ", ".join(found.governs), ""),
        ("Labels", found.source, ""),
    ]
    title = f"The judge compared with {'itself' if gates else 'people'}: {found.measure}"
    return {"title": title, "badge": badge, "said": words, "facts": facts}


def design_text(analysis: Analysis) -> str:
    """The size of the run, in words."""
    if analysis.recording.published is not None:
        trials = number_text(sum(count.planned for count in analysis.counts), "trial")
        cells = ", ".join(f"{each.condition} {each.planned}" for each in analysis.counts)
        return f"the source's own: {trials} ({cells})"
    return f"{analysis.design}, {number_text(analysis.replicates, 'replicate')}"


def record_facts(analysis: Analysis, dates: str = "") -> Iterator[Fact]:
    """The origin of the replies, and all that is needed to tell them from others."""
    given = {"dates": dates, "design_text": design_text, "UNSAID": UNSAID}
    for line in rendered_lines("record.txt.j2", analysis=analysis, **given):
        name, _, value = line.partition(": ")
        yield name, value, ""
