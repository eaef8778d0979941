"""Caps and keys: what is recorded under them, and no hole through which a fault slips."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from functools import partial
from itertools import count
from pathlib import Path
from random import Random

import pytest

from pytest_bias.cassettes.store import Cassette
from pytest_bias.verdicts.wording import INVALID_STEP
from pytest_bias.workbench import plans

from ..helpers import answering, saying
from ..runs import command
from .suites import REPLICATES, Suite, section
from .test_recording import TRIALS, cassette, recorded

SHIPPED = Path(__file__).parents[3]
FILE = "bias_tests/coin/experiment.py"
BIASED = "--bias-model=simulated/biased"
DRIFTED = "--bias-model=simulated/drifted"
RECORD = "--bias-record=missing"
OPENAI = f"--bias-model=openai/gpt-x-2026-01-01 {RECORD}"
LEVELS = ("low", "high", "same")
ROSTER = """\
[models."simulated/drifted"]
max_output_tokens = 50
price = { input = 2.0, output = 8.0 }
"""


# --- what a cap took ----------------------------------------------------------------------------


@pytest.fixture
def twins(suite: Suite) -> Suite:
    """Two of the three conditions tell the subject the very same.

    The subject that answers in memory is not among the simulated ones, so only recordings show it.
    """
    shutil.rmtree(suite.cassettes)
    suite.change(FILE, '{"even": 0, "biased": 6', '{"biased": 0')
    levels = '{"low": "low", "high": "high"}'
    return suite.change(FILE, levels, f'{levels[:-1]}, "same": "high"}}')


def order_that_ends_with(last: str) -> int:
    """An order seed under which the trial ``last`` is recorded after all others."""
    for seed in count():
        trials = [f"{level}#{n}" for level in LEVELS for n in range(1, REPLICATES + 1)]
        Random(f"{seed} game-coin simulated/biased").shuffle(trials)  # noqa: S311  (no secret)
        if trials[-1] == last:
            return seed
    raise AssertionError(last)


ALIKE = "conditions 'high' and 'same' put the same prompt before"


@pytest.mark.fail_closed
@pytest.mark.parametrize("lost", ["high#1", "low#1"])
def test_conditions_that_tell_the_same_fail_whatever_a_cap_took(twins: Suite, lost: str) -> None:
    cap = f"--bias-max-calls={len(LEVELS) * REPLICATES - 1} --bias-concurrency=1"
    ordered = partial(vars(plans)["Terms"], order_seed=order_that_ends_with(lost))
    twins.monkeypatch.setattr(plans, "Terms", ordered)
    for options in (f"{BIASED} {RECORD} {cap}", BIASED):  # and as recorded, offline
        twins.check(options, 1, "", ALIKE, "NO RESULT: ")


@pytest.mark.fail_closed
@pytest.mark.parametrize("same", ["high", "other"])
def test_first_trials_that_end_before_the_cue_tell_nothing(twins: Suite, same: str) -> None:
    """Whether conditions tell the same is seen where both have a valid reply."""
    twins.change(FILE, '"same": "high"', f'"same": "{same}"')
    ready = 'class Ready(BaseModel, extra="forbid"):\n    ready: bool\n\n\n'
    twins.change(FILE, "async def", f"{ready}async def")
    ready = 'f"Game coin. Ready for {trial.replicate}?", reply=Ready, attempts=1'
    twins.change(FILE, "    reply =", f"    await subject.ask({ready})\n    reply =")
    said = "'no' if 'for 1?' in told else '{\"ready\": true}'"
    twins.change(FILE, "    cue =", f'    if "Ready" in told:\n        return {said}\n    cue =')
    twins.tests('all(condition["cue"] in outcome.prompts[0] for outcome in recorded)', "recorded")
    for result in (twins.run(BIASED, RECORD), twins.run(BIASED)):
        assert (ALIKE in result.stdout.str()) is (same == "high")
        assert any("NO RESULT: " in line for line in section(result)) is (same == "high")


@pytest.mark.fail_closed
@pytest.mark.parametrize("options", ["", "-k 'not asked'"])
def test_hypotheses_fail_where_no_case_of_a_condition_runs(twins: Suite, options: str) -> None:
    if not options:
        twins.tests("@conditions(GAME)\ndef test_", "def ")
    for record in (RECORD, ""):  # and offline
        twins.check(f"{BIASED} {options} {record}", 1, "1 failed, 1 errors", ALIKE)


@pytest.mark.fail_closed
def test_a_condition_of_which_nothing_is_recorded_fails(suite: Suite) -> None:
    shutil.rmtree(suite.cassettes)
    nothing = [f"nothing is recorded of condition {level} of game-coin" for level in LEVELS[:2]]
    reached = f"--bias-max-calls=0 is reached; {TRIALS} of {TRIALS} trials are missing (cap)"
    suite.check(f"{RECORD} --bias-max-calls=0", 1, "", *nothing, reached)
    suite.check(RECORD, 0)


@pytest.mark.fail_closed
def test_the_shipped_suite_under_a_cap_is_inconclusive(suite: Suite) -> None:
    """Its bodies look at what was asked: of what was not asked there is nothing to look at."""
    suite.monkeypatch.chdir(suite.path)
    shutil.rmtree(suite.path / "bias_tests")
    ignored = shutil.ignore_patterns("__pycache__", "tests")
    shutil.copytree(SHIPPED / "bias_tests", suite.path / "bias_tests", ignore=ignored)
    # one trial after another: what is missing is the same every time
    options = f"{RECORD} --bias-max-calls=600 --bias-concurrency=1"
    few = "too few valid replies: 89 of 180", f"  {INVALID_STEP}", "1 CLEAR, 1 INCONCLUSIVE"
    module = "bias_tests/anchoring/test_anchoring.py"
    suite.check(f"{module} {options}", 1, "8 passed, 1 failed", *few)


# --- caps ----------------------------------------------------------------------------------------


@pytest.fixture
def unkeyed(suite: Suite) -> Suite:
    """The suite without any key, and with its models' prices."""
    return suite.file("bias_models.toml", ROSTER)


