"""The CI files in the documentation: checked by their services' linters, and every command run.

They run in a small repository whose folders are those the files name, with recordings of simulated
subjects.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from check_jsonschema import main as check_jsonschema  # type: ignore[import-untyped]
from click.testing import CliRunner
from ruamel.yaml import YAML

from .. import forked
from .conftest import Once
from .suites import INI, TESTS, experiment_source, record

ROOT = Path(__file__).parents[3]
GITHUB = ROOT / "docs/ci/github-actions.yml"
GITLAB = ROOT / "docs/ci/gitlab-ci.yml"
ACTION = ROOT / "docs/ci/bias-comment/action.yml"
OLD, NEW = "simulated/biased", "simulated/even"
"""An upgrade that mends what was biased, so that every job of it passes."""


def read(path: Path) -> dict[str, Any]:
    found = YAML(typ="safe", pure=True).load(path.read_text(encoding="utf-8"))
    assert isinstance(found, dict)
    return found


def check(*command: str) -> subprocess.CompletedProcess[str]:
    tool = Path(sys.executable).with_name(command[0])
    return subprocess.run(  # noqa: S603  (linters that are installed here)
        [str(tool), *command[1:]], capture_output=True, text=True, check=False
    )


# --- linters ----------------------------------------------------------------------------------

CITATION = ROOT / "CITATION.cff"
SCHEMAS = {
    CITATION: ("vendor.citation-file-format",),
    GITHUB: ("vendor.github-workflows",),
    GITLAB: ("vendor.gitlab-ci", "--data-transform", "gitlab-ci"),
    ACTION: ("vendor.github-actions",),
}


@pytest.mark.parametrize("path", SCHEMAS, ids=lambda path: path.stem)
def test_schema(path: Path) -> None:
    options = ["--builtin-schema", *SCHEMAS[path]]
    found = CliRunner().invoke(check_jsonschema, [*options, str(path)])
    assert found.exit_code == 0, found.output


def test_the_citation_is_of_this_version() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    cited = read(CITATION)
    assert (cited["version"], cited["license"]) == (project["version"], project["license"])
    assert cited["authors"] == project["authors"]


def test_security_of_the_workflow(tmp_path: Path) -> None:
    options = ("--offline", "--no-progress", "--persona=auditor")
    found = check("zizmor", *options, str(GITHUB), str(ACTION))
    assert found.returncode == 0, found.stdout + found.stderr
    broken = tmp_path / "bias.yml"
    text = GITHUB.read_text(encoding="utf-8")
    broken.write_text(text.replace('"$NEW"', "${{ inputs.new }}"), encoding="utf-8")
    assert "template-injection" in check("zizmor", *options, str(broken)).stdout


def test_only_the_recording_job_has_keys_and_it_does_not_run_on_forks() -> None:
    jobs = read(GITHUB)["jobs"]
    with_keys = [name for name, job in jobs.items() if "secrets." in json.dumps(job)]
    assert with_keys == ["record"]
    assert "!github.event.repository.fork" in jobs["record"]["if"]
    may = {name: job["permissions"] for name, job in jobs.items()}
    assert may.pop("comment") == {"contents": "read", "pull-requests": "write"}
    assert all(each == {"contents": "read"} for each in may.values())
    assert not any("run" in step for step in jobs["comment"]["steps"])
    rules = read(GITLAB)["bias-record"]["rules"]
    assert all('$CI_COMMIT_REF_PROTECTED == "true"' in rule["if"] for rule in rules)


@pytest.mark.fail_closed
def test_no_event_skips_the_required_job() -> None:
    # A job that is skipped counts as a success, as does one that waits for a skipped job.
    flow = read(GITHUB)
    assert not {"if", "needs"} & set(flow["jobs"]["verdict"])
    events = {name: filters for name, filters in flow["on"].items() if name != "workflow_dispatch"}
    assert events == {"push": {"branches": ["main"]}, "pull_request": None, "merge_group": None}
    whole = read(GITLAB)
    (rule,) = whole["bias-verdict"]["rules"]
    assert not any(name in rule["if"] for name in whole["variables"])


# --- the commands -----------------------------------------------------------------------------


def source(name: str) -> str:
    """An experiment whose replies are never skewed: few that are would clear nothing."""
    old, new = "gauss(0, 1)", "uniform(-2, 2)"
    text = experiment_source(name)
    assert old in text
    return text.replace(old, new)


def write_repository(root: Path) -> None:
    """Write a small experiment into each folder that the files name."""
    (root / "pytest.ini").write_text(INI, encoding="utf-8")
    (root / "bias-results.json").write_text("of a run before", encoding="utf-8")
    names = sorted(path.parent.name for path in ROOT.glob("bias_tests/*/README.md"))
    for name in names:
        folder = root / "bias_tests" / name
        folder.mkdir(parents=True)
        (folder / "__init__.py").touch()
        (folder.parent / "__init__.py").touch()
        (folder / "experiment.py").write_text(source(name.replace("_", "-")), encoding="utf-8")
        tests = TESTS.replace("margin=2.0", "margin=3.0")
        (folder / f"test_{name}.py").write_text(tests, encoding="utf-8")
    games = [name.replace("_", "-") for name in names]
    record(root / "cassettes", map(source, games))


ENVIRON = {
    **dict.fromkeys(("NEW", "BIAS_NEW"), NEW),
    **dict.fromkeys(("OLD", "BIAS_OLD"), OLD),
    **dict.fromkeys(("BUDGET", "BIAS_BUDGET"), "10"),
    "BIAS_RECORD": "yes",
    "CI": "true",
    # One process each: what workers do is tested elsewhere. No plugin but those asked for: many
    # are installed where this runs, and take longer to load than a command.
    "PYTEST_XDIST_AUTO_NUM_WORKERS": "0",
    "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    "PYTEST_ADDOPTS": "-p no:cacheprovider -p pytest-bias -p xdist",
}
INSTALL = re.compile(r"pip install -q -c constraints\.txt -e '\.\[(.*)\]'")


def jobs(path: Path) -> dict[str, list[str]]:
    """The commands of each job, recordings first and the upgrade last."""
    whole = read(path)
    if path == GITLAB:  # but for the comment, whose script is run by test_ci.py
        found = {name: job["script"] for name, job in whole.items() if "script" in job}
        del found["bias-comment"]
    else:
        steps = {name: job["steps"] for name, job in whole["jobs"].items()}
        found = {name: [s["run"] for s in each if "run" in s] for name, each in steps.items()}
    order = sorted(filter(found.get, found), key=lambda n: ("record" not in n, "upgrade" in n))
    return {name: [c for c in found[name] if not INSTALL.fullmatch(c)] for name in order}


@pytest.mark.parametrize("path", [GITHUB, GITLAB], ids=lambda path: path.stem)
def test_every_command_runs(path: Path, tmp_path: Path, once: Once) -> None:
    """Each job starts from a fresh copy, and the upgrade is given what the recordings made."""
    tools = forked.scripts(tmp_path / "bin")
    environ = {name: value for name, value in os.environ.items() if not name.startswith("CI")}
    environ |= {**ENVIRON, "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}"}
    found: dict[str, Any] = {}
    for name, commands in jobs(path).items():
        for part in ("1", "2") if "record" in name else ("",):
            job = tmp_path / f"{name}{part}"
            shutil.copytree(once("repository", write_repository), job)
            if "verdict" not in name:  # there is something left to record of the new model
                (job / "cassettes/game-anchoring" / f"{NEW.replace('/', '--')}.jsonl").unlink()
            if "upgrade" in name:
                target = job / ("parts" if path == GITHUB else "")
                shutil.copytree(tmp_path / "kept", target, dirs_exist_ok=True)
            for command in commands:
                done = subprocess.run(  # noqa: S603  (our own commands)
                    ["/bin/bash", "-eo", "pipefail", "-c", command],
                    cwd=job,
                    env={**environ, "PART": part, "SHARD": f"{part}/2"},
                    capture_output=True,
                    text=True,
                    check=False,
                )
                assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
            if "record" in name:
                made = job / ("cassettes" if path == GITHUB else f"part-{part}")
                shutil.copytree(made, tmp_path / "kept" / f"part-{part}")
            else:
                found = json.loads((job / "bias-results.json").read_text("utf-8"))
                assert found["suite"] == "PASS"
    assert {row["outcome"] for row in found["upgrade"]["rows"]} == {"improved"}
