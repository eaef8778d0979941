"""Caps, keys and names: what is refused before a call, told, or recorded."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator

import pytest

from pytest_bias.cassettes.store import Cassette

from ..helpers import answering, saying
from ..runs import command
from .suites import REPLICATES, Suite, section
from .test_recording import TRIALS, cassette, recorded
from .test_usage import USAGE, error_lines

MODEL = "--bias-model=simulated/drifted"
RECORD = (MODEL, "--bias-record=missing")
ROSTER = """\
[models."simulated/drifted"]
max_output_tokens = 50
price = { input = 2.0, output = 8.0 }
"""


@pytest.fixture
def unkeyed(suite: Suite) -> Suite:
    """The suite without any key, and with its models' prices."""
    return suite.file("bias_models.toml", ROSTER)


def refused(suite: Suite, *arguments: str) -> str:
    """The one line that says why pytest did not begin; nothing was recorded."""
    result = suite.run(*arguments)
    assert result.ret == USAGE
    assert "Traceback" not in result.stdout.str() + result.stderr.str()
    (line,) = error_lines(result)
    assert recorded(suite) == 0
    return line


# --- what is asked wrongly -----------------------------------------------------------------------


@pytest.mark.parametrize("argument", ["--bias-budget=$5", "--bias-order-seed=-1"])
def test_limits_that_are_none(unkeyed: Suite, argument: str) -> None:
    line = refused(unkeyed, *RECORD, argument)
    assert f"{argument}: must be a" in line


def test_limits_that_are_none_in_the_ini_file(unkeyed: Suite) -> None:
    unkeyed.change("pytest.ini", "[pytest]\n", "[pytest]\nbias_budget = free\n")
    assert "must be a" in refused(unkeyed, *RECORD)


def test_a_name_that_may_mean_another_model_tomorrow(unkeyed: Suite) -> None:
    asked = ("--bias-model=openai/gpt-latest", "--bias-record=missing")
    line = refused(unkeyed, *asked)
    assert "openai/gpt-latest" in line
    assert "may mean another model tomorrow" in line
    assert "--bias-gate=off" in line
    result = unkeyed.run(*asked, "--bias-gate=off")
    assert result.ret != USAGE
    assert [line for line in section(result) if "OPENAI_API_KEY, which is not set" in line]


def test_an_env_file_that_is_not_there(unkeyed: Suite) -> None:
    line = refused(unkeyed, *RECORD, "--bias-env-file=no/such.env")
    assert "--bias-env-file" in line
    assert "no/such.env" in line
    assert "no such file" in line


# --- caps ----------------------------------------------------------------------------------------


def test_a_cap_on_calls_is_told_and_the_next_run_goes_on(unkeyed: Suite) -> None:
    cap = TRIALS - 5
    result = unkeyed.run(*RECORD, f"--bias-max-calls={cap}", workers=3)
    assert result.ret == 1
    assert recorded(unkeyed) == cap
    assert len(Cassette(cassette(unkeyed)).lost) == 5
    (told,) = [line for line in section(result) if "is reached" in line]
    assert "recording game-coin with simulated/drifted" in told
    assert f"--bias-max-calls={cap} is reached" in told
    assert f"5 of {TRIALS} trials are missing (cap)" in told
    # Offline the same run is judged the same.
    offline = unkeyed.run(MODEL)
    assert offline.ret == 1
    assert offline.parseoutcomes() == result.parseoutcomes()
    result = unkeyed.run(*RECORD)
    assert recorded(unkeyed) == TRIALS
    assert Cassette(cassette(unkeyed)).lost == frozenset()
    calls = [int(n) for line in result.outlines for n in re.findall(r"\b(\d+) calls?\b", line)]
    assert max(calls) == 5
    assert not [line for line in section(result) if "is reached" in line]


def test_too_little_under_a_cap_is_no_verdict_that_passes(unkeyed: Suite) -> None:
    shutil.rmtree(unkeyed.cassettes)
    result = unkeyed.run("--bias-record=missing", "--bias-max-calls=3")
    assert result.ret == 1
    assert f"{TRIALS - 3} of {TRIALS} trials are missing (cap)" in "\n".join(section(result))
    assert result.parseoutcomes().get("failed", 0) + result.parseoutcomes().get("errors", 0) >= 1
    assert unkeyed.run().ret == 1


