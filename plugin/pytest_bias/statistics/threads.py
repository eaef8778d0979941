"""How many threads the sums are made with: one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def one_thread() -> Iterator[None]:
    """Have numpy's linear algebra work in this thread alone; as a decorator, during a function.

    Products of the small tables here take many times as long on several threads as on one, and
    how they are split over threads changes their last bits: with one, every machine finds the
    same.
    """
    import numpy as np  # noqa: F401, PLC0415  (only what is loaded can be limited)
    import threadpoolctl  # type: ignore[import-untyped, unused-ignore] # noqa: PLC0415

    with threadpoolctl.threadpool_limits(1, user_api="blas"):
        yield
