"""Numbers in the words of the page; estimates and p-values read as in the terminal."""

from __future__ import annotations

from collections.abc import Mapping

_SMALL, _LARGE = 0.1, 1e12  # where a fixed number of decimals says too little, or too much


def plain_number(value: float) -> str:
    """Two decimals; two significant digits of what is very small, three of what is very large."""
    if abs(value) >= _LARGE:
        return f"{value:.3g}"
    return f"{value:.2g}" if 0 < abs(value) < _SMALL else f"{value:z.2f}"


def reasons_words(reasons: Mapping[str, int]) -> str:
    """``3 not_json, 1 no_number``."""
    return ", ".join(f"{count} {reason}" for reason, count in reasons.items()) or "none"


def writable(text: str) -> str:
    """Text that can be written as UTF-8: half a surrogate pair becomes its escape."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
