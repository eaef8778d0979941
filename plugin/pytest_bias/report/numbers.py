"""Numbers in the words of the page; estimates and p-values read as in the terminal."""

from __future__ import annotations

from collections.abc import Mapping

from ..estimates import Interval
from ..gate import p_words

_TOGETHER = "\N{NO-BREAK SPACE}"


def plain_number(value: float) -> str:
    """Two decimals, or two significant digits where these would show next to nothing."""
    few = 0 < abs(value) < 0.1  # noqa: PLR2004  (below it, two decimals are one digit)
    return f"{value:.2g}" if few else f"{value:.2f}"


def exact_number(value: float) -> str:
    """Every digit a raw value has."""
    return f"{value:.0f}" if value.is_integer() else repr(value)


def p_value(p: float) -> str:
    """``p < 0.0001``, never broken over two lines."""
    return together(f"p {p_words(p)}")


def together(words: str) -> str:
    """Words that stay on one line."""
    return words.replace(" ", _TOGETHER)


def level_words(interval: Interval) -> str:
    """``95 %``."""
    return together(f"{100 * interval.level:g} %")


def bounds_words(interval: Interval, form: str = "+.2f") -> str:
    """``[+1.50, +2.10]``."""
    return together(f"[{interval.low:{form}}, {interval.high:{form}}]")


def share_words(count: int, of: int) -> str:
    """``42 (35 %)``; a count alone where there is nothing to divide by."""
    return f"{count} ({100 * count / of:.0f} %)" if of else str(count)


def reasons_words(reasons: Mapping[str, int]) -> str:
    """``3 not_json, 1 no_number``."""
    return ", ".join(f"{count} {reason}" for reason, count in reasons.items()) or "none"


def writable(text: str) -> str:
    """Text that can be written as UTF-8: half a surrogate pair becomes its escape."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