def test_old_recordings_do_not_pass_for_those_a_cap_kept_from_being_made_anew(
    unkeyed: Suite,
) -> None:
    assert unkeyed.run("--bias-model=simulated/even").ret == 0
    result = unkeyed.run("--bias-model=simulated/even", "--bias-record=all", "--bias-max-calls=3")
    assert f"{TRIALS - 3} of {TRIALS} trials are missing (cap)" in "\n".join(section(result))
    assert result.ret == 1


def test_a_budget_is_told_in_dollars(unkeyed: Suite) -> None:
    result = unkeyed.run(*RECORD, "--bias-budget=0.002")
    assert result.ret == 1
    kept = recorded(unkeyed)
    assert 0 < kept < TRIALS
    (told,) = [line for line in section(result) if "is reached" in line]
    assert "--bias-budget=0.002 is reached: $0.00" in told
    assert f"{TRIALS - kept} of {TRIALS} trials are missing (cap)" in told
    unkeyed.run(*RECORD, "--bias-budget=1")
    assert recorded(unkeyed) == TRIALS


def test_a_budget_for_a_model_without_a_price_pays_nothing(
    unkeyed: Suite, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    asked = ("--bias-model=openai/gpt-x-2026-01-01", "--bias-record=missing", "--bias-budget=1")
    result = unkeyed.run(*asked)
    assert result.ret == 1
    told = "\n".join(section(result))
    assert "--bias-budget=1" in told
    assert "openai/gpt-x-2026-01-01 has no price" in told
    model = ("--model", "openai/gpt-x-2026-01-01")
    done = command(unkeyed.path, "record", *model, "--budget", "5", "--record-in-ci")
    assert done.returncode == 2
    assert ": --budget=5: openai/gpt-x-2026-01-01 has no price" in done.stderr


# --- keys ----------------------------------------------------------------------------------------


@pytest.mark.requirement("CV-15", "CV-38")
def test_a_missing_key_fails_the_jobs_of_its_provider_alone(unkeyed: Suite) -> None:
    models = ("--bias-model=openai/gpt-x-2026-01-01", "--bias-model=anthropic/x-2026-01-01")
    result = unkeyed.run(*RECORD, *models)
    assert result.ret == 1
    assert recorded(unkeyed) == TRIALS
    problems = [line for line in section(result) if line.startswith("problem: recording")]
    assert len(problems) == 2
    for provider, variable in (("openai", "OPENAI_API_KEY"), ("anthropic", "ANTHROPIC_API_KEY")):
        (line,) = [line for line in problems if variable in line]
        assert f"recording game-coin with {provider}/" in line


@pytest.fixture
def stranger() -> Iterator[tuple[str, list[str]]]:
    """A vendor that knows no account: its URL, and the paths it was asked for."""
    with answering(saying(401, {})) as found:
        yield found


@pytest.mark.requirement("CV-38")
def test_a_key_comes_from_the_named_file_and_the_environment_comes_first(
    unkeyed: Suite, monkeypatch: pytest.MonkeyPatch, stranger: tuple[str, list[str]]
) -> None:
    url, paths = stranger
    text = f"OPENAI_API_KEY=of-the-file\nOPENAI_BASE_URL={url}/v1\n"
    (unkeyed.path / "keys.env").write_text(text, encoding="ascii")
    asked = ("--bias-model=openai/gpt-x-2026-01-01", "--bias-record=missing")
    assert "OPENAI_API_KEY, which is not set" in "\n".join(section(unkeyed.run(*asked)))
    assert paths == []
    result = unkeyed.run(*asked, "--bias-env-file=keys.env")
    assert "HTTP 401" in "\n".join(section(result))
    assert 1 <= len(paths) <= REPLICATES * 2
    seen = len(paths)
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    result = unkeyed.run(*asked, "--bias-env-file=keys.env", "--bias-max-calls=1")
    assert len(paths) == seen
    assert "APIConnectionError" in "\n".join(section(result)) or "is reached" in "\n".join(
        section(result)
    )
