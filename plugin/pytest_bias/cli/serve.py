"""``pytest-bias serve``: the simulated subjects over HTTP."""

from __future__ import annotations

import argparse
import math

from ..errors import BadSetting
from ..experiments.replay import JUDGE
from ..providers.simulator.exchange import SUBJECTS
from ..providers.simulator.server import SimulatorServer
from ..workbench.suite import find_experiments
from . import tell

_HIGHEST_PORT = 65535


def _serve(given: argparse.Namespace) -> int:
    if not 0 <= given.port <= _HIGHEST_PORT:
        raise BadSetting(option="--port", value=given.port, problem="must be from 0 to 65535")
    if not (math.isfinite(given.latency) and given.latency >= 0):
        problem = "must be 0 seconds or more"
        raise BadSetting(option="--latency", value=given.latency, problem=problem)
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
            latency=given.latency,
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
    server.serve()
    return 0
