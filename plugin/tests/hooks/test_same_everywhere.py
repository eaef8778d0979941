"""The same bytes, however the cases are spread over workers and in whatever order they run."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Mapping

import pytest

from pytest_bias.settings.given import cores

from ..core.report.reading import blocks, inflated
from .suites import Suite, files_below
from .test_exports import with_exports

COUNTING = '''
class Counting(RateDifference):
    """A positive control that leaves a mark whenever it is analysed."""

    def analyse(self, experiment, records):
        with open("analysed.txt", "a") as file:
            file.write("x")
        return super().analyse(experiment, records)

'''


WRITTEN = (*("--bias-report=out/page.html", "--bias-exports=out/exports"),)
DAY = re.compile(r"(?<!\d)20\d\d-[01]\d-[0-3]\d(?!\d)")


def written(suite: Suite) -> dict[str, bytes]:
    """What a run has written, which is removed."""
    found = {**files_below(suite.path / "out"), "results": suite.results_path().read_bytes()}
    shutil.rmtree(suite.path / "out")
    suite.results_path().unlink()
    return found


def differing(first: Mapping[str, bytes], *others: Mapping[str, bytes]) -> list[str]:
    """The files that are not the same bytes everywhere."""
    names = dict.fromkeys(name for each in (first, *others) for name in each)
    return [name for name in names if any(first.get(name) != each.get(name) for each in others)]


def days(text: str) -> set[str]:
    return set(DAY.findall(text))


def days_of(suite: Suite) -> set[str]:
    """The days that a recording, an experiment or one of its documents names."""
    found = [path for path in suite.path.rglob("*") if path.suffix in {".py", ".md", ".jsonl"}]
    return {day for path in found for day in days(path.read_text("utf-8"))}


def moments_recorded(suite: Suite) -> set[str]:
    """The moments at which replies were recorded."""
    texts = (path.read_text("ascii") for path in suite.cassettes.rglob("*.jsonl"))
    return {at for text in texts for at in re.findall(r'"recorded_at":"([^"]+)"', text)}


@pytest.mark.requirement("ANCHOR-27")
def test_two_experiments_with_two_models_in_any_order(suite: Suite) -> None:
    with_exports(suite.write(name="card"))
    models = ("--bias-model=simulated/even", "--bias-model=simulated/biased")
    seen = []
    for arguments, workers in (
        (["--dist=each"], 2),
        (["--dist=worksteal"], 3),
        (["-p", "pytest_randomly"], 0),
    ):
        models = models[::-1]
        result = suite.run(*models, *arguments, *WRITTEN, workers=workers)
        assert result.ret == 1
        seen.append(written(suite))
    assert differing(*seen) == []
    assert {name.partition("/")[0] for name in seen[0]} == {*("page.html", "exports", "results")}
    page = seen[0]["page.html"].decode()
    assert days(inflated(page)) <= days_of(suite)
    moments = {
        exchange[4]
        for name, block in blocks(page).items()
        if name != "d-run"
        for trial in block["said"]
        for exchange in trial
    }
    assert moments
    assert moments <= moments_recorded(suite)
    results = json.loads(seen[0]["results"])
    assert len(results["cases"]) == 16
    assert [(a["experiment"], a["model"]) for a in results["analyses"]] == [
        ("game-card", "simulated/biased"),
        ("game-card", "simulated/even"),
        ("game-coin", "simulated/biased"),
        ("game-coin", "simulated/even"),
    ]


def test_one_analysis_in_a_session(suite: Suite) -> None:
    suite.tests("@conditions", f"{COUNTING}\n@conditions")
    suite.tests(
        "@positive_control(GAME, NOTICED)",
        '@positive_control(GAME, PositiveControl(Counting("noticed", "cue", high="high", '
        'low="low"), licenses=["number"]))',
    )
    models = ("--bias-model=simulated/even", "--bias-model=simulated/biased")
    result = suite.run(*models, workers=2)
    result.assert_outcomes(passed=7, failed=1)
    assert (suite.path / "analysed.txt").read_text(encoding="utf-8") == "xx"


def test_no_more_workers_than_cores_where_only_bias_cases_are_run(suite: Suite) -> None:
    most = max(cores(), 2)
    line = f"bias: {most} workers, one a core ({most + 1} requested"
    suite.check("", 0, "", line, f"created: {most}/{most} workers", workers=most + 1)
    every = f"created: {most + 1}/{most + 1} workers", f"!{line}"
    suite.check("--dist=load", 0, "", *every, workers=most + 1)
    suite.file("bias_tests/test_more.py", "def test_ordinary():\n    pass\n")
    suite.check("", 0, "", *every, workers=most + 1)
