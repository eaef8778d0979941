"""Reliability of a judge, in words: for the terminal and for the page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..statistics.results import Interval
from ..verdicts.judge_agreement import AgreementFound, alpha_words
from ..verdicts.words import number_words

_NOT_DEFINED = "not defined"


@dataclass(frozen=True, slots=True)
class JudgePage:
    """One agreement as the templates need it: a badge, what it means, and its numbers."""

    title: str
    badge: str
    meaning: str
    facts: tuple[tuple[str, str], ...]


def judge_line(found: AgreementFound) -> str:
    """An agreement as one line of the terminal section."""
    trials = number_words(found.trials, "trial")
    if found.needed is None:
        said = _numbers(found) if found.alpha is not None else found.why
        return f"judge beside people on {found.measure}: {said}, {trials} labelled"
    if found.holds:
        return (
            f"judge agrees with itself on {found.measure}: {_numbers(found)}, at least "
            f"{found.needed:g} needed, {trials} scored twice"
        )
    return f"judge NOT RELIED ON: {found.why}{_held(found)}"


def judge_pages(agreements: Sequence[AgreementFound]) -> tuple[JudgePage, ...]:
    """All there is to say on a judge."""
    return tuple(
        JudgePage(
            title=_title(found),
            badge=_badge(found),
            meaning=_meaning(found),
            facts=tuple(_facts(found)),
        )
        for found in agreements
    )


def _title(found: AgreementFound) -> str:
    with_whom = "itself" if found.needed is not None else "people"
    return f"The judge beside {with_whom}: {found.measure}"


def _badge(found: AgreementFound) -> str:
    if found.needed is None:
        return "reported"
    return "agrees" if found.holds else "not relied on"


def _meaning(found: AgreementFound) -> str:
    if found.needed is None:
        return "How well the judge's ratings agree with people's labels; this never gates."
    if found.holds:
        return "The judge rates the same trials alike, so hypotheses may rest on its ratings."
    return f"{found.why[0].upper()}{found.why[1:]}{_held(found)}."


def _facts(found: AgreementFound) -> Iterator[tuple[str, str]]:
    alpha = _NOT_DEFINED if found.alpha is None else _alpha(found)
    yield "Krippendorff’s α", f"{alpha} ({found.level}{_interval_words(found)})"
    if found.needed is not None:
        yield "Needed", f"at least {found.needed:g}, from at least {found.fewest} trials"
    named = "Trials scored twice" if found.needed is not None else "Trials labelled and rated"
    yield named, f"{found.trials}, of which {found.same} alike"
    if found.kappa is not None:
        interval = _bounds(found.kappa_interval)
        yield "Cohen’s κ", f"{alpha_words(found.kappa)}{interval}"
    if found.needed is None and found.why:
        yield "Reason", found.why
    if found.governs:
        yield "Rests on it", ", ".join(found.governs)
    if not found.holds:
        yield "Holds back", ", ".join(found.held) or "no hypothesis"
    if found.source:
        yield "Labels", found.source


def _numbers(found: AgreementFound) -> str:
    kappa = "" if found.kappa is None else f", κ = {alpha_words(found.kappa)}"
    return f"α = {_alpha(found)} ({found.level}){kappa}"


def _alpha(found: AgreementFound) -> str:
    assert found.alpha is not None  # noqa: S101  (who calls this has looked)
    return f"{alpha_words(found.alpha, found.needed)}{_bounds(found.interval)}"


def _bounds(interval: Interval | None) -> str:
    if interval is None:
        return ""
    return f" [{alpha_words(interval.low)}, {alpha_words(interval.high)}]"


def _interval_words(found: AgreementFound) -> str:
    if found.interval is None:
        return ""
    return f"; {found.interval.level:.0%} percentile bootstrap interval over trials"


def _held(found: AgreementFound) -> str:
    if not found.held:
        return ""
    return f"; held back: {', '.join(found.held)}"
