"""What a recording may cost: the user's cap, and that of the designs themselves."""

from __future__ import annotations

import pytest

from pytest_bias.contrasts.cases import Case
from pytest_bias.experiments.design import Design
from pytest_bias.settings.settings import Limits
from pytest_bias.workbench.plans import capped

from .factories import experiment


def case(cap: int | None, model: str = "openai/m") -> Case:
    return Case("condition", experiment(), model, Design(1, max_calls=cap))


@pytest.mark.requirement("AUDIT-19")
@pytest.mark.parametrize(
    ("given", "caps", "expected"),
    [
        (None, [400], 400),
        (None, [400, 400], 800),
        (100, [400], 100),
        (1000, [400], 400),
        (None, [None], None),
        (7, [None], 7),
    ],
)
def test_the_smaller_cap_holds(
    given: int | None, caps: list[int | None], expected: int | None
) -> None:
    cases = [case(cap, f"openai/m{number}") for number, cap in enumerate(caps)]
    limits, _ = capped(Limits(max_calls=given), cases)
    assert limits.max_calls == expected
    # What ends a recording is called what the user knows it by.
    assert limits.cap == ("--bias-max-calls" if expected == given else "the design's max_calls")


def test_a_cap_beside_what_has_none_is_not_enforced_and_that_is_said() -> None:
    limits, words = capped(Limits(), [case(400), case(None, "openai/other")])
    assert limits.max_calls is None
    assert "tiny: the design's own cap on calls holds only where nothing else" in words
