"""Names under which functions and modules keep what they declare; read where no case is made."""

from __future__ import annotations

from typing import NoReturn

DECORATORS = frozenset({"conditions", "hypotheses", "positive_control"})
"""The decorators that declare cases."""

ATTRIBUTE = "_pytest_bias_declared"
"""Attribute under which a decorator leaves what it declares on the test function."""

REGISTER = "__pytest_bias_declared__"
"""Name in a module under which the decorators list what they declare in it."""

_refused: list[Exception] = []


def refuse(error: Exception) -> NoReturn:
    """Raise the error of a decorated function that nobody judges, and keep it.

    Whoever catches it, such as unittest for an expected failure, does not make a test of it.
    """
    _refused.append(error)
    raise error


def refusals() -> tuple[Exception, ...]:
    """Return the errors that were kept since this was last asked."""
    taken = tuple(_refused)
    _refused.clear()
    return taken
