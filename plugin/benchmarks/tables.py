"""What reading and analysing a large table costs: processor seconds and peak memory.

    python plugin/benchmarks/tables.py [--rows 200000] [--suite bias_tests]

For each experiment of a suite the gate design's cells, each with as many replicates as make about
so many rows. Texts are those of the simulated subject's reply in the cell, numbers and flags are
drawn within the measures' bounds: nobody's replies. They are written as CSV, JSON Lines and
Parquet, and each file is read and analysed in a process of its own. The floor is pandas reading
the same file. The goals are 15 s and 1.5 GB for 200,000 rows.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from functools import partial
from importlib import import_module
from pathlib import Path
from random import Random

from benchmarks.common import note, say
from pytest_bias.contrasts.cases import Registry
from pytest_bias.experiments.design import Design
from pytest_bias.experiments.experiment import Experiment, ModelRoles, plan
from pytest_bias.experiments.measures import Measure, kind_of
from pytest_bias.experiments.records import record_of
from pytest_bias.experiments.replay import carry_out, simulated_reply
from pytest_bias.settings.table_entry import TableEntry
from pytest_bias.tables.subjects import read_table
from pytest_bias.verdicts.analysis import analyse
from pytest_bias.workbench.suite import registry_of, suite_modules

ROWS = 200_000
GOAL_SECONDS, GOAL_BYTES = 15.0, 1.5e9
FORMATS = ("csv", "jsonl", "parquet")
_MISSING = 0.02
_LONGEST = 100.0
_TRIED = 9


def registry(suite: str) -> Registry:
    """What a suite declares."""
    return registry_of(suite_modules(suite))


def rows_of(experiment: Experiment, rows: int, seed: int = 1) -> Iterator[dict[str, object]]:
    """About so many rows, with values of every measure as it is declared; some are missing."""
    rng = Random(seed)  # noqa: S311  (numbers of a benchmark, no secret)
    cells = plan(experiment, Design(1))
    roles = ModelRoles("simulated/even", "simulated/judge")
    answer = partial(simulated_reply, experiment)
    said: dict[tuple[str | None, ...], Mapping[str, object]] = {}
    for trial in plan(experiment, Design(_TRIED)):
        if trial.cell not in said:
            found = carry_out(experiment, roles, trial, answer)
            if (record := record_of(found, [*experiment.measures])).missing is None:
                said[trial.cell] = record.values
    for replicate in range(1, max(rows // len(cells), 1) + 1):
        for trial in cells:
            row: dict[str, object] = {"model": "drawn", **trial.condition.levels}
            row |= {f"{name}_exemplar": member for name, member in trial.exemplars.items()}
            row |= {} if trial.item is None else {"item": trial.item}
            lost = rng.random() < _MISSING
            drawn = dict(said[trial.cell])
            numbers = (m for m in experiment.measures if not m.categories)
            drawn |= {m.name: _drawn(m, experiment, rng) for m in numbers}
            row |= dict.fromkeys(drawn) if lost else drawn
            yield row | {"replicate": replicate, "missing": "error" if lost else None}


def _drawn(measure: Measure, experiment: Experiment, rng: Random) -> object:
    kind = kind_of(measure, experiment.protocol)
    if measure.bounds is None and kind in (bool, None):
        return rng.random() < 0.5  # noqa: PLR2004  (a fair coin)
    low, high = measure.bounds or (0.0, _LONGEST)
    if measure.integer or kind is int:
        return rng.randint(int(low), int(min(high, _LONGEST)))
    return rng.uniform(low, min(high, _LONGEST))


def write(path: Path, rows: list[dict[str, object]]) -> None:
    """Write rows as what the file's name ends in."""
    if path.suffix == ".parquet":
        pa, pq = import_module("pyarrow"), import_module("pyarrow.parquet")
        pq.write_table(pa.Table.from_pylist(rows), path)
        return
    with path.open("w", encoding="utf-8", newline="") as file:
        if path.suffix == ".jsonl":
            file.writelines(f"{json.dumps(row)}\n" for row in rows)
            return
        writer = csv.DictWriter(file, fieldnames=[*rows[0]])
        writer.writeheader()
        writer.writerows(
            {k: str(v).lower() if isinstance(v, bool) else v for k, v in row.items()}
            for row in rows
        )


def measured(path: Path, suite: str, experiment_id: str) -> dict[str, float]:
    """Read and analyse a table here: rows, processor seconds of either, and peak bytes."""
    registered = registry(suite)[experiment_id]
    experiment = registered.experiment
    judge = "drawn" if experiment.judge is not None else None
    entry = TableEntry(path=path.name, experiment=experiment.id, judge=judge)
    start = time.process_time()
    (replies,) = read_table(path, experiment, entry).values()
    read = time.process_time()
    analyse(
        experiment,
        replies.design,
        replies.model,
        replies.outcomes,
        hypotheses=tuple(registered.hypotheses.values()),
        controls=tuple(registered.controls.values()),
        recording=replies.recording,
    )
    found = {
        "rows": len(replies.outcomes),
        "read": read - start,
        "analysed": time.process_time() - read,
        "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
    }
    return found | {"floor": floor(path)}


def floor(path: Path) -> float:
    """Processor seconds that pandas takes to read the file."""
    pandas = import_module("pandas")
    read = {".csv": pandas.read_csv, ".parquet": pandas.read_parquet}
    start = time.process_time()
    read.get(path.suffix, partial(pandas.read_json, lines=True))(path)
    return time.process_time() - start


def main() -> int:
    """Write the tables, measure each in a process of its own, print a row for each."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--suite", default="bias_tests")
    parser.add_argument("--only", nargs="*", help="ids of experiments")
    parser.add_argument(
        "--measure", nargs=2, metavar=("FILE", "EXPERIMENT"), help=argparse.SUPPRESS
    )
    given = parser.parse_args()
    if given.measure is not None:
        say(json.dumps(measured(Path(given.measure[0]), given.suite, given.measure[1])))
        return 0
    met = True
    say(
        f"{'experiment':44} {'file':8} {'rows':>8} {'read s':>7} {'analysed s':>10} "
        f"{'pandas s':>8} {'×':>5} {'peak MB':>8}"
    )
    for each in registry(given.suite):
        experiment = each.experiment
        if given.only and experiment.id not in given.only:
            continue
        rows = [*rows_of(experiment, given.rows)]
        with tempfile.TemporaryDirectory(prefix="pytest-bias-") as folder:
            for suffix in FORMATS:
                path = Path(folder) / f"table.{suffix}"
                write(path, rows)
                command = [sys.executable, __file__, "--suite", given.suite]
                command += ["--measure", str(path), experiment.id]
                done = subprocess.run(  # noqa: S603  (ourselves)
                    command, capture_output=True, text=True, check=False, env=dict(os.environ)
                )
                if done.returncode:
                    note(done.stderr)
                    return done.returncode
                found = json.loads(done.stdout)
                seconds = found["read"] + found["analysed"]
                met &= seconds < GOAL_SECONDS and found["peak"] < GOAL_BYTES
                say(
                    f"{experiment.id:44} {suffix:8} {found['rows']:8,} {found['read']:7.1f} "
                    f"{found['analysed']:10.1f} {found['floor']:8.2f} "
                    f"{seconds / found['floor']:5.0f} {found['peak'] / 1e6:8,.0f}"
                )
    return 0 if met else 1


if __name__ == "__main__":
    raise SystemExit(main())
