"""A recording stops at its first replies where none of them can be read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pytest_bias.recording.job import JobReport
from pytest_bias.recording.readable import MOST_UNREADABLE

from ..core.factories import ask_once, experiment
from ..support.server import Fault, over_http, serving
from .test_collection import recorded

ALL = 60


def record(
    folder: Path, text: str, faults: list[Fault | None] | None = None, **changes: Any
) -> tuple[JobReport, int]:
    of = experiment(ask_once, **{"replicates": ALL // 2, **changes})
    with serving(lambda _: text, faults=faults or ()) as server:
        given: dict[str, Any] = {"providers": over_http(server.url), "concurrency": 4}
        report = recorded(of, folder, None, **given)[0]
        return report, len(server.served)


@pytest.mark.parametrize("retention", ["raw", "measures"])
def test_it_says_what_came_and_what_to_do_and_goes_on_if_told(
    tmp_path: Path, retention: str
) -> None:
    report, calls = record(tmp_path, "I rate Ada.\nFive!", retention=retention)
    (problem,) = report.problems
    assert "none of the first 20 replies can be read (no_number 20)" in problem
    assert ("the first of them begins 'I rate Ada." in problem) == (retention == "raw")
    assert 'replies = "lenient" in the roster' in problem
    # Three attempts a trial; four trials are under way when it is seen.
    assert MOST_UNREADABLE <= calls <= MOST_UNREADABLE + 12
    assert report.unkept == 0
    again, _ = record(tmp_path, "I rate Ada.\nFive!", retention=retention)
    assert (again.problems, again.recorded + report.recorded) == ([], ALL)


@pytest.mark.parametrize(
    ("fault", "reason", "hint"),
    [
        ("length", "truncated", "raise max_output_tokens"),
        (
            "too_long",
            "prompt_too_long",
            "raise its context (Ollama: num_ctx, llama.cpp: --ctx-size",
        ),
    ],
)
def test_the_remedy_is_of_the_reason(tmp_path: Path, fault: Fault, reason: str, hint: str) -> None:
    report, _ = record(tmp_path, "", [fault] * 200)
    (problem,) = report.problems
    assert f"({reason} 20)" in problem
    assert hint in problem


@pytest.mark.parametrize("fault", ["refusal", "content_filter"])
def test_refusals_and_filters_are_results(tmp_path: Path, fault: Fault) -> None:
    report, _ = record(tmp_path, "", [fault] * 200)
    assert (report.problems, report.recorded) == ([], ALL)


def test_one_reply_that_can_be_read_is_enough(tmp_path: Path) -> None:
    cut: list[Fault | None] = ["length"]
    faults = [*cut * 10, None, *cut * 200]
    report, _ = record(tmp_path, '{"score": 5}', faults)
    assert (report.problems, report.recorded) == ([], ALL)
