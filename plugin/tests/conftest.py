"""What holds for all tests of the plugin."""

from __future__ import annotations

import gc
import signal
from collections.abc import Iterator
from functools import cache
from types import ModuleType

import httpcore2
import hypothesis
import pytest

from .runs import keep, libraries

# Examples are the same in every run and no test is timed: what fails, fails again. For a search,
# `pytest plugin/tests --hypothesis-profile=thorough`.
hypothesis.settings.register_profile("gate", deadline=None, max_examples=50, derandomize=True)
hypothesis.settings.register_profile("thorough", deadline=None, max_examples=2_000)
hypothesis.settings.load_profile("gate")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that rewrites the texts of ``golden``."""
    parser.addoption("--update-golden", action="store_true", help="accept what is printed now")


@pytest.fixture(scope="session", autouse=True)
def heard() -> None:
    """Let signals be heard that nohup, a shell's background or a CI service has ignored."""
    if signal.getsignal(signal.SIGHUP) == signal.SIG_IGN:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session", autouse=True)
def certificates() -> Iterator[None]:
    """Read whom to trust once, and not for each of thousands of clients that are made.

    None of them needs it: whom they call is on loopback or made up.
    """
    with pytest.MonkeyPatch.context() as here:
        here.setattr(httpcore2, "default_ssl_context", cache(httpcore2.default_ssl_context))
        yield


@pytest.fixture(scope="module", autouse=True)
def spared() -> None:
    """Spare full collections of garbage what was there before the tests of a module.

    Each recording ends with one, and each run of pytest with five: going through all that has
    been imported takes a quarter of a second each time.
    """
    gc.collect()
    gc.freeze()


@pytest.fixture
def imported() -> Iterator[dict[str, ModuleType]]:
    """Libraries that a test of pytester has imported, kept when it ends."""
    found: dict[str, ModuleType] = {}
    yield found
    keep(found)


@pytest.fixture
def pytester(
    imported: dict[str, ModuleType], pytester: pytest.Pytester
) -> Iterator[pytest.Pytester]:
    """Take note of what is imported, before pytester's own end forgets it."""
    yield pytester
    imported.update(libraries())
