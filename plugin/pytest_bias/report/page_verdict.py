"""One hypothesis on the page in words: what was found, what decided, and all its numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ..contrasts.estimate import Estimate, HumanComparison, p_words
from ..verdicts.decide import clears
from ..verdicts.verdict import Verdict
from ..verdicts.wording import (
    bounds_words,
    fine_digits,
    interval_words,
    margin_words,
    number_form,
    unit_words,
)
from .numbers import plain_number

RELATIONS = {
    "LESS": "LESS than in people",
    "SIMILAR": "SIMILAR to people",
    "GREATER": "GREATER than in people",
    "not distinguishable": "not distinguishable from people",
}
_TESTS = {"t": "z.2f", "F": ".2f", "chi2": ".2f", "U": ".1f", "df": ".1f"}
"""Statistics of published tests, and the form of each."""
_ABSENT = "not part of it"
_NONE = "–"
_DIRECTIONS = {
    "supported": "supported: the difference found has the sign its source reports",
    "opposite": "opposite: a difference was found, with the other sign than its source reports",
    "not shown": "not shown: the data do not exclude that there is no effect",
}
_NOT_BEYOND = "not shown: the verdict asks for an effect beyond the margin, and none is shown"
Fact = tuple[str, str, str]
"""What it is, its value, and what is to be known of it."""


def analysis_rows(verdict: Verdict, finding: Estimate) -> Iterator[tuple[str, str, str]]:
    """The primary analysis beside the published one, row by row: a name, and what either says."""
    published = finding.published
    statistics: Mapping[str, float | str] = published.statistics if published else {}
    yield ("Method", finding.method, published.method if published else "")
    yield ("Role", "gives the verdict", "stands beside it; it never gates")
    yield (finding.quantity.capitalize(), _estimate(verdict, finding), _NONE)
    p_adjusted = verdict.p_adjusted
    adjusted = "" if p_adjusted is None else f"; after Holm {p_words(p_adjusted)}"
    test = ", ".join(
        f"{name} = {value:{form}}"
        for name, form in _TESTS.items()
        if isinstance(value := statistics.get(name), float)
    )
    p = statistics.get("p")
    alarm = [part for part in (test, f"{p_words(p)}" if isinstance(p, float) else "") if part]
    yield (
        "Against no effect" if finding.null == "zero" else "Against the margin",
        f"{p_words(finding.p_alarm)}{adjusted}",
        ", ".join(alarm) or _ABSENT,
    )
    if finding.margin is not None and finding.p_clear is not None:
        cleared = f"{p_words(finding.p_clear)} at {margin_words(finding)}"
        yield ("Clearing it", cleared, _ABSENT)
    sizes = [
        f"{name} = {value:+z.2f}"
        for name in ("d", "g")
        if isinstance(value := statistics.get(name), float)
    ]
    size = finding.effect_size
    primary = (
        f"g = {size.g:+z.2f}, d = {size.d:+z.2f}, {bounds_words(size.interval)}" if size else ""
    )
    if primary or sizes:
        yield ("Effect size", primary or "not defined", ", ".join(sizes) or _ABSENT)
    for name in sorted(statistics.keys() - {*_TESTS, "p", "d", "g"}):
        value = statistics[name]
        yield (name, _ABSENT, value if isinstance(value, str) else plain_number(value))
    if finding.human is not None:
        human = finding.human
        yield ("Beside people", RELATIONS[human.primary], RELATIONS[human.published])


def contrast_words(finding: Estimate) -> str:
    """``sentence_months, high − low``."""
    return f"{finding.measure}, {finding.contrast}"


def meaning_words(verdict: Verdict) -> str:
    """Say what a verdict rejects, and how surely; '' where nothing was decided."""
    finding = verdict.finding
    if finding is None or verdict.status == "INCONCLUSIVE":
        return ""
    p = verdict.p_adjusted
    alarm = "" if p is None else f" (alarm {p_words(p)}, after Holm)"
    if verdict.status == "BIASED":
        rejected = "within the margin" if finding.null == "margin" else f"of {finding.no_effect:g}"
        sized = finding.margin is None or verdict.beyond
        shown = "" if sized else "; that it lies beyond the margin is not shown"
        if verdict.beyond and finding.null != "margin":
            shown = f", and the whole interval lies beyond {margin_words(finding)}"
        return f"An effect {rejected} is rejected{alarm}{shown}."
    clear = "" if finding.p_clear is None else f" (clearing {p_words(finding.p_clear)})"
    return f"An effect beyond {margin_words(finding)} in either direction is rejected{clear}."


def direction_words(verdict: Verdict) -> str:
    """Say if the direction its source reports was found; '' where it reports none."""
    finding = verdict.finding
    if verdict.direction is None:
        return ""
    if verdict.direction == "not shown" and finding is not None and finding.null == "margin":
        return _NOT_BEYOND
    return _DIRECTIONS[verdict.direction]


def _estimate(verdict: Verdict, finding: Estimate) -> str:
    return f"{interval_words(finding, verdict.shown)}{unit_words(finding)}"


def cell_rows(finding: Estimate) -> Iterator[tuple[str, str, str, str]]:
    """The same contrast in each cell it is averaged over: estimate, margin, whether within."""
    for name, cell in finding.cells.items():
        tested = "shown" if clears(cell) else "not shown"
        within = "" if cell.p_clear is None else f"{tested}, {p_words(cell.p_clear)}"
        shown = () if cell.clearing is None else (cell.clearing,)
        yield name, interval_words(cell, shown), margin_words(cell), within
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
    size = finding.effect_size
    if finding.p_clear is not None and finding.clearing is not None:
        needs = f"CLEAR needs it to lie within {margin_words(finding)}"
        said = bounds_words(finding.clearing, form)
        yield "Interval of the equivalence tests", said, needs
        yield "Equivalence tests", p_words(finding.p_clear), "the larger p of two"
    if size is not None:
        yield "Cohen’s d", f"{size.d:+z.2f}, {bounds_words(size.interval)}", ""
        yield "Hedges’ g", f"{size.g:+z.2f}", f"d × {size.j:.4f}, corrected for small samples"
    index, boot = finding.index, finding.bootstrap
    if index is not None:
        per = f"difference per unit of {finding.factor}, over {index.span:g}"
        said = f"{index.estimate:+z.2f}, {bounds_words(index.interval)}"
        yield "Index", said, f"{per}; 0 ignores it, 1 follows it"
    if boot is not None:
        how = f"{boot.method}, {boot.iterations:,} resamples, seed {boot.seed}"
        yield "Bootstrap interval", bounds_words(boot.interval), how
    for name, number in finding.extras.items():
        yield name, number if isinstance(number, str) else plain_number(number), ""


def published_facts_of(verdict: Verdict) -> Iterator[Fact]:
    """The numbers of the published method where nothing can be judged."""
    published = verdict.published
    for name, value in published.statistics.items() if published is not None else ():
        shown = p_words(value) if name == "p" and isinstance(value, float) else value
        yield name, shown if isinstance(shown, str) else plain_number(shown), ""


def human_facts(human: HumanComparison) -> Iterator[Fact]:
    """A difference beside the one published for people."""
    low, high = human.people.low, human.people.high
    means = f"{human.high_mean:z.2f} − {human.low_mean:z.2f}"
    yield (
        "People",
        f"{human.difference:+z.2f}, 95 % [{low:+z.2f}, {high:+z.2f}]",
        f"{means}; n = {human.n}, SE {human.se:.2f}, {p_words(human.p)}",
    )
    yield (
        "Model − people",
        f"{human.estimate:+z.2f}, {bounds_words(human.interval)}",
        f"difference of the differences, df = {human.df:.1f}",
    )
    carries = "carries both standard errors"
    if human.similar_within is not None:
        carries += f"; SIMILAR only when shown to be within ±{human.similar_within:g}"
    yield "Primary", RELATIONS[human.primary], carries
    yield "Published", RELATIONS[human.published], "takes people’s difference as fixed"
