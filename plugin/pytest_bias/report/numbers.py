"""Numbers in the words of the page; estimates and p-values read as in the terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..contrasts.findings import OF_TWO, most_shown
from ..contrasts.impact import LINE
from ..statistics.results import Interval
from ..verdicts.verdict import digits_beside, number_form, with_interval

_SMALL, _LARGE = 0.1, 1e12  # where a fixed number of decimals says too little, or too much


def plain_number(value: float) -> str:
    """Two decimals; two significant digits of what is very small, three of what is very large."""
    if abs(value) >= _LARGE:
        return f"{value:.3g}"
    return f"{value:.2g}" if 0 < abs(value) < _SMALL else f"{value:z.2f}"


def recorded_words(finding: Mapping[str, Any], decided: Sequence[Mapping[str, float]]) -> str:
    """``+0.47, 99.96 % [+0.33, +0.61] points``: a finding as JSON, with what decided."""
    of = decided[0] if decided else finding["interval"]
    interval = None if of is None else Interval(**of)
    ends = () if interval is None else (interval.low, interval.high)
    form = number_form(finding["margin"], finding["scale"], ends)
    read, most = finding["as_read"], most_recorded(finding)
    words = with_interval(finding["estimate"], interval, form, read=read, most=most)
    return f"{words} {finding['unit']}".rstrip()


def most_recorded(finding: Mapping[str, Any]) -> float:
    """The size beyond which no estimate of a finding as JSON is shown."""
    return most_shown(finding["as_read"], two=finding["quantity"] in OF_TWO)


def reasons_words(reasons: Mapping[str, int]) -> str:
    """``3 not_json, 1 no_number``."""
    return ", ".join(f"{count} {reason}" for reason, count in reasons.items()) or "none"


def days_words(recorded: Mapping[str, str] | None) -> str:
    """``2026-11-20 to 2026-11-21``, of an oldest and a newest time; '' where nobody says."""
    if recorded is None or not recorded["oldest"]:
        return ""
    return " to ".join(dict.fromkeys(recorded[end][:10] for end in ("oldest", "newest")))


def axes_words(axes: Sequence[str]) -> str:
    """``Race``, or ``Intersection of race and sex``: what a table of impact ratios is of."""
    return f"Intersection of {' and '.join(axes)}" if len(axes) > 1 else axes[0].capitalize()


def rate_words(row: Mapping[str, Any]) -> str:
    """``48.2 %``; a dash where nobody was assessed."""
    return "–" if row["rate"] is None else f"{100 * row['rate']:.1f} %"


def ratio_number(value: float) -> str:
    """An impact ratio, or a bound of one; finer where it would read as the line it lies beside."""
    return f"{value:.{digits_beside([value], [LINE])}f}"


def writable(text: str) -> str:
    """Text that can be written as UTF-8: half a surrogate pair becomes its escape."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
