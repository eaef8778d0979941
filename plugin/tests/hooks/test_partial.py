"""A run of a part of the suite, or of another design, never passes for a run of the whole."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from .suites import REPLICATES, Scenario, Suite, scenarios, section

pytestmark = pytest.mark.fail_closed

MODULE = "bias_tests/coin/test_coin.py"
EXPERIMENT = "bias_tests/coin/experiment.py"
CONTROL = f"{MODULE}::test_noticed[simulated/even]"
LOW = f"{MODULE}::test_asked[simulated/even-low]"
DROPPING = "def pytest_collection_modifyitems(items):\n    del items[0]\n"
INTERRUPTING = """
def pytest_runtest_logreport(report):
    if report.failed:
        raise KeyboardInterrupt
"""


def prepared(suite: Suite) -> None:
    """Have a mark, a plugin that drops a case, and a design of its own."""
    suite.mark("@pytest.mark.slow").file("dropping.py", DROPPING)
    suite.change("pytest.ini", "addopts = -ra", "addopts = -ra\nmarkers = slow\npythonpath = .")
    count = f"    replicates={REPLICATES},\n"
    designs = f'{count}    designs={{"small": Design(replicates=10)}},\n'
    suite.change(EXPERIMENT, count, designs)
    suite.change(EXPERIMENT, "import Experiment", "import Design, Experiment")


def two_models(suite: Suite) -> None:
    prepared(suite)
    suite.change("pytest.ini", "simulated/even", "simulated/even simulated/biased")


def several(paths: str) -> Callable[[Suite], object]:
    """Have another suite in ``more``, and these test paths."""

    def change(suite: Suite) -> None:
        suite.write(name="card")
        (suite.path / "bias_tests/card").rename(suite.path / "more")
        suite.change("pytest.ini", "testpaths = bias_tests\n", paths and f"testpaths = {paths}\n")
        (suite.path / "plain").mkdir()

    return change


def not_asked(suite: Suite) -> None:
    suite.tests("assert all(", "assert not all(")


OTHERWISE = (
    f"bias_tests/coin --lf --ignore={MODULE}x -o bias_gate=off --bias-design=small "
    "--bias-replicates=12 --bias-model=simulated/even"
)
NONE = "nothing could be analysed"
UNJUDGED = "NO RESULT: 2 cases failed for another reason than a verdict"
PARTS: dict[str, tuple[Scenario, list[str]]] = {
    "some cases": (
        Scenario(prepared, f"-k 'number or asked' -m 'bias and not slow' --deselect {LOW}", 0),
        ["3 cases not selected"],
    ),
    "one": (
        Scenario(prepared, f"{CONTROL} --bias-gate=off", 0, workers=1),
        [f"only {CONTROL} was asked for", "3 cases not selected", "--bias-gate=off"],
    ),
    "dropped": (Scenario(prepared, "-p dropping", 0, workers=2), ["1 case not selected"]),
    "by import": (
        Scenario(prepared, "--pyargs bias_tests.coin", 0),
        ["only bias_tests.coin was asked for"],
    ),
    "otherwise": (
        Scenario(two_models, OTHERWISE, 0),
        [
            *("--lf", "--ignore", "only bias_tests/coin was asked for", "--bias-design=small"),
            *("--bias-replicates=12", "-o bias_gate", "only simulated/even of bias_models"),
        ],
    ),
    "one of several suites": (
        Scenario(several("bias_tests more plain"), "bias_tests", 0),
        ["only bias_tests was asked for"],
    ),
    **{
        f"{asked} of two": (
            Scenario(several("bias_tests/coin more"), asked, 0),
            [f"only {asked} was asked for"],
        )
        for asked in ("bias_tests", "bias_tests/coin")
    },
    "a package without testpaths": (
        Scenario(several(""), "bias_tests/coin", 0),
        ["only bias_tests/coin was asked for"],
    ),
    "conditions only": (
        Scenario(None, "-k asked", 0, "2 passed", "NO RESULT: no hypothesis was selected"),
        ["2 cases not selected"],
    ),
    **{
        f"failed conditions, workers {workers}": (
            Scenario(not_asked, "-k asked", 1, "", UNJUDGED, workers=workers),
            ["2 cases not selected", NONE],
        )
        for workers in (None, 1)
    },
    "nothing analysed": (
        Scenario(None, "--bias-model=simulated/drifted", 1, "", "NO RESULT: 4 cases failed"),
        [NONE],
    ),
}


@pytest.mark.parametrize(("scenario", "reasons"), PARTS.values(), ids=PARTS)
def test_leaves_the_full_results_alone(
    suite: Suite, scenario: Scenario, reasons: list[str]
) -> None:
    suite.results_path().write_text("of a full run", encoding="utf-8")
    lines = section(scenario.check(suite))
    assert suite.results_path().read_text(encoding="utf-8") == "of a full run"
    assert sorted(suite.results(partial=True)["partial"]) == sorted(reasons)
    assert {f"partial run: {reason}" for reason in reasons} <= {*lines}


def below(suite: Suite) -> None:
    (suite.path / "elsewhere").mkdir()
    suite.monkeypatch.chdir(suite.path / "elsewhere")


WHOLE = {
    "the folder": Scenario(None, "bias_tests", 0),
    "the top": Scenario(None, ".", 0),
    "from elsewhere": Scenario(below, "../bias_tests", 0),
    "twice": Scenario(None, "bias_tests bias_tests", 0),
    "beside an empty folder": Scenario(several("bias_tests plain"), "bias_tests", 0),
    "both of two": Scenario(several("bias_tests/coin more"), "bias_tests more", 0),
    "without testpaths": Scenario(several(""), "bias_tests", 0),
}


@scenarios(WHOLE)
def test_the_whole_suite_asked_for_is_a_full_run(suite: Suite, scenario: Scenario) -> None:
    scenario.check(suite)
    assert suite.results()["partial"] == []


@pytest.mark.parametrize("stop", ["-x", ""])
def test_stopped_early(suite: Suite, stop: str) -> None:
    suite.write(name="card")
    if not stop:
        suite.conftest(INTERRUPTING)
    suite.change("bias_tests/card/test_card.py", "assert all(", "assert not all(")
    more = "and 2 more without a verdict"
    result = suite.check(stop, 1 if stop else pytest.ExitCode.INTERRUPTED, "", more)
    start = "without a verdict, no report: "
    names = [line.removeprefix(start) for line in section(result) if line.startswith(start)]
    assert len(names) == 5
    assert suite.results(partial=True)["suite"] == "NO VERDICT"
    assert not suite.results_path().exists()
    (suite.path / "conftest.py").unlink(missing_ok=True)
    assert sum(suite.run(*names).parseoutcomes().values()) == len(names)


def test_of_no_case_at_all_is_silent(suite: Suite) -> None:
    assert section(suite.check("-k nothing", pytest.ExitCode.NO_TESTS_COLLECTED)) == []
    assert not suite.results_path(partial=True).exists()


@pytest.mark.parametrize("asked", ["bias_tests/coin", f"{MODULE} -k number", "-k coin", ""])
def test_alpha_is_divided_over_twelve_experiments_whatever_is_selected(
    suite: Suite, asked: str
) -> None:
    suite.write(name="dice").run(*asked.split())
    found = suite.results(partial=bool(asked))["analyses"]
    (coin,) = [each for each in found if each["experiment"] == "game-coin"]
    assert coin["allocation"]["share"] == 1 / 12


# --- other designs -----------------------------------------------------------------------------
