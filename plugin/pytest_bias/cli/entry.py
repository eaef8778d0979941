"""The console script ``pytest-bias``."""

from __future__ import annotations

import errno
import importlib
import os
import sys
from collections.abc import Sequence

from ..errors import BiasError
from ..report.escapes import terminal_text
from . import STREAMS
from .commands import command_line


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; returns the exit status, as of a shell's own where it was ended.

    2 is a usage error, 130 an interruption, 141 an output of which not all was read.
    """
    parser = command_line()
    given = parser.parse_args(arguments)
    if sys.stdout is None:  # closed by the shell
        parser.exit(2, "pytest-bias: there is no standard output to write to\n")
    module, name = given.run.split(".")
    try:
        work = getattr(importlib.import_module(f"pytest_bias.cli.{module}"), name)
        status = int(work(given))
    except BiasError as error:
        parser.exit(2, terminal_text(f"pytest-bias: {error}\n"))
    except KeyboardInterrupt:
        return 130
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:  # whichever argument it was
            parser.exit(2, terminal_text(f"pytest-bias: {error.filename}: {error.strerror}\n"))
        lost = isinstance(error, BrokenPipeError)
        if not lost and error.filename not in STREAMS:
            raise
        # Nothing more is written to it, on closing neither.
        stream = sys.stderr if error.filename == STREAMS[True] else sys.stdout
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        if lost:
            # Whoever read the output has enough. Not 0: nobody knows what the rest would have
            # said, and a gate may hang on it.
            return 141
        parser.exit(2, f"pytest-bias: {error.filename} was not written: {error.strerror}\n")
    return status


if __name__ == "__main__":
    sys.exit(main())
