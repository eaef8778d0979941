"""Names under which functions and modules keep what they declare; read where no case is made."""

from __future__ import annotations

DECORATORS = frozenset({"conditions", "hypotheses", "positive_control"})
"""The decorators that declare cases."""

ATTRIBUTE = "_pytest_bias_declared"
"""Attribute under which a decorator leaves what it declares on the test function."""

REGISTER = "__pytest_bias_declared__"
"""Name in a module under which the decorators list what they declare in it."""
