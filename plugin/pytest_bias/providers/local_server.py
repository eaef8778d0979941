"""The process that serves one local model: ``python -m pytest_bias.providers.local_server``.

It reads one line of JSON from standard input (path, alias, context, threads), says on
standard output where it listens and with which settings, and ends when standard input is closed:
so it never outlives whoever started it, however that ends.
"""

from __future__ import annotations

import importlib
import json
import sys
from urllib.request import urlopen


def serve_model() -> None:
    """Serve until standard input ends."""
    llama = importlib.import_module("xllamacpp")
    terms = json.loads(sys.stdin.readline())
    wanted = llama.CommonParams()
    wanted.model.path = terms["path"]
    wanted.model_alias = [terms["alias"]]
    wanted.hostnames = ["127.0.0.1"]
    wanted.port = 0
    wanted.n_parallel = 1
    wanted.n_ctx = terms["context"]
    wanted.cpuparams.n_threads = wanted.cpuparams_batch.n_threads = terms["threads"]
    wanted.verbosity = 1  # errors alone
    wanted.fit_params = False
    # Read anew each time: what stands in a cache changes the last digits, and so the reply.
    wanted.cache_prompt = False
    server = llama.Server(wanted)
    url = server.listening_address
    with urlopen(f"{url}/props") as answer:  # noqa: S310  (the server just started)
        props = json.load(answer)
    print(json.dumps({"url": url, "props": props}), flush=True)  # noqa: T201  (its parent reads it)
    sys.stdin.read()


if __name__ == "__main__":
    serve_model()
