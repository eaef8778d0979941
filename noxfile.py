"""The checks of this repository; ``nox -l`` lists them, and ``.ci/run`` runs the same.

They run in the environment that is active (CONTRIBUTING.md says how to make it), so that a check
takes no installation of its own. The commands that users copy are read from the README: what is
shown there is what is run.
"""

from __future__ import annotations

import json
import re
import shutil
import tempfile
from pathlib import Path

import nox

nox.options.default_venv_backend = "none"
nox.options.sessions = ["lint", "layers", "types", "tests"]

ROOT = Path(__file__).parent
WRITTEN = ("bias-report.html", "bias-results.json", "pytest-report.html")
MINE = ROOT / "mine"


def readme(words: str) -> tuple[str, ...]:
    """The pytest command of the one block of the README that has ``words``, for the shell."""
    text = (ROOT / "README.md").read_text("utf-8")
    blocks = re.findall(r"^```sh\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    having = [block for block in blocks if words in block]
    if len(having) != 1:
        message = f"README.md: {len(having)} blocks have {words!r}, expected 1"
        raise SystemExit(message)
    command = having[0].rpartition("&& ")[2].strip()
    return ("bash", "-c", f'{command} "$@"', "bash")


@nox.session
def lint(session: nox.Session) -> None:
    """Ruff: rules and format."""
    session.run("ruff", "check", ".", external=True)
    session.run("ruff", "format", "--check", ".", external=True)


@nox.session
def layers(session: nox.Session) -> None:
    """import-linter: imports point down, and no SDK is imported where it may not be."""
    session.run("lint-imports", external=True)


@nox.session
def types(session: nox.Session) -> None:
    """Mypy, strict."""
    session.run("mypy", external=True)


@nox.session
def tests(session: nox.Session) -> None:
    """The README's tests: of the plugin, and of the experiments' own code."""
    session.run(*readme("pytest plugin/tests"), *session.posargs, external=True)


@nox.session
def suite(session: nox.Session) -> None:
    """The README's main command; then the committed verdicts of every shipped recording."""
    for name in WRITTEN:
        (ROOT / name).unlink(missing_ok=True)
    session.run(*readme("pytest bias_tests -n 8"), external=True)
    for name in WRITTEN:
        if not (ROOT / name).stat().st_size:
            session.error(f"{name} is empty")
    golden = ("python", "plugin/benchmarks/golden_verdicts.py", "--even", "bias-results.json")
    session.run(*golden, external=True)
    session.run("git", "diff", "--exit-code", "--", "cassettes", external=True)


@nox.session
def local(session: nox.Session) -> None:
    """The README's command for a real model, and its shipped recording.

    Its replies clear nothing, so both exit with 1, and for no other reason.
    """
    anew = readme("--bias-cassettes=mine")
    cases, model = "bias_tests/anchoring/test_all_in_one.py", "local/smollm2"
    shipped = ("pytest", cases, "--bias-model", model, "--bias-design=documented")
    shutil.rmtree(MINE, ignore_errors=True)
    results = ROOT / "bias-results.partial.json"
    for asked in (shipped, (*anew, "--bias-replicates=2", "--bias-record-in-ci")):
        results.unlink(missing_ok=True)
        session.run(*asked, success_codes=[1], external=True)
        found = json.loads(results.read_text("utf-8"))
        if found["broken"] or found["problems"] or found["lost"] or not found["judged"]:
            session.error("no verdict")
        if not found["analyses"] or any(each["simulated"] for each in found["analyses"]):
            session.error("not the real model")
    shutil.rmtree(MINE)


@nox.session
def error_rates(session: nox.Session) -> None:
    """A few draws of simulated subjects: how often verdicts err, against their bounds."""
    with tempfile.TemporaryDirectory() as folder:  # nothing drawn before counts
        script = ("python", "plugin/benchmarks/error_rates.py", f"{folder}/draws.jsonl")
        few = ("--experiment", "anchoring-prosecutor-sentencing", "--draws=5")
        session.run(*script, *few, external=True)
