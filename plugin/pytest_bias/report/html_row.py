"""A hypothesis' numbers in its row of pytest-html's report."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape


def row_words(properties: Iterable[tuple[str, object]]) -> str:
    """HTML to stand under the test's name; empty for any other test."""
    found = {name: str(value) for name, value in properties}
    if "bias_verdict" not in found:
        return ""
    numbers = [
        f"{label} {_short(found[name])}"
        for name, label in (
            ("bias_estimate", "estimate"),
            ("bias_interval", "95 % interval"),
            ("bias_margin", "margin ±"),
            ("bias_units", "units"),
        )
        if name in found
    ]
    lines = (found.get("bias_title", ""), found["bias_verdict"], ", ".join(numbers))
    return f"<div>{'<br>'.join(escape(line) for line in lines if line)}</div>"


def _short(text: str) -> str:
    """Numbers of a property to four significant digits."""
    if text.startswith("["):
        low, high = text[1:-1].split(", ")
        return f"[{float(low):+.4g}, {float(high):+.4g}]"
    return f"{float(text):.4g}"
