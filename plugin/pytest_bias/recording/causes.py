"""Failures of calls with what is sent beside the prompts, who set it, and how it is left out."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from ..errors import CallFailed, FailureKind
from ..experiments.messages import Request
from ..settings.model_entry import ModelEntry
from ..settings.roster import BUILT_IN

_MAY_REFUSE = re.compile("HTTP (?:400|422|500|501):")
_WORDS = {"max_output_tokens": "max", "seeded": "seed"}
"""Parameter → the word by which vendors name it, where that is another."""


@dataclass(frozen=True, slots=True)
class Sent:
    """A request to ``model`` (``provider/model``) by its ``entry``, less what is ``dropped``."""

    model: str
    entry: ModelEntry
    request: Request = field(repr=False)
    dropped: frozenset[str] = frozenset()

    @property
    def section(self) -> str:
        """The roster's section of the model."""
        return f'[models."{self.model}"]'

    def by_roster(self, parameter: str) -> bool:
        """True if the roster sets ``parameter`` as it is sent."""
        own = getattr(self.entry, parameter, None)
        return bool(own is not None and own == getattr(self.request.parameters, parameter))

    def settings(self) -> Iterator[tuple[str, str]]:
        """What is sent beside prompts: a word for it, and who set it or how it is left out."""
        for name in sorted(self.request.sent - self.dropped):
            how = f"{name} is sent, set in {self.section}"
            if not self.by_roster(name):
                how = f'refuses = ["{name}"] in {self.section} leaves {name} out'
                how += "" if name == "schema" else ", where the experiment's may_drop allows it"
            yield _WORDS.get(name, name), how
        if any(message.role == "system" for message in self.request.messages):
            whose = f"system in {self.section}" if self.entry.system else "the experiment"
            yield "system", f"a system prompt is sent, set by {whose}"
        for name in self.entry.request:
            yield name.lower(), f"{name} is sent, set by request in {self.section}"


def refusal(sent: Sent, parameter: str) -> CallFailed:
    """The failure for a parameter that is refused and may not be left out."""
    remedy = (
        f"the roster sets it: take {parameter} out of {sent.section}"
        if sent.by_roster(parameter)
        else "the experiment does not allow leaving it out; add "
        f"may_drop=[{parameter!r}] to the experiment if its result does not depend on it"
    )
    problem = f"the model refuses {parameter}, and {remedy}"
    return CallFailed(model=sent.model, problem=problem, kind="parameter", parameter=parameter)


_UNANSWERED = 2


def explained(sent: Sent, failed: CallFailed, unanswered: int) -> CallFailed:
    """A failure with what is sent that may be refused.

    So many calls ended in a failure while the model has answered none, this one included; the
    second (the first may be about its prompt) is fatal where the failures are no outage.
    """
    more: list[str] = []
    refused = _MAY_REFUSE.match(failed.problem) is not None
    if refused:
        settings, problem = list(sent.settings()), failed.problem.lower()
        more = [how for word, how in settings if word in problem]
        provider = sent.model.partition("/")[0]
        if "stream" in problem and provider not in BUILT_IN:
            more.append(f"stream = true in [endpoints.{provider}] asks for event streams")
        if unanswered and problem.startswith("http 5"):  # which mostly explains nothing
            more = more or [how for _, how in settings]
    kind = failed.kind
    if unanswered >= _UNANSWERED and (kind == "reply" or (refused and kind == "transient")):
        kind = "fatal"
        more.append("no call was answered, so nothing more is called")
    return _again(failed, kind, "; ".join(more)) if more else failed


def too_long(failed: CallFailed) -> CallFailed:
    """The failure for a wait that is longer than is waited; in minutes, of many calls the same."""
    minutes = math.ceil((failed.retry_after or 0.0) / 60)
    more = (
        f"it asks to wait {minutes:,} min, which is not waited for; run the same command again "
        "then: what is recorded is kept"
    )
    return _again(failed, failed.kind, more)


def _again(failed: CallFailed, kind: FailureKind, more: str) -> CallFailed:
    return CallFailed(
        model=failed.model,
        problem=f"{failed.problem} ({more})",
        kind=kind,
        retry_after=failed.retry_after,
        answered=failed.answered,
    )
