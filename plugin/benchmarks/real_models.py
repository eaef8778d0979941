"""Writes the tables of real models, published and local, into the pages that show them.

    python plugin/benchmarks/real_models.py

It runs the suite's cases on all of them, offline, and takes the tables from the runs' results.
With ``--check`` it writes nothing and fails where a page says anything else.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, cast

from pytest_bias.settings.roster import read_roster

ROOT = Path(__file__).parents[2]
ANCHORING = ROOT / "bias_tests" / "anchoring" / "README.md"
LOCAL_PAGE = ROOT / "docs" / "local.md"
CASES = "bias_tests/anchoring/test_all_in_one.py"
RECORDED: Mapping[str, tuple[str, ...]] = {
    CASES: ("local/smollm2", "local/smollm2-again", "local/smollm2-fair"),
    "bias_tests/anchoring/test_anchoring.py": ("local/smollm2",),
    "bias_tests/linguistic_audit": ("local/smollm2", "local/smollm2-fair"),
    "bias_tests/cv_screening": ("local/smollm2",),
}
"""Cases → the local models of which recordings are shipped, in the documented design."""
PARTS = {
    "bias_tests/cv_screening": ("--bias-replicates=1",),
    "bias_tests/linguistic_audit": ("--bias-design=controlled",),
}
"""Cases of which less or more than that design was recorded → what asks for it."""
START = "<!-- by plugin/benchmarks/real_models.py: {} -->\n"
END = "<!-- end -->\n"
PEOPLE = "people (Englich et al. 2006)"
HEAD = (
    *("subject", "trials: valid of 3, 9 months", "mean sentence 3 → 9", "difference [95 %]"),
    *("Welch's t (df), p", "evaluation of the demand 3 → 9", "sentence", "missing"),
    "beside people",
)
_FEW = 0.0001


def models() -> tuple[str, ...]:
    """The subjects of the shipped table, as the roster names them."""
    roster = read_roster(ROOT / "bias_models.toml")
    entry = roster.tables["anchoring"]
    with (ROOT / entry.path).open(newline="", encoding="utf-8") as file:
        names = {entry.word("model", row["model"]) for row in csv.DictReader(file)}
    return tuple(f"published/{name}" for name in sorted(names))


@cache
def results(cases: str, models: Sequence[str], *given: str) -> Mapping[str, Any]:
    """The results of ``models`` in ``cases``, run once with ``given``, as their file has them."""
    with tempfile.TemporaryDirectory(prefix="pytest-bias-") as folder:
        path = Path(folder) / "results.json"
        command = [sys.executable, "-m", "pytest", cases, "-p", "no:cacheprovider"]
        command += ["-p", "pytest-bias"]
        command += [f"--bias-model={model}" for model in models]
        command += [f"--bias-results={path}", "--bias-report=off", *given]
        keep = {name: value for name, value in os.environ.items() if name != "PYTEST_ADDOPTS"}
        keep["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # and no other is needed
        run = subprocess.run(  # noqa: S603  (our own suite)
            command, cwd=ROOT, env=keep, capture_output=True, text=True, check=False
        )
        if run.returncode not in (0, 1) or not path.exists():
            raise RuntimeError(run.stdout + run.stderr)
        return cast("Mapping[str, Any]", json.loads(path.read_text(encoding="utf-8")))


def analyses(cases: str, models: Sequence[str]) -> Sequence[Mapping[str, Any]]:
    """The analyses of such a run, with no verdict accepted."""
    found = results(cases, models, "--bias-baselines=off")["analyses"]
    return cast("Sequence[Mapping[str, Any]]", found)


def of_local(cases: str) -> Sequence[Mapping[str, Any]]:
    """The analyses of all local models of which recordings of such cases are shipped."""
    given = ("--bias-design=documented", *PARTS.get(cases, ()), "--bias-baselines=off")
    return cast("Sequence[Mapping[str, Any]]", results(cases, RECORDED[cases], *given)["analyses"])


def table(analyses: Sequence[Mapping[str, Any]]) -> str:
    """The table of some analyses in Markdown, with people in its first row."""
    people = _verdict(analyses[0], "sentence_months-high-low")["finding"]["human"]
    first = (
        *(PEOPLE, f"{people['n']} people"),
        f"{people['low_mean']:.2f} → {people['high_mean']:.2f}",
        *(f"{people['difference']:+.2f}", "2.10 (37), .043", "", "", "", ""),
    )
    rows = [HEAD, ["---"] * len(HEAD), first, *map(_row, analyses)]
    return _page_table(rows)


def _row(analysis: Mapping[str, Any]) -> Sequence[str]:
    counts = {count["condition"]: count for count in analysis["counts"]}
    sentence = _verdict(analysis, "sentence_months-high-low")
    missing = _verdict(analysis, "missing-high-low")
    finding, controls = sentence["finding"], analysis["controls"]
    (control,) = (c for c in controls if c["id"].startswith("prosecutor_evaluation_ordinal"))
    low, high = _arms(finding)
    called = " → ".join(f"{mean:+.2f}" for mean in _arms(control["finding"]))
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
    said = verdict["reason"].partition(":")[0].partition(" (")[0] or verdict["validated_by"]
    return f"{verdict['status']}, {said}" if said else str(verdict["status"])


def recorded() -> str:
    """The table of the shipped recordings of local models, whatever their experiment asks."""
    head = (
        *("experiment", "model", "valid", "missing", "valid, cut off", "controls seen"),
        "verdicts",
    )
    rows = [head, ["---"] * len(head)]
    for cases in RECORDED:
        rows += map(_recorded_row, of_local(cases))
    return _page_table(rows)


def _recorded_row(analysis: Mapping[str, Any]) -> Sequence[str]:
    counts, controls = analysis["counts"], [c for c in analysis["controls"] if c["recorded"]]
    missing: Counter[str] = sum((Counter(count["missing"]) for count in counts), Counter())
    statuses = Counter(
        "described" if verdict["claim"] == "describe" else verdict["status"]
        for verdict in analysis["verdicts"]
    )
    return (
        analysis["experiment"],
        f"`{analysis['model']}`",
        f"{sum(count['ok'] for count in counts)} of {analysis['trials']}",
        ", ".join(f"{number} {reason}" for reason, number in missing.most_common()),
        str(sum(count["cut"] for count in counts)),
        f"{sum(c['seen'] for c in controls)} of {len(controls)}",
        ", ".join(f"{number} {status}" for status, number in sorted(statuses.items())),
    )


def _page_table(rows: Sequence[Sequence[str]]) -> str:
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


TABLES: Mapping[tuple[Path, str], Callable[[], str]] = {
    (ANCHORING, "published"): lambda: table(analyses(CASES, models())),
    (ANCHORING, "local"): lambda: table(of_local(CASES)),
    (LOCAL_PAGE, "recorded"): recorded,
}
"""Page and name of a table → what makes it."""


def shown(page: Path, name: str) -> str:
    """The table called ``name`` as ``page`` has it."""
    _, _, rest = page.read_text(encoding="utf-8").partition(START.format(name))
    return rest.partition(END)[0]


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the tables, or check them; the exit status."""
    command = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    command.add_argument("--check", action="store_true", help="write nothing")
    given = command.parse_args(arguments)
    status = 0
    for (page, name), make in TABLES.items():
        made, start = make(), START.format(name)
        status |= made != shown(page, name)
        if not given.check:
            before, _, rest = page.read_text(encoding="utf-8").partition(start)
            after = rest.partition(END)[2]
            page.write_text(f"{before}{start}{made}{END}{after}", encoding="utf-8")
    return status if given.check else 0


if __name__ == "__main__":
    sys.exit(main())
