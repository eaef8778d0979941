"""Garbage collection around the replies and rows that a session keeps to its end."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property

from ..experiments.garbage import uncollected


class Aside:
    """What garbage is not looked for in until the session ends: hundreds of thousands of objects.

    The collector would walk over them again and again. Where somebody else has put objects aside,
    none is put beside them, as they come back only together.
    """

    _used = False

    @cached_property
    def _alone(self) -> bool:
        """Return whether nobody else has put objects aside: counted once, as it takes long."""
        return gc.get_freeze_count() == 0

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Keep the collector out, and then from all that there is by now."""
        if not _is_collected():
            yield
            return
        if self._alone:
            gc.collect(1)  # of what others left lately nothing is kept that is garbage
        with uncollected():
            try:
                yield
            finally:
                if self._alone and gc.isenabled():
                    gc.freeze()
                    self._used = True

    def give_back(self) -> None:
        """Have garbage looked for everywhere again."""
        if self._used:
            gc.unfreeze()
            self._used = False


def _is_collected() -> bool:
    return gc.isenabled() and gc.get_threshold()[0] > 0
