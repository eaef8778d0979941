"""The console script ``pytest-bias``."""

from __future__ import annotations

import argparse
import importlib
import math
import os
import pkgutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from types import ModuleType
from typing import cast

from .canonical import compact
from .cassettes.sealing import KEY_VARIABLE, new_key, seal_of, unsealed
from .cassettes.store import Cassette
from .environment import read_environment
from .errors import BadSetting, BiasError
from .experiment import Experiment
from .packing import Commands, add_packing
from .settings import Settings
from .simulator.faults import FAULTS, Fault, chooser
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
    _add_serve(commands)
    _add_retention(commands)
    add_packing(commands)
    return parser


def _add_serve(commands: Commands[argparse.ArgumentParser]) -> None:
    serve = commands.add_parser(
        "serve",
        help="serve simulated subjects over HTTP",
        description="Serve simulated subjects on loopback until interrupted, in the wire formats "
        "of OpenAI (Chat Completions, Responses), Anthropic (Messages) and Google "
        "(generateContent). They are programs that stand in for models.",
        epilog=f"Faults: {', '.join(FAULTS)}.",
    )
    serve.add_argument(
        "suite", nargs="?", default="bias_tests", help="package of experiments (bias_tests)"
    )
    serve.add_argument("--port", type=int, default=8808, help="port (8808; 0 for a free one)")
    serve.add_argument(
        "--fault",
        action="append",
        default=[],
        metavar="NAME=SHARE",
        help="let this share of the requests, from 0 to 1, meet a fault; repeat for several",
    )
    serve.add_argument(
        "--fault-seed", type=int, default=0, help="decides which requests meet a fault (0)"
    )
    serve.add_argument(
        "--retry-after",
        type=float,
        default=1.0,
        metavar="SECONDS",
        help="what the fault rate_limit_retry_after tells clients to wait (1)",
    )
    serve.add_argument(
        "--latency", type=float, default=0.0, metavar="SECONDS", help="what every reply takes (0)"
    )
    serve.add_argument(
        "--log",
        type=Path,
        metavar="PATH",
        help="add one JSON line per request to this file; no prompt, no key",
    )
    serve.set_defaults(run=_serve)


def _add_retention(commands: Commands[argparse.ArgumentParser]) -> None:
    key = commands.add_parser(
        "new-key",
        help="print a fresh key for recordings that keep no text in clear",
        description=f"Print a fresh key for {KEY_VARIABLE}. Keep it where secrets are kept: who "
        "has it can read what was sealed under it, and who has lost it cannot.",
    )
    key.set_defaults(run=_new_key)
    unseal = commands.add_parser(
        "unseal",
        help="decrypt the sealed trials of a cassette",
        description='Decrypt what an experiment with retention="encrypted" has recorded, as JSON '
        "lines: one trial each, with its conversations and replies. The key is read from "
        f"{KEY_VARIABLE}.",
    )
    unseal.add_argument("cassette", type=Path, help="the cassette (….jsonl, ….jsonl.zst)")
    unseal.add_argument(
        "--out",
        type=Path,
        metavar="FILE",
        help="write here, to a new file that only you can read, and not to standard output",
    )
    unseal.add_argument(
        "--env-file", type=Path, metavar="PATH", help="take the key from this .env file as well"
    )
    unseal.set_defaults(run=_unseal)


def _new_key(_: argparse.Namespace) -> int:
    sys.stdout.write(f"{new_key()}\n")
    return 0


