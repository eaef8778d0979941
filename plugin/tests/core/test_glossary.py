"""Public names and printed text use the terms of docs/reference/glossary.md."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import pytest_bias
from pytest_bias.settings.options import OPTIONS

ROOT = Path(__file__).parents[3]
GLOSSARY = ROOT / "docs" / "reference" / "glossary.md"
TEMPLATES = ROOT / "plugin" / "pytest_bias" / "report" / "templates"
GOLDEN = ROOT / "plugin" / "tests" / "golden"
MOST = 45
STANDARD = {
    "alarm": "false alarm, BIASED",
    "alike": "identical, equal",
    "asked": "requested, prompt",
    "beside": "compared with, next to",
    "books": "results",
    "clearing": "test of equivalence",
    "draws": "simulations",
    "due": "pending",
    "given": "provided, input",
    "heard": "diagnostics",
    "held": "compared with, withheld",
    "kept": "stored",
    "lacking": "missing",
    "leniencies": "waivers",
    "ledger": "results",
    "lost": "missing",
    "mend": "fix, hint",
    "nobody": "passive, or unknown",
    "outlook": "power analysis",
    "planted": "injected effect",
    "players": "model roles",
    "prospect": "power analysis",
    "said": "message, reported",
    "settle": "decide",
    "shelf": "inventory",
    "somebody": "passive, or unknown",
    "spot": "cell of a heatmap",
    "standing": "status",
    "tally": "counts",
    "told": "prompt, reported, redacted",
    "tolerated": "waived",
    "unasked": "not collected",
    "unseen": "not passed",
    "wanted": "pending request",
    "whoever": "passive, or unknown",
}
"""Word of an earlier dialect → what the field says."""


def _terms() -> list[str]:
    rows = re.findall(r"^\| (.+?) \| .+ \|$", GLOSSARY.read_text("utf-8"), re.MULTILINE)
    return rows[1:]


def _printed() -> Iterator[tuple[str, str]]:
    for option in OPTIONS.values():
        yield f"option {option.name}", option.help
    for path in sorted(TEMPLATES.iterdir()):
        yield (
            path.name,
            re.sub(
                r"{#.*?#}|{%.*?%}|{{.*?}}|<[^>]*>", " ", path.read_text("utf-8"), flags=re.DOTALL
            ),
        )
    for path in sorted(GOLDEN.glob("*.txt")):
        yield path.name, path.read_text("utf-8")


def test_the_glossary_is_short_and_sorted() -> None:
    terms = _terms()
    assert 30 <= len(terms) <= MOST
    assert terms == sorted(terms, key=str.casefold)


def _names() -> Iterator[str]:
    """Public names, and those of the members and fields of public classes."""
    for name in dir(pytest_bias):
        yield name
        value = getattr(pytest_bias, name)
        if isinstance(value, type):
            yield from (each for each in dir(value) if not each.startswith("_"))
            yield from getattr(value, "__dataclass_fields__", ())


def test_public_names_are_of_the_field() -> None:
    words = {word: name for name in _names() for word in name.lower().split("_")}
    assert {word: words[word] for word in words.keys() & STANDARD.keys()} == {}


PRINTED = dict(_printed())


@pytest.mark.parametrize(("where", "text"), PRINTED.items(), ids=PRINTED)
def test_printed_text_is_of_the_field(where: str, text: str) -> None:
    words = {word.lower() for word in re.findall(r"[A-Za-z_]+", text)}
    assert {word: STANDARD[word] for word in words & STANDARD.keys()} == {}, where
