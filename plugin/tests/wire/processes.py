"""Recordings in processes of their own, to be killed: forked from one that has all imported."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from pytest_bias.experiments.experiment import ModelRoles, plan
from pytest_bias.providers.base import ProviderContext
from pytest_bias.recording.caller import Terms
from pytest_bias.recording.collector import collect
from pytest_bias.recording.job import Job
from pytest_bias.settings.settings import Limits

from ..core.factories import ask_twice, experiment
from ..support.server import over_http

REPOSITORY = Path(__file__).parents[3]
MODEL = "simulated/even"
CONCURRENCY = 16
"""Calls in flight, unless a test says otherwise."""


@dataclass
class Forked:
    """A recording that runs; ``ended`` tells its exit code when it has ended."""

    pid: int
    ended: IO[str]
    returncode: int | None = None

    def wait(self) -> int:
        """Return the exit code, as of :class:`subprocess.Popen`."""
        if self.returncode is None:
            self.returncode = int(self.ended.readline())
        return self.returncode

    def kill(self) -> None:
        """End it at once, if it has not ended."""
        if self.returncode is None:
            os.kill(self.pid, signal.SIGKILL)
            self.wait()


class Recorders:
    """Starts recordings of an experiment of two turns, one at a time."""

    def __init__(self) -> None:
        path = os.pathsep.join([str(REPOSITORY / "plugin"), str(REPOSITORY)])
        self._parent = subprocess.Popen(  # noqa: S603  (our own code)
            [sys.executable, "-m", __name__],
            env=os.environ | {"PYTHONPATH": path},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    @contextmanager
    def recording(self, folder: Path, url: str, **given: Any) -> Iterator[Forked]:
        """Record in ``folder`` what ``url`` says, as :func:`_record` takes it, until killed."""
        asked, told = self._parent.stdin, self._parent.stdout
        assert asked is not None
        assert told is not None
        print(json.dumps({"folder": str(folder), "url": url, **given}), file=asked, flush=True)
        forked = Forked(int(told.readline()), told)
        try:
            yield forked
        finally:
            forked.kill()

    def close(self) -> None:
        """End the process they are forked from."""
        self._parent.communicate()


def _record(
    folder: str,
    url: str,
    *,
    mode: Any = "missing",
    replicates: int = 40,
    order_seed: int = 0,
    first: str = "",
    **changes: Any,
) -> None:
    """Record once; ``first`` is carried out before it begins."""
    exec(first, {"os": os, "signal": signal, "Path": Path})  # noqa: S102  (our own)
    of = experiment(ask_twice, replicates=replicates, **changes)
    terms = Terms(
        mode=mode,
        folder=Path(folder),
        context=ProviderContext({}, providers=over_http(url)),
        limits=Limits(concurrency=CONCURRENCY),
        order_seed=order_seed,
    )
    collect([Job(of, ModelRoles(MODEL), plan(of, of.design()))], terms, lambda _: None)


def _main() -> None:
    import openai  # noqa: F401, PLC0415  (slow, and so once for all)

    for line in sys.stdin:
        pid = os.fork()
        if pid == 0:
            _record(**json.loads(line))
            os._exit(0)
        _tell(pid)
        _tell(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))


def _tell(number: int) -> None:
    sys.stdout.write(f"{number}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    _main()
