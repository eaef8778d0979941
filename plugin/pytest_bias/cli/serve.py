"""``pytest-bias serve``: the simulated subjects over HTTP."""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import cast

from ..errors import BadSetting
from ..experiments.replay import JUDGE
from ..providers.simulator.exchange import SUBJECTS
from ..providers.simulator.faults import FAULTS, Fault, chooser
from ..providers.simulator.server import SimulatorServer
from ..workbench.suite import find_experiments
from . import Commands, tell

_HIGHEST_PORT = 65535


def add_serving(commands: Commands[argparse.ArgumentParser]) -> None:
    """Add the command."""
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
    tell(
        f"serving simulated subjects {', '.join(SUBJECTS)}, and their {JUDGE}, at {server.url}\n"
        f"experiments: {known}\n"
        f"OpenAI SDK:    base_url {server.url}/v1 (chat.completions, responses)\n"
        f"Anthropic SDK: base_url {server.url} (messages)\n"
        f"Google SDK:    base_url {server.url} in HttpOptions (models.generate_content)\n"
        f"pytest-bias:   bias_simulated_url = {server.url}\n"
        "They are programs that stand in for models. Any key will do. Stop with Ctrl-C."
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
