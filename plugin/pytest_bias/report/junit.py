"""The numbers of a hypothesis for JUnit's XML and the rows of pytest-html."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..stats.results import Interval
    from ..verdicts.verdict import Verdict


def properties_of(verdict: Verdict, baseline: str) -> tuple[tuple[str, str], ...]:
    """The numbers of a verdict as report properties.

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
    """Title, verdict and estimate of a hypothesis for its row in pytest-html; else empty."""
    values = dict(properties)
    if "bias_verdict" not in values:
        return ""
    lines = [values.get("bias_title", ""), values["bias_verdict"]]
    if "bias_decides" in values:
        estimate = f"estimate {float(str(values['bias_estimate'])):z.4g}"
        low, high = map(float, str(values["bias_decides"])[1:-1].split(", "))
        level = 100 * float(str(values["bias_level"]))
        lines.append(f"{estimate}, {level:.4g} % interval [{low:z.4g}, {high:z.4g}]")
    return f"<div>{'<br>'.join(escape(str(line)) for line in lines if line)}</div>"
