"""What the user said of accepting: whether, in what words, and until when."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import BadSetting
from ..experiments.design import SCREEN

if TYPE_CHECKING:
    from .given import Given

_WORDS = ("reason", "owner", "until", "after")


@dataclass(frozen=True, slots=True, kw_only=True)
class Accept:
    """That this run accepts its verdicts; why, who and until when where some are not CLEAR.

    With ``new_only`` no hypothesis that has an accepted verdict gets another. ``after`` is the
    model whose successor the accepted one is; empty where there is none.
    """

    reason: str = ""
    owner: str = ""
    until: str = ""
    after: str = ""
    new_only: bool = False

    @property
    def lacking(self) -> tuple[str, ...]:
        """The options without which nothing but CLEAR can be accepted, and that are not given."""
        given = {"reason": self.reason, "owner": self.owner, "until": self.until}
        return tuple(f"--bias-accept-{name}" for name, value in given.items() if not value)


def read_accept(given: Given, baselines: Path | None) -> Accept | None:
    """What is to be accepted and in what words; None where nothing is.

    Raises
    ------
    BadSetting
        Where a word says nothing, or does not go with what else is asked for.
    """
    options = given.options
    words = {name: options.get(f"accept_{name}") for name in _WORDS}
    told = {name: " ".join(str(word).split()) for name, word in words.items() if word is not None}
    accepts = bool(options.get("accept"))
    for name, word in told.items():
        option = f"--bias-accept-{name}"
        if not word:
            raise BadSetting(option=option, value=words[name], problem="says nothing")
        if not accepts:
            raise BadSetting(option=option, value=word, problem="goes with --bias-accept")
    new_only = bool(options.get("accept_new_only"))
    if new_only and not accepts:
        option = "--bias-accept-new-only"
        raise BadSetting(option=option, value=True, problem="goes with --bias-accept")
    if not accepts:
        return None
    if (until := told.get("until")) is not None:
        _check_day(until, given.today)
    _check_alone(given, baselines)
    return Accept(**told, new_only=new_only)


def _check_alone(given: Given, baselines: Path | None) -> None:
    """Refuse what does not go with accepting."""
    options = given.options
    for name, value, why in (
        (
            "record",
            options.get("record") or given.ini.get("record") or "none",
            "what is recorded is accepted later, when it has been looked at",
        ),
        (
            "design",
            (options.get("design") or given.ini.get("design")) == SCREEN and SCREEN,
            "a screen clears nothing; accept what the gate design finds",
        ),
        ("plan", options.get("plan") or options.get("plan_json"), "a plan runs no case"),
        ("baselines", baselines is None and "off", "there is nowhere to write to"),
    ):
        if value and value != "none":
            problem = f"does not go with --bias-accept: {why}"
            raise BadSetting(option=f"--bias-{name}", value=value, problem=problem)


def _check_day(until: str, today: str) -> None:
    """Refuse an end that is no day, or is over."""
    problem = f"is before today, {today}" if until < today else ""
    try:
        date.fromisoformat(until if re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", until) else "")
    except ValueError:
        problem = "must be a day, as YYYY-MM-DD"
    if problem:
        raise BadSetting(option="--bias-accept-until", value=until, problem=problem)
