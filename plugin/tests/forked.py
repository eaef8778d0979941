"""A Python that has imported already what takes longest: in place of a process started anew.

Most of what a short command or a worker of xdist costs are its imports. :func:`python` names a
program that takes the same arguments and answers as the interpreter does, but for what is
imported when it begins. What is about that, or about signals that it is sent, has the interpreter.
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import pkgutil
import runpy
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path

_LATE = ("openai", "pandas", "scipy.stats")
"""Libraries that are imported late, and so by none of the plugin's modules."""

_LAUNCHER = """\
#!{python} -IS
import json, os, signal, socket, sys
with socket.socket(socket.AF_UNIX) as there:
    there.connect({address!r})
    socket.send_fds(there, [b"-"], [0, 1, 2])
    asked = {{"arguments": sys.argv, "folder": os.getcwd(), "environ": dict(os.environ)}}
    there.sendall(json.dumps(asked).encode())
    there.shutdown(socket.SHUT_WR)
    null = os.open(os.devnull, os.O_RDWR)
    for each in (0, 1, 2):
        os.dup2(null, each)
    status = int(there.recv(20))
if status < 0:
    if -status in (signal.SIGINT, signal.SIGPIPE):  # which Python handles
        signal.signal(-status, signal.SIG_DFL)
    os.kill(os.getpid(), -status)
os._exit(status)
"""


@cache
def python(of: str = sys.executable) -> str:
    """Return the path of the program that stands for ``of``, there as long as this process."""
    folder = tempfile.mkdtemp(prefix="forked-")
    address, launcher = f"{folder}/socket", Path(folder, "python")
    launcher.write_text(_LAUNCHER.format(python=of, address=address), "utf-8")
    launcher.chmod(0o700)
    parent = subprocess.Popen(  # noqa: S603  (this file)
        [of, __file__, address],
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},  # no thread outlives a fork
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert parent.stdout is not None
    assert parent.stdout.readline() == b"ready\n"
    atexit.register(parent.communicate)
    return str(launcher)


def scripts(folder: Path, of: str = sys.executable) -> Path:
    """Make a folder with the scripts ``pytest`` and ``pytest-bias``, which are forked as well."""
    folder.mkdir()
    for name, module in (("pytest", "pytest"), ("pytest-bias", "pytest_bias.cli.commands")):
        path = folder / name
        path.write_text(f'#!/bin/sh\nexec {python(of)} -m {module} "$@"\n', encoding="utf-8")
        path.chmod(0o755)
    return folder


def _serve(address: str) -> None:
    """Fork a process for every call; returns in each of them, and at the end of the first."""
    with socket.socket(socket.AF_UNIX) as here:
        here.bind(address)
        here.listen()
        os.write(1, b"ready\n")
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # those that watch are not waited for
        # As in a terminal: what a shell runs in the background hears none, nor do its children.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        while here in select.select([sys.stdin, here], [], [])[0]:
            there, _ = here.accept()
            with there:
                if os.fork() == 0:
                    here.close()
                    _watch(there)
                    return
    shutil.rmtree(Path(address).parent)  # however the process ended that asked for it
    os._exit(0)


def _watch(there: socket.socket) -> None:
    """Fork the process that is called for, and tell how it ended; returns in it."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    _, handles, _, _ = socket.recv_fds(there, 1, 3)
    asked = json.loads(b"".join(iter(lambda: there.recv(1 << 16), b"")))
    child = os.fork()
    if child == 0:
        there.close()
        for number, handle in enumerate(handles):
            os.dup2(handle, number)
            os.close(handle)
        _become(**asked)
        return
    for handle in handles:
        os.close(handle)
    ended, calls = os.pidfd_open(child), select.poll()
    calls.register(ended, select.POLLIN)
    calls.register(there, select.POLLHUP)
    if ended not in {handle for handle, _ in calls.poll()}:
        os.kill(child, signal.SIGKILL)  # as its caller was
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    with suppress(BrokenPipeError):
        there.sendall(str(status).encode())
    os._exit(0)


def _become(arguments: Sequence[str], folder: str, environ: dict[str, str]) -> None:
    """Be a process that was called with these arguments, in this folder and environment."""
    own = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environ)
    sys.executable, *sys.argv = arguments
    sys.path[:] = [
        *filter(None, environ.get("PYTHONPATH", "").split(os.pathsep)),
        *(path for path in sys.path[1:] if path not in own),
    ]


def _run() -> None:
    """Carry out ``-m MODULE``, ``-mMODULE`` or ``-c CODE``, and what follows them."""
    while sys.argv[0] == "-u":
        del sys.argv[0]
        sys.stdout.reconfigure(write_through=True)  # type: ignore[union-attr]
    if sys.argv[0][2:]:
        sys.argv[:1] = sys.argv[0][:2], sys.argv[0][2:]
    how, what, *_ = sys.argv
    if how == "-m":
        sys.path.insert(0, str(Path.cwd()))
        del sys.argv[0]
        sys.modules.pop(what, None)
        runpy.run_module(what, run_name="__main__", alter_sys=True)
    else:
        assert how == "-c", sys.argv
        sys.path.insert(0, "")
        del sys.argv[1]
        exec(what, {"__name__": "__main__"})  # noqa: S102  (as asked)


class _End:
    """Ends a process after all that is done at exit, but frees nothing, which takes longest."""

    def __init__(self) -> None:
        self.status = 1
        self._exit = os._exit  # the plugin may hold it later
        atexit.register(self)  # before all others, and so called after them

    def __call__(self) -> None:
        sys.stdout.flush()
        sys.stderr.flush()
        self._exit(self.status)

    def after(self, run: Callable[[], None]) -> None:
        try:
            run()
            self.status = 0
        except SystemExit as ended:
            if ended.code is None or isinstance(ended.code, int):
                self.status = ended.code or 0
            raise


def _import() -> None:
    import pytest_bias  # noqa: PLC0415  (here alone)

    for name in _LATE:
        import_module(name)
    # Runs that load all plugins would warn that these are imported before they can be rewritten.
    for plugin in (pytest_bias, sys.modules["anyio"]):
        plugin.__doc__ = "PYTEST_DONT_REWRITE"
    for each in pkgutil.walk_packages(pytest_bias.__path__, "pytest_bias."):
        import_module(each.name)


if __name__ == "__main__":
    end = _End()
    _import()
    gc.freeze()  # no fork goes through what they share
    _serve(sys.argv[1])
    end.after(_run)
