"""Without a positive control nothing can be CLEAR: that is said before anything is paid."""

from __future__ import annotations

import pytest

from .suites import TESTS, Suite

pytestmark = pytest.mark.fail_closed

CONTROL = (
    TESTS.partition("@positive_control")[1]
    + TESTS.partition("@positive_control")[2].partition("@hypotheses")[0]
)
WHY = (
    "game-coin: number-high-low claims to be clear, and without a positive control of number "
    "nothing can be CLEAR there"
)


@pytest.fixture
def uncontrolled(suite: Suite) -> Suite:
    """The suite without its positive control."""
    return suite.tests(CONTROL, "")


@pytest.mark.parametrize("workers", [None, 1])
def test_it_is_noted_where_the_recordings_are_judged(
    uncontrolled: Suite, workers: int | None
) -> None:
    result = uncontrolled.run(workers=workers)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert [line for line in result.outlines if line.startswith(f"warning: {WHY}")] != []
    assert result.stdout.str().count(WHY) == 1


def test_the_plan_promises_no_chance_of_it(uncontrolled: Suite) -> None:
    result = uncontrolled.run("--bias-plan")
    said = " ".join(result.stdout.str().split())
    assert "It can never be CLEAR: no positive control is about its measure." in said
    assert "CLEAR 0." not in said
    assert "it clears with probability" not in said


def test_nothing_is_called_for_it(uncontrolled: Suite) -> None:
    cassettes = uncontrolled.cassettes / "game-coin"
    for path in cassettes.iterdir():
        path.unlink()
    result = uncontrolled.run("--bias-record=missing")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert f"recording game-coin with simulated/even: {WHY}" in result.stdout.str()
    assert list(cassettes.iterdir()) == []


def test_what_only_detects_needs_none_and_is_recorded(uncontrolled: Suite) -> None:
    uncontrolled.tests('claim="clear"', 'claim="detect"')
    for path in (uncontrolled.cassettes / "game-coin").iterdir():
        path.unlink()
    result = uncontrolled.run("--bias-record=missing")
    assert result.ret == pytest.ExitCode.OK
    assert "claims to be clear" not in result.stdout.str()


def test_a_screen_claims_nothing_to_be_clear(uncontrolled: Suite) -> None:
    result = uncontrolled.run("--bias-design=screen")
    assert WHY not in result.stdout.str()
