"""The console script: ``commands.py`` is the command line, the other modules do what it says."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from ..cassettes.files import write_atomically
from ..errors import NotWritten
from ..report.escapes import terminal_text


def tell(text: str, *, wrong: bool = False) -> None:
    """Print ``text``, on standard error what is ``wrong``: the one way to the terminal."""
    stream = sys.stderr if wrong else sys.stdout
    if stream is not None:  # closed by the shell
        # A console that cannot show a sign does not end in a traceback.
        encoding = stream.encoding or "utf-8"
        shown = terminal_text(text).encode(encoding, "replace").decode(encoding)
        print(shown, file=stream, flush=True)


def tell_json(value: object) -> None:
    """Print a value as JSON, in place of a table."""
    tell(json.dumps(value, indent=1, ensure_ascii=True, allow_nan=False))


def write(path: Path, text: str) -> None:
    """Write a file that was asked for, whole or not at all; a pipe or device stays what it is."""
    try:
        write_atomically(path, text.encode())
    except OSError as error:
        raise NotWritten(path=path, problem=error.strerror or str(error)) from None


def from_here(path: Path) -> str:
    """A path as seen from here, if it is below."""
    here = Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)
