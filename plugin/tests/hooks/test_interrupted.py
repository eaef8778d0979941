"""Ctrl-C, and again and again: no traceback, exit status 2, and every reply that came is kept."""

from __future__ import annotations

from .suites import REPLICATES, Suite

IMPATIENT = """
import os
import signal
import threading
import time

def impatient():
    for _ in range(5):
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.01)  # or else the system makes one signal of them
"""

WHILE_RECORDING = f"""{IMPATIENT}
from pytest_bias.cassettes import recorder

keep = recorder.Recorder.keep

async def counted(self, *arguments):
    await keep(self, *arguments)
    counted.calls += 1
    if counted.calls == 5:
        threading.Thread(target=impatient, daemon=True).start()

counted.calls = 0
recorder.Recorder.keep = counted
"""

WHILE_WRITING = f"""{IMPATIENT}
from pytest_bias.session import outputs

write = outputs.write_atomically

def written(*arguments):
    impatient()
    write(*arguments)

outputs.write_atomically = written
"""


def test_five_times_while_recording(suite: Suite) -> None:
    cassettes = suite.cassettes / "game-coin"
    for path in cassettes.iterdir():
        path.unlink()
    suite.change("bias_tests/coin/experiment.py", f"replicates={REPLICATES}", "replicates=100")
    suite.conftest(WHILE_RECORDING)
    record = "--bias-record=missing --bias-concurrency=2"
    suite.check(record, 2, "", "!Traceback", "!destroyed", process=True)
    # The second may come while replies are put from the journal into the cassette.
    (kept,) = (path for path in cassettes.iterdir() if path.suffix in (".jsonl", ".recording"))
    calls = [line for line in kept.read_text("utf-8").splitlines() if line.startswith('{"key":')]
    assert len(calls) >= 5

    suite.conftest("").check(record, 0, process=True)
    (cassette,) = cassettes.glob("*.jsonl")
    whole = cassette.read_text("utf-8").splitlines()
    assert set(calls) < set(whole), "what was paid is there as it was"


def test_five_times_while_the_reports_are_written(suite: Suite) -> None:
    suite.conftest(WHILE_WRITING)
    suite.check("", 2, "", "!Traceback", process=True)
    assert suite.results()["cases"] != []
