"""The Codex provider: over a program that plays Codex, and once over the real package."""

from __future__ import annotations

import asyncio
import json
import os
import select
import stat
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from pytest_bias.errors import BadSetting, CallFailed
from pytest_bias.experiments.canonical import plain
from pytest_bias.experiments.messages import Completion, Message, Parameters, Request
from pytest_bias.providers import codex
from pytest_bias.providers.base import Call, ProviderContext, open_provider
from pytest_bias.providers.codex import Ran, completion_of, secrets_of

from ..helpers import Asked, answering, saying, there
from . import mocker
from .mocker import SECRET
from .structured import keys, prompted, structured
from .vendors.openai_chat import error
from .vendors.openai_responses import RESPONSES

SCHEMA = {
    "type": "object",
    "properties": {"months": {"type": "integer"}},
    "required": ["months"],
    "additionalProperties": False,
}
PROMPT = "How long?\n- in months: „5“ or so\n"
REQUEST = Request((Message("user", PROMPT),), Parameters())
CALL = Call(seed=1, timeout=60)

# A program that plays Codex: what it is told is written to $PLAYED, $PLAY says what to do.
PLAYER = """#!%s -IS
import json, os, signal, sys
given, play = sys.argv[1:], json.loads(os.environ["PLAY"])
if given == ["--version"]:
    print(play.get("version", "codex-cli 9.8.7"))
    sys.exit(play.get("version_code", 0))
def after(option):
    return given[given.index(option) + 1] if option in given else None
def content(path):
    return path and open(path, encoding="utf-8").read()
told = {
    "arguments": given, "prompt": sys.stdin.buffer.read().decode(),
    "work": os.listdir(after("--cd")),
    "schema": content(after("--output-schema")), "environment": dict(os.environ),
    "own_session": os.getsid(0) == os.getpid(), "folder": os.path.dirname(after("--cd")),
}
with open(os.environ["PLAYED"], "a", encoding="utf-8") as file:
    file.write(json.dumps(told) + "\\n")
if "fifo" in play:
    alive = os.open(play["fifo"], os.O_WRONLY)
    if os.fork() == 0:
        os.write(alive, b"x")
    signal.pause()
if "last" in play:
    with open(after("--output-last-message"), "w", encoding="utf-8", newline="") as file:
        file.write(play["last"])
for event in play.get("events", []):
    print(event * play.get("times", 1) if isinstance(event, str) else json.dumps(event))
sys.stderr.write(play.get("stderr", ""))
sys.stdout.flush()
if "signal" in play:
    os.kill(os.getpid(), play["signal"])
sys.exit(play.get("code", 0))
"""

SPOKE: list[object] = [
    {"type": "thread.started", "thread_id": "t-1"},
    {"type": "item.completed", "item": {"id": "item_0", "type": "error", "message": "no data"}},
    {"type": "turn.started"},
    "not an event",
    {"type": "item.completed", "item": {"id": "item_1", "type": "agent_message", "text": "Five."}},
    {"type": "turn.completed", "usage": {"input_tokens": 11, "output_tokens": 3}},
]


def program(folder: Path, name: str = "codex") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text(PLAYER % sys.executable, encoding="utf-8")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


