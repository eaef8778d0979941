"""Garbage collection around what a session keeps to its end."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

from ..experiments.records import uncollected


@contextmanager
def put_aside() -> Iterator[None]:
    """Keep the garbage collector out, and from what is there at the end until the next session.

    It would walk over all replies and rows again and again, at pytest's end and Python's too.
    """
    with uncollected():
        yield
        gc.freeze()
