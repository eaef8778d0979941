"""Lines that say how a recording goes, where there is no terminal to draw on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from io import StringIO

from pytest_bias.recording.caller import CallCounts
from pytest_bias.report.recording_text import Display, StreamTerminal, recording_progress

BEGUN = CallCounts("lab/m", "tiny", wanted=20)


def lines(show: Callable[[Display], object]) -> list[str]:
    """What is printed, from the trials on."""
    stream = StringIO()
    with recording_progress(StreamTerminal(stream)) as display:
        show(display)
    return stream.getvalue().splitlines()


def test_a_line_at_every_tenth_and_none_more_at_the_end() -> None:
    def show(display: Display) -> None:
        for trials in range(21):
            display(replace(BEGUN, attempts=trials, trials=trials))

    said = lines(show)
    assert len(said) == 11
    assert said[0].startswith("bias: recording tiny with lab/m: 0/20 trials, 0 calls, ")
    assert said[-1].startswith("bias: recording tiny with lab/m: 20/20 trials, 20 calls, ")


def test_a_long_wait_is_said_when_it_begins() -> None:
    def show(display: Display) -> None:
        for attempts, waiting in enumerate([0, 2, 40, 40, 0, 0, 5]):
            display(replace(BEGUN, attempts=attempts, waiting=waiting))

    _, one, other = lines(show)
    assert one.endswith(" 2 calls, 0 tokens in, 0 out, waiting 40 s as asked")
    assert other.endswith(" 6 calls, 0 tokens in, 0 out, waiting 5 s as asked")
