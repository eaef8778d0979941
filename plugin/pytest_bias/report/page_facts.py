"""The numbers of one hypothesis, each with its name and what it says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ..contrasts.findings import Finding, HumanComparison
from ..verdicts.words import interval_words, margin_words, number_form, unit_words
from .figures import human_interval
from .numbers import level_words, p_value, plain_number, unbroken_bounds

_RELATIONS = {
    "LESS": "LESS than in people",
    "SIMILAR": "SIMILAR to people",
    "GREATER": "GREATER than in people",
    "not distinguishable": "not distinguishable from people",
}
_ABSENT = "not part of it"
_NONE = "–"


@dataclass(frozen=True, slots=True)
class Fact:
    """A number with its name and what it says."""

    term: str
    value: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class AnalysisRow:
    """One row of the table of both analyses."""

    name: str
    primary: str
    published: str


def analysis_rows(finding: Finding, p_adjusted: float | None) -> Iterator[AnalysisRow]:
    """The primary analysis beside the published one, row by row."""
    published = finding.published
    statistics: Mapping[str, float | str] = published.statistics if published else {}
    yield AnalysisRow("Method", finding.method, published.method if published else "")
    yield AnalysisRow("Role", "gives the verdict", "stands beside it; it never gates")
    yield AnalysisRow(
        finding.quantity.capitalize(), f"{interval_words(finding)}{unit_words(finding)}", _NONE
    )
    adjusted = "" if p_adjusted is None else f"; after Holm {p_value(p_adjusted)}"
    test = ", ".join(
        f"{name} = {value:{form}}"
        for name, form in (
            ("t", ".2f"),
            ("F", ".2f"),
            ("chi2", ".2f"),
            ("U", ".1f"),
            ("df", ".1f"),
        )
        if isinstance(value := statistics.get(name), float)
    )
    p = statistics.get("p")
    alarm = [part for part in (test, f"{p_value(p)}" if isinstance(p, float) else "") if part]
    yield AnalysisRow(
        "Against no effect" if finding.null == "zero" else "Against the margin",
        f"{p_value(finding.p_alarm)}{adjusted}",
        ", ".join(alarm) or _ABSENT,
    )
    if finding.margin is not None and finding.p_clear is not None:
        cleared = f"{p_value(finding.p_clear)} at {margin_words(finding)}"
        yield AnalysisRow("Clearing it", cleared, _ABSENT)
    sizes = [
        f"{name} = {value:+.2f}"
        for name in ("d", "g")
        if isinstance(value := statistics.get(name), float)
    ]
    size = finding.effect_size
    primary = (
        f"g = {size.g:+.2f}, d = {size.d:+.2f} {unbroken_bounds(size.interval)}" if size else ""
    )
    if primary or sizes:
        yield AnalysisRow("Effect size", primary or "not defined", ", ".join(sizes) or _ABSENT)
    for name in sorted(statistics.keys() - {"t", "F", "chi2", "U", "df", "p", "d", "g"}):
        value = statistics[name]
        yield AnalysisRow(name, _ABSENT, value if isinstance(value, str) else plain_number(value))
    if finding.human is not None:
        human = finding.human
        yield AnalysisRow("Beside people", _RELATIONS[human.primary], _RELATIONS[human.published])


def all_facts(finding: Finding) -> Iterator[Fact]:
    """Every number of a finding that neither the chart nor the columns show in full."""
    for arm in finding.arms:
        missing = "".join(f", {count} missing ({reason})" for reason, count in arm.missing.items())
        what = "rate" if finding.quantity.startswith(("rate", "selection")) else "mean"
        value = arm.value if arm.value != arm.level else ""
        yield Fact(
            f"{what.capitalize()} at {arm.level}{f' ({value})' if value else ''}",
            f"{arm.mean:.2f}",
            f"{arm.units} units{missing}",
        )
    if tost := finding.equivalence:
        for edge, t, p, side in (
            (-tost.margin, tost.t_lower, tost.p_lower, "above"),
            (tost.margin, tost.t_upper, tost.p_upper, "below"),
        ):
            yield Fact(
                f"Equivalence test, {side} {edge:+g}",
                f"{p_value(p)}",
                f"t = {t:.2f}, df = {tost.df:.1f}",
            )
        note = f"CLEAR needs it to lie within ±{tost.margin:g}"
        bounds = unbroken_bounds(tost.interval, number_form(finding.margin, finding.scale))
        yield Fact(f"{level_words(tost.interval)} interval", bounds, note)
    if size := finding.effect_size:
        level = level_words(size.interval)
        yield Fact(
            "Cohen’s d",
            f"{size.d:+.2f} {unbroken_bounds(size.interval)}",
            f"with {level} interval",
        )
        yield Fact("Hedges’ g", f"{size.g:+.2f}", f"d × {size.j:.4f}, corrected for small samples")
    if index := finding.index:
        value = f"{index.estimate:+.2f} {unbroken_bounds(index.interval)}"
        note = f"difference per unit of {finding.factor}, over {index.span:g}; "
        note += "0 ignores it, 1 follows it"
        yield Fact("Index", value, note)
    if boot := finding.bootstrap:
        note = f"{boot.method}, {boot.iterations:,} resamples, seed {boot.seed}"
        yield Fact(
            f"Bootstrap, {level_words(boot.interval)} interval",
            unbroken_bounds(boot.interval),
            note,
        )
    for name, number in finding.extras.items():
        yield Fact(name, number if isinstance(number, str) else plain_number(number))
    if worst := finding.worst_case:
        form = number_form(finding.margin, finding.scale)
        clear = "" if worst.p_clear is None else f", clearing {p_value(worst.p_clear)}"
        need = (
            "the verdict must hold here" if worst.needed else "too little is missing to require it"
        )
        yield Fact(
            "Worst case for missing replies",
            "not defined"
            if worst.lowest is None or worst.highest is None
            else f"{worst.lowest:{form}} to {worst.highest:{form}}",
            f"Manski bounds; alarm {p_value(worst.p_alarm)}{clear}; {need}",
        )


def people_facts(human: HumanComparison) -> Iterator[Fact]:
    """The difference in people, and how the model's relates to it."""
    low, high = human_interval(human)
    yield Fact(
        "People",
        f"{human.difference:+.2f} [{low:+.2f}, {high:+.2f}]",
        f"{human.high_mean:.2f} − {human.low_mean:.2f}; n = {human.n}, SE {human.se:.2f}, "
        f"{p_value(human.p)}",
    )
    yield Fact(
        "Model − people",
        f"{human.estimate:+.2f} {unbroken_bounds(human.interval)}",
        f"difference of the differences with its {level_words(human.interval)} interval, "
        f"df = {human.df:.1f}",
    )
    yield Fact(
        "Primary",
        _RELATIONS[human.primary],
        "carries both standard errors; SIMILAR only when shown to be within "
        f"±{human.similar_within:g}",
    )
    yield Fact("Published", _RELATIONS[human.published], "takes people’s difference as fixed")
