"""How what is read stands up to damage: many mutations of real files, each held against an oracle.

    python plugin/benchmarks/fuzz.py [--target cassettes] [--mutations 100000] [--seed 1]

The harness, the targets and their corpus are those of the tests (plugin/tests/fuzz). For each
target it prints how many mutations gave the same as the whole file, how many were refused with an
error of ours, how many came out wrong, and the longest that one took. What came out wrong is
written to --save, under a name with which it can stand in the corpus (``once_wrong``). Exit status
1 where anything was wrong.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from benchmarks.common import note, say
from tests.fuzz.harness import CallCounts, fuzzed, name_of
from tests.fuzz.targets import TARGETS

_EVERY = 10_000


def main(given: list[str] | None = None) -> int:
    """Damage what is asked for, print the table, and say whether anything was wrong."""
    names = [target.name for target in TARGETS]
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--target", action="append", choices=names, help="all unless given")
    parser.add_argument("--mutations", type=int, default=10_000, help="of each target")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--save", type=Path, default=Path("fuzz-wrong"), metavar="FOLDER")
    options = parser.parse_args(given)
    say(f"{'target':<10} {'mutations':>10} {'same':>8} {'refused':>8} {'wrong':>6} {'slowest':>9}")
    wrong = 0
    for kind in TARGETS:
        if options.target and kind.name not in options.target:
            continue

        def progress(tally: CallCounts, name: str = kind.name) -> None:
            if tally.mutations % _EVERY == 0:
                note(f"{name}: {tally.mutations:,} of {options.mutations:,}")

        with tempfile.TemporaryDirectory() as scratch:
            target = kind(Path(scratch))
            found = fuzzed(
                target, seed=options.seed, mutations=options.mutations, progress=progress
            )
        counts = (found.mutations, found.same, found.refused, len(found.wrong))
        say(
            "{:<10} {:>10,} {:>8,} {:>8,} {:>6,} ".format(kind.name, *counts)
            + f"{found.slowest:>8.3f}s"
        )
        for origin, data, why in found.wrong:
            path = options.save / kind.name / name_of(origin, data)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
            say(f"  {path}: {' '.join(why.split())[:200]}")
        wrong += len(found.wrong)
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
