"""OpenAI's Codex CLI: one ``codex exec`` per call, one prompt in and one last message out.

Codex is an agent and not an API. Around the prompt it sends a system prompt, a list of skills and
tools of its own; it takes no sampling parameters and no seed; and it tries again by itself, as its
own configuration says (``request_max_retries``, ``stream_max_retries``). Every call works in an
empty temporary folder, in a read-only sandbox, with the shell tool and web search turned off: the
reply is to be the model's own, and no command that it thinks of gets to see the environment. The
rest of the user's configuration holds, an ``AGENTS.md`` in CODEX_HOME too; the date, the time zone
and the folder are sent to the model.

The end of a run is read without I/O: a completion, or the reason for none.
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

from ..errors import BadSetting, CallFailed, FailureKind
from ..experiments.canonical import compact, plain
from ..experiments.messages import Completion, Request, end_of
from .adapter import counts
from .base import Call, Provider, ProviderContext
from .failures import status_failure, unencodable
from .sdk import SHORTEST_SECRET, Secrets, named_secrets, now, parsed

_VERSION = re.compile(r"^codex-cli (\S+)", re.MULTILINE)
"""What ``--version`` says; npm's package ``codex`` is another program with another output."""

_ALONE = (
    'web_search="disabled"',
    "features.shell_tool=false",
    'shell_environment_policy.inherit="none"',
)
_LONGEST_START = 60.0
"""Seconds that the command has to print its version."""
_SECRET_TEXT = re.compile(r"\bsk-[\w*-]{6,}|(?<=Bearer )\S+")
"""Keys that are not in the environment but in Codex's own files."""

_STATUS = re.compile(r"\bstatus:? (\d{3})\b")
_SPENT = re.compile(r"usage limit|quota|billing", re.IGNORECASE)
_LIMITED = re.compile(r"rate.limit|too many requests", re.IGNORECASE)
_WAIT = re.compile(r"try again in (\d+(?:\.\d+)?) ?(ms|s)\b")
_BUSY = re.compile(r"high demand|overloaded|at capacity|server error", re.IGNORECASE)
_LOST = re.compile(r"disconnected|connection|network|timed? ?out|error sending", re.IGNORECASE)
_CUT = re.compile(r"Incomplete response returned, reason: (content_filter|max_output_tokens)")


class Codex:
    """Runs ``codex exec``.

    ``concurrency`` is how many processes of a model may run at once.
    """

    concurrency = 4
    adds_to_prompts = True  # the CLI puts its own instructions, tools and skills before the prompt
    keeps_text = True  # the prompt and the last message pass through files

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._command, self._version = find_codex(environ)
        self._environ = dict(environ)
        self._secrets = secrets_of(environ)

    def wire(self, model: str) -> str:  # noqa: ARG002  (one command for all models)
        """The command, its version and the subcommand."""
        return f"codex {self._version}, exec"

    async def complete(self, model: str, request: Request, call: Call) -> Completion:
        """See :class:`~pytest_bias.providers.base.Provider`.

        The latency is that of the process, so it holds Codex's own start of a fraction of a
        second; it is None where Codex reports that it had to try again.
        """
        name = f"codex/{model}"
        dropped = _checked(name, request, call)
        # Codex sends the model the folder's name, which must not reveal what this is.
        with TemporaryDirectory() as folder:
            arguments = self._prepared(Path(folder), model, request)
            ran = await self._run(name, arguments, call, Path(folder))
        return completion_of(ran, model, self._secrets, dropped)

    async def aclose(self) -> None:
        """Nothing stays open between calls."""

    async def _run(self, name: str, arguments: list[str], call: Call, folder: Path) -> Ran:
        streams = [folder / stream for stream in ("prompt", "events", "problems")]
        with ExitStack() as stack:
            # Files and not pipes: a pipe stays open as long as any child of a killed process.
            stdin, stdout, stderr = (
                stack.enter_context(path.open(mode))
                for path, mode in zip(streams, ("rb", "wb", "wb"), strict=True)
            )
            began = perf_counter()
            try:
                process = await asyncio.create_subprocess_exec(
                    *arguments,
                    stdin=stdin,
                    stdout=stdout,
                    stderr=stderr,
                    env=self._environ,
                    # A terminal's Ctrl-C reaches us alone, so a call in flight is not lost.
                    start_new_session=True,
                )
            except OSError as error:
                problem = f"Codex could not be started: {error.strerror}"
                raise CallFailed(model=name, problem=problem, kind="fatal") from None
            try:
                await asyncio.wait_for(process.wait(), call.timeout)
            except TimeoutError:
                problem = f"no reply within {call.timeout:g} s; Codex was stopped"
                raise CallFailed(
                    model=name, problem=problem, kind="transient", answered=False
                ) from None
            finally:
                if process.returncode is None:
                    _kill(process)
                    await process.wait()
            latency = perf_counter() - began
        return _read(folder, process.returncode or 0, latency)

    def _prepared(self, folder: Path, model: str, request: Request) -> list[str]:
        """The command line; prompt and schema, which it reads, are written to ``folder``."""
        (folder / "work").mkdir()
        (folder / "prompt").write_bytes(request.messages[0].text.encode())
        arguments = [self._command, "exec", "--skip-git-repo-check"]
        arguments += ["--sandbox", "read-only", "--cd", str(folder / "work")]
        arguments += ["--output-last-message", str(folder / "last"), "--model", model]
        arguments += ["--ephemeral", "--json"]
        if request.schema is not None:
            (folder / "schema").write_text(compact(plain(request.schema, "reply schema")), "utf-8")
            arguments += ["--output-schema", str(folder / "schema")]
        for setting in _ALONE:
            arguments += ["-c", setting]
        return [*arguments, "-"]


