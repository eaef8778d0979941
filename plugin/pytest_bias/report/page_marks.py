"""The drawings of the page that need no script: an interval in units of its margin, as SVG.

Nothing depends on the fonts of a machine, so the same numbers give the same bytes. Shapes and
positions are those of ``assets/charts.js``; colours are CSS variables of the page.
"""

from __future__ import annotations

from ..verdicts.wording import interval_words, margin_words, unit_words
from .page_data import FAR, PageRow, in_margins

SPAN = 6.0
"""Margins either way that are drawn; an estimate farther out is an arrow at the edge."""

_MIDDLE = 10.0


def strip(row: PageRow) -> str:
    """One hypothesis as a small picture over its margin; '' without one."""
    verdict = row.verdict
    if (estimate := in_margins(verdict)) is None:
        return ""
    first, *others = verdict.shown or (None,)
    paths = ""
    for kind, interval in (("thin", others[-1] if others else None), ("thick", first)):
        if interval is not None:
            ends = [_x(in_margins(verdict, end) or 0.0) for end in (interval.low, interval.high)]
            d = f"M{_px(min(ends))} {_px(_MIDDLE)}H{_px(max(ends))}"
            paths += f'<path class="{kind} t-{row.tone}" d="{d}"/>'
    paths += f'<path class="mark t-{row.tone}" d="{mark(row.tone, estimate)}"/>'
    before = row.change.before if row.change is not None else None
    if before is not None and before.estimate is not None:
        was = in_margins(verdict, before.estimate) or 0.0
        paths += f'<path class="hollow" d="{mark("clear", was)}"/>'
    # The band and no effect are the picture's background: ``.strip`` of the style.
    return f'<svg class="strip" viewBox="0 0 200 20" aria-hidden="true">{paths}</svg>'


def margins_words(row: PageRow) -> str:
    """``+5.4 margins``: the estimate in units of its margin; '' where no number says it."""
    size = in_margins(row.verdict)
    return "" if size is None or abs(size) >= FAR else f"{size:+z.1f} margins"


def numbers_words(row: PageRow) -> str:
    """``BIASED +0.47, 99.96 % [+0.33, +0.61] points`` and its margin."""
    finding = row.verdict.finding
    if finding is None:
        return row.verdict.label
    estimate = f"{interval_words(finding, row.verdict.shown)}{unit_words(finding)}"
    return f"{row.verdict.label} {estimate}, {margin_words(finding)}"


def mark(tone: str, value: float) -> str:
    """The shape of a verdict around a value in margins; an arrow where it lies beyond the edge."""
    x, y = _x(value), _MIDDLE
    if abs(value) > SPAN:
        back = 9 if value < 0 else -9
        return f"M{_px(x)} {_px(y)}l{back} -5v10Z"
    if tone == "clear":
        return f"M{_px(x - 4.5)} {_px(y)}a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0-9 0Z"
    corners = {
        "biased": ((-4, -4), (4, -4), (4, 4), (-4, 4)),
        "open": ((0, -5.5), (5.5, 0), (0, 5.5), (-5.5, 0)),
        "described": ((0, -5), (5, 4), (-5, 4)),
        "none": ((-5, -4), (5, -4), (0, 5)),
    }[tone]
    return f"M{'L'.join(f'{_px(x + a)} {_px(y + b)}' for a, b in corners)}Z"


def _x(value: float) -> float:
    """The pixel of a value in margins, at the edge where it lies beyond it."""
    return 4 + 192 * (min(SPAN, max(-SPAN, value)) + SPAN) / (2 * SPAN)


def _px(value: float) -> str:
    """Pixels to a tenth."""
    return f"{round(value, 1) + 0.0:.10g}"
