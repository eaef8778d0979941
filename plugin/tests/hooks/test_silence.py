"""What the plugin costs where it has nothing to do, and what an offline run never imports."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from .suites import Scenario, Suite, scenarios
from .test_not_judged import METHOD, UNJUDGED

IN_EVERY_RUN = {
    "pytest_bias",
    "pytest_bias.pytest_plugin",
    "pytest_bias.session",
    "pytest_bias.session.options",
    "pytest_bias.settings",
    "pytest_bias.settings.options",
}
"""Of ours, in a process that has nothing to do with bias and starts no workers."""

HEAVY = (
    "pydantic",
    "numpy",
    "scipy",
    "pandas",
    "openai",
    "httpx2",
    "jinja2",
    "vl_convert",
    "rich",
)

NOTING = """
import json
import os
import pathlib
import sys

def pytest_unconfigure(config):
    role = "worker" if hasattr(config, "workerinput") else "controller"
    pathlib.Path(f"{role}-{os.getpid()}.modules").write_text(json.dumps(sorted(sys.modules)))
"""


def modules(folder: Path, role: str) -> list[set[str]]:
    """The modules each process of a role had imported at its end."""
    return [
        set(json.loads(path.read_text(encoding="utf-8")))
        for path in sorted(folder.glob(f"{role}-*.modules"))
    ]


@pytest.mark.parametrize("workers", [None, 1])
def test_without_bias_tests(
    empty: Suite, workers: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    empty.conftest(NOTING)
    (empty.path / "test_plain.py").write_text("def test_plain():\n    pass\n", encoding="utf-8")
    (empty.path / "tmp").mkdir()
    monkeypatch.setenv("TMPDIR", str(empty.path / "tmp"))
    result = empty.run("-p", "no:cacheprovider", workers=workers, anew=True)
    assert result.ret == 0
    result.assert_outcomes(passed=1)
    said = [line for line in result.outlines if "bias" in line and str(empty.path) not in line]
    assert [line for line in said if not line.startswith("plugins: ")] == []
    controllers, of_workers = modules(empty.path, "controller"), modules(empty.path, "worker")
    for imported in (*controllers, *of_workers):
        assert imported.isdisjoint(HEAVY)
        assert "pytest_bias.contrasts.cases" not in imported
    (lean,) = of_workers if workers else controllers
    assert {name for name in lean if name.partition(".")[0] == "pytest_bias"} == IN_EVERY_RUN
    assert list((empty.path / "tmp").iterdir()) == []
    left = {
        path.name
        for path in empty.path.iterdir()
        if not path.name.startswith(("runpytest", "worker-", "controller-"))
    }
    assert left <= {"conftest.py", "test_plain.py", "tmp", "stdout", "stderr", "__pycache__"}


def unset(suite: Suite) -> None:
    suite.file("pytest.ini", "[pytest]\npythonpath = .\n")


def wrong_design(suite: Suite) -> None:
    for path in (suite.path / "pytest.ini", suite.path / "bias_tests/coin/test_coin.py"):
        path.unlink()
    text = "from pytest_bias import Factor\n\nWORD = Factor('a word', {'a': 'b', 'c': 'd'})\n"
    suite.file("test_wrong.py", text)


XFAIL = "pytestmark = pytest.mark.xfail"


def in_a_class(more: str = XFAIL, after: str = "") -> Callable[[Suite], object]:
    """Give the suite's module an unittest class under an xfail, and set nothing."""

    def change(suite: Suite) -> None:
        file = "bias_tests/coin/test_coin.py"
        head, _ = (suite.path / file).read_text("utf-8").split("@conditions(GAME)")
        case = METHOD.format(name="TestNumber(unittest.TestCase)", more=more)
        suite.file(file, f"{head}\nimport unittest\n\nimport pytest\n{case}{after}")
        suite.file("pytest.ini", "[pytest]\n")

    return change


def forgotten(module: str) -> Callable[[Suite], object]:
    """A process may have the package's names, and no module of ours in its place any more."""
    return in_a_class(after=f"\nimport sys\n\nsys.modules.pop('pytest_bias.{module}')\n")


def declared(suite: Suite) -> Suite:
    """A hypothesis in a module from which nothing is collected, and nothing set."""
    path = suite.path / "bias_tests/coin/test_coin.py"
    path.rename(path.with_name("declared.py"))
    return suite.file("pytest.ini", "[pytest]\npythonpath = .\n")