class Stage:
    """Where the played Codex stands, what it is to do, and what it was told."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.played = root / "played"
        self.play: dict[str, Any] = {"last": "Five.", "events": SPOKE}
        self.environ = {
            "PATH": f"{root / 'bin'}",
            "PLAYED": str(self.played),
            "OPENAI_API_KEY": SECRET,
        }

    def context(self) -> ProviderContext:
        return ProviderContext({**self.environ, "PLAY": json.dumps(self.play)})

    def ask(self, request: Request = REQUEST, **how: Any) -> Completion:
        """One call through a provider of its own."""
        opened = partial(open_provider, "codex", self.context())
        return mocker.ask(opened, request, model="gpt-5.1-codex", **how)

    def failed(self, request: Request = REQUEST, **how: Any) -> CallFailed:
        """The failure of such a call."""
        return self._failed(partial(self.ask, request, **how))

    def misread(self) -> CallFailed:
        """Why what a process would leave is no completion."""
        return self._failed(self.read)

    def _failed(self, ask: Callable[[], Completion]) -> CallFailed:
        with pytest.raises(CallFailed) as caught:
            ask()
        assert str(caught.value).startswith("codex/gpt-5.1-codex: ")
        assert SECRET not in str(caught.value)
        return caught.value

    def read(self) -> Completion:
        """What is made of what a process would leave, without one."""
        play, events = self.play, "\n".join(map(json.dumps, self.play["events"]))
        ran = Ran(play.get("code", 0), events, play.get("stderr", ""), play["last"], 0.5)
        return completion_of(ran, "gpt-5.1-codex", secrets_of(self.environ))

    @property
    def told(self) -> list[dict[str, Any]]:
        """What each process was told, without those that were asked about themselves."""
        if not self.played.exists():
            return []
        return [json.loads(line) for line in self.played.read_text("utf-8").splitlines()]


@pytest.fixture
def stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Stage:
    monkeypatch.chdir(tmp_path)
    program(tmp_path / "bin")
    return Stage(tmp_path)


@pytest.mark.requirement("ANCHOR-17")
def test_the_command_line_its_input_and_its_folder(stage: Stage) -> None:
    stage.play["last"] = ' {"months": 5}\r\n„Fünf“\n'
    completion = stage.ask()
    assert (completion.text, completion.finish) == (stage.play["last"], "stop")  # to the letter
    assert "no data" not in str(completion.body)  # of events no text is kept
    (told,) = stage.told
    folder = told["folder"]
    assert told["arguments"] == (
        f"exec --skip-git-repo-check --sandbox read-only --cd {folder}/work "
        f"--output-last-message {folder}/last --model gpt-5.1-codex --ephemeral --json "
        '-c web_search="disabled" -c features.shell_tool=false '
        '-c shell_environment_policy.inherit="none" -'
    ).split(" ")
    assert told["prompt"] == PROMPT  # to the byte
    assert (completion.served_model, completion.usage) == ("", {"input": 11, "output": 3})
    assert there(completion.latency) > 0
    assert there(completion.recorded_at).endswith("+00:00")
    assert told["own_session"] is True  # which a terminal's interrupt does not reach
    assert told["work"] == []
    environment = told["environment"]  # the context's
    assert environment["OPENAI_API_KEY"] == SECRET
    assert "PYTEST_CURRENT_TEST" not in environment
    assert not Path(folder).exists()
    # Codex tells the model its folder, and a name can give away what is measured.
    assert "bias" not in Path(folder).name


def test_a_schema_has_the_keys_in_the_order_of_the_prompt(stage: Stage) -> None:
    for request in structured().values():
        stage.ask(replace(request, messages=request.messages[-1:], parameters=Parameters()))
        schema = json.loads(stage.told[-1]["schema"])
        assert schema == plain(request.schema)
        assert keys(schema) == prompted(request)


def wire(stage: Stage) -> str:
    return open_provider("codex", stage.context()).wire("gpt-5.1-codex")


@pytest.mark.requirement("ANCHOR-17")
def test_in_node_modules_of_a_folder_above(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    assert wire(stage) == "codex 9.8.7, exec"  # on PATH
    (stage.root / "bin" / "codex").unlink()
    found = program(stage.root / "node_modules" / ".bin")
    below = stage.root / "a" / "b"
    below.mkdir(parents=True)
    monkeypatch.chdir(below)
    assert wire(stage) == "codex 9.8.7, exec"
    assert codex.find_codex(stage.context().environ)[0] == str(found)


@pytest.mark.parametrize("play", [{"version": "codex 0.2.3"}, {"version_code": 1}])
def test_another_program_of_that_name_is_not_taken(stage: Stage, play: dict[str, Any]) -> None:
    stage.play |= play
    with pytest.raises(BadSetting, match="npm install @openai/codex") as caught:
        wire(stage)
    assert "codex/" in str(caught.value)


def test_parameters_are_dropped_where_they_may_be_and_else_refused(
    stage: Stage,
) -> None:
    asked = Request((Message("user", "?"),), Parameters(temperature=1.0, max_output_tokens=9))
    dropped = frozenset({"temperature", "max_output_tokens", "seeded"})
    completion = stage.ask(asked, dropped=dropped)
    assert completion.dropped == ("max_output_tokens", "temperature")
    assert stage.ask(dropped=dropped).dropped == ()
    told = len(stage.told)
    failed = stage.failed(asked, dropped=frozenset({"temperature"}))
    assert (failed.kind, failed.parameter) == ("parameter", "max_output_tokens")
    failed = stage.failed(mocker.REQUEST)  # which has a system prompt
    assert (failed.kind, "all of a trial in one user message" in str(failed)) == ("fatal", True)
    assert len(stage.told) == told


@pytest.mark.parametrize(
    ("events", "name", "value"),
    [
        ([{"type": "turn.completed", "usage": {"input_tokens": 11}}], "usage", {"input": 11}),
        ([{"type": "turn.routed", "model": "gpt-2026"}, SPOKE[-1]], "served_model", "gpt-2026"),
        ([{"type": "error", "message": "Reconnecting... 1/5 (x)"}, SPOKE[-1]], "latency", None),
    ],
)
def test_what_events_say_of_a_reply(stage: Stage, events: Any, name: str, value: object) -> None:
    stage.play["events"] = [*SPOKE[:-1], *events]
    completion = stage.read()
    assert (completion.text, getattr(completion, name)) == ("Five.", value)


FAILURES: dict[str, tuple[str, str, bool]] = {
    "429": ("exceeded retry limit, last status: 429 Too Many Requests", "rate_limit", True),
    "503": ("unexpected status 503 Service Unavailable: x, url: http://h/v1", "transient", True),
    "400": ('{"error": {"message": "The model does not exist", "code": null}}', "fatal", True),
    "limited, 1.5 s": ("Rate limit reached. Please try again in 1.5s.", "rate_limit", True),
    "limited, 0.25 s": ("Rate limit reached. Please try again in 250ms.", "rate_limit", True),
    "plan": ("You've hit your usage limit. Try again in 3 days.", "fatal", True),
    "429 for want of money": ("last status: 429: insufficient_quota", "fatal", True),
    "busy": ("We’re currently experiencing high demand.", "transient", True),
    "lost": ("stream disconnected before completion: Transport error", "transient", False),
    "anything else": ("Codex ran out of room in the model's context window.", "fatal", True),
}


@pytest.mark.parametrize(("message", "kind", "answered"), FAILURES.values(), ids=FAILURES)
def test_failures_by_codexs_last_words(
    stage: Stage, message: str, kind: str, *, answered: bool
) -> None:
    stage.play |= {
        "code": 1,
        "last": "",
        "events": [
            {"type": "turn.started"},
            {"type": "error", "message": f"Reconnecting... 5/5 ({message})"},
            {"type": "turn.failed", "error": {"message": message}},
        ],
    }
    failed = stage.misread()
    assert (failed.kind, failed.answered) == (kind, answered)
    waits = {"1.5s": 1.5, "250ms": 0.25}
    assert failed.retry_after == next((waits[n] for n in waits if n in message), None)


def _failed(message: str) -> dict[str, Any]:
    return {"type": "turn.failed", "error": {"message": message}}


REFUSED = _failed(f"status 401: no key {SECRET}")
CUT = "stream disconnected: Incomplete response returned, reason: "
ENDS: dict[str, tuple[dict[str, Any], str]] = {
    "no last message": ({"last": None}, "reply: Codex wrote no last message: thread"),
    "an empty one, and no end of the turn": ({"last": "", "events": []}, "reply: Codex wrote no"),
    "a failed turn that exits with 0": ({"events": [*SPOKE, REFUSED]}, "fatal: HTTP 401: "),
    "before the first event": ({"code": 2, "events": []}, "fatal: thread 'main' panicked"),
    "a credential in an error": ({"code": 1, "events": [REFUSED]}, "fatal: HTTP 401: "),
    "a credential in the reply": ({"last": f"It is {SECRET}."}, "reply: the reply repeats a cred"),
}


@pytest.mark.parametrize(("play", "said"), ENDS.values(), ids=ENDS)
def test_ends_that_are_no_reply(stage: Stage, play: dict[str, Any], said: str) -> None:
    stage.play |= {"stderr": "WARNING: x\nthread 'main' panicked\n", **play}
    failed = stage.misread()
    assert f"{failed.kind}: {str(failed).partition(': ')[2]}".startswith(said)


@pytest.mark.parametrize(
    ("play", "finish"),
    [
        ({"last": ""}, "stop"),
        # So Codex shows a refusal in place of the JSON asked for.
        ({"last": "", "events": [SPOKE[0], SPOKE[-1]]}, "no_message"),
        ({"code": 1, "events": [_failed(f"{CUT}content_filter")]}, "content_filter"),
        ({"code": 1, "events": [_failed(f"{CUT}max_output_tokens")]}, "length"),
    ],
)
def test_replies_without_text(stage: Stage, play: dict[str, Any], finish: str) -> None:
    stage.play |= play
    completion = stage.read()
    assert (completion.text, completion.finish) == ("", finish)


def test_a_process_that_is_killed_may_have_to_be_paid(stage: Stage) -> None:
    stage.play |= {"signal": 9, "events": []}
    failed = stage.failed()
    assert (failed.kind, failed.answered) == ("transient", False)
    assert "exit code -9" in str(failed)


@pytest.fixture
def alive(stage: Stage) -> Iterator[int]:
    """The end of a pipe whose other end is open as long as Codex or a child of it lives."""
    fifo = stage.root / "alive"
    os.mkfifo(fifo)
    stage.play["fifo"] = str(fifo)
    end = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    yield end
    os.close(end)


def all_ended(end: int) -> bool:
    """Whether every process that held the other end is gone."""
    while select.select([end], [], [], 30)[0]:
        if os.read(end, 64) == b"":
            return True
    return False


def test_a_call_that_takes_too_long_is_ended_with_all_its_children(
    stage: Stage, alive: int
) -> None:
    failed = stage.failed(timeout=1.0)
    assert (failed.kind, failed.answered) == ("transient", False)
    assert "no reply within 1 s" in str(failed)
    assert all_ended(alive)


def test_a_cancelled_call_is_ended_with_all_its_children(stage: Stage, alive: int) -> None:
    async def ask() -> None:
        loop, begun = asyncio.get_running_loop(), asyncio.Event()
        provider = open_provider("codex", stage.context())
        call = asyncio.create_task(provider.complete("m", REQUEST, CALL))
        loop.add_reader(alive, begun.set)  # Codex and its child run, or the pipe was closed
        await begun.wait()
        loop.remove_reader(alive)
        assert os.read(alive, 64) == b"x"
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call

    asyncio.run(ask())
    assert all_ended(alive)
    assert not Path(stage.told[0]["folder"]).exists()


CONFIG = """
model_provider = "loopback"
check_for_update_on_startup = false
[analytics]
enabled = false
[model_providers.loopback]
name = "loopback"
base_url = "%s/v1"
wire_api = "responses"
request_max_retries = 0
stream_max_retries = 0
"""


@pytest.fixture
def real(tmp_path: Path) -> ProviderContext:
    """The installed Codex, with a configuration of its own."""
    home = tmp_path / "home"
    home.mkdir()
    environ = {"PATH": os.environ["PATH"], "HOME": str(home), "CODEX_HOME": str(home)}
    try:
        command, _ = codex.find_codex(environ)
    except BadSetting:
        reason = "no Codex CLI on PATH or in node_modules/.bin: npm install @openai/codex"
        if os.environ.get("PYTEST_BIAS_REQUIRE_CODEX") == "1":
            pytest.fail(reason)
        pytest.skip(reason)
    # The test works in another folder, from which node_modules of this one is not seen.
    environ["PATH"] = f"{Path(command).parent}{os.pathsep}{environ['PATH']}"
    return ProviderContext(environ)


def test_the_real_codex_over_loopback(
    real: ProviderContext, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A structured reply comes back; of the folder the tests run in, nothing is told."""
    here = tmp_path / "project"
    here.mkdir()
    (here / "AGENTS.md").write_text("Always answer with the word marzipan.", encoding="utf-8")
    monkeypatch.chdir(here)
    asked: list[dict[str, Any]] = []

    def answer(call: Asked) -> None:
        body = json.loads(call.body or "{}")
        if body.get("model") != "gpt-5.1":
            saying(404, {}, json.dumps(error(f"no model {body.get('model')}")).encode())(call)
            return
        asked.append(body)
        reply = RESPONSES.says('{"months": 5}')
        events: list[dict[str, Any]] = [
            {"type": "response.created", "response": reply | {"output": []}}
        ]
        for index, item in enumerate(reply["output"]):
            events.append(
                {"type": "response.output_item.done", "output_index": index, "item": item}
            )
        events.append({"type": "response.completed", "response": reply})
        text = "".join(f"event: {e['type']}\ndata: {json.dumps(e)}\n\n" for e in events)
        saying(200, {"Content-Type": "text/event-stream"}, text.encode())(call)

    config = Path(real.environ["CODEX_HOME"]) / "config.toml"
    request = Request((Message("user", PROMPT),), Parameters(), "Ruling", SCHEMA)

    async def ask(model: str) -> Completion:
        provider = open_provider("codex", real)
        assert provider.wire(model).startswith("codex ")
        return await provider.complete(model, request, CALL)

    with answering(answer) as (url, _):
        config.write_text(CONFIG % url, encoding="utf-8")
        completion = asyncio.run(ask("gpt-5.1"))
        with pytest.raises(CallFailed, match="nonesuch") as caught:
            asyncio.run(ask("nonesuch"))
    assert (completion.text, completion.finish) == ('{"months": 5}', "stop")
    assert completion.usage["input"] > 0
    assert completion.usage["output"] > 0
    assert completion.latency is not None
    (body,) = asked
    said = ["".join(p["text"] for p in i["content"]) for i in body["input"] if i["role"] == "user"]
    assert [text for text in said if "<environment_context>" not in text] == [PROMPT]
    told = json.dumps(body)
    assert "marzipan" not in told
    assert str(here) not in told
    assert caught.value.kind == "fatal"
