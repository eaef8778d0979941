"""Names under which functions and modules keep what they declare; read where no case is made."""

from __future__ import annotations

import sys

DECORATORS = frozenset({"conditions", "hypotheses", "positive_control"})
"""The decorators that declare cases."""

ATTRIBUTE = "_pytest_bias_declared"
"""Attribute under which a decorator leaves what it declares on the test function."""

REGISTER = "__pytest_bias_declared__"
"""Name in a module under which the decorators list what they declare in it."""

OPTIONAL = "__bias_optional__"
"""Name in a module for why some of its declarations may stand under conditions."""

# Not imported, for the package's own module leads to all others.
_refusals: list[str] = sys.modules[__name__.partition(".")[0]]._refusals  # noqa: SLF001


def kept(error: Exception) -> Exception:
    """Keep the words of an error that is raised now: whoever catches it makes no test of it."""
    _refusals.append(f"{type(error).__name__}: {error}")
    return error
