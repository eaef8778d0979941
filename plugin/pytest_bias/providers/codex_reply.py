"""The end of a ``codex exec``: a completion, or the reason for none. No I/O."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from ..errors import CallFailed
from ..experiments.messages import Completion, Finish
from .completion import counts
from .failures import status_failure
from .sdk import SHORTEST_SECRET, Secrets, named_secrets, now, parsed

_LONGEST_PROBLEM = 400
_SECRET_TEXT = re.compile(r"\bsk-[\w*-]{6,}|(?<=Bearer )\S+")
"""Keys that are not in the environment but in Codex's own files."""

_STATUS = re.compile(r"\bstatus:? (\d{3})\b")
_SPENT = re.compile(r"usage limit|quota|billing", re.IGNORECASE)
_LIMITED = re.compile(r"rate.limit|too many requests", re.IGNORECASE)
_WAIT = re.compile(r"try again in (\d+(?:\.\d+)?) ?(ms|s)\b")
_BUSY = re.compile(r"high demand|overloaded|at capacity|server error", re.IGNORECASE)
_LOST = re.compile(r"disconnected|connection|network|timed? ?out|error sending", re.IGNORECASE)
_CUT = re.compile(r"Incomplete response returned, reason: (content_filter|max_output_tokens)")
_CUTS: Mapping[str, Finish] = {"content_filter": "content_filter", "max_output_tokens": "length"}


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

    def events(self) -> Iterator[Mapping[str, Any]]:
        """The events, without whatever else stands between them."""
        for line in self.stdout.splitlines():
            with suppress(ValueError):
                event = parsed(line)
                if isinstance(event, dict):
                    yield event


class Credentials:
    """Texts in an environment that may be credentials, kept out of whatever is said."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        # A shorter one is a placeholder, and is in most replies.
        long = [value for value in named_secrets(environ) if len(value) >= SHORTEST_SECRET]
        keys = [value for name, value in environ.items() if name.endswith("_API_KEY")]
        self._long, self._all = Secrets(*long), Secrets(*long, *keys)

    def in_reply(self, text: str) -> bool:
        """Return whether a reply repeats one."""
        return self._long.hidden(text) != text

    def hidden(self, text: str) -> str:
        """A problem with ``***`` for whatever is or looks like a credential, cut to a length."""
        return _SECRET_TEXT.sub("***", self._all.hidden(text))[:_LONGEST_PROBLEM]


def completion_of(
    ran: Ran, model: str, credentials: Credentials, dropped: tuple[str, ...]
) -> Completion:
    """The completion of a call of ``model`` (the name without the provider).

    Raises CallFailed when there is none. A reply that the vendor filtered or cut off is an empty
    completion.
    """
    name = f"codex/{model}"
    events = list(ran.events())
    kinds = {kind for event in events if isinstance(kind := event.get("type"), str)}
    text, finish = ran.last, _finish(events)
    if ran.code != 0 or "turn.failed" in kinds:
        problem = _problem(ran, events)
        cut = _CUT.search(problem)
        if cut is None:
            raise _failure(name, problem, ran.code, credentials)
        text, finish = "", _CUTS[cut.group(1)]
    elif text is None or not (text or "turn.completed" in kinds):
        problem = f"Codex wrote no last message: {credentials.hidden(_problem(ran, events))}"
        raise CallFailed(model=name, problem=problem, kind="reply")
    if credentials.in_reply(text):
        problem = "the reply repeats a credential of the environment, and was not kept"
        raise CallFailed(model=name, problem=problem, kind="reply")
    again = any(problem.startswith("Reconnecting") for problem in _errors(events))
    served = [event["model"] for event in events if isinstance(event.get("model"), str)]
    return Completion(
        text=text,
        finish=finish,
        served_model=served[-1] if served else "",
        usage=_usage(events),
        latency=None if again else round(ran.latency, 6),
        recorded_at=now(),
        body={"last_message": text, "events": [_kept(event) for event in events]},
        dropped=dropped,
    )


def _finish(events: list[Mapping[str, Any]]) -> Finish:
    """``other`` where the turn ended and Codex passes on nothing that the model said.

    So it is with a refusal in place of the JSON asked for, of which Codex says nothing.
    """
    items = [e["item"] for e in events if isinstance(e.get("item"), dict)]
    spoke = any(item.get("type") == "agent_message" for item in items)
    ended = any(event.get("type") == "turn.completed" for event in events)
    return "other" if ended and not spoke else "stop"


def _usage(events: list[Mapping[str, Any]]) -> dict[str, int]:
    """Tokens of the turn; nothing where it does not say."""
    given = [e["usage"] for e in map(_kept, events) if isinstance(e.get("usage"), dict)]
    if not given:
        return {}
    return counts(given[-1], input=("input_tokens",), output=("output_tokens",))


def _kept(event: Mapping[str, Any]) -> dict[str, Any]:
    """Kind, ids and token counts of an event: what it says may be anything."""
    kept: dict[str, Any] = _texts(event, "type", "thread_id", "model")
    if isinstance(usage := event.get("usage"), dict):
        kept["usage"] = {name: count for name, count in usage.items() if type(count) is int}
    if isinstance(item := event.get("item"), dict):
        kept["item"] = _texts(item, "id", "type")
    return kept


def _texts(of: Mapping[str, Any], *names: str) -> dict[str, object]:
    return {name: of[name] for name in names if isinstance(of.get(name), str)}


# --- failures ---------------------------------------------------------------------------------


def _errors(events: list[Mapping[str, Any]]) -> Iterator[str]:
    """The messages of errors, in their order; an item's error is a remark and none of these."""
    for event in events:
        error = event.get("error")
        told = error.get("message") if isinstance(error, dict) else event.get("message")
        if event.get("type") in ("error", "turn.failed") and isinstance(told, str):
            yield told


def _problem(ran: Ran, events: list[Mapping[str, Any]]) -> str:
    """Return Codex's last words on what went wrong; there may be credentials in them."""
    lines = [line.strip() for line in ran.stderr.splitlines() if line.strip()]
    wrong = [line for line in lines if line.lower().startswith("error")]
    told = [f"exit code {ran.code}", *lines[-1:], *wrong[-1:], *_errors(events)]
    problem = told[-1]
    with suppress(ValueError, TypeError, KeyError):
        body: Any = parsed(problem)
        problem = str(body["error"]["message"])
    return problem


def _failure(name: str, problem: str, code: int, credentials: Credentials) -> CallFailed:
    """The failure that Codex's last words stand for."""
    shown = credentials.hidden(problem)
    if _SPENT.search(problem):
        return CallFailed(model=name, problem=shown, kind="fatal")
    if status := _STATUS.search(problem):
        return status_failure(name, int(status.group(1)), shown)
    if _LIMITED.search(problem):
        wait = _WAIT.search(problem)
        seconds = float(wait.group(1)) / (1000 if wait.group(2) == "ms" else 1) if wait else None
        return CallFailed(model=name, problem=shown, kind="rate_limit", retry_after=seconds)
    if _BUSY.search(problem):
        return CallFailed(model=name, problem=shown, kind="transient")
    if code < 0 or _LOST.search(problem):
        return CallFailed(model=name, problem=shown, kind="transient", answered=False)
    return CallFailed(model=name, problem=shown, kind="fatal")
