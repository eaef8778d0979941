"""A hypothesis in its row of pytest-html's report: verdict, numbers, and where they lie."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from html import escape

_WIDTH, _HEIGHT = 160, 16
_SVG = """<svg width="{width}" height="{height}" viewBox="0 0 {width} {height}" \
role="img" aria-label="estimate and interval beside what is allowed">\
<rect x="{lower:.1f}" width="{allowed:.1f}" height="{height}" fill="#cfe8cf"/>\
<path d="M{none} 0V{height}" stroke="#777"/>\
<path d="M{low:.1f} {middle}H{high:.1f}" stroke="#1f3a5f" stroke-width="2"/>\
<circle cx="{estimate:.1f}" cy="{middle}" r="4" fill="#1f3a5f"/></svg>"""


def row_html(properties: Iterable[tuple[str, object]]) -> str:
    """A hypothesis' numbers and their chart as HTML for its row; empty for other tests."""
    found = {name: str(value) for name, value in properties}
    if "bias_verdict" not in found:
        return ""
    if "bias_decides" in found:  # else what no verdict rests on would be drawn beside it
        found["bias_interval"] = found["bias_decides"]
    level = 100 * float(found.get("bias_level", 0.95))
    numbers = [
        f"{label} {_short(found[name])}"
        for name, label in (
            ("bias_estimate", "estimate"),
            ("bias_interval", f"{level:.4g} % interval"),
            ("bias_margin", "margin ±"),
            ("bias_units", "units"),
        )
        if name in found
    ]
    if found.get("bias_scale") == "ratio" and "bias_margin" in found:
        margin = float(found["bias_margin"])
        numbers = [words for words in numbers if not words.startswith("margin")]
        numbers.append(f"margin {1 / margin:.2f} to {margin:.2f}")
    lines = (found.get("bias_title", ""), found["bias_verdict"], ", ".join(numbers))
    told = "<br>".join(escape(line) for line in lines if line)
    return f"<div>{told}<br>{_chart(found)}</div>"


def _chart(found: Mapping[str, str]) -> str:
    """The interval beside no effect and what is allowed; empty where there is no interval."""
    if "bias_interval" not in found:
        return ""
    values = [*_bounds(found["bias_interval"]), float(found["bias_estimate"])]
    margin = float(found.get("bias_margin", 0))
    if found.get("bias_scale") == "ratio":
        values = [math.log(value) if value > 0 else math.inf for value in values]
        margin = math.log(margin) if margin else 0.0
    reach = 1.1 * max(map(abs, (*values, margin)))
    if not math.isfinite(reach) or not reach:
        return ""
    middle = _WIDTH / 2
    low, high, estimate, lower = (middle * (1 + v / reach) for v in (*values, -margin))
    return _SVG.format(
        width=_WIDTH,
        height=_HEIGHT,
        middle=_HEIGHT / 2,
        none=middle,
        low=low,
        high=high,
        estimate=estimate,
        lower=lower,
        allowed=2 * (middle - lower),
    )


def _bounds(text: str) -> tuple[float, float]:
    low, high = text[1:-1].split(", ")
    return float(low), float(high)


def _short(text: str) -> str:
    """Numbers of a property to four significant digits."""
    if text.startswith("["):
        low, high = _bounds(text)
        return f"[{low:+z.4g}, {high:+z.4g}]"
    return f"{float(text):z.4g}"
