"""What holds for all tests of the plugin."""

from __future__ import annotations

import gc
import signal
from collections.abc import Iterator
from functools import cache
from pathlib import Path
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

_ROOT = Path(__file__).parents[2]
_LONGEST = ("plugin/tests/browser", "plugin/tests/wire/test_ray.py",
            "plugin/tests/wire/test_wheel.py", "plugin/tests/wire/test_readme_commands.py",
            "plugin/tests/core/contrasts/test_calibration.py", "bias_tests/narrative",
            "bias_tests/recommendation", "bias_tests/cv_screening", "bias_tests/linguistic_audit",
            "plugin/tests/hooks/test_calibrate_command.py")  # fmt: skip
"""What takes longest, or shares what it has read in one process."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Begin with what takes longest, dealt to the workers: none is left with it at the end.

    ``--dist worksteal`` gives each worker an equal share of the tests, in their order.
    """
    workers = getattr(config, "workerinput", {"workercount": 1})["workercount"]
    share = len(items) // workers
    places = {_ROOT / each: n % workers for n, each in enumerate(_LONGEST)}
    hands: list[list[pytest.Item]] = [[] for _ in range(workers)]
    rest: list[pytest.Item] = []
    for item in items:
        hand = next((n for place, n in places.items() if item.path.is_relative_to(place)), None)
        (rest if hand is None else hands[hand]).append(item)
    items.clear()
    for first in hands:
        more = max(0, share - len(first))
        items += first + rest[:more]
        del rest[:more]
    items += rest


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
