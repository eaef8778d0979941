"""Numbers in the words of the page; estimates and p-values read as in the terminal."""

from __future__ import annotations

from collections.abc import Mapping

from ..contrasts.findings import p_words
from ..statistics.results import Interval
from ..verdicts import verdict

_TOGETHER = "\N{NO-BREAK SPACE}"
_SMALL, _LARGE = 0.1, 1e12  # where a fixed number of decimals says too little, or too much


def plain_number(value: float) -> str:
    """Two decimals; two significant digits of what is very small, three of what is very large."""
    if abs(value) >= _LARGE:
        return f"{value:.3g}"
    return f"{value:.2g}" if 0 < abs(value) < _SMALL else f"{value:.2f}"


def value_words(value: float, *, flag: bool) -> str:
    """A value in little room: a rate in whole percent, where 0 % and 100 % mean none and all."""
    if not flag:
        return plain_number(value)
    percent = f"{100 * value:.0f}"
    if percent == "0" and value > 0:
        percent = "<1"
    if percent == "100" and value < 1:
        percent = ">99"
    return unbroken(f"{percent} %")


def rate_end(value: float) -> str:
    """The end of a rate's interval in whole percent, without the sign, as :func:`value_words`."""
    return value_words(value, flag=True).removesuffix(f"{_TOGETHER}%")


def table_words(value: float, *, flag: bool) -> str:
    """A value in a table, to three decimals or digits; a rate to a tenth of a percent.

    0 means none, and 100 % all: what rounding would hide is said.
    """
    if not flag:
        exact = value == 0 or _SMALL <= abs(value) < _LARGE
        return f"{value:.3f}" if exact else f"{value:.3g}"
    percent = f"{100 * value:.1f}"
    if percent == "0.0" and value > 0:
        percent = "<0.1"
    if percent == "100.0" and value < 1:
        percent = ">99.9"
    return f"{percent} %"


def end_words(value: float, *, flag: bool) -> str:
    """The end of a scale: ``4`` points, ``100 %``."""
    return value_words(value, flag=True) if flag else f"{value:.4g}"


def exact_number(value: float) -> str:
    """Every digit a raw value has."""
    return f"{value:.0f}" if value.is_integer() else repr(value)


def p_value(p: float) -> str:
    """``p < 0.0001``, never broken over two lines."""
    return unbroken(p_words(p))


def unbroken(words: str) -> str:
    """Words that stay on one line."""
    return words.replace(" ", _TOGETHER)


def unbroken_level(interval: Interval) -> str:
    """``95 %``, never broken over two lines."""
    return unbroken(verdict.level_words(interval))


def unbroken_bounds(interval: Interval, form: str = "+.2f") -> str:
    """``95 % [+1.50, +2.10]`` on one line."""
    return unbroken(verdict.bounds_words(interval, form))


def share_words(count: int, of: int) -> str:
    """``42 (35 %)``; a count alone where there is nothing to divide by."""
    return f"{count} ({100 * count / of:.0f} %)" if of else str(count)


def reasons_words(reasons: Mapping[str, int]) -> str:
    """``3 not_json, 1 no_number``."""
    return ", ".join(f"{count} {reason}" for reason, count in reasons.items()) or "none"


def writable(text: str) -> str:
    """Text that can be written as UTF-8: half a surrogate pair becomes its escape."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
