"""``pytest-bias completion``, and the names that a shell completes; no suite is imported."""

from __future__ import annotations

import argparse
import tomllib
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from ..settings.options import OPTIONS
from . import tell
from .commands import commands_of


def _completion(given: argparse.Namespace) -> int:
    """Print what a shell is to evaluate."""
    from argcomplete.shell_integration import shellcode  # noqa: PLC0415  (only where a shell completes)

    tell(shellcode(["pytest-bias"], shell=given.shell))
    return 0


def complete(parser: argparse.ArgumentParser) -> None:
    """Tell the shell that asks what could stand in its line, and end the process."""
    from argcomplete import autocomplete  # noqa: PLC0415  (only where a shell completes)

    for action in (each for command in commands_of(parser) for each in command._actions):  # noqa: SLF001
        if action.dest in _NAMES:
            action.completer = _NAMES[action.dest]  # type: ignore[attr-defined]  # argcomplete's
    autocomplete(parser, always_complete_options=False)


def _experiments(**_: object) -> Iterable[str]:
    """The experiments of the error budget, which names all of a suite."""
    return [*_table("error_budget").get("shares", {})]


def _models(**_: object) -> Iterable[str]:
    """The models of the roster, and those that are recorded."""
    roster = _table("roster")
    recorded = Path(OPTIONS["cassettes"].default).glob("*/*--*.jsonl*")
    return {
        *roster.get("models", {}),
        *(f"local/{name}" for name in roster.get("local", {})),
        *(unquote(path.name.partition(".jsonl")[0]).replace("--", "/", 1) for path in recorded),
    }


def _table(name: str) -> dict[str, Any]:
    with suppress(OSError, ValueError):
        return tomllib.loads(Path(OPTIONS[name].default).read_text("utf-8"))
    return {}


_NAMES: dict[str, Callable[..., Iterable[str]]] = {
    **dict.fromkeys(("experiments", "experiment"), _experiments),
    **dict.fromkeys(("model", "judge", "writer", "of", "after"), _models),
}
"""What completes the values of an argument, by its name."""