def test_the_run_after_a_cap_on_calls_goes_on(unkeyed: Suite) -> None:
    cap = TRIALS - 5
    missing = f"--bias-max-calls={cap} is reached … 5 of {TRIALS} trials are missing (cap)"
    options = f"{DRIFTED} {RECORD} --bias-max-calls={cap}"
    result = unkeyed.check(options, 1, "", missing, workers=3)
    assert recorded(unkeyed) == cap
    assert len(Cassette(cassette(unkeyed)).lost) == 5
    assert unkeyed.check(DRIFTED, 1).parseoutcomes() == result.parseoutcomes()  # offline as well
    result = unkeyed.check(f"{DRIFTED} {RECORD}", 1, "", "!is reached")
    assert recorded(unkeyed) == TRIALS
    assert Cassette(cassette(unkeyed)).lost == frozenset()
    calls = [int(n) for line in result.outlines for n in re.findall(r"\b(\d+) calls?\b", line)]
    assert max(calls) == 5


@pytest.mark.fail_closed
@pytest.mark.parametrize("anew", [False, True])
def test_too_little_under_a_cap_is_no_verdict_that_passes(unkeyed: Suite, *, anew: bool) -> None:
    """Nor do recordings of before pass for those that a cap kept from being made anew."""
    if not anew:
        shutil.rmtree(unkeyed.cassettes)
    mode = "--bias-record=all" if anew else RECORD
    missing = f"{TRIALS - 3} of {TRIALS} trials are missing (cap)"
    unkeyed.check(f"{mode} --bias-max-calls=3", 1, "", missing)
    unkeyed.check("", int(not anew))


def test_a_budget_is_told_in_dollars(unkeyed: Suite) -> None:
    reached = "--bias-budget=0.002 is reached: $0.00 … trials are missing (cap)"
    unkeyed.check(f"{DRIFTED} {RECORD} --bias-budget=0.002", 1, "", reached)
    assert 0 < recorded(unkeyed) < TRIALS
    unkeyed.run(DRIFTED, RECORD, "--bias-budget=1")
    assert recorded(unkeyed) == TRIALS


def test_a_budget_for_a_model_without_a_price_pays_nothing(unkeyed: Suite) -> None:
    unkeyed.monkeypatch.setenv("OPENAI_API_KEY", "none")
    unkeyed.monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    priceless = "openai/gpt-x-2026-01-01 has no price"
    unkeyed.check(f"{OPENAI} --bias-budget=1", 1, "", priceless)
    model = ("--model", "openai/gpt-x-2026-01-01")
    done = command(unkeyed.path, "run", "coin", "--out=t", *model, "--budget=5", "--record-in-ci")
    assert (done.returncode, priceless in done.stderr) == (2, True)


# --- keys ----------------------------------------------------------------------------------------


@pytest.mark.requirement("CV-15", "CV-38")
def test_a_missing_key_fails_the_jobs_of_its_provider_alone(unkeyed: Suite) -> None:
    models = f"{OPENAI} --bias-model=anthropic/x-2026-01-01 {DRIFTED}"
    result = unkeyed.check(models, 1, "", "openai/ … OPENAI_API_KEY", "anthropic/ … ANTHROPIC_A")
    assert recorded(unkeyed) == TRIALS
    problems = [line for line in section(result) if line.startswith("problem: recording")]
    assert len(problems) == 2


@pytest.fixture
def stranger() -> Iterator[tuple[str, list[str]]]:
    """A vendor that knows no account: its URL, and the paths it was asked for."""
    with answering(saying(401, {})) as found:
        yield found


@pytest.mark.requirement("CV-38")
def test_a_key_comes_from_the_named_file_and_the_environment_comes_first(
    unkeyed: Suite, stranger: tuple[str, list[str]]
) -> None:
    url, paths = stranger
    # A file of keys says not where they go.
    unkeyed.file("keys.env", "OPENAI_API_KEY=of-the-file\nOPENAI_BASE_URL=http://127.0.0.1:9/v1\n")
    unkeyed.monkeypatch.setenv("OPENAI_BASE_URL", f"{url}/v1")
    unkeyed.check(OPENAI, 1, "", "OPENAI_API_KEY, which is not set")
    assert paths == []
    unkeyed.check(f"{OPENAI} --bias-env-file=keys.env", 1, "", "HTTP 401")
    assert 1 <= len(paths) <= REPLICATES * 2
    seen = len(paths)
    unkeyed.monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    unkeyed.check(f"{OPENAI} --bias-env-file=keys.env --bias-max-calls=1", 1)
    assert len(paths) == seen
