"""The pages that are made of the project's own tables: options, commands, layers, requirements.

    python plugin/benchmarks/reference.py

Writes them anew; a test holds what is committed against them.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks import requirements
from pytest_bias.cli.commands import command_line, commands_of
from pytest_bias.settings.options import SECTIONS, Option

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "reference" / "options.md"
COMMANDS = ROOT / "docs" / "reference" / "commands.md"
ARCHITECTURE = ROOT / "plugin" / "ARCHITECTURE.md"
HOLDS = (
    "faces: hooks, console script",
    "one session of pytest",
    "experiments and replies, without pytest",
    "one result, many reports",
    "accepted verdicts; recording",
    "judging; replies as files; calls",
    "hypotheses; what the user set",
    "designs, protocols, records",
    "pure functions on arrays",
    "every exception",
)
"""What each layer of the contract is about, from the top."""
WIDTH = 44
INTRODUCTION = """\
# Options and ini keys

*Made by `plugin/benchmarks/reference.py` of the plugin's own table; edit that one.*

An option on the command line goes before its ini key. Paths on the command line are relative to
where pytest is called, paths in ini files to rootdir. Write paths with `=`, as in
`--bias-results=out/r.json`: apart from its option, pytest takes a path that exists for a test;
where that would lead it to another ini file, the run is refused. In TOML write numbers as strings,
`bias_qpm = "10"`: others pytest refuses in `pytest.toml` and in `[tool.pytest]`."""


def options_page() -> str:
    """Return the page of options and ini keys."""
    return "\n".join(_options()) + "\n"


def _options() -> Iterator[str]:
    yield INTRODUCTION
    for title, options in SECTIONS.items():
        yield from ("", f"## {title}", "", "| option | ini key | meaning |", "|---|---|---|")
        for option in options:
            yield f"| {_typed(option)} | {_code(option.ini)} | {option.help} |"


def _typed(option: Option) -> str:
    takes = "\\|".join(option.choices) or option.takes
    return _code(f"{option.option} {takes}".strip()) if option.option else ""


def _code(text: str) -> str:
    return f"`{text}`" if text else ""


def commands_page() -> str:
    """Return the page of the command line."""
    return "\n".join(_commands()) + "\n"


def _commands() -> Iterator[str]:
    yield "# Commands\n\n*Made by `plugin/benchmarks/reference.py` of `cli/commands.py`.*"
    for parser in commands_of(command_line()):
        example = (parser.epilog or "").removeprefix("Example:\n  ")
        about = " ".join((parser.description or "").split())
        yield f"\n## {parser.prog}\n\n{about}\n\n```sh\n{example}\n```"
        taken = [each for each in parser._actions if each.dest != "help"]  # noqa: SLF001
        yield from ["\n| takes | meaning |\n|---|---|"] * bool(taken)
        for each in taken:
            takes = str(each.metavar or "|".join(each.choices or ())) if each.nargs != 0 else ""
            typed = " ".join(filter(None, [", ".join(each.option_strings), takes]))
            bars, meaning = typed.replace("|", "\\|"), (each.help or "").replace("%%", "%")
            yield f"| `{bars}` | {meaning} |"


def layers() -> list[list[str]]:
    """Return the packages of each layer, from the top, as import-linter's contract has them."""
    project = tomllib.loads(ROOT.joinpath("pyproject.toml").read_text(encoding="utf-8"))
    contracts = project["tool"]["importlinter"]["contracts"]
    (rows,) = (each["layers"] for each in contracts if each["type"] == "layers")
    return [row.split(" | ") for row in rows]


def picture(rows: Sequence[Sequence[str]]) -> str:
    """Return the layers drawn as text, each with its number and what it holds."""
    line = "─" * WIDTH
    lines = [f"   ┌{line}┐"]
    for row, (names, holds) in enumerate(zip(rows, HOLDS, strict=True)):
        lines += [f"   ├{line}┤"] * (row > 0)
        lines.append(f" {len(rows) - row} │{'     '.join(names):^{WIDTH}}│  {holds}")
    return "\n".join([*lines, f"   └{line}┘", f"{'imports point down':^{WIDTH + 8}}".rstrip()])


def architecture_page(page: str) -> str:
    """Return ``page`` with the picture of the layers as the contract has them."""
    fenced = f"```text\n{picture(layers())}\n```"
    return re.sub(r"```text\n.*?```", lambda _: fenced, page, count=1, flags=re.DOTALL)


if __name__ == "__main__":
    ARCHITECTURE.write_text(architecture_page(ARCHITECTURE.read_text("utf-8")), encoding="utf-8")
    PAGE.write_text(options_page(), encoding="utf-8")
    page = requirements.requirements_page(requirements.documents(), requirements.holdings())
    requirements.PAGE.write_text(page, encoding="utf-8")
    COMMANDS.write_text(commands_page(), encoding="utf-8")
