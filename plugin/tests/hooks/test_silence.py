"""What the plugin costs where it has nothing to do, and what an offline run never imports."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from .suites import Suite
from .test_not_judged import METHOD, UNJUDGED

IN_EVERY_RUN = {
    "pytest_bias",
    "pytest_bias.pytest_plugin",
    "pytest_bias.session",
    "pytest_bias.session.arguments",
    "pytest_bias.session.hookspecs",
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


@pytest.mark.parametrize("workers", [None, 1])
def test_cases_where_nothing_is_set(suite: Suite, workers: int | None) -> None:
    (suite.path / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    result = suite.run("-p", "no:cacheprovider", workers=workers, anew=True)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert "no model is named" in f"{result.stdout}{result.stderr}"


@pytest.mark.fail_closed
@pytest.mark.parametrize("workers", [None, 1])
def test_wrong_design_where_nothing_is_set(empty: Suite, workers: int | None) -> None:
    text = "from pytest_bias import Factor\n\nWORD = Factor('a word', {'a': 'b', 'c': 'd'})\n"
    (empty.path / "test_wrong.py").write_text(text, encoding="utf-8")
    result = empty.run("-p", "no:cacheprovider", workers=workers, anew=True)
    assert result.ret in (pytest.ExitCode.INTERRUPTED, pytest.ExitCode.TESTS_FAILED)
    result.stdout.fnmatch_lines(["*test_wrong.py:3: BadDesign: *a word*"])


def with_unjudged_class(
    suite: Suite, after: str = "", *, more: str = "pytestmark = pytest.mark.xfail"
) -> Suite:
    """Give the suite's module an unittest class under an xfail, and set nothing."""
    path = suite.path / "bias_tests/coin/test_coin.py"
    head, _ = path.read_text(encoding="utf-8").split("@conditions(GAME)")
    case = METHOD.format(name="TestNumber(unittest.TestCase)", more=more)
    text = f"{head}\nimport unittest\n\nimport pytest\n{case}{after}"
    path.write_text(text, encoding="utf-8")
    (suite.path / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    return suite


@pytest.mark.fail_closed
@pytest.mark.parametrize(
    ("workers", "more"),
    [(None, "pytestmark = pytest.mark.xfail"), (1, "@unittest.expectedFailure")],
)
def test_unjudged_where_nothing_is_set(suite: Suite, workers: int | None, more: str) -> None:
    given = with_unjudged_class(suite, more=more)
    result = given.run("-p", "no:cacheprovider", workers=workers, anew=True)
    result.assert_outcomes(failed=1, passed=1)
    result.stdout.fnmatch_lines([UNJUDGED])


@pytest.fixture
def number(suite: Suite) -> Suite:
    """A hypothesis in a module from which nothing is collected, and nothing set."""
    path = suite.path / "bias_tests/coin/test_coin.py"
    path.rename(path.with_name("declared.py"))
    (suite.path / "pytest.ini").write_text("[pytest]\npythonpath = .\n", encoding="utf-8")
    return suite


@pytest.mark.fail_closed
@pytest.mark.parametrize(
    ("workers", "call"),
    [(1, "test_number()"), (None, "pytest.raises(Exception, test_number)")],
)
def test_unjudged_in_a_test_that_imports_it_itself(
    number: Suite, workers: int | None, call: str
) -> None:
    test = """
        import pytest


        @pytest.mark.xfail
        def test_late():
            from bias_tests.coin.declared import test_number

            CALL
    """.replace("CALL", call)
    number.file("bias_tests/coin/test_late.py", test)
    result = number.run("-p", "no:cacheprovider", workers=workers, anew=True)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([UNJUDGED])


@pytest.mark.fail_closed
@pytest.mark.parametrize("module", ["errors", "contrasts.register"])
def test_unjudged_where_modules_are_forgotten(suite: Suite, module: str) -> None:
    """A process may have the package's names, and no module of ours in its place any more."""
    after = f"\nimport sys\n\nsys.modules.pop('pytest_bias.{module}')\n"
    given = with_unjudged_class(suite, after)
    result = given.run("-p", "no:cacheprovider", anew=True)
    result.assert_outcomes(failed=1, passed=1)


IMPORTS = "import pytest\nfrom bias_tests.coin.declared import test_number as number\n\n\n"


@pytest.mark.fail_closed
@pytest.mark.parametrize("workers", [None, 1])
def test_unjudged_while_a_module_is_imported_is_an_error_of_that_module(
    number: Suite, workers: int | None
) -> None:
    number.file("test_a.py", "def test_first(): pass\n")
    number.file("test_b.py", f"{IMPORTS}pytest.raises(Exception, number)\ndef test_it(): pass\n")
    result = number.run("--continue-on-collection-errors", workers=workers, anew=True)
    result.assert_outcomes(errors=1, passed=1)
    result.stdout.fnmatch_lines(["ERROR test_b.py*"])


@pytest.mark.fail_closed
def test_unjudged_belongs_to_the_run_in_which_it_was(number: Suite) -> None:
    """A run within a test takes and leaves nothing."""
    number.file(
        "test_outer.py",
        f"""{IMPORTS}
def test_outer(pytester):
    pytest.raises(Exception, number)
    pytester.makepyfile(test_within="def test_in(): pass")
    pytester.runpytest_inprocess("-p", "pytest-bias").assert_outcomes(passed=1)


def test_next(pytester):
    pass
""",
    )
    result = number.run("-p", "pytester", anew=True)
    result.assert_outcomes(failed=1, passed=1)
    result.stdout.fnmatch_lines(["FAILED test_outer.py::test_outer - NotJudged: *"])


def test_of_a_test_that_takes_modules_away(empty: Suite) -> None:
    test = """
        import builtins
        import sys

        def test_modules(monkeypatch):
            monkeypatch.delitem(sys.modules, "pytest_bias")

        def test_without(monkeypatch):
            monkeypatch.setitem(sys.modules, "pytest_bias", None)

        def test_import(monkeypatch):
            monkeypatch.setattr(builtins, "__import__", None)
    """
    empty.file("test_theirs.py", test)
    empty.run(anew=True).assert_outcomes(passed=3)


def test_offline_run(suite: Suite, monkeypatch: pytest.MonkeyPatch) -> None:
    suite.conftest(NOTING)
    (suite.path / "tmp").mkdir()
    monkeypatch.setenv("TMPDIR", str(suite.path / "tmp"))
    result = suite.run("--dist=loadfile", workers=1, anew=True)
    result.assert_outcomes(passed=4)
    (worker,) = modules(suite.path, "worker")
    never = {"openai", "httpx2", "vl_convert", "pandas", "asyncio"}
    assert worker.isdisjoint({*never, "jinja2", "pytest_bias.tables.subjects"})
    (controller,) = modules(suite.path, "controller")
    assert controller.isdisjoint({*never, "scipy", "numpy", "filelock"})
    assert list((suite.path / "tmp").iterdir()) == []


def test_worker_that_does_not_analyse(suite: Suite) -> None:
    suite.conftest(NOTING)
    result = suite.run("-k", "asked", workers=1, anew=True)
    result.assert_outcomes(passed=2)
    (worker,) = modules(suite.path, "worker")
    assert worker.isdisjoint({"scipy", "numpy", "openai", "httpx2", "jinja2", "vl_convert"})


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
