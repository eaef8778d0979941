"""What is declared is collected and judged, or the run says so and is not green."""

from __future__ import annotations

import re
import shutil

import pytest

from .suites import TESTS, Suite, section
from .test_fail_closed import BIASED

pytestmark = pytest.mark.fail_closed

CASE = "@hypotheses(GAME, NUMBER)\ndef test_number():\n    pass\n"
ASKED = "@conditions(GAME)\ndef test_number():\n    pass\n"
METHOD = ASKED.replace("()", "(self)")
FILE = "bias_tests/coin/test_coin.py"
OTHER = 'MeanDifference("number", "cue", high="low", low="high", margin=2.0, claim="clear")'
BESIDE = '''
import pytest


@pytest.fixture(autouse=True)
def plain():
    """Something that is no bias case."""


def test_plain():
    pass
'''


def inner(text: str) -> str:
    return text.replace("\n", "\n    ").rstrip()


LOST = {
    "second": f"{ASKED}\n\n{ASKED}",
    "del": f"{ASKED}\n\ndel test_number\n",
    "__test__": f"{ASKED}\n\ntest_number.__test__ = False\n",
    "None": f"{ASKED}\n\ntest_number = None\n",
    "class": f"class Numbers:\n    {inner(METHOD)}\n",
    "no_test": f"class TestNumber:\n    __test__ = False\n\n    {inner(METHOD)}\n",
    "static": f"class TestNumber:\n    @staticmethod\n    {inner(ASKED.replace('test_', ''))}\n",
    "late": f"def test_plain():\n    {inner(ASKED)}\n",
}
HOOKS = {
    "makeitem": """
        def pytest_pycollect_makeitem(name):
            return [] if name == "test_number" else None
        """,
    "istestfunction": """
        import pytest

        class Module(pytest.Module):
            def istestfunction(self, obj, name):
                return name != "test_number" and super().istestfunction(obj, name)

        def pytest_pycollect_makemodule(module_path, parent):
            return Module.from_parent(parent, path=module_path)
        """,
}
SKIPS = {
    "importorskip": 'pytest.importorskip("no_such_module")\n',
    "skip": 'pytest.skip("not today", allow_module_level=True)\n',
}
LEAVING_OUT = """
    collect_ignore_glob = ["bias_tests/by_glob/*"]

    def pytest_ignore_collect(collection_path):
        return True if collection_path.name == "by_hook" else None
    """
LEFT_OUT = ("by_glob", "by_hook", "build", "dist", "venv")
"""By the conftest.py, and what pytest passes over by its name."""


MOVED = TESTS.replace("from .experiment", "from bias_tests.coin.experiment")
NO_VERDICT = "NO RESULT: see the problems above"


def skip(suite: Suite, how: str = "skip") -> None:
    suite.tests("import pytest\n", f"import pytest\n\n{SKIPS[how]}")


def problems(result: pytest.RunResult) -> list[str]:
    return [line for line in section(result) if line.startswith("problem: ")]


