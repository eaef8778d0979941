"""Garbage collection around what makes many objects and hardly any garbage."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def uncollected() -> Iterator[None]:
    """Keep the garbage collector out while rows are made, or modules imported, which stay.

    It would walk over all there are, again and again, for a third of the time that many rows
    take. It is not disabled: what others' code does to it meanwhile stays so.
    """
    thresholds = gc.get_threshold()
    gc.set_threshold(0)
    try:
        yield
    finally:
        if not gc.get_threshold()[0]:
            gc.set_threshold(*thresholds)
