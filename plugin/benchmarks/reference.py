"""The reference pages that are made of the code's own tables.

    python plugin/benchmarks/reference.py

Writes them anew; a test holds what is committed against them.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from pytest_bias.settings.options import SECTIONS, Option

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "options.md"
INTRODUCTION = """\
# Options and ini keys

*Made by `plugin/benchmarks/reference.py` of the plugin's own table; edit that one.*

An option on the command line goes before its ini key. Paths on the command line are relative to
where pytest is called, paths in ini files to rootdir. Write paths with `=`, as in
`--bias-results=out/r.json`: apart from its option, pytest takes a path that exists for a test;
where that would lead it to another ini file, the run is refused."""


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


if __name__ == "__main__":
    PAGE.write_text(options_page(), encoding="utf-8")