def test_all_of_it_is_said_alone_and_with_workers(suite: Suite) -> None:
    suite.write(name="card").check("--bias-accept bias_tests/card", 0)
    shutil.rmtree(suite.path / "bias_tests/card")
    head, _ = TESTS.replace("from .", "from ..coin.").split("@conditions")
    looped = CASE.replace("NUMBER", "each")
    suite.tests(CASE, f"for each in (NUMBER, {OTHER}):\n    {inner(looped)}\n")
    for name, case in LOST.items():
        suite.package(f"lost_{name}", test_it=f"{head}{case}")
    for name, hook in HOOKS.items():
        suite.package(f"by_{name}", test_it=f"{head}{ASKED}", conftest=hook)
    for name in LEFT_OUT:
        suite.package(name, test_it=f"{head}{ASKED}")
    suite.conftest(LEAVING_OUT)
    for name, skip in SKIPS.items():
        skipping = head.replace("import pytest\n", f"import pytest\n\n{skip}")
        suite.package(f"skip_{name}", test_it=f"{skipping}{ASKED}")
    (suite.path / "bias_tests/gone").symlink_to(suite.path / "elsewhere")
    suite.file("library.py", head.replace("..coin", "bias_tests.coin") + CASE)
    suite.package("library", test_it="import library\n")
    suite.change("pytest.ini", "= bias_tests\n", "= bias_tests bias_tests/x\npythonpath = .\n")
    alone = suite.run()
    results = suite.results_path().read_bytes()
    assert suite.results()["partial"] == []
    shared = suite.run(workers=2)
    assert alone.ret == shared.ret == suite.results()["exit_status"] == 1
    assert section(shared) == section(alone)
    assert suite.results_path().read_bytes() == results
    assert "NO RESULT: see the problems above" in section(shared)
    said = problems(shared)
    assert suite.results()["problems"] == [line.removeprefix("problem: ") for line in said]
    silent = r":\d+: \S*number has a bias decorator, but pytest collects no case from it\."
    places = {
        "coin/test_coin.py": silent,
        **{f"lost_{name}/test_it.py": silent for name in LOST},
        **{f"by_{name}/test_it.py": silent for name in HOOKS},
        **{f"skip_{name}/test_it.py": r" was skipped \(.*\)" for name in SKIPS},
        **{f"{name}/test_it.py": " was not collected" for name in LEFT_OUT},
        "gone": " was not collected",
    }
    for place, words in places.items():
        (line,) = (line for line in said if line.startswith(f"problem: bias_tests/{place}"))
        assert re.match(rf"problem: bias_tests/{place}{words}", line)
        assert line.endswith(": what it declares is not judged") or words == silent
    others = ("library.py:", "game-card: accepted of simulated/even and not in this suite: ")
    for words in (*others, "testpaths names bias_tests/x, where nothing is: mend or remove it"):
        assert sum(line.startswith(f"problem: {words}") for line in said) == 1
    assert len(said) == len(places) + 3


def test_lost_function_counts_in_its_family_all_the_same(suite: Suite) -> None:
    suite.tests(CASE, f"@hypotheses(GAME, {OTHER})\ndef test_first():\n    pass\n\n\n{CASE}")
    suite.check("", 0)
    analyses = suite.results()["analyses"]
    suite.tests(CASE, f"{CASE}\n\ndel test_first\n").check("", 1)
    assert suite.results()["analyses"] == analyses
    assert suite.results()["suite"] == "NO VERDICT"


def test_collecting_less_for_one_run_is_a_part(suite: Suite) -> None:
    suite.write(name="card").results_path().write_text("of a full run", encoding="utf-8")
    less = ("python_files=test_card.py", "norecursedirs=coin", "testpaths=bias_tests/card")
    named = [f"partial run: -o {change.partition('=')[0]}" for change in less]
    suite.check(" ".join(f"-o{change}" for change in less), 0, "", *named)
    assert suite.results_path().read_text(encoding="utf-8") == "of a full run"


@pytest.mark.parametrize("workers", [None, 1])
def test_whole_suite_that_skips_itself(suite: Suite, workers: int | None) -> None:
    skip(suite)
    suite.file("bias_tests/test_plain.py", BESIDE)
    suite.check("", 1, "1 passed, 1 skipped", NO_VERDICT, workers=workers)


@pytest.mark.parametrize("importing", ["prepend", "importlib"])
def test_suite_that_no_ini_key_names(suite: Suite, importing: str) -> None:
    suite.write(name="card").change("pytest.ini", "testpaths = bias_tests\n", "")
    suite.check(f"--import-mode={importing}", 0)
    suite.file("venv/test_coin.py", (suite.path / FILE).read_text("utf-8"))
    skip(suite)
    result = suite.check(f"--import-mode={importing}", 1)
    assert [line.partition(" was ")[0] for line in problems(result)] == [f"problem: {FILE}"]
    suite.check("bias_tests/card", 0)


@pytest.mark.parametrize("paths", ["", "testpaths = unit\n"])
def test_whole_suite_of_no_test_path(suite: Suite, paths: str) -> None:
    suite.change("pytest.ini", "testpaths = bias_tests\n", paths)
    suite.file("unit/test_plain.py", BESIDE)
    head = TESTS.replace("from .", "from ..coin.").partition("@conditions")[0]
    skipping = head.replace("import pytest\n", f"import pytest\n\n{SKIPS['skip']}")
    suite.package("skipped", test_it=f"{skipping}{ASKED}")
    suite.package("by_glob", test_it=f"{head}{ASKED}").conftest(LEAVING_OUT)
    suite.tests("def test_", "def check_")
    suite.check("bias_tests unit", 1, "", NO_VERDICT)
    said = "\n".join(suite.results(partial=True)["problems"])
    for place in ("skipped/test_it.py was skipped", "by_glob/test_it.py was not", "check_number"):
        assert said.count(place) == 1
    assert section(suite.check("unit", 0)) == []


