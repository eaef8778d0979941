"""What comes from outside stands in the log, and nothing there obeys it."""

from __future__ import annotations

import json

import pytest

from ..helpers import answering, saying
from .suites import Suite, section

HOSTILE = (
    "\x1b[2K\x07\x9b31m\u202e##[error]x\r\n::error::pwned\r\n::set-output name=a::b\n\rPASS: 89"
)
SHOWN = r"\x1b[2K\x07\x9b31m\u202e\x23#[error]x"


def check_the_log(result: pytest.RunResult) -> str:
    """Nothing in it is a command, to a terminal or to the CI service, but what is meant as one."""
    said = result.stdout.str() + result.stderr.str()
    for line in said.split("\n"):
        assert line.isprintable()
        assert not line.startswith("PASS: 89")
        assert "##[" not in line
        if line.lstrip().startswith("::"):
            assert line.startswith(("::error title=NO VERDICT::", "::error file=", "::warning "))
            assert "pwned" not in line.partition("::")[0]
    return said


@pytest.mark.parametrize("options", [(), ("-q", "-rA", "--tb=long"), ("-o", "log_cli=true")])
def test_what_an_endpoint_says_is_shown_and_not_obeyed(
    suite: Suite, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...]
) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("THE_KEY", "none")
    body = json.dumps({"error": {"message": HOSTILE, "code": HOSTILE}}).encode()
    with answering(saying(400, {}, body)) as (url, asked):
        roster = f'[endpoints.mine]\nwire = "openai-chat"\nbase_url = "{url}/v1"\n'
        (suite.path / "bias_models.toml").write_text(f'{roster}api_key_env = "THE_KEY"\n', "utf-8")
        named = ("--bias-model=mine/any", "--bias-record=missing", "--bias-record-in-ci")
        result = suite.run(*named, *options)
    assert asked
    assert result.ret == 1
    said = check_the_log(result)
    assert f"HTTP 400: {SHOWN} ::error::pwned ::set-output" in said


@pytest.mark.parametrize(
    ("model", "option"),
    [
        ("mine/mo\x1bdel\r::error::x", "--bias-record=none"),
        ("mine/a\n::error::pwned", "--bias-plan"),
        *((HOSTILE, option) for option in ("--bias-record=none", "--bias-plan")),
    ],
)
def test_a_models_name_is_shown_and_not_obeyed(
    suite: Suite, monkeypatch: pytest.MonkeyPatch, model: str, option: str
) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    check_the_log(suite.run(f"--bias-model={model}", option))


def test_a_unit_a_reason_and_an_owner_are_shown_and_not_obeyed(
    suite: Suite, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    experiment = "bias_tests/coin/experiment.py"
    suite.change(experiment, 'Measure("number"', f'Measure("number", unit={HOSTILE!r}')
    given = ("--bias-model=simulated/biased", f"--bias-accept-owner=ann {HOSTILE}")
    accepted = suite.run(
        *given,
        "--bias-accept",
        f"--bias-accept-reason=x {HOSTILE}",
        "--bias-accept-until=2999-01-01",
    )
    check_the_log(accepted)
    for arguments in ((), ("-rA",), ("-rx", "--tb=long"), ("--bias-baselines=off", "-rA")):
        result = suite.run("--bias-model=simulated/biased", *arguments)
        check_the_log(result)
        assert [line for line in section(result) if SHOWN in line]
