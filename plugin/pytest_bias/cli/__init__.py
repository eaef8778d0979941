"""The commands of ``pytest-bias``: each adds itself to the parser and runs what it is for."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from ..cassettes.files import write_atomically
from ..errors import ReportNotWritten
from ..report.escapes import terminal_text

Commands = argparse._SubParsersAction  # noqa: SLF001  (argparse has no public name for it)


def tell(text: str, *, wrong: bool = False) -> None:
    """Print ``text``, on standard error what is ``wrong``: the one way to the terminal.

    A console that cannot show a sign does not end in a traceback.
    """
    stream = sys.stderr if wrong else sys.stdout
    encoding = stream.encoding or "utf-8"
    stream.write(f"{terminal_text(text)}\n".encode(encoding, "replace").decode(encoding))


def write(path: Path, text: str) -> None:
    """Write a file that was asked for, whole or not at all."""
    try:
        write_atomically(path, text.encode())
    except OSError as error:
        raise ReportNotWritten(path=path, problem=error.strerror or str(error)) from None
