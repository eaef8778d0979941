"""Nothing from outside is obeyed where it leaves: by a terminal, a CI service, a spreadsheet."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import pytest_bias
from pytest_bias import csv_text
from pytest_bias.report.escapes import (
    terminal_line,
    terminal_text,
)

PACKAGE = Path(pytest_bias.__file__).parent

WAYS_OUT = {
    "workbench/modules.py": ["stderr.write("],  # our own words, once pytest is ended
    "report/escapes.py": ["reporter.write_line("],  # say()
    "cli/__init__.py": ["print("],  # tell()
    "report/recording_text.py": ["stream.write("],  # what say() hands it, escaped
}
"""File → what writes to a terminal there; everything else goes through these."""


def test_nothing_is_written_to_a_terminal_in_another_way() -> None:
    way = re.compile(r"\b\w+\.write_line\(|\bstd\w+\.write\w*\(|\bstream\.write\(|\S*\bprint\(")
    found = {
        path.relative_to(PACKAGE).as_posix(): ways
        for path in PACKAGE.rglob("*.py")
        if (ways := [w.rpartition("_progress.")[2] for w in way.findall(path.read_text("utf-8"))])
    }
    assert found == WAYS_OUT


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[2K\x1b]0;title\x07", r"\x1b[2K\x1b]0;title\x07"),
        ("PASS\rFAIL\b\x7f\x9b1m", r"PASS\rFAIL\x08\x7f\x9b1m"),
        ("safe\u202etxt.exe\u2066\u200e", r"safe\u202etxt.exe\u2066\u200e"),
        ("a\u2028b\u2029c\x85d\x0be\x00", r"a\u2028b\u2029c\x85d\x0be\x00"),
        ("\udc80 \ufeff", r"\udc80 \ufeff"),
        ("::error::x", r"\x3a:error::x"),
        (" \t::set-output name=a::b", " \t\\x3a:set-output name=a::b"),
        ("\u2003::error::x", "\u2003\\x3a:error::x"),
        ("x ##[error]y", r"x #\x23[error]y".replace(r"#\x23", r"\x23#")),
        ("###[group]z ##vso[task.x]", r"#\x23#[group]z \x23#vso[task.x]"),
        ("test_x.py::test_y[a] # 1 ## two [3] café naïve 中文 नमस्ते 👩\u200d🚀 a\u00a0b", None),
        ("می\u200cخواهم −0.5 ± 1\tand", None),
        ("", None),
    ],
)
def test_what_a_terminal_or_a_ci_service_would_obey_is_shown(text: str, shown: str | None) -> None:
    assert terminal_line(text) == (text if shown is None else shown)


def test_of_several_lines_each_is_escaped_and_of_one_its_end() -> None:
    assert terminal_text("a\n::error::b\r\n") == "a\n\\x3a:error::b\\r\n"
    assert terminal_line("a\n::error::b") == r"a\n::error::b"


@given(st.text(), st.sampled_from(["", "::", "##[", "\x1b[", "\r\n::", "#"]))
def test_nothing_is_left_to_obey_and_what_is_escaped_stays(text: str, seed: str) -> None:
    shown = terminal_text(seed + text)
    assert terminal_text(shown) == shown
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]", shown)
    for line in shown.split("\n"):
        assert not line.lstrip().startswith("::")
        assert "##[" not in line


@pytest.mark.parametrize(
    "text",
    [
        *(
            "=1+1",
            "+1",
            "-1",
            "@SUM(A1)",
            "\t=1",
            "\r=1",
            " =1",
            "＝1",
            "＋1",
            "－1",
            "＠x",
            "\n",
            "-",
        ),
        *("\u200b=1", "\ufeff=1", "\x00=1", "\u2060 \u202e=1", "\u200d=1", "﹦1", "﹢1", "﹫x"),
    ],
)
def test_no_text_becomes_a_formula(text: str) -> None:
    ((cell, number),) = csv.reader([csv_text([[text, -1.5]])], strict=True)
    assert (cell, number) == (f"'{text}", "-1.5")
