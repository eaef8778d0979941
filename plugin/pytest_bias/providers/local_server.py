"""The process that serves one local model: ``python -m pytest_bias.providers.local_server``.

It reads one line of JSON from standard input (path, alias, context, threads), says on standard
output where it listens and with which settings, and ends when standard input is closed, while it
loads as well: so it never outlives whoever started it, however that ends.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import threading
from urllib.request import ProxyHandler, build_opener

_LOADED = 60.0
"""Seconds in which a server that listens says what it serves."""


def serve_model() -> None:
    """Serve until standard input ends."""
    terms = json.loads(sys.stdin.readline())
    watch = threading.Thread(target=_end_with_parent, daemon=True)
    watch.start()
    # What the server prints is not mistaken for what is said here.
    told = os.fdopen(os.dup(1), "w", encoding="ascii")
    os.dup2(2, 1)
    llama = importlib.import_module("xllamacpp")
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
    # No proxy of the environment can reach it.
    with build_opener(ProxyHandler({})).open(f"{url}/props", timeout=_LOADED) as answer:
        props = json.load(answer)
    told.write(json.dumps({"url": url, "props": props}) + "\n")
    told.flush()
    watch.join()


def _end_with_parent() -> None:
    sys.stdin.read()
    os._exit(0)


if __name__ == "__main__":
    serve_model()
