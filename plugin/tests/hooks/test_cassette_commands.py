"""``pytest-bias cassettes list, verify, diff, prune`` in a suite."""

from __future__ import annotations

import gzip
import json
import shutil
from pathlib import Path
from typing import Any

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


def rows(suite: Suite, *arguments: str, status: int = 0) -> list[dict[str, Any]]:
    out, _ = run(suite, *arguments, "--json", status=status)
    return list(json.loads(out))


def path(suite: Suite, name: str = "simulated--even") -> Path:
    return suite.cassettes / "game-coin" / f"{name}.jsonl"


def ask_otherwise(suite: Suite) -> None:
    """Change what is asked where the cue is high."""
    old = '\'Game coin. The cue is {trial["cue"]}.'
    new = "('Now. ' if trial['cue'] == 'high' else '') + f'Game coin. The cue is {trial[\"cue\"]}."
    suite.change("bias_tests/coin/experiment.py", f"f{old}", f"{new.replace('+ f', '+ f')}")


def ask_fewer(suite: Suite) -> None:
    """Have a design of fewer replicates than are recorded."""
    change = f"replicates={REPLICATES}", f"replicates={REPLICATES - FEWER}"
    suite.change("bias_tests/coin/experiment.py", *change)


def ask_of_none(suite: Suite) -> None:
    """Ask of a low cue no more."""
    suite.change("bias_tests/coin/experiment.py", '"low": "low"', '"none": "none"')
    suite.tests('low="low"', 'low="none"')


def test_list_says_what_is_recorded_and_what_is_missing(suite: Suite) -> None:
    out, _ = run(suite, "list")
    head, *lines = out.splitlines()
    assert head.split()[:6] == [
        *("experiment", "model", "trials", "recorded", "missing", "unasked"),
    ]
    assert [line.split()[:6] for line in lines] == [
        ["game-coin", f"simulated/{name}", str(TRIALS), str(TRIALS), "0", "0"]
        for name in ("biased", "even")
    ]
    suite.change("bias_tests/coin/experiment.py", f"replicates={REPLICATES}", "replicates=2 * 10")
    run(suite, "pack", str(path(suite)))
    path(suite, "simulated--biased").write_text("no cassette\n", "utf-8")
    shutil.copytree(suite.cassettes / "game-coin", suite.cassettes / "game-gone")
    biased, even, *gone = rows(suite, "list", status=1)
    assert (even["recorded"], even["missing"], even["form"]) == (TRIALS, 16, "text, packed")
    assert even["bytes"] == path(suite).with_name("simulated--even.jsonl.gz").stat().st_size
    assert even["oldest"] == even["newest"] != ""
    assert (biased["lines"], biased["bytes"]) == (None, len("no cassette\n"))
    assert "line 1: this is not a cassette header" in biased["problem"]
    assert "belongs at game-coin" in gone[1]["problem"]


def test_verify_names_damage_and_what_is_asked_no_more(suite: Suite) -> None:
    out, _ = run(suite, "verify", "cassettes/game-coin/simulated--even.jsonl")
    assert out == (
        f"cassettes/game-coin/simulated--even.jsonl: {TRIALS} lines, whole and asked for\n"
    )
    whole = path(suite).read_bytes()
    path(suite).write_bytes(whole.replace(b"Game coin", b"Game join", 1))
    _, wrong = run(suite, "verify", status=1)
    assert "simulated--even.jsonl, line 2: the text is truncated or was changed" in wrong
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
    (row,) = rows(suite, "prune", "--yes", str(path(suite)))
    assert (suite.path / row["copy"]).read_bytes() == before
    (left,) = rows(suite, "verify", str(path(suite)))
    assert (left["recorded"], left["lines"]) == (REPLICATES - FEWER, REPLICATES)
    assert left["unasked"] == 0
    (suite.path / row["copy"]).replace(path(suite))


def test_prune_leaves_what_a_trial_may_go_on_to_ask(suite: Suite) -> None:
    """Nobody knows that before it is recorded whole: another judge asks after the first miss."""
    whole = path(suite).read_bytes()
    ask_otherwise(suite)
    run(suite, "pack", str(path(suite)))
    packed = path(suite).with_name("simulated--even.jsonl.gz")
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
    assert rows(suite, "list", str(packed))[0]["lines"] == REPLICATES
    (copy,) = packed.parent.glob("*.before-*")
    assert copy.read_bytes() == before
    assert gzip.decompress(before) == whole


def test_diff_counts_by_condition(suite: Suite) -> None:
    one, other = (str(path(suite, name)) for name in NAMES)
    same = rows(suite, "diff", one, one)
    assert [(row["condition"], row["same"]) for row in same] == [
        ("high", REPLICATES),
        ("low", REPLICATES),
    ]
    found = rows(suite, "diff", one, other, status=1)
    assert [(row["same"], row["reply"]) for row in found] == [(1, 11), (0, 12)]
    out, _ = run(suite, "diff", "cassettes", "cassettes")
    assert out.splitlines()[0].split() == [
        *("cassette", "condition", "same", "reply", "request", "only_a", "only_b")
    ]
    ask_of_none(suite)
    run(suite, "prune", "--yes", other)
    found = rows(suite, "diff", one, other, status=1)
    assert [(row["only_a"], row["only_b"]) for row in found] == [(0, 0), (REPLICATES, 0)]
    _, wrong = run(suite, "diff", one, "cassettes", status=2)
    assert "a folder is held against a folder" in wrong


def test_what_cannot_be_looked_at_is_a_usage_error(suite: Suite) -> None:
    for arguments, words in (
        (["list", "nowhere"], "nowhere is no cassette"),
        (["verify", "--suite", "nowhere"], "nowhere: there is no such package"),
        (["prune", "--design", "huge"], "huge"),
        (["diff", "cassettes"], "required: B"),
        (["join", "cassettes"], "required: --into"),
        ([], "required: COMMAND"),
    ):
        _, wrong = run(suite, *arguments, status=2)
        assert words in wrong