def test_a_module_that_skips_itself_is_never_taken_out_of_a_baseline(suite: Suite) -> None:
    suite.write(name="card").check("--bias-accept", 0)
    path = suite.path / "bias_tests/baselines/simulated--even.json"
    before = path.read_bytes()
    skip(suite)
    suite.check("--bias-accept", 1)
    assert path.read_bytes() == before
    shutil.rmtree(suite.path / "bias_tests/coin")  # which nobody asks any more
    for options in ("bias_tests/card", "--bias-accept", ""):
        suite.check(options, 0)


@pytest.mark.parametrize("names", ["test_asked, test_noticed", "test_asked, test_number"])
def test_hypotheses_of_a_library(suite: Suite, names: str) -> None:
    suite.file("library.py", MOVED)
    suite.file(FILE, f"from library import {names}\n")
    suite.change("pytest.ini", "testpaths", "pythonpath = .\ntestpaths")
    said = [line.partition(":")[0] for line in problems(suite.check(BIASED, 1))]
    assert len(said) == ("test_number" not in names)
    suite.check(f"{FILE}::test_asked", 0)


@pytest.mark.parametrize("name", ["conftest", "library"])
def test_hypotheses_in_a_plugin(suite: Suite, name: str) -> None:
    suite.write(name="card")
    (suite.path / FILE).unlink()
    suite.conftest('pytest_plugins = ["library"]\n')
    suite.file(f"{name}.py", MOVED)
    suite.change("pytest.ini", "testpaths", "pythonpath = .\ntestpaths")
    (said,) = problems(suite.check("", 1))
    assert said.startswith(f"problem: {name}.py:")


# --- what is none of it -----------------------------------------------------------------------

KIT = '"""Short ways to the decorators."""\n\nfrom pytest_bias import hypotheses, conditions\n'


@pytest.mark.parametrize("linked", ["folder", "file"])
def test_links_are_followed_like_everything_else(suite: Suite, linked: str) -> None:
    suite.write(name="card")
    store = suite.path / "store"
    if linked == "folder":
        (suite.path / "bias_tests/coin").rename(store)
        (suite.path / "bias_tests/coin").symlink_to(store, target_is_directory=True)
    else:
        store.mkdir()
        (suite.path / FILE).rename(store / "test_coin.py")
        (suite.path / FILE).symlink_to(store / "test_coin.py")
    (suite.path / "bias_tests/card/back").symlink_to(suite.path / "bias_tests")
    suite.change("pytest.ini", "testpaths", "norecursedirs = back\ntestpaths")
    suite.check("", 0)
    skip(suite)
    assert problems(suite.check("", 1))


def test_decorators_through_a_module_of_the_suite(suite: Suite) -> None:
    suite.write(name="card")
    suite.file("bias_tests/kit.py", KIT)
    for name in ("coin", "card"):
        suite.change(
            f"bias_tests/{name}/test_{name}.py",
            "RateDifference, conditions, hypotheses, positive_control,\n)\n",
            "RateDifference, positive_control,\n)\n"
            "from bias_tests.kit import conditions, hypotheses\n",
        )
    suite.check("", 0)
    skip(suite, "importorskip")
    suite.check("", 1, "", f"problem: {FILE} was skipped")


def test_what_the_ini_file_leaves_out_is_no_part_of_the_suite(suite: Suite) -> None:
    head = TESTS.replace("from .", "from ..coin.").partition("@conditions")[0]
    for name in ("a", "b", "c"):
        suite.package(name, test_it=f"{head}{ASKED}")
    options = "addopts = -ra --ignore=bias_tests/a --ignore-glob=*/b/*"
    suite.change("pytest.ini", "addopts = -ra", f"norecursedirs = bias_tests/c\n{options}")
    suite.check("", 0, "4 passed")
    assert suite.results()["problems"] == suite.results()["partial"] == []
