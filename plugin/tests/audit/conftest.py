"""The suites of the hooks' tests."""

from ..hooks.conftest import empty, once, recordings, suite

__all__ = ["empty", "once", "recordings", "suite"]
