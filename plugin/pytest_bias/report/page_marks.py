"""The drawings of the page that need no script: intervals in units of their margins, as SVG.

Nothing depends on the fonts of a machine, so the same numbers give the same bytes. Shapes and
positions are those of ``assets/charts.js``; colours are CSS variables of the page.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape

from ..verdicts.wording import interval_words, margin_words, unit_words
from .escapes import visible_line
from .page_data import FAR, PageRow, in_margins

SPAN = 6.0
"""Margins either way that are drawn; an estimate farther out is an arrow at the edge."""

_ROW, _TITLE, _PLOT, _WIDE = 17, 20, 260, 1000


@dataclass(frozen=True, slots=True)
class MarginScale:
    """From units of the margin to pixels: ``left`` is where −SPAN lies, ``width`` all of it."""

    left: float
    width: float

    def at(self, value: float) -> float:
        """The pixel of a value, at the edge where it lies beyond it."""
        inside = min(SPAN, max(-SPAN, value))
        return self.left + self.width * (inside + SPAN) / (2 * SPAN)


def strip(line: PageRow) -> str:
    """One hypothesis as a small picture over its margin; '' without one."""
    if in_margins(line.verdict) is None:
        return ""
    scale = MarginScale(4, 192)
    paths = "".join(_path(tone, marks) for tone, marks in _marks([(line, 10.0)], scale).items())
    before = line.change.before if line.change is not None else None
    if before is not None and before.estimate is not None:
        was = in_margins(line.verdict, before.estimate) or 0.0
        paths += f'<path class="hollow" d="{mark("clear", scale.at(was), 10.0, beyond=was)}"/>'
    # The band and no effect are the picture's background: ``.strip`` of the style.
    return f'<svg class="strip" viewBox="0 0 200 20" aria-hidden="true">{paths}</svg>'


def margins_words(line: PageRow) -> str:
    """``+5.4 margins``: the estimate in units of its margin; '' where no number says it."""
    size = in_margins(line.verdict)
    return "" if size is None or abs(size) >= FAR else f"{size:+z.1f} margins"


def forest(lines: Sequence[PageRow]) -> str:
    """Hypotheses of an experiment and model, by sentence, over one axis in units of margins."""
    scale, words, placed, top = MarginScale(4, _PLOT - 8), [], [], 0.0
    by_title: dict[str, list[PageRow]] = defaultdict(list)
    for line in sorted(lines, key=lambda each: each.verdict.named):
        by_title[line.title].append(line)
    for title, group in by_title.items():
        words.append(_text(title, top + 13, "head"))
        top += _TITLE
        for line in group:
            placed.append((line, top + _ROW / 2))
            stops = " ← stops it" if line.stops else ""
            said = f"{line.contrast or line.verdict.id}: {numbers_words(line)}{stops}"
            words.append(_text(said, top + 12))
            top += _ROW
        top += 4
    middle, low, high = (_px(scale.at(edge)) for edge in (0, -1, 1))
    head = (
        f'<path class="band" d="M{low} 0H{high}V{_px(top)}H{low}Z"/>'
        f'<path class="zero" d="M{middle} 0V{_px(top)}"/>'
    )
    paths = "".join(_path(tone, marks) for tone, marks in _marks(placed, scale).items())
    return (
        f'<svg class="forest" viewBox="0 0 {_WIDE} {_px(top + 4)}" role="img" '
        f'aria-label="{len(placed)} estimates over their margins; the numbers stand beside them">'
        f"{head}{paths}{''.join(words)}</svg>"
    )


def numbers_words(line: PageRow) -> str:
    """``BIASED +0.47, 99.96 % [+0.33, +0.61] points`` and its margin."""
    finding = line.verdict.finding
    if finding is None:
        return line.verdict.label
    said = f"{interval_words(finding, line.verdict.shown)}{unit_words(finding)}"
    return f"{line.verdict.label} {said}, {margin_words(finding)}"


def _marks(placed: Iterable[tuple[PageRow, float]], scale: MarginScale) -> Mapping[str, list[str]]:
    """By tone: what is drawn thin, what thick, and the marks."""
    found: dict[str, list[str]] = defaultdict(lambda: ["", "", ""])
    for line, y in placed:
        if (estimate := in_margins(line.verdict)) is None:
            continue
        paths, (first, *others) = found[line.tone], line.verdict.shown or (None,)
        for place, interval in ((0, others[-1] if others else None), (1, first)):
            if interval is not None:
                ends = [in_margins(line.verdict, e) or 0.0 for e in (interval.low, interval.high)]
                paths[place] += f"M{_px(scale.at(min(ends)))} {_px(y)}H{_px(scale.at(max(ends)))}"
        paths[2] += mark(line.tone, scale.at(estimate), y, beyond=estimate)
    return found


def mark(tone: str, x: float, y: float, *, beyond: float = 0.0) -> str:
    """The shape of a verdict around a place; an arrow where the estimate lies ``beyond`` it."""
    if abs(beyond) > SPAN:
        back = 9 if beyond < 0 else -9
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


def _path(tone: str, marks: Sequence[str]) -> str:
    thin, thick, points = marks
    return "".join(
        f'<path class="{kind} t-{tone}" d="{path}"/>'
        for kind, path in (("thin", thin), ("thick", thick), ("mark", points))
        if path
    )


def _text(text: str, y: float, kind: str = "") -> str:
    named = f' class="{kind}"' if kind else ""
    x = _PLOT + (12 if kind else 24)
    return f'<text{named} x="{x}" y="{_px(y)}">{escape(visible_line(text), quote=False)}</text>'


def _px(value: float) -> str:
    """Pixels to a tenth."""
    return f"{round(value, 1) + 0.0:.10g}"
