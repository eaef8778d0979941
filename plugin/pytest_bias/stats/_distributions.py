# ruff: noqa: PLC0414
"""Until the plan is by the one t formula."""

from ._old._distributions import crossing as crossing
