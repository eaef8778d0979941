"""Where a decorated function and its module keep what was declared; read where cases are not."""

from __future__ import annotations

DECORATORS = frozenset({"conditions", "hypotheses", "positive_control"})
"""The decorators that declare cases."""

ATTRIBUTE = "_pytest_bias_declared"
"""Attribute under which a decorator leaves what it declares on the test function."""

REGISTER = "__pytest_bias_declared__"
"""Name in a module under which the decorators list what they declare in it."""
