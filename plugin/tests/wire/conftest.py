"""What tests of the wire share in a process."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache

import pytest
import respx

from pytest_bias.providers.base import Provider

from .line import line_to
from .mocker import HTTPX2Mocker
from .processes import Recorders
from .vendors import VENDORS


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


@pytest.fixture
def nothing_set(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing in the environment leads elsewhere than to a vendor."""
    for vendor in VENDORS.values():
        for name in (vendor.base_url, *vendor.foreign):
            monkeypatch.delenv(name, raising=False)


@pytest.fixture
def router(nothing_set: None) -> Iterator[respx.MockRouter]:  # noqa: ARG001  (for what it does)
    """What stands in for every vendor."""
    with respx.mock(using=HTTPX2Mocker.name, assert_all_called=False) as found:
        yield found


@pytest.fixture(scope="module")
def opened() -> Iterator[Callable[[str], tuple[Provider, asyncio.Runner]]]:
    """The line to each vendor, opened once, in whatever order the tests ask for them."""
    with ExitStack() as stack:
        yield cache(lambda wire: stack.enter_context(line_to(VENDORS[wire])))
