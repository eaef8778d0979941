"""The console script ``pytest-bias``."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from importlib.metadata import version

from ..errors import BiasError
from ..report.escapes import terminal_text
from .calibrate import add_calibrating
from .cassettes import add_cassettes, add_retention
from .catalogue import add_catalogue
from .compare import add_comparing
from .local import add_local
from .merge import add_merging
from .new import add_new
from .paper import add_paper
from .project import add_project
from .serve import add_serving
from .study import add_study


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; returns the exit status: 0, 2 for a usage error, 130 when interrupted."""
    parser = _parser()
    given = parser.parse_args(arguments)
    try:
        return int(given.run(given))
    except BiasError as error:
        parser.exit(2, terminal_text(f"pytest-bias: {error}\n"))
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # Whoever read the output has enough; nothing more is written, on closing neither.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="pytest-bias",
        description="Tools beside the pytest plugin. Tests are run with pytest itself.",
    )
    parser.add_argument("--version", action="version", version=version("pytest-bias"))
    commands = parser.add_subparsers(title="commands", required=True)
    add_project(commands)
    add_new(commands)
    add_catalogue(commands)
    add_study(commands)
    add_serving(commands)
    add_local(commands)
    add_retention(commands)
    add_cassettes(commands)
    add_comparing(commands)
    add_merging(commands)
    add_calibrating(commands)
    add_paper(commands)
    return parser


if __name__ == "__main__":
    sys.exit(main())