def open_codex(context: ProviderContext) -> Provider:
    """Models that the Codex CLI is signed in for, or that its configuration names.

    Raises BadSetting when no Codex CLI is installed.
    """
    return Codex(context.environ)


def find_codex(environ: Mapping[str, str]) -> tuple[str, str]:
    """The Codex CLI on PATH, or in ``node_modules/.bin`` here or above; BadSetting for none."""
    here = Path.cwd()
    modules = [str(folder / "node_modules" / ".bin") for folder in (here, *here.parents)]
    for places in (environ.get("PATH", ""), os.pathsep.join(modules)):
        command = shutil.which("codex", path=places)
        version = _VERSION.search(_version_of(command, environ)) if command else None
        if command and version:
            return command, version.group(1)
    raise BadSetting(
        option="--bias-model",
        value="codex/…",
        problem=(
            "the Codex CLI is neither on PATH nor in node_modules/.bin; install it with: "
            "npm install @openai/codex (the npm package called codex is another program)"
        ),
    )


def _version_of(command: str, environ: Mapping[str, str]) -> str:
    """The output of ``--version``; '' where the command fails."""
    try:
        ran = subprocess.run(  # noqa: S603  (the user's own installation)
            [command, "--version"],
            env=dict(environ),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=_LONGEST_START,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return ran.stdout if ran.returncode == 0 else ""


def _checked(name: str, request: Request, call: Call) -> tuple[str, ...]:
    """The parameters that are left out; CallFailed for a request that Codex cannot take."""
    if [message.role for message in request.messages] != ["user"]:
        problem = (
            "codex exec takes one prompt: no system prompt, and no conversation, because every "
            "call begins a new session. Experiments fit that ask all of a trial in one user "
            "message, such as those whose ids end in all-in-one"
        )
        raise CallFailed(model=name, problem=problem, kind="fatal")
    unwritable = unencodable(name, "", request)
    if unwritable is not None:
        raise unwritable
    parameters = sorted(request.parameters.sent)
    for parameter in parameters:
        if parameter not in call.dropped:
            problem = f"codex exec takes no {parameter}; experiments that fit leave it open"
            raise CallFailed(model=name, problem=problem, kind="parameter", parameter=parameter)
    return tuple(parameters)


def _kill(process: asyncio.subprocess.Process) -> None:
    """End a process and all that it started."""
    with suppress(ProcessLookupError, PermissionError):
        if sys.platform == "win32":
            process.kill()
        else:
            os.killpg(process.pid, signal.SIGKILL)


def _read(folder: Path, code: int, latency: float) -> Ran:
    def text(stream: str) -> str:
        # Not read_text(), which would turn a reply's "\r\n" into "\n".
        return (folder / stream).read_bytes().decode("utf-8", errors="replace")

    last = text("last") if (folder / "last").exists() else None
    return Ran(code, text("events"), text("problems"), last, latency)


# --- the end of a run --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Ran:
    """The end of one process.

    ``code`` is its exit code, negative after a signal; ``stdout`` has one JSON event a line;
    ``last`` is the file with the last message, None where there is none; ``latency`` is in
    seconds.
    """

    code: int
    stdout: str = field(repr=False)
    stderr: str = field(repr=False)
    last: str | None = field(repr=False)
    latency: float

    def events(self) -> list[Mapping[str, Any]]:
        """The events, without whatever else stands between them."""
        events: list[Mapping[str, Any]] = []
        for line in self.stdout.splitlines():
            with suppress(ValueError):
                if isinstance(event := parsed(line), dict):
                    events.append(event)
        return events


def secrets_of(environ: Mapping[str, str]) -> Secrets:
    """Values in an environment that may be credentials.

    A short one is a placeholder, and is in most replies; as a key it is hidden in problems.
    """
    return Secrets(
        *(value for value in named_secrets(environ) if len(value) >= SHORTEST_SECRET),
        *(value for name, value in environ.items() if name.endswith("_API_KEY")),
    )


def completion_of(
    ran: Ran, model: str, secrets: Secrets, dropped: tuple[str, ...] = ()
) -> Completion:
    """The completion of a call of ``model`` (the name without the provider).

    Raises CallFailed when there is none. A reply that the vendor filtered or cut off is an empty
    completion.
    """
    name = f"codex/{model}"
    events = ran.events()
    kinds = {kind for event in events if isinstance(kind := event.get("type"), str)}
    # An item's error is a remark and none of these.
    errors = [
        message
        for event in events
        if event.get("type") in ("error", "turn.failed")
        and isinstance(message := (_dict(event, "error") or event).get("message"), str)
    ]
    items = {_dict(event, "item").get("type") for event in events if _dict(event, "item")}
    # Where the turn ended and Codex passes on nothing that the model said, it may be a refusal in
    # place of the JSON that was requested, of which Codex says nothing.
    silent = "turn.completed" in kinds and "agent_message" not in items
    text = ran.last
    finish = "no_message" if silent else "stop"
    problem = _last_message(ran, errors)
    shown = secrets.redacted(_SECRET_TEXT.sub("***", secrets.hidden(problem)))
    if ran.code != 0 or "turn.failed" in kinds:
        cut = _CUT.search(problem)
        if cut is None:
            raise _failure(name, problem, shown, ran.code)
        text, finish = "", end_of(cut.group(1))
    elif text is None or not (text or "turn.completed" in kinds):
        problem = f"Codex wrote no last message: {shown}"
        raise CallFailed(model=name, problem=problem, kind="reply")
    if secrets.purged(text) != text:
        problem = "the reply repeats a credential of the environment, and was not stored"
        raise CallFailed(model=name, problem=problem, kind="reply")
    again = any(error.startswith("Reconnecting") for error in errors)
    served = [event["model"] for event in events if isinstance(event.get("model"), str)]
    stored = [_stored(event) for event in events]
    usage = next((event["usage"] for event in reversed(stored) if "usage" in event), None)
    return Completion(
        text=text,
        finish=finish,
        served_model=served[-1] if served else "",
        usage=counts(usage, input=("input_tokens",), output=("output_tokens",)),
        latency=None if again else round(ran.latency, 6),
        recorded_at=now(),
        body={"last_message": text, "events": stored},
        dropped=dropped,
    )


def _dict(of: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    return of[name] if isinstance(of.get(name), dict) else {}


def _stored(event: Mapping[str, Any]) -> dict[str, Any]:
    """Kind, ids and token counts of an event: its text may be anything."""
    stored = {n: event[n] for n in ("type", "thread_id", "model") if isinstance(event.get(n), str)}
    if isinstance(usage := event.get("usage"), dict):
        stored["usage"] = {name: count for name, count in usage.items() if type(count) is int}
    if isinstance(item := event.get("item"), dict):
        stored["item"] = {
            name: item[name] for name in ("id", "type") if isinstance(item.get(name), str)
        }
    return stored


def _last_message(ran: Ran, errors: Sequence[str]) -> str:
    """Codex's last message on what went wrong; there may be credentials in it."""
    lines = [line.strip() for line in ran.stderr.splitlines() if line.strip()]
    wrong = [line for line in lines if line.lower().startswith("error")]
    problem = [f"exit code {ran.code}", *lines[-1:], *wrong[-1:], *errors][-1]
    with suppress(ValueError, TypeError, KeyError):
        body: Any = parsed(problem)
        problem = str(body["error"]["message"])
    return problem


def _failure(name: str, problem: str, shown: str, code: int) -> CallFailed:
    """The failure that Codex's last message stands for, of which ``shown`` may be shown."""
    kind: FailureKind = "fatal"
    answered, seconds = True, None
    if _SPENT.search(problem):
        pass
    elif status := _STATUS.search(problem):
        return status_failure(name, int(status.group(1)), shown)
    elif _LIMITED.search(problem):
        kind = "rate_limit"
        if wait := _WAIT.search(problem):
            seconds = float(wait.group(1)) / (1000 if wait.group(2) == "ms" else 1)
    elif _BUSY.search(problem):
        kind = "transient"
    elif code < 0 or _LOST.search(problem):
        kind, answered = "transient", False
    return CallFailed(model=name, problem=shown, kind=kind, retry_after=seconds, answered=answered)
