"""The server's books: what came in and what went out. Never a key, a header or a word said."""

from __future__ import annotations

import math
import threading
from collections import deque
from dataclasses import dataclass
from pathlib import Path

from ...experiments.canonical import dumps


@dataclass(frozen=True, slots=True)
class Served:
    """One request for a completion, as the server saw it.

    Parameters
    ----------
    number
        In order of arrival, from 1.
    at, answered_at
        Seconds on the monotonic clock at arrival, and when the answer was ready to be sent; the
        latter is None where there was none.
    path
        Without its query, in which keys may stand.
    model, seed
        As asked for; None where the body has none.
    status
        HTTP status; None where there was no answer.
    fault
        What was planted, ``qpm`` where the limit of requests was enforced; None otherwise.
    """

    number: int
    at: float
    path: str
    model: str | None
    seed: int | None
    status: int | None
    fault: str | None
    answered_at: float | None


class Books:
    """Every request served, in memory and, with a ``path``, as JSON lines at the file's end.

    Safe to use from many threads.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._entries: list[Served] = []
        if path is not None:
            path.open("a", encoding="ascii").close()  # an unwritable one is told at once

    def add(self, entry: Served) -> None:
        """Enter a request; it is on disk when this returns."""
        with self._lock:
            self._entries.append(entry)
            if self._path is not None:
                with self._path.open("a", encoding="ascii") as file:
                    file.write(dumps(entry) + "\n")

    def close(self) -> None:
        """Write no more: threads may outlive the server, and its folder may be gone by then."""
        with self._lock:
            self._path = None

    def entries(self) -> list[Served]:
        """All requests so far, in order of arrival."""
        with self._lock:
            return sorted(self._entries, key=lambda entry: entry.number)


class RequestLimit:
    """A vendor's limit: at most ``limit`` requests within any ``window`` seconds.

    Refused requests count as well, as they do with the vendors. Not safe to use from many
    threads.
    """

    def __init__(self, limit: int, window: float = 60.0) -> None:
        self._limit = limit
        self._window = window
        self._came: deque[float] = deque()

    def wait_at(self, now: float) -> float | None:
        """Take note of a request at ``now``; None to let it pass, else whole seconds to wait."""
        while self._came and self._came[0] <= now - self._window:
            self._came.popleft()
        self._came.append(now)
        if len(self._came) <= self._limit:
            return None
        free = self._came[len(self._came) - self._limit] + self._window
        return max(1.0, math.ceil(free - now))