def _unseal(given: argparse.Namespace) -> int:
    seal = seal_of(_environment(given.env_file))
    path = given.cassette.absolute()  # a cassette is told by its folder, too
    try:
        cassette = Cassette(path)
    except OSError as error:
        problem = f"cannot be read: {error.strerror or error}"
        raise BadSetting(option="CASSETTE", value=given.cassette, problem=problem) from None
    lines = [f"{compact(trial)}\n" for trial in unsealed(cassette, seal)]
    if not lines:
        found = cassette.exists or path.exists()
        problem = "holds no sealed trials" if found else "there is no such file"
        raise BadSetting(option="CASSETTE", value=given.cassette, problem=problem)
    if given.out is None:
        sys.stdout.writelines(lines)
        return 0
    try:
        handle = os.open(given.out, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "w", encoding="ascii") as file:
            file.writelines(lines)
    except OSError as error:
        problem = f"is not written: {error.strerror or error}"
        raise BadSetting(option="--out", value=given.out, problem=problem) from None
    sys.stdout.write(f"{len(lines)} trials unsealed into {given.out}\n")
    return 0


def _environment(path: Path | None) -> Mapping[str, str]:
    """The environment, and what a named ``.env`` adds to it."""
    settings = Settings(
        models=(), cassettes=Path(), report=None, results=None, env_file=path, environ=os.environ
    )
    try:
        return read_environment(settings)
    except BadSetting:
        problem = "cannot be read as UTF-8 text"
        raise BadSetting(option="--env-file", value=path, problem=problem) from None


def _serve(given: argparse.Namespace) -> int:
    if not 0 <= given.port <= _HIGHEST_PORT:
        raise BadSetting(option="--port", value=given.port, problem="must be from 0 to 65535")
    for option, seconds in (("--latency", given.latency), ("--retry-after", given.retry_after)):
        if not (math.isfinite(seconds) and seconds >= 0):
            raise BadSetting(option=option, value=seconds, problem="must be 0 seconds or more")
    faults = _faults(given.fault)
    experiments = list(find_experiments(given.suite))
    answers = [e.simulated for e in experiments if e.simulated is not None]
    if not answers:
        raise BadSetting(
            option="suite",
            value=given.suite,
            problem="no experiment in it says how simulated subjects answer",
        )
    try:
        server = SimulatorServer(
            answers,
            given.port,
            faults=faults,
            fault_seed=given.fault_seed,
            latency=given.latency,
            retry_after=given.retry_after,
            log=given.log,
        )
    except OSError as error:
        # Only files have a name: without one it was the port.
        log = error.filename is not None
        raise BadSetting(
            option="--log" if log else "--port",
            value=given.log if log else given.port,
            problem=error.strerror or str(error),
        ) from error
    known = ", ".join(experiment.id for experiment in experiments)
    sys.stdout.write(
        f"serving simulated subjects {', '.join(SUBJECTS)} at {server.url}\n"
        f"experiments: {known}\n"
        f"OpenAI SDK:    base_url {server.url}/v1 (chat.completions, responses)\n"
        f"Anthropic SDK: base_url {server.url} (messages)\n"
        f"Google SDK:    base_url {server.url} in HttpOptions (models.generate_content)\n"
        f"pytest-bias:   bias_simulated_url = {server.url}\n"
        "They are programs that stand in for models. Any key will do. Stop with Ctrl-C.\n"
    )
    sys.stdout.flush()
    server.serve()
    return 0


def _faults(given: Sequence[str]) -> Mapping[Fault, float]:
    """``NAME=SHARE`` texts as shares by fault."""
    shares: dict[Fault, float] = {}
    for text in given:
        name, _, share = text.partition("=")
        try:
            value = float(share)
        except ValueError:
            raise BadSetting(
                option="--fault", value=text, problem="write it as NAME=SHARE, as server_error=0.1"
            ) from None
        if name in shares:
            raise BadSetting(option="--fault", value=text, problem=f"{name} is given twice")
        shares[cast("Fault", name)] = value
    chooser(shares)  # raises for what is none
    return shares


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
    # As a shell completes it: bias_tests/ and ./bias_tests are the package bias_tests.
    name = os.path.normpath(suite).strip("/").replace("/", ".")
    try:
        modules = list(_modules(importlib.import_module(name)))
    except Exception as error:
        # Whatever a module of the user's raises when it is imported.
        problem = f"cannot be imported ({type(error).__name__}: {error})"
        raise BadSetting(option="suite", value=suite, problem=problem) from error
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
