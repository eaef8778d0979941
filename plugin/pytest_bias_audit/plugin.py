"""The plugin of pytest: an option, and the files that are written where it is given."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

import pytest_bias

_SENT = "bias_audit_impacts"
_ACTIVE = frozenset(r"\`*_|<>[]")
"""What Markdown would take for more than a character."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option and its ini key."""
    words = (
        "write a record of each model's bias tests to file here (bias-audit.json, .md), and a "
        "fragment of its model card; of a simulated subject it is a rehearsal (off: none)"
    )
    parser.getgroup("bias").addoption("--bias-audit", metavar="DIR", help=words)
    parser.addini("bias_audit", words, default="")


def pytest_configure(config: pytest.Config) -> None:
    """Take results where a record is wanted; without one nothing is worked out for it."""
    typed, ini = config.getoption("bias_audit"), str(config.getini("bias_audit"))
    given = ini if typed is None else typed
    if given not in ("", "off"):
        start = config.rootpath if typed is None else config.invocation_params.dir
        config.pluginmanager.register(Audit(config, start / given), "pytest-bias-audit-run")


class Audit:
    """Writes the records of a run into a folder."""

    def __init__(self, config: pytest.Config, folder: Path) -> None:
        self.config = config
        self.folder = folder
        self.sent: dict[str, list[Any]] = {}
        """What workers of xdist, which alone import the suite, declare of impact ratios."""

    @pytest.hookimpl(optionalhook=True, trylast=True)  # to know of other plugins' problems
    def pytest_bias_results(self, view: Any, evidence: Sequence[Any]) -> list[Path]:
        """Write a record and a card for each model; ``evidence`` is of `pytest_bias.Evidence`."""
        from .impact import DECLARED, Impact  # noqa: PLC0415  (only where one is written)
        from .record import audit_record  # noqa: PLC0415

        sent = {name: [Impact(**each) for each in of] for name, of in self.sent.items()}
        said = os.environ.get  # GitHub's and GitLab's names
        commit = said("GITHUB_SHA") or said("CI_COMMIT_SHA")
        job = {"commit": commit, "job": said("GITHUB_RUN_ID") or said("CI_JOB_ID")}
        written = []
        for model in dict.fromkeys(each.model for each in view.analyses):
            record = audit_record(view, model, evidence, {**DECLARED, **sent}, job)
            for name, text in audit_files(record).items():
                path = self.folder / name
                if view.partial:  # it overwrites no record of a full run
                    path = path.with_name(f"{path.stem}.partial{path.suffix}")
                try:
                    path.parent.mkdir(parents=True, exist_ok=True)
                    path.write_bytes(text.encode("utf-8", "backslashreplace"))
                except OSError as error:
                    problem = f"{os.path.relpath(path)} was not written: {error.strerror}"
                    raise pytest_bias.BiasError(problem) from None
                written.append(path)
        return written

    def pytest_sessionfinish(self) -> None:
        """Send from a worker of xdist what its modules declared."""
        if (output := getattr(self.config, "workeroutput", None)) is not None:
            from .impact import DECLARED  # noqa: PLC0415
            from .record import plain  # noqa: PLC0415

            output[_SENT] = json.dumps(plain(DECLARED))

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Take what a worker sent; one that crashed sent nothing."""
        self.sent |= json.loads(getattr(node, "workeroutput", {}).get(_SENT, "{}"))


def audit_files(record: Mapping[str, Any]) -> dict[str, str]:
    """The files of a record, by their names below the folder they are written to."""
    from jinja2 import Environment, PackageLoader, StrictUndefined  # noqa: PLC0415

    templates = Environment(  # noqa: S701  (Markdown has escapes of its own)
        loader=PackageLoader(__package__),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.filters["flat"] = flat
    provider, _, name = record["model"].partition("/")
    folder = f"{provider}--{quote(name, safe='')}"
    kind = "rehearsal" if record["simulated"] else "bias-audit"
    card = "rehearsal-model-card" if record["simulated"] else "model-card"
    data = json.dumps(record, indent=1, sort_keys=True, allow_nan=False)
    return {
        f"{folder}/{kind}.json": f"{data}\n",
        f"{folder}/{kind}.md": templates.get_template("audit.md.j2").render(record=record),
        f"{folder}/{card}.md": templates.get_template("card.md.j2").render(record=record),
    }


def flat(text: str) -> str:
    """Text as one line of Markdown in which nothing is obeyed."""
    shown = (sign if sign.isprintable() else ascii(sign)[1:-1] for sign in " ".join(text.split()))
    return "".join(f"\\{sign}" if sign in _ACTIVE else sign for sign in shown)
