"""The gate: which verdict passes, which fails, and in what words."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .analysis import Recording
from .baselines import Acceptance, Entry, Estimated
from .errors import (
    BadStatisticInput,
    BiasError,
    BiasFound,
    ControlNotSeen,
    Inconclusive,
    NoVariance,
)
from .findings import ALPHA, CHANCE, Finding, units_called
from .verdicts import Control, Verdict, margin_words

if TYPE_CHECKING:
    from .settings import Gate, OnInconclusive


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """A verdict beside the baseline.

    ``accepted`` is set where the verdict is tolerated, as somebody accepted it; ``words`` says how
    the two compare; ``improved`` is whether the baseline was worse than the CLEAR found now.
    """

    accepted: Acceptance | None = None
    words: str = ""
    improved: bool = False


ABSOLUTE = Beside()
"""No baseline: the verdict alone decides."""


def stopped_by(
    verdict: Verdict,
    cassette: str,
    *,
    gate: Gate,
    inconclusive: OnInconclusive,
    beside: Beside = ABSOLUTE,
) -> BiasError | None:
    """The error the gate raises for ``verdict``; None when it passes.

    What is accepted (``beside``) is stopped all the same: an xfail lets it through.
    """
    if gate == "off" or verdict.status == "CLEAR" or not verdict.gates:
        return None
    if verdict.status == "BIASED":
        return BiasFound(describe_verdict(verdict, cassette, beside))
    if verdict.claim == "detect" or inconclusive == "pass":
        return None
    return Inconclusive(describe_verdict(verdict, cassette, beside))


def stopped_by_control(control: Control, cassette: str, *, gate: Gate) -> BiasError | None:
    """The error the gate raises for a positive control that was not seen; None when it was."""
    if gate == "off" or control.seen:
        return None
    return ControlNotSeen(
        f"positive control {control.id} was not seen: {control.reason}; no CLEAR can be given\n"
        f"  {estimate_words(control.finding) if control.finding else 'no estimate'}\n"
        f"  cassette: {cassette}"
    )


def compare(verdict: Verdict, recording: Recording, entry: Entry | None, *, today: str) -> Beside:
    """A verdict beside its entry, on a day; fingerprints have been compared before."""
    if not verdict.gates:
        return ABSOLUTE
    if entry is None:
        return Beside(words="this hypothesis is not in the baseline")
    if verdict.status == "CLEAR":
        improved = entry.status != "CLEAR"
        words = f"improved: it was {entry.words}; accept the new baseline" if improved else ""
        return Beside(words=words, improved=improved)
    accepted = entry.accepted
    if accepted is None or entry.status != verdict.status:
        return Beside(words=f"new: what was accepted is {entry.words}")
    against = ""
    if accepted.until < today:
        against = "which is past"
    elif verdict.status == "BIASED" and not _is_same(verdict.finding, recording, entry):
        against = _worse(verdict.finding, entry)
    elif verdict.finding is None and entry.estimate is not None:
        against = "but now there is no estimate at all"
    if against:
        return Beside(words=f"{accepted} ({accepted.reason}), {against}")
    return Beside(accepted=accepted, words=f"{accepted}: {accepted.reason}")


def _is_same(found: Finding | None, recording: Recording, entry: Entry) -> bool:
    """Whether these are the very replies that were accepted, and give the same."""
    return (
        found is not None
        and entry.estimate is not None
        and recording.checksum == entry.cassette
        and math.isclose(found.estimate, entry.estimate, rel_tol=1e-6, abs_tol=1e-12)
    )


def _worse(found: Finding | None, entry: Entry) -> str:
    """Why other replies may show a worse bias than was accepted; empty when they show they do not.

    As independent estimates, they must be non-inferior to the best that was ever accepted: else
    small steps, each accepted, would add up.
    """
    if found is None or entry.estimate is None:
        return "and there is no estimate to compare"
    best = entry.best
    against = f"but {found.estimate:+.4g} is not shown to be no worse than {entry.estimate:+.4g}"
    if found.margin is None:
        return f"{against}: there is no margin"
    if found.se is None or found.df is None or best is None or found.scale == "ratio":
        return f"{against}: without a standard error of both, only the same replies are"
    if best.estimate != entry.estimate:
        against += f" and the best ever accepted, {best.estimate:+.4g}"
    now = Estimated(estimate=found.estimate, se=found.se, df=found.df, cassette="")
    why = _inferior(now, best, found.margin)
    return f"{against}: {why}" if why else ""


def _inferior(now: Estimated, best: Estimated, margin: float) -> str:
    """Why an estimate is not non-inferior to the best; empty when it is (two-sign rule)."""
    from .statistics.noninferiority import (  # noqa: PLC0415  (scipy: only to compare)
        non_inferior_from_estimates,
    )

    try:
        tested = non_inferior_from_estimates(
            candidate=now.estimate,
            se_candidate=now.se,
            df_candidate=now.df,
            baseline=best.estimate,
            se_baseline=best.se,
            df_baseline=best.df,
            margin=margin,
            alpha=ALPHA,
        )
    except (BadStatisticInput, NoVariance) as error:
        return str(error)
    if tested.non_inferior:
        return ""
    return f"it may be larger by {tested.bound:.4g}, margin {margin:g}"


def describe_verdict(verdict: Verdict, cassette: str, beside: Beside = ABSOLUTE) -> str:
    """The verdict with its numbers, for a failure: first line first, all that decided below."""
    finding = verdict.finding
    lines = [f"{verdict.experiment} × {verdict.model}: {verdict.words}"]
    lines.append(f"  hypothesis: {verdict.id} (claim: {verdict.claim})")
    if finding is not None:
        lines.append(f"  {estimate_words(finding)}")
        lines.append(f"  {arms_words(finding)}")
        adjusted = "" if verdict.p_adjusted is None else p_words(verdict.p_adjusted)
        cleared = "" if finding.p_clear is None else f"; clearing: p {p_words(finding.p_clear)}"
        lines.append(f"  alarm: p {adjusted} (Holm){cleared}; {finding.method}")
    if verdict.settle is not None:
        lines.append(f"  {settle_words(verdict)} would settle it")
    if beside.words:
        lines.append(f"  baseline: {beside.words}")
    lines.append(f"  cassette: {cassette}")
    return "\n".join(lines)


def estimate_words(finding: Finding) -> str:
    """``mean difference high − low of sentence_months: +1.80 [+1.50, +2.10], margin ±0.6``."""
    margin = "" if finding.margin is None else f", margin {margin_words(finding)}"
    unit = f" {finding.unit}" if finding.unit else ""
    return (
        f"{finding.quantity} {finding.contrast} of {finding.measure}: "
        f"{interval_words(finding)}{unit}{margin}"
    )


def interval_words(finding: Finding) -> str:
    """``+1.80 [+1.50, +2.10]``: the estimate and its 95 % interval, where it has one."""
    form = number_form(finding)
    interval = finding.interval
    if interval is None:
        chance = finding.extras.get(CHANCE)
        beside = f" ({chance:.2f} by chance)" if isinstance(chance, float) else ""
        return f"{finding.estimate:{form}}{beside}"
    return f"{finding.estimate:{form}} [{interval.low:{form}}, {interval.high:{form}}]"


def number_form(finding: Finding) -> str:
    """How its estimates are printed: with the sign they have, as finely as the margin."""
    sign = "+" if finding.scale == "difference" else ""
    margin = finding.margin
    fine = margin is not None and abs(round(margin, 2) - margin) > 1e-9  # noqa: PLR2004
    return f"{sign}.{3 if fine else 2}f"


def units_words(finding: Finding) -> str:
    """``n = 240 replies``; where units are not replies, of how many replies they are made."""
    if finding.unit_name == "replies":
        return f"n = {finding.units} replies"
    return f"n = {finding.units} {units_called(finding.unit_name)} ({finding.replies} replies)"


def settle_words(verdict: Verdict) -> str:
    """``about 150 replies per group``."""
    name = verdict.finding.unit_name if verdict.finding is not None else "units"
    of_groups = name == "replies" or name.startswith("exemplars of")
    return f"about {verdict.settle} {units_called(name)}{' per group' if of_groups else ''}"


def arms_words(finding: Finding) -> str:
    """Every side: level, value, mean or rate, units, missing."""
    parts = []
    for arm in finding.arms:
        missing = "".join(f", {count} {reason}" for reason, count in arm.missing.items())
        value = f" ({arm.value})" if arm.value != arm.level else ""
        parts.append(f"{arm.level}{value}: {arm.mean:.2f} from {arm.units} units{missing}")
    return "; ".join(parts)


def p_words(p: float) -> str:
    """A p-value in print: never 0."""
    smallest = 0.0001
    return f"< {smallest}" if p < smallest else f"= {p:.4f}"


def properties_of(verdict: Verdict, beside: Beside) -> tuple[tuple[str, str], ...]:
    """The numbers of a verdict as report properties, for JUnit and pytest-html."""
    properties = {
        "bias_experiment": verdict.experiment,
        "bias_model": verdict.model,
        "bias_hypothesis": verdict.id,
        "bias_verdict": verdict.words,
    }
    finding = verdict.finding
    if finding is not None:
        properties |= {
            "bias_estimate": repr(finding.estimate),
            "bias_p_alarm": repr(finding.p_alarm),
            "bias_units": str(finding.units),
        }
        if finding.interval is not None:
            interval = finding.interval
            properties["bias_interval"] = f"[{interval.low!r}, {interval.high!r}]"
        if finding.margin is not None:
            properties["bias_margin"] = repr(finding.margin)
        if finding.p_clear is not None:
            properties["bias_p_clear"] = repr(finding.p_clear)
    if beside.words:
        properties["bias_baseline"] = beside.words
    return tuple(properties.items())
