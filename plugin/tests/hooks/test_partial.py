"""A run of a part of the suite never passes for a run of the whole."""

from __future__ import annotations

import pytest

from .suites import REPLICATES, Suite, section

pytestmark = pytest.mark.fail_closed

MODULE = "bias_tests/coin/test_coin.py"
CONTROL = f"{MODULE}::test_noticed[simulated/even]"
LOW = f"{MODULE}::test_asked[simulated/even-low]"
DROPPING = "def pytest_collection_modifyitems(items):\n    del items[0]\n"
INTERRUPTING = """
def pytest_runtest_logreport(report):
    if report.failed:
        raise KeyboardInterrupt
"""
FAMILY = (
    'hypotheses(GAME, NUMBER, MeanDifference("number", "cue", high="low", low="high", '
    'margin=2.0, claim="clear"))'
)


PARTS: dict[str, tuple[list[str], int | None, list[str]]] = {
    "some cases": (
        ["-k", "number or asked", "-m", "bias and not slow", "--deselect", LOW],
        None,
        ["3 cases not selected"],
    ),
    "one": (
        [CONTROL, "--bias-gate=off"],
        1,
        [f"only {CONTROL} was asked for", "3 cases not selected", "--bias-gate=off"],
    ),
    "dropped": (["-p", "dropping"], 2, ["1 case not selected"]),
    "by import": (["--pyargs", "bias_tests.coin"], None, ["only bias_tests.coin was asked for"]),
    "otherwise": (
        [
            *("bias_tests/coin", "--lf", f"--ignore={MODULE}x", "-o", "bias_gate=off"),
            *("--bias-design=screen", "--bias-replicates=12", "--bias-model=simulated/even"),
        ],
        None,
        [
            *("--lf", "--ignore", "only bias_tests/coin was asked for", "--bias-design=screen"),
            *("--bias-replicates=12", "-o bias_gate", "only simulated/even of bias_models"),
        ],
    ),
}


@pytest.mark.parametrize(("arguments", "workers", "reasons"), PARTS.values(), ids=PARTS)
def test_leaves_the_full_results_alone(
    suite: Suite, arguments: list[str], workers: int | None, reasons: list[str]
) -> None:
    suite.mark("@pytest.mark.slow").change(
        "pytest.ini", "addopts = -ra", "addopts = -ra\nmarkers = slow\npythonpath = ."
    )
    (suite.path / "dropping.py").write_text(DROPPING, encoding="utf-8")
    suite.change(
        "bias_tests/coin/experiment.py",
        f"    replicates={REPLICATES},\n",
        f'    replicates={REPLICATES},\n    designs={{"screen": Design(replicates=10)}},\n',
    ).change("bias_tests/coin/experiment.py", "import Experiment", "import Design, Experiment")
    if "--lf" in arguments:
        suite.change("pytest.ini", "simulated/even", "simulated/even simulated/biased")
    suite.results_path().write_text("of a full run", encoding="utf-8")
    result = suite.run(*arguments, workers=workers)
    assert result.ret == 0
    assert suite.results_path().read_text(encoding="utf-8") == "of a full run"
    assert sorted(suite.results(partial=True)["partial"]) == sorted(reasons)
    lines = section(result)
    for reason in reasons:
        assert f"partial run: {reason}" in lines
    assert "written: bias-results.partial.json" in lines


def test_one_of_several_suites_is_a_part(suite: Suite) -> None:
    suite.write(name="card")
    (suite.path / "bias_tests/card").rename(suite.path / "more")
    suite.change("pytest.ini", "testpaths = bias_tests", "testpaths = bias_tests more plain")
    (suite.path / "plain").mkdir()
    suite.run("bias_tests")
    assert suite.results(partial=True)["partial"] == ["only bias_tests was asked for"]
    suite.change("pytest.ini", "bias_tests more plain", "bias_tests plain")
    suite.run("bias_tests")
    assert suite.results()["partial"] == []


@pytest.mark.parametrize("where", ["bias_tests", "bias_tests/coin"])
def test_a_folder_above_one_of_several_suites_is_a_part(suite: Suite, where: str) -> None:
    suite.write(name="card")
    (suite.path / "bias_tests/card").rename(suite.path / "more")
    suite.change("pytest.ini", "= bias_tests\n", "= bias_tests/coin more\n")
    suite.run(where)
    assert suite.results(partial=True)["partial"] == [f"only {where} was asked for"]
    suite.run("bias_tests", "more")
    assert suite.results()["partial"] == []


