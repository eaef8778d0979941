"""Charts written as SVG: marks on planes, in pixels from the top left of a plot.

Nothing depends on the fonts of a machine (what fits is reckoned from letters, and own ticks are
drawn), so the same numbers give the same bytes. Colours are the page's CSS variables, which follow
light and dark mode. Whatever is said in a chart stands in words beside it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import IntEnum
from html import escape

from .numbers import writable

SIDE = 14
"""Space right of a plot, in pixels: half a label of the axis may stand there."""

LETTER = 7
"""Width of a letter, generously; it decides what fits, never where it stands."""

QUIET = "var(--muted)"
"""The colour of words that explain."""

_TOP, _BELOW, _MIDDLE = 4, 46, 0.32


class Plane(IntEnum):
    """What lies over what."""

    GROUND = 0
    """Bands, bars and cells."""
    RULES = 1
    """Edges, floors and frames."""
    LINES = 2
    """Intervals with their caps."""
    BOLD = 3
    """Inner intervals, and what keeps words apart from lines."""
    POINTS = 4
    WORDS = 5


class Drawing:
    """Marks on planes; ``gutter`` is room for words left of the plot, whose x is 0."""

    def __init__(self, plot: float, *, gutter: int = 0) -> None:
        self.plot = plot
        self._gutter = gutter
        self._marks: dict[Plane, list[str]] = {plane: [] for plane in Plane}

    def svg(self, height: float, *, side: int = 1, below: int = 4) -> str:
        """The chart, to stand in a page: without a size of its own, hidden from readers."""
        left = 1 + self._gutter
        box = f"{-left} {-_TOP} {_px(left + self.plot + side)} {_px(height + _TOP + below)}"
        marks = "".join(mark for plane in Plane for mark in self._marks[plane])
        return (
            f'<svg viewBox="{box}" aria-hidden="true" focusable="false" '
            f'font-family="sans-serif" font-size="13">{marks}</svg>'
        )

    def rect(
        self,
        x: tuple[float, float],
        y: tuple[float, float],
        plane: Plane,
        *,
        fill: str = "none",
        stroke: str = "",
        dashed: bool = False,
        corner: float = 0,
    ) -> None:
        """Draw a rectangle between two places each way."""
        self._marks[plane].append(
            f'<rect x="{_px(min(x))}" y="{_px(min(y))}" width="{_px(abs(x[1] - x[0]))}" '
            f'height="{_px(abs(y[1] - y[0]))}" fill="{fill}"'
            + (f' stroke="{stroke}"' if stroke else "")
            + (' stroke-dasharray="3 2"' if dashed else "")
            + (f' rx="{_px(corner)}"' if corner else "")
            + "/>"
        )

    def line(
        self,
        x: tuple[float, float],
        y: tuple[float, float],
        colour: str,
        plane: Plane,
        *,
        width: float = 1,
        dashed: bool = False,
    ) -> None:
        """Draw a straight line from one place to another."""
        self._marks[plane].append(
            f'<path d="M{_px(x[0])} {_px(y[0])}L{_px(x[1])} {_px(y[1])}" stroke="{colour}"'
            + (f' stroke-width="{_px(width)}"' if width != 1 else "")
            + (' stroke-dasharray="4 3"' if dashed else "")
            + "/>"
        )

    def point(self, shape: str, x: float, y: float, colour: str, size: float) -> None:
        """Draw a filled point of ``size`` square pixels, with a rim that sets it off."""
        corners = " ".join(
            f"{_px(x + across)},{_px(y + down)}" for across, down in _corners(shape, size)
        )
        radius = _px(math.sqrt(size / math.pi))
        form = (
            f'circle cx="{_px(x)}" cy="{_px(y)}" r="{radius}"'
            if shape == "circle"
            else f'polygon points="{corners}"'
        )
        rim = 'stroke="var(--card)" stroke-width="1.5"'
        self._marks[Plane.POINTS].append(f'<{form} fill="{colour}" {rim}/>')

    def words(
        self,
        text: str,
        x: float,
        y: float,
        *,
        align: str = "start",
        colour: str = "var(--ink)",
        size: float = 13,
        bold: bool = False,
        upright: bool = False,
    ) -> None:
        """Write words whose middle line is at ``y``; ``upright`` ones run up from there."""
        middle = y + _MIDDLE * size
        turned = f' transform="rotate(-90 {_px(x)} {_px(y)})"' if upright else ""
        self._marks[Plane.WORDS].append(
            f'<text x="{_px(x)}" y="{_px(middle)}" fill="{colour}"'
            + (f' text-anchor="{align}"' if align != "start" else "")
            + (f' font-size="{_px(size)}"' if size != 13 else "")  # noqa: PLR2004  (the chart's)
            + (' font-weight="600"' if bold else "")
            + f"{turned}>{escape(writable(text), quote=False)}</text>"
        )


class Plot(Drawing):
    """Marks over one x axis from ``domain[0]`` to ``domain[1]``."""

    def __init__(
        self, domain: tuple[float, float], plot: float, *, title: str, gutter: int = 0
    ) -> None:
        super().__init__(plot, gutter=gutter)
        self.domain = domain
        self._title = title

    def at(self, value: float) -> float:
        """The pixel of a value."""
        low, high = self.domain
        return self.plot * (value - low) / (high - low)

    def charted(self, height: float) -> str:
        """The chart with its axis at ``height``.

        Grid lines are drawn only beside a gutter: without one, words stand inside the plot.
        """
        for value in ticks(*self.domain, about=int(self.plot) // 70):
            x = self.at(value)
            if self._gutter:
                self.line((x, x), (0, height), "var(--grid)", Plane.GROUND)
            self.line((x, x), (height, height + 5), "var(--rule)", Plane.RULES)
            label = f"{value:.12g}".replace("-", "−")
            # Where nothing stands left of the plot, the first label may not leave the chart.
            x = max(x, len(label) * LETTER / 2 - self._gutter)
            self.words(label, x, height + 13, align="middle", colour=QUIET, size=12)
        self.line((0, self.plot), (height, height), "var(--rule)", Plane.RULES)
        title = fitting(self._title, self.plot)
        self.words(title, self.plot / 2, height + 34, align="middle", colour=QUIET, size=12)
        return self.svg(height, side=SIDE, below=_BELOW)


def fitting(text: str, width: float) -> str:
    """``text``, or as much of it as stands in so many pixels."""
    most = int(width // LETTER)
    return text if len(text) <= most else f"{text[: most - 1]}…"


def ticks(low: float, high: float, *, about: int) -> list[float]:
    """Round numbers from ``low`` to ``high``, about so many of them."""
    step = round_step((high - low) / max(about, 2))
    return multiples(step, math.ceil(low / step), math.floor(high / step))


def padded(low: float, high: float) -> tuple[float, float]:
    """A little more than from ``low`` to ``high``."""
    # Beside a very large value half a unit is nothing, and an axis needs two ends.
    pad = (high - low) * 0.04 or max(0.5, abs(low) * 1e-9)
    return low - pad, high + pad


def round_step(least: float) -> float:
    """The smallest 1, 2 or 5 times a power of ten that is not below ``least``."""
    power = 10.0 ** math.floor(math.log10(least))
    return next(step * power for step in (1, 2, 5, 10) if step * power >= least * (1 - 1e-9))


def multiples(step: float, first: int, last: int) -> list[float]:
    """``first`` to ``last`` times ``step``, without the noise of floating-point products."""
    digits = max(0, 1 - math.floor(math.log10(step)))
    return [round(index * step, digits) + 0.0 for index in range(first, last + 1)]


def _px(value: float) -> str:
    """Pixels to a hundredth."""
    return f"{round(value, 2) + 0.0:.10g}"


def _corners(shape: str, size: float) -> Sequence[tuple[float, float]]:
    """The corners of a shape of ``size`` around its middle."""
    half = math.sqrt(size) / 2
    tall, arm = half * math.sqrt(3) / 2, half / 2.5
    cross = [(-half, -arm), (-arm, -arm), (-arm, -half), (arm, -half), (arm, -arm), (half, -arm)]
    return {
        "circle": [],
        "square": [(-half, -half), (half, -half), (half, half), (-half, half)],
        "triangle-up": [(0, -tall), (half, tall), (-half, tall)],
        "triangle-down": [(0, tall), (-half, -tall), (half, -tall)],
        "diamond": [(0, -half), (half, 0), (0, half), (-half, 0)],
        "cross": [*cross, *((-x, -y) for x, y in cross)],
    }[shape]
