"""The plugin of pytest: an option, and the files that are written where it is given."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

import pytest_bias

_ACTIVE = frozenset(r"\`*_|<>[]")
"""What Markdown would take for more than a character."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option and its ini key."""
    words = (
        "write a record of each model's bias tests to file here (bias-audit.json, .md); of a "
        "simulated subject it is a rehearsal (off: none)"
    )
    parser.getgroup("bias").addoption("--bias-audit", metavar="DIR", help=words)
    parser.addini("bias_audit", words, default="")


def pytest_configure(config: pytest.Config) -> None:
    """Take results where a record is wanted; without one nothing is worked out for it."""
    typed, ini = config.getoption("bias_audit"), str(config.getini("bias_audit"))
    given = ini if typed is None else typed
    if given not in ("", "off"):
        start = config.rootpath if typed is None else config.invocation_params.dir
        config.pluginmanager.register(Audit(start / given), "pytest-bias-audit-run")


class Audit:
    """Writes the records of a run into a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @pytest.hookimpl(optionalhook=True, trylast=True)  # to know of other plugins' problems
    def pytest_bias_results(self, view: Any, evidence: Sequence[Any]) -> list[Path]:
        """Write a record of each model of the run."""
        from .record import audit_record  # noqa: PLC0415  (only where one is written)

        partial = ".partial" * bool(view.partial)  # it overwrites no record of a full run
        written = []
        for model in dict.fromkeys(each.model for each in view.analyses):
            provider, _, name = model.partition("/")
            folder = self.folder / f"{provider}--{quote(name, safe='')}"
            for suffix, text in audit_files(audit_record(view, model, evidence)):
                path = folder / f"bias-audit{partial}{suffix}"
                try:
                    path.parent.mkdir(parents=True, exist_ok=True)
                    path.write_bytes(text.encode("utf-8", "backslashreplace"))
                except OSError as error:
                    problem = f"{os.path.relpath(path)} was not written: {error.strerror}"
                    raise pytest_bias.BiasError(problem) from None
                written.append(path)
        return written


def audit_files(record: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the record as JSON and as Markdown, each after its suffix."""
    from jinja2 import Environment, PackageLoader, StrictUndefined  # noqa: PLC0415

    templates = Environment(  # noqa: S701  (Markdown has escapes of its own)
        loader=PackageLoader(__package__),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.filters["flat"] = flat
    yield ".json", f"{json.dumps(record, indent=1, sort_keys=True, allow_nan=False)}\n"
    yield ".md", templates.get_template("audit.md.j2").render(record=record)


def flat(text: str) -> str:
    """Text as one line of Markdown in which nothing is obeyed."""
    shown = (sign if sign.isprintable() else ascii(sign)[1:-1] for sign in " ".join(text.split()))
    return "".join(f"\\{sign}" if sign in _ACTIVE else sign for sign in shown)
