"""Writes the table of the published subjects into the pre-registration of anchoring.

    python plugin/benchmarks/published.py

It runs the suite's cases on all of them, offline, and takes the table from the run's results. With
``--check`` it writes nothing and fails where the page says anything else.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from pytest_bias.settings.roster import read_roster

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "bias_tests" / "anchoring" / "README.md"
CASES = "bias_tests/anchoring/test_all_in_one.py"
START = "<!-- by plugin/benchmarks/published.py -->\n"
END = "<!-- end -->\n"
PEOPLE = "people (Englich et al. 2006)"
HEAD = (
    *("subject", "trials: valid of 3, 9 months", "mean sentence 3 → 9", "difference [95 %]"),
    *("Welch's t (df), p", "demand called too high 3 → 9", "sentence", "missing", "beside people"),
)
_FEW = 0.0001


def models() -> tuple[str, ...]:
    """The subjects of the shipped table, as the roster names them."""
    roster = read_roster(ROOT / "bias_models.toml")
    entry = roster.tables["anchoring"]
    with (ROOT / entry.path).open(newline="", encoding="utf-8") as file:
        names = {entry.word(entry.model, row[entry.model]) for row in csv.DictReader(file)}
    return tuple(f"published/{name}" for name in sorted(names))


def results(subjects: Sequence[str]) -> list[Mapping[str, Any]]:
    """The analyses of a run of the cases, as its results file has them."""
    with tempfile.TemporaryDirectory(prefix="pytest-bias-") as folder:
        path, written = (Path(folder) / f"results{part}.json" for part in ("", ".partial"))
        given = [f"--bias-model={model}" for model in subjects]
        reports = [f"--bias-results={path}", "--bias-report=off", "--bias-baselines=off"]
        keep = {name: value for name, value in os.environ.items() if name != "PYTEST_ADDOPTS"}
        run = subprocess.run(  # noqa: S603  (our own suite)
            [sys.executable, "-m", "pytest", CASES, *given, *reports, "-p", "no:cacheprovider"],
            cwd=ROOT,
            env=keep,
            capture_output=True,
            text=True,
            check=False,
        )
        if run.returncode not in (0, 1) or not written.exists():
            raise RuntimeError(run.stdout + run.stderr)
        found = json.loads(written.read_text(encoding="utf-8"))["analyses"]
        return cast("list[Mapping[str, Any]]", found)


def table(analyses: Sequence[Mapping[str, Any]]) -> str:
    """The table of some analyses in Markdown, with people in its first row."""
    people = _verdict(analyses[0], "sentence_months-high-low")["finding"]["human"]
    first = (
        *(PEOPLE, f"{people['n']} people"),
        f"{people['low_mean']:.2f} → {people['high_mean']:.2f}",
        *(f"{people['difference']:+.2f}", "2.10 (37), .043", "", "", "", ""),
    )
    rows = [HEAD, ["---"] * len(HEAD), first, *map(_row, analyses)]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def _row(analysis: Mapping[str, Any]) -> Sequence[str]:
    counts = {count["condition"]: count for count in analysis["counts"]}
    sentence = _verdict(analysis, "sentence_months-high-low")
    missing = _verdict(analysis, "missing-high-low")
    finding, control = sentence["finding"], analysis["control"]
    low, high = _arms(finding)
    called = " → ".join(f"{share:.0%}" for share in _arms(control["finding"]))
    return (
        f"`{analysis['model']}`",
        ", ".join(f"{counts[at]['ok']} of {counts[at]['planned']}" for at in ("low", "high")),
        f"{low:.2f} → {high:.2f}",
        _estimate(finding),
        _welch(finding),
        f"{called} ({'seen' if control['seen'] else 'not seen'})",
        _words(sentence),
        f"{_words(missing)}: {_estimate(missing['finding'])}",
        finding["human"]["primary"].lower() if finding["human"] else "",
    )


def _verdict(analysis: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    (found,) = (verdict for verdict in analysis["verdicts"] if verdict["id"] == name)
    return cast("Mapping[str, Any]", found)


def _arms(finding: Mapping[str, Any]) -> Iterator[float]:
    means = {arm["level"]: arm["mean"] for arm in finding["arms"]}
    return (means[level] for level in ("low", "high"))


def _estimate(finding: Mapping[str, Any]) -> str:
    found = finding["interval"]
    interval = "" if found is None else f" [{found['low']:+.2f}, {found['high']:+.2f}]"
    return f"{finding['estimate']:+.2f}{interval}"


def _welch(finding: Mapping[str, Any]) -> str:
    found = finding["published"]["statistics"]
    if "t" not in found:
        return "not defined: no spread"
    p = "< .0001" if found["p"] < _FEW else f"{found['p']:.4f}"
    return f"{found['t']:.2f} ({found['df']:.1f}), {p}"


def _words(verdict: Mapping[str, Any]) -> str:
    reason = verdict["reason"].partition(":")[0].partition(" (")[0]
    return f"{verdict['status']}, {reason}" if reason else str(verdict["status"])


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the page, or check it; the exit status."""
    command = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    command.add_argument("--check", action="store_true", help="write nothing")
    given = command.parse_args(arguments)
    page = PAGE.read_text(encoding="utf-8")
    before, _, rest = page.partition(START)
    _, _, after = rest.partition(END)
    made = f"{before}{START}{table(results(models()))}{END}{after}"
    if given.check:
        return int(made != page)
    PAGE.write_text(made, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
