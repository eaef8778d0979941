"""The terms of accepting: the words, the owner and the last day."""

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
    """Return what is to be accepted and in what words; None where nothing is.

    Raises
    ------
    BadSetting
        Where a word says nothing, or does not go with what else is asked for.
    """
    words = {name: given.options.get(f"accept_{name}") for name in _WORDS}
    told = {name: " ".join(str(word).split()) for name, word in words.items() if word is not None}
    accepts, new_only = given.is_typed("accept"), given.is_typed("accept_new_only")
    for name, word in told.items():
        if not word:
            raise _refusal(name, words[name], "says nothing")
        if not accepts:
            raise _refusal(name, word, "goes with --bias-accept")
    if new_only and not accepts:
        raise given.refusal("accept_new_only", "goes with --bias-accept")
    if not accepts:
        return None
    if (until := told.get("until")) is not None:
        _check_day(until, given.today)
    for name, clashes, why in (
        (
            "record",
            given.text("record") != "none",
            "what is recorded is accepted later, when it has been looked at",
        ),
        (
            "design",
            given.text("design") == SCREEN,
            "a screen clears nothing; accept what the gate design finds",
        ),
        ("plan", given.is_typed("plan"), "a plan runs no case"),
        ("plan_json", given.is_typed("plan_json"), "a plan runs no case"),
        ("baselines", baselines is None, "there is nowhere to write to"),
    ):
        if clashes:
            raise given.refusal(name, f"does not go with --bias-accept: {why}")
    return Accept(**told, new_only=new_only)


def _check_day(until: str, today: str) -> None:
    """Refuse an end that is no day, or is over."""
    problem = f"is before today, {today}" if until < today else ""
    try:
        date.fromisoformat(until if re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", until) else "")
    except ValueError:
        problem = "must be a day, as YYYY-MM-DD"
    if problem:
        raise _refusal("until", until, problem)


def _refusal(word: str, value: object, problem: str) -> BadSetting:
    return BadSetting(option=f"--bias-accept-{word}", value=value, problem=problem)
