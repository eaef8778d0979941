"""The CI files in the documentation: checked by their services' linters, and every command run.

They run in a small repository whose folders are those the files name, with recordings of simulated
subjects; ``ci_service`` says what stands in for a service.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from check_jsonschema import main as check_jsonschema  # type: ignore[import-untyped]
from click.testing import CliRunner
from ruamel.yaml import YAML

from .ci_service import Service, filled, matrix
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
def test_schema(path: Path, tmp_path: Path) -> None:
    options = ["--builtin-schema", *SCHEMAS[path]]
    found = CliRunner().invoke(check_jsonschema, [*options, str(path)])
    assert found.exit_code == 0, found.output
    broken = tmp_path / path.name
    text = path.read_text(encoding="utf-8")
    for right, wrong in (
        ("\nstages:", "\nstages: 5\nno:"),
        ("runs-on", "run-on"),
        ("type: s", "type: x"),
        ("using: ", "used: "),
    ):
        text = text.replace(right, wrong)
    broken.write_text(text)
    assert CliRunner().invoke(check_jsonschema, [*options, str(broken)]).exit_code


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


def test_the_number_of_parts_is_the_number_of_jobs() -> None:
    parts = read(GITHUB)["jobs"]["record"]["strategy"]["matrix"]["part"]
    (matrix,) = read(GITLAB)["bias-record"]["parallel"]["matrix"]
    assert parts == matrix["PART"] == ["1", "2"]
    for path, part in ((GITHUB, r"matrix\.part \}\}"), (GITLAB, r"\$PART")):
        found = re.findall(rf"{part}/(\d+)", path.read_text("utf-8"))
        assert set(found) == {str(len(parts))}


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


def job_folder(service: Service, name: str) -> Path:
    """The folder of a job; the model of an upgrade has something left to record there."""
    folder = service.job(name)
    if "verdict" not in name:
        (folder / "cassettes/game-anchoring" / f"{NEW.replace('/', '--')}.jsonl").unlink()
    return folder


@pytest.fixture
def service(tmp_path: Path, once: Once) -> Service:
    return Service(tmp_path, once("repository", write_repository))


KNOWN = {
    "inputs.new": NEW,
    "inputs.old": OLD,
    "inputs.budget": "10",
    "github.event.pull_request.base.sha": "",
    "secrets.OPENAI_API_KEY": "",
    "secrets.ANTHROPIC_API_KEY": "",
    "secrets.GEMINI_API_KEY": "",
}


def test_every_command_of_the_workflow_runs(service: Service) -> None:
    jobs: dict[str, Any] = read(GITHUB)["jobs"]
    # As the needs of the jobs have it: the recording comes first, so that all can be replayed.
    order = sorted(jobs, key=lambda name: name != "record")
    for name in order:
        job = jobs[name]
        for part in job.get("strategy", {}).get("matrix", {}).get("part", [""]):
            run_workflow_job(service, f"{name}{part}", job, KNOWN | {"matrix.part": part})
    every = [step["run"] for job in jobs.values() for step in job["steps"] if "run" in step]
    assert set(service.commands) == set(every)
    assert service.extras() <= set(extras())
    verdict = service.artifacts / "bias-verdict"
    assert json.loads((verdict / "bias-results.json").read_text("utf-8"))["suite"] == "PASS"
    upgrade = json.loads((service.artifacts / "bias-upgrade/bias-results.json").read_text("utf-8"))
    assert {row["outcome"] for row in upgrade["upgrade"]["rows"]} == {"improved"}
    assert "## Bias: PASS" in (service.folder / "summary.md").read_text("utf-8")
    assert (verdict / "bias-summary.md").read_text("utf-8").startswith("## Bias: PASS")


def run_workflow_job(
    service: Service, name: str, job: Mapping[str, Any], known: Mapping[str, str]
) -> None:
    folder = job_folder(service, name)
    for step in job["steps"]:
        with_ = {key: filled(value, known) for key, value in step.get("with", {}).items()}
        action = step.get("uses", "").partition("@")[0]
        if action == "actions/upload-artifact":
            service.keep(folder, with_["name"], with_["path"].split())
        elif action == "actions/download-artifact" and "pattern" in with_:
            for artifact in service.artifacts.glob(with_["pattern"]):
                shutil.copytree(artifact, folder / with_["path"] / artifact.name)
        elif "run" in step:
            own = {**job.get("env", {}), **step.get("env", {})}
            environment = {key: filled(value, known) for key, value in own.items()}
            github = {
                "GITHUB_ACTIONS": "true",
                "GITHUB_STEP_SUMMARY": str(service.folder / "summary.md"),
            }
            service.run(folder, step["run"], {**github, **environment})


def test_every_command_of_the_gitlab_example_runs(service: Service) -> None:
    whole = read(GITLAB)
    jobs = {name: job for name, job in whole.items() if "script" in job}
    del jobs["bias-comment"]  # its script is run by test_ci.py
    variables = {"BIAS_NEW": NEW, "BIAS_OLD": OLD, "BIAS_RECORD": "yes", "BIAS_BUDGET": "10"}
    for name in sorted(jobs, key=lambda name: whole["stages"].index(jobs[name]["stage"])):
        job = jobs[name]
        before = job.get("before_script", whole[".suite"]["before_script"])
        for part in matrix(job):
            folder = job_folder(service, f"{name}{part.get('PART', '')}")
            # Later stages are given the artifacts of earlier ones.
            for artifact in service.artifacts.glob("*"):
                shutil.copytree(artifact, folder, dirs_exist_ok=True)
            for command in (*before, *job["script"]):
                service.run(folder, command, {**variables, **part})
            for pattern in job["artifacts"]["paths"]:
                for path in folder.glob(pattern):
                    target = service.artifacts / f"{name}{part.get('PART', '')}" / path.name
                    copy = shutil.copytree if path.is_dir() else shutil.copy
                    target.parent.mkdir(parents=True, exist_ok=True)
                    copy(path, target)
    every = [c for job in (*jobs.values(), whole[".suite"]) for c in job.get("script", ())]
    assert set(every) <= set(service.commands)
    assert service.extras() <= set(extras())
    verdict = service.artifacts / "bias-verdict"
    assert json.loads((verdict / "bias-results.json").read_text("utf-8"))["suite"] == "PASS"
    assert (verdict / "bias-summary.md").read_text("utf-8").startswith("## Bias: PASS")
    for job in jobs.values():
        named = job["artifacts"].get("reports", {}).get("junit")
        assert named is None or f"--junitxml={named}" in " ".join(job["script"])


def extras() -> list[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return list(project["optional-dependencies"])
