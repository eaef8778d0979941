"""What tests of the wire share in a process."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest

from .processes import Recorders


@pytest.fixture(scope="session")
def recorders() -> Iterator[Recorders]:
    found = Recorders()
    yield found
    found.close()


@pytest.fixture
def handlers() -> Iterator[None]:
    """Signal handlers are left as they were."""
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = [signal.getsignal(number) for number in numbers]
    yield
    assert [signal.getsignal(number) for number in numbers] == before
