"""The console script ``pytest-bias``."""

from __future__ import annotations

import argparse
import importlib
import pkgutil
import sys
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from types import ModuleType

from .errors import BadSetting, BiasError
from .experiment import Experiment
from .simulator.server import SimulatorServer
from .simulator.subjects import SUBJECTS

_HIGHEST_PORT = 65535


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; returns the exit status: 0, 2 for a usage error, 130 when interrupted."""
    parser = _parser()
    given = parser.parse_args(arguments)
    try:
        return int(given.run(given))
    except BiasError as error:
        parser.exit(2, f"pytest-bias: {error}\n")
    except KeyboardInterrupt:
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="pytest-bias",
        description="Tools beside the pytest plugin. Tests are run with pytest itself.",
    )
    parser.add_argument("--version", action="version", version=version("pytest-bias"))
    commands = parser.add_subparsers(title="commands", required=True)
    serve = commands.add_parser(
        "serve",
        help="serve simulated subjects over HTTP",
        description="Serve simulated subjects on loopback in OpenAI's wire format until "
        "interrupted. They are programs that stand in for models.",
    )
    serve.add_argument(
        "suite", nargs="?", default="bias_tests", help="package of experiments (bias_tests)"
    )
    serve.add_argument("--port", type=int, default=8808, help="port (8808; 0 for a free one)")
    serve.set_defaults(run=_serve)
    return parser


def _serve(given: argparse.Namespace) -> int:
    if not 0 <= given.port <= _HIGHEST_PORT:
        raise BadSetting(option="--port", value=given.port, problem="must be from 0 to 65535")
    experiments = list(find_experiments(given.suite))
    answers = [e.simulated for e in experiments if e.simulated is not None]
    if not answers:
        raise BadSetting(
            option="suite",
            value=given.suite,
            problem="no experiment in it says how simulated subjects answer",
        )
    try:
        server = SimulatorServer(answers, given.port)
    except OSError as error:
        raise BadSetting(
            option="--port", value=given.port, problem=error.strerror or str(error)
        ) from error
    known = ", ".join(experiment.id for experiment in experiments)
    sys.stdout.write(
        f"serving simulated subjects {', '.join(SUBJECTS)} at {server.url}/v1\n"
        f"experiments: {known}\n"
        "They are programs that stand in for models. Stop with Ctrl-C.\n"
    )
    sys.stdout.flush()
    server.serve()
    return 0


def find_experiments(suite: str) -> Iterator[Experiment]:
    """The experiments that stand in the modules of the package ``suite``, each once.

    Raises
    ------
    BadSetting
        When there is no such package below the current folder or on the path, or a module of it
        cannot be imported.
    """
    if "" not in sys.path:
        sys.path.insert(0, "")
    name = suite.strip("/").replace("/", ".")  # as a shell completes it
    try:
        modules = list(_modules(importlib.import_module(name)))
    except (ImportError, ValueError, TypeError) as error:
        raise BadSetting(
            option="suite", value=suite, problem=f"cannot be imported ({error})"
        ) from error
    seen: set[str] = set()
    for module in modules:
        for value in vars(module).values():
            if isinstance(value, Experiment) and value.id not in seen:
                seen.add(value.id)
                yield value


def _modules(package: ModuleType) -> Iterator[ModuleType]:
    yield package
    for found in pkgutil.walk_packages(getattr(package, "__path__", []), f"{package.__name__}."):
        yield importlib.import_module(found.name)


if __name__ == "__main__":
    sys.exit(main())
