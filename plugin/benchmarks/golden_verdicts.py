"""Compares the verdicts of all shipped recordings with committed ones, or commits them anew.

    python plugin/benchmarks/golden_verdicts.py [--update]

It runs the suite offline on every shipped subject: simulated, local and published. For each
hypothesis ``plugin/tests/golden/verdicts.json`` holds the status and the estimate, and of the
upgrade the outcome. The exit status is 1 where a run differs: an estimate by more than 1e-9, or
anything else at all.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from benchmarks import real_models

ROOT = Path(__file__).parents[2]
GOLDEN = ROOT / "plugin" / "tests" / "golden" / "verdicts.json"
TOLERANCE = 1e-9
LOCAL = "local model"

RUNS: Mapping[str, tuple[str, ...]] = {
    "even": ("bias_tests", "--bias-model=simulated/even"),
    "messy": ("bias_tests", "--bias-model=simulated/messy"),
    "biased": ("bias_tests", "--bias-model=simulated/biased"),
    "upgrade from biased to drifted": (
        "bias_tests",
        "--bias-model=simulated/drifted",
        "--bias-baseline=simulated/biased",
    ),
    "published": (
        real_models.CASES,
        *(f"--bias-model={name}" for name in real_models.models()),
    ),
    **{
        f"{LOCAL}: {cases}": (
            cases,
            "--bias-design=documented",
            *real_models.PARTS.get(cases, ()),
            *(f"--bias-model={name}" for name in models),
        )
        for cases, models in real_models.RECORDED.items()
    },
}
"""Name of a run → what it is asked for. Of several equal options the last one counts."""


def run(arguments: tuple[str, ...]) -> dict[str, Any]:
    """Run the suite offline and return its results in short."""
    with tempfile.TemporaryDirectory() as folder:
        results = Path(folder) / "results.json"
        command = [sys.executable, "-m", "pytest", "-q", "-n", "2", "--bias-report=off"]
        command += [f"--bias-results={results}", "-p", "no:html", *arguments]
        ran = subprocess.run(  # noqa: S603  (our own command)
            command, cwd=ROOT, capture_output=True, text=True, check=False
        )
        written = [*Path(folder).glob("results*.json")]
        if len(written) != 1:
            sys.exit(f"{' '.join(arguments)}: no results\n{ran.stdout}{ran.stderr}")
        return {**in_short(written[0]), "exit": ran.returncode}


def in_short(results: Path) -> dict[str, Any]:
    """Read a results file: its exit status, verdicts and upgrade."""
    found = json.loads(results.read_text("utf-8"))
    verdicts: dict[str, dict[str, Any]] = {}
    for analysis in found["analyses"]:
        name = f"{analysis['experiment']} {analysis['model']}"
        verdicts[name] = {
            each["id"]: [
                each.get("status", each.get("seen")),
                (each["finding"] or {}).get("estimate"),
            ]
            for each in (*analysis["controls"], *analysis["verdicts"])
        }
    upgrade = {
        f"{row['experiment']} {row['hypothesis']}": row["outcome"]
        for row in (found["upgrade"] or {"rows": []})["rows"]
    }
    return {"exit": found["exit_status"], "verdicts": verdicts, "upgrade": upgrade}


def flat(run: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, Any]]:
    """The leaves of nested objects, each with its path."""
    for key, value in run.items():
        where = f"{path} / {key}" if path else key
        if isinstance(value, dict) and value:
            yield from flat(value, where)
        else:
            yield where, value


def differs(before: Any, now: Any) -> bool:
    """True if two leaves differ; numbers within the tolerance do not."""
    if isinstance(before, list) and isinstance(now, list) and len(before) == len(now):
        return any(map(differs, before, now))
    if isinstance(before, float | int) and isinstance(now, float | int):
        return not math.isclose(before, now, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
    return bool(before != now)


def differences(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """A line for each leaf that differs or stands on one side alone."""
    one, other = dict(flat(before)), dict(flat(now))
    return [
        f"{name}: {one.get(name, 'absent')} -> {other.get(name, 'absent')}"
        for name in dict.fromkeys([*one, *other])
        if (name in one) != (name in other) or differs(one[name], other[name])
    ]


def text_of(results: Mapping[str, Any]) -> str:
    """The results as JSON with a line for each verdict."""

    def lines(value: Any, indent: str) -> str:
        if not isinstance(value, dict) or not value:
            return json.dumps(value)
        inner = [f"{indent} {json.dumps(k)}: {lines(v, indent + ' ')}" for k, v in value.items()]
        return "{\n" + ",\n".join(inner) + f"\n{indent}}}"

    return lines(dict(results), "") + "\n"


def main() -> int:
    """Run all, one after the other, and compare or write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--update", action="store_true", help="write what the runs give now")
    parser.add_argument("-k", default="", metavar="NAME", help="only runs with this in the name")
    about = "results of the suite's main command, in place of running it again"
    parser.add_argument("--even", type=Path, metavar="RESULTS", help=about)
    arguments = parser.parse_args()
    golden = json.loads(GOLDEN.read_text("utf-8")) if GOLDEN.exists() else {}
    changed: list[str] = []
    for name, asked in RUNS.items():
        if arguments.k not in name:
            continue
        reuse = arguments.even if name == "even" else None
        result = in_short(reuse) if reuse else run(asked)
        count = sum(map(len, result["verdicts"].values()))
        print(f"{name}: exit {result['exit']}, {count} results", flush=True)  # noqa: T201
        changed += differences({name: golden.get(name, {})}, {name: result})
        golden[name] = result
    if arguments.update:
        GOLDEN.write_text(text_of(golden), encoding="utf-8")
        return 0
    for line in changed:
        print(line)  # noqa: T201
    return int(bool(changed))


if __name__ == "__main__":
    sys.exit(main())