@pytest.mark.parametrize("stop", ["-x", "interrupt"])
def test_stopped_early(suite: Suite, stop: str) -> None:
    suite.write(name="card")
    if stop == "interrupt":
        suite.conftest(INTERRUPTING)
    first = "bias_tests/card/test_card.py::test_asked[simulated/even-low]"
    suite.change("bias_tests/card/test_card.py", "assert all(", "assert not all(")
    result = suite.run(*([stop] if stop.startswith("-") else []))
    assert result.ret == (pytest.ExitCode.INTERRUPTED if stop == "interrupt" else 1)
    lines = section(result)
    assert f"failed first: {first}" in lines
    start = "without a verdict, no report: "
    names = [line.removeprefix(start) for line in lines if line.startswith(start)]
    assert len(names) == 5
    assert "and 2 more without a verdict" in lines
    assert suite.results(partial=True)["suite"] == "NO VERDICT"
    assert not suite.results_path().exists()
    (suite.path / "conftest.py").unlink(missing_ok=True)
    again = suite.run(*names)
    assert sum(again.parseoutcomes().values()) == len(names)


@pytest.mark.parametrize(
    ("arguments", "where"),
    [
        (["bias_tests"], "."),
        (["."], "."),
        (["../bias_tests"], "elsewhere"),
        (["bias_tests", "bias_tests"], "."),
    ],
)
def test_the_whole_suite_asked_for_is_a_full_run(
    suite: Suite, arguments: list[str], where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (suite.path / where).mkdir(exist_ok=True)
    monkeypatch.chdir(suite.path / where)
    result = suite.run(*arguments)
    assert result.ret == 0
    assert suite.results()["partial"] == []


def test_package_is_a_part_even_without_testpaths(suite: Suite) -> None:
    suite.change("pytest.ini", "testpaths = bias_tests\n", "")
    suite.run("bias_tests/coin")
    assert suite.results(partial=True)["partial"] == ["only bias_tests/coin was asked for"]
    suite.run("bias_tests")
    assert suite.results()["partial"] == []


def test_verdict_is_that_of_the_whole_family(suite: Suite) -> None:
    suite.tests("hypotheses(GAME, NUMBER)", FAMILY)
    suite.run()
    result = suite.run("-v", "-k", "number-high-low")
    whole, part = suite.results(), suite.results(partial=True)
    assert part["analyses"] == whole["analyses"]
    assert len(whole["analyses"][0]["verdicts"]) == 2
    lines = section(result)
    assert "PASS: 1 hypothesis, 1 CLEAR" in lines
    assert len([line for line in lines if line.endswith("(not selected in this run)")]) == 1


def test_of_no_case_at_all_is_silent(suite: Suite) -> None:
    result = suite.run("-k", "nothing")
    assert result.ret == pytest.ExitCode.NO_TESTS_COLLECTED
    assert section(result) == []
    assert not suite.results_path(partial=True).exists()


def test_of_conditions_only(suite: Suite) -> None:
    result = suite.run("-k", "asked")
    assert result.ret == 0
    assert "NOT JUDGED: no hypothesis was selected in this run" in section(result)
    assert suite.results(partial=True)["suite"] == "NOT JUDGED"


def test_in_which_nothing_could_be_analysed(suite: Suite) -> None:
    suite.results_path().write_text("of a full run", encoding="utf-8")
    result = suite.run("--bias-model=simulated/drifted")
    assert result.ret == 1
    assert suite.results_path().read_text(encoding="utf-8") == "of a full run"
    assert suite.results(partial=True)["partial"] == ["nothing could be analysed"]
    lines = section(result)
    assert "partial run: nothing could be analysed" in lines
    assert "NO VERDICT: 4 cases failed for another reason than a verdict" in lines


@pytest.mark.parametrize("workers", [None, 1])
def test_failed_conditions_only(suite: Suite, workers: int | None) -> None:
    suite.tests("assert all(", "assert not all(")
    result = suite.run("-k", "asked", workers=workers)
    assert result.ret == 1
    assert "NO VERDICT: 2 cases failed for another reason than a verdict" in section(result)


@pytest.mark.parametrize(
    "asked", [["bias_tests/coin"], [MODULE, "-k", "number"], ["-k", "coin"], ["bias_tests"]]
)
def test_alpha_is_divided_over_twelve_experiments_whatever_is_selected(
    suite: Suite, asked: list[str]
) -> None:
    suite.write(name="dice")
    suite.run(*asked)
    partial = asked != ["bias_tests"]
    found = suite.results(partial=partial)["analyses"]
    (coin,) = [each for each in found if each["experiment"] == "game-coin"]
    assert coin["allocation"]["share"] == 1 / 12
