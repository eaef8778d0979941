"""``pytest-bias cassettes verify`` in a suite."""

from __future__ import annotations

from ..runs import command
from .suites import REPLICATES, Suite


def test_verify_names_a_damaged_line(suite: Suite) -> None:
    path = suite.cassettes / "game-coin" / "simulated--even.jsonl"
    name = "cassettes/game-coin/simulated--even.jsonl"
    done = command(suite.path, "cassettes", "verify", name)
    assert (done.returncode, done.stdout) == (0, f"{name}: {2 * REPLICATES} lines, undamaged\n")
    path.write_bytes(path.read_bytes().replace(b"Game coin", b"Game join", 1))
    done = command(suite.path, "cassettes", "verify")
    assert done.returncode == 1
    assert "simulated--even.jsonl, line 3: the line is truncated or was changed" in done.stderr
    assert "simulated--biased.jsonl: " in done.stdout
