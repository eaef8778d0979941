"""Differences of rates without the error at which events are read, and the p-values of these."""

from __future__ import annotations

from dataclasses import replace

from ...stats.means import StudentEstimate
from ...stats.misclassification import corrected_difference
from ...stats.results import Misclassified
from ..findings import ALPHA, AS_READ, LABELLED, Null
from .tested import Tested, alarm_p

ERROR = "error of reading"
"""Name of the extra that has the rates an estimate is corrected for."""

_KNOWN = 0.25
"""Share of the standard error below which that of the rates is left out of units' own values."""

_LARGE = 1e9
"""Degrees of freedom of a standard error without any."""


def corrected(tested: Tested, error: Misclassified, *, margin: float | None, null: Null) -> Tested:
    """Return a difference of rates as it is of the events themselves (Rogan & Gladen 1978).

    Interval and p-values are by Student's t with the standard error of the delta method. Nothing
    is cleared that is not cleared without, or not at the rates that stand ``also``, and that there
    is no difference (``null`` "zero") is as likely as before. Error rates of other replies correct
    no estimate: they are what clearing must hold at. What has no standard error stays as it was
    found, and is not cleared.
    """
    if error.youden == 1 and not error.se:
        return tested
    held = [(each, *_at(tested, each, margin)) for each in (error, *error.also)]
    _, found, _ = held[0]
    p_clear = tested.p_clear
    if p_clear is not None:
        p_clear = max(p_clear, *(1.0 if p is None else p for *_, p in held))
    kept = not error.sampled or not found.se
    extras: dict[str, float | str] = {} if kept else {ERROR: _rates(error)}
    extras |= {f"at {_rates(each)}": _shown(at, p) for each, at, p in held[not kept :]}
    if error.labels:
        extras[LABELLED] = float(error.labels)
    if error.worst is not None:
        extras[f"at specificity {error.worst.specificity:.3f} ({error.worst.source})"] = _shown(
            *_at(tested, error.worst, margin)
        )
    if kept:
        extras = {**tested.extras, **extras}
        return replace(tested, p_clear=p_clear, extras=extras, deterministic=False)
    extras[AS_READ] = tested.estimate
    if tested.p_clear is not None:
        extras[f"{AS_READ}, clearing p"] = tested.p_clear
    limits = found.at_level(1 - 2 * ALPHA)
    # Units do not tell how sure the rates are: where these count, nothing is compared by them.
    known = abs(tested.estimate) * error.se <= _KNOWN * error.youden * (tested.se or 0.0)
    again = {"90 % interval, from": limits.low, "90 % interval, to": limits.high}
    p_alarm, tost = tested.p_alarm, tested.tost
    if margin is not None:
        if null == "margin":
            p_alarm = alarm_p(
                estimate=found.estimate, se=found.se, df=found.df, null=null, margin=margin
            )
        tost = tost and found.tost(margin)
    return replace(
        tested,
        estimate=found.estimate,
        interval=found.interval,
        se=found.se,
        df=found.df,
        p_alarm=p_alarm,
        p_clear=p_clear,
        tost=tost,
        method=f"{tested.method}; corrected for error of reading (Rogan & Gladen)",
        extras={**{k: again.get(k, v) for k, v in tested.extras.items()}, **extras},
        by_unit=tuple(
            part._replace(values={k: v / error.youden for k, v in part.values.items()})
            for part in tested.by_unit
            if known
        ),
        at_level=found.at_level,
        deterministic=False,  # as many as clear events that are read without error are too few
    )


def _rates(error: Misclassified) -> str:
    rates = f"sensitivity {error.sensitivity:.3f}, specificity {error.specificity:.3f}"
    return f"{rates} ({error.source})"


def _at(
    tested: Tested, error: Misclassified, margin: float | None
) -> tuple[StudentEstimate, float | None]:
    """Return the estimate at rates of error, and its p of clearing."""
    estimate, se = corrected_difference(tested.estimate, tested.se or 0.0, error)
    found = StudentEstimate(estimate=estimate, se=se, df=tested.df or _LARGE)
    return found, None if margin is None or not se else found.tost(margin).p


def _shown(found: StudentEstimate, p_clear: float | None) -> str:
    clearing = "" if p_clear is None else f", clearing p = {p_clear:.4f}"
    return f"{found.estimate:+z.3f}{clearing}"
