"""``pytest-bias cassettes verify`` and ``prune`` in a suite."""

from __future__ import annotations

import gzip
from pathlib import Path

from ..core.factories import pack
from ..runs import command
from .suites import REPLICATES, Suite

TRIALS = 2 * REPLICATES
FEWER = 4
NAMES = ("simulated--biased", "simulated--even")


def run(suite: Suite, *arguments: str, status: int = 0) -> tuple[str, str]:
    """What a command prints, and what is wrong."""
    done = command(suite.path, "cassettes", *arguments)
    assert done.returncode == status, done.stderr
    return done.stdout, done.stderr


def path(suite: Suite, name: str = "simulated--even") -> Path:
    return suite.cassettes / "game-coin" / f"{name}.jsonl"


def ask_otherwise(suite: Suite) -> None:
    """Change what is asked where the cue is high."""
    new = "('Now. ' if trial['cue'] == 'high' else '') + f'Game coin."
    suite.change("bias_tests/coin/experiment.py", "f'Game coin.", new)


def ask_fewer(suite: Suite) -> None:
    """Have a design of fewer replicates than are recorded."""
    change = f"replicates={REPLICATES}", f"replicates={REPLICATES - FEWER}"
    suite.change("bias_tests/coin/experiment.py", *change)


def ask_of_none(suite: Suite) -> None:
    """Ask of a low cue no more."""
    suite.change("bias_tests/coin/experiment.py", '"low": "low"', '"none": "none"')
    suite.tests('low="low"', 'low="none"')


def test_verify_names_damage_and_what_is_asked_no_more(suite: Suite) -> None:
    out, _ = run(suite, "verify", "cassettes/game-coin/simulated--even.jsonl")
    assert out == (
        f"cassettes/game-coin/simulated--even.jsonl: {TRIALS} lines, whole and asked for\n"
    )
    whole = path(suite).read_bytes()
    path(suite).write_bytes(whole.replace(b"Game coin", b"Game join", 1))
    _, wrong = run(suite, "verify", status=1)
    assert "simulated--even.jsonl, line 3: the line is truncated or was changed" in wrong
    path(suite).write_bytes(whole)
    ask_otherwise(suite)
    _, wrong = run(suite, "verify", status=1)
    words = f"{REPLICATES} of {TRIALS} lines no design asks for: {REPLICATES} of high\n"
    assert wrong == "".join(f"cassettes/game-coin/{name}.jsonl: {words}" for name in NAMES)
    suite.change(
        "bias_tests/coin/experiment.py", "    reply = await", "    1 / 0\n    reply = await"
    )
    _, wrong = run(suite, "verify", status=1)
    assert wrong.count("fails with ZeroDivisionError: division by zero") == 2


def test_prune_removes_what_is_asked_no_more_and_keeps_a_copy(suite: Suite) -> None:
    out, _ = run(suite, "prune")
    assert out == "2 cassettes: every line is asked for\n"
    ask_fewer(suite)  # what more replicates than the design's have asked is no less asked for
    out, _ = run(suite, "prune")
    assert out == "2 cassettes: every line is asked for\n"
    ask_of_none(suite)
    before = path(suite).read_bytes()
    out, _ = run(suite, "prune", str(path(suite)))
    assert out.endswith(f"asks for: {REPLICATES} of low; --yes removes {REPLICATES}\n")
    assert path(suite).read_bytes() == before
    journal = path(suite).with_name("simulated--even.jsonl.recording")
    journal.touch()
    _, wrong = run(suite, "prune", "--yes", str(path(suite)), status=2)
    assert "finish that with --bias-record=missing" in wrong
    journal.unlink()
    run(suite, "prune", "--yes", str(path(suite)))
    (copy,) = path(suite).parent.glob("*.before-*")
    assert copy.read_bytes() == before
    out, _ = run(suite, "verify", str(path(suite)))
    assert f": {REPLICATES} lines, whole and asked for\n" in out


def test_prune_leaves_what_a_trial_may_go_on_to_ask(suite: Suite) -> None:
    """Nobody knows that before it is recorded whole: another judge asks after the first miss."""
    whole = path(suite).read_bytes()
    ask_otherwise(suite)
    packed = pack(path(suite))
    before = packed.read_bytes()
    stay = f"{REPLICATES} stay, as their trials are not recorded whole\n"
    out, _ = run(suite, "prune", str(packed))
    assert out.startswith(f"cassettes/game-coin/{packed.name}: {REPLICATES} of {TRIALS} lines")
    assert out.endswith(f"{REPLICATES} of high; --yes removes none; {stay}")
    _, wrong = run(suite, "prune", "--yes", str(packed), status=2)
    assert f"{packed.name} is left as it is: what no design asks for in it is of trials" in wrong
    assert "record what is missing (--bias-record=missing)" in wrong
    ask_of_none(suite)
    out, _ = run(suite, "prune", "--yes", str(packed))
    assert f" of high, {REPLICATES} of low; {REPLICATES} removed, and {packed.name}.before-" in out
    assert f" is the file as it was; {REPLICATES} stay" in out
    (copy,) = packed.parent.glob("*.before-*")
    assert copy.read_bytes() == before
    assert gzip.decompress(before) == whole
