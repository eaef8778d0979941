r"""Escapes of text from outside on a terminal, in a CI log, Markdown and CSV; and templates.

A served model's name, a vendor's error or a level's label may hold anything. What is shown of it
stays as it is; what would be obeyed is shown instead (``\x1b[2K``). Markup of HTML is escaped
by the templates.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable
from functools import cache, partial
from typing import TYPE_CHECKING, Any
from unicodedata import category, normalize
from urllib.parse import quote

if TYPE_CHECKING:
    from jinja2 import Environment

CsvValue = str | int | float | bool | None

_OBEYED = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""Categories of Unicode: control, format (writing direction), surrogates, ends of lines."""

_KEPT = frozenset("\t\u200c\u200d")
"""Of these: a tab, and what joins and parts the letters of some scripts and of emoji."""

_COMMAND = re.compile(r"^(\s*):(?=:)|#(?=#\w*\[)")
"""GitHub takes "::" at the start of a line for a command, and like others "##[" anywhere."""

_ACTIVE = re.compile(r"([\\`*_{}\[\]<>#|~@&!])")
"""What Markdown, HTML and a forge's mentions would take for more than a character."""

_FORMULA = frozenset("=+-@")

SENTENCES: dict[str, object] = {}
"""What templates call by its name, of :mod:`.wording`, which adds it."""


def say(reporter: Any, text: str, **markup: bool) -> None:
    """Have pytest's terminal reporter write ``text``: the one way to it, and to the log."""
    reporter.write_line(terminal_text(text), **markup)


def terminal_text(text: str) -> str:
    """``text``, of several lines maybe, as a terminal and a CI service's log may be given it."""
    return "\n".join(map(terminal_line, text.split("\n")))


def terminal_line(text: str) -> str:
    """``text`` as one line of a terminal or of a CI service's log; nothing in it is obeyed."""
    return _COMMAND.sub(
        lambda found: f"{found[1] or ''}\\x{ord(found[0][-1]):02x}", visible_line(text)
    )


def visible_line(text: str) -> str:
    """``text`` as one line, with what would be obeyed in it made visible."""
    return text if text.isprintable() else "".join(map(_visible, text))


def plain_markdown(text: str) -> str:
    """Text that Markdown shows as it is, on one line."""
    return _ACTIVE.sub(r"\\\1", terminal_line(" ".join(text.split())))


def code_markdown(text: str) -> str:
    """``text`` as code, whatever it holds; in tables no bar may stand in it."""
    flat = terminal_line(" ".join(text.split())).replace("`", "ʼ").replace("|", "¦")
    return f"`{flat}`" if flat else ""


def writable(text: str) -> str:
    """Text that can be written as UTF-8: half a surrogate pair becomes its escape."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def csv_text(rows: Iterable[Iterable[CsvValue]]) -> str:
    r"""Rows as RFC 4180 has them (lines end in ``\r\n``), with no cell a spreadsheet would run.

    A text that begins as a formula does (``=``, ``+``, ``-``, ``@`` in any width, whatever is not
    seen before it) gets an apostrophe before it, by which spreadsheets know a text. Numbers are
    written with all their digits and stay numbers.
    """
    written = io.StringIO(newline="")
    csv.writer(written).writerows([_defused(cell) for cell in row] for row in rows)
    return written.getvalue()


def _visible(sign: str) -> str:
    return ascii(sign)[1:-1] if category(sign) in _OBEYED and sign not in _KEPT else sign


def _defused(cell: CsvValue) -> CsvValue:
    if not isinstance(cell, str):
        return cell
    seen = (sign for sign in cell if not sign.isspace() and category(sign) not in _OBEYED)
    runs = cell[:1] in {"\t", "\r", "\n"} or normalize("NFKC", next(seen, ""))[:1] in _FORMULA
    return f"'{cell}" if runs else cell


# --- templates --------------------------------------------------------------------------------


def rendered(template: str, **given: object) -> str:
    """Render a template: no clock, no path, no network; HTML escapes whatever it is given."""
    return writable(_environment().get_template(template, globals=SENTENCES).render(given))


def rendered_lines(template: str, **given: object) -> list[str]:
    """The lines of a rendered template; whatever is given stands on one of them."""
    text = writable(_of_lines().get_template(template, globals=SENTENCES).render(given))
    return text.removesuffix("\n").split("\n") if text else []


@cache
def _of_lines() -> Environment:
    return _environment().overlay(finalize=lambda value: visible_line(str(value)))


@cache
def _environment() -> Environment:
    from jinja2 import (  # noqa: PLC0415  (only where a report is written)
        Environment,
        PackageLoader,
        StrictUndefined,
        nodes,
        pass_eval_context,
        select_autoescape,
    )

    from ..verdicts import wording as of_verdicts  # noqa: PLC0415
    from ..verdicts.decide import open_cells  # noqa: PLC0415

    @pass_eval_context
    def visible(context: nodes.EvalContext, value: object) -> object:
        # What is markup already is of our own making; Markdown has escapes of its own.
        own = not context.autoescape or hasattr(value, "__html__")
        return value if own else "\n".join(map(visible_line, str(value).split("\n")))

    environment = Environment(
        loader=PackageLoader("pytest_bias", "report/templates"),
        autoescape=select_autoescape(["html.j2"]),
        finalize=visible,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        code=code_markdown,
        plain=plain_markdown,
        quoted=partial(quote, safe=""),
    )
    environment.globals.update({**vars(of_verdicts), "open_cells": open_cells})
    return environment
