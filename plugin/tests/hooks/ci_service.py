"""What stands in for a CI service where the commands of a CI file are run.

A job starts from a fresh copy of the repository, artifacts are copied, expressions are looked up,
and ``pip`` only writes down what it was asked for, because everything is installed here.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from itertools import product
from pathlib import Path
from typing import Any

from .. import forked

PIP = '#!/bin/sh\necho "$@" >> "$PIP_LOG"\n'


class Service:
    """Runs the jobs of a CI file, each in a fresh copy of a repository."""

    def __init__(self, folder: Path, repository: Path) -> None:
        self.repository = repository
        self.folder = folder
        self.artifacts = folder / "artifacts"
        self.log = folder / "pip.log"
        self.commands: list[str] = []
        tools = forked.scripts(folder / "bin")
        (tools / "pip").write_text(PIP, encoding="utf-8")
        (tools / "pip").chmod(0o755)
        self.path = f"{tools}{os.pathsep}{os.environ['PATH']}"

    def job(self, name: str) -> Path:
        """A fresh copy of the repository."""
        copy = self.folder / "jobs" / name
        shutil.copytree(self.repository, copy)
        return copy

    def run(self, job: Path, command: str, environment: Mapping[str, str]) -> None:
        """Run a command as both services do: by bash, ending at the first that fails."""
        self.commands.append(command)
        found = subprocess.run(  # noqa: S603  (our own commands)
            ["/bin/bash", "-eo", "pipefail", "-c", command],
            cwd=job,
            env={
                **{key: value for key, value in os.environ.items() if not key.startswith("CI")},
                "CI": "true",
                "PATH": self.path,
                "PIP_LOG": str(self.log),
                # One process each: what workers do is tested elsewhere. No plugin but those asked
                # for: many are installed where this runs, and take longer to load than a command.
                "PYTEST_XDIST_AUTO_NUM_WORKERS": "0",
                "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
                "PYTEST_ADDOPTS": "-p no:cacheprovider -p pytest-bias -p xdist",
                **environment,
            },
            capture_output=True,
            text=True,
            check=False,
        )
        assert found.returncode == 0, f"{command}\n{found.stdout}\n{found.stderr}"

    def keep(self, job: Path, artifact: str, patterns: list[str]) -> None:
        """Keep what a job has made; as on GitHub, below what the patterns have in common."""
        for path in [path for pattern in patterns for path in job.glob(pattern)]:
            base = job / patterns[0] if len(patterns) == 1 and path.is_dir() else path.parent
            target = self.artifacts / artifact / path.relative_to(base)
            target.parent.mkdir(parents=True, exist_ok=True)
            if path.is_dir():
                shutil.copytree(path, target, dirs_exist_ok=True)
            else:
                shutil.copy(path, target)

    def extras(self) -> set[str]:
        """The extras of this package that were asked for."""
        text = self.log.read_text(encoding="utf-8")
        found = re.findall(r"^install -q -c constraints\.txt -e \.\[(.*)\]$", text, re.MULTILINE)
        assert len(found) == len(text.splitlines())
        return {extra for each in found for extra in each.split(",")}


def filled(value: Any, known: Mapping[str, str]) -> str:
    """A text of a workflow with its expressions looked up; KeyError for one nobody expects."""
    return re.sub(r"\$\{\{ *([^}]+?) *\}\}", lambda found: known[found[1]], str(value))


def matrix(job: Mapping[str, Any]) -> Iterator[dict[str, str]]:
    for each in job.get("parallel", {}).get("matrix", [{}]):
        lists = [
            [(key, one) for one in ([v] if isinstance(v, str) else v)] for key, v in each.items()
        ]
        yield from (dict(pairs) for pairs in product(*lists))
