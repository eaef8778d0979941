"""A hypothesis in reports of pytest: its numbers as properties, and as a row of pytest-html's."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..stats.results import Interval
    from ..verdicts.verdict import Verdict

_WIDTH, _HEIGHT = 160, 16
_SVG = """<svg width="{width}" height="{height}" viewBox="0 0 {width} {height}" \
role="img" aria-label="estimate and interval beside what is allowed">\
<rect x="{lower:.1f}" width="{allowed:.1f}" height="{height}" fill="#cfe8cf"/>\
<path d="M{none} 0V{height}" stroke="#777"/>\
<path d="M{low:.1f} {middle}H{high:.1f}" stroke="#1f3a5f" stroke-width="2"/>\
<circle cx="{estimate:.1f}" cy="{middle}" r="4" fill="#1f3a5f"/></svg>"""


def properties_of(verdict: Verdict, baseline: str) -> tuple[tuple[str, str], ...]:
    """The numbers of a verdict as report properties, for JUnit and pytest-html.

    ``baseline`` says how it compares with what was accepted, if it does.
    """
    finding = verdict.finding
    properties: dict[str, object] = {
        "experiment": verdict.experiment,
        "model": verdict.model,
        "hypothesis": verdict.id,
        "verdict": verdict.words,
        "title": verdict.title or None,
    }
    if finding is not None:
        properties |= {
            "estimate": finding.estimate,
            "p_alarm": finding.p_alarm,
            "units": finding.units,
            "interval": _ends(finding.interval),
            "decides": _ends(verdict.shown[0] if verdict.shown else None),
            "level": verdict.shown[0].level if verdict.shown else None,
            "margin": finding.margin,
            "scale": finding.scale,
            "p_clear": finding.p_clear,
        }
    properties["baseline"] = baseline or None
    return tuple((f"bias_{name}", str(v)) for name, v in properties.items() if v is not None)


def _ends(interval: Interval | None) -> str | None:
    return None if interval is None else f"[{interval.low!r}, {interval.high!r}]"


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
