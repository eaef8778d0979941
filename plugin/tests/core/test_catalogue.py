"""``pytest-bias list``: what they say of the shipped suite, and what they refuse."""

from __future__ import annotations

import json
import re
import textwrap
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from pytest_bias.cassettes.store import Cassette
from pytest_bias.cli.commands import main
from pytest_bias.errors import BadSetting
from pytest_bias.experiments.canonical import compact, plain
from pytest_bias.experiments.experiment import plan
from pytest_bias.workbench.suite import find_experiments

from ..runs import command

ROOT = Path(__file__).parents[3]
ANCHORING = "anchoring-prosecutor-sentencing"


@pytest.fixture(autouse=True)
def _there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


def told(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(arguments) == 0
    return capsys.readouterr().out


def test_the_list_says_what_the_results_and_the_recordings_of_the_suite_say(
    capsys: pytest.CaptureFixture[str],
) -> None:
    found = {each["id"]: each for each in json.loads(told(capsys, "list", "--json"))}
    # As README and report sum up the suite: 77 hypotheses, 12 described.
    assert sum(each["gating"] for each in found.values()) == 77
    assert sum(each["described"] for each in found.values()) == 12
    experiments = {each.id: each for each in find_experiments("bias_tests")}
    for name in (ANCHORING, "cv-screening", "linguistic-audit"):
        trials = plan(experiments[name], experiments[name].design())
        gate = {compact(trial.identity) for trial in trials}
        cassette = Cassette(ROOT / f"cassettes/{name}/simulated--even.jsonl")
        measured = (t for t in cassette.measured_trials() if compact(plain(t.trial)) in gate)
        calls = sum(len(trial.calls) for trial in measured)
        calls += sum(1 for _ in cassette.interactions())  # where text is kept: all are of the gate
        assert found[name]["calls"]["subject"] == pytest.approx(calls, rel=0.03), name
    text = told(capsys, "list").splitlines()
    assert [line.split("  ")[0] for line in text] == ["experiment", *found]
    assert max(map(len, text)) <= 160


def test_the_prompts_shown_are_those_that_were_recorded(
    capsys: pytest.CaptureFixture[str],
) -> None:
    cassette = Cassette(ROOT / f"cassettes/{ANCHORING}/simulated--even.jsonl")
    recorded = {each.completion.text for each in cassette.interactions()}
    text = told(capsys, "list", ANCHORING, "--trial", "high")
    assert "prompts of trial high#1" in text
    assert "sentence_months-high-low (claim clear, margin 0.6): The mean sentence after" in text
    replies = re.findall(r"  a simulated reply:\n((?:    .*\n)+)", text)
    assert len(replies) == 3
    assert {textwrap.dedent(reply).strip() for reply in replies} <= recorded


OWN = """
from pytest_bias import Experiment, Factor, MeanDifference, Measure, hypotheses

async def ask(trial, subject):
    {protocol}

OWN = Experiment(id="own", name="Own", protocol=ask, replicates=9, factors=[
    Factor("one", ["a", "b"], controls={{"c": 3}}), Factor("two", ["d", "e"])],
    measures=[Measure("m", bounds=(0, 1))])

@hypotheses(OWN, MeanDifference("m", "one", high="a", low="b", margin=.2, claim="detect"))
def test_own():
    pass
"""


def of_own(folder: Path, protocol: str, *arguments: str) -> CompletedProcess[str]:
    """What a command says of a module with one experiment."""
    (folder / "own_suite.py").write_text(OWN.format(protocol=protocol), encoding="utf-8")
    return command(folder, *arguments, "--suite", "own_suite")


@pytest.mark.parametrize(
    ("protocol", "said"),
    [
        ("raise KeyError(1)", "EXPERIMENT=own: its protocol fails with KeyError: 1"),
        ("trial['three']", "own_suite.py:5): unknown factor 'three'; known: one, two; an"),
        ("import asyncio; await asyncio.sleep(0)", "awaits"),
    ],
)
def test_what_the_author_has_to_mend_is_said(tmp_path: Path, protocol: str, said: str) -> None:
    done = of_own(tmp_path, protocol, "list", "own")
    assert done.returncode == 2
    assert said in done.stderr


DECORATED = "from pytest_bias import hypotheses\n@hypotheses()\ndef test_it(): ...\n"


@pytest.mark.parametrize(
    ("number", "name", "text", "words"),
    [
        (1, "experiment.py", "import not_installed_anywhere\n", "cannot be imported .*not_inst"),
        (2, "experiment.py", "import sys; sys.exit(0)\n", "cannot be imported .SystemExit: 0"),
        (3, "alone/test_many.py", DECORATED, "declares cases and is in no package"),
    ],
)
def test_a_suite_that_is_not_imported_to_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, name: str, text: str, words: str
) -> None:
    package = tmp_path / f"suite_with_a_gap_{number}"
    (package / "alone").mkdir(parents=True)
    (package / "__init__.py").write_text("", encoding="ascii")
    (package / name).write_text(text, encoding="ascii")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(BadSetting, match=words):
        list(find_experiments(package.name))
