"""The README's commands for a real model, as they stand there, with a vendor's double on loopback.

The double answers as the simulated subject ``even`` does, but under the asked model's name: to
the SDK and the suite it is the vendor.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import pytest

from pytest_bias.experiments.canonical import digest
from pytest_bias.workbench.suite import find_experiments

from .. import forked
from ..support.server import Outgoing, Served, Server, running

ROOT = Path(__file__).parents[3]
README = (ROOT / "README.md").read_text(encoding="utf-8")
MODEL = "openai/gpt-5.1-2025-11-13"
KEY = "sk-test"


def block() -> list[str]:
    """The commands under "Recording a model"."""
    section = README.partition("## Recording a model\n")[2].partition("\n## ")[0]
    commands = section.partition("```sh\n")[2].partition("```")[0]
    return commands.replace("\\\n", "").splitlines()


class Vendor(Server):
    """What a vendor's endpoint is to its clients: each prompt is answered by a seed of its own."""

    asked: ClassVar[Counter[str]] = Counter()

    def reply(self, asked: Served, body: Mapping[str, Any]) -> Outgoing | None:
        said = digest(json.dumps(body["messages"]))
        self.asked[said] += 1
        seed = int(digest(f"{said} {self.asked[said]}")[:8], 16)
        reply = super().reply(replace(asked, model="even", seed=seed), body)
        assert reply is not None
        data = json.loads(reply.data) | {"model": asked.model}
        return replace(reply, data=json.dumps(data).encode())


@contextmanager
def vendor() -> Iterator[Server]:
    found = [each.simulated for each in find_experiments("bias_tests")]
    with running(Vendor(tuple(each for each in found if each is not None))) as server:
        yield server


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """What of the repository the commands need, in a folder that may be written to."""
    folder = tmp_path / "checkout"
    folder.mkdir()
    forked.scripts(folder.with_name("bin"))
    for name in ("bias_tests", "cassettes"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("bias_models.toml", "conftest.py", "pyproject.toml"):
        shutil.copy(ROOT / name, folder / name)
    return folder


def run(command: str, checkout: Path, **environ: str) -> subprocess.CompletedProcess[str]:
    """Run a line of the README in a shell, without what this test runs under."""
    own = ("CI", "OPENAI_API_KEY", "OPENAI_BASE_URL", "GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY")
    kept = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST") and k not in own}
    scripts = f"{checkout.with_name('bin')}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(  # noqa: S602  (our own README, with no text of anybody else)
        command,
        shell=True,
        cwd=checkout,
        env={**kept, "PATH": scripts, "COLUMNS": "200", **environ},
        capture_output=True,
        text=True,
        check=False,
        timeout=900,
    )


def told(server: Server) -> dict[str, str]:
    """Where the vendor is, and not to wait: an experiment asks for one call a second."""
    return {"OPENAI_BASE_URL": f"{server.url}/v1", "PYTEST_ADDOPTS": "--bias-qpm=1000000"}


@pytest.mark.requirement("CV-15")
def test_the_commands_for_a_real_model_plan_and_record_it_within_their_budget(
    checkout: Path,
) -> None:
    install, plan, record = block()
    assert install.startswith("pip install ")  # done already, where this runs
    planned = run(plan, checkout)
    assert (planned.returncode, planned.stderr) == (0, ""), planned.stdout
    assert "problem: " not in planned.stdout
    costs = [float(cost) for cost in re.findall(r"\$([\d,.]+)", planned.stdout)]
    (budget,) = re.findall(r"--bias-budget[ =]([\d.]+)", record)
    assert max(costs) == pytest.approx(sum(costs) / 2, abs=0.05), "the total beside its parts"
    assert max(costs) <= float(budget)

    # What a whole recording costs is planned above, and one replicate is enough to be asked all.
    with vendor() as server:
        short = f"{record.replace('…', KEY)} --bias-replicates=1 -v"
        recorded = run(short, checkout, **told(server))
        called = len(server.served)
    assert "NO RESULT" not in recorded.stdout
    closing = re.search(
        r"^(PASS|BIAS FOUND|CANNOT TELL): \d+ hypotheses, ", recorded.stdout, re.MULTILINE
    )
    assert closing is not None, recorded.stdout
    # The double draws what it says anew for every prompt: an alarm may be one of the five in 100.
    assert recorded.returncode == (0 if closing[1] == "PASS" else 1)
    assert "is reached" not in recorded.stdout, "the budget of the README ended its recording"
    asked = re.findall(r", 1 replicates design, (\d+) of (\d+) trials valid", recorded.stdout)
    assert len(asked) == planned.stdout.count(" (gate design)")
    assert called >= sum(int(trials) for _, trials in asked)


def test_who_has_no_judge_is_named_in_a_line_and_holds_up_nobody_else(checkout: Path) -> None:
    # Of narrative 21 of 183 cases: the tracebacks of the others, and their chances, take longest.
    command = (
        f"pytest bias_tests/narrative bias_tests/anchoring/test_anchoring.py --bias-model {MODEL}"
        " -k 'anchoring or black_male'"
    )
    with vendor() as server:
        few = f"OPENAI_API_KEY={KEY} {command} --bias-record=missing --bias-replicates=8 -v"
        recorded = run(few, checkout, **told(server))
        called = len(server.served)
    assert called >= 24
    assert recorded.returncode == 1
    section = recorded.stdout.partition(" bias ====")[2].partition("\n====")[0]
    why = f"recording narrative-personas with {MODEL}: --bias-judge: the replies of {MODEL} are "
    assert section.count(why) == 1
    assert "order under [judges] of the roster" in section
    assert re.search(r"^ +[A-Z]+\b.*: sentence_months high − low ", section, re.MULTILINE)
    assert re.search(r"^(BIAS FOUND, the rest )?NO RESULT: ", section, re.MULTILINE)
    assert "Traceback" not in recorded.stdout + recorded.stderr
