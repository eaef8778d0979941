"""The same bytes, however the cases are spread over workers and in whatever order they run."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from .suites import Suite

SHIPPED = Path(__file__).parents[3]

REVERSED = """
import pytest

@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items):
    items.reverse()
"""

COUNTING = '''
class Counting(RateDifference):
    """A positive control that leaves a mark whenever it is analysed."""

    def analyse(self, experiment, records):
        with open("analysed.txt", "a") as file:
            file.write("x")
        return super().analyse(experiment, records)

'''


@pytest.fixture
def shipped(empty: Suite) -> Suite:
    """Most of the suite that is shipped, with its recordings.

    Without the two experiments of thousands of replies, which the gate replays with eight workers.
    """
    large = ("linguistic_audit", "linguistic-audit", "narrative", "narrative-personas")
    ignored = shutil.ignore_patterns("__pycache__", "*.lock", "tests", *large)
    for folder in ("bias_tests", "cassettes"):
        shutil.copytree(SHIPPED / folder, empty.path / folder, ignore=ignored)
    (empty.path / "pytest.ini").write_text(
        "[pytest]\ntestpaths = bias_tests\nfilterwarnings = error\nbias_report = off\n"
        "bias_models = simulated/biased\n",
        encoding="utf-8",
    )
    return empty


def test_shipped_suite_in_any_order_over_any_workers(shipped: Suite) -> None:
    seen = set()
    for order, workers in ((REVERSED, None), ("", 2)):
        result = shipped.conftest(order).run(workers=workers)
        assert result.ret == 1
        assert result.parseoutcomes().keys() == {"passed", "failed"}
        seen.add(shipped.results_path().read_bytes())
        shipped.results_path().unlink()
    assert len(seen) == 1


@pytest.mark.requirement("ANCHOR-27")
def test_two_experiments_with_two_models_in_any_order(suite: Suite) -> None:
    suite.write(name="card")
    models = ("--bias-model=simulated/even", "--bias-model=simulated/biased")
    seen = set()
    for arguments, workers in (
        (["--dist=loadfile"], 2),
        (["--dist=each"], 2),
        (["--dist=worksteal"], 2),
        (["-p", "pytest_randomly"], None),
    ):
        models = models[::-1]
        result = suite.run(*models, *arguments, workers=workers)
        assert result.ret == 1
        seen.add(suite.results_path().read_bytes())
    assert len(seen) == 1
    results = suite.results()
    assert len(results["cases"]) == 16
    assert [(a["experiment"], a["model"]) for a in results["analyses"]] == [
        ("game-card", "simulated/biased"),
        ("game-card", "simulated/even"),
        ("game-coin", "simulated/biased"),
        ("game-coin", "simulated/even"),
    ]


def test_no_machine_path_in_the_results(suite: Suite) -> None:
    suite.run("bias_tests/coin/test_coin.py::test_number")
    text = suite.results_path(partial=True).read_text(encoding="utf-8")
    assert str(suite.path) not in text
    assert suite.path.name not in text


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


WHERE = """
def pytest_runtest_logreport(report):
    if report.when == "call" and hasattr(report, "node"):
        with open("workers.txt", "a") as file:
            print(report.nodeid.split("/")[1], report.node.gateway.id, file=file)
"""


def test_an_experiment_goes_to_one_worker_unless_the_user_says_how(suite: Suite) -> None:
    suite.write(name="card").conftest(WHERE)
    result = suite.run("-v", workers=2)
    assert result.ret == 0
    result.stdout.fnmatch_lines(["scheduling tests via ExperimentScheduling"])
    pairs = (suite.path / "workers.txt").read_text(encoding="utf-8").split("\n")
    assert len(pairs) == 9
    assert sorted(pair.split()[0] for pair in {*pairs} if pair) == ["card", "coin"]
    result = suite.run("-v", "--dist=load", workers=2)
    assert result.ret == 0
    result.stdout.fnmatch_lines(["scheduling tests via LoadScheduling"])
