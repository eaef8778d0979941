"""What tests of the wire share in a process."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from .processes import Recorders


@pytest.fixture(scope="session")
def recorders() -> Iterator[Recorders]:
    found = Recorders()
    yield found
    found.close()
