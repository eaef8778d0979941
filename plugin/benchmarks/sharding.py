"""The cost of shards on Ray beside one process, against a server that takes its time.

    python plugin/benchmarks/sharding.py [--calls 400] [--latency 0.2] [--concurrency 20]
        [--shards 1 2 4] [--rounds 3]

Every row makes the same calls of one loopback server in a process of its own, with as many in
flight over all shards; rounds are interleaved. From the server's books come "first call"
(seconds from the start of the command, imports and the cluster's start included), "served" (from
the first request to the last answer, as a ratio to the ideal, every call in full waves) and
"end" (seconds from the last answer to the end of the command: joining, and the cluster's end).
"wall" is the whole command, as a ratio to one process, and "driver" the processor seconds of the
command itself. Medians of the rounds, ± half their range; "load" is the machine's, when the row
began.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.common import (
    EXPERIMENT,
    HYPOTHESIS,
    LOG,
    median_and_spread,
    note,
    run,
    say,
    serving,
    write,
)

_COLUMNS = ("first call", "served", "end", "wall", "driver", "load")


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure all rows, and print them."""
    parser = argparse.ArgumentParser(description="What shards on Ray cost beside one process.")
    parser.add_argument("--calls", type=int, default=400)
    parser.add_argument("--latency", type=float, default=0.2)
    parser.add_argument("--concurrency", type=int, default=20)
    parser.add_argument("--shards", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args(arguments)
    engines: dict[str, list[str]] = {"one process": []}
    for number in given.shards:
        engines[f"ray, {number} shards"] = ["--engine", "ray", "--shards", str(number)]
    found: dict[str, list[dict[str, float]]] = {name: [] for name in engines}
    for number in range(given.rounds):
        for name, options in engines.items():
            found[name].append(_row(name, options, given.calls, given.latency, given.concurrency))
            note(f"round {number + 1}: {name}: {found[name][-1]}")
    base = median_and_spread([row["wall"] for row in found["one process"]])[0]
    say(f"{'':16}" + "".join(f"{column:>16}" for column in _COLUMNS))
    for name, rows in found.items():
        cells = []
        for column in _COLUMNS:
            scale = base if column == "wall" else 1.0
            middle, spread = median_and_spread([row[column] / scale for row in rows])
            cells.append(f"{middle:.2f} ± {spread:.2f}")
        say(f"{name:16}" + "".join(f"{cell:>16}" for cell in cells))
    say(f"one process: {base:.1f} seconds in all")
    return 0


def _row(
    name: str, options: Sequence[str], calls: int, latency: float, concurrency: int
) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as scratch:
        folder, load = Path(scratch), os.getloadavg()[0]
        write(
            folder,
            experiment=EXPERIMENT.format(levels=2, replicates=calls // 2),
            cases=HYPOTHESIS,
        )
        (folder / "pytest.ini").write_text("[pytest]\n")
        with serving(folder, latency):
            command = [sys.executable, "-m", "pytest_bias.cli.entry", "record"]
            command += ["benchmark-numbers", "--suite", "cases", "--model", "served/even"]
            command += ["--concurrency", str(concurrency), *options]
            began = time.monotonic()
            spent = run(name, command, folder)
            ended = time.monotonic()
        served = [json.loads(line) for line in (folder / LOG).read_text().splitlines()]
        if len(served) != calls:
            sys.exit(f"{name}: {len(served)} calls, and not {calls}")
        first = min(each["at"] for each in served)
        last = max(each["answered_at"] for each in served)
        ideal = math.ceil(calls / concurrency) * latency
        return {
            "first call": first - began,
            "served": (last - first) / ideal,
            "end": ended - last,
            "wall": spent.wall,
            "driver": spent.cpu,
            "load": load,
        }


if __name__ == "__main__":
    sys.exit(main())