def late(call: str) -> Callable[[Suite], object]:
    test = f"""
        import pytest


        @pytest.mark.xfail
        def test_late():
            from bias_tests.coin.declared import test_number

            {call}
    """
    return lambda suite: declared(suite).file("bias_tests/coin/test_late.py", test)


IMPORTS = "import pytest\nfrom bias_tests.coin.declared import test_number as number\n\n\n"


def while_imported(suite: Suite) -> None:
    text = f"{IMPORTS}pytest.raises(Exception, number)\ndef test_it(): pass\n"
    declared(suite).file("test_a.py", "def test_first(): pass\n").file("test_b.py", text)


def within(suite: Suite) -> None:
    """A run within a test takes and leaves nothing."""
    text = f"""{IMPORTS}
def test_outer(pytester):
    pytest.raises(Exception, number)
    pytester.makepyfile(test_within="def test_in(): pass")
    pytester.runpytest_inprocess("-p", "pytest-bias").assert_outcomes(passed=1)


def test_next(pytester):
    pass
"""
    declared(suite).file("test_outer.py", text)


GO_ON = "--continue-on-collection-errors"
OUTER = "FAILED test_outer.py::test_outer - NotJudged: "
NOTHING_SET = {
    "cases": Scenario(unset, "", 4, "", "no model is named"),
    "design": Scenario(wrong_design, "", 2, "", "test_wrong.py:3: BadDesign: … a word"),
    "design, with a worker": Scenario(
        wrong_design, "", 1, "", "test_wrong.py:3: BadDesign: … a word", workers=1
    ),
    "class": Scenario(in_a_class(), "", 1, "1 failed, 1 passed", UNJUDGED),
    "class, with a worker": Scenario(
        in_a_class("@unittest.expectedFailure"), "", 1, "1 failed, 1 passed", UNJUDGED, workers=1
    ),
    "late": Scenario(late("test_number()"), "", 1, "1 failed", UNJUDGED, workers=1),
    "late and caught": Scenario(
        late("pytest.raises(Exception, test_number)"), "", 1, "1 failed", UNJUDGED
    ),
    "no errors": Scenario(forgotten("errors"), "", 1, "1 failed, 1 passed"),
    "no register": Scenario(forgotten("contrasts.register"), "", 1, "1 failed, 1 passed"),
    "imported": Scenario(while_imported, GO_ON, 1, "1 errors, 1 passed", "ERROR test_b.py"),
    "within": Scenario(within, "-p pytester", 1, "1 failed, 1 passed", OUTER),
}


@pytest.mark.fail_closed
@scenarios(NOTHING_SET, "cases", "imported")
def test_where_nothing_is_set(suite: Suite, scenario: Scenario) -> None:
    scenario.check(suite, "-p no:cacheprovider", anew=True)


def test_offline_run(suite: Suite, monkeypatch: pytest.MonkeyPatch) -> None:
    suite.conftest(NOTING)
    (suite.path / "tmp").mkdir()
    monkeypatch.setenv("TMPDIR", str(suite.path / "tmp"))
    result = suite.run("--dist=loadfile", workers=1, anew=True)
    result.assert_outcomes(passed=4)
    (worker,) = modules(suite.path, "worker")
    never = {"openai", "httpx2", "vl_convert", "pandas", "asyncio"}
    assert worker.isdisjoint({*never, "jinja2", "pytest_bias.tables.declared"})
    (controller,) = modules(suite.path, "controller")
    assert controller.isdisjoint({*never, "scipy", "numpy", "filelock"})
    assert list((suite.path / "tmp").iterdir()) == []


@pytest.mark.parametrize("workers", [None, 1])
def test_no_network(suite: Suite, workers: int | None) -> None:
    suite.conftest(
        """
        import socket

        connect = socket.socket.connect

        def guarded(self, address):
            if self.family != socket.AF_UNIX:
                raise AssertionError(f"a connection to {address}")
            return connect(self, address)

        def refused(*_args, **_kwargs):
            raise AssertionError("a connection")

        socket.socket.connect = socket.socket.connect_ex = guarded
        socket.create_connection = socket.getaddrinfo = refused
        """
    )
    result = suite.run("--bias-report=page.html", workers=workers, process=True)
    assert result.ret == 0
    result.assert_outcomes(passed=4)
    assert (suite.path / "page.html").exists()
